/* An asynchronous queue on one worker thread: the CPU's stand-in for a CUDA stream.
 *
 * Submitting returns at once; the work is done later, in order, by the worker. Only td_queue_synchronize says that it
 * is done, and only there does an error of the work appear. */
#ifndef TANDEM_CHECKS_QUEUE_H
#define TANDEM_CHECKS_QUEUE_H

#include "tandem/status.h"
#include <stdint.h>

enum { TD_QUEUE_DEPTH = 1024 };

typedef struct td_queue td_queue;
typedef td_status (*td_queued)(void *context, td_error *err);

/* Starts the worker. TD_NO_MEMORY, or TD_INTERNAL where no thread can be started. */
td_status td_queue_new(td_queue **out, td_error *err);
/* Waits for what was submitted, then ends the worker. NULL is allowed. */
void td_queue_delete(td_queue *queue);
/* `context` must live until the work is done. Waits only while TD_QUEUE_DEPTH submissions are not yet finished. */
void td_queue_submit(td_queue *queue, td_queued work, void *context);
/* Wait until all that was submitted is done. Returns, and forgets, the first error since the last call; work submitted
 * behind a failed one is still done. */
td_status td_queue_synchronize(td_queue *queue, td_error *err);
/* Operations submitted so far. */
int64_t td_queue_submitted(td_queue *queue);

#endif
