/* Adam's formula over one slice, in TD_F64 or TD_F32: what td_adam_update and the CPU's engine both call. */
#ifndef TANDEM_CPU_ADAM_UPDATE_H
#define TANDEM_CPU_ADAM_UPDATE_H

#include "tandem/engine.h"

void td_adam_update_slice(td_dtype dtype, const td_adam_slice *slice, const td_adam_call *call);

#endif
