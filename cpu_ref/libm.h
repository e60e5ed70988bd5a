/* Errors of the C library's functions that the variants use, relative, in units of u (one ulp is at most 2u); float and
 * double alike. glibc's manual, "Known Maximum Errors in Math Functions"; its exp and expf say more in their sources.
 */
#ifndef TANDEM_CPU_LIBM_H
#define TANDEM_CPU_LIBM_H

#define TD_EXPF_ULP 1.02 /* exp, expf: below 0.51 ulp */
#define TD_TANHF_ULP 4.0 /* tanh, tanhf: 2 ulp */

#endif
