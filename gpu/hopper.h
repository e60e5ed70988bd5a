/* Hopper's own instructions, as the rungs from 10 on use them; the emulator knows none of them. */
#ifndef TANDEM_GPU_HOPPER_H
#define TANDEM_GPU_HOPPER_H

#include "hopper/barrier.h"
#include "hopper/tma.h"
#include "hopper/wgmma.h"

#endif
