/* Answers for the emulator in a build that has none. */
#include "tandem/device.h"

__attribute__((weak)) const td_device *td_emulated_device(td_error *why) {
    td_fail(why, TD_NO_DEVICE, "this build has no emulator");
    return NULL;
}
