/* tandem bench-gpt: forward and backward of the GPT on the GPU, and what each kernel takes of them. */
#include "../checks/arguments.h"
#include "../checks/bench.h"
#include "../checks/gpu_profile.h"
#include "../checks/memory.h"
#include "../checks/mirror.h"
#include "../cpu_ref/gpt/parameters.h"
#include "../gpu/activity.h"
#include "commands.h"
#include "tandem/model.h"
#include "tandem/philox.h"
#include <stdlib.h>
#include <string.h>

static const td_option options[] = {
    {"layers", "12", "integer, 1 to 4096", "blocks"},
    {"heads", "12", "integer, 1 to 4096", "heads"},
    {"c", "768", "integer, 1 to 65536", "width"},
    {"vocab", "50304", "integer, 1 to 16777216", "vocabulary"},
    {"t", "512", "integer, 1 to 16777216", "tokens of a sequence"},
    {"b", "4", "integer, 1 to 16777216", "sequences"},
    {"products", "bf16", "f32, bf16", "dtype of the factors of matrix products"},
    {"runs", "30", "integer, 3 to 1000", "timed runs of each part"},
    {NULL, NULL, NULL, NULL},
};

static const char summary[] =
    "Time of the GPT's forward and backward on the GPU: each between two events, with a device-wide sync at the end, "
    "median of RUNS; then many steps one behind another, where submitting hides behind the work; launches and kernels "
    "of one step; memory by tag. Exit status: 0 measured, 2 a bad parameter, 3 no GPU.";

enum { WARM = 5, MOST_RUNS = 1000, MOST_KERNELS = 64, SHOWN = 24 };

typedef struct bench {
    td_model model;
    td_gpt_config config;
    const td_device *device;
    td_memory *memory;
    td_dtype products;
    int64_t B, runs;
    int32_t *tokens, *targets;
} bench;

typedef td_status part(const bench *b, td_error *err);

static td_status forward(const bench *b, td_error *err) {
    int64_t counted;
    return b->model.forward(b->model.self, b->tokens, b->targets, b->B, b->config.T_max, &counted, err);
}

static td_status backward(const bench *b, td_error *err) {
    return b->model.backward(b->model.self, 1.0 / (double)(b->B * b->config.T_max), NULL, NULL, err);
}

static td_status step(const bench *b, td_error *err) {
    td_status s = forward(b, err);
    return s ? s : backward(b, err);
}

/* Median of the part's runs, `together` of them one behind another in each. */
static td_status time_part(const bench *b, const char *name, part *run, int together, td_error *err) {
    static double samples[MOST_RUNS];
    td_timing timing;
    td_status s = TD_OK;
    for (int i = 0; !s && i < WARM; i++) s = run(b, err);
    if (!s) s = b->device->synchronize(err);
    for (int i = 0; !s && i < (int)b->runs; i++) {
        if ((s = b->device->start(err))) break;
        for (int k = 0; !s && k < together; k++) s = run(b, err);
        if (!s) s = b->device->stop(&samples[i], err);
        samples[i] /= together;
    }
    if (s) return s;
    td_timing_from(samples, (int)b->runs, &timing);
    printf("%-44s %8.3f ms  (quartiles %.3f, %.3f; min %.3f; n %d)\n", name, 1e3 * timing.median, 1e3 * timing.q1,
           1e3 * timing.q3, 1e3 * timing.min, timing.runs);
    return TD_OK;
}

typedef struct kernel {
    char name[64];
    int64_t launches;
    double seconds;
} kernel;

static int longest_first(const void *a, const void *b) {
    double x = ((const kernel *)a)->seconds, y = ((const kernel *)b)->seconds;
    return (x < y) - (x > y);
}

/* Kernels by name; fills and copies by what they are. What finds no row of its own is counted in the last. */
static int gather(const td_trace *trace, kernel *kernels) {
    int count = 0;
    for (int64_t i = 0; i < trace->count; i++) {
        const td_activity *a = &trace->activity[i];
        const char *name = a->kind == TD_ACTIVITY_KERNEL ? a->name : td_activity_name(a->kind);
        int k = 0;
        while (k < count && strcmp(kernels[k].name, name) != 0) k++;
        if (k == MOST_KERNELS) k--;
        if (k == count) {
            kernels[count] = (kernel){.launches = 0};
            snprintf(kernels[count++].name, sizeof kernels->name, "%s", name);
        }
        kernels[k].launches++, kernels[k].seconds += a->end - a->start;
    }
    qsort(kernels, (size_t)count, sizeof *kernels, longest_first);
    return count;
}

static td_status profile(const bench *b, td_error *err) {
    td_trace trace;
    td_gpu_profile p;
    kernel kernels[MOST_KERNELS];
    td_status s = td_trace_start(err);
    if (s == TD_UNSUPPORTED) {
        printf("kernels: SKIP: %s\n", err->message);
        return TD_OK;
    }
    if (s) return s;
    s = step(b, err);
    td_status stopped = td_trace_stop(&trace, s ? NULL : err);
    if (s || stopped) return s ? s : stopped;
    s = td_gpu_profile_of(trace.activity, trace.count, trace.seconds, &p, err);
    if (!s) {
        int count = gather(&trace, kernels);
        printf("\none step, traced: %lld kernels, %lld fills, %lld copies; %.3f ms, busy %.3f ms, idle %.3f ms\n",
               (long long)p.launches, (long long)p.fills, (long long)p.copies, 1e3 * p.seconds, 1e3 * p.busy_seconds,
               1e3 * p.idle_seconds);
        printf("%-64s %8s %9s %7s\n", "kernel", "launches", "ms", "% busy");
        for (int i = 0; i < count && i < SHOWN; i++)
            printf("%-64s %8lld %9.3f %7.1f\n", kernels[i].name, (long long)kernels[i].launches,
                   1e3 * kernels[i].seconds, 100 * kernels[i].seconds / p.busy_seconds);
    }
    td_trace_free(&trace);
    return s;
}

static void print_memory(const bench *b) {
    size_t by_tag[TD_MEM_TAGS], total = td_memory_peak_total(b->memory, by_tag);
    printf("memory, MiB: %.0f in all", (double)total / 0x1p20);
    for (int tag = 0; tag < TD_MEM_TAGS; tag++)
        if (by_tag[tag]) printf("; %s %.0f", td_tag_name((td_tag)tag), (double)by_tag[tag] / 0x1p20);
    printf("\n");
}

static td_status measure(bench *b, td_error *err) {
    size_t N = (size_t)(b->B * b->config.T_max);
    td_allocator allocator = td_memory_allocator(b->memory);
    td_status s = td_cuda_model(&b->model, &b->config, b->products, b->B, 1, &allocator, err);
    if (s) return s;
    b->tokens = malloc(N * sizeof *b->tokens), b->targets = malloc(N * sizeof *b->targets);
    if (!b->tokens || !b->targets) return td_fail(err, TD_NO_MEMORY, "no memory for the batch");
    for (size_t n = 0; n < N; n++) {
        b->tokens[n] = (int32_t)((double)b->config.vocab * td_uniform(4, 0, n));
        b->targets[n] = (int32_t)((double)b->config.vocab * td_uniform(4, 1, n));
    }
    int64_t elements = 0;
    for (int i = 0; i < b->model.parameters; i++) elements += b->model.parameter[i].count;
    printf("device  %s, driver %s\n", b->device->name, b->device->driver);
    printf("GPT of %.1f M parameters: %lld layers, C %lld, %lld heads, vocab %lld; B %lld, T %lld; %s products\n",
           1e-6 * (double)elements, (long long)b->config.layers, (long long)b->config.C, (long long)b->config.heads,
           (long long)b->config.vocab, (long long)b->B, (long long)b->config.T_max, td_dtype_name(b->products));
    if ((s = time_part(b, "forward", forward, 1, err)) || (s = time_part(b, "backward", backward, 1, err)) ||
        (s = time_part(b, "forward and backward", step, 1, err)) ||
        (s = time_part(b, "forward and backward, 10 one behind another", step, 10, err)))
        return s;
    double loss;
    if ((s = b->model.loss(b->model.self, &loss, err))) return s;
    printf("mean loss %.4f\n", loss / (double)N);
    print_memory(b);
    return profile(b, err);
}

static td_status read_arguments(const td_arguments *a, bench *b, td_error *err) {
    td_gpt_config *c = &b->config;
    td_status s;
    if ((s = td_argument_int(a, "layers", 1, 1 << 12, &c->layers, err)) ||
        (s = td_argument_int(a, "heads", 1, 1 << 12, &c->heads, err)) ||
        (s = td_argument_int(a, "c", 1, 1 << 16, &c->C, err)) ||
        (s = td_argument_int(a, "vocab", 1, 1 << 24, &c->vocab, err)) ||
        (s = td_argument_int(a, "t", 1, 1 << 24, &c->T_max, err)) ||
        (s = td_argument_int(a, "b", 1, 1 << 24, &b->B, err)) ||
        (s = td_argument_dtype(a, "products", &b->products, err)) ||
        (s = td_argument_int(a, "runs", 3, MOST_RUNS, &b->runs, err)))
        return s;
    if (b->products != TD_F32 && b->products != TD_BF16)
        return td_fail(err, TD_BAD_PARAM, "PRODUCTS=%s: must be f32 or bf16", td_dtype_name(b->products));
    return td_gpt_validate(c, b->B, err);
}

static td_status run(const td_arguments *arguments, td_error *err) {
    bench b = {.memory = NULL};
    td_status s = read_arguments(arguments, &b, err);
    if (!s) s = td_device_for(TD_CUDA, &b.device, err);
    if (s) return s;
    b.memory = td_memory_over(&b.device->allocator, 0);
    s = b.memory ? measure(&b, err) : td_fail(err, TD_NO_MEMORY, "no memory for the counter");
    if (b.model.self) b.model.destroy(b.model.self);
    free(b.tokens), free(b.targets);
    if (b.memory) td_memory_delete(b.memory);
    return s;
}

int td_command_bench_gpt(int argc, char **argv) {
    td_error err = {TD_OK, ""};
    td_arguments arguments;
    td_status s = td_arguments_parse(&arguments, "bench-gpt", options, argc, argv, &err);
    if (s == TD_OK && arguments.help) {
        td_arguments_help(&arguments, summary);
        return TD_EXIT_OK;
    }
    if (s == TD_OK) s = run(&arguments, &err);
    return s == TD_OK ? TD_EXIT_OK : td_exit_with("bench-gpt", &err);
}
