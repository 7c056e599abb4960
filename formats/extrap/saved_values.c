/* SPDX-License-Identifier: MIT */
#include "formats/extrap/saved.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/bytes.h"
#include "formats/kit/ids.h"
#include "formats/kit/number.h"

/* Size of a read, in bytes. */
enum { BLOCK = 8192 };

/* Maximum number of chunks. Extra-P puts 1 GB of values into each chunk. */
enum { CHUNKS_MAX = 65536 };

/* Magic numbers, 16 bytes each, at the start of an index and of a values file. */
static const char index_magic[16] = "Extra-P INDEX";
static const char values_magic[16] = "Extra-P VALUES";
enum { INDEX_HEADER = 24 };

/* Parts of a chunk: the index (values/N.indx) and the arrays (values/N.vals). */
enum { OFFSETS, ARRAYS, PARTS };

struct chunk {
    bool present[PARTS]; /* the archive has this part */
    struct pf_zip_member members[PARTS];
    uint64_t added; /* bytes of numbers added so far */
};

struct pf_saved_values {
    struct pf_study *study;
    uint64_t *unpack_left;
    struct chunk *open;              /* the open chunk, or NULL */
    struct pf_zip_file files[PARTS]; /* the parts of the open chunk */
    struct pf_ids numbers;           /* number of a chunk -> index in chunks[] */
    PF_LIST(struct chunk) chunks;
};

static void close_chunk(struct pf_saved_values *values)
{
    for (int part = 0; part < PARTS; part++)
        pf_zip_close(&values->files[part]);
    values->open = NULL;
}

static void free_values(struct pf_saved_values *values)
{
    close_chunk(values);
    pf_ids_free(&values->numbers);
    free(values);
}

struct pf_saved_values *pf_saved_values_new(struct pf_study *study, uint64_t *left)
{
    struct pf_saved_values *values = PF_OWN(study->run, calloc(1, sizeof *values), free_values);
    values->study = study;
    values->unpack_left = left;
    return values;
}

/* ---- members ------------------------------------------------------------------------------------ */

/* Finds or adds the chunk with this number. No chunk may be open, since adding may move chunks[]. */
static struct chunk *chunk_of(struct pf_saved_values *values, int64_t number)
{
    struct pf_run *run = values->study->run;
    uint32_t at = pf_ids_find(&values->numbers, number);
    if (at != PF_NO_ID)
        return &values->chunks.at[at];
    pf_run_check(run, pf_ids_set(&values->numbers, number, (uint32_t)values->chunks.n, run->error));
    struct chunk *chunk = PF_PUSH(run, values->chunks);
    *chunk = (struct chunk){.added = 0};
    return chunk;
}

/* If two members have the same name, the first wins. */
void pf_saved_values_member(struct pf_saved_values *values, const char *name,
                            const struct pf_zip_member *member)
{
    static const char folder[] = "values/";
    size_t at = sizeof folder - 1;
    int64_t number = 0;
    if (strncmp(name, folder, at) != 0)
        return;
    for (; name[at] >= '0' && name[at] <= '9' && at < 16; at++)
        number = number * 10 + (name[at] - '0');
    int part = !strcmp(name + at, ".indx") ? OFFSETS : !strcmp(name + at, ".vals") ? ARRAYS : PARTS;
    struct chunk *chunk = part < PARTS && values->chunks.n < CHUNKS_MAX ? chunk_of(values, number) : NULL;
    if (!chunk || chunk->present[part])
        return;
    chunk->present[part] = true;
    chunk->members[part] = *member;
}

/* Opens a chunk, and closes the one that was open. Returns false if `chunk` cannot be read. */
static bool open_chunk(struct pf_saved_values *values, struct chunk *chunk)
{
    bool good = chunk->present[OFFSETS] && chunk->present[ARRAYS];
    if (values->open == chunk)
        return good && values->files[ARRAYS].study; /* study is NULL if the part could not be opened */
    close_chunk(values);
    values->open = chunk;
    for (int part = 0; part < PARTS && good; part++) {
        good = chunk->members[part].readable;
        if (good)
            pf_zip_open(&values->files[part], values->study, &chunk->members[part], UINT64_MAX,
                        values->unpack_left);
    }
    return good;
}

/* Returns true if all `size` bytes could be read. */
static bool read_chunk_part(const struct pf_zip_file *file, void *buffer, size_t size, uint64_t offset)
{
    return pf_zip_read(file, buffer, size, offset) == size;
}

/* ---- arrays ------------------------------------------------------------------------------------- */

/* The header of a NumPy array. */
struct array {
    uint64_t data;        /* offset of the numbers */
    uint64_t rows, count; /* number of rows, and of all numbers */
    bool integer;         /* the little-endian numbers are signed 64-bit integers; otherwise doubles */
};

/* Parses a shape such as "(6,)" or "(6, 4)". Returns false if it is invalid or implausibly large. */
static bool read_shape(const char *at, struct array *array)
{
    const char *open = at + strcspn(at, "(");
    struct pf_slice rest = pf_slice(open, strlen(open));
    bool first = true;
    uint64_t n;
    array->rows = array->count = 1;
    for (pf_take(&rest, "("); pf_size(rest) && *rest.at != ')'; first = false) {
        if (!pf_take_number(&rest, &n) || n > UINT32_MAX ||
            array->count * n > INT64_MAX / sizeof(double) / UINT32_MAX)
            return false;
        array->rows = first ? n : array->rows;
        array->count *= n;
        while (pf_take(&rest, " ") || pf_take(&rest, ",")) {
        }
    }
    return pf_size(rest) && !first;
}

/* Parses the dictionary of a header as NumPy writes it. */
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

/*
 * Reads a header of version 1. It has the magic bytes, the version, the size of the dictionary in two bytes, and the
 * dictionary.
 */
static bool read_array_header(const struct pf_zip_file *arrays, uint64_t offset, struct array *array)
{
    unsigned char head[10];
    char text[1024];
    if (!read_chunk_part(arrays, head, sizeof head, offset) || memcmp(head, "\x93NUMPY\1\0", 8) != 0)
        return false;
    size_t size = pf_u16(head + 8, false);
    if (size >= sizeof text || !read_chunk_part(arrays, text, size, offset + sizeof head))
        return false;
    text[size] = 0;
    array->data = offset + sizeof head + size;
    return read_dictionary(text, array);
}

/* Adds an array's numbers. Returns false if they are truncated, or if the total would exceed the chunk's size. */
static bool add_numbers(struct chunk *chunk, const struct pf_zip_file *arrays, const struct array *array)
{
    unsigned char block[BLOCK];
    uint64_t offset = array->data;
    if (array->count > arrays->size / 8 || chunk->added > arrays->size - array->count * 8)
        return false;
    chunk->added += array->count * 8;
    for (uint64_t left = array->count; left;) {
        size_t n = left < BLOCK / 8 ? (size_t)left : BLOCK / 8;
        if (!read_chunk_part(arrays, block, n * 8, offset))
            return false;
        for (size_t i = 0; i < n; i++) {
            uint64_t word = pf_u64(block + i * 8, false);
            double value;
            memcpy(&value, &word, sizeof value);
            pf_study_add(arrays->study, array->integer ? (double)(int64_t)word : value);
        }
        left -= n;
        offset += n * 8;
    }
    return true;
}

/*
 * Sets *offset to the offset of array `index` of the open chunk. Returns NULL, or a message if the chunk has no such
 * array.
 */
static const char *find_array(const struct pf_saved_values *values, int64_t index, uint64_t *offset)
{
    unsigned char head[INDEX_HEADER], entry[8], magic[sizeof values_magic];
    const struct pf_zip_file *offsets = &values->files[OFFSETS];
    if (!read_chunk_part(offsets, head, sizeof head, 0) || memcmp(head, index_magic, sizeof index_magic) != 0)
        return "the index of its values is missing or damaged";
    if (index < 0 || (uint64_t)index >= pf_u64(head + 16, false) || index > INT64_MAX / 16 ||
        !read_chunk_part(offsets, entry, sizeof entry, INDEX_HEADER + 8 * (uint64_t)index))
        return "the index of its values does not reach so far";
    *offset = pf_u64(entry, false);
    bool good = read_chunk_part(&values->files[ARRAYS], magic, sizeof magic, 0) &&
                !memcmp(magic, values_magic, sizeof magic) && *offset <= INT64_MAX;
    return good ? NULL : "its values are missing or damaged";
}

const char *pf_saved_values_add(struct pf_saved_values *values, int64_t chunk_number, int64_t index,
                                uint64_t *repetitions)
{
    uint32_t at = pf_ids_find(&values->numbers, chunk_number);
    struct chunk *chunk = at == PF_NO_ID ? NULL : &values->chunks.at[at];
    struct array array = {0};
    uint64_t offset;
    *repetitions = 0;
    if (!chunk || !open_chunk(values, chunk))
        return "the archive does not have its values";
    const char *what = find_array(values, index, &offset);
    if (what)
        return what;
    if (!read_array_header(&values->files[ARRAYS], offset, &array))
        return "its values are not an array of numbers";
    if (!add_numbers(chunk, &values->files[ARRAYS], &array))
        return "its values end early or overlap others";
    *repetitions = array.rows;
    return NULL;
}
