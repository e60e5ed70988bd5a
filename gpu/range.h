/* Named stretches of a program's time, as a profiler's time line shows them (NVTX). They cost next to nothing where no
 * profiler listens, and nothing where nvcc was missing at build time. */
#ifndef TANDEM_GPU_RANGE_H
#define TANDEM_GPU_RANGE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Ranges nest: each pop ends the range of this thread that was begun last. */
void td_range_push(const char *name);
void td_range_pop(void);

#ifdef __cplusplus
}
#endif
#endif
