/* Lesson 2 in the child: one function, asked several times. */
#include "child.h"
#include "roofline_wire.h"
#include "tandem/exercise/roofline.h"
#include <math.h>

static td_roofline_answer ask(uint32_t what, const td_roofline_question *q) {
    td_roofline_answer a = {-1, NAN, -1};
    td_attention_problem problem = q->attention;
    td_dtype dtype = (td_dtype)q->dtype;
    td_exercise_bound bound = (td_exercise_bound)-1;
    switch ((td_roofline_function)what) {
    case TD_GEMM_FLOPS: a.count = exercise_gemm_flops(q->M, q->N, q->K); break;
    case TD_GEMM_BYTES: a.count = exercise_gemm_bytes(q->M, q->N, q->K, dtype); break;
    case TD_ATTENTION_FLOPS: a.count = exercise_attention_flops(&problem); break;
    case TD_ATTENTION_BYTES: a.count = exercise_attention_bytes(&problem, dtype); break;
    case TD_DENSE_EXTRA_BYTES: a.count = exercise_dense_extra_bytes(&problem, dtype); break;
    case TD_FLOOR: a.real = exercise_floor(q->flops, q->bytes, q->peak, q->bandwidth, &bound); break;
    case TD_INTENSITY: a.real = exercise_intensity(q->flops, q->bytes); break;
    case TD_ROOF: a.real = exercise_roof(q->intensity, q->peak, q->bandwidth); break;
    }
    a.bound = (int64_t)bound;
    return a;
}

td_status td_child_serve(uint32_t what, td_wire_reader *request, td_wire_buffer *reply, td_error *err) {
    int64_t n;
    td_roofline_question question;
    if (!td_wire_get(request, &n, sizeof n)) return td_fail(err, TD_INTERNAL, "the request has no count");
    for (int64_t i = 0; i < n; i++) {
        if (!td_wire_get(request, &question, sizeof question))
            return td_fail(err, TD_INTERNAL, "the request ends before question %lld", (long long)i);
        td_roofline_answer answer = ask(what, &question);
        td_wire_put(reply, &answer, sizeof answer);
    }
    return TD_OK;
}
