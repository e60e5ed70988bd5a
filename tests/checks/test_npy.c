/* Every legal way to write an array is read; every broken file is one line that names it. */
#include "../../checks/memory.h"
#include "../../checks/npy.h"
#include "../support.h"
#include <math.h>

static td_memory *memory;
static td_allocator allocator;
static char folder[64], path[PATH_MAX];

static void setup(void) {
    memory = td_memory_new(0);
    allocator = td_memory_allocator(memory);
    support_folder(folder);
    strcpy(path, support_path(folder, "x.npy"));
}

static void teardown(void) {
    cr_assert_eq(td_memory_delete(memory), 0, "a block was left allocated");
    support_folder_remove(folder);
}

TestSuite(npy, .init = setup, .fini = teardown);

/* Write a file: format version, header text, data. */
static void write_npy(int version, const char *header, const void *data, size_t bytes) {
    FILE *out = fopen(path, "wb");
    size_t n = strlen(header);
    fprintf(out, "\x93NUMPY");
    fputc(version, out), fputc(0, out);
    for (int i = 0; i < (version == 1 ? 2 : 4); i++) fputc((int)(n >> (8 * i) & 0xff), out);
    fwrite(header, 1, n, out);
    if (bytes) fwrite(data, 1, bytes, out);
    fclose(out);
}

static td_tensor read_or_fail(void) {
    td_tensor t;
    td_error err = {0};
    cr_assert_eq(td_npy_read(path, &allocator, &t, &err), TD_OK, "%s", err.message);
    return t;
}

static void release(td_tensor *t) {
    allocator.free(allocator.context, t->data);
}

Test(npy, header_spellings) {
    static const char *const headers[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                 \n",
        "{'shape':(2,3,),'fortran_order':False,'descr':'<f4'}",
        "  { \"descr\" : \"=f4\" , 'shape' : ( 2 ,\n 3 ) , 'fortran_order' : False } ",
        "{'descr': '|f4', 'fortran_order': False, 'shape': (2L, 3L), }",
        "{u'descr': u'f4', 'fortran_order': False, 'shape': (02, 3), }",
    };
    const float data[6] = {0, 1, 2, 3, 4, 5};
    for (int version = 1; version <= 3; version++)
        for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
            write_npy(version, headers[i], data, sizeof data);
            td_tensor t = read_or_fail();
            cr_expect(t.dtype == TD_F32 && t.size[0] == 1 && t.size[1] == 1 && t.size[2] == 2 && t.size[3] == 3);
            cr_expect_eq(td_get(&t, 0, 0, 1, 2), 5, "%s", headers[i]);
            release(&t);
        }
}

Test(npy, a_long_header) {
    char header[70000];
    memset(header, ' ', sizeof header);
    header[sizeof header - 1] = '\0';
    memcpy(header, "{'descr': '<f8', 'fortran_order': False, 'shape': ()", 52);
    header[sizeof header - 2] = '}';
    double x = -7;
    write_npy(2, header, &x, sizeof x);
    td_tensor t = read_or_fail();
    cr_assert_eq(td_count(&t), 1, "an array of no dimension has one element");
    cr_assert_eq(td_get(&t, 0, 0, 0, 0), -7);
    release(&t);
}

Test(npy, types_and_byte_orders) {
    static const struct {
        const char *descr;
        unsigned char bytes[16];
        size_t size;
        td_dtype dtype;
    } cases[] = {
        {"<f2", {0x00, 0xc0, 0x00, 0x7c}, 4, TD_FP16},
        {">f2", {0xc0, 0x00, 0x7c, 0x00}, 4, TD_FP16},
        {"<f4", {0, 0, 0x00, 0xc0, 0, 0, 0x80, 0x7f}, 8, TD_F32},
        {">f4", {0xc0, 0x00, 0, 0, 0x7f, 0x80, 0, 0}, 8, TD_F32},
        {"<f8", {0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f}, 16, TD_F64},
        {">f8", {0xc0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0}, 16, TD_F64},
        {"|V2", {0x00, 0xc0, 0x80, 0x7f}, 4, TD_BF16},
        {"bfloat16", {0x00, 0xc0, 0x80, 0x7f}, 4, TD_BF16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[100];
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2,)}", cases[i].descr);
        write_npy(1, header, cases[i].bytes, cases[i].size);
        td_tensor t = read_or_fail();
        cr_expect_eq(t.dtype, cases[i].dtype);
        cr_expect_eq(td_get(&t, 0, 0, 0, 0), -2, "%s", cases[i].descr);
        cr_expect_eq(td_get(&t, 0, 0, 0, 1), INFINITY, "%s", cases[i].descr);
        release(&t);
    }
}

Test(npy, fortran_order_of_every_rank) {
    static const char *const shapes[] = {"()", "(4,)", "(3,4)", "(2,3,4)", "(2,2,3,4)"};
    double data[48];
    for (int i = 0; i < 48; i++) data[i] = i;
    for (int ndim = 0; ndim <= 4; ndim++) {
        char header[100];
        size_t count = ndim == 0 ? 1 : ndim == 1 ? 4 : ndim == 2 ? 12 : ndim == 3 ? 24 : 48;
        snprintf(header, sizeof header, "{'descr': '<f8', 'fortran_order': True, 'shape': %s}", shapes[ndim]);
        write_npy(1, header, data, count * sizeof *data);
        td_tensor t = read_or_fail();
        double expected = 0, step = 1; /* first index fastest */
        for (int i = 4 - ndim; i < 4; i++) expected += step * (double)(t.size[i] - 1), step *= (double)t.size[i];
        cr_expect_eq(td_get(&t, t.size[0] - 1, t.size[1] - 1, t.size[2] - 1, t.size[3] - 1), expected, "%d", ndim);
        if (ndim == 2) cr_expect_eq(td_get(&t, 0, 0, 1, 2), 7, "row 1, column 2 of a 3 × 4 Fortran array");
        release(&t);
    }
}

static void refused(td_status expected, const char *said) {
    td_tensor t;
    td_error err = {0};
    cr_expect_eq(td_npy_read(path, &allocator, &t, &err), expected, "%s", said);
    cr_expect(strstr(err.message, said), "'%s' in '%s'", said, err.message);
    cr_expect(strstr(err.message, "x.npy"), "the file is named: %s", err.message);
    cr_expect_null(strchr(err.message, '\n'));
    cr_expect_null(t.data);
}

Test(npy, malicious_headers) {
    static const struct {
        const char *header;
        td_status status;
        const char *said;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}", TD_IO, "promises 4000000000000 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", TD_IO,
         "is truncated: its header promises 12 bytes of data, the file holds 8"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", TD_IO, "is too long"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", TD_IO, "more than 2^63 bytes"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (0, 4294967296, 4294967296)}", TD_IO, "more than 2^63"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", TD_IO, "0 to 2^63"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", TD_IO, "an extent must be"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", TD_IO, "shape must be a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [2]}", TD_IO, "shape must be a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", TD_IO, "shape must be a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", TD_IO, "an extent must be"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,2)}", TD_BAD_PARAM, "more than 4 dimensions"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", TD_BAD_PARAM, "its elements are '|O'; legal are f2"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", TD_BAD_PARAM, "its elements are '<i8'"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", TD_BAD_PARAM, "its elements are '<f16'"},
        {"{'descr': [('\xc3\xa9', '<f4')], 'fortran_order': False, 'shape': (1,)}", TD_BAD_PARAM,
         "its elements are '[('é'"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", TD_IO, "fortran_order must be True or False"},
        {"{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (2,)}", TD_IO, "fortran_order must be"},
        {"{'descr': '<f4', 'fortran_order': False}", TD_IO, "shape is missing"},
        {"{'fortran_order': False, 'shape': (2,)}", TD_IO, "descr is missing"},
        {"{'descr': '<f4', 'shape': (2,)}", TD_IO, "fortran_order is missing"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", TD_IO, "a key comes twice"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", TD_IO, "an unknown key"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} + evil()", TD_IO, "something after the '}'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", TD_IO, "no ',' or '}'"},
        {"{'descr': '<f4", TD_BAD_PARAM, "its elements are"},
        {"{'descr", TD_IO, "no key"},
        {"__import__('os')", TD_IO, "no '{'"},
        {"", TD_IO, "no '{'"},
        {"{}", TD_IO, "descr is missing"},
    };
    const float data[2] = {1, 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_npy(1, cases[i].header, data, sizeof data);
        refused(cases[i].status, cases[i].said);
    }
    cr_assert_eq(td_memory_allocations(memory), 0, "nothing is allocated for a file that is refused");
}

Test(npy, padding_is_not_shown) {
    static const char *const cases[][2] = {
        {"garbage                             \n", "not a legal .npy header: no '{' at 'garbage'"},
        {"{'descr': '<f4', 'shape': (2,), }   \n", "not a legal .npy header: fortran_order is missing"},
        {"{'descr': '<f4'                     \n", "not a legal .npy header: no ',' or '}'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        td_tensor t;
        td_error err = {0};
        write_npy(1, cases[i][0], NULL, 0);
        cr_expect_eq(td_npy_read(path, &allocator, &t, &err), TD_IO);
        const char *colon = strchr(err.message, ':');
        cr_expect(colon && !strcmp(colon + 2, cases[i][1]), "%s", err.message);
    }
}

Test(npy, a_file_cut_anywhere_is_refused) {
    const float data[2] = {1, 2};
    for (int version = 1; version <= 2; version++) {
        write_npy(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", data, sizeof data);
        struct stat st;
        cr_assert_eq(stat(path, &st), 0);
        for (off_t length = st.st_size - 1; length >= 0; length--) {
            cr_assert_eq(truncate(path, length), 0);
            refused(TD_IO, length < 6 ? "is not a .npy file" : "truncated");
        }
    }
}

Test(npy, other_broken_files) {
    support_write(path, "PK\x03\x04 a zip archive", 18);
    refused(TD_IO, "is not a .npy file");
    support_write(path, "\x93NUMPY\x04\x00\x01\x00{", 11);
    refused(TD_IO, "format version other than 1, 2 or 3");
    support_write(path, "\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13);
    refused(TD_IO, "its header is longer than the file");
    support_write(path, "\x93NUMPY\x01\x00\x04\x00{\0 }", 14);
    refused(TD_IO, "a zero byte in its header");
}

Test(npy, what_is_no_regular_file_is_refused_without_waiting) {
    remove(path);
    refused(TD_IO, "cannot be read: No such file or directory");
    cr_assert_eq(mkfifo(path, 0600), 0);
    refused(TD_IO, "is not a regular file");
    remove(path);
    cr_assert_eq(mkdir(path, 0700), 0);
    refused(TD_IO, "is not a regular file");
}

Test(npy, no_memory_is_said) {
    td_memory *small = td_memory_new(16);
    td_allocator limited = td_memory_allocator(small);
    const double data[4] = {1, 2, 3, 4};
    td_tensor t;
    td_error err = {0};
    write_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4,)}", data, sizeof data);
    cr_assert_eq(td_npy_read(path, &limited, &t, &err), TD_NO_MEMORY);
    cr_assert(strstr(err.message, "no memory for its 32 bytes"), "%s", err.message);
    td_memory_delete(small);
}

Test(npy, written_and_read_again) {
    float data[12];
    for (int i = 0; i < 12; i++) data[i] = (float)i / 8;
    data[5] = NAN, data[6] = -INFINITY;
    td_tensor view = td_contiguous(data, TD_F32, 1, 2, 2, 3);
    view.stride[3] = 2, view.stride[2] = 1, view.size[1] = 1; /* a transposed view */
    for (int ndim = 2; ndim <= 4; ndim++) {
        cr_assert_eq(td_npy_write_f64(path, &view, ndim, NULL), TD_OK);
        td_tensor t = read_or_fail();
        cr_expect_eq(t.dtype, TD_F64);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 3; j++) {
                double a = td_get(&t, 0, 0, i, j), b = td_get(&view, 0, 0, i, j);
                cr_expect(a == b || (isnan(a) && isnan(b)));
            }
        release(&t);
    }
    view = td_contiguous(NULL, TD_F32, 1, 2, 0, 3);
    cr_assert_eq(td_npy_write_f64(path, &view, 4, NULL), TD_OK, "no element is legal");
    char *text = support_read(path);
    cr_assert(strstr(text + 10, "'shape': (1, 2, 0, 3), }"), "%s", text + 10);
    free(text);
    view.size[2] = 1;
    cr_assert_eq(td_npy_write_f64(path, &view, 2, NULL), TD_INTERNAL, "a dimension would be lost");
    cr_assert_eq(support_entries(folder), 1);
}

/* NumPy itself as a witness, in both directions. */
static int numpy(const char *script) {
    char command[1200];
    snprintf(command, sizeof command, "cd %s && /usr/bin/python3 -c \"import numpy as np\n%s\" 2>&1", folder, script);
    return system(command);
}

Test(npy, numpy_agrees) {
    if (system("/usr/bin/python3 -c 'import numpy' >/dev/null 2>&1") != 0)
        cr_skip_test("/usr/bin/python3 has no numpy");
    cr_assert_eq(numpy("np.save('x.npy', np.asfortranarray(np.arange(24).reshape(1,2,3,4).astype('>f4')))"), 0);
    td_tensor t = read_or_fail();
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++) cr_expect_eq(td_get(&t, 0, h, i, j), 12 * h + 4 * i + j);
    cr_assert_eq(td_npy_write_f64(path, &t, 3, NULL), TD_OK);
    release(&t);
    cr_assert_eq(numpy("a = np.load('x.npy')\n"
                       "assert a.dtype == np.float64 and a.shape == (2,3,4), (a.dtype, a.shape)\n"
                       "assert (a == np.arange(24).reshape(2,3,4)).all()"),
                 0);
    for (int ndim = 0; ndim < 2; ndim++) {
        double one[1] = {0.1};
        td_tensor view = td_contiguous(one, TD_F64, 1, 1, 1, 1);
        cr_assert_eq(td_npy_write_f64(path, &view, ndim, NULL), TD_OK);
        cr_assert_eq(numpy(ndim ? "assert np.load('x.npy').shape == (1,)" : "assert np.load('x.npy') == 0.1"), 0);
    }
}
