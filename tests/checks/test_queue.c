/* The asynchronous queue: returns at once, works in order, says only at the sync that it is done. */
#include "../../checks/queue.h"
#include <criterion/criterion.h>
#include <stdatomic.h>

/* Work that waits for a gate: the test, not the clock, decides when it goes on. */
typedef struct gate {
    atomic_int open, reached;
} gate;

static td_status wait_for_gate(void *context, td_error *err) {
    gate *g = context;
    (void)err;
    atomic_store(&g->reached, 1);
    while (!atomic_load(&g->open)) {
    }
    return TD_OK;
}

typedef struct step {
    int *log, *length;
    int number;
} step;

static td_status append(void *context, td_error *err) {
    step *s = context;
    s->log[(*s->length)++] = s->number;
    return s->number % 100 == 99 ? td_fail(err, TD_WRONG, "step %d: fails as planned", s->number) : TD_OK;
}

Test(queue, submit_returns_before_the_work_is_done) {
    td_queue *q;
    cr_assert_eq(td_queue_new(&q, NULL), TD_OK);
    gate g = {0, 0};
    int log[1] = {0}, length = 0;
    step s = {log, &length, 7};
    td_queue_submit(q, wait_for_gate, &g);
    td_queue_submit(q, append, &s);
    while (!atomic_load(&g.reached)) {
    }
    cr_assert_eq(td_queue_submitted(q), 2); /* we are here, and the first has not ended: nothing behind it began */
    atomic_store(&g.open, 1);
    cr_assert_eq(td_queue_synchronize(q, NULL), TD_OK);
    cr_assert_eq(length, 1);
    cr_assert_eq(log[0], 7);
    td_queue_delete(q);
}

Test(queue, keeps_the_order_beyond_its_depth_and_reports_the_first_error_once) {
    enum { N = 3 * TD_QUEUE_DEPTH + 5 };
    static int log[N];
    static step steps[N];
    int length = 0;
    td_queue *q;
    cr_assert_eq(td_queue_new(&q, NULL), TD_OK);
    for (int i = 0; i < N; i++) {
        steps[i] = (step){log, &length, i};
        td_queue_submit(q, append, &steps[i]);
    }
    td_error err;
    cr_assert_eq(td_queue_synchronize(q, &err), TD_WRONG);
    cr_assert_str_eq(err.message, "step 99: fails as planned");
    cr_assert_eq(length, N);
    for (int i = 0; i < N; i++) cr_assert_eq(log[i], i);
    cr_assert_eq(td_queue_synchronize(q, &err), TD_OK);
    td_queue_delete(q);
}

Test(queue, deleting_finishes_what_was_submitted) {
    td_queue *q;
    cr_assert_eq(td_queue_new(&q, NULL), TD_OK);
    int log[50] = {0}, length = 0;
    step steps[50];
    for (int i = 0; i < 50; i++) {
        steps[i] = (step){log, &length, i};
        td_queue_submit(q, append, &steps[i]);
    }
    td_queue_delete(q);
    cr_assert_eq(length, 50);
    td_queue_delete(NULL);
}
