/* Inside the child: what stands between the wire and a submission's function. One file an exercise (serve_NAME.c)
 * defines td_child_serve; the rest is the same for all. Linked with the submission into a program of its own, which
 * includes nothing of the harness but wire.h. */
#ifndef TANDEM_GRADE_CHILD_H
#define TANDEM_GRADE_CHILD_H

#include "../wire.h"

/* The exercise's own: take the request apart, call the submission's function number `what`, put the reply together.
 * What the function returned is `status` and `err`; a request that cannot be read is TD_INTERNAL. */
td_status td_child_serve(uint32_t what, td_wire_reader *request, td_wire_buffer *reply, td_error *err);

/* A tensor of the request: its storage in pages of its own, an input's read-only and remembered by its hash, an
 * output's full of 0xFF. `name` is for messages ("K"). */
td_status td_child_tensor(td_wire_reader *request, const char *name, td_tensor *out, td_error *err);
/* Every output's storage, in the order in which they came, into the reply. */
void td_child_outputs(td_wire_buffer *reply);
/* An array of the request in pages of its own, for exercises without tensors; `writable`: not an input. The bytes are
 * taken from the request. */
void *td_child_array(td_wire_reader *request, const char *name, size_t bytes, int writable, td_error *err);
/* Let go of all of these; the core does it after each call. */
void td_child_release(void);
/* Which buffer does this address belong to, as one says it: "7 bytes behind the end of O". 0 if none is near. */
int td_child_describe(const void *address, char *out, int size);
/* The same of device memory; only in a child that has some (kernels.c). */
int td_child_describe_device(const void *address, char *out, int size);

/* Ask the world, and wait for its answer: its status, and its bytes in `answer` (valid until the next ask). Whatever
 * goes wrong with the socket ends the child. */
td_status td_child_ask(uint32_t what, const void *question, size_t bytes, td_wire_reader *answer, td_error *err);

#endif
