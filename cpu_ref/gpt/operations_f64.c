/* The layers in double: the reference. */
#define REAL double
#define DTYPE TD_F64
#define TABLE td_gpt_operations_f64
#include "real/operations.h"
