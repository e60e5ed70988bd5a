/* Seconds of CLOCK_MONOTONIC: for measuring, and for what ranks of one host tell each other. */
#ifndef TANDEM_CPU_REF_CLOCK_H
#define TANDEM_CPU_REF_CLOCK_H

double td_now(void);

#endif
