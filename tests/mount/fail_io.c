/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into the program by io_errors.t. Counts the calls of the program itself, not those of its libraries, that open, stat, list or
 * read files below the folder FAIL_BELOW. Call number FAIL_AT and the next ones, FAIL_COUNT in all, fail with the errno value FAIL_CODE.
 * Other variables have an effect if they are set:
 *   FAIL_NAME    only calls whose path contains this text are counted
 *   FAIL_CALLS   only calls of these kinds are counted: o (open), s (stat), l (list), r (read)
 *   FAIL_SWITCH  calls are counted only while they are switched on; each SIGUSR2 switches them on or off
 *   COUNT_TO     this file receives the number of counted calls at exit
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static uintptr_t program_start, program_end;
static atomic_long counted;
static atomic_bool off;
static long fail_at, fail_end;
static int fail_code, count_to = -1; /* opened at the start: later the program's sandbox forbids it */
static const char *below, *name_part, *letters;

/* Callback of dl_iterate_phdr, which lists the program before its libraries. */
static int find_program(struct dl_phdr_info *object, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    program_start = UINTPTR_MAX;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
        if (part->p_type != PT_LOAD)
            continue;
        program_start = start < program_start ? start : program_start;
        program_end = end > program_end ? end : program_end;
    }
    return 1;
}

static void toggle(int signal)
{
    (void)signal;
    off = !off;
}

static long number_of(const char *variable, long otherwise)
{
    const char *text = getenv(variable);
    return text ? atol(text) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("COUNT_TO");
    fail_at = number_of("FAIL_AT", 0);
    fail_end = fail_at + number_of("FAIL_COUNT", 1);
    fail_code = (int)number_of("FAIL_CODE", EIO);
    below = getenv("FAIL_BELOW");
    name_part = getenv("FAIL_NAME");
    letters = getenv("FAIL_CALLS");
    off = getenv("FAIL_SWITCH") != NULL;
    if (off)
        signal(SIGUSR2, toggle);
    if (path)
        count_to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dl_iterate_phdr(find_program, NULL);
}

__attribute__((destructor)) static void end(void)
{
    char text[32];
    int size = snprintf(text, sizeof text, "%ld\n", (long)counted);
    if (count_to >= 0 && write(count_to, text, (size_t)size) == size)
        close(count_to);
}

/* Returns true and sets errno if the call is to fail. `fd` and `path` are openat's arguments; a NULL path means the descriptor itself. */
static bool fails(const void *caller, char letter, int fd, const char *path)
{
    char link[32], full[2 * PATH_MAX] = "";
    int saved = errno;
    if (off || !below || (uintptr_t)caller < program_start || (uintptr_t)caller >= program_end ||
        (letters && !strchr(letters, letter)))
        return false;
    if (!path || *path != '/') {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t size = readlink(link, full, PATH_MAX);
        full[size > 0 ? size : 0] = 0;
        errno = saved;
    }
    if (path && *path)
        snprintf(full + strlen(full), PATH_MAX, "/%s", path);
    if (strncmp(full, below, strlen(below)) != 0 || (name_part && !strstr(full, name_part)))
        return false;
    long number = atomic_fetch_add(&counted, 1) + 1;
    if (!fail_at || number < fail_at || number >= fail_end)
        return false;
    errno = fail_code;
    return true;
}

/* Sets `next` to the replaced function of the C library; POSIX suggests this cast for dlsym. */
#define FIND(next, name)                                                                                     \
    if (!(next))                                                                                             \
    *(void **)&(next) = dlsym(RTLD_NEXT, name)
#define CALLER __builtin_return_address(0)

long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long x[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        x[i] = va_arg(args, long);
    va_end(args);
    FIND(next, "syscall");
    if (number == SYS_openat2 && fails(CALLER, 'o', (int)x[0], (const char *)x[1]))
        return -1;
    return next(number, x[0], x[1], x[2], x[3], x[4], x[5]);
}

/* The program's opens never create files below FAIL_BELOW; elsewhere the mode is passed on. */
int openat64(int fd, const char *path, int flags, ...)
{
    static int (*next)(int, const char *, int, ...);
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    FIND(next, "openat64");
    return fails(CALLER, 'o', fd, path) ? -1 : next(fd, path, flags, mode);
}

ssize_t pread64(int fd, void *buffer, size_t size, off64_t offset)
{
    static ssize_t (*next)(int, void *, size_t, off64_t);
    FIND(next, "pread64");
    return fails(CALLER, 'r', fd, NULL) ? -1 : next(fd, buffer, size, offset);
}

int fstat64(int fd, struct stat64 *st)
{
    static int (*next)(int, struct stat64 *);
    FIND(next, "fstat64");
    return fails(CALLER, 's', fd, NULL) ? -1 : next(fd, st);
}

int fstatat64(int fd, const char *path, struct stat64 *st, int flags)
{
    static int (*next)(int, const char *, struct stat64 *, int);
    FIND(next, "fstatat64");
    return fails(CALLER, 's', fd, path) ? -1 : next(fd, path, st, flags);
}

struct dirent64 *readdir64(DIR *folder)
{
    static struct dirent64 *(*next)(DIR *);
    FIND(next, "readdir64");
    return fails(CALLER, 'l', dirfd(folder), NULL) ? NULL : next(folder);
}
