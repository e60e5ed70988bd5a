# Relative error of a sum against its number of terms, log-log: a panel a quantity, a line an accumulator (median and
# quartiles over seeds).
# Columns: quantity, accumulator, K, error_q1, error_median, error_q3.
plot_width = 1400
plot_height = 520
plot_rows = 60
load plots."/style.gp"

types = "f32 fp16 bf16"
stats csv using (column("K")):(column("error_median") > 0 ? column("error_median") : NaN) nooutput
x_low = STATS_min_x; x_high = STATS_max_x > STATS_min_x ? STATS_max_x : 2 * STATS_min_x
y_low = STATS_min_y / 3; y_high = STATS_max_y * 3
is(q, t) = strcol("quantity") eq q && strcol("accumulator") eq t
positive(name) = column(name) > y_low ? column(name) : y_low

set xlabel "K (terms)"
set multiplot layout (ascii ? 3 : 1), (ascii ? 1 : 3)
if (!ascii) { set rmargin 7; set lmargin 9 }
array quantity[3] = ["dot product", "softmax denominator", "2-norm"]
do for [p = 1:3] {
    q = quantity[p]
    unset logscale
    unset label
    set autoscale # stats leaves out what is outside the ranges
    labels = 0
    do for [t in types] {
        stats csv using (is(q, t) && column("K") == x_high ? column("error_median") : 0) nooutput
        labels = labels + 1
        label_text[labels] = t; label_y[labels] = STATS_sum; label_colour[labels] = colour(t)
    }
    set logscale x 2
    set logscale y 10
    set xrange [x_low:x_high]
    set yrange [y_low:y_high]
    set format x "%.0f"
    set xtics x_low, (x_high / x_low > 1024 ? 16 : 4)
    load plots."/log_ticks.gp"
    label_gap = (y_high / y_low) ** 0.055
    load plots."/labels.gp"
    set title q
    set ylabel (p == 1 || ascii ? "relative error" : "")
    if (ascii) {
        plot for [t in types] csv using (is(q, t) ? column("K") : NaN):(positive("error_median")) with linespoints title t
    } else {
        plot for [t in types] csv using (is(q, t) ? column("K") : NaN):(positive("error_q1")):(positive("error_q3")) \
                 with filledcurves linecolor rgb colour(t), \
             for [t in types] csv using (is(q, t) ? column("K") : NaN):(positive("error_median")) \
                 with linespoints linewidth 2 pointtype 7 pointsize 0.5 linecolor rgb colour(t)
    }
}
unset multiplot
