/* Suspects that compute the right thing from the wrong places: tensors have strides, and a submission may follow
 * others.
 */
#include "attention.h"
#include <string.h>

enum { INPUTS = 1 << TD_Q | 1 << TD_K | 1 << TD_V | 1 << TD_O | 1 << TD_DO, OUTPUTS = 1 << 16 };

/* Sets of inputs, as bits 1 << TD_Q …; OUTPUTS stands for all outputs. */
typedef struct misreading {
    const char *name, *text;
    unsigned contiguous; /* taken to be contiguous */
    unsigned together;   /* elements of a row taken to lie one after the other */
    int walked[2][3];    /* {tensor, whose strides it is walked with, how many of them} */
} misreading;

static const misreading misreadings[] = {
    {"strides_ignored", "strides are ignored: every tensor is taken to be contiguous", INPUTS | OUTPUTS, 0, {{0}}},
    {"input_strides_ignored", "strides of inputs are ignored: they are taken to be contiguous", INPUTS, 0, {{0}}},
    {"output_strides_ignored", "strides of outputs are ignored: they are written as if contiguous", OUTPUTS, 0, {{0}}},
    {"strides_of_K_and_V_ignored", "K and V are taken to be contiguous", 1 << TD_K | 1 << TD_V, 0, {{0}}},
    {"strides_of_Q_ignored", "Q is taken to be contiguous", 1 << TD_Q, 0, {{0}}},
    {"elements_together",
     "stride[3] is ignored: elements of an input's row are taken one after the other",
     0,
     INPUTS,
     {{0}}},
    {"elements_of_Q_and_K_together", "stride[3] of Q and K is ignored", 0, 1 << TD_Q | 1 << TD_K, {{0}}},
    {"elements_of_K_and_V_together", "stride[3] of K and V is ignored", 0, 1 << TD_K | 1 << TD_V, {{0}}},
    {"elements_of_Q_together", "stride[3] of Q is ignored", 0, 1 << TD_Q, {{0}}},
    {"elements_of_K_together", "stride[3] of K is ignored", 0, 1 << TD_K, {{0}}},
    {"elements_of_V_together", "stride[3] of V is ignored", 0, 1 << TD_V, {{0}}},
    {"V_by_strides_of_K", "V is walked with the strides of K", 0, 0, {{TD_V, TD_K, 3}}},
    {"K_by_strides_of_V", "K is walked with the strides of V", 0, 0, {{TD_K, TD_V, 3}}},
    {"by_strides_of_Q", "K and V are walked with the strides of Q", 0, 0, {{TD_K, TD_Q, 3}, {TD_V, TD_Q, 3}}},
    {"V_by_all_strides_of_K", "V is walked with the strides of K, stride[3] included", 0, 0, {{TD_V, TD_K, 4}}},
    {"K_by_all_strides_of_V", "K is walked with the strides of V, stride[3] included", 0, 0, {{TD_K, TD_V, 4}}},
};
enum { MISREADINGS = sizeof misreadings / sizeof *misreadings };

void td_attention_enter_misreadings(td_suspects *suspects) {
    for (int m = 0; m < MISREADINGS; m++) td_suspects_enter(suspects, misreadings[m].name, misreadings[m].text);
}

static td_tensor as_contiguous(const td_tensor *t) {
    return td_contiguous(t->data, t->dtype, t->size[0], t->size[1], t->size[2], t->size[3]);
}

/* Every element inside the storage. */
static int is_inside(const td_tensor *t, const td_guarded *storage) {
    int64_t size = (int64_t)td_dtype_size(t->dtype), low = 0, high = 0;
    int64_t first = ((const char *)t->data - (const char *)storage->data) / size;
    for (int k = 0; k < 4; k++) {
        int64_t reach = (t->size[k] - 1) * t->stride[k];
        *(reach < 0 ? &low : &high) += reach;
    }
    return td_count(t) == 0 || (first + low >= 0 && first + high < (int64_t)storage->bytes / size);
}

/* The inputs as they are misread. 0: the submission would have read what it must not, and did not. *differs: they are
 * not as they should be. */
static int misread(const misreading *m, const td_trial *trial, td_tensor *t, int *differs) {
    memcpy(t, trial->tensors, sizeof trial->tensors);
    *differs = 0;
    for (int k = 0; k < trial->operation->tensors; k++) {
        const td_tensor_role *role = &trial->operation->role[k];
        td_tensor *x = &t[role->index];
        if (role->is_output) continue;
        if (m->contiguous >> role->index & 1) *x = as_contiguous(x);
        if (m->together >> role->index & 1) x->stride[3] = 1;
        for (int w = 0; w < 2; w++)
            if (m->walked[w][0] == role->index)
                memcpy(x->stride, trial->tensors[m->walked[w][1]].stride, (size_t)m->walked[w][2] * sizeof *x->stride);
        for (int i = 0; i < 4; i++) *differs |= x->size[i] > 1 && x->stride[i] != trial->tensors[role->index].stride[i];
        if (!is_inside(x, &trial->buffer[role->index])) return 0;
    }
    return 1;
}

/* What is found, by its own strides, in an output that was written as if contiguous: element `offset` of the answer, or
 * nothing. */
static void miswrite(const td_tensor *placed, const td_tensor *answer, const td_tensor *out) {
    const int64_t *n = placed->size;
    for (int64_t b = 0; b < n[0]; b++)
        for (int64_t h = 0; h < n[1]; h++)
            for (int64_t i = 0; i < n[2]; i++)
                for (int64_t j = 0; j < n[3]; j++) {
                    int64_t from = td_offset(placed, b, h, i, j), to = td_offset(out, b, h, i, j);
                    double *element = (double *)out->data + to;
                    if (from < td_count(answer))
                        *element = td_load(answer, from);
                    else
                        memset(element, 0xFF, sizeof *element);
                }
}

/* The answer as it is found in outputs that were written as if contiguous. `out` is a trial of the same shapes. */
static void misplace(const td_trial *trial, const td_trial *answer, const td_trial *out) {
    for (int k = 0; k < trial->operation->tensors; k++) {
        int index = trial->operation->role[k].index;
        if (trial->operation->role[k].is_output)
            miswrite(&trial->tensors[index], &answer->tensors[index], &out->tensors[index]);
    }
}

static td_view view_of(const misreading *m, const td_right *right, const td_trial *trial) {
    const td_trial *truth = &right->truth;
    td_tensor inputs[TD_MAX_TENSORS];
    td_trial answer, placed;
    int differs;
    if (!misread(m, trial, inputs, &differs)) return (td_view){0, 0};
    if (!differs && !(m->contiguous & OUTPUTS)) return td_right_view(right, trial->tensors, truth->tensors);
    if (td_trial_of(&answer, truth->variant, &truth->problem, inputs, &truth->allocator, NULL)) return (td_view){0, 0};
    td_view view = {0, 0};
    if (!(m->contiguous & OUTPUTS)) {
        view = td_right_view(right, trial->tensors, answer.tensors);
    } else if (td_trial_of(&placed, truth->variant, &truth->problem, inputs, &truth->allocator, NULL) == TD_OK) {
        misplace(trial, &answer, &placed);
        view = td_right_view(right, trial->tensors, placed.tensors);
        td_trial_free(&placed);
    }
    td_trial_free(&answer);
    return view;
}

void td_attention_hear_misreadings(td_suspects *suspects, const td_right *right, const td_trial *trial, int nonfinite) {
    for (int m = 0; m < MISREADINGS; m++) {
        int suspect = td_suspects_enter(suspects, misreadings[m].name, misreadings[m].text);
        if (suspect < 0 || suspects->suspect[suspect].misses > 0) continue;
        td_view view = view_of(&misreadings[m], right, trial);
        td_suspects_view(suspects, suspect, view.fits || nonfinite, view.fits && view.differs);
    }
}
