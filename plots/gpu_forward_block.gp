# What the size of a block changes on a GPU, one line a variant. Left: the error. Middle: time, median and quartiles.
# Right: how many of the warps that a multiprocessor could hold are there.
# Columns: variant, block, rel_l2, median_ms, q1_ms, q3_ms, occupancy_percent (empty where a block is not legal).
plot_width = 1400
plot_height = 480
plot_rows = 60
load plots."/style.gp"

variants = ""
note(v) = (strstrt(variants." ", " ".v." ") ? 0 : (variants = variants." ".v, 0))
stats csv using (note(strcol("variant"))) nooutput
is(v) = strcol("variant") eq v && column("median_ms") > 0
stats csv using (column("median_ms") > 0 ? column("block") : NaN) nooutput
x_low = STATS_min; x_high = STATS_max

set logscale x 2
set xrange [x_low / 1.3 : x_high * 1.3]
set format x "%.0f"
set xtics 1, 2
set xlabel "block size (keys)"
set multiplot layout (ascii ? 3 : 1), (ascii ? 1 : 3)
do for [measure in "rel_l2 median_ms occupancy_percent"] {
    set yrange [*:*] # stats leaves out what is outside the ranges
    stats csv using (column(measure)) nooutput
    set yrange [0 : STATS_max * 1.25]
    set title (measure eq "rel_l2" ? "error of O, relative L2" : measure eq "median_ms" ? "time (ms)" : "occupancy (%)")
    if (!ascii) { unset key }
    if (!ascii && measure eq "rel_l2") { set key at graph 0.97, 0.05 right bottom noenhanced }
    if (measure eq "median_ms" && !ascii) {
        plot for [v in variants] csv using (is(v) ? column("block") : NaN):(column("q1_ms")):(column("q3_ms")) \
                 with filledcurves linecolor rgb colour(v) notitle, \
             for [v in variants] csv using (is(v) ? column("block") : NaN):(column(measure)) with linespoints \
                 linewidth 2 pointtype 7 pointsize 0.8 linecolor rgb colour(v) title v
    } else {
        plot for [v in variants] csv using (is(v) ? column("block") : NaN):(column(measure)) with linespoints \
                 linewidth 2 pointtype 7 pointsize 0.8 linecolor rgb (ascii ? ink : colour(v)) title v
    }
}
unset multiplot
