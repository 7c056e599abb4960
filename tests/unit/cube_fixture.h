/* SPDX-License-Identifier: MIT */
#ifndef CUBE_FIXTURE_H
#define CUBE_FIXTURE_H

#include <inttypes.h>
#include <stdint.h>
#include <zlib.h>

#include "formats/driver.h"
#include "formats/kit/print.h"
#include "formats/model.h"
#include "tests/profile.h"
#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

/* Writes Cube files member by member, and opens them as profiles. */

#define CUBE_FIXTURE __attribute__((unused)) static

extern const struct pf_driver pf_cube_driver;

/* ---- bytes -------------------------------------------------------------------------------------- */

struct bytes {
    unsigned char *at;
    size_t size, room;
};

CUBE_FIXTURE void put(struct bytes *bytes, const void *more, size_t size)
{
    if (bytes->size + size > bytes->room) {
        bytes->room = (bytes->size + size) * 2;
        bytes->at = realloc(bytes->at, bytes->room);
        if (!bytes->at)
            abort();
    }
    if (size)
        memcpy(bytes->at + bytes->size, more, size);
    bytes->size += size;
}

CUBE_FIXTURE void put_zeros(struct bytes *bytes, size_t size)
{
    static const unsigned char zeros[512];
    for (; size; size -= size < sizeof zeros ? size : sizeof zeros)
        put(bytes, zeros, size < sizeof zeros ? size : sizeof zeros);
}

CUBE_FIXTURE void put_number(struct bytes *bytes, uint64_t value, unsigned size, bool big)
{
    for (unsigned i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)(value >> 8 * (big ? size - 1 - i : i));
        put(bytes, &byte, 1);
    }
}

CUBE_FIXTURE void put_double(struct bytes *bytes, double value, bool big)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_number(bytes, bits, 8, big);
}

CUBE_FIXTURE void forget(struct bytes *bytes)
{
    free(bytes->at);
    *bytes = (struct bytes){0};
}

/* ---- archives ----------------------------------------------------------------------------------- */

/* Writes a tar header as Cube does, except for the checksum, which readers ignore. */
CUBE_FIXTURE void put_header(struct bytes *tar, const char *name, uint64_t size, char kind)
{
    char block[512] = {0};
    memcpy(block, name, strlen(name));
    snprintf(block + 124, 12, "%011" PRIo64, size);
    block[156] = kind;
    memcpy(block + 257,
           "ustar\0"
           "00",
           8);
    put(tar, block, sizeof block);
}

CUBE_FIXTURE void put_member(struct bytes *tar, const char *name, const void *content, size_t size)
{
    put_header(tar, name, size, '0');
    put(tar, content, size);
    put_zeros(tar, size % 512 ? 512 - size % 512 : 0);
}

CUBE_FIXTURE void put_text(struct bytes *tar, const char *name, const char *text)
{
    put_member(tar, name, text, strlen(text));
}

/* ---- indexes and data --------------------------------------------------------------------------- */

/* Writes a sparse index with `n` positions; if n < 0, a dense index, which has no positions. */
CUBE_FIXTURE void put_index(struct bytes *tar, const char *name, const uint32_t *positions, int n, bool big)
{
    struct bytes index = {0};
    put(&index, "CUBEX.INDEX", 11);
    put_number(&index, 1, 4, big);
    put_number(&index, 0, 2, big);
    put_number(&index, n < 0 ? 3 : 1, 1, big);
    if (n >= 0)
        put_number(&index, (uint64_t)n, 4, big);
    for (int i = 0; i < n; i++)
        put_number(&index, positions[i], 4, big);
    put_member(tar, name, index.at, index.size);
    forget(&index);
}

CUBE_FIXTURE void put_data(struct bytes *tar, const char *name, const struct bytes *rows)
{
    struct bytes data = {0};
    put(&data, "CUBEX.DATA", 10);
    put(&data, rows->at, rows->size);
    put_member(tar, name, data.at, data.size);
    forget(&data);
}

/* Compresses each row of `row` bytes to a separate zlib stream; the stream of row number `damaged` is invalid. */
CUBE_FIXTURE void put_packed(struct bytes *tar, const char *name, const struct bytes *rows, size_t row,
                             bool big, int damaged)
{
    struct bytes data = {0}, streams = {0};
    size_t n = rows->size / row;
    put(&data, "ZCUBEX.DATA", 11);
    put_number(&data, n, 8, big);
    for (size_t i = 0; i < n; i++) {
        unsigned char packed[4096];
        uLongf size = sizeof packed;
        if (compress(packed, &size, rows->at + i * row, row) != Z_OK)
            abort();
        if ((int)i == damaged)
            memset(packed, 0xee, size);
        put_number(&data, i * row, 8, big);
        put_number(&data, streams.size, 8, big);
        put_number(&data, size, 8, big);
        put(&streams, packed, size);
    }
    put(&data, streams.at, streams.size);
    put_member(tar, name, data.at, data.size);
    forget(&data);
    forget(&streams);
}

CUBE_FIXTURE void put_doubles(struct bytes *rows, const double *values, size_t n, bool big)
{
    for (size_t i = 0; i < n; i++)
        put_double(rows, values[i], big);
}

/* ---- anchors ------------------------------------------------------------------------------------ */

#define METRIC(id, kind, name, dtype)                                                                        \
    "<metric id=\"" #id "\" type=\"" kind "\"><disp_name>" name "</disp_name><uniq_name>" name               \
    "</uniq_name><dtype>" dtype "</dtype><uom>sec</uom><url/><descr></descr></metric>\n"

/* main calls a and b; a calls c and d. The id of b is 9, so ids do not follow the order of the document. */
#define PROGRAM                                                                                              \
    "<program>\n"                                                                                            \
    "<region id=\"0\" mod=\"main.c\" begin=\"3\" "                                                           \
    "end=\"-1\"><name>main</name><role>function</role></region>\n"                                           \
    "<region id=\"1\" mod=\"\" begin=\"-1\" end=\"-1\"><name>a</name><role>loop</role></region>\n"           \
    "<region id=\"2\"><name>b</name></region>\n"                                                             \
    "<region id=\"3\"><name>c</name></region>\n"                                                             \
    "<region id=\"4\"><name>d&lt;int&gt;</name></region>\n"                                                  \
    "<cnode id=\"0\" calleeId=\"0\"><cnode id=\"1\" calleeId=\"1\" line=\"7\" mod=\"main.c\">"               \
    "<cnode id=\"2\" calleeId=\"3\"/><cnode id=\"3\" calleeId=\"4\"></cnode></cnode>"                        \
    "<cnode id=\"9\" calleeId=\"2\"/></cnode>\n"                                                             \
    "</program>\n"

/* Two processes with one thread each. */
#define SYSTEM                                                                                               \
    "<system><systemtreenode Id=\"0\"><name>machine</name><class>machine</class>\n"                          \
    "<locationgroup Id=\"0\"><name>rank 0</name><rank>0</rank><type>process</type>"                          \
    "<location Id=\"0\"><name>master</name><rank>0</rank><type>thread</type></location></locationgroup>\n"   \
    "<locationgroup Id=\"1\"><name>rank 1</name><rank>1</rank><type>process</type>"                          \
    "<location Id=\"1\"><name>master</name><rank>0</rank><type>thread</type></location></locationgroup>\n"   \
    "</systemtreenode></system>\n"

#define ANCHOR(metrics)                                                                                      \
    "<?xml version=\"1.0\"?>\n<cube version=\"4.4\">\n<attr key=\"Creator\" value=\"the "                    \
    "&quot;tests&quot;\"/>\n"                                                                                \
    "<metrics>" metrics "</metrics>\n" PROGRAM SYSTEM "</cube>\n"

/* ---- profiles ----------------------------------------------------------------------------------- */

struct fixture {
    char folder[64];
    int directory;
    struct pf_options options;
    struct pf_model model;
    int result;
    struct pf_error error;
};

/* Writes these bytes to a file and frees them, then opens the file. */
CUBE_FIXTURE void open_fixture(struct fixture *fixture, struct bytes *file)
{
    *fixture = (struct fixture){.options = {.cache = 1 << 20}};
    temp_dir_make(fixture->folder);
    write_bytes(fixture->folder, "profile.cubex", file->at, file->size);
    forget(file);
    /* Sources wait up to 20 ms before they open a file that was just written; a future mtime avoids this. */
    struct timespec times[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = INT32_MAX}};
    utimensat(AT_FDCWD, path_in(fixture->folder, "profile.cubex"), times, 0);
    fixture->directory = open(fixture->folder, O_RDONLY | O_DIRECTORY);
    fixture->result = profile_open(&fixture->model, &pf_cube_driver, fixture->directory, "profile.cubex",
                                   &fixture->options, &fixture->error);
}

/* Like open_fixture, and loads the file. */
CUBE_FIXTURE void set_up(struct fixture *fixture, struct bytes *file)
{
    open_fixture(fixture, file);
    if (!fixture->result)
        fixture->result = pf_model_load(&fixture->model, PF_DERIVED, &fixture->error);
    if (fixture->result)
        printf("# %s\n", fixture->error.what);
}

CUBE_FIXTURE void tear_down(struct fixture *fixture)
{
    profile_close(&fixture->model);
    close(fixture->directory);
    temp_dir_remove(fixture->folder);
}

/* ---- tables as text ----------------------------------------------------------------------------- */

CUBE_FIXTURE void print_cell(FILE *out, const struct pf_cell *cell)
{
    char text[PF_NUMBER_MAX], *end = text;
    if (cell->type == PF_TEXT)
        fprintf(out, "%.*s", (int)cell->size, cell->text);
    else if (cell->type == PF_DOUBLE)
        end = pf_print_double(text, cell->d);
    else if (cell->type == PF_INT)
        end = pf_print_int(text, cell->i);
    else if (cell->type == PF_UINT)
        end = pf_print_uint(text, cell->u);
    else if (cell->type == PF_WIDE)
        end = pf_print_wide(text, *cell->wide);
    fprintf(out, "%.*s", (int)(end - text), text);
}

/* Returns the first `columns` cells of each row as text, with a space between cells and `|` after each row; valid until the next call. */
CUBE_FIXTURE const char *rows_text(const struct pf_rows *rows, size_t columns)
{
    static char text[16384];
    FILE *out = fmemopen(text, sizeof text, "w");
    text[0] = 0;
    for (size_t i = 0; i < pf_rows_count(rows); i++)
        for (size_t c = 0; c < columns; c++) {
            print_cell(out, &pf_rows_at(rows, i)[c]);
            fputc(c + 1 < columns ? ' ' : '|', out);
        }
    fclose(out);
    return text;
}

CUBE_FIXTURE void print_value(FILE *out, const struct pf_model *model, const struct pf_table *table,
                              const struct pf_cell *cells)
{
    struct pf_cell name = pf_interned(model->contexts->strings, model->contexts->name[cells[1].i]);
    fprintf(out, "%jd %.*s %s ", (intmax_t)cells[0].i, (int)name.size, name.text,
            model->metrics[cells[2].i].name);
    for (size_t c = 3; c + 1 < table->n_columns; c++) {
        print_cell(out, &cells[c]);
        fputc(c + 2 < table->n_columns ? ' ' : '|', out);
    }
}

/* Returns the rows as "THREAD CONTEXT METRIC VALUE|"; the caller frees the text. With `resume`, a new cursor reads
 * each row. */
CUBE_FIXTURE char *walk_text(struct fixture *fixture, const struct pf_table *table,
                             struct pf_restriction only, bool resume)
{
    struct pf_cell cells[8] = {{0}};
    char *text = NULL, position[64];
    size_t size, saved = 0;
    FILE *out = open_memstream(&text, &size);
    for (bool more = true; more;) {
        struct pf_cursor cursor = {.model = &fixture->model, .table = table, .only = only};
        if (table->ops->open(&cursor, &fixture->error) ||
            (saved && table->ops->restore(&cursor, position, saved, &fixture->error)))
            abort();
        do {
            int got = table->ops->next(&cursor, cells, &fixture->error);
            if (got < 0)
                abort();
            more = got > 0;
            if (more)
                print_value(out, &fixture->model, table, cells);
        } while (more && !resume);
        saved = table->ops->save(&cursor, position, sizeof position);
        table->ops->close(&cursor);
    }
    fclose(out);
    return text;
}

CUBE_FIXTURE char *values_text(struct fixture *fixture, struct pf_restriction only, bool resume)
{
    return walk_text(fixture, fixture->model.values, only, resume);
}

CUBE_FIXTURE char *components_text(struct fixture *fixture, struct pf_restriction only, bool resume)
{
    for (size_t i = 0; i < fixture->model.n_tables; i++)
        if (!strcmp(fixture->model.tables[i].name, "components"))
            return walk_text(fixture, &fixture->model.tables[i], only, resume);
    abort();
}

CUBE_FIXTURE void values_are(struct fixture *fixture, const char *want, const char *name)
{
    char *have = fixture->result ? NULL : values_text(fixture, PF_UNRESTRICTED, false);
    is(have, want, name);
    free(have);
}

CUBE_FIXTURE bool warns(const struct fixture *fixture, const char *severity, const char *code)
{
    const struct pf_rows *warnings = fixture->model.warnings;
    for (size_t i = 0; i < pf_rows_count(warnings); i++) {
        const struct pf_cell *row = pf_rows_at(warnings, i);
        if (row[2].size == strlen(severity) && !memcmp(row[2].text, severity, row[2].size) &&
            row[3].size == strlen(code) && !memcmp(row[3].text, code, row[3].size))
            return true;
    }
    printf("#   warnings: %s\n", rows_text(warnings, 5));
    return false;
}

CUBE_FIXTURE bool is_sound(const struct fixture *fixture)
{
    if (!pf_rows_count(fixture->model.warnings))
        return true;
    printf("#   warnings: %s\n", rows_text(fixture->model.warnings, 5));
    return false;
}

#endif
