/* Every command and every lesson that takes a parameter refuses a bad value of it: one line, no success, no file. */
#include "../support.h"

static char *const commands[][2] = {{"sweep", NULL}, {"bench", NULL}, {"check", NULL},
                                    {"lesson", "1"}, {"lesson", "2"}, {"lesson", "3"}};

static const struct {
    const char *option;
    char *given;
    int status;
    const char *said;
} bad[] = {
    {"t", "T=-1", 2, "T=-1: must be"},
    {"t", "T=1e3", 2, "T=1e3: must be"},
    {"t", "T=9223372036854775808", 2, "T=9223372036854775808: must be"},
    {"d", "D=0", 2, "D=0: must be"},
    {"d", "D=257", 2, "D=257: must be an integer from 1 to 256"},
    {"block", "BLOCK=0", 2, "BLOCK=0: must be"},
    {"block", "BLOCK=16,,32", 2, "BLOCK=16,,32: must be"},
    {"dtype", "DTYPE=fp8", 2, "DTYPE=fp8: must be"},
    {"mask", "MASK=foo", 2, "MASK=foo: must be one of none, causal-top-left"},
    {"scale", "SCALE=inf", 2, "SCALE=inf: must be"},
    {"seed", "SEED=-1", 2, "SEED=-1: must be"},
    {"fixture", "FIXTURE=foo", 2, "foo"},
    {"out", "OUT=", 2, "OUT: its value is missing"},
    {"out", "OUT=file/below", 3, "file"},
    {"out", "OUT=/proc/none", 3, "cannot be"}, /* made, for root; written, for others */
};

static void refused(const support_result *result, const char *folder, int status, const char *said) {
    support_refused(result, status, said);
    cr_expect_eq(support_entries(folder), 1, "%s left something behind", said);
}

static int takes(const support_result *help, const char *option) {
    char text[40];
    snprintf(text, sizeof text, "  --%s, ", option);
    return strstr(help->out, text) != NULL;
}

Test(bad_parameters, are_refused_by_all_that_take_them) {
    char folder[64];
    int tried = 0;
    support_result help, result;
    support_folder(folder);
    support_child there = {.folder = folder};
    support_write(support_path(folder, "file"), "", 0);
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        char *const *name = commands[c];
        char *given[] = {name[0], name[1] ? name[1] : "--help", name[1] ? "--help" : NULL, NULL, NULL};
        support_run(&there, &help, given);
        if (help.status != 0) continue; /* not in this build */
        int at = name[1] ? 2 : 1;
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            if (!takes(&help, bad[i].option)) continue;
            given[at] = bad[i].given, given[at + 1] = NULL;
            support_run(&there, &result, given);
            refused(&result, folder, bad[i].status, bad[i].said);
            tried++;
        }
        given[at] = "NOPE=1", given[at + 1] = NULL;
        support_run(&there, &result, given);
        refused(&result, folder, 2, "'NOPE=1': no such option; legal are ");
        if (!takes(&help, "seed")) continue;
        given[at] = "SEED=1", given[at + 1] = "--seed=2";
        support_run(&there, &result, given);
        refused(&result, folder, 2, "SEED: given twice");
        given[at] = "--seed", given[at + 1] = NULL;
        support_run(&there, &result, given);
        refused(&result, folder, 2, "SEED: its value is missing");
    }
    support_folder_remove(folder);
    cr_assert_geq(tried, 13, "sweep alone takes that many");
}
