# Ticks of a log-y axis from y_low to y_high: powers of ten alone, or, where there would be hardly any of them, 1, 2
# and 5 times a power; within one power, every digit.
if (y_high / y_low > 200 || ascii) {
    set ytics autofreq
    set format y tens
} else {
    set ytics ()
    set format y "%g"
    if (y_high / y_low < 8) {
        do for [k = 1:9] { set ytics add (0.1 * k, 1 * k, 1.5, 2.5, 10 * k, 15, 25, 100 * k) }
    }
    do for [power = floor(log10(y_low)) - 1:ceil(log10(y_high)) + 1] {
        set ytics add (1 * 10.0 ** power, 2 * 10.0 ** power, 5 * 10.0 ** power)
    }
}
