/* One process beside the ranks: what is a speed-up, and what is not. */
#include "../../checks/bench.h"
#include "../../checks/text.h"
#include "lesson_6.h"
#include <string.h>

typedef struct side {
    td_boundary boundary;
    double seconds;
    int ranks;
} side;

/* The row of a part with so many ranks and samples; of the schemes, bucketed. */
static int find(const td_record *times, const char *part, double batch, side *out) {
    for (int r = 0; r < td_record_rows(times); r++) {
        const char *scheme = td_record_get_text(times, r, "scheme");
        if (strcmp(td_record_get_text(times, r, "part"), part) || td_record_get(times, r, "global_batch") != batch ||
            (scheme[0] && strcmp(scheme, "bucketed")))
            continue;
        *out = (side){.seconds = 1e-3 * td_record_get(times, r, "step_ms"),
                      .ranks = (int)td_record_get(times, r, "ranks")};
        out->boundary.scope = TD_SCOPE_FULL_STEP, out->boundary.global_batch = (int64_t)batch;
        return 1;
    }
    return 0;
}

static void row(td_lesson_6 *lesson, const char *what, const side *one, const side *many, int must_refuse) {
    td_error refused = {TD_OK, ""};
    double speedup;
    int said_no = td_speedup(&one->boundary, one->seconds, &many->boundary, many->seconds, &speedup, &refused);
    printf("\n  %s\n      1 process, batch %lld: %.4g ms a step; %d ranks, batch %lld: %.4g ms\n", what,
           (long long)one->boundary.global_batch, 1e3 * one->seconds, many->ranks,
           (long long)many->boundary.global_batch, 1e3 * many->seconds);
    if (said_no)
        td_print_wrapped(stdout, refused.message, "      REFUSED: ", "      ", 80);
    else
        printf("      speed-up %.2f on %d ranks\n", speedup, many->ranks);
    printf("      samples a second: %.4g against %.4g\n", (double)one->boundary.global_batch / one->seconds,
           (double)many->boundary.global_batch / many->seconds);
    lesson->failed += !said_no != !must_refuse;
}

td_status td_lesson_6_show_trap(td_lesson_6 *lesson, td_error *err) {
    side few, same, many;
    int64_t B;
    td_lesson_text(6, "Twice the ranks, twice the batch");
    td_status status = td_argument_int(lesson->arguments, "time-b", 1, 64, &B, err);
    if (status) return status;
    double share = (double)B, all = (double)(B * lesson->ranks);
    if (!lesson->times || lesson->ranks == 1) {
        td_lesson_say("SKIP: %s",
                      lesson->times ? "one rank is one process: RANKS=2 or more" : "nothing was measured above");
    } else if (find(lesson->times, "alone", share, &few) && find(lesson->times, "alone", all, &same) &&
               (find(lesson->times, "schemes", all, &many) || find(lesson->times, "caps", all, &many))) {
        row(lesson, "a rank's share on one process, all on the ranks: another training", &few, &many, 1);
        row(lesson, "the same global batch on both: strong scaling", &same, &many, 0);
        td_lesson_text(6, "What may be compared");
    }
    return TD_OK;
}
