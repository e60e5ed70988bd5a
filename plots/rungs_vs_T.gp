# Time and peak memory of the rungs of a ladder against T = Tq = Tk, log-log, one line a variant. Variants that need the
# same memory lie on each other: each next line is thinner, so that all are seen.
# Columns: variant, T, median_ms, q1_ms, q3_ms, peak_mib.
plot_width = 1300
plot_height = 540
plot_rows = 44
load plots."/style.gp"

variants = ""
count = 0
note(v) = (strstrt(variants." ", " ".v." ") ? 0 : (variants = variants." ".v, count = count + 1), 0)
stats csv using (note(strcol("variant"))) nooutput
stats csv using (column("T")) nooutput
x_low = STATS_min; x_high = STATS_max
is(i) = strcol("variant") eq word(variants, i)
at(i) = is(i) ? column("T") : NaN

set xrange [x_low / 1.1 : x_high * 1.1]
set format x "%.0f"
set xtics 1, (x_high / x_low > 16 ? 4 : 2)
set xlabel "T (queries and keys)"
if (!ascii) set key left top Left reverse noenhanced
set multiplot layout (ascii ? 2 : 1), (ascii ? 1 : 2)
do for [measure in "median_ms peak_mib"] {
    unset logscale
    set yrange [*:*]
    stats csv using (column(measure) > 0 ? column(measure) : NaN) nooutput
    y_low = STATS_min; y_high = STATS_max
    set logscale x 2
    set logscale y 10
    set yrange [y_low / 1.5 : y_high * 1.5]
    load plots."/log_ticks.gp"
    set title (measure eq "median_ms" ? "time, median and quartiles" : "peak memory: inputs, output and workspace")
    set ylabel (measure eq "median_ms" ? "milliseconds" : "MiB")
    if (ascii) {
        plot for [i = 1:count] csv using (at(i)):(column(measure)) with linespoints title word(variants, i)
    } else { if (measure eq "median_ms") {
        plot for [i = 1:count] csv using (at(i)):(column("q1_ms")):(column("q3_ms")) \
                 with filledcurves linecolor rgb colour(word(variants, i)) notitle, \
             for [i = 1:count] csv using (at(i)):(column(measure)) with linespoints linewidth 2 pointtype 7 \
                 pointsize 0.6 linecolor rgb colour(word(variants, i)) title word(variants, i)
    } else {
        plot for [i = 1:count] csv using (at(i)):(column(measure)) with lines \
                 linewidth 1 + 2.5 * (count - i) linecolor rgb colour(word(variants, i)) title word(variants, i)
    } }
}
unset multiplot
