/* SPDX-License-Identifier: MIT */
#include "formats/extrap/saved_values.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/json_ids.h"
#include "formats/kit/array.h"

/* Bytes of an unpacked chunk in memory before it spills; most chunks are stored and are read in place. */
#define CHUNK_HELD ((uint64_t)1 << 20)

/* Bytes that are read at once. */
enum { BLOCK = 8192 };

/* Extra-P fills each chunk with 1 GB of values. */
enum { CHUNKS_MAX = 65536 };

/* Before the offsets of an index and the arrays of values; 16 bytes each. */
static const char index_magic[16] = "Extra-P INDEX";
static const char values_magic[16] = "Extra-P VALUES";
enum { INDEX_HEADER = 24 };

/* A member that is read at any place. */
struct part {
    bool present;
    bool unpacked_once;
    struct pf_zip_member member;
    struct pf_zip_stream *stream; /* stored: read in place */
    struct pf_store *unpacked;    /* deflated: unpacked once */
};

struct chunk {
    struct part offsets, arrays;
    uint64_t added; /* bytes of numbers that it has given, if it is packed */
};

struct pf_saved_values {
    struct pf_input *archive;
    struct pf_pass *pass;
    struct chunk *open;    /* the one whose parts are open, or NULL */
    uint64_t in_place;     /* bytes of numbers that stored chunks have given: these may lie over each other */
    uint64_t unpack_left;  /* bytes that may yet be unpacked, of all chunks */
    struct pf_ids numbers; /* of chunks, to places among: */
    struct chunk *chunks;
    size_t count, room;
};

struct pf_saved_values *pf_saved_values_new(struct pf_input *archive, struct pf_pass *pass)
{
    struct pf_saved_values *values = calloc(1, sizeof *values);
    if (!values)
        return NULL;
    uint64_t size = pf_input_size(archive);
    values->archive = archive;
    values->pass = pass;
    values->unpack_left = PF_ZIP_FREE + (size < UINT64_MAX / PF_ZIP_RATIO / 2 ? size * PF_ZIP_RATIO : 0);
    return values;
}

static void close_part(struct part *part)
{
    pf_zip_close(part->stream);
    pf_store_free(part->unpacked);
    part->stream = NULL;
    part->unpacked = NULL;
}

static void close_chunk(struct pf_saved_values *values)
{
    if (!values->open)
        return;
    close_part(&values->open->offsets);
    close_part(&values->open->arrays);
    values->open = NULL;
}

void pf_saved_values_free(struct pf_saved_values *values)
{
    if (!values)
        return;
    close_chunk(values);
    pf_ids_free(&values->numbers);
    free(values->chunks);
    free(values);
}

/* ---- members ------------------------------------------------------------------------------------ */

/* The chunk of this number, added if new; NULL with *error filled. Only before any is open. */
static struct chunk *chunk_of(struct pf_saved_values *values, int64_t number, struct pf_error *error)
{
    uint32_t at = pf_ids_get(&values->numbers, number);
    if (at != PF_NO_ID)
        return &values->chunks[at];
    if (pf_array_room(&values->chunks, &values->room, values->count, sizeof *values->chunks, error))
        return NULL;
    if (pf_ids_set(&values->numbers, number, (uint32_t)values->count, error) < 0)
        return NULL;
    values->chunks[values->count] = (struct chunk){0};
    return &values->chunks[values->count++];
}

/* "values/" DIGITS: how many bytes that is, or 0. */
static size_t read_number(const char *name, size_t size, int64_t *number)
{
    static const char folder[] = "values/";
    size_t at = sizeof folder - 1;
    if (size <= at || memcmp(name, folder, at) != 0)
        return 0;
    *number = 0;
    for (; at < size && name[at] >= '0' && name[at] <= '9' && at < 16; at++)
        *number = *number * 10 + (name[at] - '0');
    return at;
}

int pf_saved_values_member(struct pf_saved_values *values, const char *name, size_t size,
                           const struct pf_zip_member *member, struct pf_error *error)
{
    int64_t number;
    size_t at = read_number(name, size, &number);
    bool offsets = at && size - at == 5 && !memcmp(name + at, ".indx", 5);
    bool arrays = at && size - at == 5 && !memcmp(name + at, ".vals", 5);
    if ((!offsets && !arrays) || values->count == CHUNKS_MAX)
        return 0;
    struct chunk *chunk = chunk_of(values, number, error);
    if (!chunk)
        return -1;
    struct part *part = offsets ? &chunk->offsets : &chunk->arrays;
    if (part->present) /* of two with one name, the first */
        return 0;
    part->present = true;
    part->member = *member;
    return 0;
}

/* Unpacks a deflated member; what damage leaves of it. */
static int unpack(struct pf_saved_values *values, struct part *part, struct pf_error *error)
{
    unsigned char block[BLOCK];
    uint64_t at = 0;
    ssize_t got = 0;
    part->unpacked_once = true;
    part->unpacked = pf_store_new(CHUNK_HELD);
    if (!part->unpacked)
        return pf_fail_memory(error);
    while (values->unpack_left >= sizeof block &&
           (got = pf_zip_read(part->stream, block, sizeof block, at, error)) > 0) {
        at += (uint64_t)got;
        values->unpack_left -= (uint64_t)got;
        if (pf_store_append(part->unpacked, block, (size_t)got, error) < 0 ||
            pf_pass_step(values->pass, pf_zip_progress(part->stream), pf_input_size(values->archive), error) <
                0)
            return -1;
    }
    pf_zip_close(part->stream);
    part->stream = NULL;
    return got < 0 ? -1 : 0;
}

/* 1; 0: the member is not there or cannot be read; -1: *error filled. */
static int open_part(struct pf_saved_values *values, struct part *part, struct pf_error *error)
{
    if (!part->present || part->unpacked_once)
        return 0;
    part->stream = pf_zip_open(values->archive, &part->member, error);
    if (!part->stream)
        return error->code == EINVAL ? 0 : -1;
    return part->member.method && unpack(values, part, error) < 0 ? -1 : 1;
}

/* Opens a chunk in place of the one that is open. 1; 0: it cannot be read; -1: *error filled. */
static int open_chunk(struct pf_saved_values *values, struct chunk *chunk, struct pf_error *error)
{
    if (values->open != chunk) {
        close_chunk(values);
        values->open = chunk;
        int got = open_part(values, &chunk->offsets, error);
        if (got < 0 || (got && open_part(values, &chunk->arrays, error) < 0))
            return -1;
    }
    return (chunk->offsets.stream || chunk->offsets.unpacked) &&
           (chunk->arrays.stream || chunk->arrays.unpacked);
}

/* 1: all `size` bytes are there; 0: they are not; -1: *error filled. */
static int read_part(const struct part *part, void *buffer, size_t size, uint64_t offset,
                     struct pf_error *error)
{
    if (part->stream) {
        ssize_t got = pf_zip_read(part->stream, buffer, size, offset, error);
        return got < 0 ? -1 : (size_t)got == size;
    }
    uint64_t have = pf_store_size(part->unpacked);
    if (offset > have || size > have - offset)
        return 0;
    return pf_store_read(part->unpacked, offset, buffer, size, error) < 0 ? -1 : 1;
}

/* ---- arrays ------------------------------------------------------------------------------------- */

/* What the head of a NumPy array says. */
struct array {
    uint64_t data; /* offset of its numbers */
    uint64_t rows, count;
    bool integer; /* 64 bits, signed; else doubles; both little endian */
};

/* "(6,)" or "(6, 4)": false if it is no shape, or too large to be true. */
static bool read_shape(const char *at, struct array *array)
{
    bool first = true;
    array->rows = array->count = 1;
    at += strcspn(at, "(");
    for (at += *at == '('; *at && *at != ')';) {
        char *end;
        unsigned long long n = strtoull(at, &end, 10);
        if (end == at || n > UINT32_MAX || array->count * n > INT64_MAX / sizeof(double) / UINT32_MAX)
            return false;
        array->rows = first ? n : array->rows;
        array->count *= n;
        first = false;
        for (at = end; *at == ' ' || *at == ',';)
            at++;
    }
    return *at == ')' && !first;
}

/* The dictionary of a header, as NumPy writes it. */
static bool read_dictionary(const char *text, struct array *array)
{
    const char *type = strstr(text, "'descr':"), *shape = strstr(text, "'shape':");
    if (!type || !shape || !read_shape(shape, array))
        return false;
    type += strlen("'descr':");
    type += strspn(type, " ");
    array->integer = !strncmp(type, "'<i8'", 5);
    return array->integer || !strncmp(type, "'<f8'", 5);
}

/* Version 1 of the header: magic, two bytes, the size of the dictionary, the dictionary. 1, 0 or -1. */
static int read_header(const struct part *arrays, uint64_t offset, struct array *array,
                       struct pf_error *error)
{
    unsigned char head[10];
    char text[1024];
    int got = read_part(arrays, head, sizeof head, offset, error);
    if (got <= 0 || memcmp(head, "\x93NUMPY\1\0", 8) != 0)
        return got < 0 ? -1 : 0;
    size_t size = head[8] | (size_t)head[9] << 8;
    if (size >= sizeof text)
        return 0;
    got = read_part(arrays, text, size, offset + sizeof head, error);
    if (got <= 0)
        return got;
    text[size] = 0;
    array->data = offset + sizeof head + size;
    return read_dictionary(text, array);
}

static double number_at(const unsigned char *bytes, bool integer)
{
    uint64_t word;
    double value;
    memcpy(&word, bytes, sizeof word);
    word = le64toh(word);
    memcpy(&value, &word, sizeof value);
    return integer ? (double)(int64_t)word : value;
}

/* Whether this array and those before can be there: each is added once. */
static bool may_add(struct pf_saved_values *values, struct chunk *chunk, const struct array *array)
{
    bool packed = chunk->arrays.unpacked != NULL;
    uint64_t size = packed ? pf_store_size(chunk->arrays.unpacked) : pf_input_size(values->archive);
    uint64_t *added = packed ? &chunk->added : &values->in_place;
    if (array->count > size / 8 || array->count * 8 > size - *added)
        return false;
    *added += array->count * 8;
    return true;
}

/* Adds the numbers. 1; 0: they end early; -1: *error filled. */
static int add_numbers(const struct part *arrays, const struct array *array, struct pf_measured *measured,
                       struct pf_error *error)
{
    unsigned char block[BLOCK];
    uint64_t offset = array->data;
    for (uint64_t left = array->count; left;) {
        size_t n = left < BLOCK / 8 ? (size_t)left : BLOCK / 8;
        int got = read_part(arrays, block, n * 8, offset, error);
        if (got <= 0)
            return got;
        for (size_t i = 0; i < n; i++)
            if (pf_measured_add(measured, number_at(block + i * 8, array->integer), error) < 0)
                return -1;
        left -= n;
        offset += n * 8;
    }
    return 1;
}

/* Where array `index` starts, by the chunk's index. 1, 0 or -1. */
static int find_array(const struct chunk *chunk, int64_t index, uint64_t *offset, const char **what,
                      struct pf_error *error)
{
    unsigned char head[INDEX_HEADER], entry[8], magic[sizeof values_magic];
    uint64_t count;
    *what = "the index of its values is missing or damaged";
    int got = read_part(&chunk->offsets, head, sizeof head, 0, error);
    if (got <= 0 || memcmp(head, index_magic, sizeof index_magic) != 0)
        return got < 0 ? -1 : 0;
    memcpy(&count, head + 16, sizeof count);
    *what = "the index of its values does not reach so far";
    if (index < 0 || (uint64_t)index >= le64toh(count) || index > INT64_MAX / 16)
        return 0;
    got = read_part(&chunk->offsets, entry, sizeof entry, INDEX_HEADER + 8 * (uint64_t)index, error);
    if (got <= 0)
        return got;
    memcpy(offset, entry, sizeof *offset);
    *offset = le64toh(*offset);
    *what = "its values are missing or damaged";
    got = read_part(&chunk->arrays, magic, sizeof magic, 0, error);
    if (got <= 0 || memcmp(magic, values_magic, sizeof magic) != 0 || *offset > INT64_MAX)
        return got < 0 ? -1 : 0;
    return 1;
}

int pf_saved_values_add(struct pf_saved_values *values, int64_t chunk_number, int64_t index,
                        struct pf_measured *measured, uint64_t *repetitions, const char **what,
                        struct pf_error *error)
{
    uint32_t at = pf_ids_get(&values->numbers, chunk_number);
    struct array array = {0};
    uint64_t offset;
    *what = "the archive does not have its values";
    if (at == PF_NO_ID)
        return 0;
    struct chunk *chunk = &values->chunks[at];
    int got = open_chunk(values, chunk, error);
    if (got > 0)
        got = find_array(chunk, index, &offset, what, error);
    if (got > 0) {
        *what = "its values are no array of numbers";
        got = read_header(&chunk->arrays, offset, &array, error);
    }
    if (got > 0) {
        *what = "its values end early, or are those of others";
        got = may_add(values, chunk, &array) ? add_numbers(&chunk->arrays, &array, measured, error) : 0;
        *repetitions = array.rows;
    }
    return got;
}
