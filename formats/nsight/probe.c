/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/kit/bytes.h"
#include "formats/nsight/nsight.h"
#include "formats/probe.h"

/*
 * An export is a SQLite database that has certain tables in its schema. The schema itself is a table. The root of its
 * B-tree is the first page of the file. A long schema has its rows on child pages, which can be anywhere in the file.
 *
 * The file begins with a header of HEADER bytes, which has the size of a page at PAGE_SIZE; the number 1 means 65536.
 * The header of the first page follows. The page header begins with the kind of page, and has the number of cells at
 * CELLS. If the kind is INNER, the page header has the number of the last child page at LAST_CHILD, and the offsets of
 * the cells follow from CELL_OFFSETS on. Each cell then begins with the number of a child page. All numbers are
 * big-endian.
 */
enum { HEADER = 100, PAGE_SIZE = 16, INNER = 5, CELLS = 3, LAST_CHILD = 8, CELL_OFFSETS = 12 };

/* Maximum number of child pages that are read; schemas of exports have up to 40. */
enum { PAGES_MAX = 64 };

/* Evidence in the schema, as bits. Every export has the table of strings, and one with measurements has tables of events. */
enum { HAS_STRINGS = 1, HAS_EVENTS = 2, IS_EXPORT = HAS_STRINGS | HAS_EVENTS };

static bool has_word(const unsigned char *bytes, size_t size, const char *word)
{
    return memmem(bytes, size, word, strlen(word)) != NULL;
}

/* Returns the bits of evidence that a page of the schema contains. */
static unsigned evidence_in_page(const unsigned char *page, size_t size)
{
    bool events = has_word(page, size, "CUPTI_ACTIVITY_KIND_") || has_word(page, size, "NVTX_EVENTS");
    return (has_word(page, size, "StringIds") ? HAS_STRINGS : 0) | (events ? HAS_EVENTS : 0);
}

/* Reads children of the page `first` into `page`, which has page_size bytes. Returns `seen` with the evidence in these children. */
static unsigned evidence_in_children(unsigned seen, struct pf_probe *probe, const unsigned char *first,
                                     size_t page_size, unsigned char *page)
{
    uint32_t cells = pf_u16(first + HEADER + CELLS, true);
    for (uint32_t i = 0; i <= cells && i < PAGES_MAX && seen != IS_EXPORT; i++) {
        size_t at = i == cells ? HEADER + LAST_CHILD : HEADER + CELL_OFFSETS + 2 * (size_t)i;
        if (at + 4 > page_size)
            break;
        if (i < cells)
            at = pf_u16(first + at, true);
        if (at + 4 > page_size || !pf_u32(first + at, true))
            break;
        ssize_t n =
            pf_probe_read(probe, page, page_size, (uint64_t)(pf_u32(first + at, true) - 1) * page_size);
        if (n > 0)
            seen |= evidence_in_page(page, (size_t)n);
    }
    return seen;
}

void nsight_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    static const char magic[16] = "SQLite format 3";
    size_t have;
    const unsigned char *bytes = pf_probe_head(probe, sizeof magic, &have);
    if (have <= HEADER + CELL_OFFSETS || memcmp(bytes, magic, sizeof magic) != 0)
        return;
    size_t page_size = pf_u16(bytes + PAGE_SIZE, true) == 1 ? 65536 : pf_u16(bytes + PAGE_SIZE, true);
    bytes = pf_probe_head(probe, page_size, &have);
    unsigned seen = evidence_in_page(bytes, have);
    if (bytes[HEADER] == INNER && have >= page_size && page_size >= 512) {
        unsigned char *page = malloc(page_size);
        if (page)
            seen = evidence_in_children(seen, probe, bytes, page_size, page);
        else
            pf_probe_failed(probe, ENOMEM);
        free(page);
    }
    result->confidence = seen == IS_EXPORT ? 40 : 0;
}
