/* Peers: other people's libraries as variants, to be timed beside ours; never a reference. */
#ifndef TANDEM_CHECKS_PEERS_H
#define TANDEM_CHECKS_PEERS_H

#include "tandem/variant.h"

extern const td_variant td_gemm_openblas_f32, td_gemm_openblas_f64;

/* NULL-terminated. */
extern const td_variant *const td_peer_variants[];

#endif
