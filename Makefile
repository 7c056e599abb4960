# profilefs: `make` builds build/profilefs; see README.md. `make help` lists the targets.
CC      ?= cc
PREFIX  ?= /usr/local
BUILD   ?= build
CFLAGS  ?= -O2 -g
WARN     = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla $(WERROR)
PKGS     = fuse3
CPPFLAGS += -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DFUSE_USE_VERSION=314 $(shell pkg-config --cflags $(PKGS))
LDLIBS  += $(shell pkg-config --libs $(PKGS)) -lm -lpthread
STD      = -std=c17

# The front ends (with main, with FUSE) stand apart from the library that everything else is.
FRONT    = fs/main.c $(wildcard fs/fuse*.c)
CORE     = $(filter-out $(FRONT),$(wildcard fs/*.c formats/*.c formats/*/*.c))
CORE_O   = $(CORE:%.c=$(BUILD)/%.o)
FRONT_O  = $(FRONT:%.c=$(BUILD)/%.o)
UNIT     = $(patsubst tests/unit/%.c,$(BUILD)/tests/%.t,$(wildcard tests/unit/*.c))

all: $(BUILD)/profilefs

$(BUILD)/profilefs: $(FRONT_O) $(BUILD)/libprofilefs.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/libprofilefs.a: $(CORE_O)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%.t: $(BUILD)/tests/unit/%.o $(BUILD)/libprofilefs.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

unit: $(UNIT)

clean:
	rm -rf $(BUILD)

.PHONY: all unit clean
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
