# How sources become $(BUILD)/tandem, $(BUILD)/libtandem.so and $(BUILD)/tests. Called by the Makefile, which sets BUILD.
# The optional libraries used are those that pkg-config finds; what needs another says so when it runs.
$(if $(BUILD),,$(error BUILD is empty: it must name a folder; call the Makefile beside README.md))
CFLAGS ?= -O2 -g
PKG_CONFIG ?= pkg-config
# SPILLS=allow: what checks/spills.sh finds in a kernel is told, and the object kept. It is one of the flags, so that what
# was allowed is judged anew without it.
$(if $(filter-out allow,$(SPILLS)),$(error SPILLS=$(SPILLS): legal is allow))

found := $(shell for p in jansson hwloc openblas; do $(PKG_CONFIG) --exists $$p 2>/dev/null && echo $$p; done)
comma := ,
defines := $(addprefix -DTD_HAVE_,$(shell echo $(found) | tr a-z A-Z))
ifneq ($(found),)
found_cflags := $(shell $(PKG_CONFIG) --cflags $(found))
# OpenBLAS is opened when it is asked for: linked, it would start its threads in every program of ours.
found_libs := $(shell $(PKG_CONFIG) --libs $(filter-out openblas,$(found))) -ldl
endif
# MPI is build/tandem's alone: who loads the library, or runs the tests, may have another. Where pkg-config knows none,
# the compiler wrapper that every MPI brings says what it would do.
mpi_package := $(firstword $(foreach p,ompi-c mpich mpi,$(shell $(PKG_CONFIG) --exists $p 2>/dev/null && echo $p)))
mpi_says := $(if $(mpi_package),$(shell $(PKG_CONFIG) --cflags --libs $(mpi_package)),$(shell mpicc -show 2>/dev/null))
mpi_cflags := $(patsubst -I%,-isystem %,$(filter -I% -D%,$(mpi_says)))
mpi_libs := $(filter -L% -l% -Wl%,$(mpi_says))
sanitize := $(if $(SAN),-fsanitize=address -fsanitize=undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
flags := -std=c17 -Wall -Wextra -Wpedantic -Werror -fopenmp -fPIC -ffp-contract=off -Iinclude -D_GNU_SOURCE \
	$(defines) $(found_cflags) $(sanitize) $(CPPFLAGS) $(CFLAGS)
link = $(CC) $(flags) $(LDFLAGS) -o $@ $(filter %.o,$^) $(1) $(found_libs) $(cuda_libs) $(LDLIBS) -lm -lpthread

# A rung of gpu/ is compiled twice: by nvcc where there is one, and for the emulator; gpu/cuda/ by nvcc alone. The
# emulator's flags are fixed, since it counts the loads and stores that the compiler leaves: -fsanitize=thread makes it
# call out at each (our own functions answer, not the sanitizer's), and is given to no other file, nor to the linker.
NVCC ?= $(or $(shell command -v nvcc 2>/dev/null),$(wildcard /usr/local/cuda/bin/nvcc))
rungs := $(shell find gpu -name '*.cu' -not -path 'gpu/emu/*' -not -path 'gpu/cuda/*' -not -path 'gpu/comm/*')
cuda_only := $(shell find gpu/cuda -name '*.cu')
# What includes hopper.h uses instructions that the emulator does not know.
emulated := $(shell grep -L 'hopper.h"' $(rungs))
emulate := -x c++ -std=c++20 -O1 -g -fsanitize=thread --param tsan-instrument-func-entry-exit=0 -fsanitize=bounds \
	-DTD_EMULATE -fno-exceptions -fno-rtti -fno-threadsafe-statics -Wall -Wextra -Werror -Wno-unknown-pragmas \
	-ffp-contract=off -fopenmp -fPIC -Iinclude -Igpu
# -iquote: <cuda.h> must stay CUDA's own.
nvcc_flags := -std=c++20 -O3 -lineinfo -gencode=arch=compute_90a,code=sm_90a -Xcompiler -fPIC,-Wall,-Wextra,-iquote,gpu -Werror \
	all-warnings -Iinclude
cuda_home := $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
# sm_90a needs CUDA 12; and a toolkit may come without its libraries.
cuda_is_whole := $(and $(cuda_home),$(wildcard $(cuda_home)/lib64/libcublas.so),$(wildcard $(cuda_home)/lib64/libcupti.so),\
	$(shell $(NVCC) --version 2>/dev/null | grep -E 'release (1[2-9]|[2-9][0-9])\.'))
ifneq ($(and $(cuda_is_whole),$(if $(SAN),,yes)),)
cuda_libs := -L$(cuda_home)/lib64 -Wl,-rpath,$(cuda_home)/lib64 -lcudart -lcupti -lstdc++ -ldl
# NCCL is opened by its path when GPU ranks ask for it. The one that Python's torch uses comes first: they are compared.
NCCL_HOME ?=
python_home := $(patsubst %/bin/python3,%,$(shell command -v python3 2>/dev/null))
nccl_homes := $(if $(NCCL_HOME),$(NCCL_HOME),\
	$(wildcard $(addsuffix /nvidia/nccl,$(wildcard $(python_home)/lib/python3*/*-packages $(python_home)/local/lib/python3*/*-packages))) \
	$(cuda_home) /usr)
nccl_library := $(firstword $(foreach h,$(nccl_homes),$(if $(wildcard $(h)/include/nccl.h),\
	$(firstword $(wildcard $(foreach l,lib lib64 lib/*-linux-gnu,$(h)/$(l)/libnccl.so.2))))))
ifneq ($(nccl_library),)
nccl_include := $(firstword $(foreach h,$(nccl_homes),$(if $(filter $(h)/%,$(nccl_library)),$(h)/include)))
cuda_libs += -ldl
endif
cuda_only += $(if $(nccl_library),$(wildcard gpu/comm/*.cu))
cuda_objects := $(patsubst %.cu,$(BUILD)/obj/cuda/%.o,$(rungs) $(cuda_only))
endif
no_cuda := $(if $(cuda_objects),gpu/no_cuda.c) $(if $(nccl_library),gpu/comm/no_nccl.c)

with_mpi := $(wildcard cpu_ref/comm/mpi*.c)
# checks/grade/child/ is linked with submissions alone.
library := $(filter-out $(no_cuda) $(with_mpi),$(shell find cpu_ref gpu checks -name '*.c' -not -path 'checks/grade/child/*'))
of_program := $(if $(mpi_libs),$(filter-out cpu_ref/comm/no_mpi.c,$(library)) $(with_mpi),$(library))
program := $(shell find lessons -name '*.c' -not -path '*/exercise/*')
tests := $(shell find tests -name '*.c' -not -path '*/child/*' -not -path 'tests/cheats/*' -not -path '*/submissions/*')
object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
gpu_objects := $(cuda_objects) $(patsubst %.cu,$(BUILD)/obj/emulated/%.o,$(emulated))
# The tests' own kernels are for the emulator alone: most of them are wrong.
test_kernels := $(shell find tests -name '*.cu' -not -path 'tests/cheats/*' -not -path '*/submissions/*')
test_objects := $(call object,$(tests)) $(patsubst %.cu,$(BUILD)/obj/emulated/%.o,$(test_kernels))

# What a submission is compiled with and linked against. Its program has no sanitizer, whatever ours has, and its flags
# are fixed: a grade must not depend on ours.
child := $(patsubst checks/grade/child/%.c,$(BUILD)/grade/child/%.o,$(filter-out checks/grade/child/jail%,$(wildcard checks/grade/child/*.c)))
child_flags := -std=c17 -O2 -Wall -Wextra -Wpedantic -Werror -fopenmp -D_GNU_SOURCE -Iinclude -ffp-contract=off
child_common := main.o arena.o ask.o comm.o parameters.o
submission_c := -std=c17 -O2 -g -Wall -Wextra -fopenmp -Iinclude
child_of_tests := $(patsubst tests/checks/grade/child/%.c,$(BUILD)/grade/child/%.o,$(wildcard tests/checks/grade/child/*.c))
# Kernels: the headers of gpu/ that they may know, and in one object the child's side of device memory with the device
# behind it, the emulator or the GPU. -Wp: for the compiler alone, or it would link a runtime to what it instruments.
kernel_headers := $(addprefix $(BUILD)/grade/gpu/,gpu.h emu/cuda.h cuda.h cuda/launches.h launches.h)
kernel_child := $(BUILD)/grade/child/kernels.o $(BUILD)/grade/device/gpu/launches.o
emulator_child := $(patsubst %.c,$(BUILD)/grade/device/%.o,$(filter-out gpu/emu/cublas.c,$(wildcard gpu/emu/*.c)))
device_child := $(BUILD)/grade/child/emulated.o $(if $(cuda_objects),$(BUILD)/grade/child/cuda.o)
submission_emulated := $(patsubst -fsanitize=%,-Wp$(comma)-fsanitize=%,$(filter-out -Werror -fPIC -I%,$(emulate))) -Iinclude -Igpu
submission_cuda := $(filter-out -Werror all-warnings -Xcompiler -fPIC% -I%,$(nvcc_flags)) -Xcompiler -iquote,gpu -Iinclude
# A child's environment is empty: what LD_LIBRARY_PATH knows of the driver goes into the program.
driver_home := $(firstword $(foreach d,$(subst :, ,$(LD_LIBRARY_PATH)),$(if $(wildcard $(d)/libcuda.so.1),$(d))))
driver_rpath := $(if $(driver_home),-Xlinker --disable-new-dtags -Xlinker -rpath=$(driver_home))
graded := $(child) $(kernel_headers) $(device_child) $(BUILD)/grade/flags $(BUILD)/grade/jail
seccomp := $(shell $(PKG_CONFIG) --exists libseccomp 2>/dev/null && echo yes)

.PHONY: all tests always
all: $(BUILD)/tandem $(BUILD)/libtandem.so $(graded)
tests: $(BUILD)/tests $(child_of_tests)

say = $(if $(VERBOSE),,@echo '  $(1) $(2)';)
$(BUILD)/tandem: $(call object,$(program) $(of_program)) $(gpu_objects) $(BUILD)/sources
	$(call say,LD,$@)$(call link,$(mpi_libs))
$(BUILD)/libtandem.so: $(call object,$(library)) $(gpu_objects) $(BUILD)/sources
	$(call say,LD,$@)$(call link) -shared
$(BUILD)/obj/%.o: %.c $(BUILD)/flags checks/build.mk
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(flags) -MMD -MP -c -o $@ $<
# What the assembler says of each kernel, its registers and what it spilled, stands in a .ptxas beside the object.
# ptxas -Werror would refuse spills alone: the losses that it announces are no warnings to it.
$(BUILD)/obj/cuda/%.o: %.cu $(BUILD)/flags checks/build.mk checks/spills.sh
	@mkdir -p $(@D)
	$(call say,NVCC,$<)$(NVCC) $(nvcc_flags) -Xptxas -v -MMD -MP -c -o $@ $< 2>$(@:.o=.ptxas) || { cat $(@:.o=.ptxas) >&2; exit 1; }
	@sh checks/spills.sh $< $(@:.o=.ptxas) '$(SPILLS)' || { rm $@; exit 1; }
$(BUILD)/obj/cuda/gpu/cuda/blas_library.o: private nvcc_flags += -DTD_CUBLAS='"$(cuda_home)/lib64/libcublas.so"'
$(BUILD)/obj/cuda/gpu/comm/%.o: private nvcc_flags += -isystem $(nccl_include) -DTD_NCCL_LIBRARY='"$(nccl_library)"'
# Adam's update is the CPU's to the last bit: a·b + c rounds twice in both.
$(BUILD)/obj/cuda/gpu/adam/%.o: private nvcc_flags += -fmad=false
$(BUILD)/obj/emulated/%.o: %.cu $(BUILD)/flags checks/build.mk
	@mkdir -p $(@D)
	$(call say,EMU,$<)$(CXX) $(emulate) -MMD -MP -c -o $@ $<
# online_f32_fast is one body compiled for several instruction sets, chosen at run time; a·b + c in it rounds once.
fast := $(BUILD)/obj/cpu_ref/attention_forward/online_fast_
$(fast)avx512.o $(fast)avx2.o $(fast)base.o: private flags += -O3 -ffp-contract=fast
ifeq ($(firstword $(subst -, ,$(shell $(CC) -dumpmachine))),x86_64)
$(fast)avx512.o: private flags += -mavx512f
$(fast)avx2.o: private flags += -mavx2 -mfma
endif
# Contexts that take turns on one thread are not what the sanitizers expect; it is the emulator that judges kernels.
$(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard gpu/emu/*.c)): private flags := $(filter-out $(sanitize),$(flags))
$(call object,$(with_mpi)): private flags += $(mpi_cflags)
$(BUILD)/obj/checks/peers/openblas.o: private flags += -DTD_OPENBLAS='"$(shell $(PKG_CONFIG) --variable=libdir openblas 2>/dev/null)/libopenblas.so"'
$(BUILD)/obj/checks/launch.o: private flags += $(if $(mpi_libs),-DTD_HAVE_MPI)
# A record names the commit that it was made from.
COMMIT ?= $(or $(shell git describe --always --dirty --abbrev=12 2>/dev/null),unknown)
$(BUILD)/obj/checks/provenance.o: private flags += -DTD_COMMIT='"$(COMMIT)"'
$(BUILD)/obj/checks/provenance.o: $(BUILD)/commit
$(BUILD)/grade/child/%.o: checks/grade/child/%.c $(BUILD)/flags checks/build.mk
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(child_flags) -MMD -MP -c -o $@ $<
$(child_of_tests): $(BUILD)/grade/child/%.o: tests/checks/grade/child/%.c $(BUILD)/flags checks/build.mk
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(child_flags) -MMD -MP -c -o $@ $<
$(BUILD)/grade/gpu/%: gpu/%
	@mkdir -p $(@D); cp $< $@
$(BUILD)/grade/device/%.o: %.c $(BUILD)/flags checks/build.mk
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(child_flags) -DTD_ARENA_MIB=128 -MMD -MP -c -o $@ $<
$(BUILD)/grade/child/emulated.o: $(kernel_child) $(emulator_child)
$(BUILD)/grade/child/cuda.o: $(kernel_child) $(patsubst %,$(BUILD)/obj/cuda/gpu/cuda/%.o,device launches)
# Absent, and defined all the same: a submission that brings a device of its own is not linked.
$(BUILD)/grade/child/emulated.o: private absent := -Wl,--defsym=td_cuda_device=0
$(device_child):
	$(call say,LD,$@)$(CC) -r -nostdlib $(absent) -o $@ $^
$(BUILD)/grade/jail: $(wildcard checks/grade/child/jail*) $(BUILD)/flags checks/build.mk
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(child_flags) $(if $(seccomp),-DTD_HAVE_LIBSECCOMP) -static -o $@ $(filter %.c,$^) $(if $(seccomp),-lseccomp)
$(BUILD)/obj/checks/grade/sandbox.o: private flags += $(if $(seccomp),-DTD_HAVE_LIBSECCOMP)
# One line a key, read by checks/grade/build_files.c: the compiler's command, what is linked, and how.
$(BUILD)/grade/flags: checks/build.mk $(BUILD)/flags
	@mkdir -p $(@D)
	@printf '%s\n' 'c_compiler $(shell command -v $(CC)) $(submission_c)' 'c_objects $(child_common)' 'c_link -static -lm' \
		'cu_compiler $(shell command -v $(CXX)) $(submission_emulated)' 'cu_objects $(child_common) emulated.o' 'cu_link -static -lm' \
		$(if $(cuda_objects),'cuda_compiler $(cuda_home)/bin/nvcc $(submission_cuda)' 'cuda_objects $(child_common) cuda.o' 'cuda_link -lm $(driver_rpath)') >$@
-include $(patsubst %.o,%.d,$(child) $(emulator_child) $(child_of_tests) $(call object,$(library) $(with_mpi) $(program)) $(test_objects) $(gpu_objects))

ifeq ($(shell $(PKG_CONFIG) --exists criterion 2>/dev/null && echo yes),yes)
$(BUILD)/tests: $(test_objects) $(call object,$(library)) $(gpu_objects) $(BUILD)/sources
	$(call say,LD,$@)$(call link) $(shell $(PKG_CONFIG) --libs criterion)
else
$(BUILD)/tests:
	@echo 'the tests need Criterion, which pkg-config does not find: make setup installs it' >&2; exit 1
.PHONY: $(BUILD)/tests
endif

# Change the flags and everything is compiled anew; add or remove a source and everything is linked anew.
$(BUILD)/flags: text = $(CC) $(flags) $(CXX) $(emulate) $(NVCC) $(nvcc_flags) $(SPILLS) $(nccl_library) $(mpi_cflags) $(seccomp)
$(BUILD)/sources: text = $(sort $(library) $(of_program) $(program) $(tests) $(test_kernels) $(rungs) $(cuda_only)) $(LDFLAGS) $(mpi_libs) $(found_libs) $(cuda_libs) $(LDLIBS)
$(BUILD)/commit: text = $(COMMIT)
$(BUILD)/flags $(BUILD)/sources $(BUILD)/commit: always
	@mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(text))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(text))' >$@
