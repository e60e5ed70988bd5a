/* The ladder goes on with 16 bits: counted, timed, and beside the libraries. */
#include "../matrix_rungs.h"
#include "../peers.h"
#include "lesson_4.h"

td_status td_lesson_4_show_matrix(td_lesson_4 *lesson, td_error *err) {
    td_matrix_rungs rungs = {.arguments = lesson->arguments,
                             .number = 4,
                             .problem = lesson->problem,
                             .T = lesson->large.attention.Tq,
                             .seed = lesson->seed,
                             .recorded = "gpu_forward_ladder_16bit",
                             .failed = &lesson->failed};
    td_lesson_text(4, "Matrix units");
    td_status status = td_matrix_show_counts(&rungs, err);
    if (status) return status;
    td_lesson_text(4, "What matrix units ask for");
    td_lesson_text(4, "The rungs of 16 bits on a GPU");
    if ((status = td_matrix_show_times(&rungs, err))) return status;
    td_lesson_text(4, "Beside the libraries");
    return td_peers_show(lesson->arguments, 4, TD_OP_ATTENTION_FORWARD, err);
}
