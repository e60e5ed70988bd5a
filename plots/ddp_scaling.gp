# The α–β model carried to many ranks: a step's backward and all-reduces in buckets, for three ways to reduce.
# Columns: ranks, ring_step_ms, tree_step_ms, two_levels_step_ms, ring_ms, tree_ms, two_levels_ms, backward_ms.
plot_width = 900
plot_height = 540
plot_rows = 28
load plots."/style.gp"

ways = "ring tree two_levels"
shade(i) = word("#d55e00 #0072b2 #009e73", i)
name(i) = i == 1 ? "ring" : i == 2 ? "trees" : "two levels"
stats csv using (column("ranks")):(column("ring_step_ms")) nooutput
x_low = STATS_min_x; x_high = STATS_max_x; y_high = STATS_max_y
stats csv using (column("backward_ms")) nooutput
backward = STATS_max
y_low = backward
do for [i = 1:3] {
    stats csv using (column(word(ways, i)."_ms")) nooutput
    if (STATS_min < y_low) { y_low = STATS_min }
    stats csv using (column("ranks") == x_high ? column(word(ways, i)."_step_ms") : 0) nooutput
    labels = labels + 1
    label_text[labels] = name(i); label_y[labels] = STATS_sum; label_colour[labels] = shade(i)
}
set logscale x 2
set logscale y 10
y_low = y_low / 1.5; y_high = y_high * 1.6
set xrange [x_low : x_high]
set yrange [y_low : y_high]
load plots."/log_ticks.gp"
set xtics x_low, 2
label_gap = (y_high / y_low) ** 0.05
load plots."/labels.gp"
set xlabel "ranks"
set ylabel "ms"
if (ascii) {
    plot for [i = 1:3] csv using (column("ranks")):(column(word(ways, i)."_step_ms")) with lines title name(i), \
         backward with lines title "backward"
} else {
    set rmargin 12
    set tmargin 2.5
    set key at graph 0.03, 0.97 left top Left reverse
    set label "model output, not measured" at graph 0, 1.05 left textcolor rgb ink
    plot backward with lines linewidth 9 linecolor rgb pale title "backward", \
         NaN with lines linewidth 2.5 linecolor rgb "#888888" title "a step, in buckets", \
         NaN with lines dashtype 2 linewidth 1.5 linecolor rgb "#888888" title "one all-reduce of everything, alone", \
         for [i = 1:3] csv using (column("ranks")):(column(word(ways, i)."_step_ms")) with lines linewidth 2.5 \
             linecolor rgb shade(i) notitle, \
         for [i = 1:3] csv using (column("ranks")):(column(word(ways, i)."_ms")) with lines dashtype 2 linewidth 1.5 \
             linecolor rgb shade(i) notitle
}
