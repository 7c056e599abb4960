/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fs/sums/aggregate_private.h"

enum { SEGMENT_MIN = 64 * 1024, SEGMENT_MAX = 16 * 1024 * 1024 };

struct pf_segment {
    char *base;
    size_t size;
};

/* Segments double, so that few are needed and a small profile takes little. Whole multiples of a page. */
static size_t next_size(const struct pf_arena *arena, size_t least)
{
    size_t size = SEGMENT_MIN;
    if (arena->n_segments)
        size = arena->segments[arena->n_segments - 1].size * 2;
    if (size > SEGMENT_MAX)
        size = SEGMENT_MAX;
    if (size < least)
        size = (least + SEGMENT_MIN - 1) / SEGMENT_MIN * SEGMENT_MIN;
    return size;
}

static int open_spill(struct pf_arena *arena, struct pf_error *error)
{
    char path[4096];
    const char *folder = getenv("TMPDIR");
    if (!folder || folder[0] != '/')
        folder = "/var/tmp";
    int n = snprintf(path, sizeof path, "%s/profilefs-XXXXXX", folder);
    if (n < 0 || (size_t)n >= sizeof path)
        return pf_fail(error, ENAMETOOLONG, "TMPDIR is too long");
    arena->file = mkostemp(path, O_CLOEXEC);
    if (arena->file < 0)
        return pf_fail(error, errno, "no temporary file in %.100s: %s", folder, strerror(errno));
    unlink(path);
    return 0;
}

/* Blocks are taken from the disk before they are mapped: a full disk is an error here, not a SIGBUS later. */
static char *map_spill(struct pf_arena *arena, size_t size, struct pf_error *error)
{
    if (arena->file < 0 && open_spill(arena, error))
        return NULL;
    int code = posix_fallocate(arena->file, (off_t)arena->file_size, (off_t)size);
    if (code) {
        pf_fail(error, code, "no room for sums in the temporary file: %s", strerror(code));
        return NULL;
    }
    char *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, arena->file, (off_t)arena->file_size);
    if (base == MAP_FAILED) {
        pf_fail_memory(error);
        return NULL;
    }
    arena->file_size += size;
    return base;
}

static char *map_memory(size_t size, struct pf_error *error)
{
    char *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base != MAP_FAILED)
        return base;
    pf_fail_memory(error);
    return NULL;
}

static int add_segment(struct pf_arena *arena, size_t least, struct pf_error *error)
{
    size_t size = next_size(arena, least);
    struct pf_segment *segments = realloc(arena->segments, (arena->n_segments + 1) * sizeof *segments);
    if (!segments)
        return pf_fail_memory(error);
    arena->segments = segments;
    bool fits = arena->mapped + size <= arena->limit;
    char *base = fits ? map_memory(size, error) : map_spill(arena, size, error);
    if (!base)
        return -1;
    segments[arena->n_segments++] = (struct pf_segment){base, size};
    arena->mapped += size;
    arena->at = base;
    arena->left = size;
    return 0;
}

/* Zeroed bytes, in multiples of 16 so that wide integers stay aligned. */
static void *arena_take(struct pf_arena *arena, size_t size, struct pf_error *error)
{
    size = (size + 15) & ~(size_t)15;
    if (arena->left < size && add_segment(arena, size, error))
        return NULL;
    char *at = arena->at;
    arena->at += size;
    arena->left -= size;
    return at;
}

void pf_arena_free(struct pf_arena *arena)
{
    for (size_t i = 0; i < arena->n_segments; i++)
        munmap(arena->segments[i].base, arena->segments[i].size);
    free(arena->segments);
    if (arena->file >= 0)
        close(arena->file);
}

void *pf_plane_at(struct pf_arena *arena, struct pf_plane *plane, size_t count, size_t item, size_t i,
                  struct pf_error *error)
{
    if (!plane->stretches) {
        size_t stretches = (count + PF_STRETCH - 1) / PF_STRETCH;
        plane->stretches = arena_take(arena, stretches * sizeof *plane->stretches, error);
        if (!plane->stretches)
            return NULL;
    }
    char **stretch = &plane->stretches[i / PF_STRETCH];
    if (!*stretch) {
        size_t rest = count - i / PF_STRETCH * PF_STRETCH;
        *stretch = arena_take(arena, (rest < PF_STRETCH ? rest : PF_STRETCH) * item, error);
        if (!*stretch)
            return NULL;
    }
    return *stretch + i % PF_STRETCH * item;
}
