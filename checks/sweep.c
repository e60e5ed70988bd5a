/* The sweep: inputs, truth and bounds are made once a variant and seed, then every block size runs on them. */
#include "sweep.h"
#include "bench.h"
#include "memory.h"
#include "progress.h"
#include "tolerance.h"
#include "trial.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is measured of one run. Errors and bounds of O as relative L2; err over tol elementwise, the worst. */
typedef enum field {
    BEFORE,
    AFTER,
    BEFORE_OVER_TOL,
    AFTER_OVER_TOL,
    BEFORE_OVER_HARD,
    LSE_OVER_TOL,
    BEFORE_GATE,
    BEFORE_HARD,
    AFTER_GATE,
    AFTER_HARD,
    FIELDS
} field;

/* What all block sizes of one variant and seed share. */
typedef struct scene {
    td_trial candidate, truth;
    td_tensor stored; /* O rounded to the variant's dtype */
    td_bounds before, after, lse;
    int uses_hard;
    double *space;
} scene;

td_sweep_options td_sweep_defaults(void) {
    td_sweep_options options = {.variants = 3,
                                .block = {1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 64, 100, 127, 128, 256, 512, 1000, 1024},
                                .blocks = 18,
                                .problem = {1, 1, 1, 64, 1024, 64, 0.125, TD_MASK_NONE, 0},
                                .seed = 1,
                                .seeds = 20};
    options.variant[0] = td_variant_find("online_f32");
    options.variant[1] = td_variant_find("online_bf16");
    options.variant[2] = td_variant_find("online_fp16");
    return options;
}

static void scene_free(scene *s) {
    td_trial_free(&s->candidate);
    td_trial_free(&s->truth);
    free(s->space);
}

static td_status scene_bounds(scene *s, td_error *err) {
    const td_variant *variant = s->candidate.variant;
    const td_tensor *truth = s->truth.tensors, *got = s->candidate.tensors;
    const td_problem *problem = &s->truth.problem;
    int64_t n = td_count(&truth[TD_O]), rows = td_count(&truth[TD_LSE]);
    s->space = malloc((size_t)(5 * n + 2 * rows + 1) * sizeof(double));
    if (!s->space) return td_fail(err, TD_NO_MEMORY, "sweep: no memory for the bounds");
    s->before = (td_bounds){s->space, s->space + n};
    s->after = (td_bounds){s->space + 2 * n, s->space + 3 * n};
    s->lse = (td_bounds){s->space + 4 * n, s->space + 4 * n + rows};
    s->stored = truth[TD_O];
    s->stored.dtype = variant->dtype;
    s->stored.data = s->space + 4 * n + 2 * rows;

    const td_rounding *r = &variant->rounding;
    td_status status = td_tolerance(problem, r, truth, TD_O, got[TD_O].dtype, &s->before, err);
    if (status == TD_OK) status = td_tolerance(problem, r, truth, TD_O, variant->dtype, &s->after, err);
    if (status == TD_OK) status = td_tolerance(problem, r, truth, TD_LSE, got[TD_LSE].dtype, &s->lse, err);
    return status;
}

/* On failure nothing is left allocated. */
static td_status scene_new(scene *s, const td_sweep_options *o, const td_variant *variant, int64_t largest_block,
                           uint64_t seed, td_error *err) {
    td_problem problem = {.op = TD_OP_ATTENTION_FORWARD, .attention = o->problem};
    td_allocator allocator = td_plain_allocator();
    td_trial_plan plan;
    memset(s, 0, sizeof *s);
    s->uses_hard = td_fixture_is_adversarial(o->fixture);
    problem.attention.block = largest_block; /* needs the most workspace */
    td_trial_plan_layout(&plan, variant, &problem, TD_LAYOUT_CONTIGUOUS, variant->rounding.arithmetic);
    td_status status = td_trial_new(&s->candidate, variant, &problem, &plan, &allocator, err);
    if (status) return status;
    status = td_trial_draw(&s->candidate, o->fixture, seed, variant->dtype, err);
    if (status == TD_OK)
        status = td_trial_of(&s->truth, td_variant_find("dense_f64"), &problem, s->candidate.tensors, &allocator, err);
    if (status)
        td_trial_free(&s->candidate);
    else if ((status = scene_bounds(s, err)))
        scene_free(s);
    return status;
}

static double relative_l2(const double *bound, const td_tensor *want) {
    double squares = 0, size = 0;
    for (int64_t i = 0; i < td_count(want); i++) {
        squares += bound[i] * bound[i];
        size += td_load(want, i) * td_load(want, i);
    }
    return sqrt(squares / size);
}

static double over(const td_tensor *got, const td_tensor *want, const double *tol, int is_lse, double *rel_l2) {
    td_comparison c;
    td_compare(got, want, tol, is_lse, &c);
    if (rel_l2) *rel_l2 = c.rel_l2;
    return c.err_over_tol;
}

static td_status run_block(scene *s, int64_t block, double out[FIELDS], td_error *err) {
    s->candidate.problem.attention.block = block;
    td_status status = td_trial_run(&s->candidate, err);
    if (status == TD_OK) status = td_trial_verify(&s->candidate, err);
    if (status) return status;
    const td_tensor *got = s->candidate.tensors, *want = s->truth.tensors;
    int hard = s->uses_hard;
    td_tensor_copy(&s->stored, &got[TD_O]);
    out[BEFORE_OVER_TOL] = over(&got[TD_O], &want[TD_O], hard ? s->before.hard : s->before.gate, 0, &out[BEFORE]);
    out[AFTER_OVER_TOL] = over(&s->stored, &want[TD_O], hard ? s->after.hard : s->after.gate, 0, &out[AFTER]);
    out[BEFORE_OVER_HARD] = over(&got[TD_O], &want[TD_O], s->before.hard, 0, NULL);
    out[LSE_OVER_TOL] = over(&got[TD_LSE], &want[TD_LSE], hard ? s->lse.hard : s->lse.gate, 1, NULL);
    out[BEFORE_GATE] = relative_l2(s->before.gate, &want[TD_O]);
    out[BEFORE_HARD] = relative_l2(s->before.hard, &want[TD_O]);
    out[AFTER_GATE] = relative_l2(s->after.gate, &want[TD_O]);
    out[AFTER_HARD] = relative_l2(s->after.hard, &want[TD_O]);
    return TD_OK;
}

/* A field's cells: the band over the seeds, its maximum alone, or its median alone (bounds). Sorts the samples. */
static void record_field(td_record *record, field f, double *samples, int seeds) {
    static const struct {
        const char *name;
        int quantiles; /* how many of the list below */
    } fields[FIELDS] = {{"before", 4},
                        {"after", 4},
                        {"before_err_over_tol", 4},
                        {"after_err_over_tol", 4},
                        {"before_err_over_hard", 1},
                        {"lse_err_over_tol", 1},
                        {"before_gate", 0},
                        {"before_hard", 0},
                        {"after_gate", 0},
                        {"after_hard", 0}};
    static const struct {
        const char *name;
        double q;
    } quantile[] = {{"max", 1}, {"p10", 0.1}, {"median", 0.5}, {"p90", 0.9}};
    td_sort(samples, seeds);
    if (fields[f].quantiles == 0) td_record_real(record, fields[f].name, td_quantile(samples, seeds, 0.5));
    for (int i = 0; i < fields[f].quantiles; i++) {
        char column[64];
        snprintf(column, sizeof column, "%s_%s", fields[f].name, quantile[i].name);
        td_record_real(record, column, td_quantile(samples, seeds, quantile[i].q));
    }
}

static void record_block(td_record *record, const td_sweep_options *o, const td_variant *variant, int64_t block,
                         double *samples) {
    td_record_row(record);
    td_record_text(record, "variant", variant->name);
    td_record_text(record, "dtype", td_dtype_name(variant->dtype));
    td_record_text(record, "mask", td_mask_name(o->problem.mask));
    td_record_text(record, "fixture", td_fixture_name(o->fixture));
    td_record_int(record, "Tq", o->problem.Tq);
    td_record_int(record, "Tk", o->problem.Tk);
    td_record_int(record, "d", o->problem.d);
    td_record_int(record, "seeds", o->seeds);
    td_record_int(record, "block", block);
    for (int f = 0; f < FIELDS; f++) record_field(record, (field)f, samples + f * o->seeds, o->seeds);
}

/* samples[block][field][seed] */
static td_status sweep_variant(const td_sweep_options *o, const td_variant *variant, double *samples,
                               td_progress *progress, td_error *err) {
    int64_t largest = 1;
    for (int k = 0; k < o->blocks; k++) largest = o->block[k] > largest ? o->block[k] : largest;
    for (int i = 0; i < o->seeds; i++) {
        scene s;
        td_status status = scene_new(&s, o, variant, largest, o->seed + (uint64_t)i, err);
        if (status) return status;
        for (int k = 0; k < o->blocks && status == TD_OK; k++) {
            double out[FIELDS];
            status = run_block(&s, o->block[k], out, err);
            for (int f = 0; f < FIELDS && status == TD_OK; f++) samples[(k * FIELDS + f) * o->seeds + i] = out[f];
            td_progress_step(progress, 1);
        }
        scene_free(&s);
        if (status) return status;
    }
    return TD_OK;
}

td_status td_sweep(const td_sweep_options *o, td_record *record, td_sweep_worst *worst, td_error *err) {
    double *samples = malloc((size_t)(o->blocks * FIELDS * o->seeds + 1) * sizeof *samples);
    if (!samples) return td_fail(err, TD_NO_MEMORY, "sweep: no memory for %d seeds", o->seeds);
    td_progress progress;
    td_progress_start(&progress, "error against block size", (long)o->variants * o->seeds * o->blocks);
    td_status status = TD_OK;
    for (int v = 0; v < o->variants && status == TD_OK; v++) {
        status = sweep_variant(o, o->variant[v], samples, &progress, err);
        worst[v] = (td_sweep_worst){0, 0, 0, 0};
        for (int k = 0; k < o->blocks && status == TD_OK; k++) {
            double *block = samples + k * FIELDS * o->seeds;
            record_block(record, o, o->variant[v], o->block[k], block); /* sorts: the last sample is the largest */
            worst[v].before = fmax(worst[v].before, block[(BEFORE_OVER_TOL + 1) * o->seeds - 1]);
            worst[v].after = fmax(worst[v].after, block[(AFTER_OVER_TOL + 1) * o->seeds - 1]);
            worst[v].hard = fmax(worst[v].hard, block[(BEFORE_OVER_HARD + 1) * o->seeds - 1]);
            worst[v].lse = fmax(worst[v].lse, block[(LSE_OVER_TOL + 1) * o->seeds - 1]);
        }
    }
    td_progress_end(&progress);
    free(samples);
    return status;
}

td_status td_sweep_verdict(const td_sweep_options *o, const td_sweep_worst *worst, td_error *err) {
    int hard = td_fixture_is_adversarial(o->fixture); /* and then far from any error, as worst cases are */
    const char *bound = hard ? "HARD" : "GATE";
    for (int v = 0; v < o->variants; v++) {
        const char *name = o->variant[v]->name;
        double most = fmax(worst[v].before, fmax(worst[v].after, worst[v].lse));
        if (!(most <= 1)) return td_fail(err, TD_WRONG, "%s: an error is %.3g of its %s", name, most, bound);
        if (!hard && !(worst[v].before >= 0.01))
            return td_fail(err, TD_WRONG, "%s: no error exceeds %.3g of its %s: a bound that is never near is no check",
                           name, worst[v].before, bound);
    }
    return TD_OK;
}
