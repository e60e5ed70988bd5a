/* The layers in float32. */
#define REAL float
#define DTYPE TD_F32
#define TABLE td_gpt_operations_f32
#include "real/operations.h"
