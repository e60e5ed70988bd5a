/* The kernels of gpu/mma_layouts.cu on functions of mma.h that are wrong in one way each. */
#ifndef TANDEM_TESTS_GPU_EMU_MMA_MUTANTS_H
#define TANDEM_TESTS_GPU_EMU_MMA_MUTANTS_H

#include "../../../gpu/mma_layouts.h"

/* Which one: 1 to TD_TEST_MMA_MUTANTS; 0: none, and all is right. */
enum { TD_TEST_MMA_MUTANTS = 18 };
#ifdef __cplusplus
extern "C" {
#endif
extern int td_test_mma_mutant;
extern const td_mma_layouts td_test_mma_layouts[2];
#ifdef __cplusplus
}
#endif
#endif
