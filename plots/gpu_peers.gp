# Attention on a GPU beside PyTorch's: TFLOP/s of each rung and peer at the longest T that has both masks, one group a
# head dimension and mask, forward and backward.
# Columns: op, T, d, mask, variant, tflop_per_s.
plot_width = 1200
plot_height = 480
plot_rows = 40
load plots."/style.gp"

# The variants of each operation and the shapes, in order of appearance.
array variants[2] = ["", ""]
groups = ""
T_shown = 0
op_of(i) = i == 1 ? "attention_forward" : "attention_backward"
has(list, word) = strstrt(" ".list." ", " ".word." ") > 0
group(d, mask) = sprintf("%s/%s", d, mask eq "none" ? "full" : "causal")
# A mask other than none at B 4 marks the T of the comparison.
stats csv using (T_shown = strcol("mask") ne "none" && column("T") > T_shown ? column("T") : T_shown) nooutput
note(i, v) = has(variants[i], v) ? 0 : (variants[i] = variants[i]." ".v, 0)
note_group(g) = has(groups, g) ? 0 : (groups = groups." ".g, 0)
stats csv using (column("T") == T_shown ? note(strcol("op") eq op_of(1) ? 1 : 2, strcol("variant")) : 0) nooutput
stats csv using (column("T") == T_shown ? note_group(group(strcol("d"), strcol("mask"))) : 0) nooutput

index_of(list, name) = sum [j = 1:words(list)] (word(list, j) eq name ? j : 0)
short(v) = v[1:4] eq "gpu_" ? (v[5:13] eq "backward_" ? v[14:strlen(v) - 4] : v[5:strlen(v) - 4]) : "PyTorch ".v[6:*]
shade(v) = v eq "sdpa_efficient" ? "#e69f00" : v[1:5] eq "sdpa_" ? "#f0cf8f" : \
    strstrt(v, "registers_two_pass") ? "#56b4e9" : strstrt(v, "registers") ? "#0072b2" : strstrt(v, "tiled") || strstrt(v, "atomic") ? "#009e73" : \
    strstrt(v, "cublas") || strstrt(v, "two_pass") ? "#cc79a7" : strstrt(v, "warp") ? "#999999" : "#d55e00"

set style fill solid 0.9 noborder
set ylabel "TFLOP/s, float32"
set yrange [0:*]
set key outside center bottom horizontal noenhanced maxrows 3
set xtics () nomirror scale 0
set grid noxtics
set multiplot layout (ascii ? 2 : 1), (ascii ? 1 : 2)
do for [i = 1:2] {
    n = words(variants[i])
    width = 0.84 / n
    set title sprintf("%s, T = %d", i == 1 ? "forward" : "backward", T_shown)
    set xrange [0.5 : words(groups) + 0.5]
    do for [k = 1:words(groups)] {
        g = word(groups, k)
        set xtics add ("d ".g[1:strstrt(g, "/") - 1].", ".g[strstrt(g, "/") + 1:*] k)
    }
    set boxwidth width * 0.92
    plot for [k = 1:n] csv using \
        (column("T") == T_shown && strcol("op") eq op_of(i) && strcol("variant") eq word(variants[i], k) ? \
            index_of(groups, group(strcol("d"), strcol("mask"))) - 0.42 + (k - 0.5) * width : NaN):(column("tflop_per_s")) \
        with boxes linecolor rgb shade(word(variants[i], k)) title short(word(variants[i], k))
}
unset multiplot
