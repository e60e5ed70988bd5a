# Loss against the steps of gradient descent, a line a gradient: the right one, and some with a mistake in them.
# Columns: gradient, step, loss.
plot_width = 900
plot_height = 540
plot_rows = 26
load plots."/style.gp"

# The gradients in the file, in order of appearance; a name may hold spaces.
array series[8]
count = 0
note(v) = (count == 0 || series[count] ne v ? (count = count + 1, series[count] = v) : 0, 0)
stats csv using (note(strcol("gradient"))) nooutput
stats csv using (column("step")):(column("loss")) nooutput
x_high = STATS_max_x; y_low = STATS_min_y; y_high = STATS_max_y
is(i) = strcol("gradient") eq series[i]
shade(i) = i == 1 ? ink : word("#d55e00 #0072b2 #009e73 #cc79a7 #56b4e9 #e69f00", i - 1)
longest = 0
last(i) = is(i) && column("step") == x_high ? column("loss") : 0
do for [i = 1:count] {
    if (strlen(series[i]) > longest) { longest = strlen(series[i]) }
    stats csv using (last(i)) nooutput
    labels = labels + 1
    label_text[labels] = series[i]; label_y[labels] = STATS_sum; label_colour[labels] = shade(i)
}

set logscale y 10
set xrange [0:x_high]
set yrange [y_low / 1.3 : y_high * 1.3]
load plots."/log_ticks.gp"
label_gap = (y_high / y_low * 1.7) ** 0.05
load plots."/labels.gp"
set xlabel "step"
set ylabel "loss"
if (ascii) {
    plot for [i = 1:count] csv using (is(i) ? column("step") : NaN):(column("loss")) with lines title series[i]
} else {
    set rmargin longest > 12 ? longest + 2 : 14
    plot for [i = 1:count] csv using (is(i) ? column("step") : NaN):(column("loss")) with lines \
             linewidth (i == 1 ? 3 : 2) linecolor rgb shade(i) notitle
}
