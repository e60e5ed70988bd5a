/* How long a rank waits for the others before it calls that a hang. */
#ifndef TANDEM_CPU_REF_COMM_WAIT_LIMIT_H
#define TANDEM_CPU_REF_COMM_WAIT_LIMIT_H

#include "tandem/status.h"

/* 8 seconds, which leaves time to say so and to end all within 10, or what TANDEM_HANG says; TD_BAD_PARAM if that is no
 * number of seconds. */
td_status td_wait_limit(double *seconds, td_error *err);

#endif
