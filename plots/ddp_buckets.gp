# Time of a step against the size of a bucket: what the schedule foretold as a line, what was measured as dots, with the
# quartiles.
# Columns: cap_kib, foretold_ms, step_ms, step_low_ms, step_high_ms (the last three empty where nothing was run), link,
# alpha_us, beta_mb_per_s.
plot_width = 900
plot_height = 520
plot_rows = 26
load plots."/style.gp"

stats csv using (column("cap_kib")):(column("foretold_ms")) nooutput
x_low = STATS_min_x; x_high = STATS_max_x; y_high = STATS_max_y
stats csv using (column("step_high_ms")) nooutput
if (STATS_records > 0 && STATS_max > y_high) { y_high = STATS_max }
link = ""; alpha = 0; beta = 0
note(text, a, b) = (link = text, alpha = a, beta = b, 0)
stats csv using (note(strcol("link"), column("alpha_us"), column("beta_mb_per_s"))) nooutput
what = sprintf("%s link: {/Symbol a} = %.4g µs, {/Symbol b} = %.4g MB/s", link, alpha, beta)

size(kib) = kib < 1024 ? sprintf("%.0f KiB", kib) : sprintf("%.0f MiB", kib / 1024)
set logscale x 2
set xrange [x_low / 1.2 : x_high * 1.2]
set yrange [0 : y_high * 1.15]
set xtics ()
tick = 2.0 ** ceil(log(x_low) / log(2))
while (tick <= x_high * 1.01) { set xtics add (size(tick) tick); tick = tick * 4 }
set xlabel "bytes in a bucket, at most"
set ylabel "ms a step"
if (ascii) {
    plot csv using (column("cap_kib")):(column("foretold_ms")) with lines title "foretold", \
         csv using (column("cap_kib")):(column("step_ms")) with points pointtype "*" title "measured"
} else {
    set key at graph 0.03, 0.05 left bottom Left reverse
    set tmargin 2.5
    set label 1 what at graph 0, 1.05 left textcolor rgb ink
    plot csv using (column("cap_kib")):(column("foretold_ms")) with lines linewidth 2 linecolor rgb colour("bf16") \
             title "foretold by the α–β schedule", \
         csv using (column("cap_kib")):(column("step_ms")):(column("step_low_ms")):(column("step_high_ms")) \
             with yerrorbars linewidth 2 pointtype 7 pointsize 0.9 linecolor rgb colour("f32") title "measured, with quartiles"
}
