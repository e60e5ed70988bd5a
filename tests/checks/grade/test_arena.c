/* A call's arrays in the child: where they may be touched, and how a place is named that may not. The child's file is
 * part of this one, since no other program than a submission's has it. */
#include "../../../checks/grade/child/arena.c"
#include <criterion/criterion.h>
#include <unistd.h>

/* The system looks whether it may read from, or write to, an address, and says so. */
static int readable(const void *at) {
    int fd[2];
    cr_assert_eq(pipe(fd), 0);
    int may = write(fd[1], at, 1) == 1;
    close(fd[0]), close(fd[1]);
    return may;
}
static int writable(void *at) {
    int fd[2];
    cr_assert_eq(pipe(fd), 0);
    cr_assert_eq(write(fd[1], "\xFF", 1), 1);
    int may = read(fd[0], at, 1) == 1;
    close(fd[0]), close(fd[1]);
    return may;
}

static void put(td_wire_buffer *b, int is_output, int at_start, int wanted, int64_t first, int64_t elements) {
    td_wire_tensor t = {TD_F32, is_output, at_start, wanted, {1, 1, 1, elements}, {0, 0, 0, 1}, first, elements};
    td_wire_put(b, &t, sizeof t);
    for (int64_t i = 0; i < elements && wanted && !is_output; i++) td_wire_put(b, &(float){(float)i}, sizeof(float));
}

static td_tensor take(td_wire_reader *r, const char *name) {
    td_tensor t;
    td_error err;
    cr_assert_eq(td_child_tensor(r, name, &t, &err), TD_OK, "%s", err.message);
    return t;
}

static void says(const void *at, const char *what) {
    char text[160] = "";
    cr_expect_eq(td_child_describe(at, text, sizeof text), what != NULL);
    if (what) cr_expect_str_eq(text, what);
}

Test(grade_arena, arrays_end_where_they_end) {
    td_wire_buffer request = {NULL, 0, 0, 0}, reply = {NULL, 0, 0, 0};
    td_error err;
    put(&request, 0, 0, 1, 2, 1500);
    put(&request, 1, 1, 1, 0, 3);
    put(&request, 1, 0, 0, 0, 3);
    put(&request, 0, 0, 1, 0, 0);
    td_wire_put(&request, "seven..", 7);
    td_wire_reader r = {request.data, request.data + request.bytes};
    td_tensor x = take(&r, "x"), y = take(&r, "y"), none = take(&r, "none"), empty = take(&r, "empty");
    char *seven = td_child_array(&r, "seven", 7, 1, &err), *in = x.data, *out = y.data;
    cr_assert_eq(r.at, r.end);
    cr_assert_null(none.data);

    cr_expect_eq(*(float *)x.data, 2.0f, "first is where element 0 lies");
    in -= 8; /* the start of its storage */
    cr_expect(readable(in) && readable(in + 5999) && !readable(in + 6000));
    cr_expect_not(writable(in));
    cr_expect(writable(out) && writable(out + 11) && !readable(out - 1), "against its start");
    cr_expect(!readable(empty.data), "of nothing, nothing can be read");
    cr_expect(writable(seven) && writable(seven + 6) && !readable(seven + 7));
    says(in + 6000, "right behind the end of x");
    says(in + 6004, "4 bytes behind the end of x");
    says(out - 4, "4 bytes before the start of y");
    says(in, "to byte 0 of x, which is an input and may not be written");
    says(out + 1, "to byte 1 of y");
    says(&r, NULL);

    cr_expect_eq(((unsigned char *)out)[4], 0xFF, "an output comes full of NaN");
    memcpy(out, &(float){5}, 4);
    td_child_outputs(&reply);
    cr_expect_eq(reply.bytes, 12u, "outputs that are wanted, and no inputs");
    cr_expect_eq(*(float *)(void *)reply.data, 5.0f);
    cr_expect_not(td_child_inputs_changed());
    mprotect((void *)((uintptr_t)in & ~(uintptr_t)4095), 4096, PROT_READ | PROT_WRITE);
    in[8] ^= 1;
    cr_expect(td_child_inputs_changed(), "whoever makes an input writable is found out");
    td_child_release();
    says(in, NULL);
    td_wire_free(&request);
    td_wire_free(&reply);
}

/* A request that is cut short is no array. */
Test(grade_arena, too_short_a_request_is_refused) {
    td_wire_buffer request = {NULL, 0, 0, 0};
    td_tensor t;
    td_error err;
    put(&request, 0, 0, 1, 0, 8);
    for (size_t bytes = 0; bytes < request.bytes; bytes += 16) {
        td_wire_reader r = {request.data, request.data + bytes};
        cr_expect_eq(td_child_tensor(&r, "x", &t, &err), TD_INTERNAL);
    }
    td_wire_reader r = {request.data, request.data + 3};
    cr_expect_null(td_child_array(&r, "a", 4, 0, &err));
    td_child_release();
    td_wire_free(&request);
}
