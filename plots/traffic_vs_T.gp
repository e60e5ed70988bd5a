# Bytes of global memory against T = Tq = Tk, log-log: a line a series by its formula, a point where they were counted.
# Columns: series, T, formula_bytes, counted_bytes (empty where nothing was counted).
plot_width = 1000
plot_height = 620
plot_rows = 32
load plots."/style.gp"

# The series in the file, in order of appearance; a name may hold spaces.
array series[16]
count = 0
note(v) = (count == 0 || series[count] ne v ? (count = count + 1, series[count] = v) : 0, 0)
stats csv using (note(strcol("series"))) nooutput
stats csv using (column("T")):(column("formula_bytes")) nooutput
x_low = STATS_min_x; x_high = STATS_max_x; y_low = STATS_min_y; y_high = STATS_max_y
is(i) = strcol("series") eq series[i]
# Rungs have their colours; what is only a bound is grey.
bound(i) = strstrt(series[i], " ") > 0
shade(i) = bound(i) ? "#777777" : colour(series[i])
last(i) = is(i) && column("T") == x_high ? column("formula_bytes") : 0
do for [i = 1:count] {
    stats csv using (last(i)) nooutput
    labels = labels + 1
    label_text[labels] = series[i]; label_y[labels] = STATS_sum; label_colour[labels] = shade(i)
}

set logscale x 2
set logscale y 10
set xrange [x_low:x_high]
set yrange [y_low / 2 : y_high * 2]
load plots."/log_ticks.gp"
label_gap = (4 * y_high / y_low) ** 0.04
load plots."/labels.gp"
set format x "%.0f"
set xtics 1, 4
set xlabel "T (queries and keys)"
set ylabel ascii ? "bytes" : "bytes of global memory asked for by one head"
if (ascii) {
    plot for [i = 1:count] csv using (is(i) ? column("T") : NaN):(column("formula_bytes")) with linespoints title series[i]
} else {
    set rmargin 20
    set key at graph 0.03, 0.97 left top Left reverse
    plot for [i = 1:count] csv using (is(i) && !bound(i) ? column("T") : NaN):(column("formula_bytes")) with lines \
             linewidth 2 linecolor rgb shade(i) notitle, \
         for [i = 1:count] csv using (is(i) && bound(i) ? column("T") : NaN):(column("formula_bytes")) with lines \
             linewidth 1.5 dashtype 2 linecolor rgb shade(i) notitle, \
         for [i = 1:count] csv using (is(i) ? column("T") : NaN):(column("counted_bytes")) with points \
             pointtype 7 pointsize 1 linecolor rgb shade(i) notitle, \
         NaN with lines linewidth 2 linecolor rgb ink title "by the formula", \
         NaN with points pointtype 7 pointsize 1 linecolor rgb ink title "counted by the emulator"
}
