# The roofline: arithmetic intensity across, the rate reached upwards, both logarithmic. The roof is drawn from the
# ceilings measured in the same run: one slope, and a flat part for each type that the arithmetic is in.
# Columns: label, arithmetic, intensity_flop_per_byte, rate_gflop_per_s, peak_gflop_per_s, bandwidth_gb_per_s.
plot_width = 1000
plot_height = 640
plot_rows = 32
load plots."/style.gp"

# The plot's inside, a letter's width and a line's height: in characters for ASCII, else in pixels.
width = ascii ? columns - 12.0 : plot_width - 110.0
height = ascii ? plot_rows - 6.0 : plot_height - 90.0
letter = ascii ? 1.0 : 8.4
line = ascii ? 1.0 : 19.0
gap = ascii ? 2.0 : 10.0

# Points: the rows that have a measurement.
array px[64]; array py[64]; array name[64]; array lx[64]; array ly[64]; array side[64]
points = 0
note(x, y, text) = (points = points + 1, px[points] = log10(x), py[points] = log10(y), name[points] = text, 0)
stats csv using (column("rate_gflop_per_s") > 0 && points < 64 ? \
    note(column("intensity_flop_per_byte"), column("rate_gflop_per_s"), strcol("label")) : 0) nooutput

stats csv using (column("bandwidth_gb_per_s")) nooutput
slope = log10(STATS_max)
types = "f32 f64 bf16"; flats = 3
array peak[3]
top = -99
do for [r = 1:flats] {
    stats csv using (strcol("arithmetic") eq word(types, r) ? column("peak_gflop_per_s") : 0) nooutput
    peak[r] = STATS_max > 0 ? log10(STATS_max) : NaN
    if (peak[r] > top) { top = peak[r] }
}
roof(x, r) = slope + x < peak[r] ? slope + x : peak[r]

# Ranges, in powers of ten: a label must fit between its point and the right edge.
x_low = top - slope; y_low = top
do for [i = 1:points] {
    if (px[i] < x_low) { x_low = px[i] }
    if (py[i] < y_low) { y_low = py[i] }
}
x_low = x_low - 0.6; y_low = y_low - 0.5; y_high = top + 0.6
if (y_low > slope + x_low) { y_low = slope + x_low - 0.2 }
x_high = top - slope + 1
do for [i = 1:points] {
    share = (strlen(name[i]) * letter + 2 * gap) / width
    reach = (px[i] - share * x_low) / (1 - share)
    if (reach > x_high) { x_high = reach }
}
per_x = width / (x_high - x_low); per_y = height / (y_high - y_low)

# The roof names itself: the slope along its left end (in ASCII to the right of it), the flat parts behind the ridge.
long(text) = strlen(text) * letter / per_x
high = line / per_y
space = gap / per_x
array roof_text[4]; array rx[4]; array ry[4]
short(x, unit) = x < 1000 ? sprintf("%.3g G%s", x, unit) : sprintf("%.3g T%s", x / 1000, unit)
work(r) = word(types, r) eq "bf16" ? "bf16 matrix products" : word(types, r)." multiply-adds"
do for [r = 1:flats] {
    roof_text[r] = peak[r] == peak[r] ? short(10 ** peak[r], "FLOP/s, ").work(r) : ""
    rx[r] = top - slope + space; ry[r] = peak[r] + 0.7 * high
}
roof_text[4] = short(10 ** slope, "B/s from memory")
rx[4] = x_low + (ascii ? high + 2 * space : space)
ry[4] = ascii ? slope + x_low + 0.5 * high : slope + rx[4] + 1.1 * high
do for [r = 1:4] {
    if (roof_text[r] ne "") {
        set label roof_text[r] at 10 ** rx[r], 10 ** ry[r] left textcolor rgb ink \
            rotate by (r < 4 || ascii ? 0 : atan2(per_y, per_x) * 180 / pi)
    }
}

# Labels, from the highest point down: right of the point, else left of it, and lower while it would touch a label
# already placed, another point, or a roof. A label that moved down has a leader, which must not cross a label either.
array order[64]
do for [i = 1:points] { order[i] = i }
do for [i = 1:points - 1] {
    do for [j = 1:points - i] {
        if (py[order[j]] < py[order[j + 1]]) { swap = order[j]; order[j] = order[j + 1]; order[j + 1] = swap }
    }
}
meets(x, y, i, ax, ay, along, tall) = x < ax + along && ax < x + long(name[i]) && abs(y - ay) < tall
crosses(x, y, i, r) = roof(x, r) < y + 0.6 * high && roof(x + long(name[i]), r) > y - 0.6 * high
led(i, y) = !ascii && py[i] - y > 0.6 * high
leads(i, s, y, j, ax, ay) = led(i, y) && px[i] + (s < 0 ? -space : 0) < ax + long(name[j]) \
    && ax < px[i] + (s > 0 ? space : 0) && y < ay + 0.5 * high && ay - 0.5 * high < py[i]
at_side(i, s) = s > 0 ? px[i] + space : px[i] - space - long(name[i])
blocked(x, y, s, i, k) = x < x_low || (sum [r = 1:flats] crosses(x, y, i, r)) > 0 \
    || (sum [r = 1:4] meets(x, y, i, rx[r], ry[r], long(roof_text[r]), high)) > 0 \
    || (sum [j = 1:k - 1] meets(x, y, i, lx[order[j]], ly[order[j]], long(name[order[j]]), high)) > 0 \
    || (sum [j = 1:points] (j != i && meets(x, y, i, px[j] - 0.5 * space, py[j], space, 0.75 * high))) > 0 \
    || (sum [j = 1:k - 1] (leads(i, s, y, order[j], lx[order[j]], ly[order[j]]) \
                           || leads(order[j], side[order[j]], ly[order[j]], i, x, y))) > 0
do for [k = 1:points] {
    i = order[k]
    s = 1; x = at_side(i, s); y = py[i]; tries = 0
    while (tries < 160 && blocked(x, y, s, i, k)) {
        if (s < 0) { y = y - 0.25 * high }
        s = -s; x = at_side(i, s); tries = tries + 1
    }
    lx[i] = x; ly[i] = y; side[i] = s
    if (y - high < y_low) { y_low = y - high }
    shade = ascii ? ink : colour(name[i])
    if (s > 0) {
        set label name[i] at 10 ** x, 10 ** y left noenhanced textcolor rgb shade
    } else {
        set label name[i] at 10 ** (px[i] - space), 10 ** y right noenhanced textcolor rgb shade
    }
    if (ascii) {
        set label "o" at 10 ** px[i], 10 ** py[i] center front
    } else {
        set label "" at 10 ** px[i], 10 ** py[i] point pointtype 7 pointsize 1.1 linecolor rgb colour(name[i]) front
        if (led(i, y)) {
            set arrow from 10 ** px[i], 10 ** py[i] to 10 ** (px[i] + 0.8 * s * space), 10 ** y nohead \
                linewidth 0.7 linecolor rgb pale
        }
    }
}

set logscale xy 10
set xrange [10 ** x_low : 10 ** x_high]
set yrange [10 ** y_low : 10 ** y_high]
set format xy tens
set xlabel "arithmetic intensity (FLOPs per byte)"
set ylabel ascii ? "GFLOP/s" : "rate reached (GFLOP/s)"
unset key
set samples 400
plot for [r = 1:flats] 10 ** roof(log10(x), r) with lines linewidth 2 linecolor rgb (ascii ? ink : colour(word(types, r)))
