/* A kernel that spills, or that the assembler slows down, fails the build. */
#include "../support.h"

/* Kernels a and b, compiled by the build's own rule with `nvcc`; then which objects are there. */
static int built(const char *nvcc, const char *a, const char *b, const char *spills, char printed[2000]) {
    char command[4000];
    snprintf(command, sizeof command,
             "d=$(mktemp -d) && printf '%%s' '%s' >$d/a.cu && printf '%%s' '%s' >$d/b.cu && %s && env -u MAKEFLAGS "
             "make -k -f checks/build.mk BUILD=$d NVCC=$nvcc $d/obj/cuda/$d/a.o $d/obj/cuda/$d/b.o %s 2>&1; s=$?; "
             "find $d -name '*.o' | sed 's|.*/|built |'; rm -r $d; exit $s",
             a, b, nvcc, spills);
    return support_shell(command, printed, 2000);
}

/* An nvcc that says what its source holds. */
static const char fake[] = "nvcc=$d/nvcc && printf '#!/bin/sh\\nfor s; do [ \"$o\" = -o ] && touch $s; o=$s; done; "
                           "cat $s >&2\\n' >$nvcc && chmod +x $nvcc";
#define KERNEL "ptxas info    : Function properties for attend\n    "
#define CLEAN KERNEL "32 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"

static void refused(const char *said, const char *told) {
    char printed[2000];
    cr_expect_eq(built(fake, CLEAN, said, "", printed), 2, "%s", printed);
    cr_expect(strstr(printed, told) && strstr(printed, "b.cu: ") && strstr(printed, "SPILLS=allow\n"), "%s", printed);
    cr_expect(strstr(printed, "built a.o") && !strstr(printed, "built b.o"), "%s", printed);
}

Test(spills, what_the_assembler_tells_fails_the_build) {
    refused(KERNEL "8 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads\n", "attend: 4 bytes spill stores");
    refused(KERNEL "8 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads\n", "attend: 0 bytes spill stores");
    refused("ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
            "non wgmma instructions defining accumulator registers in the function attend\n" CLEAN,
            "serialized due to non wgmma instructions defining accumulator registers in the function attend;");
    refused("ptxas info    : (C7508) Potential Performance Loss: setmaxnreg ignored; unable to determine register "
            "count at entry.\n",
            "setmaxnreg ignored");
}

Test(spills, what_is_no_loss_or_is_allowed_is_built) {
    static const char fence[] = "ptxas info    : (C7519) warpgroup.arrive is injected in around line 107\n" CLEAN,
                      spill[] = KERNEL "8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n";
    char printed[2000];
    cr_expect_eq(built(fake, CLEAN, fence, "", printed), 0, "%s", printed);
    cr_expect(strstr(printed, "built b.o") && !strstr(printed, "SPILLS"), "%s", printed);
    cr_expect_eq(built(fake, CLEAN, spill, "SPILLS=allow", printed), 0, "%s", printed);
    cr_expect(strstr(printed, "built b.o") && strstr(printed, "attend: 4 bytes spill"), "%s", printed);
    cr_expect_eq(built(fake, CLEAN, spill, "SPILLS=no", printed), 2, "%s", printed);
    cr_expect(strstr(printed, "SPILLS=no: legal is allow"), "%s", printed);
}

/* What was allowed once is judged by the next build that does not allow it. */
Test(spills, what_was_allowed_does_not_stay) {
    char printed[2000], command[3000];
    snprintf(command, sizeof command,
             "d=$(mktemp -d) && printf '%%s' '" KERNEL "8 bytes stack frame, 4 bytes spill stores, 4 bytes spill "
             "loads\n' >$d/a.cu && %s && build() { env -u MAKEFLAGS make -f checks/build.mk BUILD=$d NVCC=$nvcc "
             "$d/obj/cuda/$d/a.o $* >/dev/null 2>&1; echo $?; }; echo $(build) $(build SPILLS=allow) $(build "
             "SPILLS=allow) $(build); rm -r $d",
             fake);
    cr_expect_eq(support_shell(command, printed, sizeof printed), 0);
    cr_expect_str_eq(printed, "2 0 0 2\n");
}

/* Sixty-four sums a thread, where a multiprocessor is to hold 2048 of them; and an accumulator that is touched before
 * its products are waited for. */
Test(spills, the_assembler_here_tells_it_in_these_words) {
    static const char spilling[] = "__global__ __launch_bounds__(1024, 2) void spilling(const float *x, float *y) {\n"
                                   "    float r[64];\n#pragma unroll\n"
                                   "    for (int i = 0; i < 64; i++) r[i] = x[threadIdx.x + i * 1024];\n"
                                   "    __syncthreads();\n#pragma unroll\n"
                                   "    for (int i = 0; i < 64; i++) y[threadIdx.x + i * 1024] = r[i] * r[63 - i] + "
                                   "r[(i + 7) % 64];\n}\n",
                      serial[] = "__global__ void serial(float *out, unsigned long a) {\n"
                                 "    float d[4] = {0, 0, 0, 0};\n"
                                 "    asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
                                 "    for (int i = 0; i < 2; i++) {\n"
                                 "        asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 \"\n"
                                 "            \"{%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;\"\n"
                                 "            : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"l\"(a));\n"
                                 "        d[0] *= 2;\n    }\n"
                                 "    asm volatile(\"wgmma.commit_group.sync.aligned;\\nwgmma.wait_group.sync.aligned "
                                 "0;\" ::: \"memory\");\n"
                                 "    for (int i = 0; i < 4; i++) out[threadIdx.x * 4 + i] = d[i];\n}\n";
    static const char real[] = "nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc)";
    char printed[2000];
    if (support_shell("command -v nvcc || ls /usr/local/cuda/bin/nvcc", printed, sizeof printed))
        cr_skip_test("SKIP: nvcc is missing");
    cr_expect_eq(built(real, spilling, serial, "", printed), 2, "%s", printed);
    cr_expect(strstr(printed, "a.cu: ") && strstr(printed, "spilling"), "%s", printed);
    cr_expect(strstr(printed, "b.cu: ") && strstr(printed, "serialized") && !strstr(printed, "built"), "%s", printed);
}
