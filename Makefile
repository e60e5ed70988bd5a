# Thin: what you can do here, one line each (`make help`). How it is compiled stands in checks/build.mk.
#
# Goals run one after the other, in the order given, set-up always first: a lesson measures time, so nothing may run
# beside it. Only compiling is parallel, in a make of its own, which also sees what set-up has just installed.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory -r

BUILD := build$(if $(SAN),/san)
build = @+$(MAKE) -f checks/build.mk BUILD='$(BUILD)' $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell getconf _NPROCESSORS_ONLN))
tandem = $(if $(VERBOSE),,@)$(BUILD)/tandem
# For timing beside OpenBLAS: its own choice of kernels, and threads of ours that sleep while its threads work.
measured = $(if $(VERBOSE),,@)env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OMP_WAIT_POLICY=passive $(BUILD)/tandem

# Every variable given on the command line that is not the build's goes to the program, which knows which are legal:
# T= arrives empty, and no character of a value means anything to a shell on the way.
own := BUILD CC COMMIT CFLAGS CPPFLAGS CXX LDFLAGS LDLIBS NVCC PATH PKG_CONFIG SAN SHELL SPILLS VERBOSE
given := $(foreach v,$(filter-out $(own),$(.VARIABLES)),$(if $(findstring command,$(origin $v)),$v))
unexport $(given)
define newline


endef
quote = '$(subst ','\'',$(subst $(newline), ,$(1)))'
passed = $(foreach v,$(1),$(call quote,$v=$(value $v)))
parameters = $(call passed,$(given))

goals := all help list check grade grade-class gradescope-zip ranks check-ranks check-gpu check-gpu-model sanitize-gpu count-gpu sweep \
	resources bench bench-cpu bench-gpu-peers bench-gpu-adam bench-gpu-model check-gpu-ranks bench-gpu-ranks record-gpu test check-grader \
	lint readme clean
.PHONY: setup $(goals)
##@ Start
all: ## compile build/tandem and build/libtandem.so
	$(build) all
setup: ## install what is missing (Debian, Ubuntu); elsewhere say what is
	@sh checks/setup.sh $(filter lint,$(MAKECMDGOALS))
$(goals) $(filter-out %-,$(filter lesson-% exercise-% check-% hint-% solution-% reset-%,$(MAKECMDGOALS))): | $(filter setup,$(MAKECMDGOALS))
help: ## this list
	@awk -F ':.*## ' '/^##@/ {print "\n" substr($$0, 5)} /^[a-z%-]*:.*## / {sub(/%/, "N"); \
		line = sprintf("  %-12s", $$1); words = split($$2, word, " "); \
		for (i = 1; i <= words; i++) { \
			if (length(line) + 1 + length(word[i]) > 80) {print line; line = sprintf("  %-12s", "")} \
			line = line " " word[i]} \
		print line}' Makefile

##@ Learn; parameters are variables: make lesson-3 T=2048 DTYPE=bf16
lesson-%: all ## run lesson N
	$(measured) lesson $(call quote,$*) $(parameters)
exercise = $(if $(VERBOSE),,@)$(BUILD)/tandem exercise $(1) $(call quote,LESSON=$*) $(parameters)
exercise-%: all ## start a working copy of its exercise in mine/lesson-N; WORK= says where else
	$(call exercise,start)
check-%: all ## run the public checks on it
	$(call exercise,check)
hint-%: all ## the next hint; HINT= says which
	$(call exercise,hint)
solution-%: all ## the reference solution, after a confirmation; where there is no terminal: CONFIRM=yes
	$(call exercise,solution)
reset-%: all ## start over; your work is kept under another name; where there is no terminal: CONFIRM=yes
	$(call exercise,reset)

##@ Grade
grade: all ## a submission compiled, run in a sandbox, scored: make grade SUBMISSION=dir LESSON=3
	$(measured) grade $(parameters)
grade-class: all ## every folder of SUBMISSIONS=, side by side, resumable, with a summary in OUT=; LESSON=, JOBS=, RUBRIC=, …
	$(measured) grade-class $(parameters)
gradescope-zip: ## out/gradescope-lesson-N.zip for Gradescope (README: how to upload it): LESSON=N or all; SECRET=
	@sh checks/grade/gradescope/pack.sh $(parameters)

##@ Measure
list: all ## every variant, with its backend and limits
	$(tandem) list $(parameters)
check: all ## compare variants with the double-precision reference
	$(tandem) check $(parameters)
check-gpu: all ## every rung of the GPU against the reference, over the shapes that kernels fail on
	$(tandem) check-gpu $(parameters)
check-gpu-model: all ## the GPT on the GPU, layer by layer and as a whole, against the double-precision model
	$(tandem) check-gpt $(parameters)
sanitize-gpu: all ## every rung of the GPU under compute-sanitizer: memory, races, barriers
	@sh checks/sanitize_gpu.sh $(BUILD)/tandem $(parameters)
count-gpu: all ## the emulator's counted sectors beside those that the GPU's counters show (ncu)
	@sh checks/count_gpu.sh $(BUILD)/tandem $(parameters)
# RANKS= starts them; other variables are the task's.
ranks: all ## what ranks do together, under mpirun: make ranks TASK=comm RANKS=4
	$(tandem) ranks $(if $(TASK),$(call quote,$(TASK))) $(call passed,$(filter-out TASK,$(given)))
check-ranks: all ## every scheme of data parallelism and sharding of Adam on CPU ranks: make check-ranks RANKS=4
	$(tandem) ranks check $(if $(filter RANKS,$(given)),,RANKS=4) $(parameters)
check-gpu-ranks: all ## GPU ranks, one a GPU of this host: collectives, data parallelism, sharded Adam
	@$(if $(RANKS),RANKS=$(call quote,$(RANKS)) )sh checks/peers/gpu_ranks.sh check $(BUILD)/tandem
sweep: all ## error against block size, into a CSV
	$(tandem) sweep $(parameters)
resources: all ## a GPU's kernels: launch shape, registers, spills, shared memory, occupancy
	$(tandem) resources $(parameters)
bench: all ## time the variants of an operation: make bench OP=gemm N=1024
	$(measured) bench $(parameters)
bench-cpu: all ## time the CPU's attention beside OpenBLAS, in turn
	$(measured) bench-cpu $(parameters)
bench-gpu-peers: all ## time the GPU's attention beside PyTorch's and Triton's, in turn; CELLS=128:4096:none ONLY=overlapped,cudnn OP= DTYPE=
	$(if $(VERBOSE),,@)python3 checks/peers/sdpa.py --commit "$$(cat $(BUILD)/commit)" $(BUILD)/libtandem.so out $(parameters)
bench-gpu-adam: all ## the GPU's Adam: checked, beside a copy, and beside PyTorch's in turn
	$(tandem) bench-adam $(parameters)
	$(if $(VERBOSE),,@)python3 checks/peers/adam.py $(BUILD)/libtandem.so out/gpu_adam_peers.csv --commit "$$(cat $(BUILD)/commit)"
bench-gpu-ranks: all ## time a step of GPU ranks beside its bound and PyTorch's DDP, in turn
	@$(if $(RANKS),RANKS=$(call quote,$(RANKS)) )sh checks/peers/gpu_ranks.sh bench $(BUILD)/tandem "$$(cat $(BUILD)/commit)"
bench-gpu-model: all ## time the GPT's forward and backward on the GPU
	$(tandem) bench-gpt $(parameters)
record-gpu: all ## measure on a GPU what lessons 1 to 5 show where there is none; the 16-bit rungs beside PyTorch and Triton if they are there
	$(if $(VERBOSE),,@)sh plots/record_gpu.sh $(parameters)

##@ Work on Tandem; SAN=1 adds the sanitizers, VERBOSE=1 shows every command
# Criterion runs tests side by side: OpenMP's waiting threads must sleep, or they spin away the others' cores.
test: export OMP_WAIT_POLICY = passive
test: all ## run every test
	$(build) tests
	$(if $(VERBOSE),,@)$(if $(SAN),$(watched),$(BUILD)/tests </dev/null)
check-grader: all ## every wrong submission loses and is named, every cheat gains nothing, in each tier that works here
	@sh tests/check_grader.sh $(BUILD)/tandem
lint: all ## cppcheck, format, headers that stand alone, direction of includes, README up to date
	@sh checks/lint.sh
readme: all ## draw the README's plot and write its figures from plots/recorded
	@sh plots/readme.sh
clean: ## remove what was built
	rm -rf build

# Criterion has its verdict before a test's process ends, where leaks are found: any report fails the run.
watched = rm -f $(BUILD)/report.*; ASAN_OPTIONS="detect_leaks=1:log_path='$$(realpath $(BUILD))/report'" UBSAN_OPTIONS=print_stacktrace=1 \
	LSAN_OPTIONS=print_suppressions=0 $(BUILD)/tests </dev/null; status=$$?; if cat $(BUILD)/report.* 2>/dev/null; then echo 'FAIL: a sanitizer reports' >&2; exit 1; fi; exit $$status
