/* The emulator as a device: memory, what kernels may touch of it, and what it refuses. */
#include "../../../gpu/emu/emu.h"
#include "counted.h"
#include "tandem/device.h"
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const td_device *device(void) {
    td_error err = {0};
    const td_device *d = td_emulated_device(&err);
    cr_assert_not_null(d, "%s", err.message);
    return d;
}

static float *allocate(size_t bytes) {
    float *p = device()->allocator.alloc(device()->allocator.context, bytes, TD_MEM_DATA);
    cr_assert_not_null(p);
    return p;
}

static void release(void *p) {
    device()->allocator.free(device()->allocator.context, p);
}

Test(emulated_device, memory) {
    const td_device *d = device();
    td_error err;
    char *block[200], out[100], in[100];
    memset(in, 7, sizeof in);
    for (size_t i = 0; i < 200; i++) {
        block[i] = (char *)allocate(i * i);
        cr_expect_eq((uintptr_t)block[i] % 256, 0);
        if (i > 1) cr_expect(block[i] >= block[i - 1] + (i - 1) * (i - 1) + 4096, "they lie apart");
    }
    for (size_t i = 0; i < 200; i += 2) release(block[i]);
    for (size_t i = 0; i < 200; i += 2) block[i] = (char *)allocate(100 + i);
    for (size_t i = 20; i < 200; i++) {
        in[0] = (char)i;
        cr_expect_eq(d->upload(block[i], in, 100, &err), TD_OK);
    }
    for (size_t i = 20; i < 200; i++) {
        cr_expect_eq(d->download(out, block[i], 100, &err), TD_OK);
        in[0] = (char)i;
        cr_expect(!memcmp(in, out, 100));
        release(block[i]);
    }
    cr_expect_eq(d->poison(block[19], 361, &err), TD_OK);
    cr_expect_eq(d->download(out, block[19], 100, &err), TD_OK);
    memset(in, 0xFF, sizeof in);
    cr_expect(!memcmp(in, out, 100));
    for (size_t i = 0; i < 20; i++) release(block[i]);
    release(NULL);
    cr_expect_null(d->allocator.alloc(d->allocator.context, (size_t)1 << 40, TD_MEM_DATA));
}

Test(emulated_device, refusals) {
    const td_device *d = device();
    td_error err;
    double seconds;
    char host[64] = {0}, *p = (char *)allocate(64);
    cr_expect_eq(d->upload(p + 1, host, 64, &err), TD_BAD_PARAM);
    cr_expect(strstr(err.message, "64 bytes there"), "%s", err.message);
    cr_expect_eq(d->download(host, p + 64, 1, &err), TD_BAD_PARAM);
    cr_expect_eq(d->poison(p - 1, 2, &err), TD_BAD_PARAM);
    cr_expect_eq(d->expose(p, 65, &err), TD_BAD_PARAM);
    cr_expect_eq(d->upload(host, host, 0, &err), TD_OK, "nothing is always there");
    cr_expect_eq(d->synchronize(&err), TD_OK);
    cr_expect_eq(d->start(&err), TD_UNSUPPORTED);
    cr_expect_eq(d->stop(&seconds, &err), TD_UNSUPPORTED);
    release(p);
    cr_expect_eq(d->upload(p, host, 1, &err), TD_BAD_PARAM, "freed");
}

Test(emulated_device, host_code_that_touches_device_memory) {
    const td_device *d = device();
    td_error err;
    float host[64] = {0}, *x = allocate(sizeof host);
    cr_assert_eq(d->upload(x, host, sizeof host, &err), TD_OK);
    td_test_host_reads(host);
    cr_expect_eq(d->synchronize(&err), TD_OK);
    td_test_host_reads(x);
    cr_expect_eq(d->synchronize(&err), TD_WRONG);
    cr_expect_str_eq(err.message, "host code touches device memory: buffer of 256 bytes + 8");
    cr_expect_eq(d->synchronize(&err), TD_OK, "said once");
    td_test_host_reads(x);
    cr_expect_eq(td_test_counted(TD_COPY, 1, x, x, &err), TD_WRONG);
    release(x);
}

/* Kernels may touch what is exposed, all of it at first; the host may touch all that is allocated. */
Test(emulated_device, exposed) {
    const td_device *d = device();
    td_error err;
    float host[192] = {0}, *x = allocate(sizeof host), *y = allocate(sizeof host);
    cr_assert_eq(d->upload(x, host, sizeof host, &err), TD_OK);
    cr_expect_eq(td_test_counted(TD_COPY, 3, x, y, &err), TD_OK);
    cr_assert_eq(d->expose(x + 64, 64 * sizeof *x, &err), TD_OK);
    cr_assert_eq(d->upload(x, host, sizeof host, &err), TD_OK);
    cr_expect_eq(td_test_counted(TD_COPY, 1, x + 64, y, &err), TD_OK);
    cr_expect_eq(td_test_counted(TD_COPY, 2, x + 65, y, &err), TD_WRONG);
    cr_expect_str_eq(err.message, "copy<1>, block 0, thread 63: out of bounds: reads 4 bytes at buffer of 256 bytes + "
                                  "256 (0 past its end)");
    cr_expect_eq(td_test_counted(TD_COPY, 1, x + 63, y, &err), TD_WRONG);
    cr_expect_str_eq(err.message, "copy<1>, block 0, thread 0: out of bounds: reads 4 bytes at buffer of 256 bytes - 4 "
                                  "(before its start)");
    cr_assert_eq(d->expose(x, sizeof host, &err), TD_OK);
    cr_expect_eq(td_test_counted(TD_COPY, 3, x, y, &err), TD_OK);
    td_emulated_name(x, "x");
    cr_expect_eq(td_test_counted(TD_COPY, 4, x, y, &err), TD_WRONG);
    cr_expect_str_eq(err.message, "copy<1>, block 3, thread 0: out of bounds: reads 4 bytes at x (768 bytes) + 768 (0 "
                                  "past its end)");
    /* Memory comes back as it was never written. */
    release(x);
    x = allocate(sizeof host);
    cr_expect_eq(td_test_counted(TD_COPY, 1, x, y, &err), TD_WRONG);
    cr_expect_str_eq(err.message, "copy<1>, block 0, thread 0: unwritten: reads 4 bytes at buffer of 768 bytes + 0, "
                                  "which nobody wrote");
    cr_expect_eq(td_test_counted(TD_COPY, 1, host, y, &err), TD_WRONG, "memory of the host");
    cr_expect(strstr(err.message, "is in no allocation"), "%s", err.message);
    release(x);
    release(y);
}

/* Kernels and copies go on as before. */
static float *hidden(void) {
    const td_device *d = device();
    td_error err;
    float host[64] = {0}, back[64] = {1}, *x = allocate(sizeof host), *y = allocate(sizeof host);
    td_emulated_hide();
    cr_assert_eq(d->upload(x, host, sizeof host, &err), TD_OK);
    cr_assert_eq(d->poison(y, sizeof host, &err), TD_OK);
    cr_assert_eq(td_test_counted(TD_COPY, 1, x, y, &err), TD_OK, "%s", err.message);
    cr_assert_eq(d->download(back, y, sizeof host, &err), TD_OK);
    cr_expect_eq(back[0], 0);
    return x;
}

Test(emulated_device, hidden_from_the_host) {
    volatile float *x = hidden();
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        x[0] = 1;
        _exit(0);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

Test(emulated_device, a_fault_that_nobody_looked_at) {
    td_error err = {0};
    float *x = allocate(256), *y = allocate(256);
    cr_expect_eq(td_emulated_fault(&err), TD_OK);
    cr_expect_eq(td_test_counted(TD_COPY, 1, x, y, NULL), TD_WRONG);
    cr_expect_eq(td_test_counted(TD_COPY, 4, x, y, NULL), TD_WRONG);
    cr_expect_eq(td_emulated_fault(&err), TD_WRONG);
    cr_expect(strstr(err.message, "copy<1>, block 0, thread 0: unwritten"), "the first: %s", err.message);
    cr_expect_eq(td_emulated_fault(&err), TD_OK, "said once");
    release(x);
    release(y);
}
