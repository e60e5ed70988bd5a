# Thin: what you can do, one line each. `make help` lists it.
# SAN=1 builds with AddressSanitizer and UBSan into a folder of its own.

BUILD := build$(if $(SAN),/san)
CC ?= cc
CFLAGS ?= -O2 -g
have = $(shell pkg-config --exists $(1) 2>/dev/null && echo 1)
packages := $(foreach p,jansson hwloc openblas,$(if $(call have,$(p)),$(p)))
upper = $(shell echo $(1) | tr a-z A-Z)

override CFLAGS += -std=c17 -Wall -Wextra -Wpedantic -Werror -fopenmp -fPIC -ffp-contract=off -fvisibility=default
override CPPFLAGS += -Iinclude -D_GNU_SOURCE $(foreach p,$(packages),-DTD_HAVE_$(call upper,$(p)))
ifneq ($(SAN),)
override CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif
ifneq ($(packages),)
override CPPFLAGS += $(shell pkg-config --cflags $(packages))
LDLIBS += $(shell pkg-config --libs $(packages))
endif
LDLIBS += -lm -lpthread

library := $(shell find cpu_ref checks -name '*.c')
program := $(shell find lessons -name '*.c' -not -path '*/exercise/*')
tests := $(shell find tests -name '*.c' -not -path 'tests/cheats/*')
object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

.PHONY: all test clean help
all: $(BUILD)/tandem $(BUILD)/libtandem.so

$(BUILD)/tandem: $(call object,$(program) $(library))
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)
$(BUILD)/libtandem.so: $(call object,$(library))
	$(CC) $(CFLAGS) -shared -o $@ $^ $(LDLIBS)
$(BUILD)/tests: $(call object,$(tests) $(library))
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS) -lcriterion
$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

test: all $(BUILD)/tests ## run every test
	$(BUILD)/tests
clean: ## remove what was built
	rm -rf build
help: ## this list
	@sed -n 's/^\([a-z%-]*\):.*## /  \1\t/p' Makefile | expand -t 20
