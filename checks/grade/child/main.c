/* The child: says hello, then runs the exercise's function as often as it is called. A fault is put into words on the
 * way out. Floating-point modes that the function changed are noted, and set right again. */
#include "arena.h"
#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

static char alternate[65536];
static const char *stack_bottom;

/* Read or write: bit 1 of the page fault's error code (Intel SDM vol. 3, "Page-Fault Exceptions"). */
static const char *access_of(const ucontext_t *context) {
#ifdef __x86_64__
    return context->uc_mcontext.gregs[REG_ERR] & 2 ? "a write" : "a read";
#else
    (void)context;
    return "an access";
#endif
}

static const char *stack_pointer(const ucontext_t *context) {
#ifdef __x86_64__
    return (const char *)context->uc_mcontext.gregs[REG_RSP];
#else
    (void)context;
    return NULL;
#endif
}

/* Says why, and waits to be ended from outside, where one first looks at how much memory there was. */
static _Noreturn void leave(const char *why) {
    char rest[64];
    td_child_send(TD_WIRE_FAULT, 0, why, strlen(why), NULL, 0);
    while (read(TD_WIRE_FD, rest, sizeof rest) > 0) continue;
    _exit(6);
}

static void fault(int number, siginfo_t *info, void *context) {
    char text[256], where[160];
    const char *at = info->si_addr, *sp = stack_pointer(context);
    if (td_child_sending()) _exit(6);
    if (number == SIGFPE)
        snprintf(text, sizeof text, "an integer was divided by zero, or overflowed in a division");
    else if (td_child_describe(at, where, sizeof where))
        snprintf(text, sizeof text, "%s %s", access_of(context), where);
    else if ((uintptr_t)at < 4096)
        snprintf(text, sizeof text, "%s through a NULL pointer: did an allocation fail?", access_of(context));
    else if (sp && at > sp - 65536 && at < stack_bottom && getpid() == gettid())
        snprintf(text, sizeof text, "the stack is full: too deep a recursion, or too large an array in a function");
    else if (number == SIGILL)
        snprintf(text, sizeof text, "an instruction that this machine does not have");
    else
        snprintf(text, sizeof text, "%s at address %p, which belongs to no array", access_of(context), (void *)at);
    leave(text);
}

static void hear_faults(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction act = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        sigaction(numbers[i], &act, NULL);
    }
}

/* Rounding, flush-to-zero, exception masks: all but the flags of what has happened. */
typedef struct modes {
    unsigned mxcsr;
    unsigned short x87;
    int rounding;
} modes;

static modes modes_now(void) {
    modes m = {0, 0, fegetround()};
#ifdef __x86_64__
    m.mxcsr = __builtin_ia32_stmxcsr() & ~0x3fu;
    __asm__ volatile("fnstcw %0" : "=m"(m.x87));
#endif
    return m;
}

static void modes_set(modes m) {
    fesetround(m.rounding);
#ifdef __x86_64__
    __builtin_ia32_ldmxcsr(m.mxcsr);
    __asm__ volatile("fldcw %0" : : "m"(m.x87));
#endif
}

static void serve(uint32_t what, char *bytes, size_t count) {
    td_wire_reader request = {bytes, bytes + count};
    td_wire_buffer reply = {NULL, 0, 0, 0};
    td_error err = {TD_OK, ""};
    td_wire_done done = {0, 0, ""};
    modes before = modes_now();
    done.status = td_child_serve(what, &request, &reply, &err);
    modes after = modes_now();
    if (before.mxcsr != after.mxcsr || before.x87 != after.x87 || before.rounding != after.rounding)
        done.notes |= TD_NOTE_ROUNDING;
    modes_set(before);
    const void *outside = td_child_outside();
    if (outside) {
        char where[160], text[256];
        td_child_describe(outside, where, sizeof where);
        snprintf(text, sizeof text, "a write %s", where);
        leave(text);
    }
    if (td_child_inputs_changed()) done.notes |= TD_NOTE_INPUT_CHANGED;
    if (done.status) snprintf(done.message, sizeof done.message, "%.*s", (int)sizeof err.message - 1, err.message);
    if (reply.failed) {
        done = (td_wire_done){TD_NO_MEMORY, done.notes, "no memory is left for the reply"};
        reply.bytes = 0;
    }
    fflush(NULL);
    td_child_send(TD_WIRE_DONE, what, &done, sizeof done, reply.data, reply.bytes);
    td_wire_free(&reply);
    td_child_release();
}

int main(void) {
    char here, *bytes;
    stack_bottom = &here;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* what a submission prints is there when it crashes */
    hear_faults();
    td_child_send(TD_WIRE_HELLO, 0, NULL, 0, NULL, 0);
    for (;;) {
        td_wire_head head = td_child_hear(&bytes);
        if (head.kind != TD_WIRE_CALL) return 5;
        serve(head.what, bytes, head.bytes);
        td_child_forget(bytes, head.bytes);
    }
}
