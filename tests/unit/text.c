/* SPDX-License-Identifier: MIT */
#include "fs/text/text.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/kit/pass.h"
#include "tests/unit/gate.h"
#include "tests/unit/tap.h"

/* ---- a text whose bytes are computed from their offsets ----------------------------------------- */

/*
 * Records `first` .. `first + count - 1`, whose text is computed from their numbers. A position is the number of the next record, padded to
 * position_size bytes; only positions that were saved may be restored.
 */
struct story {
    size_t first, count;
    size_t (*length)(size_t record);
    size_t position_size;
    bool measures;                /* has a `measure` of its own */
    int fail_at;                  /* record at which `next` fails; -1: no failure */
    _Atomic unsigned char *saved; /* per record: true once its position has been saved */
    atomic_int strange_restores;
    _Atomic uint64_t seen; /* records visited by any walk */
    _Atomic uint64_t made; /* records printed, not only measured */
    atomic_int walks;      /* open walks */
};

struct story_walk {
    struct pf_walk base;
    struct story *story;
    size_t at;
};

static char byte_of(size_t record, size_t i)
{
    return (char)('!' + (record * 31 + i * 7 + i / 89) % 90);
}

static void write_record(char *at, size_t record, size_t length)
{
    for (size_t i = 0; i < length; i++)
        at[i] = byte_of(record, i);
}

static int story_next(struct pf_walk *base, struct pf_buf *out, struct pf_error *error)
{
    struct story_walk *walk = (struct story_walk *)base;
    struct story *story = walk->story;
    if (walk->at >= story->first + story->count)
        return 0;
    if (story->fail_at >= 0 && walk->at == (size_t)story->fail_at)
        return pf_fail(error, EIO, "the record can't be read");
    size_t length = story->length(walk->at);
    char *at = pf_buf_reserve(out, length + 1);
    if (!at)
        return pf_fail_memory(error);
    write_record(at, walk->at, length);
    out->size += length;
    walk->at++;
    atomic_fetch_add(&story->seen, 1);
    atomic_fetch_add(&story->made, 1);
    return 1;
}

static int story_measure(struct pf_walk *base, uint64_t *size, struct pf_error *error)
{
    struct story_walk *walk = (struct story_walk *)base;
    (void)error;
    if (walk->at >= walk->story->first + walk->story->count)
        return 0;
    *size += walk->story->length(walk->at++);
    atomic_fetch_add(&walk->story->seen, 1);
    return 1;
}

static size_t story_save(const struct pf_walk *base, void *saved, size_t room)
{
    const struct story_walk *walk = (const struct story_walk *)base;
    if (room >= walk->story->position_size) {
        memset(saved, 0x55, walk->story->position_size);
        memcpy(saved, &walk->at, sizeof walk->at);
        walk->story->saved[walk->at] = 1;
    }
    return walk->story->position_size;
}

static int story_restore(struct pf_walk *base, const void *saved, size_t size, struct pf_error *error)
{
    struct story_walk *walk = (struct story_walk *)base;
    size_t at;
    if (size != walk->story->position_size)
        return pf_fail(error, EINVAL, "not a position");
    memcpy(&at, saved, sizeof at);
    if (!walk->story->saved[at])
        atomic_fetch_add(&walk->story->strange_restores, 1);
    walk->at = at;
    return 0;
}

static void story_close(struct pf_walk *base)
{
    atomic_fetch_sub(&((struct story_walk *)base)->story->walks, 1);
    free(base);
}

static const struct pf_walk_ops measuring_ops = {.next = story_next,
                                                 .measure = story_measure,
                                                 .save = story_save,
                                                 .restore = story_restore,
                                                 .close = story_close};
static const struct pf_walk_ops plain_ops = {
    .next = story_next, .save = story_save, .restore = story_restore, .close = story_close};

static struct pf_walk *walk_story(void *owner, struct pf_error *error)
{
    struct story *story = owner;
    struct story_walk *walk = calloc(1, sizeof *walk);
    if (!walk) {
        pf_fail_memory(error);
        return NULL;
    }
    walk->base.ops = story->measures ? &measuring_ops : &plain_ops;
    walk->story = story;
    walk->at = story->first;
    atomic_fetch_add(&story->walks, 1);
    return &walk->base;
}

static size_t mixed(size_t record)
{
    return record % 151 == 50 ? 1300000 : record * 7919 % 4000;
}

static size_t short_lines(size_t record)
{
    return 10 + record % 17;
}

static struct story story_of(size_t count, size_t (*length)(size_t record), size_t position_size)
{
    return (struct story){.count = count,
                          .length = length,
                          .position_size = position_size,
                          .measures = count % 2 == 0,
                          .fail_at = -1,
                          .saved = calloc(count + 1, 1)};
}

static void end_story(struct story *story)
{
    free((void *)story->saved);
}

/* Returns the whole text as one buffer. */
static struct pf_buf whole_of(const struct story *story)
{
    struct pf_buf whole = {0};
    for (size_t r = story->first; r < story->first + story->count; r++) {
        size_t length = story->length(r);
        char *at = pf_buf_reserve(&whole, length + 1);
        write_record(at, r, length);
        whole.size += length;
    }
    return whole;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* How read_range makes missing blocks. If NULL, the thread of the test makes them. */
static pf_text_need *need_of_reader;

/* Reads a range as a file is read. Measures the range if needed, then reads piece by piece. */
static int read_range(struct pf_text *text, struct pf_blocks *blocks, uint64_t offset, size_t size,
                      struct pf_buf *out, struct pf_error *error)
{
    struct pf_span spans[PF_SPANS];
    while (size && offset < text->size) {
        uint64_t last = offset + size - 1 < text->size ? offset + size - 1 : text->size - 1;
        if (pf_text_distance(text, last) && pf_text_measure(text, last, error))
            return -1;
        struct pf_op op = PF_OP;
        int n = pf_text_read(text, blocks, offset, size, spans, need_of_reader, &op);
        *error = op.error;
        if (n <= 0)
            return -1;
        for (int i = 0; i < n; i++) {
            pf_buf_add(out, spans[i].block->data + spans[i].offset, spans[i].size);
            offset += spans[i].size;
            size -= spans[i].size;
            pf_blocks_release(blocks, spans[i].block);
        }
    }
    return 0;
}

static bool range_is_right(struct pf_text *text, struct pf_blocks *blocks, const struct pf_buf *whole,
                           uint64_t offset, size_t size)
{
    struct pf_error error;
    struct pf_buf out = {0};
    size_t want = offset < whole->size ? whole->size - (size_t)offset : 0;
    if (want > size)
        want = size;
    bool right = !read_range(text, blocks, offset, size, &out, &error) && out.size == want &&
                 (want == 0 || !memcmp(out.data, whole->data + offset, want));
    pf_buf_free(&out);
    return right;
}

static int wrong_ranges(struct pf_text *text, struct pf_blocks *blocks, const struct pf_buf *whole, int reads,
                        unsigned seed)
{
    int wrong = 0;
    for (int i = 0; i < reads; i++) {
        uint64_t offset =
            whole->size ? ((uint64_t)rand_r(&seed) << 15 ^ (uint64_t)rand_r(&seed)) % whole->size : 0;
        size_t size = (size_t)rand_r(&seed) % (i % 8 ? 5000 : 2000000);
        wrong += !range_is_right(text, blocks, whole, offset, size);
    }
    return wrong;
}

/* ---- sizes and random access -------------------------------------------------------------------- */

static void check_story(const char *name, size_t count, size_t (*length)(size_t), size_t position_size)
{
    struct story story = story_of(count, length, position_size);
    struct pf_buf whole = whole_of(&story);
    struct pf_blocks *blocks = pf_blocks_new(3 << 20);
    struct pf_error error;
    struct pf_text text;
    pf_text_init(&text, 1, walk_story, &story);
    ok(!pf_text_is_sized(&text, NULL), "%s: the size is not known before it was measured", name);
    ok(!pf_text_measure(&text, UINT64_MAX, &error) && pf_text_is_sized(&text, NULL) &&
           text.size == whole.size,
       "%s: measuring gives the exact size", name);
    ok(wrong_ranges(&text, blocks, &whole, 150, 7) == 0, "%s: the bytes of any range are those of the whole text", name);
    ok(range_is_right(&text, blocks, &whole, 0, whole.size + 100), "%s: reading goes on to the end", name);
    ok(range_is_right(&text, blocks, &whole, whole.size, 100), "%s: there is nothing behind the end", name);
    ok(story.strange_restores == 0, "%s: only positions that were saved are restored", name);
    uint64_t positions = 0;
    for (size_t m = 0; m < text.own.count; m++)
        positions += text.own.items[m].size;
    ok(positions * 16 <= whole.size, "%s: positions take at most a sixteenth of the text", name);
    ok(pf_blocks_held(blocks) <= 3 << 20, "%s: the cache keeps its limit", name);
    pf_text_close(&text);
    pf_blocks_free(blocks);
    pf_buf_free(&whole);
    end_story(&story);
}

/* A small read at any offset renders only the one or two intervals that hold its bytes. */
static void test_few_bytes(void)
{
    struct story story = story_of(200000, short_lines, 8);
    struct pf_buf whole = whole_of(&story);
    struct pf_blocks *blocks = pf_blocks_new(3 << 20);
    struct pf_op op = PF_OP;
    struct pf_error error;
    struct pf_span spans[PF_SPANS];
    struct pf_text text;
    int wrong = 0;
    pf_text_init(&text, 1, walk_story, &story);
    pf_text_measure(&text, UINT64_MAX, &error);
    story.seen = story.made = 0;
    for (uint64_t i = 1; i <= 20; i++) {
        uint64_t offset = i * 2654435761u % (whole.size - 100);
        int n = pf_text_read(&text, blocks, offset, 100, spans, NULL, &op);
        for (int p = 0; p < n; p++) {
            wrong += memcmp(spans[p].block->data + spans[p].offset, whole.data + offset, spans[p].size) != 0;
            offset += spans[p].size;
            pf_blocks_release(blocks, spans[p].block);
        }
        wrong += n < 1 || n > 2;
    }
    ok(wrong == 0, "a few bytes at any offset are those of the whole text");
    ok(story.made < 22 * (PF_INTERVAL + 1024) / 14, "reads of a few bytes render no more than the intervals that hold them");
    pf_text_close(&text);
    pf_blocks_free(blocks);
    pf_buf_free(&whole);
    end_story(&story);
}

/* Reads of 1 MB, as the kernel requests them. The kernel takes a short reply for the end of the file. */
static void test_large_reads(void)
{
    enum { LARGE = 1 << 20 };
    struct story story = story_of(200000, short_lines, 8);
    struct pf_buf whole = whole_of(&story);
    struct pf_blocks *blocks = pf_blocks_new(64 << 10);
    struct pf_op op = PF_OP;
    struct pf_error error;
    struct pf_span spans[PF_SPANS];
    struct pf_text text;
    int most = 0, wrong = 0;
    pf_text_init(&text, 1, walk_story, &story);
    pf_text_measure(&text, UINT64_MAX, &error);
    for (uint64_t from = 0; from < PF_INTERVAL; from += 97) {
        uint64_t offset = from;
        int n = pf_text_read(&text, blocks, offset, LARGE, spans, NULL, &op);
        for (int p = 0; p < n; p++) {
            wrong += memcmp(spans[p].block->data + spans[p].offset, whole.data + offset, spans[p].size) != 0;
            offset += spans[p].size;
            pf_blocks_release(blocks, spans[p].block);
        }
        wrong += offset != from + LARGE;
        most = n > most ? n : most;
    }
    ok(most >= 32 && most <= 33, "a read of 1 MB takes up to 33 blocks");
    ok(wrong == 0, "a read of 1 MB has all its bytes wherever it begins, whatever the cache holds");
    pf_text_close(&text);
    pf_blocks_free(blocks);
    pf_buf_free(&whole);
    end_story(&story);
}

/* The cache limits the bytes of all texts, not the number of texts. It holds thousands of small ones. */
static void test_small(void)
{
    struct story story = story_of(20, short_lines, 8);
    struct pf_blocks *blocks = pf_blocks_new(3 << 20);
    struct pf_op op = PF_OP;
    struct pf_error error;
    struct pf_span spans[PF_SPANS];
    struct pf_text text;
    pf_text_init(&text, 1, walk_story, &story);
    pf_text_measure(&text, UINT64_MAX, &error);
    int n = pf_text_read(&text, blocks, 0, 100, spans, NULL, &op);
    ok(n == 1 && malloc_usable_size(spans[0].block->data) < spans[0].block->size + 100,
       "the block of a small text takes no more room than the text");
    for (int p = 0; p < n; p++)
        pf_blocks_release(blocks, spans[p].block);
    pf_text_close(&text);
    pf_blocks_free(blocks);
    end_story(&story);
}

static void test_resting(void)
{
    struct story story = story_of(200000, short_lines, 8);
    struct pf_buf whole = whole_of(&story);
    struct pf_blocks *blocks = pf_blocks_new(3 << 20);
    struct pf_error error;
    struct pf_text text;
    pf_text_init(&text, 1, walk_story, &story);
    bool right =
        !pf_text_measure(&text, UINT64_MAX, &error) && range_is_right(&text, blocks, &whole, 0, 1000);
    ok(right && story.walks == 1, "a text that is read keeps a walk where the reading stands");
    pf_text_close_idle(&text);
    ok(story.walks == 0, "a text that nobody has open keeps no walk");
    ok(range_is_right(&text, blocks, &whole, 1000, whole.size), "a text that keeps no walk can be read on");
    pf_text_close(&text);
    ok(story.walks == 0, "all walks are closed with the text");
    pf_blocks_free(blocks);
    pf_buf_free(&whole);
    end_story(&story);
}

/* ---- texts whose size, or size and checkpoints, are known before ---------------------------------- */

static void test_uncovered(void)
{
    struct story story = story_of(300000, short_lines, 8);
    struct pf_buf whole = whole_of(&story);
    struct pf_blocks *blocks = pf_blocks_new(8 << 20);
    struct pf_error error;
    struct pf_text text;
    pf_text_init(&text, 2, walk_story, &story);
    text.sized = true;
    text.size = whole.size;
    ok(pf_text_distance(&text, 1000) == 0, "the beginning of a sized text can be read at once");
    ok(range_is_right(&text, blocks, &whole, 0, 100000), "the beginning of a sized text reads right without marks");
    ok(pf_text_distance(&text, 3000000) > 2000000, "the distance of an offset far behind the last mark is large");
    atomic_store(&story.seen, 0);
    ok(!pf_text_measure(&text, 3000000, &error) && pf_text_distance(&text, 3000000) == 0,
       "an offset up to which a text is covered can be read at once");
    ok(story.seen < 240000, "covering up to an offset renders little behind it");
    ok(pf_text_distance(&text, whole.size - 1) > 0, "the text behind the covered part stays uncovered");
    ok(wrong_ranges(&text, blocks, &whole, 200, 3) == 0, "ranges of a text that is covered on demand read right");
    uint64_t seen = story.seen;
    ok(!pf_text_measure(&text, UINT64_MAX, &error) && !pf_text_measure(&text, 1000, &error) &&
           story.seen - seen <= 300000,
       "a text that is covered is not gone through again");
    pf_text_close(&text);
    pf_blocks_free(blocks);
    pf_buf_free(&whole);
    end_story(&story);
}

struct measured_late {
    struct pf_text text;
    struct pf_blocks *blocks;
    struct story *story;
};

static struct pf_walk *walk_late(void *owner, struct pf_error *error)
{
    struct measured_late *late = owner;
    return walk_story(late->story, error);
}

static int measure_and_render(void *owner, uint64_t start, struct pf_op *op)
{
    struct measured_late *late = owner;
    return pf_text_measure(&late->text, UINT64_MAX, &op->error) ||
                   pf_text_render(&late->text, late->blocks, start, &op->error)
               ? -1
               : 0;
}

/* After a reader has looked up a block, but before it is rendered, checkpoints are set. They end the block before the reader's offset. */
static void test_measured_meanwhile(void)
{
    struct story story = story_of(300000, short_lines, 8);
    struct pf_buf whole = whole_of(&story);
    struct pf_blocks *blocks = pf_blocks_new(8 << 20);
    struct measured_late late = {.blocks = blocks, .story = &story};
    pf_text_init(&late.text, 11, walk_late, &late);
    need_of_reader = measure_and_render;
    late.text.sized = true;
    late.text.size = whole.size;
    ok(range_is_right(&late.text, blocks, &whole, 200000, 5000), "a block that a new checkpoint shortens is not read past its end");
    need_of_reader = NULL;
    pf_text_close(&late.text);
    pf_blocks_free(blocks);
    pf_buf_free(&whole);
    end_story(&story);
}

/* Checkpoints of a whole table serve the file of one partition, whose rows are in both texts at different offsets. */
static void test_shared_marks(void)
{
    enum { FIRST = 70001, COUNT = 120000 };
    struct story table = story_of(300000, short_lines, 8);
    struct story part = {
        .first = FIRST, .count = COUNT, .length = short_lines, .position_size = 8, .fail_at = -1};
    struct pf_buf all = whole_of(&table), whole = whole_of(&part);
    struct pf_blocks *blocks = pf_blocks_new(8 << 20);
    struct pf_error error;
    struct pf_text text, of_part;
    uint64_t before = 0;
    for (size_t r = 0; r < FIRST; r++)
        before += short_lines(r);
    pf_text_init(&text, 3, walk_story, &table);
    pf_text_measure(&text, UINT64_MAX, &error);
    part.saved = table.saved;
    pf_text_init(&of_part, 4, walk_story, &part);
    of_part.shared = &text.own;
    of_part.of_partition = true;
    of_part.sized = true;
    of_part.size = of_part.measured = whole.size;
    for (size_t m = 0; m < text.own.count; m++) {
        struct pf_checkpoint *at = &text.own.items[m];
        of_part.first += at->full <= before;
        of_part.end += at->full < before + whole.size;
        at->partition = at->full - before;
    }
    ok(of_part.end - of_part.first > 4, "several marks lie within the partition");
    ok(pf_text_distance(&of_part, whole.size - 1) == 0, "every offset of a partition can be read at once by shared marks");
    ok(wrong_ranges(&of_part, blocks, &whole, 200, 5) == 0,
       "a partition's ranges read right by shared marks");
    ok(wrong_ranges(&text, blocks, &all, 50, 6) == 0, "the whole table's ranges read right from the same cache of blocks");
    ok(part.strange_restores == 0, "a partition is read from positions that the whole table's walk has saved");
    pf_text_close(&of_part);
    pf_text_close(&text);
    pf_blocks_free(blocks);
    pf_buf_free(&whole);
    pf_buf_free(&all);
    end_story(&table);
}

/* ---- failures ----------------------------------------------------------------------------------- */

static int read_code(struct pf_text *text, struct pf_blocks *blocks, uint64_t offset, size_t size)
{
    struct pf_error error = {0};
    struct pf_buf out = {0};
    int failed = read_range(text, blocks, offset, size, &out, &error);
    pf_buf_free(&out);
    return failed ? error.code : 0;
}

static void test_changed_text(void)
{
    struct story story = story_of(100000, short_lines, 8);
    struct pf_buf whole = whole_of(&story);
    struct pf_blocks *blocks = pf_blocks_new(8 << 20);
    struct pf_error error = {0};
    struct pf_text text;
    pf_text_init(&text, 5, walk_story, &story);
    pf_text_measure(&text, UINT64_MAX, &error);
    story.count = 90000;
    ok(read_code(&text, blocks, whole.size - 100, 100) == ESTALE, "a text that has become shorter is stale");
    ok(range_is_right(&text, blocks, &whole, 1000, 1000), "a part of a text that has become shorter reads right if it is left");
    pf_text_close(&text);

    story.count = 100000;
    pf_text_init(&text, 6, walk_story, &story);
    text.sized = true;
    text.size = whole.size - 5;
    ok(pf_text_measure(&text, UINT64_MAX, &error) && error.code == ESTALE,
       "a text that is longer than was told is stale");
    text.size = whole.size + 5;
    text.measured = 0;
    ok(pf_text_measure(&text, UINT64_MAX, &error) && error.code == ESTALE,
       "a text that is shorter than was told is stale");
    ok(text.size == whole.size + 5, "a size that was told never changes");
    pf_text_close(&text);
    pf_blocks_free(blocks);
    pf_buf_free(&whole);
    end_story(&story);
}

static void test_errors(void)
{
    struct story story = story_of(100001, short_lines, 8);
    struct pf_buf whole = whole_of(&story);
    struct pf_blocks *blocks = pf_blocks_new(8 << 20);
    struct pf_error error = {0};
    struct pf_text text;
    pf_text_init(&text, 7, walk_story, &story);
    story.fail_at = 99000;
    ok(pf_text_measure(&text, UINT64_MAX, &error) && error.code == EIO, "an error ends measuring");
    ok(!pf_text_is_sized(&text, NULL), "an error in measuring leaves the size unknown");
    story.fail_at = -1;
    ok(!pf_text_measure(&text, UINT64_MAX, &error) && text.size == whole.size,
       "a text can be measured again after an error");
    story.fail_at = 99000;
    ok(read_code(&text, blocks, whole.size - 100, 100) == EIO, "an error while reading is told");
    story.fail_at = -1;
    ok(range_is_right(&text, blocks, &whole, whole.size - 100, 100), "a text can be read again after an error");
    pf_text_close(&text);

    struct pf_pass pass = {0};
    pf_text_init(&text, 8, walk_story, &story);
    pf_text_measure(&text, 600000, &error);
    size_t marks = text.own.count;
    atomic_store(&pass.stop, true);
    struct pf_pass *before = pf_pass_begin(&pass);
    ok(pf_text_measure(&text, UINT64_MAX, &error) && error.code == ECANCELED,
       "a stopped pass is cancelled");
    ok(marks > 0 && text.own.count >= marks, "what a stopped pass has covered stays covered");
    atomic_store(&story.seen, 0);
    atomic_store(&pass.stop, false);
    ok(!pf_text_measure(&text, UINT64_MAX, &error) && text.size == whole.size && story.seen < 80000,
       "the next pass goes on where the stopped one ended");
    pf_pass_end(before);
    pf_text_close(&text);
    pf_blocks_free(blocks);
    pf_buf_free(&whole);
    end_story(&story);
}

/* ---- many readers ------------------------------------------------------------------------------- */

struct crowd {
    struct pf_text *text;
    struct pf_blocks *blocks;
    const struct pf_buf *whole;
    unsigned seed;
    int wrong;
};

static void *read_much(void *arg)
{
    struct crowd *crowd = arg;
    crowd->wrong = wrong_ranges(crowd->text, crowd->blocks, crowd->whole, 60, crowd->seed);
    return NULL;
}

static void test_crowd(const char *name, bool covered, size_t position_size)
{
    struct story story = story_of(200000, short_lines, position_size);
    struct pf_buf whole = whole_of(&story);
    struct pf_blocks *blocks = pf_blocks_new(1 << 20);
    struct pf_error error;
    struct pf_text text;
    struct crowd crowd[4];
    pthread_t threads[4];
    pf_text_init(&text, 9, walk_story, &story);
    text.sized = true;
    text.size = whole.size;
    if (covered)
        pf_text_measure(&text, UINT64_MAX, &error);
    int wrong = 0;
    for (unsigned t = 0; t < 4; t++) {
        crowd[t] = (struct crowd){&text, blocks, &whole, t, 0};
        pthread_create(&threads[t], NULL, read_much, &crowd[t]);
    }
    for (int t = 0; t < 4; t++) {
        pthread_join(threads[t], NULL);
        wrong += crowd[t].wrong;
    }
    ok(wrong == 0, "%s: readers side by side all read right", name);
    ok(story.strange_restores == 0, "%s: readers side by side restore saved positions only", name);
    pf_text_close(&text);
    pf_blocks_free(blocks);
    pf_buf_free(&whole);
    end_story(&story);
}

/* ---- texts in memory ---------------------------------------------------------------------------- */

static struct pf_walk *walk_words(void *owner, struct pf_error *error)
{
    struct pf_buf buf = {0};
    pf_buf_str(&buf, owner);
    return pf_walk_of_text(&buf, error);
}

static void test_ready_made(void)
{
    char words[] = "Format: words\n";
    struct pf_blocks *blocks = pf_blocks_new(1 << 20);
    struct pf_buf whole = {.data = words, .size = strlen(words)};
    struct pf_error error;
    struct pf_text text;
    pf_text_init(&text, 10, walk_words, words);
    ok(!pf_text_measure(&text, UINT64_MAX, &error) && text.size == strlen(words),
       "a ready-made text has its size");
    ok(range_is_right(&text, blocks, &whole, 0, 100) && range_is_right(&text, blocks, &whole, 8, 3),
       "a ready-made text has its bytes");
    pf_text_close(&text);
    pf_blocks_free(blocks);
    struct pf_buf failed = {.failed = true};
    ok(!pf_walk_of_text(&failed, &error) && error.code == ENOMEM,
       "a text that ran out of memory while it was made is an error");
}

int main(void)
{
    alarm(HANG_SECONDS);
    check_story("no records", 0, short_lines, 8);
    check_story("one record", 1, short_lines, 8);
    check_story("short lines", 150000, short_lines, 8);
    check_story("short lines, large positions", 400001, short_lines, 120000);
    check_story("records from nothing to over a megabyte", 601, mixed, 8);
    check_story("such records, large positions", 600, mixed, 50000);
    test_few_bytes();
    test_large_reads();
    test_small();
    test_resting();
    test_uncovered();
    test_measured_meanwhile();
    test_shared_marks();
    test_changed_text();
    test_errors();
    test_crowd("covered", true, 8);
    test_crowd("uncovered", false, 8);
    test_crowd("few marks", false, 150000);
    test_ready_made();
    return done();
}
