/* The device of lesson 1's exercise, as a world: a queue, a clock of its own, runs that warm up, inputs that stay in a
 * cache, runs that fail. It answers a submission's questions, and keeps a record of every run.
 *
 * How long a run takes is settled by its number and the seed, whoever submits it; only a cached input changes that. */
#ifndef TANDEM_GRADE_MEASURE_DEVICE_H
#define TANDEM_GRADE_MEASURE_DEVICE_H

#include "child/measure_wire.h"
#include "wire.h"

enum { TD_DEVICE_RUNS = 1024 }; /* most that are queued before it refuses */

typedef struct td_device_setup {
    int inputs, warmup;
    int cache;     /* a run finds its input there if one of the last `cache` runs had it */
    double slow;   /* the first run takes 1 + slow times as long as later ones; this fades until the warm-up is over */
    double cached; /* a run with a cached input takes this share of its time */
    int period;    /* every period-th run after warm-up fails; 0: none */
    uint64_t seed;
} td_device_setup;

typedef struct td_device_run {
    int input, cached, failed;
    double seconds, end;
    double before, after; /* the clock's last reading before it was submitted, and the first one afterwards; NAN */
    int from_idle;        /* nothing was queued at `before` */
    int finished;         /* it was done at `after` */
    int alone, told;      /* a wait waited for it and for no other run; which said that a run failed */
} td_device_run;

typedef struct td_measure_device {
    td_device_setup setup;
    double clock, idle; /* the host's time; when all that is queued is done */
    double last;        /* the last reading */
    int last_idle;
    int submitted, unread,
        waited; /* runs; those before `unread` have their `after`, those before `waited` their wait */
    td_device_run run[TD_DEVICE_RUNS];
} td_measure_device;

/* What a host's call costs on the device's clock, in seconds. */
#define TD_DEVICE_SUBMIT_SECONDS 2e-6
#define TD_DEVICE_WAIT_SECONDS 1e-6
#define TD_DEVICE_NOW_SECONDS 5e-8

/* Run `index` of a device, on an input that is not cached. */
double td_device_seconds(const td_device_setup *setup, int index);
int td_device_fails(const td_device_setup *setup, int index);

void td_device_begin(td_measure_device *device, const td_device_setup *setup);
td_status td_device_submit(td_measure_device *device, int input, td_error *err);
td_status td_device_wait(td_measure_device *device, td_error *err);
double td_device_now(td_measure_device *device);
/* As td_world: the context is the device. */
td_status td_device_world(void *context, uint32_t what, td_wire_reader *question, td_wire_buffer *answer,
                          td_error *err);

#endif
