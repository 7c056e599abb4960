# profilefs: `make` builds build/profilefs; see README.md. `make help` lists the targets.
CC      ?= cc
PREFIX  ?= /usr/local
BUILD   ?= build
# Make the build folder's path relative if it is below this folder: make compares the names of dependencies as text.
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))
CFLAGS  ?= -O2 -g
# Link-time optimisation makes the program a tenth faster, but every link takes seconds. `make install` and `make bench` use it,
# in a separate build folder. (With it, -Wstringop-overread has false positives.)
LTO     ?=
OPTIMISED = BUILD=$(BUILD)/optimised CHECKS= CFLAGS="-O3 -g -fno-jump-tables -ffile-prefix-map=$(CURDIR)=." \
            LTO="$(shell $(CC) --version | grep -q 'Free Software' && echo -flto=auto -Wno-stringop-overread)"
# Every build except the optimised one asserts the order of locks at run time (formats/kit/lock.h).
CHECKS  ?= -DPF_CHECK_LOCKS
WARN     = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla $(WERROR)
PKGS     = fuse3 libseccomp yaml-0.1 libelf zlib libdeflate json-c sqlite3 libpcre2-8 libarchive libxml-2.0
# -isystem suppresses warnings in library headers: libfuse 3.17's header causes some.
CPPFLAGS += -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DFUSE_USE_VERSION=314 $(CHECKS) \
            $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(PKGS)))
LDLIBS  += $(shell pkg-config --libs $(PKGS)) -liberty -lm -lpthread
# Without -ffp-contract=off, clang would use fused multiply-add on machines that have it, and round results differently than on others.
STD      = -std=c17 -ffp-contract=off

PREDEFINED := $(shell $(CC) $(CPPFLAGS) $(CFLAGS) -dM -E -x c /dev/null 2>/dev/null)
ifneq ($(PREDEFINED),)
ifeq ($(findstring __SIZEOF_INT128__,$(PREDEFINED)),)
$(error profilefs builds for 64-bit machines only: $(CC) has no __int128 here)
endif
endif

# The front end (main, FUSE) is not in libprofilefs.a, the library that tests link.
FRONT    = fs/main.c fs/fuse/mount.c fs/fuse/ops.c
CORE     = $(filter-out $(FRONT),$(wildcard fs/*.c fs/*/*.c formats/*.c formats/*/*.c))
CORE_O   = $(CORE:%.c=$(BUILD)/%.o)
FRONT_O  = $(FRONT:%.c=$(BUILD)/%.o)
# Names of unit tests and fuzz targets; the command line can select some: make unit TESTS="json tree", make fuzz TARGETS=names
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

# Libraries that tests preload to make the program's file calls or allocations fail. Allocations fail only without a sanitizer.
FAULTS   = $(BUILD)/fail_alloc.so $(BUILD)/fail_io.so
$(FAULTS): $(BUILD)/%.so: tests/mount/%.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) -shared -fPIC -o $@ $< -ldl

# A file system that stops answering; tests mount it below SOURCE.
$(BUILD)/hanging: tests/mount/hanging.c
	@mkdir -p $(@D)
	$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) -o $@ $< $(LDLIBS)

check test: all unit $(FAULTS) $(BUILD)/hanging
	prove --exec '' $(UNIT) tests/mount/*.t

# The program and the unit tests are built with sanitizers in build/asan and build/tsan. Fuzz targets need a library that clang has
# built with coverage. The ASan build uses the same library, so that it is built once.
# (gcc's -Wmaybe-uninitialized has false positives in instrumented code.)
SANITIZE = -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all
WITH_ASAN = BUILD=$(BUILD)/asan CC=clang LTO= CFLAGS="$(SANITIZE) -fsanitize=address,undefined,fuzzer-no-link"
asan:
	+$(MAKE) $(WITH_ASAN) all unit
fuzz: | $(filter asan,$(MAKECMDGOALS)) # not concurrently: both write the same files
	+$(MAKE) $(WITH_ASAN) fuzzers
tsan:
	+$(MAKE) BUILD=$(BUILD)/tsan LTO= CFLAGS="$(SANITIZE) -Wno-maybe-uninitialized -fsanitize=thread" all unit
fuzzers: $(FUZZ)
$(BUILD)/fuzzers/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/libprofilefs.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LDLIBS)

# A check takes seconds. A file with a NAME.clean had no findings; it is checked again only if it or a header has changed since.
tidy: $(patsubst %.c,$(BUILD)/tidy/%.clean,$(FRONT) $(CORE))
$(BUILD)/tidy/%.clean: %.c .clang-tidy
	@mkdir -p $(@D)
	@clang-tidy --quiet --warnings-as-errors='*' $< -- $(STD) $(CPPFLAGS) 2>/dev/null
	@$(CC) $(STD) $(CPPFLAGS) -MM -MP -MT $@ -MF $(@:.clean=.d) $< && touch $@
cppcheck:
	cppcheck -j $(shell nproc) --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    --suppress=missingInclude --library=scripts/cppcheck.cfg -I. -D_GNU_SOURCE fs formats
format:
	clang-format -i $(FRONT) $(CORE) $(wildcard fs/*.h fs/*/*.h formats/*.h formats/*/*.h tests/*/*.[ch])

optimised:
	+@$(MAKE) -q $(OPTIMISED) all >/dev/null 2>&1 || \
	    echo "building with link-time optimisation in $(BUILD)/optimised: a minute on two cores"
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
# fish does not search /usr/local.
FISHDIR ?= $(if $(filter /usr/local,$(PREFIX)),/etc/fish/completions,$(PREFIX)/share/fish/vendor_completions.d)
# mount(8) looks for helpers only here, whatever the prefix.
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
	@echo 'make samples               generate tests/samples/archive again'
	@echo 'make clean'

.PHONY: all unit check test asan tsan fuzz fuzzers tidy cppcheck format optimised bench samples install uninstall deb clean help
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
