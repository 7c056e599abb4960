# profilefs: `make` builds build/profilefs; see README.md. `make help` lists the targets.
CC      ?= cc
PREFIX  ?= /usr/local
BUILD   ?= build
# One name for one folder, however it is given: what objects depend on is kept by name.
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))
CFLAGS  ?= -O2 -g
# The program can be optimised as a whole when it is linked: a tenth faster, but every link takes seconds. `make install` and
# `make bench` do so, in a folder of their own. (Warnings about text that may be a literal of another length go astray then.)
LTO     ?=
OPTIMISED = BUILD=$(BUILD)/optimised CHECKS= CFLAGS="-O3 -g -fno-jump-tables -ffile-prefix-map=$(CURDIR)=." \
            LTO="$(shell $(CC) --version | grep -q 'Free Software' && echo -flto=auto -Wno-stringop-overread)"
# The order of locks is checked at run time (formats/kit/lock.h), except in that build.
CHECKS  ?= -DPF_CHECK_LOCKS
WARN     = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla $(WERROR)
PKGS     = fuse3 libseccomp yaml-0.1 libelf zlib libdeflate json-c sqlite3 libpcre2-8 libarchive libxml-2.0
# The headers of libraries are not checked for warnings: that of libfuse 3.17 has some.
CPPFLAGS += -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DFUSE_USE_VERSION=314 $(CHECKS) \
            $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(PKGS)))
LDLIBS  += $(shell pkg-config --libs $(PKGS)) -liberty -lm -lpthread
# Where a machine can multiply and add in one step, clang would, and round otherwise than on other machines.
STD      = -std=c17 -ffp-contract=off

PREDEFINED := $(shell $(CC) $(CPPFLAGS) $(CFLAGS) -dM -E -x c /dev/null 2>/dev/null)
ifneq ($(PREDEFINED),)
ifeq ($(findstring __SIZEOF_INT128__,$(PREDEFINED)),)
$(error profilefs builds for 64-bit machines only: $(CC) has no __int128 here)
endif
endif

# The front ends (with main, with FUSE) stand apart from the library that everything else is.
FRONT    = fs/main.c fs/fuse/mount.c fs/fuse/ops.c
CORE     = $(filter-out $(FRONT),$(wildcard fs/*.c fs/*/*.c formats/*.c formats/*/*.c))
CORE_O   = $(CORE:%.c=$(BUILD)/%.o)
FRONT_O  = $(FRONT:%.c=$(BUILD)/%.o)
# By name, so that a call can ask for fewer: make unit TESTS="json tree", make fuzz TARGETS=names
TESTS    = $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/*.c))
TARGETS  = $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))
UNIT     = $(TESTS:%=$(BUILD)/tests/%.t)
FUZZ     = $(TARGETS:%=$(BUILD)/fuzzers/%)

all: $(BUILD)/profilefs

$(BUILD)/profilefs: $(FRONT_O) $(CORE_O)
	+$(CC) $(CFLAGS) $(LTO) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/libprofilefs.a: $(CORE_O)
	rm -f $@ && $(AR) qcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(LTO) $(WARN) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%.t: $(BUILD)/tests/unit/%.o $(BUILD)/libprofilefs.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# ---- checking

unit: $(UNIT)

# Preloaded by tests: takes memory away from the program (not from one with a sanitizer, which has its own malloc), and makes its
# calls for files fail.
FAULTS   = $(BUILD)/fail_alloc.so $(BUILD)/fail_io.so
$(FAULTS): $(BUILD)/%.so: tests/mount/%.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) -shared -fPIC -o $@ $< -ldl

# A file system that stops answering, to be mounted below SOURCE by tests.
$(BUILD)/hanging: tests/mount/hanging.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) -o $@ $< $(LDLIBS)

check test: all unit $(FAULTS) $(BUILD)/hanging
	prove --exec '' $(UNIT) tests/mount/*.t

# The same program and unit tests once more, each in a folder of its own: build/asan, build/tsan. Fuzz targets need the
# library built by clang with coverage; what else looks for faults of memory uses that library too, for it is built once.
# (gcc's -Wmaybe-uninitialized goes astray in code that a sanitizer has been put into.)
SANITIZE = -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all
WITH_ASAN = BUILD=$(BUILD)/asan CC=clang LTO= CFLAGS="$(SANITIZE) -fsanitize=address,undefined,fuzzer-no-link"
asan:
	+$(MAKE) $(WITH_ASAN) all unit
fuzz: | $(filter asan,$(MAKECMDGOALS)) # not beside it: both make the same files
	+$(MAKE) $(WITH_ASAN) fuzzers
tsan:
	+$(MAKE) BUILD=$(BUILD)/tsan LTO= CFLAGS="$(SANITIZE) -Wno-maybe-uninitialized -fsanitize=thread" all unit
fuzzers: $(FUZZ)
$(BUILD)/fuzzers/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/libprofilefs.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LDLIBS)

# What was clean is not looked at again before it, or a header of it, changes: symbolic execution takes seconds a file.
tidy: $(patsubst %.c,$(BUILD)/tidy/%.clean,$(FRONT) $(CORE))
$(BUILD)/tidy/%.clean: %.c .clang-tidy
	@mkdir -p $(@D)
	@clang-tidy --quiet --warnings-as-errors='*' $< -- $(STD) $(CPPFLAGS) 2>/dev/null
	@$(CC) $(STD) $(CPPFLAGS) -MM -MP -MT $@ -MF $(@:.clean=.d) $< && touch $@
cppcheck:
	cppcheck -j $(shell nproc) --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    --suppress=missingInclude -I. -D_GNU_SOURCE fs formats
format:
	clang-format -i $(FRONT) $(CORE) $(wildcard fs/*.h fs/*/*.h formats/*.h formats/*/*.h tests/*/*.[ch])

optimised:
	+@$(MAKE) -q $(OPTIMISED) all >/dev/null 2>&1 || \
	    echo "building once more, optimised as a whole, in $(BUILD)/optimised: a minute on two cores"
	+$(MAKE) $(OPTIMISED) all
bench: optimised $(BUILD)/gen_trace $(BUILD)/gen_cube
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
	tests/samples/gen_stacks.py tests/samples/archive
	tests/samples/gen_valgrind.py tests/samples/archive/valgrind
	tests/samples/gen_otf2.py tests/samples/archive/otf2
	tests/samples/gen_spans.py tests/samples/archive/spans

# ---- installation

SHARE    = $(DESTDIR)$(PREFIX)/share
DOC      = $(SHARE)/doc/profilefs
# fish looks into no folder of /usr/local's.
FISHDIR ?= $(if $(filter /usr/local,$(PREFIX)),/etc/fish/completions,$(PREFIX)/share/fish/vendor_completions.d)
# mount(8) looks for helpers here alone, whatever the prefix.
SBINDIR ?= /sbin

install: optimised
	install -D -m 755 $(BUILD)/optimised/profilefs $(DESTDIR)$(PREFIX)/bin/profilefs
	install -D -m 644 docs/profilefs.1 $(SHARE)/man/man1/profilefs.1
	install -D -m 644 docs/completions/profilefs.bash $(SHARE)/bash-completion/completions/profilefs
	install -D -m 644 docs/completions/_profilefs $(SHARE)/zsh/site-functions/_profilefs
	@if [ -n "$(DESTDIR)" ] || mkdir -p $(FISHDIR) 2>/dev/null; then \
	    echo install -D -m 644 docs/completions/profilefs.fish $(DESTDIR)$(FISHDIR)/profilefs.fish; \
	    install -D -m 644 docs/completions/profilefs.fish $(DESTDIR)$(FISHDIR)/profilefs.fish; fi
	install -d $(DOC)/formats $(DOC)/examples
	install -m 644 README.md $(filter-out docs/architecture.md docs/glossary.md docs/hacking.md docs/locking.md,$(wildcard docs/*.md)) $(DOC)
	install -m 644 $(wildcard docs/formats/*.md) $(DOC)/formats
	install -m 644 $(wildcard docs/examples/*) $(DOC)/examples
	@if [ -n "$(DESTDIR)" ] || [ -w $(SBINDIR) ]; then \
	    echo install -D -m 755 scripts/mount.profilefs $(DESTDIR)$(SBINDIR)/mount.profilefs; \
	    install -D -m 755 scripts/mount.profilefs $(DESTDIR)$(SBINDIR)/mount.profilefs; \
	else echo "$(SBINDIR) is not writable: without mount.profilefs, use mount -t fuse.profilefs"; fi

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/profilefs $(SHARE)/man/man1/profilefs.1 \
	    $(SHARE)/bash-completion/completions/profilefs $(SHARE)/zsh/site-functions/_profilefs \
	    $(DESTDIR)$(FISHDIR)/profilefs.fish $(DESTDIR)$(SBINDIR)/mount.profilefs
	rm -rf $(DOC)

deb:
	+BUILD=$(BUILD) scripts/deb

clean:
	rm -rf $(BUILD)

help:
	@echo 'make                       build/profilefs'
	@echo 'make install               with man page, completions and mount helper; DESTDIR= PREFIX=$(PREFIX)'
	@echo 'make uninstall'
	@echo 'make deb                   a Debian package of what is installed, in $(BUILD)'
	@echo 'make check                 unit tests and tests on a real mount (scripts/test runs these and more)'
	@echo 'make asan, make tsan       the program and its unit tests with sanitizers, in build/asan (by clang) and build/tsan'
	@echo 'make fuzz                  fuzz targets in build/asan/fuzzers (scripts/fuzz runs them)'
	@echo 'make tidy, make cppcheck   static analysis'
	@echo 'make format                clang-format over all sources'
	@echo 'make bench                 the figures that scripts/bench measures'
	@echo 'make samples               tests/samples/archive anew'
	@echo 'make clean'

.PHONY: all unit check test asan tsan fuzz fuzzers tidy cppcheck format optimised bench samples install uninstall deb clean help
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
