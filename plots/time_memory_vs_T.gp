# Time and peak memory of two plans of attention against T = Tq = Tk, log-log, one line a variant.
# Columns: variant, T, median_ms, q1_ms, q3_ms, peak_mib.
plot_width = 1200
plot_height = 520
plot_rows = 40
load plots."/style.gp"

# The variants in the file, in order of appearance.
variants = ""
note(v) = (strstrt(variants." ", " ".v." ") ? 0 : (variants = variants." ".v, 0))
stats csv using (note(strcol("variant"))) nooutput
stats csv using (column("T")):(column("median_ms")) nooutput
x_low = STATS_min_x; x_high = STATS_max_x
is(v) = strcol("variant") eq v
last(v, name) = is(v) && column("T") == x_last ? column(name) : 0

set format x "%.0f"
set xtics 1, (x_high / x_low > 16 ? 4 : 2)
set xlabel "T (queries and keys)"

set multiplot layout (ascii ? 2 : 1), (ascii ? 1 : 2)
if (!ascii) set rmargin 12
do for [measure in "median_ms peak_mib"] {
    unset logscale
    set autoscale # stats leaves out what is outside the ranges
    stats csv using (column(measure) > 0 ? column(measure) : NaN) nooutput
    y_low = STATS_min; y_high = STATS_max
    if (measure eq "median_ms") {
        stats csv using (column("q1_ms")):(column("q3_ms")) nooutput
        y_low = STATS_min_x; y_high = STATS_max_y
    }
    labels = 0
    unset label
    do for [v in variants] {
        stats csv using (is(v) ? column("T") : 0) nooutput
        x_last = STATS_max
        stats csv using (last(v, measure)) nooutput
        if (x_last < x_high) { # a plan may end early, where its memory would not fit
            if (!ascii) { set label v at x_last, STATS_sum left noenhanced offset 0.8, -0.5 textcolor rgb colour(v) }
        } else {
            labels = labels + 1
            label_text[labels] = v; label_y[labels] = STATS_sum; label_colour[labels] = colour(v)
        }
    }
    set logscale x 2
    set logscale y 10
    set xrange [x_low:x_high]
    set yrange [y_low / 1.5 : y_high * 1.5]
    load plots."/log_ticks.gp"
    label_gap = (2.25 * y_high / y_low) ** 0.055
    load plots."/labels.gp"
    set title (measure eq "median_ms" ? "time, median and quartiles" : "peak memory: inputs, output and workspace")
    set ylabel (measure eq "median_ms" ? "milliseconds" : "MiB")
    if (ascii) {
        plot for [v in variants] csv using (is(v) ? column("T") : NaN):(column(measure)) with linespoints title v
    } else { if (measure eq "median_ms") {
        plot for [v in variants] csv using (is(v) ? column("T") : NaN):(column("q1_ms")):(column("q3_ms")) \
                 with filledcurves linecolor rgb colour(v), \
             for [v in variants] csv using (is(v) ? column("T") : NaN):(column(measure)) \
                 with linespoints linewidth 2 pointtype 7 pointsize 0.5 linecolor rgb colour(v)
    } else {
        plot for [v in variants] csv using (is(v) ? column("T") : NaN):(column(measure)) \
                 with linespoints linewidth 2 pointtype 7 pointsize 0.5 linecolor rgb colour(v)
    } }
}
unset multiplot
