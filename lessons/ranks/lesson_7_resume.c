/* Part "resume" of lesson 7's task: what was saved half way by other ranks, under a plan of their own, goes on here. */
#include "lesson_7.h"

static td_status go_on(td_training_7 *t, td_record *record, td_error *err) {
    double m, v, loss;
    td_status status = td_training_7_load(t, td_argument_text(t->job->arguments, "from"), err);
    if (!status && td_adam_steps(t->adam) >= t->job->steps)
        status = td_fail(err, TD_BAD_PARAM, "STEPS=%lld: FROM=%.60s has %lld steps already: must be more",
                         (long long)t->job->steps, td_argument_text(t->job->arguments, "from"),
                         (long long)td_adam_steps(t->adam));
    if (!status) status = td_training_7_states(t, &m, &v, err);
    for (int64_t step = td_adam_steps(t->adam); step < t->job->steps && !status; step++) {
        status = td_training_7_step(t, step, &loss, err);
        if (status) break;
        td_record_row(record);
        td_record_text(record, "plan", td_plan_7_name(t->plan));
        td_record_int(record, "step", step);
        td_record_real(record, "loss", loss);
        td_record_real(record, "m", m);
        td_record_real(record, "v", v);
    }
    return status;
}

td_status td_part_7_resume(const td_job_7 *job, td_error *err) {
    td_record *record = td_record_new();
    td_status status = record ? TD_OK : td_fail(err, TD_NO_MEMORY, "no memory for the table");
    for (int plan = TD_ADAM_FULL; plan <= TD_ADAM_FLAT && !status; plan++) {
        td_training_7 t;
        status = td_training_7_open(&t, job, (td_adam_sharding)plan, err);
        if (!status) status = go_on(&t, record, err);
        td_training_7_close(&t);
    }
    if (!status) return td_write_7(job, record, "resume", err);
    td_record_delete(record);
    return status;
}
