/* Peers: other people's libraries as variants, to be timed beside ours; never a reference. */
#ifndef TANDEM_CHECKS_PEERS_H
#define TANDEM_CHECKS_PEERS_H

#include "tandem/variant.h"

extern const td_variant td_gemm_openblas_f32, td_gemm_openblas_f64;

/* The processor whose kernels OpenBLAS chose, "Haswell"; NULL if this build has no OpenBLAS. */
const char *td_openblas_core(void);

/* NULL-terminated. */
extern const td_variant *const td_peer_variants[];

#endif
