# The error of each rung and peer against float64, 16-bit inputs: a panel a type, a group an output and a kind of inputs.
# Columns: op, dtype, B, T, fixture, mask, variant, rel_l2_O, rel_l2_dQ, rel_l2_dK, rel_l2_dV.
plot_width = 1400
plot_height = 520
plot_rows = 48
load plots."/style.gp"

# The cell that is there twice, with normal inputs and with outliers.
is_cell(x) = column("B") * column("T") == 4096 && strcol("dtype") ne "f32"
variants = ""
count = 0
note(v) = (strstrt(variants." ", " ".v." ") ? 0 : (variants = variants." ".v, count = count + 1), 0)
stem(v) = v[1:4] ne "gpu_" ? v : v[5:strlen(v) - 5][1:9] eq "backward_" ? v[14:strlen(v) - 5] : v[5:strlen(v) - 5]
stats csv using (is_cell(0) ? note(stem(strcol("variant"))) : 0) nooutput

outputs = "O dQ dK dV"
group(output, fixture) = sum [j = 1:4] (word(outputs, j) eq output ? 2 * j - (fixture eq "normal") : 0)
is_peer(v) = v[1:5] eq "sdpa_" || v eq "triton"
short(v) = v[1:5] eq "sdpa_" ? "PyTorch ".v[6:*] : v eq "triton" ? "Triton" : v
ours = ""
do for [i = 1:count] { if (!is_peer(word(variants, i))) { ours = ours." ".word(variants, i) } }
number(v) = sum [j = 1:words(ours)] (word(ours, j) eq v ? j : 0)
palette_of = "#0072b2 #d55e00 #009e73 #cc79a7 #56b4e9 #e69f00"
shade(v) = is_peer(v) ? "#555555" : word(palette_of, (number(v) - 1) % 6 + 1)
mark(v) = v eq "sdpa_cudnn" ? 4 : v eq "triton" ? 8 : v eq "sdpa_flash2" ? 12 : v eq "sdpa_efficient" ? 6 : \
    number(v) > 6 ? 5 : 7

set xrange [0.5:8.5]
set yrange [0:*]
set xtics () nomirror scale 0
do for [j = 1:4] {
    set xtics add (word(outputs, j).(ascii ? " normal" : "\nnormal") 2 * j - 1)
    set xtics add (word(outputs, j).(ascii ? " outlier" : "\noutliers") 2 * j)
}
set ylabel "relative L2 error against float64"
set format y (ascii ? "%.0e" : "%.1te%T")
if (ascii) {
    set key outside center bottom horizontal noenhanced maxrows 6
    set multiplot layout 2, 1
} else {
    set key at screen 0.995, screen 0.93 right top Right noenhanced
    set multiplot layout 1, 2 margins 0.07, 0.82, 0.14, 0.92 spacing 0.08, 0
}
do for [type in "bf16 fp16"] {
    set title type
    here(v, o) = is_cell(0) && strcol("dtype") eq type && stem(strcol("variant")) eq v && strlen(strcol("rel_l2_".o)) > 0
    plot for [i = 1:count] for [j = 1:4] csv using \
        (here(word(variants, i), word(outputs, j)) ? group(word(outputs, j), strcol("fixture")) - 0.36 + \
            0.72 * (i - 0.5) / count : NaN):(column("rel_l2_".word(outputs, j))) \
        with points pointtype mark(word(variants, i)) pointsize 0.7 linecolor rgb shade(word(variants, i)) \
        title (j == 1 ? short(word(variants, i)) : "")
    if (!ascii) { unset key }
}
unset multiplot
