/* SPDX-License-Identifier: MIT */
#include "formats/input/inflate.h"

#include <errno.h>
#include <pthread.h>
#include <zlib.h>

#include "formats/driver.h"
#include "formats/input/linereader.h"
#include "formats/probe.h"
#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

enum { ZLIB = MAX_WBITS, GZIP = MAX_WBITS + 16 };

struct bytes {
    unsigned char *at;
    size_t size;
    uint64_t taken; /* number of bytes that the view has read */
    int fails;      /* errno value with which reads fail */
};

static ssize_t read_bytes(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    struct bytes *bytes = arg;
    if (bytes->fails)
        return pf_fail(error, bytes->fails, "as the test wants");
    if (offset >= bytes->size)
        return 0;
    if (size > bytes->size - offset)
        size = bytes->size - offset;
    memcpy(buffer, bytes->at + offset, size);
    __atomic_add_fetch(&bytes->taken, size, __ATOMIC_RELAXED);
    return (ssize_t)size;
}

static struct bytes packed(const void *text, size_t size, int wrapping, int level)
{
    struct bytes out = {.at = malloc(compressBound(size) + 64)};
    z_stream z = {.next_in = (unsigned char *)text, .avail_in = (unsigned)size};
    if (!out.at || deflateInit2(&z, level, Z_DEFLATED, wrapping, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    z.next_out = out.at;
    z.avail_out = (unsigned)(compressBound(size) + 64);
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    out.size = z.total_out;
    deflateEnd(&z);
    return out;
}

static void append(struct bytes *bytes, const void *more, size_t size)
{
    bytes->at = realloc(bytes->at, bytes->size + size);
    if (!bytes->at)
        abort();
    memcpy(bytes->at + bytes->size, more, size);
    bytes->size += size;
}

/* Returns text without repetitions, which compresses to about a quarter. */
static char *numbers(size_t size)
{
    char *text = malloc(size + 32);
    uint32_t x = 1;
    for (size_t used = 0; used < size; x = x * 1664525u + 1013904223u)
        used += (size_t)sprintf(text + used, "%u,%zu\n", x >> 20, used);
    text[size] = 0;
    return text;
}

static struct pf_inflate *view_of(struct bytes *bytes)
{
    struct pf_inflate *view = pf_inflate_new(read_bytes, bytes, bytes->size);
    if (!view)
        abort();
    return view;
}

/* Returns the whole unpacked text, null-terminated, and stores its length in *size. The caller frees the text. */
static char *all_of(struct pf_inflate *view, size_t *size)
{
    struct pf_error error = {0};
    size_t room = 1 << 20;
    char *out = malloc(room + 1);
    *size = 0;
    for (;;) {
        ssize_t got = pf_inflate_read(view, out + *size, room - *size, *size, &error);
        if (got <= 0)
            break;
        *size += (size_t)got;
        if (*size == room && !(out = realloc(out, (room *= 2) + 1)))
            abort();
    }
    out[*size] = 0;
    return out;
}

static void check_text(struct bytes bytes, const char *want, const char *name)
{
    size_t size;
    struct pf_error damage;
    struct pf_inflate *view = view_of(&bytes);
    uint64_t before = pf_inflate_size(view);
    char *have = all_of(view, &size);
    ok(size == strlen(want) && !strcmp(have, want) && !pf_inflate_damage(view, &damage), "%s", name);
    ok(before == UINT64_MAX && pf_inflate_size(view) == size, "%s: the size is known after the end was read",
       name);
    free(have);
    pf_inflate_free(view);
    free(bytes.at);
}

static void test_formats(void)
{
    char *text = numbers(300000);
    check_text(packed(text, 300000, GZIP, 6), text, "gzip data is inflated");
    check_text(packed(text, 300000, ZLIB, 6), text, "a zlib stream is inflated");
    check_text(packed(text, 300000, ZLIB, 0), text, "a zlib stream that is not compressed is read");
    check_text(packed(text, 300000, ZLIB, 9), text, "a zlib stream of the highest level is inflated");
    check_text(packed("", 0, GZIP, 6), "", "gzip data of no bytes is inflated");

    struct bytes members = packed("one ", 4, GZIP, 6);
    struct bytes second = packed("", 0, GZIP, 6), third = packed("three", 5, GZIP, 1);
    append(&members, second.at, second.size);
    append(&members, third.at, third.size);
    append(&members, "\0\0\0\0", 4);
    check_text(members, "one three", "consecutive gzip members with zeros after them are inflated");

    struct bytes trailing = packed("stream", 6, ZLIB, 6);
    append(&trailing, "anything", 8);
    check_text(trailing, "stream", "bytes after a zlib stream are ignored");
    free(second.at);
    free(third.at);
    free(text);
}

/* A header with all optional fields of RFC 1952: extra field, name, comment, checksum. */
static void test_header(void)
{
    static const unsigned char header[] = "\x1f\x8b\x08\x1e\1\2\3\4\2\3\5\0extraname\0comment\0ZZ";
    struct bytes plain = packed("text", 4, GZIP, 6);
    struct bytes full = {.at = NULL};
    append(&full, header, sizeof header - 1);
    append(&full, plain.at + 10, plain.size - 10);
    check_text(full, "text", "a gzip header with extra field, name, comment and checksum is accepted");
    free(plain.at);
}

/* ---- damage ------------------------------------------------------------------------------------- */

static void check_damage(struct bytes bytes, const char *text, size_t least, size_t most, const char *name)
{
    size_t size, again;
    struct pf_error damage = {0};
    struct pf_inflate *view = view_of(&bytes);
    char *have = all_of(view, &size), *more = all_of(view, &again);
    ok(size >= least && size <= most && !memcmp(have, text, size), "%s: the text before the damage is kept",
       name);
    bool told = pf_inflate_damage(view, &damage);
    ok(told && damage.offset >= 0 && damage.offset <= (int64_t)bytes.size && damage.what[0],
       "%s: the offset of the damage is reported (%s, byte %jd of %zu)", name, damage.what,
       (intmax_t)damage.offset, bytes.size);
    ok(again == size && !memcmp(have, more, size), "%s: a second read ends at the same place", name);
    free(have);
    free(more);
    pf_inflate_free(view);
    free(bytes.at);
}

static void test_damage(void)
{
    enum { SIZE = 400000 };
    char *text = numbers(SIZE);
    struct bytes cut = packed(text, SIZE, ZLIB, 6);
    cut.size /= 2;
    check_damage(cut, text, SIZE / 3, SIZE - 1, "a truncated stream");
    cut = packed(text, SIZE, GZIP, 6);
    cut.size -= 3;
    check_damage(cut, text, SIZE, SIZE, "a stream truncated in its checksum");
    cut = packed(text, SIZE, GZIP, 6);
    cut.size = 5;
    check_damage(cut, text, 0, 0, "a stream truncated in its header");

    struct bytes sum = packed(text, SIZE, GZIP, 6);
    sum.at[sum.size - 6] ^= 1;
    check_damage(sum, text, SIZE, SIZE, "a wrong gzip checksum");
    sum = packed(text, SIZE, ZLIB, 6);
    sum.at[sum.size - 1] ^= 1;
    check_damage(sum, text, SIZE, SIZE, "a wrong zlib checksum");
    struct bytes garbage = packed(text, SIZE, GZIP, 6);
    append(&garbage, "garbage", 7);
    check_damage(garbage, text, SIZE, SIZE, "data other than gzip after a gzip member");

    struct bytes block = packed(text, SIZE, ZLIB, 0);
    block.at[2 + 5 + 65535] = 7; /* the header of the second stored block: an invalid kind */
    check_damage(block, text, 65535, 65535, "a block of an invalid kind");
    struct bytes dictionary = {.at = malloc(64)};
    memcpy(dictionary.at, "\x78\xbb\1\2\3\4garbage", dictionary.size = 13);
    check_damage(dictionary, text, 0, 0, "a stream that needs a dictionary");
    free(text);
}

static void test_failures(void)
{
    char *text = numbers(300000);
    struct bytes bytes = packed(text, 300000, ZLIB, 6);
    struct pf_inflate *view = view_of(&bytes);
    struct pf_error error = {0};
    char first[8] = {0};
    bytes.fails = ESTALE;
    ok(pf_inflate_read(view, first, 4, 0, &error) == -1 && error.code == ESTALE,
       "a failed read of the file is an error, not the end");
    ok(pf_inflate_size(view) == UINT64_MAX, "the size is unknown after a failed read");
    bytes.fails = 0;
    ok(pf_inflate_read(view, first, 4, 0, &error) == 4 && !memcmp(first, text, 4),
       "a read after a failed read succeeds");
    bytes.fails = EIO;
    ok(pf_inflate_read(view, first, 4, 290000, &error) == -1 && error.code == EIO,
       "a failed read in the middle of the file is an error");
    bytes.fails = 0;
    ok(pf_inflate_read(view, first, 4, 290000, &error) == 4 && !memcmp(first, text + 290000, 4),
       "a read in the middle after a failed read succeeds");
    pf_inflate_free(view);
    free(bytes.at);
    free(text);
}

/* ---- reads at any offset ------------------------------------------------------------------------ */

enum { LARGE = 12 << 20 };

static bool same_at(struct pf_inflate *view, const char *text, size_t offset, size_t size)
{
    static __thread char buffer[300000];
    struct pf_error error;
    size_t want = size < LARGE - offset ? size : LARGE - offset;
    return pf_inflate_read(view, buffer, size, offset, &error) == (ssize_t)want &&
           !memcmp(buffer, text + offset, want);
}

static void check_places(const char *text, struct bytes bytes, const char *name)
{
    struct pf_inflate *view = view_of(&bytes);
    size_t offset;
    bool same = true;
    for (offset = 0; offset < LARGE; offset += 262144)
        same &= same_at(view, text, offset, 262144);
    ok(same && bytes.taken <= bytes.size + 16384,
       "%s: reading from the start to the end reads each byte of the file once", name);

    bytes.taken = 0;
    for (offset = LARGE - 1000; offset > 1000000; offset -= 999983)
        same &= same_at(view, text, offset, 5000);
    ok(same, "%s: blocks can be read from the end to the start", name);
    ok(bytes.taken < 6 * bytes.size / 2, "%s: a seek reads a part of the file (%ju of %zu in all)", name,
       (uintmax_t)bytes.taken, bytes.size);

    bytes.taken = 0;
    for (size_t step = 0; step < 2000000; step += 10000)
        for (offset = 0; offset < 5 * 2200000; offset += 2200000)
            same &= same_at(view, text, offset + step, 10000);
    ok(same && bytes.taken < bytes.size,
       "%s: five readers at different offsets continue without rewinding (%ju read)", name,
       (uintmax_t)bytes.taken);

    uint64_t before = 0;
    bool grows = true;
    for (offset = 0; offset < LARGE; offset += 2500000) {
        uint64_t now = pf_inflate_packed_before(view, offset);
        grows &= same_at(view, text, offset, 10) && pf_inflate_packed_before(view, offset) <= bytes.size;
        before = now > before ? now : before;
    }
    ok(grows && before > bytes.size / 2 && pf_inflate_packed_before(view, LARGE) == bytes.size,
       "%s: the offset in the file can be determined", name);
    pf_inflate_free(view);
}

struct reader {
    struct pf_inflate *view;
    const char *text;
    unsigned seed;
    bool same;
};

static void *read_about(void *arg)
{
    struct reader *reader = arg;
    uint32_t x = reader->seed;
    reader->same = true;
    for (int i = 0; i < 60; i++) {
        x = x * 1664525u + 1013904223u;
        reader->same &= same_at(reader->view, reader->text, x % LARGE, x % 200000);
    }
    return NULL;
}

static void check_threads(const char *text, struct bytes bytes)
{
    enum { THREADS = 12 };
    struct reader readers[THREADS];
    pthread_t threads[THREADS];
    struct pf_inflate *view = view_of(&bytes);
    bool same = true;
    for (unsigned i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){view, text, i, false};
        if (pthread_create(&threads[i], NULL, read_about, &readers[i]))
            abort();
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        same &= readers[i].same;
    }
    ok(same, "more threads than there are streams can read at any offset");
    pf_inflate_free(view);
}

/* Compresses the text as bgzip does, to one gzip member per 60000 bytes, so that no seek point is inside a member. */
static struct bytes many_members(const char *text)
{
    struct bytes all = {.at = NULL};
    for (size_t offset = 0; offset < LARGE; offset += 60000) {
        size_t size = LARGE - offset < 60000 ? LARGE - offset : 60000;
        struct bytes one = packed(text + offset, size, GZIP, 1);
        append(&all, one.at, one.size);
        free(one.at);
    }
    return all;
}

static void test_places(void)
{
    char *text = numbers(LARGE);
    struct bytes zlib = packed(text, LARGE, ZLIB, 1), gzip = packed(text, LARGE, GZIP, 3);
    struct bytes members = many_members(text);
    check_places(text, zlib, "zlib");
    check_places(text, gzip, "gzip");
    check_places(text, members, "many members");
    check_threads(text, gzip);

    /* The checksum is verified at the end even if the reader started at a seek point. */
    gzip.at[gzip.size - 5] ^= 1;
    struct pf_inflate *view = view_of(&gzip);
    struct pf_error damage;
    bool same = same_at(view, text, LARGE - 100000, 10) && same_at(view, text, LARGE - 3000000, 10) &&
                same_at(view, text, LARGE - 100000, 300000);
    ok(same && pf_inflate_damage(view, &damage),
       "a wrong checksum is detected by a reader that started at a seek point");
    pf_inflate_free(view);
    free(zlib.at);
    free(gzip.at);
    free(members.at);
    free(text);
}

/* Of a file of 64 MB of zeros, only the requested part may be unpacked. */
static void test_bomb(void)
{
    enum { ZEROS = 64 << 20 };
    char *zeros = calloc(1, ZEROS);
    struct bytes bomb = packed(zeros, ZEROS, ZLIB, 9);
    struct pf_inflate *view = view_of(&bomb);
    struct pf_error error;
    char some[100];
    memset(some, 1, sizeof some);
    ok(pf_inflate_read(view, some, sizeof some, 1000, &error) == sizeof some &&
           !memcmp(some, zeros, sizeof some),
       "the start of a bomb of %zu bytes is read", bomb.size);
    ok(bomb.taken <= 16384, "reading the start of a bomb reads a few KB of it");
    pf_inflate_free(view);
    free(bomb.at);
    free(zeros);
}

/* Members of zeros that together expand to more than 1 GB and 250 times their size. */
static void test_limit(void)
{
    enum { ZEROS = 16 << 20, MEMBERS = 112 };
    char *zeros = calloc(1, ZEROS);
    struct bytes member = packed(zeros, ZEROS, GZIP, 9), bomb = {0};
    struct pf_error error, damage;
    char byte;
    for (int i = 0; i < MEMBERS; i++)
        append(&bomb, member.at, member.size);
    struct pf_inflate *view = view_of(&bomb);
    ok(pf_inflate_read(view, &byte, 1, (uint64_t)MEMBERS * ZEROS - 1, &error) == 0 &&
           pf_inflate_damage(view, &damage) && damage.code == EFBIG &&
           pf_inflate_size(view) == pf_packing_limit(bomb.size),
       "a bomb of %zu bytes ends at the limit for its size", bomb.size);
    pf_inflate_free(view);
    free(bomb.at);
    free(member.at);
    free(zeros);
}

/* ---- inputs and probes -------------------------------------------------------------------------- */

static struct pf_input *open_plain(struct pf_source *source, struct pf_error *error)
{
    struct pf_input *input;
    return pf_source_open(source, NULL, PF_UNPACK, &input, error) ? NULL : input;
}

static void test_lines(struct pf_input *input)
{
    struct pf_linereader *lines = pf_linereader_new(input);
    struct pf_line line;
    struct pf_error error;
    uint64_t number = 0, offset = 0;
    bool right = true;
    while (pf_linereader_next(lines, &line, &error) > 0) {
        right &= line.number == ++number && line.offset == offset;
        offset += line.size + 1;
    }
    ok(right && offset == 300000 + 1, "lines of a compressed file are read like those of others (%ju)",
       (uintmax_t)number);
    pf_linereader_free(lines);
}

static void test_input(void)
{
    char folder[64], *text = numbers(300000), some[16];
    struct bytes gzip = packed(text, 300000, GZIP, 6);
    struct pf_error error = {0};
    struct pf_input *file, *again;
    uint64_t so_far, total;
    temp_dir_make(folder);
    write_bytes(folder, "text.gz", gzip.at, gzip.size);
    write_text(folder, "text", "as it is");
    int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct pf_source *source = pf_source_new(directory, "text.gz", &error);
    struct pf_input *input = open_plain(source, &error);
    ok(input && pf_input_size(input) == UINT64_MAX,
       "a gzip file is opened as its text, of unknown size");
    ok(pf_input_read(input, some, 10, 299995, &error) == 5 && pf_input_size(input) == 300000,
       "the size of a gzip file is known after its end was read");
    ok(!pf_source_open(source, NULL, PF_RAW, &file, &error) && file != input &&
           pf_input_size(file) == gzip.size,
       "the compressed file can be opened at the same time");
    ok(open_plain(source, &error) == input && pf_source_input_count(source) == 1,
       "a gzip file that is opened twice is one input, recorded as one file");
    ok(pf_input_stamp(input)->size == gzip.size, "the stamp of a gzip input is that of the file");
    pf_input_progress(input, 300000, &so_far, &total);
    ok(so_far == gzip.size && total == gzip.size, "progress is reported in bytes of the compressed file");
    test_lines(input);
    ok(!pf_input_damage(input, &error), "an intact file has no damage");
    struct pf_source *plain = pf_source_new(directory, "text", &error);
    ok((again = open_plain(plain, &error)) && pf_input_size(again) == 8 && !pf_input_damage(again, &error),
       "a file that is not compressed is opened unchanged");

    if (truncate(path_in(folder, "text.gz"), 100))
        abort();
    ok(pf_source_check(source, &error) && error.code == ESTALE && !pf_source_intact(source),
       "a change of the compressed file is detected");
    pf_source_free(source);
    source = pf_source_new(directory, "text.gz", &error);
    ok((input = open_plain(source, &error)) && pf_input_read(input, some, 10, 299000, &error) == 0 &&
           pf_input_damage(input, &error) && error.offset == 100,
       "a truncated file is damaged at its end");
    pf_source_free(source);
    source = pf_source_new(directory, "text.gz", &error);
    input = open_plain(source, &error);
    if (truncate(path_in(folder, "text.gz"), 10))
        abort();
    ok(pf_input_read(input, some, 10, 0, &error) == -1 && error.code == ESTALE,
       "a read of a file that is truncated while it is open returns ESTALE");
    pf_source_free(source);
    pf_source_free(plain);
    close(directory);
    temp_dir_remove(folder);
    free(gzip.at);
    free(text);
}

static bool probed(struct bytes bytes, const char *want, size_t ask)
{
    static unsigned char head[PF_HEAD_MAX];
    struct pf_probe probe = {.name = "x", .size = bytes.size, .fd = -1, .bytes = head};
    memcpy(head, bytes.at, probe.have = bytes.size < PF_HEAD_MAX ? bytes.size : PF_HEAD_MAX);
    size_t have;
    const unsigned char *plain = pf_probe_plain_head(&probe, ask, &have);
    free(bytes.at);
    return have == strlen(want) && !memcmp(plain, want, have);
}

static void test_probe(void)
{
    char *text = numbers(100000), *start = strndup(text, 5000);
    ok(probed(packed(text, 100000, GZIP, 6), start, 5000), "a probe sees the start of a gzip file's text");
    ok(probed(packed(text, 100000, ZLIB, 6), start, 5000), "a probe sees the start of a zlib stream's text");
    ok(probed(packed(text, 100000, ZLIB, 0), start, 5000), "a probe sees the start of a zlib stream's text that is not compressed");
    ok(probed(packed("short", 5, ZLIB, 6), "short", 5000), "a probe of a short text sees the whole text");
    struct bytes plain = {.at = malloc(100), .size = 100};
    memset(plain.at, '8', 100);
    ok(probed(plain, "", 100), "a probe of a file that is not compressed sees no text");
    free(start);
    free(text);
}

int main(void)
{
    test_formats();
    test_header();
    test_damage();
    test_failures();
    test_places();
    test_bomb();
    test_limit();
    test_input();
    test_probe();
    return done();
}
