# profilefs: `make` builds build/profilefs; see README.md. `make help` lists the targets.
CC      ?= cc
PREFIX  ?= /usr/local
BUILD   ?= build
# One name for one folder, however it is given: what objects depend on is kept by name.
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))
CFLAGS  ?= -O3 -g -fno-jump-tables
# The program is optimised as a whole when it is linked (a tenth faster), where the compiler is gcc; `make LTO=` goes without. Its
# warnings about text that may be a literal of another length go astray then.
LTO     ?= $(shell $(CC) --version | grep -q 'Free Software' && echo -flto=auto -Wno-stringop-overread)
LTO     := $(LTO)
# To do so for each unit test would take long: they have objects of their own.
PLAIN    = $(BUILD)$(if $(LTO),/plain)
WARN     = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla $(WERROR)
PKGS     = fuse3 libelf zlib libxml-2.0 json-c sqlite3
CPPFLAGS += -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DFUSE_USE_VERSION=314 $(shell pkg-config --cflags $(PKGS))
LDLIBS  += $(shell pkg-config --libs $(PKGS)) -liberty -lm -lpthread
STD      = -std=c17

# The front ends (with main, with FUSE) stand apart from the library that everything else is.
FRONT    = fs/main.c $(wildcard fs/fuse*.c)
CORE     = $(filter-out $(FRONT),$(wildcard fs/*.c formats/*.c formats/*/*.c))
CORE_O   = $(CORE:%.c=$(BUILD)/%.o)
FRONT_O  = $(FRONT:%.c=$(BUILD)/%.o)
UNIT     = $(patsubst tests/unit/%.c,$(BUILD)/tests/%.t,$(wildcard tests/unit/*.c))
FUZZ     = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzzers/%,$(wildcard tests/fuzz/*.c))

all: $(BUILD)/profilefs

$(BUILD)/profilefs: $(FRONT_O) $(CORE_O)
	+$(CC) $(CFLAGS) $(LTO) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/libprofilefs.a: $(CORE:%.c=$(PLAIN)/%.o)
	rm -f $@ && $(AR) qcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(LTO) $(WARN) -MMD -MP -c -o $@ $<

$(BUILD)/plain/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%.t: $(PLAIN)/tests/unit/%.o $(BUILD)/libprofilefs.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# ---- checking

unit: $(UNIT)

# Takes memory away from the program, for tests/mount/out_of_memory.t. (Not from one with a sanitizer, which has its own malloc.)
$(BUILD)/fail_alloc.so: tests/mount/fail_alloc.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) -shared -fPIC -o $@ $<

check test: all unit $(BUILD)/fail_alloc.so
	prove --exec '' $(UNIT) tests/mount/*.t

# The same program and unit tests once more, each in a folder of its own: build/asan, build/tsan.
# (gcc's -Wmaybe-uninitialized goes astray in code that a sanitizer has been put into.)
SANITIZE = -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all
asan:
	+$(MAKE) BUILD=$(BUILD)/asan LTO= CFLAGS="$(SANITIZE) -Wno-maybe-uninitialized -fsanitize=address,undefined" all unit
tsan:
	+$(MAKE) BUILD=$(BUILD)/tsan LTO= CFLAGS="$(SANITIZE) -Wno-maybe-uninitialized -fsanitize=thread" all unit

# The fuzz targets need the library built by clang with coverage; they end up in build/fuzz/fuzzers.
fuzz:
	+$(MAKE) BUILD=$(BUILD)/fuzz CC=clang LTO= CFLAGS="$(SANITIZE) -fsanitize=address,undefined,fuzzer-no-link" fuzzers
fuzzers: $(FUZZ)
$(BUILD)/fuzzers/%: $(PLAIN)/tests/fuzz/%.o $(BUILD)/libprofilefs.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LDLIBS)

tidy:
	@printf '%s\n' $(FRONT) $(CORE) | xargs -n 1 -P $(shell nproc) sh -c \
	    'clang-tidy --quiet --warnings-as-errors="*" "$$1" -- $(STD) $(CPPFLAGS) 2>/dev/null' tidy
cppcheck:
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    --suppress=missingInclude -I. -D_GNU_SOURCE fs formats
format:
	clang-format -i $(FRONT) $(CORE) $(wildcard fs/*.h formats/*.h formats/*/*.h tests/*/*.[ch])

bench: all $(BUILD)/gen_trace $(BUILD)/gen_cube
	BUILD=$(BUILD) scripts/bench
$(BUILD)/gen_%: tests/bench/gen_%.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) -o $@ $< -lz

samples:
	tests/samples/gen_xray.py --samples tests/samples/archive
	tests/samples/gen_extrap.py tests/samples/archive/scaling/heat.txt
	tests/samples/gen_extrap.py tests/samples/archive/scaling/heat.extra-p
	tests/samples/gen_extrap.py tests/samples/archive/scaling/heat.jsonl --repetitions 2
	tests/samples/gen_hpctoolkit.py tests/samples/archive/hpc
	tests/samples/gen_cube.py tests/samples/archive/cube
	tests/samples/gen_nsight.py --samples tests/samples/archive
	tests/samples/gen_afperf.py tests/samples/archive/afsim/coast.afperf
	tests/samples/gen_perun.py tests/samples/archive/perun

# ---- installation

SHARE    = $(DESTDIR)$(PREFIX)/share
# mount(8) looks for helpers here alone, whatever the prefix.
SBINDIR ?= /sbin

install: all
	install -D -m 755 $(BUILD)/profilefs $(DESTDIR)$(PREFIX)/bin/profilefs
	install -D -m 644 docs/profilefs.1 $(SHARE)/man/man1/profilefs.1
	install -D -m 644 docs/completions/profilefs.bash $(SHARE)/bash-completion/completions/profilefs
	install -D -m 644 docs/completions/_profilefs $(SHARE)/zsh/site-functions/_profilefs
	install -D -m 644 docs/completions/profilefs.fish $(SHARE)/fish/vendor_completions.d/profilefs.fish
	@if [ -n "$(DESTDIR)" ] || [ -w $(SBINDIR) ]; then \
	    echo install -D -m 755 scripts/mount.profilefs $(DESTDIR)$(SBINDIR)/mount.profilefs; \
	    install -D -m 755 scripts/mount.profilefs $(DESTDIR)$(SBINDIR)/mount.profilefs; \
	else echo "$(SBINDIR) is not writable: without mount.profilefs, use mount -t fuse.profilefs"; fi

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/profilefs $(SHARE)/man/man1/profilefs.1 \
	    $(SHARE)/bash-completion/completions/profilefs $(SHARE)/zsh/site-functions/_profilefs \
	    $(SHARE)/fish/vendor_completions.d/profilefs.fish $(DESTDIR)$(SBINDIR)/mount.profilefs

clean:
	rm -rf $(BUILD)

help:
	@echo 'make                       build/profilefs'
	@echo 'make install               with man page, completions and mount helper; DESTDIR= PREFIX=$(PREFIX)'
	@echo 'make uninstall'
	@echo 'make check                 unit tests and tests on a real mount (scripts/test runs these and more)'
	@echo 'make asan, make tsan       the program and its unit tests with sanitizers, in build/asan and build/tsan'
	@echo 'make fuzz                  fuzz targets in build/fuzz/fuzzers (clang; scripts/fuzz runs them)'
	@echo 'make tidy, make cppcheck   static analysis'
	@echo 'make format                clang-format over all sources'
	@echo 'make bench                 the figures that scripts/bench measures'
	@echo 'make samples               tests/samples/archive anew'
	@echo 'make clean'

.PHONY: all unit check test asan tsan fuzz fuzzers tidy cppcheck format bench samples install uninstall clean help
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
