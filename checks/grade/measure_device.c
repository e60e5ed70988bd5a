/* A device that works through a queue, on a clock that only its own events move. */
#include "measure_device.h"
#include "tandem/philox.h"

enum { LENGTH, SCATTER, INTERRUPTED, INTERRUPTION, FIRST_FAILURE };

int td_device_fails(const td_device_setup *setup, int index) {
    if (!setup->period || index < setup->warmup) return 0;
    uint32_t offset = td_philox(setup->seed, FIRST_FAILURE, 0).x[0] % (uint32_t)setup->period;
    return ((uint32_t)index + offset) % (uint32_t)setup->period == 0;
}

/* 20 to 50 ms, up to a tenth more, and one run in five is interrupted: so that neighbours among sorted times are far
 * further apart than what a call costs. A run that fails ends early. */
double td_device_seconds(const td_device_setup *setup, int index) {
    double length = 0.02 + 0.03 * td_uniform(setup->seed, LENGTH, 0), factor = 1;
    factor += 0.1 * td_uniform(setup->seed, SCATTER, (uint64_t)index);
    if (td_uniform(setup->seed, INTERRUPTED, (uint64_t)index) < 0.2)
        factor += 0.3 + 0.5 * td_uniform(setup->seed, INTERRUPTION, (uint64_t)index);
    if (index < setup->warmup) factor *= 1 + setup->slow * (setup->warmup - index) / setup->warmup;
    return length * factor * (td_device_fails(setup, index) ? 0.2 : 1);
}

void td_device_begin(td_measure_device *device, const td_device_setup *setup) {
    *device = (td_measure_device){.setup = *setup, .clock = 100, .idle = 100, .last = NAN};
}

td_status td_device_submit(td_measure_device *device, int input, td_error *err) {
    const td_device_setup *setup = &device->setup;
    int index = device->submitted, cached = 0;
    if (input < 0 || input >= setup->inputs)
        return td_fail(err, TD_BAD_PARAM, "input = %d: must be 0 to %d", input, setup->inputs - 1);
    if (index == TD_DEVICE_RUNS)
        return td_fail(err, TD_UNSUPPORTED, "the device takes %d runs and no more", TD_DEVICE_RUNS);
    for (int i = index - 1; i >= 0 && i >= index - setup->cache; i--) cached |= device->run[i].input == input;
    device->clock += TD_DEVICE_SUBMIT_SECONDS;
    double seconds = td_device_seconds(setup, index) * (cached ? setup->cached : 1);
    device->idle = fmax(device->idle, device->clock) + seconds;
    device->run[index] = (td_device_run){.input = input,
                                         .cached = cached,
                                         .failed = td_device_fails(setup, index),
                                         .seconds = seconds,
                                         .end = device->idle,
                                         .before = device->last,
                                         .after = NAN,
                                         .from_idle = device->last_idle};
    device->submitted++;
    return TD_OK;
}

td_status td_device_wait(td_measure_device *device, td_error *err) {
    int failed = 0, alone = device->submitted - device->waited == 1;
    for (int i = device->waited; i < device->submitted; i++) failed |= device->run[i].failed;
    for (; device->waited < device->submitted; device->waited++) {
        device->run[device->waited].alone = alone;
        device->run[device->waited].told = failed;
    }
    device->clock = fmax(device->clock, device->idle) + TD_DEVICE_WAIT_SECONDS;
    return failed ? td_fail(err, TD_WRONG, "a run failed on the device") : TD_OK;
}

double td_device_now(td_measure_device *device) {
    device->clock += TD_DEVICE_NOW_SECONDS;
    for (; device->unread < device->submitted; device->unread++) {
        td_device_run *run = &device->run[device->unread];
        run->after = device->clock;
        run->finished = run->end <= device->clock;
    }
    device->last = device->clock;
    device->last_idle = device->idle <= device->clock;
    return device->clock;
}

td_status td_device_world(void *context, uint32_t what, td_wire_reader *question, td_wire_buffer *answer,
                          td_error *err) {
    td_measure_device *device = context;
    int32_t input;
    if (what == TD_DEVICE_SUBMIT && td_wire_get(question, &input, sizeof input))
        return td_device_submit(device, input, err);
    if (what == TD_DEVICE_WAIT) return td_device_wait(device, err);
    if (what != TD_DEVICE_NOW) return td_fail(err, TD_BAD_PARAM, "question %u: a device is not asked this", what);
    double seconds = td_device_now(device);
    td_wire_put(answer, &seconds, sizeof seconds);
    return TD_OK;
}
