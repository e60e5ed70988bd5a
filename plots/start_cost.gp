# The time of one call against its size, log-log: flat at the cost of starting, then along the work.
# Columns: variant, elements, median_us, q1_us, q3_us, bandwidth_us (its bytes at the memory's rate), start_us.
plot_width = 900
plot_height = 560
load plots."/style.gp"

variant = ""
note(v) = (variant = v, 0)
stats csv using (note(strcol("variant"))) nooutput
stats csv using (column("elements")):(column("median_us")) nooutput
x_low = STATS_min_x; x_high = STATS_max_x > STATS_min_x ? STATS_max_x : 2 * STATS_min_x
stats csv using (column("q1_us")):(column("q3_us")) nooutput
y_low = STATS_min_x / 10; y_high = STATS_max_y * 2
at_end(name) = column("elements") == x_high ? column(name) : 0
do for [i = 1:3] {
    stats csv using (at_end(word("median_us start_us bandwidth_us", i))) nooutput
    labels = labels + 1
    label_text[labels] = i == 1 ? variant : i == 2 ? "cost of starting" : "full bandwidth"
    label_y[labels] = STATS_sum
    label_colour[labels] = i == 1 ? colour("f32") : ink
}
set logscale xy 10
set xrange [x_low:x_high]
set yrange [y_low:y_high]
load plots."/log_ticks.gp"
set format x tens
label_gap = (y_high / y_low) ** 0.05
load plots."/labels.gp"
set xlabel "elements"
set ylabel ascii ? "µs" : "time of a call (µs), median and quartiles"
if (ascii) {
    plot csv using "elements":"median_us" with linespoints title variant, \
         csv using "elements":"start_us" with lines title "cost of starting", \
         csv using "elements":"bandwidth_us" with lines title "full bandwidth"
} else {
    set rmargin 18
    plot csv using "elements":"q1_us":"q3_us" with filledcurves linecolor rgb colour("f32"), \
         csv using "elements":"median_us" with linespoints linewidth 2 pointtype 7 pointsize 0.6 linecolor rgb colour("f32"), \
         csv using "elements":"start_us" with lines dashtype 2 linewidth 1.5 linecolor rgb ink, \
         csv using "elements":"bandwidth_us" with lines dashtype 2 linewidth 1.5 linecolor rgb ink
}
