/* The scripts that need a GPU say no when they should, and judge their parameters where there is none. */
#include "../support.h"

/* A compute-sanitizer that runs nothing, and ends with `status` for one of its tools. */
static int sanitized(const char *tool, int status, char printed[1000]) {
    char command[1000];
    snprintf(
        command, sizeof command,
        "here=$PWD d=$(mktemp -d) && cd $d && printf '#!/bin/sh\\necho a report >$5\\n[ $2 = %s ] && exit %d\\nexit "
        "0\\n' >compute-sanitizer && chmod +x compute-sanitizer && PATH=$d:$PATH sh "
        "\"$here\"/checks/sanitize_gpu.sh true 2>&1; s=$?; cd / && rm -r $d; exit $s",
        tool, status);
    return support_shell(command, printed, 1000);
}

Test(gpu_scripts, any_report_fails_and_no_gpu_is_no_pass) {
    char printed[1000];
    cr_assert_eq(sanitized("memcheck", 0, printed), 0, "%s", printed);
    cr_assert(strstr(printed, "synccheck: clean"), "%s", printed);
    cr_assert_eq(sanitized("memcheck", 3, printed), 3, "%s", printed);
    static const char *const tools[] = {"memcheck", "racecheck", "synccheck"};
    for (int k = 0; k < 3; k++) {
        cr_assert_eq(sanitized(tools[k], 9, printed), 1, "%s", printed);
        cr_assert(strstr(printed, "FAIL (status 9)") && strstr(printed, tools[k]), "%s", printed);
        cr_assert_eq(sanitized(tools[k], 124, printed), 1, "a tool that hangs is no pass: %s", printed);
        cr_assert(strstr(printed, "FAIL: no verdict") && strstr(printed, tools[k]), "%s", printed);
    }
}

/* In a folder of its own, with programs of that folder in place of those that a GPU needs. A reader that stops early
 * would end the script. */
static int with_fakes(const char *fakes, const char *script, char printed[1000]) {
    char command[1800];
    snprintf(
        command, sizeof command,
        "here=$PWD d=$(mktemp -d) && cd $d && mkdir build && %s && chmod +x * build/* 2>/dev/null; PATH=$d:$PATH sh "
        "\"$here\"/%s >said 2>&1; s=$?; head -c 800 said; ls -R; cd / && rm -r $d; exit $s",
        fakes, script);
    return support_shell(command, printed, 1000);
}

Test(gpu_scripts, only_the_rungs_asked_for_are_sanitized) {
    static const char fakes[] = "printf '#!/bin/sh\\nif [ $1 = list ]; then for v in a b c; do echo op gpu_$v cuda; "
                                "done; fi\\n' >build/tandem && "
                                "printf '#!/bin/sh\\n' >compute-sanitizer";
    char printed[1000];
    cr_assert_eq(with_fakes(fakes, "checks/sanitize_gpu.sh build/tandem 'ONLY=b|c'", printed), 0, "%s", printed);
    cr_assert(strstr(printed, "memcheck-gpu_b: clean") && strstr(printed, "racecheck-gpu_c: clean"), "%s", printed);
    cr_assert(!strstr(printed, "gpu_a"), "%s", printed);
    cr_assert_eq(with_fakes(fakes, "checks/sanitize_gpu.sh build/tandem ONLY=d", printed), 2, "%s", printed);
}

/* Refused in one line, with status 2, by a `script` that finds nothing of what it needs. */
static void refused(const char *script, const char *parameters, const char *said) {
    char line[300], printed[1000];
    snprintf(line, sizeof line, "%s %s", script, parameters);
    cr_expect_eq(with_fakes("printf '#!/bin/sh\\necho op gpu_b cuda\\n' >build/tandem", line, printed), 2, "%s: %s",
                 parameters, printed);
    cr_expect(strstr(printed, said), "%s: %s", parameters, printed);
    const char *newline = strchr(printed, '\n');
    cr_expect(newline && !strncmp(newline, "\n.:\nbuild\nsaid\n", 15), "one line, no file: %s", printed);
}

Test(gpu_scripts, parameters_are_judged_before_what_is_missing) {
    static const char sanitize[] = "checks/sanitize_gpu.sh build/tandem";
    refused(sanitize, "FOO=1", "FOO=1: no such parameter; legal are VARIANT, ONLY");
    refused(sanitize, "VARIANT=nosuch", "VARIANT=nosuch: is no variant of a GPU");
    refused(sanitize, "VARIANT=gpu_", "VARIANT=gpu_: is no variant of a GPU");
    refused(sanitize, "'ONLY=['", "ONLY=[: is no regular expression");
    refused(sanitize, "ONLY=", "ONLY=: must be a regular expression");
    refused(sanitize, "ONLY=nosuch", "ONLY=nosuch: no variant of a GPU matches");
    refused(sanitize, "VARIANT=gpu_b ONLY=b", "at a time");
    refused("checks/count_gpu.sh build/tandem", "FOO=1", "count-gpu: FOO=1: no such parameter");
    refused("plots/record_gpu.sh", "FOO=1", "record-gpu: FOO=1: no such parameter");
}

Test(gpu_scripts, peers_take_turns_and_every_run_counts) {
    char printed[2000];
    cr_assert_eq(support_shell("python3 tests/checks/turns.py 2>&1", printed, sizeof printed), 0, "%s", printed);
}

/* checks/peers/sdpa.py where python3 has no torch, with a library that is in any build. */
static int compared(const char *parameters, char printed[1000]) {
    char script[500];
    snprintf(script, sizeof script, "checks/peers/sdpa.py libfake.so out %s", parameters);
    char command[1500];
    snprintf(
        command, sizeof command,
        "here=$PWD d=$(mktemp -d) && cd $d && echo 'raise ImportError(\"no torch\")' >torch.py && echo 'const char "
        "*td_variant_name(int op, int i) { return op ? \"gpu_backward_mma_bf16\" : i ? \"gpu_dense_bf16\" : "
        "\"gpu_mma_bf16\"; } int td_variant_count(int op) { return op ? 1 : 2; }' >f.c && cc -shared -fPIC -o "
        "libfake.so f.c && PYTHONPATH=$d python3 \"$here\"/%s >said 2>&1; s=$?; head -c 900 said; ls | grep out; "
        "cd / && rm -r $d; exit $s",
        script);
    return support_shell(command, printed, 1000);
}

Test(gpu_scripts, peers_are_chosen_by_names_that_are_there) {
    static const struct {
        const char *parameters, *said;
    } bad[] = {{"FOO=1", "FOO=1: no such parameter; legal are CELLS, DTYPE, OP, ONLY\n"},
               {"CELLS=1:2:3", "CELLS=1:2:3: legal are 64:2048:none, "},
               {"CELLS=", "CELLS=: legal are "},
               {"DTYPE=f8", "DTYPE=f8: legal are f32, bf16, fp16\n"},
               {"OP=gemm", "OP=gemm: legal are forward, backward\n"},
               {"CELLS=64:1024:none DTYPE=fp16",
                "CELLS=64:1024:none: not measured in DTYPE=fp16; legal are 64:4096:none, 64:4096:causal, "},
               {"ONLY=", "ONLY=: no contender in what is left to measure; legal are "},
               {"'ONLY=['", "ONLY=[: no contender"},
               {"ONLY=mma,nosuch", "ONLY=nosuch: no contender"},
               {"ONLY=mma DTYPE=f32", "ONLY=mma: no contender"},
               {"ONLY=triton DTYPE=f32", "ONLY=triton: no contender"},
               {"ONLY=dense CELLS=64:4096:none DTYPE=bf16",
                "ONLY=dense: no contender in what is left to measure; legal are mma, backward_mma, efficient, flash2, "
                "cudnn, triton\n"}};
    static const char *const good[] = {"",           "ONLY=mma,cudnn",           "ONLY=backward_mma OP=backward",
                                       "ONLY=dense", "ONLY=math DTYPE=f32,bf16", "CELLS=128:4096:causal-top-left"};
    char printed[1000];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(compared(bad[i].parameters, printed), 2, "%s: %s", bad[i].parameters, printed);
        cr_expect(strstr(printed, bad[i].said), "%s: %s", bad[i].parameters, printed);
        const char *newline = strchr(printed, '\n');
        cr_expect(newline && !newline[1], "one line: %s", printed);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cr_expect_eq(compared(good[i], printed), 3, "%s: %s", good[i], printed);
        cr_expect(strstr(printed, "SKIP bench-gpu-peers: no torch"), "%s: %s", good[i], printed);
    }
}

/* Lessons leave a CSV each, and python3 ends with `status`. */
static int recorded_beside_peers(int status, char printed[1000]) {
    char fakes[600];
    snprintf(fakes, sizeof fakes,
             "mkdir -p out/record_gpu/lesson-1 && touch out/record_gpu/lesson-1/gpu_steps.csv && touch "
             "out/record_gpu/gpu_resources.csv build/commit && printf '#!/bin/sh\\n' >build/tandem && printf "
             "'#!/bin/sh\\necho asked $*; touch out/record_gpu/gpu_peers_16bit.csv; exit %d\\n' >python3",
             status);
    return with_fakes(fakes, "plots/record_gpu.sh", printed);
}

Test(gpu_scripts, rungs_beside_their_peers_are_recorded_where_python_has_those) {
    static const char kept[] = "plots/recorded:\ngpu_peers_16bit.csv\n", without[] = "plots/recorded:\ngpu_resources";
    char printed[1000];
    cr_expect_eq(recorded_beside_peers(0, printed), 0, "%s", printed);
    cr_expect(strstr(printed, "sdpa.py") && strstr(printed, kept), "%s", printed);
    cr_expect_eq(recorded_beside_peers(3, printed), 0, "%s", printed);
    cr_expect(strstr(printed, "SKIP gpu_peers_16bit.csv") && strstr(printed, without), "%s", printed);
    cr_expect_eq(recorded_beside_peers(1, printed), 1, "%s", printed);
    cr_expect(strstr(printed, "FAIL: bench-gpu-peers") && strstr(printed, without), "%s", printed);
}

Test(gpu_scripts, nothing_is_recorded_without_a_gpu) {
    char printed[1000];
    cr_assert_eq(with_fakes("printf '#!/bin/sh\\nexit 3\\n' >build/tandem", "plots/record_gpu.sh", printed), 3);
    cr_assert(strstr(printed, "record-gpu: SKIP") && !strstr(printed, "plots"), "%s", printed);
    cr_assert_eq(with_fakes("printf '#!/bin/sh\\nexit 1\\n' >nvidia-smi", "checks/count_gpu.sh build/tandem", printed),
                 3);
    cr_assert(strstr(printed, "count-gpu: SKIP"), "%s", printed);
}

/* The emulator says 100 loads and 20 stores; ncu, of two kernels, together `loads` and 20. */
static int counted(const char *loads, char printed[1000]) {
    char fakes[900];
    snprintf(
        fakes, sizeof fakes,
        "printf '#!/bin/sh\\n' >nvidia-smi && printf '#!/bin/sh\\nfor o; do :; done; printf "
        "\"kernel,global_load_sectors,global_store_sectors,shared_load_conflicts\\\\n\\\\\"a<b, "
        "c>\\\\\",100,20,7\\\\n\" >${o#OUT=}\\n' >build/tandem && printf "
        "'#!/bin/sh\\ng=t_sectors_pipe_lsu_mem_global_op "
        "s=data_bank_conflicts_pipe_lsu_mem_shared_op\\nfor v in ${g}_ld.sum/%s ${g}_st.sum/15 ${g}_ld.sum/0 "
        "${g}_st.sum/5 ${s}_ld.sum/7; do echo \"\\\\\"k\\\\\",\\\\\"l1tex__${v%%%%/*}\\\\\",\\\\\"${v#*/}\\\\\"\"; "
        "done\\n' >ncu",
        loads);
    return with_fakes(fakes, "checks/count_gpu.sh build/tandem", printed);
}

Test(gpu_scripts, counts_beyond_five_percent_fail) {
    char printed[1000];
    cr_assert_eq(counted("104", printed), 0, "%s", printed);
    cr_assert(strstr(printed, "PASS") && !strstr(printed, "FAIL"), "%s", printed);
    cr_assert_eq(counted("106", printed), 1, "%s", printed);
    cr_assert_eq(counted("94", printed), 1, "%s", printed);
    cr_assert_eq(counted("0", printed), 1, "%s", printed);
}

/* `gpus` are shown, and each task of tandem ranks ends with `status`. */
static int ranked(const char *what, int gpus, int status, char printed[1000]) {
    char fakes[400], script[80];
    snprintf(fakes, sizeof fakes,
             "printf '#!/bin/sh\\nseq -f \"GPU %%%%.0f: fake\" %d\\n' >nvidia-smi && printf '#!/bin/sh\\necho $*; exit "
             "%d\\n' >build/tandem && printf '#!/bin/sh\\necho peer $*\\n' >python3",
             gpus, status);
    snprintf(script, sizeof script, "checks/peers/gpu_ranks.sh %s build/tandem", what);
    return with_fakes(fakes, script, printed);
}

Test(gpu_scripts, ranks_take_every_gpu_and_one_is_too_few) {
    char printed[1000];
    for (int gpus = 0; gpus < 2; gpus++) {
        cr_assert_eq(ranked("check", gpus, 0, printed), 3, "%s", printed);
        cr_assert(strstr(printed, "SKIP check-gpu-ranks: two GPUs are needed"), "%s", printed);
        cr_assert_eq(ranked("bench", gpus, 0, printed), 3, "%s", printed);
    }
    cr_assert_eq(ranked("check", 2, 0, printed), 0, "%s", printed);
    cr_assert(strstr(printed, "ranks comm RANKS=2 DEVICE=gpu") && strstr(printed, "ranks check RANKS=2 DEVICE=gpu"),
              "%s", printed);
    cr_assert_eq(ranked("check", 3, 1, printed), 1, "%s", printed);
    cr_assert_eq(ranked("bench", 2, 1, printed), 1, "a failed bench is no success, whatever the peer says: %s",
                 printed);
    cr_assert(strstr(printed, "peer") && !strstr(printed, "--tandem"), "%s", printed);
}

/* RANKS takes fewer than all GPUs, and makes none: asked for with `gpus` there. */
Test(gpu_scripts, ranks_asked_for_are_numbers_of_gpus_that_are_there) {
    static const char *const bad[] = {"-3", "0", "1", "x", "1.5", "02", "99999", "2 3"};
    char printed[1000], words[80];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int gpus = 0; gpus < 5; gpus += 4) {
            setenv("RANKS", bad[i], 1);
            cr_expect_eq(ranked("check", gpus, 0, printed), 2, "RANKS=%s: %s", bad[i], printed);
            snprintf(words, sizeof words, "check-gpu-ranks: RANKS=%s: must be an integer from 2", bad[i]);
            cr_expect(strstr(printed, words) && !strstr(printed, "DEVICE=gpu"), "%s", printed);
        }
    setenv("RANKS", "2", 1);
    cr_expect_eq(ranked("check", 0, 1, printed), 3, "no GPU is no failure: %s", printed);
    cr_expect(strstr(printed, "SKIP check-gpu-ranks: two GPUs are needed, and 0 found"), "%s", printed);
    ranked("bench", 4, 0, printed);
    cr_expect(strstr(printed, "RANKS=2 DEVICE=gpu") && strstr(printed, "--ranks 2"), "%s", printed);
    setenv("RANKS", "8", 1);
    cr_expect_eq(ranked("check", 4, 0, printed), 3, "%s", printed);
    cr_expect(strstr(printed, "SKIP check-gpu-ranks: RANKS=8: only 4 GPUs found"), "%s", printed);
    unsetenv("RANKS");
}
