/* Every rung of gpu/ under the emulator, over the shapes and facts that kernels fail on; and wrong ones are caught. */
#include "../../checks/facts.h"
#include "../../checks/memory.h"
#include "../../checks/rungs.h"
#include "../../checks/trial.h"
#include <criterion/criterion.h>
#include <string.h>

/* The values of a case's choices, as small numbers; `values` how many each has. */
enum { CHOICES = 6 };
static const int values[CHOICES] = {7, 6, TD_MASKS, TD_LAYOUTS, TD_FIXTURES, 4};
static void choices_of(const td_rung_case *c, int value[CHOICES]) {
    static const int64_t T[] = {1, 15, 16, 17, 31, 33, 127}, d[] = {1, 46, 63, 64, 128, 256};
    const td_attention_problem *a = &c->problem;
    value[0] = value[1] = 0;
    while (T[value[0]] != a->Tq) value[0]++;
    while (d[value[1]] != a->d) value[1]++;
    value[2] = (int)a->mask, value[3] = (int)c->layout, value[4] = (int)c->fixture;
    value[5] = a->Hq == 1 ? 0 : a->Hq == 4 ? 1 : a->Hq == 3 ? 2 : 3;
}

static double pairs_met(td_rung_set set) {
    static char met[CHOICES][8][CHOICES][8];
    td_rung_case c;
    int all = 0, seen = 0;
    memset(met, 0, sizeof met);
    for (int n = 0; td_rung_case_at(set, n, &c); n++) {
        int v[CHOICES];
        choices_of(&c, v);
        for (int x = 0; x < CHOICES; x++)
            for (int y = 0; y < CHOICES; y++) met[x][v[x]][y][v[y]] = 1;
    }
    for (int x = 0; x < CHOICES; x++)
        for (int y = x + 1; y < CHOICES; y++)
            for (int i = 0; i < values[x]; i++)
                for (int j = 0; j < values[y]; j++) all++, seen += met[x][i][y][j];
    return (double)seen / all;
}

Test(rungs, choices_meet_each_other) {
    cr_assert_eq(pairs_met(TD_RUNGS_ALL), 1);
    cr_assert_geq(pairs_met(TD_RUNGS_FEW), 0.78);
}

/* Tiles' edges are what the rungs on the matrix units have most of: of their two types one or the other takes each. */
static int is_turn(const td_variant *v, td_rung_set set, int n) {
    if (set == TD_RUNGS_EDGES && td_rung_on_matrix_units(v)) return n % 2 == (v->dtype == TD_BF16);
    return td_rung_is_turn(v, n);
}

static void hold_shapes(td_op op, td_rung_set set) {
    for (const td_variant *const *v = td_emulated_variants; *v; v++) {
        td_rung_case c;
        int passed = 0, tried = 0;
        for (int n = 0; (*v)->op == op && td_rung_case_at(set, n, &c); n++) {
            td_check_result r;
            td_error err = {TD_OK, ""};
            if (!is_turn(*v, set, n) || !td_rung_takes(*v, &c)) continue;
            cr_assert_eq(td_rung_check(*v, &c, NULL, &r, &err), TD_OK, "%s", err.message);
            const td_comparison *w = &r.output[td_check_worst(&r)];
            cr_assert_neq(r.verdict, TD_FAIL, "%s, set %d, case %d: %s err/tol %g, got %.9g, want %.9g", (*v)->name,
                          (int)set, n, r.reason, w->err_over_tol, w->got, w->want);
            passed += r.verdict != TD_SKIP, tried++;
        }
        cr_assert_geq(passed, tried / 3, "%s ran %d of %d only", (*v)->name, passed, tried);
    }
}

Test(rungs, forward_holds_over_the_shapes) {
    hold_shapes(TD_OP_ATTENTION_FORWARD, TD_RUNGS_FEW);
}

Test(rungs, backward_holds_over_the_shapes) {
    hold_shapes(TD_OP_ATTENTION_BACKWARD, TD_RUNGS_FEW);
}

Test(rungs, forward_holds_at_the_edges_of_tiles) {
    hold_shapes(TD_OP_ATTENTION_FORWARD, TD_RUNGS_EDGES);
}

Test(rungs, backward_holds_at_the_edges_of_tiles) {
    hold_shapes(TD_OP_ATTENTION_BACKWARD, TD_RUNGS_EDGES);
}

/* The facts whose turn it is of `turns`, with this neighbour's heads and d. */
static void hold_variant_to_facts(const td_variant *v, int neighbour, int turns) {
    const td_fact *f;
    int passed = 0, tried = 0;
    for (int i = 0; (f = td_fact_at(v->op, i)); i++) {
        td_verdict verdict;
        char reason[200];
        td_error err = {TD_OK, ""};
        if (i % turns != (v->dtype == TD_BF16)) continue;
        cr_assert_eq(td_fact_check(f, neighbour, v, NULL, &verdict, reason, &err), TD_OK, "%s", err.message);
        cr_assert_neq(verdict, TD_FAIL, "%s: %s, neighbour %d: %s", v->name, f->name, neighbour, reason);
        passed += verdict != TD_SKIP, tried++;
    }
    cr_assert_geq(passed, tried / 2, "%s: %d of %d facts only", v->name, passed, tried);
}

/* With d = 1; and the rungs on the matrix units with d = 64, or all their work would be that of the rung to which they
 * send rows of 2 bytes. */
static void hold_facts(td_op op) {
    enum { ALONE = 0, WIDE = 2 };
    for (const td_variant *const *v = td_emulated_variants; *v; v++) {
        if ((*v)->op != op) continue;
        hold_variant_to_facts(*v, ALONE, (*v)->dtype == TD_F32 ? 1 : 3);
        if (td_rung_on_matrix_units(*v)) hold_variant_to_facts(*v, WIDE, 2);
    }
}

Test(rungs, forward_holds_to_the_facts) {
    hold_facts(TD_OP_ATTENTION_FORWARD);
}

Test(rungs, backward_holds_to_the_facts) {
    hold_facts(TD_OP_ATTENTION_BACKWARD);
}

/* Of the device's memory a variant takes what the formula says: each tensor once, its workspace, and the bands around
 * them; the workspace grows with T² where scores are held, with T where they are not. */
Test(rungs, device_memory_is_the_formula) {
    for (const td_variant *const *v = td_emulated_variants; *v; v++) {
        const td_operation *operation = td_operation_of((*v)->op);
        int quadratic = (*v)->workspace_tag == TD_MEM_SCORES;
        size_t workspace[2];
        for (int twice = 0; twice < 2; twice++) {
            int64_t T = twice ? 96 : 48;
            td_problem p = {.op = (*v)->op, .attention = {1, 2, 1, T, T, 4, 0.5, TD_MASK_NONE, 0}};
            td_allocator plain = td_plain_allocator();
            td_device device = *td_emulated_device(NULL);
            td_memory *memory = td_memory_over(&device.allocator, 0);
            device.allocator = td_memory_allocator(memory);
            td_trial_plan plan;
            td_trial trial;
            td_error err = {TD_OK, ""};
            td_trial_plan_layout(&plan, *v, &p, TD_LAYOUT_CONTIGUOUS, (*v)->dtype);
            cr_assert_eq(td_trial_new_on(&device, &trial, *v, &p, &plan, &plain, &err), TD_OK, "%s", err.message);
            cr_assert_eq(td_trial_draw(&trial, TD_FIXTURE_NORMAL, 1, (*v)->dtype, &err), TD_OK, "%s", err.message);
            cr_assert_eq(td_trial_run(&trial, &err), TD_OK, "%s: %s", (*v)->name, err.message);
            size_t formula = (size_t)(operation->tensors + 1) * 2 * TD_GUARD_BAND + (*v)->workspace_bytes(&p);
            for (int k = 0; k < operation->tensors; k++) {
                const td_tensor *t = &trial.tensors[operation->role[k].index];
                formula += (size_t)td_count(t) * td_dtype_size(t->dtype);
            }
            cr_assert_eq(td_memory_peak_total(memory, NULL), formula, "%s", (*v)->name);
            workspace[twice] = (*v)->workspace_bytes(&p);
            td_trial_free(&trial);
            cr_assert_eq(td_memory_delete(memory), 0);
        }
        if (quadratic)
            cr_assert(workspace[0] >= 2 * 48 * 48 * 4 && workspace[1] > 3 * workspace[0], "%s", (*v)->name);
        else
            cr_assert_leq(workspace[1], 2 * workspace[0], "%s", (*v)->name);
    }
}

static td_status dense(const td_problem *p, const td_tensor *t, void *workspace, void *stream, td_error *err) {
    return td_variant_find("emu_dense_f32")->run(p, t, workspace, stream, err);
}

static td_status ignores_the_mask(const td_problem *p, const td_tensor *t, void *w, void *stream, td_error *err) {
    td_problem other = *p;
    other.attention.mask = TD_MASK_NONE;
    return dense(&other, t, w, stream, err);
}

static td_status forgets_a_row(const td_problem *p, const td_tensor *t, void *w, void *stream, td_error *err) {
    td_problem other = *p;
    td_tensor views[TD_MAX_TENSORS];
    memcpy(views, t, sizeof views);
    other.attention.Tq--, views[TD_Q].size[2]--, views[TD_O].size[2]--, views[TD_LSE].size[2]--;
    return dense(&other, views, w, stream, err);
}

static td_status a_row_too_many(const td_problem *p, const td_tensor *t, void *w, void *stream, td_error *err) {
    td_problem other = *p;
    td_tensor views[TD_MAX_TENSORS];
    memcpy(views, t, sizeof views);
    other.attention.Tk++, views[TD_K].size[2]++, views[TD_V].size[2]++;
    return dense(&other, views, w, stream, err);
}

static td_status output_over_input(const td_problem *p, const td_tensor *t, void *w, void *stream, td_error *err) {
    td_tensor views[TD_MAX_TENSORS];
    td_status s = dense(p, t, w, stream, err);
    memcpy(views, t, sizeof views);
    views[TD_O] = t[TD_Q];
    return s ? s : dense(p, views, w, stream, err);
}

Test(rungs, a_wrong_one_is_caught_on_the_device) {
    static const struct {
        td_status (*run)(const td_problem *, const td_tensor *, void *, void *, td_error *);
        const char *said;
    } wrong[] = {
        {ignores_the_mask, ""}, {forgets_a_row, ""}, {a_row_too_many, "dense"}, {output_over_input, "Q: an input"}};
    td_variant v = *td_variant_find("emu_dense_f32");
    td_problem p = {.op = TD_OP_ATTENTION_FORWARD, .attention = {1, 1, 1, 9, 9, 8, 0.3, TD_MASK_CAUSAL_TOP_LEFT, 0}};
    td_check_options o = td_check_defaults(&v);
    td_check_result r;
    cr_assert_eq(td_check(&v, &p, &o, NULL, &r, NULL), TD_OK);
    cr_assert_leq(r.verdict, TD_MARGINAL, "%s", r.reason);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        v.run = wrong[k].run;
        cr_assert_eq(td_check(&v, &p, &o, NULL, &r, NULL), TD_OK);
        cr_assert_eq(r.verdict, TD_FAIL, "case %zu", k);
        cr_assert(strstr(r.reason, wrong[k].said), "case %zu: '%s'", k, r.reason);
    }
}

/* Rows that 16-byte loads cannot take, by their address, their distance or that of their elements: whatever rung then
 * does the work, the answer is within the bounds of the one that was asked. */
Test(rungs, every_layout_has_an_answer_in_every_matrix_rung) {
    int rungs = 0;
    for (const td_variant *const *v = td_emulated_variants; *v; v++) {
        if (!td_rung_on_matrix_units(*v)) continue;
        rungs++;
        for (int layout = 0; layout < TD_LAYOUTS; layout++) {
            td_rung_case c = {.problem = {1, 2, 1, 18, 21, 64, 0.125, TD_MASK_CAUSAL_BOTTOM_RIGHT, 0}};
            td_check_result r;
            td_error err = {TD_OK, ""};
            c.layout = (td_layout)layout;
            cr_assert_eq(td_rung_check(*v, &c, NULL, &r, &err), TD_OK, "%s", err.message);
            cr_assert_leq(r.verdict, TD_MARGINAL, "%s, %s: %s err/tol %g", (*v)->name, td_layout_name(c.layout),
                          r.reason, r.output[td_check_worst(&r)].err_over_tol);
        }
    }
    cr_assert_geq(rungs, 4);
}

/* Which the bounds believe: a rung that says it keeps P, or P and dS, in float32, and rounds them to 16 bits, fails
 * where its outputs are float32. */
Test(rungs, a_lie_about_the_rounding_of_p_is_caught) {
    for (const td_variant *const *v = td_emulated_variants; *v; v++) {
        if (!td_rung_on_matrix_units(*v)) continue;
        td_variant lies = **v;
        td_problem p = {.op = lies.op, .attention = {1, 1, 1, 24, 24, 64, 0.125, TD_MASK_NONE, 0}};
        td_check_options o = td_check_defaults(&lies);
        td_check_result r;
        o.output_dtype = TD_F32;
        cr_assert_eq(td_check(&lies, &p, &o, NULL, &r, NULL), TD_OK);
        cr_assert_leq(r.verdict, TD_MARGINAL, "%s: %s", lies.name, r.reason);
        lies.rounding.probs = TD_F32;
        cr_assert_eq(td_check(&lies, &p, &o, NULL, &r, NULL), TD_OK);
        cr_assert_eq(r.verdict, TD_FAIL, "%s: err/tol %g", lies.name, r.output[td_check_worst(&r)].err_over_tol);
    }
}
