# A class at a glance: how the points are distributed, and for each submission, in the order of their names, its worst
# error in units of what is allowed and its speed beside the reference solution's.
# Columns: points, max, verdict, err_over_tol, ratio (the last two empty where there is none).
plot_width = 1200
plot_height = 460
plot_rows = 24
load plots."/style.gp"

step = 10.0
tenth(points, most) = most > 0 ? (points >= most ? 9 : floor(10.0 * points / most)) : 0
middle(points, most) = step * tenth(points, most) + step / 2
shade(verdict) = verdict eq "PASS" || verdict eq "PARTIAL" ? 0x0072b2 : 0xd55e00
# not by STATS_min, which an empty column leaves undefined
see(x) = x > 0 ? (seen = seen + 1, y_low = x < y_low ? x : y_low, y_high = x > y_high ? x : y_high, 0) : 0
stats csv using (column("points")) nooutput
n = STATS_records

if (!ascii) { set multiplot layout 1, 3 }
set title sprintf("points of %d submissions", n)
set xlabel "percent of the points"
set ylabel "submissions"
set xrange [0:100]
set yrange [0:*]
set xtics 20
if (n < 10) { set ytics 1 }
set boxwidth 0.9 * step
set style fill solid 0.85 noborder
if (ascii) {
    plot csv using (middle(column("points"), column("max"))):(1) smooth frequency with boxes notitle
} else {
    plot csv using (middle(column("points"), column("max"))):(1) smooth frequency with boxes linecolor rgb colour("f32")
    set rmargin 9
    set xrange [0 : n + 1]
    set xtics autofreq
    set ytics autofreq
    set xlabel "submission"
    do for [measure in "err_over_tol ratio"] {
        set autoscale y
        unset logscale
        y_low = 0.5; y_high = 2; seen = 0
        stats csv using (see(column(measure))) nooutput
        set logscale y 10
        set yrange [y_low / 1.5 : y_high * 1.5]
        load plots."/log_ticks.gp"
        unset label
        set label (measure eq "ratio" ? "as fast" : "allowed") at graph 1.02, first 1 left textcolor rgb ink
        if (seen == 0) { set label "none was measured" at graph 0.5, 0.75 center textcolor rgb ink }
        set title (measure eq "ratio" ? "speed" : "error (blue: all correct)")
        set ylabel (measure eq "ratio" ? "reference solution's time / time" : "worst error / tolerance")
        plot 1 with lines dashtype 3 linewidth 2 linecolor rgb ink, \
             csv using ($0 + 1):(column(measure) > 0 ? column(measure) : NaN):(shade(strcol("verdict"))) \
                 with points pointtype 7 pointsize 0.6 linecolor rgb variable
    }
    unset multiplot
}
