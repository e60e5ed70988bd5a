/* Plots by gnuplot from one CSV: SVG and PNG files, and ASCII in the terminal. */
#ifndef TANDEM_CHECKS_PLOT_H
#define TANDEM_CHECKS_PLOT_H

#include "tandem/status.h"

/* Run plots/<script>.gp on `csv`, writing <out_base>.svg and <out_base>.png, and print the paths; when `ascii`, also a
 * dumb-terminal plot on stdout. Without gnuplot: TD_UNSUPPORTED with the reason (SKIP, never an error of the lesson).
 */
td_status td_plot(const char *script, const char *csv, const char *out_base, int ascii, td_error *err);

#endif
