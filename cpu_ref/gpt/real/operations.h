/* Every layer, written once for REAL = float or double: included by operations_f32.c and operations_f64.c, which define
 * REAL, its DTYPE and the name of the TABLE. <tgmath.h> picks expf or exp, sqrtf or sqrt, by the argument's type. */
#include "../operations.h"
#include <string.h>
#include <tgmath.h>

#include "vector.h"

#include "matmul.h"

#include "attention.h"
#include "cross_entropy.h"
#include "embedding.h"
#include "gelu.h"
#include "layernorm.h"
#include "linear.h"
#include "residual.h"

const td_gpt_operations TABLE = {
    .dtype = DTYPE,
    .embedding_forward = embedding_forward,
    .embedding_backward = embedding_backward,
    .layernorm_forward = layernorm_forward,
    .layernorm_backward = layernorm_backward,
    .linear_forward = linear_forward,
    .linear_backward = linear_backward,
    .attention_forward = attention_forward,
    .attention_backward = attention_backward,
    .gelu_forward = gelu_forward,
    .gelu_backward = gelu_backward,
    .residual_forward = residual_forward,
    .cross_entropy_forward = cross_entropy_forward,
    .cross_entropy_backward = cross_entropy_backward,
};
