/* SPDX-License-Identifier: MIT */
#include "fs/text/text.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/pass.h"

enum {
    PAGE = 4096,   /* of the kernel's cache */
    RECORD = 1024, /* bytes that most are shorter than */
};

/* A walk that hands out bytes, not records: what a record has left over waits for the next block. */
struct pf_reader {
    struct pf_lines *lines;
    uint64_t offset; /* in the text, of the first byte in rest, or of the next record */
    struct pf_buf rest;
};

static void reader_free(struct pf_reader *reader)
{
    if (!reader)
        return;
    if (reader->lines)
        reader->lines->ops->close(reader->lines);
    pf_buf_free(&reader->rest);
    free(reader);
}

void pf_text_init(struct pf_text *text, uint64_t id,
                  struct pf_lines *(*walk)(void *owner, struct pf_error *error), void *owner)
{
    *text = (struct pf_text){.id = id, .walk = walk, .owner = owner};
    pf_lock_init(&text->lock, PF_RANK_TEXT);
}

void pf_text_close(struct pf_text *text)
{
    reader_free(text->idle);
    pf_track_free(&text->own);
    pf_lock_destroy(&text->lock);
}

/* ---- marks; with the lock held ------------------------------------------------------------------ */

static const struct pf_track *track_of(const struct pf_text *text)
{
    return text->shared ? text->shared : &text->own;
}

static size_t mark_count(const struct pf_text *text)
{
    return text->shared ? text->end - text->first : text->own.count;
}

static const struct pf_mark *mark(const struct pf_text *text, size_t i)
{
    return &track_of(text)->marks[text->shared ? text->first + i : i];
}

/* Where gap k begins: gap 0 at the start of the text, gap k at mark k - 1. */
static uint64_t gap_start(const struct pf_text *text, size_t k)
{
    if (k == 0)
        return 0;
    const struct pf_mark *at = mark(text, k - 1);
    return text->part ? at->part : at->full;
}

static size_t gap_of(const struct pf_text *text, uint64_t offset)
{
    size_t low = 0, high = mark_count(text);
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (gap_start(text, middle) <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* ---- measuring ---------------------------------------------------------------------------------- */

/* A walk that stands at the beginning of gap k. */
static struct pf_lines *walk_from(struct pf_text *text, size_t k, struct pf_error *error)
{
    pf_may_block();
    struct pf_lines *lines = text->walk(text->owner, error);
    if (!lines || k == 0)
        return lines;
    pf_lock_take(&text->lock);
    const struct pf_mark at = *mark(text, k - 1);
    void *blob = malloc(at.size + 1);
    if (blob)
        memcpy(blob, track_of(text)->blobs + at.blob, at.size);
    pf_lock_drop(&text->lock);
    int failed = blob ? pf_lines_restore(lines, blob, at.size, error) : pf_fail_memory(error);
    free(blob);
    if (failed) {
        lines->ops->close(lines);
        return NULL;
    }
    return lines;
}

static int measure_record(struct pf_lines *lines, struct pf_buf *scratch, uint64_t *size,
                          struct pf_error *error)
{
    pf_may_block();
    if (lines->ops->measure)
        return lines->ops->measure(lines, size, error);
    scratch->size = 0;
    int more = lines->ops->next(lines, scratch, error);
    *size += scratch->size;
    return scratch->failed ? pf_fail_memory(error) : more;
}

/* Adds the mark of the walk's position, unless another thread has been here before. */
static int add_mark(struct pf_text *text, const struct pf_lines *lines, uint64_t offset, size_t position,
                    struct pf_error *error)
{
    int result = 0;
    pf_lock_take(&text->lock);
    if (offset > text->covered) {
        void *blob = pf_track_add(&text->own, offset, offset, position, error);
        if (blob)
            pf_lines_save(lines, blob, position);
        else
            result = -1;
        text->covered = offset;
    }
    pf_lock_drop(&text->lock);
    return result;
}

bool pf_text_is_sized(struct pf_text *text, uint64_t *size)
{
    pf_lock_take(&text->lock);
    bool sized = text->sized;
    if (sized && size)
        *size = text->size;
    pf_lock_drop(&text->lock);
    return sized;
}

static int cover_with(struct pf_text *text, struct pf_lines *lines, uint64_t offset, uint64_t until,
                      struct pf_error *error)
{
    struct pf_buf scratch = {0};
    uint64_t last = offset, known = 0;
    pf_text_is_sized(text, &known);
    int more = 1;
    for (uint64_t steps = 0; more > 0; steps++) {
        if (steps % 4096 == 0 && pf_pass_step(offset, known, error))
            more = -1;
        if (more > 0 && offset > last && offset - last >= PF_MARK) {
            size_t position = pf_lines_save(lines, NULL, 0);
            if (pf_mark_due(offset - last, position)) {
                more = add_mark(text, lines, offset, position, error) ? -1 : 1;
                last = offset;
                if (more > 0 && offset >= until)
                    break;
            }
        }
        if (more > 0)
            more = measure_record(lines, &scratch, &offset, error);
    }
    pf_buf_free(&scratch);
    if (more)
        return more < 0 ? -1 : 0;
    pf_lock_take(&text->lock);
    bool contradicts = text->sized && text->size != offset;
    if (!contradicts &&
        !text->sized) { /* written once: whoever knows that it is known reads it without the lock */
        text->size = offset;
        text->sized = true;
    }
    if (!contradicts)
        text->covered = offset;
    pf_lock_drop(&text->lock);
    return contradicts ? pf_fail(error, ESTALE, "the text is not as long as it was") : 0;
}

int pf_text_cover(struct pf_text *text, uint64_t until, struct pf_error *error)
{
    pf_lock_take(&text->lock);
    bool covered = text->shared || (text->sized && text->covered >= text->size) || text->covered > until;
    size_t k = text->shared ? 0 : text->own.count;
    uint64_t offset = covered ? 0 : gap_start(text, k);
    pf_lock_drop(&text->lock);
    if (covered)
        return 0;
    struct pf_lines *lines = walk_from(text, k, error);
    if (!lines)
        return -1;
    int result = cover_with(text, lines, offset, until, error);
    lines->ops->close(lines);
    return result;
}

uint64_t pf_text_distance(struct pf_text *text, uint64_t offset)
{
    pf_lock_take(&text->lock);
    uint64_t distance = 0;
    bool short_text = text->size <= 4 * (uint64_t)PF_BLOCK;
    if (!text->shared && !short_text && text->covered < text->size && offset < text->size &&
        offset >= gap_start(text, text->own.count) + PF_BLOCK)
        distance = offset - gap_start(text, text->own.count);
    pf_lock_drop(&text->lock);
    return distance;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* A block to be made: gaps that begin within the same PF_BLOCK bytes, or a part of one. */
struct extent {
    size_t gap; /* the first, and where that begins */
    uint64_t gap_start;
    uint64_t start, end; /* of the block */
};

static uint64_t gap_end(const struct pf_text *text, size_t k)
{
    return k < mark_count(text) ? gap_start(text, k + 1) : text->size;
}

/* The first gap that begins at or behind an offset; one past the last if none does. */
static size_t gap_from(const struct pf_text *text, uint64_t offset)
{
    size_t k = gap_of(text, offset);
    return k + (gap_start(text, k) < offset);
}

/* The block for who reads on from `offset`. Few marks may stand in a long gap, because positions are large. */
static struct extent extent_of(struct pf_text *text, uint64_t offset)
{
    pf_lock_take(&text->lock);
    size_t k = gap_of(text, offset);
    uint64_t first = gap_start(text, k) / PF_BLOCK * PF_BLOCK, end = gap_end(text, k);
    struct extent extent = {.gap = k, .gap_start = gap_start(text, k)};
    if (end - extent.gap_start <= PF_BLOCK) {
        size_t next = gap_from(text, first + PF_BLOCK);
        uint64_t all_end = next <= mark_count(text) ? gap_start(text, next) : text->size;
        size_t from = gap_from(text, first);
        if (all_end - gap_start(text, from) <= 2 * (uint64_t)PF_BLOCK) {
            extent.gap = from;
            extent.gap_start = gap_start(text, from);
            end = all_end;
        }
    }
    pf_lock_drop(&text->lock);
    extent.start = extent.gap_start;
    extent.end = end;
    if (end - extent.start > 4 * (uint64_t)PF_BLOCK) {
        extent.start += (offset - extent.start) / PF_BLOCK * PF_BLOCK;
        if (end - extent.start > PF_BLOCK)
            extent.end = extent.start + PF_BLOCK;
    }
    return extent;
}

/* The pages of one gap that hold the range. */
static struct extent pages_of(struct pf_text *text, uint64_t offset, size_t size)
{
    pf_lock_take(&text->lock);
    size_t k = gap_of(text, offset);
    struct extent extent = {.gap = k, .gap_start = gap_start(text, k), .end = gap_end(text, k)};
    pf_lock_drop(&text->lock);
    uint64_t start = offset / PAGE * PAGE, end = (offset + size + PAGE - 1) / PAGE * PAGE;
    extent.start = start > extent.gap_start ? start : extent.gap_start;
    if (extent.end > end)
        extent.end = end;
    return extent;
}

/* An open gap becomes shorter when marks are added, and blocks may be pages: those of equal start are told apart by their length (at
 * most 2^20). */
static uint64_t block_index(const struct extent *extent)
{
    return extent->start | (extent->end - extent->start) << 44;
}

static struct pf_reader *take_idle(struct pf_text *text, uint64_t offset)
{
    pf_lock_take(&text->lock);
    struct pf_reader *reader = text->idle;
    if (reader && reader->offset == offset)
        text->idle = NULL;
    else
        reader = NULL;
    pf_lock_drop(&text->lock);
    return reader;
}

static void give_idle(struct pf_text *text, struct pf_reader *reader)
{
    pf_lock_take(&text->lock);
    struct pf_reader *old = text->idle;
    text->idle = reader;
    pf_lock_drop(&text->lock);
    reader_free(old);
}

void pf_text_rest(struct pf_text *text)
{
    give_idle(text, NULL);
}

static struct pf_reader *reader_at(struct pf_text *text, const struct extent *extent, struct pf_error *error)
{
    struct pf_reader *reader = take_idle(text, extent->start);
    if (reader)
        return reader;
    reader = calloc(1, sizeof *reader);
    if (!reader) {
        pf_fail_memory(error);
        return NULL;
    }
    reader->lines = walk_from(text, extent->gap, error);
    reader->offset = extent->gap_start;
    if (!reader->lines) {
        reader_free(reader);
        return NULL;
    }
    return reader;
}

/* The next n bytes appended to out, or skipped if out is NULL. */
static int reader_get(struct pf_reader *reader, uint64_t n, struct pf_buf *out, struct pf_error *error)
{
    pf_may_block();
    struct pf_buf *rest = &reader->rest;
    while (n) {
        if (rest->size == 0) {
            int more = reader->lines->ops->next(reader->lines, rest, error);
            if (more <= 0 || rest->failed)
                return more < 0 ? -1 : pf_fail(error, more ? ENOMEM : ESTALE, "the text ends before its end");
            if (rest->size == 0) /* a record without text */
                continue;
        }
        size_t got = rest->size < n ? rest->size : (size_t)n;
        if (out)
            pf_buf_add(out, rest->data, got);
        memmove(rest->data, rest->data + got, rest->size - got);
        rest->size -= got;
        reader->offset += got;
        n -= got;
    }
    return (out && out->failed) || rest->failed ? pf_fail_memory(error) : 0;
}

/*
 * Goes on to `until`, or to some bytes before it, only measuring records. The walk's position is restored then, since what it
 * knows of the last record is of one that was measured. *overshot: a long record led beyond.
 */
static int measure_up_to(struct pf_reader *reader, uint64_t until, bool *overshot, struct pf_error *error)
{
    struct pf_lines *lines = reader->lines;
    uint64_t at = reader->offset;
    int more = 1;
    while (more > 0 && at + RECORD < until)
        more = lines->ops->measure(lines, &at, error);
    if (more <= 0)
        return more < 0 ? -1 : pf_fail(error, ESTALE, "the text ends before its end");
    *overshot = at > until;
    size_t size = pf_lines_save(lines, NULL, 0);
    void *blob = malloc(size + 1);
    if (!blob)
        return pf_fail_memory(error);
    pf_lines_save(lines, blob, size);
    int result = pf_lines_restore(lines, blob, size, error);
    free(blob);
    reader->offset = at;
    return result;
}

/* A walk that stands at the extent's start. NULL with *error filled. */
static struct pf_reader *reader_for(struct pf_text *text, const struct extent *extent, struct pf_error *error)
{
    struct pf_reader *reader = reader_at(text, extent, error);
    bool overshot = false, far = reader && extent->start - reader->offset > 2 * RECORD;
    int failed = far && !reader->rest.size && reader->lines->ops->measure &&
                 measure_up_to(reader, extent->start, &overshot, error);
    if (reader && !failed && overshot) {
        reader_free(reader);
        reader = reader_at(text, extent, error);
    }
    if (reader && !failed && !reader_get(reader, extent->start - reader->offset, NULL, error))
        return reader;
    reader_free(reader);
    return NULL;
}

static struct pf_block *make_block(struct pf_text *text, struct pf_blocks *blocks,
                                   const struct extent *extent, struct pf_claim *claim,
                                   struct pf_error *error)
{
    /* Not pf_buf_reserve: its rounding up would double what the cache holds. */
    size_t room = (size_t)(extent->end - extent->start) + 4096;
    struct pf_buf out = {.data = malloc(room), .room = room, .failed = false};
    out.failed = !out.data;
    struct pf_reader *reader = out.failed ? NULL : reader_for(text, extent, error);
    if (reader && !reader_get(reader, extent->end - extent->start, &out, error)) {
        give_idle(text, reader);
        /* The cache counts bytes of text alone: of many small texts, what is left of the room would be several times as much. */
        char *fitting = realloc(out.data, out.size + 1);
        struct pf_block *block = pf_blocks_put(blocks, claim, fitting ? fitting : out.data, out.size);
        if (!block)
            pf_fail_memory(error);
        return block;
    }
    if (out.failed)
        pf_fail_memory(error);
    reader_free(reader);
    pf_buf_free(&out);
    pf_blocks_abandon(blocks, claim);
    return NULL;
}

int pf_text_read(struct pf_text *text, struct pf_blocks *blocks, uint64_t offset, size_t size, bool alone,
                 struct pf_piece pieces[PF_PIECES], struct pf_error *error)
{
    int n = 0;
    while (size && offset < text->size && n < PF_PIECES) {
        struct extent extent = alone ? pages_of(text, offset, size) : extent_of(text, offset);
        struct pf_claim claim;
        struct pf_block *block = pf_blocks_get(blocks, text->id, block_index(&extent), &claim);
        if (!block)
            block = make_block(text, blocks, &extent, &claim, error);
        if (!block) {
            while (n)
                pf_blocks_release(blocks, pieces[--n].block);
            return -1;
        }
        size_t skip = (size_t)(offset - extent.start), take = block->size - skip;
        if (take > size)
            take = size;
        pieces[n++] = (struct pf_piece){.block = block, .offset = skip, .size = take};
        offset += take;
        size -= take;
    }
    return n;
}
