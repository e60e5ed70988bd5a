/* The float32 model against the double one.
 *
 * Partial sums of n terms of random sign and size σ grow like √k·σ; rounding each, by u/√3 in the mean square, leaves
 * an error of √(n/6)·u·√n·σ (Higham & Mary 2019 bound the same quantity). Weights changed at random by s = √(n/6)·u,
 * relatively, change the sum as much. So what float32 costs the whole model can be tried in double: every value times
 * 1 + s·z, z ~ N(0,1), with n = 4C, the longest sum. The worst of four trials is one deviation; LAMBDA = 4 of them are
 * the tolerance, for the loss and for each parameter's gradient (L2 norm). Values are stirred to the size that training
 * reaches, where every token's term of a gradient feels the change. Weights rounded to TF32's 11 bits must fail. */
#include "tiny.h"

static const td_gpt_config config = {.layers = 2, .heads = 4, .C = 32, .vocab = 64, .T_max = 24};
enum { B = 3, T = 24, TRIALS = 4, LAMBDA = 4 };

typedef struct result {
    double loss, *gradient;
} result;

static result evaluate(td_gpt *gpt) {
    int32_t tokens[B * T], targets[B * T];
    for (int i = 0; i < B * T; i++) {
        tokens[i] = (int32_t)(64 * td_uniform(4, 0, (uint64_t)i));
        targets[i] = i % 7 == 3 ? -1 : (int32_t)(64 * td_uniform(4, 1, (uint64_t)i));
    }
    result r;
    int64_t count;
    r.gradient = model_gradients(gpt, tokens, targets, B, T, 1.0 / (B * T), &r.loss, &count);
    return r;
}

/* Set every value of `gpt` to `values`, each changed by `change`(value, parameter, index, seed). */
static void set_values(td_gpt *gpt, const double *values, double (*change)(double, int, int64_t, uint64_t),
                       uint64_t seed) {
    for (int i = 0; i < td_gpt_parameters(gpt); i++) {
        td_parameter *p = td_gpt_parameter(gpt, i);
        td_tensor view = td_contiguous(p->value, td_gpt_dtype(gpt), 1, 1, 1, p->count);
        for (int64_t k = 0; k < p->count; k++) td_store(&view, k, change(*values++, i, k, seed));
    }
}

static double unchanged(double x, int i, int64_t k, uint64_t seed) {
    (void)i, (void)k, (void)seed;
    return x;
}

static double jittered(double x, int i, int64_t k, uint64_t seed) {
    double s = sqrt(4.0 * (double)config.C / 6.0) * td_unit_roundoff(TD_F32);
    return x * (1 + s * td_normal(seed, (uint64_t)i, (uint64_t)k));
}

static double to_tf32(double x, int i, int64_t k, uint64_t seed) {
    (void)i, (void)k, (void)seed;
    double ulp = ldexp(1, ilogb(x) - 10);
    return x == 0 ? 0 : rint(x / ulp) * ulp;
}

static double distance(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(sum);
}

/* Worst err/tol of `got` over the loss and every parameter's gradient. */
static double worst(td_gpt *gpt, const result *got, const result *want, const result *trial) {
    double jitter = 0, worst;
    for (int r = 0; r < TRIALS; r++) jitter = fmax(jitter, fabs(trial[r].loss - want->loss));
    worst = fabs(got->loss - want->loss) / (LAMBDA * jitter);
    int64_t at = 0;
    for (int i = 0; i < td_gpt_parameters(gpt); i++) {
        int64_t n = td_gpt_parameter(gpt, i)->count;
        jitter = 0;
        for (int r = 0; r < TRIALS; r++)
            jitter = fmax(jitter, distance(trial[r].gradient + at, want->gradient + at, n));
        double ratio = distance(got->gradient + at, want->gradient + at, n) / (LAMBDA * jitter);
        if (!(ratio <= worst)) worst = ratio;
        at += n;
    }
    return worst;
}

Test(gpt, float32_stays_within_the_bound_of_its_roundings) {
    td_gpt *f32 = model_new(&config, TD_F32, B, 9), *f64 = model_new(&config, TD_F64, B, 9);
    model_stir(f32, 0.2);
    int64_t count;
    double *values = model_copy(f32, 0, &count);
    result want, trial[TRIALS];

    set_values(f64, values, unchanged, 0);
    want = evaluate(f64);
    for (int r = 0; r < TRIALS; r++) {
        set_values(f64, values, jittered, 20 + (uint64_t)r);
        trial[r] = evaluate(f64);
    }
    result got = evaluate(f32);
    cr_expect(worst(f32, &got, &want, trial) <= 1, "err/tol %g", worst(f32, &got, &want, trial));

    set_values(f32, values, to_tf32, 0);
    result tf32 = evaluate(f32);
    cr_expect_not(worst(f32, &tf32, &want, trial) <= 1, "TF32 weights pass");
    cr_log_info("float32 err/tol %.2f, TF32 %.0f", worst(f32, &got, &want, trial), worst(f32, &tf32, &want, trial));

    free(values), free(want.gradient), free(got.gradient), free(tf32.gradient);
    for (int r = 0; r < TRIALS; r++) free(trial[r].gradient);
    td_gpt_delete(f32), td_gpt_delete(f64);
}
