# A class at a glance: how the points are distributed, and for each submission, in the order of their names, its worst
# error in units of what is allowed and its speed beside the reference solution's.
# Columns: points, max, verdict, err_over_tol, ratio (of the last two, those without a figure empty).
plot_width = 1200
plot_height = 460
plot_rows = 24
load plots."/style.gp"

step = 10.0
tenth(points, most) = most > 0 ? (points >= most ? 9 : floor(10.0 * points / most)) : 0
middle(points, most) = step * tenth(points, most) + step / 2
shade(verdict) = verdict eq "PASS" || verdict eq "PARTIAL" ? 0x0072b2 : 0xd55e00
array bar[10]
do for [k = 1:10] { bar[k] = 0 }
tally(k) = (bar[k] = bar[k] + 1, bar[k] > tallest ? (tallest = bar[k]) : tallest)
tallest = 0
stats csv using (tally(1 + tenth(column("points"), column("max")))) nooutput
n = STATS_records

# One huge error, or an infinite one, would leave no room for the others.
most = 1e6
least = 1e-6
# of an empty text, "", gnuplot tells what follows it in the line
is_none(word) = word eq "" || word[1:1] eq ","
is_figure(x) = x >= 0 && x <= most
# not by STATS_min, which an empty column leaves undefined
see(x) = is_figure(x) ? (seen = seen + 1, y_low = x < y_low && x > least ? x : y_low, y_high = x > y_high ? x : y_high, 0) : 0
above(low, high, share) = low * (high / low) ** share

if (!ascii) { set multiplot layout 1, 3 }
set title sprintf(n == 1 ? "points of %d submission" : "points of %d submissions", n)
set xlabel "percent of the points"
set ylabel "submissions"
set xrange [0:100]
set yrange [0:*]
set xtics 20
if (tallest < 10) { set ytics 1 }
set boxwidth 0.9 * step
set style fill solid 0.85 noborder
if (ascii) {
    plot csv using (middle(column("points"), column("max"))):(1) smooth frequency with boxes notitle
} else {
    plot csv using (middle(column("points"), column("max"))):(1) smooth frequency with boxes linecolor rgb colour("f32")
    set rmargin 9
    set xrange [0 : n + 1]
    set xtics autofreq
    if (n < 10) { set xtics 1 }
    set xlabel "number of the submission"
    set bmargin 6
    set key at graph 0.5, screen 0.07 center horizontal maxrows 1 samplen 0.5 width -2 font ",12"
    do for [measure in "err_over_tol ratio"] {
        set ytics autofreq
        set autoscale y
        unset logscale
        y_low = 0.5; y_high = 2; seen = 0
        stats csv using (see(column(measure))) nooutput
        set logscale y 10
        bottom = above(y_low, y_high, -0.06) / 1.3; top = above(y_low, y_high, 1.06) * 1.3
        set yrange [above(bottom, top, -0.04) : top]
        load plots."/log_ticks.gp"
        unset label
        set label (measure eq "ratio" ? "as fast" : "allowed") at graph 1.02, first 1 left textcolor rgb ink
        set title (measure eq "ratio" ? "speed" : "error (blue: all correct)")
        set ylabel (measure eq "ratio" ? "reference solution's time / its time" : "worst error / tolerance")
        low_edge(x) = is_figure(x) ? (x < bottom ? bottom : x) : NaN
        plot 1 with lines dashtype 3 linewidth 2 linecolor rgb ink notitle, \
             csv using ($0 + 1):(low_edge(column(measure))):(shade(strcol("verdict"))) \
                 with points pointtype 7 pointsize 0.6 linecolor rgb variable notitle, \
             csv using ($0 + 1):(strcol(measure) eq "nan" || column(measure) > most ? top : NaN):(shade(strcol("verdict"))) \
                 with points pointtype 9 pointsize 1 linecolor rgb variable notitle, \
             csv using ($0 + 1):(is_none(strcol(measure)) ? bottom : NaN):(shade(strcol("verdict"))) \
                 with points pointtype 2 pointsize 0.8 linecolor rgb variable notitle, \
             NaN with points pointtype 9 pointsize 1 linecolor rgb ink title "above 10^6, infinite, NaN", \
             NaN with points pointtype 2 pointsize 0.8 linecolor rgb ink title "none measured"
    }
    unset multiplot
}
