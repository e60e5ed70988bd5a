/* Never ends being read. */
#include "/dev/zero"
