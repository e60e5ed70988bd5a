# Memory of a rank in bytes a parameter: one bar a plan and number of ranks, made of what it is for; a tick where the
# optimizer's part would end by the formula.
# Columns: bar, label, tag, low, high, states_formula.
plot_width = 1000
plot_height = 560
plot_rows = 30
load plots."/style.gp"

stats csv using (column("high")) nooutput
x_high = STATS_max
stats csv using (column("bar")) nooutput
y_low = -STATS_max - 0.6

tags = "parameters gradients optimizer communication activations"
paints = "#0072b2 #56b4e9 #d55e00 #e69f00 #bbbbbb"
is(k) = strcol("tag") eq word(tags, k) && (k == 3 || column("high") > column("low"))

unset grid
set xrange [0 : x_high * 1.02]
set yrange [y_low : 0.6]
set xlabel "bytes a parameter, on the rank that has most"
set ytics scale 0 noenhanced
set style fill solid 0.9 noborder
set key outside center top horizontal
if (ascii) {
    array mark[5] = ["#", "=", "O", "+", "."]
    inside(s) = column("low") + (column("high") - column("low")) * (s + 0.5) / 41
    plot for [k = 1:5] for [s = 0:40] csv using (is(k) ? inside(s) : NaN):(-column("bar")):ytic(strcol("label")) \
             with points pointtype mark[k] title (s == 0 ? word(tags, k) : "")
} else {
    y(off) = -column("bar") + off
    tip(k) = is(k) ? column("low") + column("states_formula") : NaN
    plot for [k = 1:5] csv using (is(k) ? 0 : NaN):(y(0)):(column("low")):(column("high")):(y(-0.34)):(y(0.34)):ytic(strcol("label")) \
             with boxxyerror linecolor rgb word(paints, k) title word(tags, k), \
         csv using (tip(3)):(y(0)):(0):(0.42) \
             with vectors nohead linewidth 2 linecolor rgb ink notitle, \
         csv using (tip(3)):(y(0)):(0):(-0.42) \
             with vectors nohead linewidth 2 linecolor rgb ink title "4 + 4 + 8/N"
}
