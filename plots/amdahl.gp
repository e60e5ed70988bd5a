# Amdahl's limit against the truth: how much faster a step is without one part, predicted from the part's share (ring)
# and measured by leaving it out (dot, with the quartiles). One line a part, the largest share on top.
# Columns: part, share_percent, limit, measured_speedup, measured_low, measured_high.
plot_width = 900
plot_height = 560
plot_rows = 30
load plots."/style.gp"

# The last row is what lies between the parts: it has a share and no speed-up, and is not drawn.
stats csv using (column("limit")) nooutput
parts = STATS_records; x_high = STATS_max
stats csv using (column("measured_low")):(column("measured_high")) nooutput
if (STATS_max_y > x_high) { x_high = STATS_max_y }
x_low = STATS_min_x < 1 ? STATS_min_x : 1
stats csv using (column(0) == 0 ? column("limit") : 0):(column(0) == 0 ? column("measured_speedup") : 0) nooutput
top_limit = STATS_max_x; top_measured = STATS_max_y

end(x) = column("measured_high") > column("limit") ? column("measured_high") : column("limit")
share(x) = sprintf("%.2g %% of the step", column("share_percent"))
measured = colour("f32"); predicted = colour("bf16")

span = x_high - x_low
set xrange [x_low - 0.03 * span : x_high + (ascii ? 0.5 : 0.35) * span]
set yrange [-parts + 0.4 : 1]
set xlabel "speed-up of the step when the part is free"
set ytics scale 0 noenhanced
unset grid
if (ascii) {
    set key outside center top horizontal
    plot csv every ::0::parts - 1 using (column("limit")):(-column(0)):ytic(strcol("part")) with points pointtype "o" title "predicted", \
         csv every ::0::parts - 1 using (column("measured_speedup")):(-column(0)) with points pointtype "*" title "measured", \
         csv every ::0::parts - 1 using (end(0)):(-column(0)):(share(0)) with labels left offset 2, 0 notitle
} else {
    set arrow from 1, graph 0 to 1, graph 1 nohead linecolor rgb pale
    set label "predicted: 1 / (1 − share)" at top_limit, 0 center offset 0, 1.1 textcolor rgb predicted
    set label "measured, with quartiles" at top_measured, 0 center offset 0, -1.1 textcolor rgb measured
    plot csv every ::0::parts - 1 using (column("measured_speedup")):(-column(0)):(column("measured_low")):(column("measured_high")) \
             with xerrorbars linewidth 2 pointtype 7 pointsize 0.8 linecolor rgb measured, \
         csv every ::0::parts - 1 using (column("limit")):(-column(0)):ytic(strcol("part")) \
             with points linewidth 2 pointtype 6 pointsize 1.5 linecolor rgb predicted, \
         csv every ::0::parts - 1 using (end(0)):(-column(0)):(share(0)) with labels left offset 1.5, 0 noenhanced textcolor rgb ink
}
