/* tandem run, driven as its users drive it: right results, and every mistake of theirs in one line. */
#include "run_case.h"
#include <math.h>
#include <sched.h>
#include <sys/mount.h>

static void setup(void) {
    support_folder(folder);
    write_array("q.npy", 1, 2, 3, 4, 0.5);
    write_array("k.npy", 1, 1, 5, 4, 0.25);
    write_array("v.npy", 1, 1, 5, 4, 1);
}

static void teardown(void) {
    support_folder_remove(folder);
}

TestSuite(command_run, .init = setup, .fini = teardown);

enum { INPUTS = 3 };

/* tandem run attention_forward on the three files, with two to four more arguments (NULL = none). */
static void run(const support_child *child, support_result *result, char *a, char *b, char *c, char *d) {
    support_child in = {.folder = folder};
    if (child) in.largest_file = child->largest_file, in.user = child->user;
    support_tandem(&in, result, "run", "attention_forward", "Q=q.npy", "--k", "k.npy", "--v=v.npy", a, b, c, d);
}

Test(command_run, both_results_with_their_shapes) {
    support_result result;
    td_memory *memory = td_memory_new(0);
    td_allocator allocator = td_memory_allocator(memory);
    run(NULL, &result, "VARIANT=dense_f64", "OUT=o.npy", "LSE=l.npy", "SCALE=0");
    cr_assert_eq(result.status, 0, "%s", result.err);
    td_tensor O = read_result("o.npy", &allocator), L = read_result("l.npy", &allocator);
    cr_expect(O.size[0] == 1 && O.size[1] == 2 && O.size[2] == 3 && O.size[3] == 4);
    cr_expect(L.size[0] == 1 && L.size[1] == 1 && L.size[2] == 2 && L.size[3] == 3, "(B,Hq,Tq) has three dimensions");
    cr_expect_eq(O.dtype, TD_F64);
    /* scale 0: the mean of V; column 0 of V is elements 0, 4, 8, 12, 16 mod 7, minus 3 */
    double mean = ((0 - 3) + (4 - 3) + (1 - 3) + (5 - 3) + (2 - 3)) / 5.0;
    cr_expect_float_eq(td_get(&O, 0, 1, 2, 0), mean, 1e-15);
    cr_expect_float_eq(td_get(&L, 0, 0, 1, 2), log(5), 1e-15);
    td_memory_delete(memory);
}

Test(command_run, one_result_is_enough_and_dtype_rounds_the_inputs) {
    support_result result;
    td_memory *memory = td_memory_new(0);
    td_allocator allocator = td_memory_allocator(memory);
    write_array("v.npy", 1, 1, 5, 4, 1 + 0x1p-10); /* between two bf16 numbers */
    run(NULL, &result, "--variant=online_f32", "--lse=l.npy", "--mask=causal", "--block=2");
    cr_assert_eq(result.status, 0, "%s", result.err);
    cr_assert_eq(support_entries(folder), 4);
    run(NULL, &result, "--variant=online_f32", "--out=o.npy", "--mask=causal", "--dtype=bf16");
    cr_assert_eq(result.status, 0, "%s", result.err);
    td_tensor O = read_result("o.npy", &allocator);
    cr_expect_eq(td_get(&O, 0, 0, 0, 0), -3, "query 0 reads key 0 alone; -3(1 + 2^-10) rounds to -3 in bf16");
    td_memory_delete(memory);
}

Test(command_run, non_finite_results_are_results) {
    support_result result;
    td_memory *memory = td_memory_new(0);
    td_allocator allocator = td_memory_allocator(memory);
    write_array("q.npy", 1, 2, 3, 4, NAN);
    run(NULL, &result, "VARIANT=dense_f64", "OUT=o.npy", "SCALE=-2", NULL);
    cr_assert_eq(result.status, 0, "%s", result.err);
    td_tensor O = read_result("o.npy", &allocator);
    cr_expect(isnan(td_get(&O, 0, 0, 0, 0)));
    td_memory_delete(memory);
}

Test(command_run, a_result_beyond_the_range_of_the_type_is_noted) {
    support_result result;
    run(NULL, &result, "VARIANT=dense_fp16", "OUT=o.npy", "LSE=l.npy", NULL);
    cr_expect_eq(result.status, 0);
    cr_expect_str_eq(result.err, "", "finite results");
    write_array("q.npy", 1, 2, 3, 4, 20000); /* up to 60000 */
    write_array("k.npy", 1, 1, 5, 4, 20000);
    run(NULL, &result, "VARIANT=dense_fp16", "OUT=o.npy", "LSE=l.npy", NULL);
    support_refused(&result, 0, "note: O holds NaN or infinity though the inputs are finite");
    cr_expect(strstr(result.err, "beyond the range of fp16"), "%s", result.err);
    cr_expect_eq(support_entries(folder), INPUTS + 2, "both results are written");
    write_array("v.npy", 1, 1, 5, 4, 1e6);
    run(NULL, &result, "VARIANT=dense_f64", "OUT=o.npy", "DTYPE=fp16", NULL);
    support_refused(&result, 0, "beyond the range of fp16");
    write_array("v.npy", 1, 1, 5, 4, INFINITY);
    run(NULL, &result, "VARIANT=dense_fp16", "OUT=o.npy", NULL, NULL);
    cr_expect_str_eq(result.err, "", "no note on what the inputs explain");
    write_array("k.npy", 1, 1, 0, 4, 1);
    write_array("v.npy", 1, 1, 0, 4, 1);
    run(NULL, &result, "VARIANT=dense_f64", "LSE=l.npy", NULL, NULL);
    cr_expect_eq(result.status, 0);
    cr_expect_str_eq(result.err, "", "without keys LSE is -inf by definition");
}

Test(command_run, the_operation_must_be_given) {
    support_result result;
    support_tandem(NULL, &result, "run");
    refused(&result, 2, "OPERATION: not given; must be attention_forward or attention_backward", INPUTS);
    support_tandem(NULL, &result, "run", "gelu");
    refused(&result, 2, "'gelu': no operation that can be run; legal are attention_forward, attention_backward",
            INPUTS);
}

Test(command_run, bad_parameters) {
    static const struct {
        char *a, *b;
        const char *said;
    } cases[] = {
        {"BLOCK=0", "VARIANT=online_f32", "BLOCK=0: must be an integer of 1 or more"},
        {"BLOCK=-4", "VARIANT=online_f32", "BLOCK=-4: must be"},
        {"DTYPE=fp8", "VARIANT=online_f32", "DTYPE=fp8: must be one of f64, f32, bf16, fp16"},
        {"DTYPE=f64", "VARIANT=online_f32", "DTYPE=f64: online_f32 takes f32, which cannot hold every f64"},
        {"DTYPE=fp16", "VARIANT=dense_bf16", "DTYPE=fp16: dense_bf16 takes bf16"},
        {"MASK=foo", "VARIANT=online_f32", "MASK=foo: must be one of none, causal-top-left"},
        {"SCALE=nan", "VARIANT=online_f32", "SCALE=nan: must be a finite number"},
        {"SCALE=1e999", "VARIANT=online_f32", "SCALE=1e999: must be a finite number"},
        {"T=-1", "VARIANT=online_f32", "'T=-1': no such option"},
        {"--variant=online_f32", "VARIANT=online_f32", "VARIANT: given twice"},
        {"VARIANT=online_f32", "--dtype", "DTYPE: its value is missing"},
        {"VARIANT=", "MASK=none", "VARIANT: its value is missing"},
        {"MASK=none", NULL, "VARIANT: not given"},
        {"VARIANT=nothing", NULL, "variant 'nothing': unknown"},
        {"VARIANT=online_f32", "LSE=./o.npy", "lse: is the same file as out"},
        {"VARIANT=online_f32", "LSE=../none/l.npy", NULL},
    };
    support_result result;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run(NULL, &result, "OUT=o.npy", cases[i].a, cases[i].b, NULL);
        if (cases[i].said)
            refused(&result, 2, cases[i].said, INPUTS);
        else
            refused(&result, 3, "cannot be written: No such file or directory", INPUTS);
    }
    run(NULL, &result, "VARIANT=dense_f64", NULL, NULL, NULL);
    refused(&result, 2, "out, lse: none is given", INPUTS);
    run(NULL, &result, "VARIANT=dense_f64", "OUT=./k.npy", NULL, NULL);
    refused(&result, 2, "out: is the same file as k", INPUTS);
    support_tandem(NULL, &result, "run", "attention\nbackward");
    refused(&result, 2, "'attention?backward'", INPUTS);
}

Test(command_run, shapes_that_do_not_fit) {
    support_result result;
    write_array("q.npy", 1, 2, 3, 257, 1);
    run(NULL, &result, "VARIANT=dense_f64", "OUT=o.npy", NULL, NULL);
    refused(&result, 2, "q (1, 2, 3, 257), k (1, 1, 5, 4): B and d", INPUTS);
    write_array("k.npy", 1, 1, 5, 257, 1);
    run(NULL, &result, "VARIANT=dense_f64", "OUT=o.npy", NULL, NULL);
    refused(&result, 2, "k (1, 1, 5, 257), v (1, 1, 5, 4): all sizes", INPUTS);
    write_array("v.npy", 1, 1, 5, 257, 1);
    run(NULL, &result, "VARIANT=dense_f64", "OUT=o.npy", NULL, NULL);
    refused(&result, 2, "d = 257: must be in 1", INPUTS);
    write_array("q.npy", 1, 3, 3, 4, 1);
    write_array("k.npy", 1, 2, 5, 4, 1);
    write_array("v.npy", 1, 2, 5, 4, 1);
    run(NULL, &result, "VARIANT=dense_f64", "OUT=o.npy", NULL, NULL);
    refused(&result, 2, "Hq = 3: must be a multiple of Hkv = 2", INPUTS);
}

Test(command_run, broken_inputs) {
    char huge[] = "\x93NUMPY\x01\x00\x00\x00"
                  "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 4000000000000, 4)}";
    huge[8] = (char)(sizeof huge - 1 - 10); /* length of the header */
    support_result result;
    support_write(support_path(folder, "k.npy"), huge, sizeof huge - 1);
    run(NULL, &result, "VARIANT=dense_f64", "OUT=o.npy", NULL, NULL);
    refused(&result, 3, "k.npy: is truncated: its header promises 128000000000000 bytes", INPUTS);
    write_array("k.npy", 1, 1, 5, 4, 1);
    cr_assert_eq(truncate(support_path(folder, "k.npy"), 200), 0);
    run(NULL, &result, "VARIANT=dense_f64", "OUT=o.npy", NULL, NULL);
    refused(&result, 3, "k.npy: is truncated: its header promises 160 bytes of data, the file holds 72", INPUTS);
    remove(support_path(folder, "k.npy"));
    run(NULL, &result, "VARIANT=dense_f64", "OUT=o.npy", NULL, NULL);
    refused(&result, 3, "k.npy: cannot be read: No such file", INPUTS - 1);
}

Test(command_run, a_full_disk_leaves_no_half_result) {
    support_result result;
    support_child small = {.largest_file = 256}; /* LSE (176 bytes) fits, O does not */
    write_array("q.npy", 1, 2, 3, 4, 1);
    run(&small, &result, "VARIANT=dense_f64", "OUT=o.npy", "LSE=l.npy", NULL);
    refused(&result, 3, "o.npy: cannot be written: File too large", INPUTS);
}

/* A file system of one's own, in this test's process alone; skipped where that is not allowed. */
static void mount_here(const char *options) {
    char program[PATH_MAX];
    support_program(program); /* found before: in a chroot with mounts of its own, the kernel names it from outside */
    setenv("TANDEM", program, 1);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tandem", support_path(folder, "disk"), "tmpfs", 0, options) != 0)
        cr_skip_test("mounting a tmpfs is not allowed here");
}

Test(command_run, a_disk_that_is_really_full) {
    support_result result;
    cr_assert_eq(mkdir(support_path(folder, "disk"), 0700), 0);
    mount_here("size=4k");
    write_array("q.npy", 1, 2, 600, 4, 1); /* O takes 38 KiB */
    run(NULL, &result, "VARIANT=dense_f64", "OUT=disk/o.npy", "LSE=l.npy", NULL);
    refused(&result, 3, "disk/o.npy: cannot be written: No space left on device", INPUTS + 1);
    cr_expect_eq(support_entries(support_path(folder, "disk")), 0);
    umount(support_path(folder, "disk"));
}

Test(command_run, a_read_only_disk) {
    support_result result;
    cr_assert_eq(mkdir(support_path(folder, "disk"), 0700), 0);
    mount_here("ro");
    run(NULL, &result, "VARIANT=dense_f64", "OUT=disk/o.npy", NULL, NULL);
    refused(&result, 3, "disk/o.npy: cannot be written: Read-only file system", INPUTS + 1);
    umount(support_path(folder, "disk"));
}

Test(command_run, a_folder_that_may_not_be_written) {
    support_result result;
    support_child nobody = {.user = 65534};
    cr_assert_eq(chmod(folder, 0555), 0);
    run(&nobody, &result, "VARIANT=dense_f64", "OUT=o.npy", NULL, NULL);
    chmod(folder, 0700);
    if (result.status == 127) cr_skip_test("the program cannot be started by another user here");
    refused(&result, 3, "o.npy: cannot be written: Permission denied", INPUTS);
    run(NULL, &result, "VARIANT=dense_f64", "OUT=q.npy/o.npy", NULL, NULL);
    refused(&result, 3, "q.npy/o.npy: cannot be written: Not a directory", INPUTS);
}
