# Memory against T until nothing fits, log-log: a line a plan by its formula, points where the peak was measured, a cross
# where the allocation was refused, and the limit.
# Columns: plan, T, formula_mib, limit_mib, measured_mib (empty where it was refused).
plot_width = 900
plot_height = 560
plot_rows = 28
load plots."/style.gp"

plans = ""
note(v) = (strstrt(plans." ", " ".v." ") ? 0 : (plans = plans." ".v, 0))
stats csv using (note(strcol("plan"))) nooutput
stats csv using (column("T")):(column("formula_mib")) nooutput
x_low = STATS_min_x; x_high = STATS_max_x; y_low = STATS_min_y; y_high = STATS_max_y
stats csv using (column("limit_mib")) nooutput
limit = STATS_max
y_high = y_high > limit ? y_high : limit
is(v) = strcol("plan") eq v
shade(v) = v eq "dense" ? colour("dense") : colour("online_registers")
refused(v) = is(v) && !(column("measured_mib") > 0) ? column("T") : NaN
first_refused = 0
keep(x) = (x > 0 && (first_refused == 0 || x < first_refused) ? first_refused = x : 0, 0)
do for [v in plans] { stats csv using (keep(refused(v) == refused(v) ? refused(v) : 0)) nooutput }

size(mib) = mib < 1024 ? sprintf("%.3g MiB", mib) : sprintf("%.4g GiB", mib / 1024)
set logscale x 2
set logscale y 10
set xrange [x_low / 1.2 : x_high * 1.2]
set yrange [y_low / 2 : y_high * 4]
load plots."/log_ticks.gp"
set format x "%.0f"
set xtics 1, 2
set xlabel "T (queries and keys)"
set ylabel ascii ? "MiB" : "peak memory (MiB)"
if (!ascii) {
    set label "all there is: ".size(limit) at x_low / 1.15, limit * 1.35 left textcolor rgb ink
    if (first_refused > 0) {
        set label sprintf("refused at T = %.0f", first_refused) at first_refused, limit * 1.35 center textcolor rgb shade("dense")
        set key at graph 0.97, 0.06 right bottom
    }
}
if (ascii) {
    plot for [v in plans] csv using (is(v) ? column("T") : NaN):(column("formula_mib")) with linespoints title v, \
         limit with lines title "limit"
} else {
    plot limit with lines dashtype 2 linewidth 1.5 linecolor rgb ink notitle, \
         for [v in plans] csv using (is(v) ? column("T") : NaN):(column("formula_mib")) with lines linewidth 2 \
             linecolor rgb shade(v) title v.", by the formula", \
         for [v in plans] csv using (is(v) ? column("T") : NaN):(column("measured_mib")) with points pointtype 7 \
             pointsize 1.2 linecolor rgb shade(v) title v.", measured", \
         for [v in plans] csv using (refused(v)):(column("formula_mib")) with points pointtype 2 pointsize 2 \
             linewidth 3 linecolor rgb shade(v) notitle
}
