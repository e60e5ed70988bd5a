/* tandem check-gpt: the GPT on the GPU, layer by layer and as a whole, beside the double model. */
#include "../checks/arguments.h"
#include "../checks/bench.h"
#include "../checks/file.h"
#include "../checks/gpt_bound.h"
#include "../checks/gpt_large.h"
#include "../checks/gpt_layers.h"
#include "../checks/mirror.h"
#include "../checks/provenance.h"
#include "../checks/text.h"
#include "commands.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const td_option options[] = {
    {"backend", "cuda", "cuda, emulated", "where: emulated takes the small shapes alone"},
    {"out", "out/check-gpu/check_gpt.csv", "a file that can be written", "where the rows go, one a check"},
    {NULL, NULL, NULL, NULL},
};

static const char summary[] =
    "The GPT on the GPU, with float32 products and with bf16: each layer, and the loss and all gradients of whole "
    "models, against the double-precision model within the bound of their roundings; weights rounded to TF32 must "
    "fail; "
    "and a model of 163 million parameters: its loss at the first values, and bf16 beside float32. Exit status: 0 all "
    "pass, 1 one failed, 2 a bad parameter, 3 no GPU.";

/* The first two are for the emulator too. Head dimensions and vocabularies that no vector divides; d 128 and 256, for
 * which attention has other tiles; one row of logits as long as they get. */
static const td_layer_shape shapes[] = {{2, 5, 3, 3, 13},    {3, 12, 2, 8, 20},     {3, 33, 3, 16, 61},
                                        {2, 65, 4, 32, 300}, {4, 128, 6, 64, 1003}, {2, 70, 2, 128, 99},
                                        {1, 40, 1, 256, 17}, {1, 7, 5, 13, 50},     {1, 19, 1, 4, 50304}};

typedef struct whole {
    td_gpt_config config;
    int64_t B;
} whole;
static const whole wholes[] = {{{2, 2, 16, 20, 7}, 2},   {{1, 3, 9, 13, 5}, 2},     {{2, 3, 48, 61, 33}, 3},
                               {{3, 1, 65, 127, 40}, 4}, {{2, 2, 256, 500, 65}, 2}, {{2, 4, 256, 5000, 128}, 2}};
static const td_gpt_config large = {12, 12, 768, 50304, 512};
enum { FEW = 2, SHAPES = sizeof shapes / sizeof *shapes, WHOLES = sizeof wholes / sizeof *wholes, LARGE_B = 4 };

typedef struct scope {
    const td_device *device;
    td_engine engine;
    td_record *record;
    int few, checks, failed;
} scope;

static td_status make_model(const scope *s, td_model *out, const td_gpt_config *config, td_dtype products, int64_t B,
                            td_error *err) {
    return s->device->backend == TD_CUDA ? td_cuda_model(out, config, products, B, 9, NULL, err)
                                         : td_emulated_model(out, config, products, B, 9, NULL, err);
}

/* One line and one row. `passes` is what was found right, of a check that must pass or one that must fail. */
static void report(scope *s, const char *what, const char *sizes, td_dtype products, double err_over_tol,
                   const char *where, int passes) {
    printf("%-28s %-42s %-5s %10.3g  %-4s %s\n", what, sizes, td_dtype_name(products), err_over_tol,
           passes ? "PASS" : "FAIL", where);
    fflush(stdout);
    td_record_row(s->record);
    td_record_text(s->record, "what", what);
    td_record_text(s->record, "sizes", sizes);
    td_record_text(s->record, "products", td_dtype_name(products));
    td_record_real(s->record, "err_over_tol", err_over_tol);
    td_record_text(s->record, "worst_at", where);
    td_record_text(s->record, "verdict", passes ? "PASS" : "FAIL");
    s->checks++, s->failed += !passes;
}

static td_status check_layers(scope *s, td_error *err) {
    const td_gpt_layers *layers = s->device->backend == TD_CUDA ? &td_cuda_gpt_layers : &td_emulated_gpt_layers;
    static const td_dtype factors[] = {TD_F32, TD_BF16};
    for (int n = 0; n < (s->few ? FEW : SHAPES); n++)
        for (int i = 0; td_layer_name(i); i++)
            for (int k = 0; k < 2; k++) {
                const td_layer_shape *a = &shapes[n];
                double worst;
                const char *where;
                char sizes[64];
                td_error why;
                td_status status = td_layer_check(i, layers, s->device, a, factors[k], &worst, &where, &why);
                if (status == TD_UNSUPPORTED) continue; /* no such layer with these factors */
                if (status) return td_fail(err, status, "%.60s: %.200s", td_layer_name(i), why.message);
                snprintf(sizes, sizeof sizes, "B %d T %d heads %d d %d vocab %d", (int)a->B, (int)a->T, (int)a->heads,
                         (int)a->d, (int)a->vocab);
                report(s, td_layer_name(i), sizes, factors[k], worst, where, worst <= 1);
            }
    return TD_OK;
}

/* The model with the bound's own values, or with those rounded to TF32. */
static td_status run_whole(const scope *s, const td_gpt_bound *b, td_dtype products, int tf32, double *worst,
                           const char **where, td_error *err) {
    size_t bytes = (size_t)b->elements * sizeof(float);
    float *values = malloc(bytes), *gradients = malloc(bytes);
    td_model model = {0};
    double loss;
    td_status status = values && gradients ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for the gradients");
    if (!status) status = make_model(s, &model, &b->config, products, b->B, err);
    for (int64_t k = 0; !status && k < b->elements; k++) values[k] = tf32 ? td_to_tf32(b->values[k]) : b->values[k];
    if (!status) status = td_gpt_bound_run(b, &model, &s->engine, values, &loss, gradients, err);
    if (!status) *worst = td_gpt_bound_worst(b, loss, gradients, where);
    if (model.self) model.destroy(model.self);
    free(values), free(gradients);
    return status;
}

static td_status check_whole(scope *s, const whole *w, td_dtype products, td_error *err) {
    const td_gpt_config *c = &w->config;
    td_gpt_bound *b;
    td_status status = td_gpt_bound_new(&b, c, w->B, c->T_max, 9, products, err);
    if (status) return status;
    char sizes[64];
    snprintf(sizes, sizeof sizes, "B %d T %d layers %d C %d vocab %d", (int)w->B, (int)c->T_max, (int)c->layers,
             (int)c->C, (int)c->vocab);
    for (int tf32 = 0; !status && tf32 <= (products == TD_F32); tf32++) {
        double worst;
        const char *where;
        status = run_whole(s, b, products, tf32, &worst, &where, err);
        if (!status)
            report(s, tf32 ? "whole, TF32: must fail" : "whole model", sizes, products, worst, where,
                   tf32 ? !(worst <= 1) : worst <= 1);
    }
    td_gpt_bound_delete(b);
    return status;
}

static td_status check_large(scope *s, td_error *err) {
    td_gpt_large l;
    td_status status = td_gpt_large_run(&l, &large, LARGE_B, large.T_max, td_cuda_model, &s->engine, err);
    if (status) return status;
    static const char sizes[] = "B 4 T 512 layers 12 C 768 vocab 50304";
    for (int k = 0; k < 2; k++) {
        char text[64];
        double ratio = fabs(l.loss[k] - l.expected) / l.loss_tolerance;
        snprintf(text, sizeof text, "loss %.4f, expected %.4f", l.loss[k], l.expected);
        report(s, "first loss", sizes, k ? TD_BF16 : TD_F32, ratio, text, ratio <= 1);
    }
    double ratio = l.distance / l.distance_tolerance;
    report(s, "gradients, from f32's", sizes, TD_BF16, ratio, l.where, ratio <= 1);
    printf("worst relative L2 distance of a gradient: %.4f (tolerance %.4f)\n", l.distance, l.distance_tolerance);
    return TD_OK;
}

static td_status check_all(scope *s, td_error *err) {
    td_status status = s->device->backend == TD_CUDA ? td_cuda_engine(&s->engine, NULL, err)
                                                     : td_emulated_engine(&s->engine, NULL, err);
    printf("%-28s %-42s %-5s %10s\n", "what", "sizes", "prod.", "err/tol");
    if (!status) status = check_layers(s, err);
    for (int n = 0; n < (s->few ? FEW : WHOLES); n++)
        for (int k = 0; !status && k < 2; k++) status = check_whole(s, &wholes[n], k ? TD_BF16 : TD_F32, err);
    if (!status && !s->few) status = check_large(s, err);
    if (status) return status;
    printf("%d checks, %d FAIL\n", s->checks, s->failed);
    return s->failed ? td_fail(err, TD_WRONG, "%d of %d checks failed", s->failed, s->checks) : TD_OK;
}

static td_status check(const td_arguments *arguments, td_error *err) {
    const char *backend = td_argument_text(arguments, "backend"), *path = td_argument_text(arguments, "out");
    scope s = {.few = !strcmp(backend, "emulated")};
    char shown[48], replay[512];
    td_status status;
    if (!s.few && strcmp(backend, "cuda"))
        return td_fail(err, TD_BAD_PARAM, "BACKEND=%s: must be cuda or emulated",
                       td_shown(backend, shown, sizeof shown));
    if ((status = td_device_for(s.few ? TD_EMULATED : TD_CUDA, &s.device, err)) || (status = td_file_probe(path, err)))
        return status;
    printf("device  %s%s%s\n", s.device->name, s.device->driver[0] ? ", driver " : "", s.device->driver);
    if (!(s.record = td_record_new())) return td_fail(err, TD_NO_MEMORY, "no memory for the record");
    status = check_all(&s, err);
    td_arguments_replay(arguments, replay, sizeof replay);
    td_record_provenance_of(s.record, s.device, replay);
    td_error lost;
    td_status written = td_record_write_csv(s.record, path, status ? &lost : err);
    td_record_delete(s.record);
    if (!written) printf("data: %s\n", path);
    return status ? status : written;
}

int td_command_check_gpt(int argc, char **argv) {
    td_error err = {TD_OK, ""};
    td_arguments arguments;
    td_status s = td_arguments_parse(&arguments, "check-gpt", options, argc, argv, &err);
    if (s == TD_OK && arguments.help) {
        td_arguments_help(&arguments, summary);
        return TD_EXIT_OK;
    }
    if (s == TD_OK) s = check(&arguments, &err);
    return s == TD_OK ? TD_EXIT_OK : td_exit_with("check-gpt", &err);
}
