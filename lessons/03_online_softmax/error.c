/* Error against block size, for each dtype, over many seeds, before and after the output's rounding. */
#include "../../checks/sweep.h"
#include "lesson_3.h"

enum { MOST_QUERIES = 64 }; /* enough rows to see the spread; the keys are what the sums run over */

static td_sweep_options sweep_options(const td_lesson_3 *lesson) {
    const td_attention_problem *a = &lesson->problem.attention;
    td_sweep_options options = td_sweep_defaults();
    options.problem.d = a->d, options.problem.scale = a->scale, options.problem.mask = a->mask;
    if (td_arguments_given(lesson->arguments, "t") || td_arguments_given(lesson->arguments, "tk")) {
        options.problem.Tk = a->Tk;
        options.problem.Tq = a->Tq < MOST_QUERIES ? a->Tq : MOST_QUERIES;
    }
    options.fixture = lesson->fixture, options.seed = lesson->seed, options.seeds = (int)lesson->seeds;
    return options;
}

static void say(const td_sweep_options *options, const td_sweep_worst *worst) {
    for (int v = 0; v < options->variants; v++)
        td_lesson_say("%s: the worst error over all blocks and seeds is %.2f of its bound before the output is "
                      "rounded, %.2f after.",
                      options->variant[v]->name, worst[v].before, worst[v].after);
    td_lesson_say("The curves are nearly flat: the rounding of the products and of P, which every block size shares, "
                  "outweighs the rescaling, which only small blocks do often.");
}

td_status td_lesson_3_show_error(td_lesson_3 *lesson, td_error *err) {
    td_lesson_text(3, "Error against block size");
    td_sweep_options options = sweep_options(lesson);
    if (options.problem.Tk < 2 || options.problem.Tq < 1) {
        td_lesson_say("SKIP: with fewer than two keys there is one block size only.");
        return TD_OK;
    }
    td_sweep_worst worst[TD_SWEEP_VARIANTS];
    td_record *record = td_record_new();
    if (!record) return td_fail(err, TD_NO_MEMORY, "no memory for the table");
    td_status status = td_sweep(&options, record, worst, err);
    if (!status) status = td_lesson_plot(lesson->arguments, 3, record, "error_vs_block", "error_vs_block", err);
    if (!status) {
        say(&options, worst);
        for (int v = 0; v < options.variants; v++) lesson->failed += !(worst[v].before <= 1 && worst[v].after <= 1);
    }
    td_record_delete(record);
    return status;
}
