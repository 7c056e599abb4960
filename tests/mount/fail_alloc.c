/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into the program by out_of_memory.t. Counts the allocations of the program itself, not those of its libraries. The FAIL_AT-th
 * one and the next ones fail, FAIL_COUNT in all. COUNT_TO, if set, names a file that receives the number of allocations at exit.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* glibc's own names of the functions that are replaced here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static uintptr_t program_start, program_end;
static atomic_long asked;
static long fail_at, fail_end;
static int count_to = -1; /* opened at the start: later the program's sandbox forbids it */

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

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_AT"), *count = getenv("FAIL_COUNT");
    fail_at = at ? atol(at) : 0;
    fail_end = fail_at + (count ? atol(count) : 1);
    const char *path = getenv("COUNT_TO");
    if (path)
        count_to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dl_iterate_phdr(find_program, NULL);
}

__attribute__((destructor)) static void end(void)
{
    char text[32];
    int size = snprintf(text, sizeof text, "%ld\n", (long)asked);
    if (count_to >= 0 && write(count_to, text, (size_t)size) == size)
        close(count_to);
}

static bool fails(const void *caller)
{
    if ((uintptr_t)caller < program_start || (uintptr_t)caller >= program_end)
        return false;
    long number = atomic_fetch_add(&asked, 1) + 1;
    bool failing = fail_at && number >= fail_at && number < fail_end;
    if (failing)
        errno = ENOMEM;
    return failing;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}
