/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/kit/bytes.h"
#include "formats/nsight/nsight.h"

/*
 * Any SQLite database starts alike: what tells an export are the names in its schema. This is a table whose tree begins
 * on the first page; if it is long, its rows stand on pages below that one, which lie anywhere in the file.
 *
 * All numbers are big-endian. The file: magic, at 16 the size of a page (1: 65536). A page of a table, the first one
 * behind the file's header of 100 bytes: its kind, at 3 the number of cells, and of an inner page at 8 its last child, at
 * 12 the offsets of the cells, each of which begins with a child.
 */
enum { HEADER = 100, PAGE_SIZE = 16, INNER = 5, CELLS = 3, LAST_CHILD = 8, CELL_OFFSETS = 12 };

/* Pages below the first that are looked at: schemas of exports have up to 40. */
enum { PAGES_MAX = 64 };

/* What the schema has been seen to have. */
struct sighting {
    bool strings; /* all exports have these, */
    bool events;  /* and what there is to show has one of these */
};

static bool has_word(const unsigned char *bytes, size_t size, const char *word)
{
    return memmem(bytes, size, word, strlen(word)) != NULL;
}

static void look_at(struct sighting *sighting, const unsigned char *page, size_t size)
{
    sighting->strings = sighting->strings || has_word(page, size, "StringIds");
    sighting->events = sighting->events || has_word(page, size, "CUPTI_ACTIVITY_KIND_") ||
                       has_word(page, size, "NVTX_EVENTS");
}

static bool is_enough(const struct sighting *sighting)
{
    return sighting->strings && sighting->events;
}

/* Looks at the pages that the first one leads to. page: room for one. */
static void look_below(struct sighting *sighting, const struct pf_probe *probe, const unsigned char *first,
                       size_t page_size, unsigned char *page)
{
    uint32_t cells = pf_u16(first + HEADER + CELLS, true);
    for (uint32_t i = 0; i <= cells && i < PAGES_MAX && !is_enough(sighting); i++) {
        size_t at = i == cells ? HEADER + LAST_CHILD : HEADER + CELL_OFFSETS + 2 * (size_t)i;
        if (at + 4 > page_size)
            return;
        if (i < cells)
            at = pf_u16(first + at, true);
        if (at + 4 > page_size || !pf_u32(first + at, true))
            return;
        ssize_t n =
            pf_probe_read(probe, page, page_size, (uint64_t)(pf_u32(first + at, true) - 1) * page_size);
        if (n > 0)
            look_at(sighting, page, (size_t)n);
    }
}

void nsight_probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    static const char magic[16] = "SQLite format 3";
    struct sighting sighting = {0};
    size_t have;
    const unsigned char *bytes = pf_probe_head(probe, sizeof magic, &have);
    if (have <= HEADER + CELL_OFFSETS || memcmp(bytes, magic, sizeof magic) != 0)
        return;
    size_t page_size = pf_u16(bytes + PAGE_SIZE, true) == 1 ? 65536 : pf_u16(bytes + PAGE_SIZE, true);
    bytes = pf_probe_head(probe, page_size, &have);
    look_at(&sighting, bytes, have);
    if (bytes[HEADER] == INNER && have >= page_size && page_size >= 512) {
        unsigned char *page = malloc(page_size);
        if (page)
            look_below(&sighting, probe, bytes, page_size, page);
        else
            pf_probe_failed(probe, ENOMEM);
        free(page);
    }
    verdict->confidence = is_enough(&sighting) ? 40 : 0;
}
