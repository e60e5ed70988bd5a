/* What submissions/hostile.c can be told to do. */
#ifndef TANDEM_TESTS_HOSTILE_H
#define TANDEM_TESTS_HOSTILE_H

enum {
    DOUBLES = 0, /* y = 2x */
    DECLINES,
    WRITES_BEHIND,
    READS_BEFORE,
    WRITES_INPUT,
    WRITES_NULL,
    DIVIDES,
    OVERFLOWS,
    ABORTS,
    EXITS,
    LOOPS,
    STOPS,
    PRINTS,
    GARBLES,
    CLAIMS_MUCH,
    SAYS_HALF,
    HANGS_UP,
    CLOSES_ALL,
    FORKS,
    CONNECTS,
    KILLS,
    EXECUTES,
    TRACES,
    OPENS,
    LIFTS_LIMITS,
    OUTLIVES,
    USES_MEMORY,
    UNMAPS,
    ROUNDS_UP,
    FLUSHES,
    GOES_ON,
    FAKES_DONE,
    ASKS,
    IS_PARALLEL,
    ASKS_ON /* without end */
};

#endif
