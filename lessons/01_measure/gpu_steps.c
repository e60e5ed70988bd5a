/* Is the GPU waiting? Steps that wait for a loader, for the host or for nothing, each under a trace. */
#include "../../checks/gpu_profile.h"
#include "../../checks/queue.h"
#include "../recorded.h"
#include "gpu.h"
#include <math.h>
#include <string.h>

enum { STEPS = 12, DRAWN_STEPS = 3 };

typedef struct setting {
    const char *name;
    double loader;    /* what it needs for a batch, in steps */
    int ahead;        /* asked for a step ahead */
    int loss_is_read; /* after each step, so that the host waits for the GPU */
    int small;        /* a network of many small kernels instead */
    int drawn;        /* among the time lines of the plot */
} setting;

static const setting settings[] = {{"fed", 0, 0, 0, 0, 1},
                                   {"fed + loss read", 0, 0, 1, 0, 0},
                                   {"slow loader + loss read", 0.6, 0, 1, 0, 1},
                                   {"slow loader", 0.6, 0, 0, 0, 0},
                                   {"slow loader + a step ahead", 0.6, 1, 1, 0, 1},
                                   {"slower + a step ahead", 1.5, 1, 1, 0, 0},
                                   {"small kernels", 0, 0, 0, 1, 1}};
enum { SETTINGS = sizeof settings / sizeof *settings };

static const td_heading columns[] = {{"setting", "setting"},
                                     {"launches", "kernels"},
                                     {"copies", "copies"},
                                     {"untraced_ms", "step ms"},
                                     {"step_ms", "traced ms"},
                                     {"busy_ms", "busy ms"},
                                     {"idle_percent", "idle %"},
                                     {"gaps", "gaps"},
                                     {"longest_gap_ms", "longest ms"},
                                     {"finding", "finding"},
                                     {NULL, NULL}};

static td_status load(void *context, td_error *err) {
    const double *seconds = context;
    (void)err;
    td_lesson_1_sleep(*seconds);
    return TD_OK;
}

/* The batches lie in pinned memory; what the planted loader delays is the leave to use the next one. */
static td_status run_steps(const setting *set, td_gpu_step *step, td_queue *loader, double delay, double *loss,
                           td_error *err) {
    td_status status = TD_OK;
    for (int i = 0; !status && i < STEPS; i++) { /* the first batch is there */
        if (i && !set->ahead) td_queue_submit(loader, load, &delay);
        if (i && (status = td_queue_synchronize(loader, err))) break;
        if (set->ahead && i + 1 < STEPS) td_queue_submit(loader, load, &delay);
        status = td_gpu_step_submit(step, i % 2, err);
        if (!status && set->loss_is_read) status = td_gpu_step_loss(step, loss, err);
    }
    td_error unused;
    td_queue_synchronize(loader, status ? &unused : err);
    return status;
}

static const char *finding(const setting *set, const td_gpu_profile *p) {
    if (p->idle_seconds <= 0.1 * p->seconds) return "fed";
    return set->small ? "launch-bound" : "starved";
}

static void setting_row(td_record *record, const setting *set, double delay, double untraced,
                        const td_gpu_profile *profile) {
    td_record_row(record);
    td_record_text(record, "setting", set->name);
    td_record_real(record, "loader_ms", 1e3 * delay);
    td_record_text(record, "asked_for", set->ahead ? "a step ahead" : "when needed");
    td_record_text(record, "loss_read", set->loss_is_read ? "each step" : "no");
    td_record_int(record, "steps", STEPS);
    td_record_real(record, "untraced_ms", 1e3 * untraced);
    td_gpu_profile_cells(record, profile, STEPS);
    td_record_text(record, "finding", finding(set, profile));
}

/* In milliseconds: what the device's clock does not resolve need not fill a file. */
static double to_the_nanosecond(double seconds) {
    return rint(1e9 * seconds) / 1e6;
}

/* The last steps of a trace, its time beginning anew; of small kernels one step, for they are many. */
static void line_rows(td_record *lines, const setting *set, const td_trace *trace) {
    double from = trace->seconds * (1 - (set->small ? 1 : DRAWN_STEPS) / (double)STEPS);
    char name[28];
    for (int64_t i = 0; i < trace->count; i++) {
        const td_activity *a = &trace->activity[i];
        if (a->end <= from) continue;
        td_record_row(lines);
        td_record_text(lines, "setting", set->name);
        td_record_text(lines, "kind", td_activity_name(a->kind));
        td_record_real(lines, "start_ms", to_the_nanosecond(fmax(a->start, from) - from));
        td_record_real(lines, "end_ms", to_the_nanosecond(a->end - from));
        snprintf(name, sizeof name, "%.24s", a->name);
        td_record_text(lines, "name", name);
    }
}

typedef struct watched {
    td_record *rows, *lines;
    td_queue *loader;
    td_gpu_step *step[2]; /* the usual one, and the one of small kernels */
    double fed;           /* seconds of a fed step */
    double loss[2];       /* of the usual one: after the first steps, after the last */
    int64_t launches;     /* a step, of the usual one */
} watched;

static td_status watch(watched *w, const setting *set, td_error *err) {
    td_trace trace;
    td_gpu_profile profile;
    td_gpu_step *step = w->step[set->small];
    double delay = set->loader * w->fed, loss;
    double start = td_now();
    td_status status = run_steps(set, step, w->loader, delay, &loss, err);
    if (!status) status = td_gpu_step_loss(step, &loss, err);
    double untraced = (td_now() - start) / STEPS;
    if (status || (status = td_trace_start(err))) return status;
    status = run_steps(set, step, w->loader, delay, &loss, err);
    td_status stopped = td_trace_stop(&trace, status ? NULL : err);
    if (status || stopped) return status ? status : stopped;
    if (trace.dropped) status = td_fail(err, TD_UNSUPPORTED, "the trace lost %lld records", (long long)trace.dropped);
    if (!status) status = td_gpu_profile_of(trace.activity, trace.count, trace.seconds, &profile, err);
    if (!status) {
        setting_row(w->rows, set, delay, untraced, &profile);
        if (set->drawn) line_rows(w->lines, set, &trace);
        if (w->fed == 0) w->fed = profile.seconds / STEPS, w->launches = profile.launches / STEPS;
    }
    td_trace_free(&trace);
    return status;
}

static td_status watch_all(watched *w, td_error *err) {
    td_status status;
    if ((status = td_queue_new(&w->loader, err))) return status;
    if ((status =
             td_gpu_step_new(TD_LESSON_1_GPU_LAYERS, TD_LESSON_1_GPU_ROWS, TD_LESSON_1_GPU_WIDTH, &w->step[0], err)))
        return status;
    if ((status = td_gpu_step_new(48, 64, 256, &w->step[1], err))) return status;
    for (int i = 1; i >= 0; i--) /* the usual one last: its loss before it has learnt */
        if ((status = td_gpu_step_submit(w->step[i], 0, err)) || (status = td_gpu_step_loss(w->step[i], w->loss, err)))
            return status;
    for (int i = 0; !status && i < SETTINGS; i++) status = watch(w, &settings[i], err);
    return status ? status : td_gpu_step_loss(w->step[0], &w->loss[1], err);
}

static td_status show(td_lesson_1 *lesson, const watched *w, td_error *err) {
    td_lesson_1_table(w->rows, columns);
    td_lesson_say(
        "A step of %d layers is %lld kernels by its structure, and %lld were counted%s. It learns: the loss "
        "fell from %.4g to %.4g.",
        TD_LESSON_1_GPU_LAYERS, (long long)td_gpu_step_kernels(TD_LESSON_1_GPU_LAYERS), (long long)w->launches,
        w->launches > td_gpu_step_kernels(TD_LESSON_1_GPU_LAYERS) ? " (a library may start several for one product)"
                                                                  : "",
        w->loss[0], w->loss[1]);
    td_status status = td_lesson_save_gpu(lesson->arguments, 1, w->rows, "gpu_steps", err);
    return status ? status : td_lesson_plot_gpu(lesson->arguments, 1, w->lines, "gpu_timeline", "timeline", err);
}

static td_status measure(td_lesson_1 *lesson, td_error *err) {
    watched w;
    memset(&w, 0, sizeof w);
    w.rows = td_record_new(), w.lines = td_record_new();
    td_status status = w.rows && w.lines ? watch_all(&w, err) : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_queue_delete(w.loader);
    for (int i = 0; i < 2; i++) td_gpu_step_delete(w.step[i]);
    if (!status) status = show(lesson, &w, err);
    td_record_delete(w.rows);
    td_record_delete(w.lines);
    return status;
}

td_status td_lesson_1_show_gpu_steps(td_lesson_1 *lesson, const td_device *gpu, td_error *err) {
    td_error why;
    td_status status = gpu ? measure(lesson, &why) : TD_UNSUPPORTED;
    if (status == TD_OK) return TD_OK;
    if (status != TD_UNSUPPORTED) return td_fail(err, status, "%s", why.message);
    if (gpu) td_lesson_say("SKIP: %s", why.message); /* that there is none was said above */
    td_recorded_show("gpu_steps", columns);
    return td_recorded_draw(lesson->arguments, 1, "gpu_timeline", "timeline", err);
}
