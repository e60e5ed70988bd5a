/* The rungs of 16 bits beside PyTorch's backends and Triton, as `make bench-gpu-peers` left them in plots/recorded/. */
#ifndef TANDEM_LESSON_PEERS_H
#define TANDEM_LESSON_PEERS_H

#include "lesson.h"
#include "tandem/variant.h"

/* TFLOP/s of every contender in every cell, its errors, and both drawn: recorded, and so labelled, also where there is
 * a GPU, since the peers need Python. SKIP with the reason where there is no record. */
td_status td_peers_show(const td_arguments *arguments, int number, td_op op, td_error *err);

#endif
