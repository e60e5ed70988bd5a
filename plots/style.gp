# What every plot shares. A script is run with these variables set (td_plot in checks/plot.c does it):
#   csv       the file to read           terminal  svg, png or dumb (ASCII on the terminal)
#   out       the file to write          plots     the folder of this file
#   columns   width of an ASCII plot
# By hand: gnuplot -e "csv='x.csv'; out='x.png'; terminal='png'; plots='plots'" plots/NAME.gp
# Before loading this file a script may set plot_width, plot_height (pixels) and plot_rows (lines of ASCII).

if (!exists("terminal")) terminal = "png"
if (!exists("columns")) columns = 80
if (!exists("plot_width")) plot_width = 900
if (!exists("plot_height")) plot_height = 560
if (!exists("plot_rows")) plot_rows = 24
ascii = (terminal eq "dumb")

set encoding utf8
if (ascii) {
    set terminal dumb size columns, plot_rows noenhanced
} else { if (terminal eq "svg") {
    set terminal svg size plot_width, plot_height enhanced font "sans-serif,15" background rgb "white"
} else { if (strstrt(GPVAL_TERMINALS, "pngcairo")) {
    set terminal pngcairo size 2 * plot_width, 2 * plot_height enhanced font "Sans,15" fontscale 1.5 linewidth 2 pointscale 2
} else {
    set terminal png size 2 * plot_width, 2 * plot_height enhanced font "Sans,22" linewidth 2
} } }
if (!ascii) set output out

set datafile separator comma
set datafile commentschars "#"
set datafile columnheaders
set datafile missing ""

# Okabe & Ito's palette: told apart by colour-blind readers too. One name, one colour, in every plot.
ink = "#222222"; pale = "#bbbbbb"
colour_of(name) = name eq "f64" ? "#222222" : name eq "f32" ? "#0072b2" : name eq "fp16" ? "#009e73" : \
    name eq "bf16" ? "#d55e00" : name[1:5] eq "dense" ? "#d55e00" : name[1:6] eq "cublas" ? "#e69f00" : \
    name[1:11] eq "online_warp" ? "#56b4e9" : name[1:16] eq "online_registers" ? "#009e73" : \
    name[1:6] eq "online" ? "#0072b2" : "#cc79a7"
# A rung has one colour on a GPU and under the emulator.
colour(name) = colour_of(name[1:4] eq "gpu_" || name[1:4] eq "emu_" ? name[5:*] : name)

set border 3 linewidth 1 linecolor rgb ink
set tics nomirror out scale 0.6 textcolor rgb ink
set grid linewidth 0.8 linetype 1 linecolor rgb "#dcdcdc"
set style fill transparent solid 0.18 noborder
unset key
if (ascii) {
    unset grid
    set key outside center top horizontal
}

# Powers for log axes: 10⁻³ in a picture, 1e-3 in ASCII.
tens = ascii ? "1e%T" : "10^{%T}"

# Labels at the right end of lines, instead of a legend: fill label_text[i], label_y[i], label_colour[i] for
# i = 1 … labels, then load plots."/labels.gp".
array label_text[16]
array label_y[16]
array label_colour[16]
labels = 0
