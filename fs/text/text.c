/* SPDX-License-Identifier: MIT */
#include "fs/text/text.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/pass.h"

/* Large positions or records make an interval long. An interval longer than LONG_INTERVAL is rendered in blocks of LONG_PIECE bytes. */
enum { LONG_INTERVAL = 1 << 20, LONG_PIECE = 256 * 1024 };

/* A walk that is read by bytes instead of records. */
struct pf_reader {
    struct pf_walk *walk;
    uint64_t offset;    /* offset in the text of the next byte */
    struct pf_buf tail; /* the end of the last record; tail.data[taken] is its next byte */
    size_t taken;
};

static void reader_free(struct pf_reader *reader)
{
    if (!reader)
        return;
    if (reader->walk)
        reader->walk->ops->close(reader->walk);
    pf_buf_free(&reader->tail);
    free(reader);
}

void pf_text_init(struct pf_text *text, uint64_t id,
                  struct pf_walk *(*walk)(void *owner, struct pf_error *error), void *owner)
{
    *text = (struct pf_text){.id = id, .walk = walk, .owner = owner};
    pf_lock_init(&text->lock, PF_RANK_TEXT);
}

void pf_text_close(struct pf_text *text)
{
    reader_free(text->idle);
    pf_checkpoints_free(&text->own);
    pf_lock_destroy(&text->lock);
}

/* ---- checkpoints -------------------------------------------------------------------------------- */

static const struct pf_checkpoints *checkpoints_of(const struct pf_text *text)
{
    return text->shared ? text->shared : &text->own;
}

static size_t checkpoint_count(const struct pf_text *text)
{
    return text->shared ? text->end - text->first : text->own.count;
}

static const struct pf_checkpoint *checkpoint(const struct pf_text *text, size_t i)
{
    return &checkpoints_of(text)->items[text->shared ? text->first + i : i];
}

static uint64_t interval_start(const struct pf_text *text, size_t k)
{
    if (k == 0)
        return 0;
    const struct pf_checkpoint *at = checkpoint(text, k - 1);
    return text->of_partition ? at->partition : at->full;
}

static size_t interval_of(const struct pf_text *text, uint64_t offset)
{
    pf_assert_held(&text->lock);
    size_t low = 0, high = checkpoint_count(text);
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (interval_start(text, middle) <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* ---- measuring ---------------------------------------------------------------------------------- */

/* Returns a walk at the start of interval k; NULL with *error filled. Must be called without text->lock. */
static struct pf_walk *walk_from(struct pf_text *text, size_t k, struct pf_error *error)
{
    pf_may_block();
    struct pf_walk *walk = text->walk(text->owner, error);
    if (!walk || k == 0)
        return walk;
    pf_lock_take(&text->lock);
    const struct pf_checkpoint at = *checkpoint(text, k - 1);
    void *saved = malloc(at.size + 1);
    if (saved)
        memcpy(saved, checkpoints_of(text)->positions + at.position, at.size);
    pf_lock_drop(&text->lock);
    int failed = saved ? pf_walk_restore(walk, saved, at.size, error) : pf_fail_memory(error);
    free(saved);
    if (failed) {
        walk->ops->close(walk);
        return NULL;
    }
    return walk;
}

static int measure_record(struct pf_walk *walk, struct pf_buf *scratch, uint64_t *size,
                          struct pf_error *error)
{
    if (walk->ops->measure)
        return walk->ops->measure(walk, size, error);
    scratch->size = 0;
    int more = walk->ops->next(walk, scratch, error);
    *size += scratch->size;
    return scratch->failed ? pf_fail_memory(error) : more;
}

/* Adds a checkpoint at the walk's position, unless another thread has already measured this part of the text. */
static int add_checkpoint(struct pf_text *text, const struct pf_walk *walk, uint64_t offset, size_t position,
                          struct pf_error *error)
{
    int result = 0;
    pf_lock_take(&text->lock);
    if (offset > text->measured) {
        void *saved = pf_checkpoints_add(&text->own, offset, offset, position, error);
        if (saved)
            pf_walk_save(walk, saved, position);
        else
            result = -1;
        text->measured = offset;
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

/* Sets the text's size. Fails with ESTALE if another walk has found a different size. */
static int end_measuring(struct pf_text *text, uint64_t size, struct pf_error *error)
{
    pf_lock_take(&text->lock);
    bool contradicts = text->sized && text->size != size;
    if (!contradicts && !text->sized) { /* written once: readers may read the size without the lock afterwards */
        text->size = size;
        text->sized = true;
    }
    if (!contradicts)
        text->measured = size;
    pf_lock_drop(&text->lock);
    return contradicts ? pf_fail(error, ESTALE, "the text is not as long as it was") : 0;
}

/* Reports the progress of measuring to the pass; `size` is the text's size in bytes, 0 if unknown. */
static int step_by(const struct pf_walk *walk, uint64_t offset, uint64_t size, struct pf_error *error)
{
    return size ? pf_pass_step(offset, size, error)
                : pf_pass_step((uint64_t)(1000 * pf_walk_progress(walk)), 1000, error);
}

static int measure_with(struct pf_text *text, struct pf_walk *walk, uint64_t offset, uint64_t until,
                        struct pf_error *error)
{
    struct pf_buf scratch = {0};
    uint64_t last = offset, known = 0;
    pf_text_is_sized(text, &known);
    pf_may_block();
    int more = 1;
    for (uint64_t steps = 0; more > 0; steps++) {
        if (steps % 4096 == 0 && step_by(walk, offset, known, error))
            more = -1;
        if (more > 0 && offset > last && offset - last >= PF_INTERVAL) {
            size_t position = pf_walk_save(walk, NULL, 0);
            if (pf_checkpoint_is_due(offset - last, position)) {
                more = add_checkpoint(text, walk, offset, position, error) ? -1 : 1;
                last = offset;
                if (more > 0 && offset >= until)
                    break;
            }
        }
        if (more > 0)
            more = measure_record(walk, &scratch, &offset, error);
    }
    pf_buf_free(&scratch);
    return more < 0 ? -1 : more ? 0 : end_measuring(text, offset, error);
}

int pf_text_measure(struct pf_text *text, uint64_t until, struct pf_error *error)
{
    pf_lock_take(&text->lock);
    bool done = text->shared || (text->sized && text->measured >= text->size) || text->measured > until;
    size_t k = text->shared ? 0 : text->own.count;
    uint64_t offset = done ? 0 : interval_start(text, k);
    pf_lock_drop(&text->lock);
    if (done)
        return 0;
    struct pf_walk *walk = walk_from(text, k, error);
    if (!walk)
        return -1;
    int result = measure_with(text, walk, offset, until, error);
    walk->ops->close(walk);
    return result;
}

uint64_t pf_text_distance(struct pf_text *text, uint64_t offset)
{
    pf_lock_take(&text->lock);
    uint64_t last = interval_start(text, checkpoint_count(text));
    bool complete = text->shared || text->size <= LONG_INTERVAL || text->measured >= text->size;
    uint64_t distance =
        !complete && offset < text->size && offset >= last + LONG_PIECE ? offset - last : 0;
    pf_lock_drop(&text->lock);
    return distance;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* The range of a block in the text, and the interval that contains the block. */
struct block_range {
    size_t interval;
    uint64_t interval_start;
    uint64_t start, end;
};

/* Returns the block that contains an offset: an interval, or a piece of a long interval. */
static struct block_range range_of(struct pf_text *text, uint64_t offset)
{
    pf_lock_take(&text->lock);
    size_t k = interval_of(text, offset);
    uint64_t start = interval_start(text, k),
             end = k < checkpoint_count(text) ? interval_start(text, k + 1) : text->size;
    pf_lock_drop(&text->lock);
    struct block_range range = {k, start, start, end};
    if (end - start > LONG_INTERVAL) {
        range.start += (offset - start) / LONG_PIECE * LONG_PIECE;
        if (end - range.start > LONG_PIECE)
            range.end = range.start + LONG_PIECE;
    }
    return range;
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

void pf_text_close_idle(struct pf_text *text)
{
    give_idle(text, NULL);
}

/* Appends the next record, which may be empty. The end of the text is an error (ESTALE). */
static int next_record(struct pf_reader *reader, struct pf_buf *out, struct pf_error *error)
{
    int more = reader->walk->ops->next(reader->walk, out, error);
    if (more < 0)
        return -1;
    return out->failed ? pf_fail_memory(error) : more ? 0 : pf_fail(error, ESTALE, "the text ends before its end");
}

static size_t take_tail(struct pf_reader *reader, uint64_t n, struct pf_buf *out)
{
    size_t left = reader->tail.size - reader->taken, got = left < n ? left : (size_t)n;
    if (out && got) /* tail.data may be NULL if the tail is empty */
        pf_buf_add(out, reader->tail.data + reader->taken, got);
    reader->taken += got;
    reader->offset += got;
    if (got == left)
        reader->tail.size = reader->taken = 0;
    return got;
}

/* Appends the next n bytes. */
static int reader_get(struct pf_reader *reader, size_t n, struct pf_buf *out, struct pf_error *error)
{
    size_t until = out->size + n;
    take_tail(reader, n, out);
    size_t before = out->size;
    while (out->size < until)
        if (next_record(reader, out, error))
            return -1;
    pf_buf_add(&reader->tail, out->data + until, out->size - until);
    out->size = until;
    reader->offset += until - before;
    return reader->tail.failed ? pf_fail_memory(error) : 0;
}

/* Skips the next n bytes. */
static int reader_skip(struct pf_reader *reader, uint64_t n, struct pf_error *error)
{
    while ((n -= take_tail(reader, n, NULL)))
        if (next_record(reader, &reader->tail, error))
            return -1;
    return 0;
}

/* Returns a reader at the block's start: text->idle if it is at that offset, otherwise a new one. NULL with *error filled. */
static struct pf_reader *reader_at(struct pf_text *text, const struct block_range *range, struct pf_error *error)
{
    struct pf_reader *reader = take_idle(text, range->start);
    if (reader)
        return reader;
    reader = calloc(1, sizeof *reader);
    if (!reader) {
        pf_fail_memory(error);
        return NULL;
    }
    reader->walk = walk_from(text, range->interval, error);
    reader->offset = range->interval_start;
    if (reader->walk && !reader_skip(reader, range->start - range->interval_start, error))
        return reader;
    reader_free(reader);
    return NULL;
}

/* Returns the bytes of a range as an array of that size from malloc. NULL with *error filled. */
static char *render_range(struct pf_text *text, const struct block_range *range, struct pf_error *error)
{
    /* Not allocated by pf_buf_reserve, whose geometric growth would double the memory of the cache. */
    size_t size = (size_t)(range->end - range->start), room = size + 4096;
    struct pf_buf out = {.data = malloc(room), .room = room};
    pf_may_block();
    out.failed = !out.data;
    struct pf_reader *reader = out.failed ? NULL : reader_at(text, range, error);
    if (reader && !reader_get(reader, size, &out, error)) {
        give_idle(text, reader);
        /* Frees the slack: the cache counts only bytes of text, and the slack of many small texts would be several times as large. */
        char *fitting = realloc(out.data, out.size + 1);
        if (fitting)
            out.data = fitting;
        return out.data;
    }
    if (out.failed)
        pf_fail_memory(error);
    reader_free(reader);
    pf_buf_free(&out);
    return NULL;
}

int pf_text_render(struct pf_text *text, struct pf_blocks *blocks, uint64_t start, struct pf_error *error)
{
    bool filled;
    struct pf_block *block = pf_blocks_get(blocks, text->id, start, &filled);
    if (!block)
        return pf_fail_memory(error);
    struct block_range range = range_of(text, start);
    range.start = start; /* range.start differs if a checkpoint has been added in a long interval meanwhile */
    char *data = filled ? NULL : render_range(text, &range, error);
    if (data)
        pf_blocks_fill(blocks, block, data, (size_t)(range.end - start));
    pf_blocks_release(blocks, block);
    return filled || data ? 0 : -1;
}

/* Returns a reference to the block that starts at offset `start`, with its data. NULL with op->error filled. */
static struct pf_block *need_block(struct pf_text *text, struct pf_blocks *blocks, uint64_t start,
                                   pf_text_need *need, struct pf_op *op)
{
    bool filled;
    /* The reference keeps the block from being evicted between its rendering in a job and the read. */
    struct pf_block *block = pf_blocks_get(blocks, text->id, start, &filled);
    if (!block) {
        pf_fail_memory(&op->error);
        return NULL;
    }
    if (filled || !(need ? need(text->owner, start, op) : pf_text_render(text, blocks, start, &op->error)))
        return block;
    pf_blocks_release(blocks, block);
    return NULL;
}

int pf_text_read(struct pf_text *text, struct pf_blocks *blocks, uint64_t offset, size_t size,
                 struct pf_span spans[PF_SPANS], pf_text_need *need, struct pf_op *op)
{
    int n = 0;
    while (size && offset < text->size && n < PF_SPANS) {
        /* The start is a sufficient key: when a new checkpoint shortens an interval, an older, longer block still has the right bytes. */
        uint64_t start = range_of(text, offset).start;
        struct pf_block *block = need_block(text, blocks, start, need, op);
        if (!block) {
            while (n)
                pf_blocks_release(blocks, spans[--n].block);
            return -1;
        }
        size_t skip = (size_t)(offset - start);
        if (skip >= block->size) { /* another thread has added a checkpoint between start and offset */
            pf_blocks_release(blocks, block);
            continue;
        }
        size_t take = block->size - skip;
        if (take > size)
            take = size;
        spans[n++] = (struct pf_span){.block = block, .offset = skip, .size = take};
        offset += take;
        size -= take;
    }
    return n;
}
