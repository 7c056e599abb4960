/* SPDX-License-Identifier: MIT */
/* The regions `resources` and `resource_type_map`: types with columns, and what the rows of each share. */
#include <errno.h>
#include <stdlib.h>

#include "formats/kit/table.h"
#include "formats/perun/read.h"
#include "formats/perun/sums.h"

/* Columns of one type; real ones have at most seven. */
enum { COLUMNS_MAX = 1024 };

struct column {
    uint32_t field;
    uint64_t offset, rows, numbers; /* numbers: rows that have one */
    struct perun_total total;       /* of these */
    bool texts;                     /* some row has a text */
};

/* ---- columns ------------------------------------------------------------------------------------ */

static int add_value(struct perun_data *data, struct column *column, const struct pf_cell *cell,
                     struct pf_error *error)
{
    if (cell->type != PF_ABSENT && cell->type != PF_TEXT) {
        perun_total_add(&column->total, cell);
        column->numbers++;
    }
    column->rows++;
    return perun_put_cell(&data->columns, cell, error);
}

/* The same for numbers of few digits: so many integers make no more than 128 bits. */
static int add_numbers(struct perun_data *data, struct column *column, const struct pf_json_numeral *numerals,
                       size_t n, struct pf_error *error)
{
    pf_int128 whole = 0;
    for (size_t i = 0; i < n; i++) {
        if (numerals[i].value.type == PF_INT)
            whole += numerals[i].value.i;
        else
            perun_total_add(&column->total, &numerals[i].value);
    }
    perun_total_add_whole(&column->total, whole);
    column->numbers += n;
    column->rows += n;
    return perun_put_numerals(&data->columns, numerals, n, error);
}

/* The next element of a list of any kind. 1; 0: the list's end; -1: *error filled. */
static int read_element(struct perun_reading *reading, struct column *column, struct pf_error *error)
{
    struct pf_json_token token;
    struct perun_value value;
    int event = pf_json_next(reading->json, &token, error);
    if (event <= 0 || event == PF_JSON_ARRAY_END)
        return event < 0 ? -1 : 0;
    reading->texts.size = 0;
    if (perun_read_value(reading, column->field, &token, &value, error))
        return -1;
    if (value.cell.type == PF_TEXT) {
        value.cell.text = reading->texts.at + value.text;
        column->texts = true;
    }
    return add_value(reading->data, column, &value.cell, error) ? -1 : 1;
}

/* The elements of a list onto the tape. */
static int read_column(struct perun_reading *reading, struct column *column, struct pf_error *error)
{
    struct pf_json_numeral numerals[256];
    for (int more = 1; more > 0;) {
        size_t n = pf_json_numbers(reading->json, numerals, sizeof numerals / sizeof *numerals);
        if (add_numbers(reading->data, column, numerals, n, error))
            return -1;
        if (n < sizeof numerals / sizeof *numerals)
            more = read_element(reading, column, error);
        if (more < 0 || perun_step(reading, error))
            return -1;
    }
    return 0;
}

/* One member of a type: 0, with *used if it is a column to be kept. */
static int read_member(struct perun_reading *reading, struct column *column, bool *used,
                       struct pf_error *error)
{
    struct perun_data *data = reading->data;
    struct pf_json_token name, token;
    int event = pf_json_next(reading->json, &name, error);
    *used = false;
    if (event <= 0 || event == PF_JSON_OBJECT_END)
        return event < 0 ? -1 : 0;
    if (perun_field_of(&data->fields, data->tree->strings, name.text, name.size, &column->field, error) ||
        pf_json_next(reading->json, &token, error) < 0)
        return -1;
    *used = true;
    *column = (struct column){.field = column->field, .offset = data->columns.size};
    if (token.event == PF_JSON_ARRAY)
        return read_column(reading, column, error);
    PERUN_NOTE_AT(reading, &token, "warning", "no-list", "a column is not a list: its type has no resources");
    return token.event == PF_JSON_OBJECT ? pf_json_leave(reading->json, error) : 0;
}

/* The last of equal columns counts; those of too many fields do not. */
static void add_column(struct perun_reading *reading, struct column *columns, size_t *n,
                       const struct column *column, const struct pf_json_token *key)
{
    size_t i = 0;
    while (i < *n && columns[i].field != column->field)
        i++;
    if (i == COLUMNS_MAX || column->field == PERUN_NONE) {
        PERUN_NOTE_AT(reading, key, "warning", "many-fields", "a column is left out: there are too many");
        return;
    }
    columns[i] = *column;
    *n += i == *n;
}

/* How many rows all columns have; a type without columns is one resource. */
static uint64_t rows_of(struct perun_reading *reading, const struct column *columns, size_t n,
                        const struct pf_json_token *key)
{
    uint64_t rows = n ? columns[0].rows : 1, most = rows;
    for (size_t i = 1; i < n; i++) {
        rows = columns[i].rows < rows ? columns[i].rows : rows;
        most = columns[i].rows > most ? columns[i].rows : most;
    }
    if (most > rows)
        PERUN_NOTE_AT(reading, key, "warning", "unequal-columns",
                      "the columns of this type have unequal lengths: the shortest counts");
    return rows;
}

/* So that to add up the type, its rows need not be read. */
static int put_sum(struct perun_tape *tape, const struct column *column, uint64_t rows,
                   struct pf_error *error)
{
    const struct perun_total *total = &column->total;
    bool each = column->rows == rows && column->numbers == rows,
         small = total->whole == (int64_t)total->whole;
    unsigned char kind = !each ? PERUN_NO_SUM : total->has_real ? PERUN_REAL_SUM : PERUN_WHOLE_SUM;
    struct pf_cell whole = small ? pf_int((int64_t)total->whole) : pf_wide(&total->whole);
    if (perun_put(tape, &kind, 1, error))
        return -1;
    if (kind == PERUN_NO_SUM)
        return 0;
    if (perun_put_cell(tape, &whole, error))
        return -1;
    return kind == PERUN_WHOLE_SUM
               ? 0
               : perun_put(tape, (double[]){total->real, total->rest}, 2 * sizeof total->real, error);
}

static int put_type(struct perun_reading *reading, const struct column *columns, size_t n, uint64_t start,
                    const struct pf_json_token *key, uint64_t hash, struct pf_error *error)
{
    struct perun_data *data = reading->data;
    uint64_t words[] = {hash, reading->body + key->offset}, rows = rows_of(reading, columns, n, key);
    if (perun_put(&data->types, words, sizeof words, error) ||
        perun_put(&data->items, &(unsigned char){PERUN_TYPE}, 1, error) ||
        perun_put_number(&data->items, rows, error) || perun_put_number(&data->items, start, error) ||
        perun_put_number(&data->items, data->columns.size, error) ||
        perun_put_number(&data->items, reading->unit + 1, error) || perun_put_number(&data->items, n, error))
        return -1;
    for (size_t i = 0; i < n; i++) {
        data->fields.list[columns[i].field].seen |= columns[i].numbers > 0 || columns[i].texts;
        data->fields.list[columns[i].field].texts |= columns[i].texts;
        if (perun_put_number(&data->items, columns[i].field, error) ||
            perun_put_number(&data->items, columns[i].offset - start, error) ||
            put_sum(&data->items, &columns[i], rows, error))
            return -1;
    }
    data->n_types++;
    data->n_items++;
    return 0;
}

/* The columns of a type, behind its first token. What was read of it before damage is kept. */
static int read_type(struct perun_reading *reading, const struct pf_json_token *key, uint64_t hash,
                     struct column *columns, struct pf_error *error)
{
    struct column column;
    size_t n = 0;
    bool used = true;
    uint64_t start = reading->data->columns.size;
    int failed = 0;
    reading->unit = PF_NO_STRING;
    while (used && !failed) {
        failed = read_member(reading, &column, &used, error);
        if (used)
            add_column(reading, columns, &n, &column, key);
    }
    struct pf_error other;
    return put_type(reading, columns, n, start, key, hash, failed ? &other : error) || failed ? -1 : 0;
}

int perun_read_types(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token key, token;
    struct column *columns = malloc(COLUMNS_MAX * sizeof *columns);
    int event = 0;
    if (!columns)
        return pf_fail_memory(error);
    while (event >= 0 && (event = pf_json_next(reading->json, &key, error)) == PF_JSON_NAME) {
        uint64_t hash = pf_siphash(0, key.text, key.size);
        event = pf_json_next(reading->json, &token, error);
        if (event < 0 || perun_step(reading, error))
            event = -1;
        else if (event == PF_JSON_OBJECT)
            event = read_type(reading, &key, hash, columns, error);
        else {
            PERUN_NOTE_AT(reading, &token, "warning", "wrong-kind", "a type of resources is not an object");
            event = event == PF_JSON_ARRAY ? pf_json_leave(reading->json, error) : 0;
        }
    }
    free(columns);
    return event < 0 ? -1 : 0;
}

/* ---- what the rows of a type share -------------------------------------------------------------- */

/* What was read of an entry onto the tape. */
static int write_entry(struct perun_reading *reading, uint64_t hash, struct pf_error *error)
{
    struct perun_data *data = reading->data;
    uint64_t words[] = {hash, data->entries.size};
    if (perun_find_place(reading, error) ||
        perun_write_properties(reading, &data->entries, PERUN_NONE, PERUN_NONE, error))
        return -1;
    data->n_entries++;
    return perun_put(&data->keys, words, sizeof words, error);
}

/* An entry, behind its key. */
static int read_entry(struct perun_reading *reading, uint64_t hash, struct pf_error *error)
{
    struct pf_json_token token;
    int alike = perun_match_object(reading, error);
    if (alike)
        return alike < 0 ? -1 : write_entry(reading, hash, error);
    int event = pf_json_next(reading->json, &token, error);
    if (event < 0)
        return -1;
    if (event == PF_JSON_OBJECT) {
        if (perun_read_properties(reading, error))
            return -1;
        perun_learn_object(reading, token.offset);
        return write_entry(reading, hash, error);
    }
    PERUN_NOTE_AT(reading, &token, "warning", "wrong-kind", "an entry of resource_type_map is not an object");
    return event == PF_JSON_ARRAY ? pf_json_leave(reading->json, error) : 0;
}

int perun_read_entries(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token key;
    int event;
    while ((event = pf_json_next(reading->json, &key, error)) == PF_JSON_NAME)
        if (read_entry(reading, pf_siphash(0, key.text, key.size), error))
            return -1;
    return event < 0 ? -1 : 0;
}

/* ---- types and entries brought together --------------------------------------------------------- */

/* Both regions mostly have the same order; a table is made only where they have not. */
struct links {
    struct perun_head keys, types;
    uint64_t next;   /* entry, in order */
    uint64_t *slots; /* hash, 1 + offset: pairs; a free one has 0 for the second */
    uint64_t mask;
};

static uint64_t *slot_of(const struct links *links, uint64_t hash)
{
    for (uint64_t i = hash;; i++) {
        uint64_t *slot = &links->slots[2 * (i & links->mask)];
        if (!slot[1] || slot[0] == hash)
            return slot;
    }
}

static int make_table(struct perun_data *data, struct links *links, struct pf_error *error)
{
    uint64_t room = 16;
    while (room < 2 * data->n_entries)
        room *= 2;
    links->mask = room - 1;
    links->slots = calloc(2 * room, sizeof *links->slots);
    if (!links->slots)
        return pf_fail_memory(error);
    perun_head_seek(&links->keys, 0);
    for (uint64_t i = 0; i < data->n_entries; i++) {
        uint64_t words[2];
        const unsigned char *bytes = perun_get(&links->keys, sizeof words, error);
        if (!bytes)
            return -1;
        memcpy(words, bytes, sizeof words);
        uint64_t *slot = slot_of(links, words[0]);
        slot[0] = words[0];
        slot[1] = words[1] + 1;
    }
    return 0;
}

/* 1 + the offset of the entry for a type, or 0. */
static int find_entry(struct perun_data *data, struct links *links, uint64_t hash, uint64_t *link,
                      struct pf_error *error)
{
    uint64_t words[2];
    if (!links->slots && links->next < data->n_entries) {
        const unsigned char *bytes = perun_get(&links->keys, sizeof words, error);
        if (!bytes)
            return -1;
        memcpy(words, bytes, sizeof words);
        links->next++;
        if (words[0] == hash) {
            *link = words[1] + 1;
            return 0;
        }
    }
    if (!links->slots && make_table(data, links, error))
        return -1;
    *link = slot_of(links, hash)[1];
    return 0;
}

int perun_link_types(struct perun_data *data, struct pf_error *error)
{
    struct links links = {.keys.tape = &data->keys, .types.tape = &data->types};
    int failed = 0;
    for (uint64_t i = 0; i < data->n_types && !failed; i++) {
        uint64_t words[2], link = 0;
        const unsigned char *bytes = perun_get(&links.types, sizeof words, error);
        if (!bytes) {
            failed = -1;
            break;
        }
        memcpy(words, bytes, sizeof words);
        failed = find_entry(data, &links, words[0], &link, error);
        if (!failed && !link)
            perun_note(&data->notes, 0, (int64_t)words[1], "warning", "no-entry",
                       "left out: this type of resources is not in resource_type_map");
        if (!failed)
            failed = perun_put(&data->links, &link, sizeof link, error);
    }
    perun_head_free(&links.keys);
    perun_head_free(&links.types);
    free(links.slots);
    return failed ? -1 : 0;
}
