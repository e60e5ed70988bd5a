# Who owns the memory at its peak: one bar an owner, the largest on top, its size and share written beside it.
# Columns: owner, peak_mib, percent.
plot_width = 900
plot_height = 420
plot_rows = 22
load plots."/style.gp"

stats csv using (column("peak_mib")) nooutput
x_high = STATS_max; rows = STATS_records
size(mib, percent) = sprintf("%.3g MiB (%.2g %%)", mib, percent)

set xrange [0 : x_high * (ascii ? 1.6 : 1.3)]
set yrange [-rows + 0.4 : 0.6]
set xlabel "MiB at the moment of the peak"
unset grid
set ytics scale 0 noenhanced
set style fill solid 0.85 noborder
unset key
if (ascii) {
    plot csv using (0):(-column(0)):(column("peak_mib")):(0):ytic(strcol("owner")) with vectors nohead, \
         csv using (column("peak_mib")):(-column(0)):(size(column("peak_mib"), column("percent"))) \
             with labels left offset 1, 0
} else {
    plot csv using (0):(-column(0)):(0):(column("peak_mib")):(-column(0) - 0.32):(-column(0) + 0.32):ytic(strcol("owner")) \
             with boxxyerror linecolor rgb colour("f32"), \
         csv using (column("peak_mib")):(-column(0)):(size(column("peak_mib"), column("percent"))) \
             with labels left offset 1, 0 noenhanced
}
