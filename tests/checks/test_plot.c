/* Every script under plots/ that the tests have data for is drawn; without gnuplot there is a reason, not a plot. */
#include "../../checks/plot.h"
#include "../support.h"
#include <fcntl.h>

static const char error_csv[] =
    "# device: none\n"
    "dtype,block,before_p10,before_median,before_p90,after_p10,after_median,after_p90,before_gate,after_gate\n"
    "f32,1,1e-7,2e-7,3e-7,1e-7,2e-7,3e-7,1e-6,1e-6\nf32,64,1e-7,2e-7,3e-7,1e-7,2e-7,3e-7,1e-6,1e-6\n";
static const char time_csv[] = "variant,T,median_ms,q1_ms,q3_ms,peak_mib\n"
                               "dense_f32,128,1,0.9,1.1,1\ndense_f32,256,4,3.9,4.1,4\n"
                               "online_f32,128,1.2,1,1.4,0.5\nonline_f32,512,16,15,17,2\n";

static const char roofline_csv[] =
    "label,arithmetic,intensity_flop_per_byte,rate_gflop_per_s,peak_gflop_per_s,bandwidth_gb_per_s\n"
    "gelu_f32,f32,1.5,9,245,85\ndense_f64,f64,512,1.5,122,85\nonline_f64,f64,512,1.4,122,85\nfailed,f32,3,,245,85\n";

static const char start_csv[] = "variant,elements,median_us,q1_us,q3_us,bandwidth_us,start_us\n"
                                "gelu_f32,1,11,10,12,4e-4,11\ngelu_f32,1024,38,37,39,0.4,11\n";
static const char accumulate_csv[] = "quantity,accumulator,K,error_q1,error_median,error_q3\n"
                                     "dot product,f32,64,1e-8,2e-8,3e-8\ndot product,f32,256,0,1e-7,2e-7\n"
                                     "softmax denominator,fp16,64,1e-4,2e-4,3e-4\n2-norm,bf16,256,0.1,0.2,0.3\n";

/* A failed class, in which nothing can be drawn of error and speed, must be drawn all the same. */
static const char class_csv[] = "submission,points,max,verdict,err_over_tol,ratio,mistakes,seconds\n"
                                "ann,10,10,PASS,0.25,1.5,\"\",2\nbob,3,10,WRONG,1e5,\"\",no_scale,2\n"
                                "cy,3,10,WRONG,inf,\"\",unknown,2\ndi,0,10,BUILD FAILED,\"\",\"\",\"\",2\n";
static const char failed_class_csv[] = "submission,points,max,verdict,err_over_tol,ratio,mistakes,seconds\n"
                                       "ann,0,0,HARNESS FAULT,\"\",\"\",\"\",2\n";
static const char mistakes_csv[] = "mistake,submissions\nno_scale,3\ncausal_off_by_one,1\n";

static int has_gnuplot(void) {
    return system("gnuplot --version >/dev/null 2>&1") == 0;
}

/* td_plot prints paths and, in ASCII, the plot: not into the test report. */
static td_status quiet_plot(const char *script, const char *csv, const char *out, td_error *err) {
    int kept = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY);
    fflush(stdout);
    dup2(null, STDOUT_FILENO);
    td_status status = td_plot(script, csv, out, 1, err);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept), close(null);
    return status;
}

/* In the SVG drawn last: how often there is the point beyond the axis, and the one for what was not measured. */
static int beyond, none;

static int count(const char *text, const char *word) {
    int n = 0;
    while ((text = strstr(text, word))) n++, text++;
    return n;
}

static void draws(const char *script, const char *text) {
    char folder[64];
    td_error err = {0};
    if (!has_gnuplot()) cr_skip_test("gnuplot is not installed");
    support_folder(folder);
    const char *csv = support_path(folder, "it's $(data).csv"), *base = support_path(folder, "a 'plot'");
    support_write(csv, text, strlen(text));
    cr_assert_eq(quiet_plot(script, csv, base, &err), TD_OK, "%s", err.message);
    cr_assert_eq(support_entries(folder), 3);
    char *svg = support_read(support_path(folder, "a 'plot'.svg")),
         *png = support_read(support_path(folder, "a 'plot'.png"));
    cr_assert(svg && strstr(svg, "</svg>"));
    cr_assert(png && !strncmp(png, "\x89PNG", 4));
    beyond = count(svg, "href='#gpPt8'"), none = count(svg, "href='#gpPt1'");
    free(svg), free(png);
    support_folder_remove(folder);
}

Test(plot, a_class) {
    draws("class", class_csv);
    cr_expect_eq(beyond, 1 + 2, "an infinite error, and two keys: %d", beyond);
    cr_expect_eq(none, 1 + 3 + 2, "without an error, without a speed, and two keys: %d", none);
    draws("class", failed_class_csv);
    draws("mistakes", mistakes_csv);
}

Test(plot, error_vs_block) {
    draws("error_vs_block", error_csv);
}

Test(plot, time_memory_vs_T) {
    draws("time_memory_vs_T", time_csv);
}

Test(plot, roofline) {
    draws("roofline", roofline_csv);
}

Test(plot, start_cost) {
    draws("start_cost", start_csv);
}

Test(plot, accumulate) {
    draws("accumulate", accumulate_csv);
}

Test(plot, what_cannot_be_drawn_leaves_nothing) {
    char folder[64];
    td_error err = {0};
    support_folder(folder);
    const char *csv = support_path(folder, "x.csv"), *base = support_path(folder, "x");
    support_write(csv, "variant,T\na,1\n", 14);
    cr_expect_eq(quiet_plot("no_such_script", csv, base, &err), TD_IO);
    cr_expect_eq(quiet_plot("error_vs_block", support_path(folder, "none.csv"), base, &err), TD_IO);
    cr_expect(strstr(err.message, "none.csv: cannot be read"), "%s", err.message);
    if (has_gnuplot()) {
        cr_expect_eq(quiet_plot("error_vs_block", csv, base, &err), TD_UNSUPPORTED);
        cr_expect(strstr(err.message, "gnuplot says: "), "%s", err.message);
    }
    setenv("PATH", folder, 1);
    cr_expect_eq(quiet_plot("error_vs_block", csv, base, &err), TD_UNSUPPORTED);
    cr_expect_str_eq(err.message, "no plot: gnuplot is not installed");
    cr_expect_eq(support_entries(folder), 1);
    support_folder_remove(folder);
}
