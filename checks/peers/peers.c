/* Every peer. */
#include "peers.h"

const td_variant *const td_peer_variants[] = {&td_gemm_openblas_f32, &td_gemm_openblas_f64, NULL};
