# Place the labels at the right edge of a log-y plot, pushed apart until none overlaps: from the lowest up, each at
# least `label_gap` (a factor on the axis) above the one below it. Labels of an earlier panel are the script's to unset.
do for [i = 1:labels - 1] {
    do for [j = 1:labels - i] {
        if (label_y[j] > label_y[j + 1]) {
            y = label_y[j]; label_y[j] = label_y[j + 1]; label_y[j + 1] = y
            t = label_text[j]; label_text[j] = label_text[j + 1]; label_text[j + 1] = t
            c = label_colour[j]; label_colour[j] = label_colour[j + 1]; label_colour[j + 1] = c
        }
    }
}
do for [i = 2:labels] {
    if (label_y[i] < label_y[i - 1] * label_gap) { label_y[i] = label_y[i - 1] * label_gap }
}
if (!ascii) {
    do for [i = 1:labels] {
        set label label_text[i] at graph 1.015, first label_y[i] left noenhanced textcolor rgb label_colour[i]
    }
}
