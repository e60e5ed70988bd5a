/* The parameters of a request to a rank, and where they are. */
#ifndef TANDEM_GRADE_CHILD_PARAMETERS_H
#define TANDEM_GRADE_CHILD_PARAMETERS_H

#include "comm.h"
#include "tandem/gpt.h"

enum { TD_CHILD_PARAMETERS = 64 };

/* The head of a request, its parameters, and their arrays: gradients in lesson 6; in lesson 7 (with_values) values, and
 * gradients that hold the same until they are written. */
td_status td_child_parameters(td_wire_reader *request, int with_values, td_ranks_call *call, td_parameter *parameter,
                              td_error *err);

#endif
