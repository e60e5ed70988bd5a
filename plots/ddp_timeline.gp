# A step of data parallelism, as it went on the slowest rank: for each scheme compute above, communication below it.
# Columns: scheme, kind (forward, backward, update, all-reduce), start_ms, end_ms, link, alpha_us, beta_mb_per_s.
plot_width = 1000
plot_height = 560
plot_rows = 30
load plots."/style.gp"

array lane[8]
lanes = 0; last = ""
enter(text) = text eq last ? lanes : (lanes = lanes + 1, lane[lanes] = text, last = text, lanes)
stats csv using (enter(strcol("scheme"))):(column("end_ms")) nooutput
x_high = STATS_max_y
row(text) = (sum [i = 1:lanes] (lane[i] eq text ? i : 0))
on_link(kind) = kind eq "all-reduce"
shade(kind) = kind eq "forward" ? 0x56b4e9 : kind eq "backward" ? 0x0072b2 : kind eq "update" ? 0x009e73 : 0xd55e00
level(dummy) = -row(strcol("scheme")) + (on_link(strcol("kind")) ? -0.14 : 0.16)

link = ""; alpha = 0; beta = 0
note(text, a, b) = (link = text, alpha = a, beta = b, 0)
stats csv using (note(strcol("link"), column("alpha_us"), column("beta_mb_per_s"))) nooutput
what = sprintf("%s link: {/Symbol a} = %.4g µs, {/Symbol b} = %.4g MB/s", link, alpha, beta)

set ytics scale 0 noenhanced
set ytics ()
do for [i = 1:lanes] { set ytics add (lane[i] -i) }
set yrange [-lanes - 0.6 : -0.4]
set xrange [0 : x_high * 1.02]
set xlabel "ms from the start of the step"
set lmargin at screen ascii ? 0.16 : 0.12
if (ascii) {
    set xlabel "ms; f forward, b backward, u update, # all-reduce"
    middle(kind) = strcol("kind") eq kind ? (column("start_ms") + column("end_ms")) / 2 : NaN
    unset key
    plot csv using (middle("forward")):(level(0)) with points pointtype "f", \
         csv using (middle("backward")):(level(0)) with points pointtype "b", \
         csv using (middle("update")):(level(0)) with points pointtype "u", \
         csv using (middle("all-reduce")):(level(0)) with points pointtype "#"
} else {
    unset grid
    set grid xtics linewidth 0.8 linetype 1 linecolor rgb "#dcdcdc"
    unset key
    set style fill solid 0.9 border rgb "white"
    set tmargin 2.5
    set label 1 "forward" at graph 0.02, 1.04 textcolor rgb 0x56b4e9
    set label 2 "backward" at graph 0.14, 1.04 textcolor rgb 0x0072b2
    set label 3 "update" at graph 0.28, 1.04 textcolor rgb 0x009e73
    set label 4 "all-reduces" at graph 0.40, 1.04 textcolor rgb 0xd55e00
    set label 5 what at graph 1, 1.04 right textcolor rgb ink
    plot csv using (column("start_ms")):(level(0)):(column("start_ms")):(column("end_ms")):(level(0) - 0.14):(level(0) + 0.14):(shade(strcol("kind"))) \
             with boxxyerror linewidth 0.6 fillcolor rgb variable
}
