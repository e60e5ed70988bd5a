/* Adam and AdamW (Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019, algorithm 2), element by element, in the
 * parameters' dtype. In TD_F64 on the CPU's engine, with TD_ADAM_FULL, this is the reference for all others:
 *
 *   m ← β₁ m + (1 − β₁) g          v ← β₂ v + (1 − β₂) g²
 *   p ← p − lr·decay·p − lr · (m/(1 − β₁ᵗ)) / (√(v/(1 − β₂ᵗ)) + ε)
 *
 * Decay is decoupled: it takes its share of the old p and never enters m or v. The bias correction divides where m and
 * v are used and is not written back into them; ε stands outside the root. decay = 0 is Adam.
 *
 * Clipped, g is factor · gradient, factor = min(1, max_norm / norm), where norm = √Σ gradient² over all parameters,
 * each element once. Nothing is added to norm (PyTorch adds 1e-6). */
#ifndef TANDEM_ADAM_H
#define TANDEM_ADAM_H

#include "comm.h"
#include "engine.h"
#include "gpt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_adam_config {
    double lr, beta1, beta2, eps, weight_decay;
    double max_norm;    /* gradients are clipped to this global norm; 0 = not clipped */
    size_t chunk_bytes; /* flat: what one reduce-scatter or all-gather takes of the array; 0 = 64 MiB */
} td_adam_config;

/* One update of `count` elements of `dtype` (TD_F64 or TD_F32), which may be a shard of a parameter: value, m and v
 * change in place. `step` is t ≥ 1, counting this update; `decay` is 0 or config->weight_decay. */
void td_adam_update(td_dtype dtype, int64_t count, void *value, const void *gradient, void *m, void *v,
                    const td_adam_config *config, double decay, int64_t step);

/* How the states m and v are divided over ranks (ZeRO-1, Rajbhandari et al. 2020, is one of the last two):
 *   full           every rank holds all, and updates all
 *   by parameter   each parameter has one owner, which updates it and broadcasts it
 *   flat           the parameters end to end, cut into chunks, each chunk padded and cut into equal slices, one a rank:
 *                  reduce-scatter, update of the own slice, all-gather */
typedef enum td_adam_sharding { TD_ADAM_FULL = 0, TD_ADAM_BY_PARAMETER, TD_ADAM_FLAT } td_adam_sharding;

typedef struct td_adam td_adam;
/* `parameters` stay the caller's: value and gradient (one dtype, TD_F32, or TD_F64 on a CPU), count, decay, group and
 * frozen are read here, once. m and v come from the engine's allocator with the optimizer tag, zero at first; a frozen
 * parameter has none. Flat works where values and gradients are, if they lie end to end and the chunk can be cut into
 * equal slices; else in a copy of the chunk, with the communication tag. comm may be NULL for TD_ADAM_FULL.
 * TD_BAD_PARAM unless lr, weight_decay, max_norm ≥ 0, 0 ≤ β < 1, ε > 0, all finite, and 0 ≤ group < TD_ADAM_GROUPS/2.
 */
td_status td_adam_new(td_adam **out, td_adam_sharding sharding, td_parameter *parameters, int n, td_dtype dtype,
                      const td_adam_config *config, td_comm *comm, const td_engine *engine, td_error *err);
void td_adam_delete(td_adam *adam);
/* From the next step on, parameters of this group (td_parameter.group) have this rate and decay (decay still only where
 * td_parameter.decay is 1). At first every group has the config's. */
td_status td_adam_set_group(td_adam *adam, int group, double lr, double weight_decay, td_error *err);
/* One update of every parameter from its gradient. If a gradient is not finite, on any rank: TD_WRONG on every rank,
 * naming the parameter, and nothing changes, neither parameters nor states nor the count of steps.
 * A collective that fails, or may not be started because an array is in other hands: its error, with all that was
 * started awaited. While gradients are reduced nothing but them has changed; later, values and states are unspecified.
 *   full, by parameter   gradients are reduced already (ddp.h), the same on all ranks
 *   flat                 gradients are this rank's own: the step sums them over ranks, and leaves them unspecified */
td_status td_adam_step(td_adam *adam, td_error *err);
/* Steps taken. */
int64_t td_adam_steps(const td_adam *adam);
/* The global norm of the last step's gradients, before clipping; computed only where max_norm > 0. */
double td_adam_norm(const td_adam *adam);

/* What this rank owns of parameter i: elements [first, first + count), and their m and v, in pieces 0, 1, … (more than
 * one only where flat's chunks end inside the parameter). count = 0: no such piece. */
typedef struct td_owned {
    int64_t first, count;
    void *m, *v;
} td_owned;
td_owned td_adam_owned(const td_adam *adam, int i, int piece);

/* Collective. One file at `path`, written by rank 0, whatever the sharding and the number of ranks: step, groups, each
 * parameter's name and count, its m and v, and a checksum. Loading takes any sharding and any number of ranks, and
 * restores step and groups as well; TD_WRONG, and nothing changes, if names, counts or dtype differ, or if it is no
 * such file or not a whole one. A file is whole or not there. */
td_status td_adam_save(td_adam *adam, const char *path, td_error *err);
td_status td_adam_load(td_adam *adam, const char *path, td_error *err);

#ifdef __cplusplus
}
#endif
#endif
