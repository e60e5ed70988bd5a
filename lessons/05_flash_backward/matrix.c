/* Backward's rungs of 16 bits: counted, timed, and beside the libraries. */
#include "../matrix_rungs.h"
#include "../peers.h"
#include "lesson_5.h"

td_status td_lesson_5_show_matrix(td_lesson_5 *lesson, td_error *err) {
    td_matrix_rungs rungs = {.arguments = lesson->arguments,
                             .number = 5,
                             .problem = lesson->problem,
                             .T = lesson->large.attention.Tq,
                             .seed = lesson->seed,
                             .recorded = "gpu_backward_ladder_16bit",
                             .failed = &lesson->failed};
    td_lesson_text(5, "Matrix units");
    td_status status = td_matrix_show_counts(&rungs, err);
    if (status) return status;
    td_lesson_text(5, "Which way round");
    td_lesson_text(5, "The rungs of 16 bits on a GPU");
    if ((status = td_matrix_show_times(&rungs, err))) return status;
    td_lesson_text(5, "Beside the libraries");
    return td_peers_show(lesson->arguments, 5, TD_OP_ATTENTION_BACKWARD, err);
}
