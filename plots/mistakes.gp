# The named mistakes of a class: one bar a mistake, the most frequent on top, as long as it has submissions.
# Columns: mistake, submissions.
plot_width = 900
plot_rows = 22
rows = 0
set datafile separator comma
stats csv using (column("submissions")) nooutput
rows = STATS_records; x_high = STATS_max
plot_height = 110 + 30 * rows
load plots."/style.gp"

set xrange [0 : x_high * 1.15]
set yrange [-rows + 0.4 : 0.6]
if (x_high < 10) { set xtics 1 } # a count
set xlabel "submissions that made this mistake"
unset grid
set ytics scale 0 noenhanced
set style fill solid 0.85 noborder
unset key
if (ascii) {
    plot csv using (0):(-column(0)):(column("submissions")):(0):ytic(strcol("mistake")) with vectors nohead, \
         csv using (column("submissions")):(-column(0)):(sprintf("%d", column("submissions"))) with labels left offset 1, 0
} else {
    plot csv using (0):(-column(0)):(0):(column("submissions")):(-column(0) - 0.32):(-column(0) + 0.32):ytic(strcol("mistake")) \
             with boxxyerror linecolor rgb colour("f32"), \
         csv using (column("submissions")):(-column(0)):(sprintf("%d", column("submissions"))) \
             with labels left offset 1, 0 noenhanced
}
