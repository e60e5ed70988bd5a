# Error of online attention against its block size, one line a dtype: the median over seeds, a band from the 10th to
# the 90th percentile, the derived bound dashed. Left: before the output is rounded to its dtype. Right: after.
# Columns: dtype, block, before_p10, before_median, before_p90, after_p10, after_median, after_p90 (relative L2 error),
# before_gate, after_gate (the bound as a relative L2 error).
plot_width = 1200
plot_height = 560
plot_rows = 40
load plots."/style.gp"

dtypes = ""
do for [t in "f64 f32 fp16 bf16"] {
    stats csv using (strcol("dtype") eq t) nooutput
    if (STATS_sum > 0) { dtypes = dtypes." ".t }
}
stats csv using (column("block")):(column("after_gate")) nooutput
x_low = STATS_min_x; x_high = STATS_max_x; y_high = STATS_max_y
stats csv using (column("block")):(column("before_p10") > 0 ? column("before_p10") : NaN) nooutput
y_low = STATS_min_y
is(t) = strcol("dtype") eq t
last(t, name) = is(t) && column("block") == x_high ? column(name) : 0

load plots."/log_ticks.gp"
set format x "%.0f"
set xtics 1, 4
set xlabel "block size (keys)"
label_gap = (4 * y_high / y_low) ** 0.055

set multiplot layout (ascii ? 2 : 1), (ascii ? 1 : 2)
if (!ascii) set rmargin 12
do for [stage in "before after"] {
    unset logscale
    unset label
    set autoscale # stats leaves out what is outside the ranges
    labels = 0
    do for [t in dtypes] {
        stats csv using (last(t, stage."_median")) nooutput
        labels = labels + 1
        label_text[labels] = t; label_y[labels] = STATS_sum; label_colour[labels] = colour(t)
        stats csv using (last(t, stage."_gate")) nooutput
        labels = labels + 1
        label_text[labels] = t." bound"; label_y[labels] = STATS_sum; label_colour[labels] = colour(t)
    }
    set logscale x 2
    set logscale y 10
    set xrange [x_low:x_high]
    set yrange [y_low / 2 : y_high * 2]
    load plots."/labels.gp"
    set title stage." the output's rounding"
    set ylabel (stage eq "before" || ascii ? "relative L2 error" : "")
    if (ascii) {
        plot for [t in dtypes] csv using (is(t) ? column("block") : NaN):(column(stage."_median")) with linespoints title t
    } else {
        plot for [t in dtypes] csv using (is(t) ? column("block") : NaN):(column(stage."_p10")):(column(stage."_p90")) \
                 with filledcurves linecolor rgb colour(t), \
             for [t in dtypes] csv using (is(t) ? column("block") : NaN):(column(stage."_median")) \
                 with linespoints linewidth 2 pointtype 7 pointsize 0.5 linecolor rgb colour(t), \
             for [t in dtypes] csv using (is(t) ? column("block") : NaN):(column(stage."_gate")) \
                 with lines linewidth 1.5 dashtype 2 linecolor rgb colour(t)
    }
}
unset multiplot
