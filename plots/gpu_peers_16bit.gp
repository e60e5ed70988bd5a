# 16-bit attention on a GPU: TFLOP/s of each rung and peer against T, a panel a head dimension and mask, for the CSV's
# first operation (or `op`). Rungs that were run at one T alone, the slow ones, are left out.
# Columns: op, dtype, B, T, d, mask, fixture, variant, tflop_per_s.
plot_width = 1300
plot_height = 880
plot_rows = 44
load plots."/style.gp"

shown = "bf16"
first = ""
note_op(o) = (first eq "" ? first = o : 0, 0)
stats csv using (note_op(strcol("op"))) nooutput
if (exists("op")) first = op
variants = ""
count = 0
is_shown(x) = strcol("op") eq first && strcol("dtype") eq shown && strcol("fixture") eq "normal" && \
    column("B") * column("T") == 16384
note(v) = (strstrt(variants." ", " ".v." ") ? 0 : (variants = variants." ".v, count = count + 1), 0)
stats csv using (is_shown(0) && column("T") == 1024 ? note(strcol("variant")) : 0) nooutput

is_ours(v) = v[1:4] eq "gpu_"
rung(v) = v[5:strlen(v) - 5][1:9] eq "backward_" ? v[14:strlen(v) - 5] : v[5:strlen(v) - 5]
short(v) = v[1:5] eq "sdpa_" ? "PyTorch ".v[6:*] : v eq "triton" ? "Triton" : rung(v)
# Peers are grey and dashed. The last rung has the palette's last colour, the one before it the one before; the first ones
# share its first.
palette_of = "#bbbbbb #cc79a7 #e69f00 #d55e00 #56b4e9 #0072b2 #009e73 #222222"
ours = ""
do for [i = 1:count] { if (is_ours(word(variants, i))) { ours = ours." ".word(variants, i) } }
peer(v) = v eq "sdpa_cudnn" ? 2 : v eq "triton" ? 4 : 3
number(v) = sum [j = 1:words(ours)] (word(ours, j) eq v ? j : 0)
place(v) = number(v) < words(ours) - 6 ? 1 : 8 - words(ours) + number(v)
shade(i) = is_ours(word(variants, i)) ? word(palette_of, place(word(variants, i))) : "#888888"
dash(i) = is_ours(word(variants, i)) ? 1 : peer(word(variants, i))
mark(v) = is_ours(v) ? 7 : v eq "sdpa_cudnn" ? 5 : v eq "triton" ? 9 : v eq "sdpa_flash2" ? 13 : 6

set logscale x 2
set xrange [850:20000]
set xtics (1024, 4096, 16384)
set yrange [0:*]
set ylabel "TFLOP/s, ".shown
set xlabel "T (queries and keys); B T = 16384, H d = 2048"
set datafile missing NaN  # a line goes on past the rows of others
if (ascii) {
    set key outside center bottom horizontal noenhanced maxrows 6
    set multiplot layout 2, 1
} else {
    set key at screen 0.99, screen 0.93 right top Right noenhanced
    set multiplot layout 2, 2 margins 0.06, 0.79, 0.08, 0.92 spacing 0.07, 0.14 \
        title (first eq "attention_forward" ? "forward" : "backward")
}
do for [d in (ascii ? "128" : "64 128")] {
    do for [mask in "none causal-top-left"] {
        set title sprintf("d = %s, %s", d, mask eq "none" ? "full" : "causal")
        here(i) = is_shown(0) && strcol("variant") eq word(variants, i) && strcol("d") eq d && strcol("mask") eq mask
        plot for [i = 1:count] csv using (here(i) ? column("T") : NaN):(column("tflop_per_s")) with linespoints \
            dashtype dash(i) linewidth (shade(i) eq "#888888" ? 1.5 : 2) pointtype mark(word(variants, i)) \
            pointsize 0.7 linecolor rgb shade(i) title short(word(variants, i))
        if (!ascii) { unset key }
    }
}
unset multiplot
