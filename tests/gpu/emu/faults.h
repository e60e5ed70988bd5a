/* Wrong kernels and their repaired twins, as the tests see them. */
#ifndef TANDEM_TESTS_GPU_EMU_FAULTS_H
#define TANDEM_TESTS_GPU_EMU_FAULTS_H

#include "tandem/status.h"
#include <stdbool.h>

enum { TD_TEST_FLOATS = 256 }; /* in x, which holds numbers, and in y, which nobody has written */

typedef struct td_test_fault {
    td_status (*launch)(bool wrong, const float *x, float *y, td_error *err);
    const char *said; /* of the wrong one; NULL ends a table */
} td_test_fault;

#ifdef __cplusplus
#include "gpu.h"
#define TD_FAULT(kernel, grid, block, shared, said)                                                                    \
    {                                                                                                                  \
        [](bool wrong, const float *x, float *y, td_error *err) {                                                      \
            return wrong ? TD_LAUNCH(err, (kernel<true>), grid, block, shared, NULL, x, y)                             \
                         : TD_LAUNCH(err, (kernel<false>), grid, block, shared, NULL, x, y);                           \
        },                                                                                                             \
            #kernel said                                                                                               \
    }
extern "C" {
#endif
extern const td_test_fault td_test_races[], td_test_faults[], td_test_copies[], td_test_matrices[];
#ifdef __cplusplus
}
#endif
#endif
