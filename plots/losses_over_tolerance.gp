# How far the losses of some runs are from the reference's, as a share of what is allowed: a line a run. Runs of the same
# bits lie on top of each other, so each line is thinner than the one before, and all can be seen.
# Columns: gradient (the run), step, err_over_tol, which the reference leaves empty.
plot_width = 900
plot_height = 540
plot_rows = 26
load plots."/style.gp"

array series[8]
count = 0
note(v) = (count == 0 || series[count] ne v ? (count = count + 1, series[count] = v) : 0, 0)
stats csv using (column("err_over_tol") >= 0 ? note(strcol("gradient")) : 0) nooutput
stats csv using (column("err_over_tol") > 0 ? column("err_over_tol") : NaN) nooutput
y_low = STATS_min / 2; y_high = (STATS_max > 1 ? STATS_max : 1) * 3
stats csv using (column("step")) nooutput
shade(i) = word("#bbbbbb #56b4e9 #d55e00 #009e73", i)

set logscale y 10
set xrange [0:STATS_max]
set yrange [y_low:y_high]
load plots."/log_ticks.gp"
set xlabel "step"
set ylabel "distance of the loss from one process in double / tolerance"
set key top left horizontal
is(i) = strcol("gradient") eq series[i] && column("err_over_tol") > 0
if (ascii) {
    plot for [i = 1:count] csv using (is(i) ? column("step") : NaN):(column("err_over_tol")) with lines title series[i]
} else {
    set rmargin 3
    set label "allowed" at graph 0.99, first 1.3 right textcolor rgb ink
    plot 1 with lines dashtype 3 linewidth 2 linecolor rgb ink notitle, \
         for [i = 1:count] csv using (is(i) ? column("step") : NaN):(column("err_over_tol")) with lines \
             linewidth (i == 1 ? 9 : i == 2 ? 5 : 1.5) linecolor rgb shade(i) title series[i]
}
