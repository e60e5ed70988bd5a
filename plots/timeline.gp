# What a GPU did and when: a lane a setting, a box a kernel, copy or fill; where the lane is bare the GPU was idle. The
# lane of small kernels has a time axis of its own, below.
# Columns: setting, kind, start_ms, end_ms.
plot_width = 1000
plot_height = 520
plot_rows = 30
load plots."/style.gp"

# Lanes in the order of the file; the last is drawn alone if it is of small kernels.
array lane[16]
lanes = 0; last = ""
enter(text) = text eq last ? lanes : (lanes = lanes + 1, lane[lanes] = text, last = text, lanes)
stats csv using (enter(strcol("setting"))):(column("end_ms")) nooutput
small = lane[lanes] eq "small kernels" ? lane[lanes] : ""
wide = small eq "" ? lanes : lanes - 1
x_high = 0; small_high = 0
see(x, text) = text eq small ? (small_high = x > small_high ? x : small_high) : (x_high = x > x_high ? x : x_high)
stats csv using (see(column("end_ms"), strcol("setting"))) nooutput
if (small_high > 0.4) { small_high = 0.4 }

where = system("sed -n 's/^# device: //p' '".csv."'")." ".system("sed -n 's/^# date: \\(..........\\).*/\\1/p' '".csv."'")
shade(kind) = kind eq "kernel" ? 0x0072b2 : kind eq "fill" ? 0x009e73 : 0xd55e00
middle(x) = (column("start_ms") + column("end_ms")) / 2
row(text) = (sum [i = 1:lanes] (lane[i] eq text ? i : 0))

unset grid
unset key
set style fill solid 0.85 noborder
set ytics scale 0 noenhanced
set multiplot layout small eq "" ? 1 : 2, 1
set lmargin at screen ascii ? 0.36 : 0.24
set rmargin at screen 0.97
if (!ascii) {
    set label 3 where at graph 0, 1.06 noenhanced
    set label 1 "kernel" at graph 0.80, 1.06 textcolor rgb 0x0072b2
    set label 2 "copy" at graph 0.90, 1.06 textcolor rgb 0xd55e00
}
set tmargin 2.5
set size 1, small eq "" ? 1 : 0.62
set origin 0, small eq "" ? 0 : 0.38
set xrange [0 : x_high]
set yrange [-wide - 0.6 : -0.4]
set ytics ()
do for [i = 1:wide] { set ytics add (lane[i] -i) }
set xlabel "ms"
if (ascii) {
    plot csv using (middle(0)):(strcol("setting") eq small ? NaN : -row(strcol("setting"))) with points pointtype "#"
} else {
    plot csv using (column("start_ms")):(strcol("setting") eq small ? NaN : -row(strcol("setting"))):(column("start_ms")):(column("end_ms")):(-row(strcol("setting")) - 0.3):(-row(strcol("setting")) + 0.3):(shade(strcol("kind"))) with boxxyerror linecolor rgb variable
}
if (small ne "") {
    unset label
    set tmargin 1
    set size 1, 0.38
    set origin 0, 0
    set xrange [0 : small_high]
    set yrange [-1.6 : -0.4]
    set ytics (small -1)
    set xlabel "ms, the beginning of one step"
    if (ascii) {
        plot csv using (middle(0)):(strcol("setting") eq small ? -1 : NaN) with points pointtype "#"
    } else {
        plot csv using (column("start_ms")):(strcol("setting") eq small ? -1 : NaN):(column("start_ms")):(column("end_ms")):(-1.3):(-0.7):(shade(strcol("kind"))) with boxxyerror linecolor rgb variable
    }
}
unset multiplot
