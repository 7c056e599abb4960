/* SPDX-License-Identifier: MIT */
#include "formats/pprof/tables.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"

/* Offset of what is in no place of its own. */
#define NOWHERE UINT64_MAX

void pprof_tables_free(struct pprof_tables *tables)
{
    struct pprof_ids *ids[] = {&tables->functions, &tables->mappings, &tables->locations};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        free(ids[i]->ids);
        pf_hash_free(&ids[i]->table);
    }
    free(tables->strings);
    free(tables->function);
    free(tables->mapping);
    free(tables->location);
    free(tables->lines);
    free(tables->types);
    free(tables->comments);
}

int pprof_warn(struct pprof_tables *tables, uint64_t offset, const char *code, struct pf_error *error,
               const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return pf_warn(tables->profile, 0, offset == NOWHERE ? -1 : (int64_t)offset, "error", code, error, "%s",
                   text);
}

/* ---- ids ---------------------------------------------------------------------------------------- */

int64_t pprof_find(const struct pprof_ids *ids, uint64_t id)
{
    if (id - 1 < ids->n && ids->ids[id - 1] == id) /* mostly they are counted from 1 */
        return (int64_t)id - 1;
    return pf_hash_find(&ids->table, pf_siphash_number(id), pf_is_number, ids->ids, &id);
}

/* The index of a record to be filled, of an id that may be there already; -1 with *error filled; -2: it may not be. */
static int64_t add_id(struct pprof_tables *tables, struct pprof_ids *ids, uint64_t id, uint64_t offset,
                      const char *what, struct pf_error *error)
{
    if (!id)
        return pprof_warn(tables, offset, "bad-id", error, "a %s has the id 0: it is left out", what) ? -1
                                                                                                      : -2;
    int64_t found = pprof_find(ids, id);
    if (found >= 0)
        return pprof_warn(tables, offset, "double-id", error, "two %ss have the id %ju: the later one counts",
                          what, (uintmax_t)id)
                   ? -1
                   : found;
    if (pf_array_room(&ids->ids, &ids->room, ids->n, sizeof *ids->ids, error) ||
        pf_hash_add(&ids->table, pf_siphash_number(id), (uint32_t)ids->n, error))
        return -1;
    ids->ids[ids->n] = id;
    return (int64_t)ids->n++;
}

/* ---- messages ----------------------------------------------------------------------------------- */

/* The numbers that a message is made of, fields 1 and on; of one that is given twice the last counts. */
enum { NUMBERS_MAX = 6 };

/*
 * Reads a message of numbers. Field `list` (0: none) is one of other messages, which `each` is called for. 1: it is good; 0: it
 * is not, and told of; -1: *error filled.
 */
static int take_message(struct pprof_tables *tables, const struct pprof_field *whole, const char *what,
                        uint64_t numbers[NUMBERS_MAX + 1], uint64_t list,
                        int (*each)(struct pprof_tables *, const struct pprof_field *, struct pf_error *),
                        struct pf_error *error)
{
    struct pprof_message message = pprof_in(whole);
    struct pprof_field field;
    const char *wrong = NULL;
    int more;
    while ((more = pprof_next(&message, &field, &wrong)) > 0) {
        field.offset = whole->offset;
        bool listed = list && field.number == list, number = !listed && field.number <= NUMBERS_MAX;
        if ((listed && field.wire != WIRE_BYTES) || (number && field.wire != WIRE_VARINT)) {
            if (pprof_warn(tables, whole->offset, "bad-type", error,
                           "field %ju of a %s has another type: it is left out", (uintmax_t)field.number,
                           what))
                return -1;
        } else if (number) {
            numbers[field.number] = field.value;
        } else if (listed) {
            int got = each(tables, &field, error);
            if (got <= 0)
                return got;
        }
    }
    if (more == 0)
        return 1;
    return pprof_warn(tables, whole->offset, "bad-message", error, "a %s is left out: %s", what, wrong) ? -1
                                                                                                        : 0;
}

static int take_line(struct pprof_tables *tables, const struct pprof_field *field, struct pf_error *error)
{
    uint64_t numbers[NUMBERS_MAX + 1] = {0};
    int got = take_message(tables, field, "line", numbers, 0, NULL, error);
    if (got <= 0)
        return got;
    if (tables->n_lines > UINT32_MAX / 2)
        return pf_fail(error, EFBIG, "too many lines of locations");
    if (pf_array_room(&tables->lines, &tables->lines_room, tables->n_lines, sizeof *tables->lines, error))
        return -1;
    tables->lines[tables->n_lines++] = (struct pprof_line){.function = numbers[1], .line = numbers[2]};
    return 1;
}

static int take_location(struct pprof_tables *tables, const struct pprof_field *field, struct pf_error *error)
{
    uint64_t numbers[NUMBERS_MAX + 1] = {0};
    size_t first = tables->n_lines;
    int got = take_message(tables, field, "location", numbers, 4, take_line, error);
    if (got <= 0)
        tables->n_lines = first;
    if (got <= 0)
        return got;
    int64_t i = add_id(tables, &tables->locations, numbers[1], field->offset, "location", error);
    if (i < 0)
        return i == -2 ? 0 : -1;
    if (pf_array_reach(&tables->location, &tables->location_room, (size_t)i, sizeof *tables->location, error))
        return -1;
    tables->location[i] = (struct pprof_location){.mapping = numbers[2],
                                                  .address = numbers[3],
                                                  .first = (uint32_t)first,
                                                  .lines = (uint32_t)(tables->n_lines - first)};
    return 0;
}

static int take_function(struct pprof_tables *tables, const struct pprof_field *field, struct pf_error *error)
{
    uint64_t numbers[NUMBERS_MAX + 1] = {0};
    int got = take_message(tables, field, "function", numbers, 0, NULL, error);
    if (got <= 0)
        return got;
    int64_t i = add_id(tables, &tables->functions, numbers[1], field->offset, "function", error);
    if (i < 0)
        return i == -2 ? 0 : -1;
    if (pf_array_reach(&tables->function, &tables->function_room, (size_t)i, sizeof *tables->function, error))
        return -1;
    tables->function[i] =
        (struct pprof_function){.name = numbers[2], .system = numbers[3], .file = numbers[4]};
    return 0;
}

static int take_mapping(struct pprof_tables *tables, const struct pprof_field *field, struct pf_error *error)
{
    uint64_t numbers[NUMBERS_MAX + 1] = {0};
    int got = take_message(tables, field, "mapping", numbers, 0, NULL, error);
    if (got <= 0)
        return got;
    int64_t i = add_id(tables, &tables->mappings, numbers[1], field->offset, "mapping", error);
    if (i < 0)
        return i == -2 ? 0 : -1;
    if (pf_array_reach(&tables->mapping, &tables->mapping_room, (size_t)i, sizeof *tables->mapping, error))
        return -1;
    tables->mapping[i] = (struct pprof_mapping){.file = numbers[5]};
    return 0;
}

static int take_type(struct pprof_tables *tables, const struct pprof_field *field, struct pf_error *error)
{
    uint64_t numbers[NUMBERS_MAX + 1] = {0};
    int got = take_message(tables, field, "type", numbers, 0, NULL, error);
    struct pprof_type type = {.type = numbers[1], .unit = numbers[2]};
    if (got > 0 && field->number == PPROF_PERIOD_TYPE)
        tables->period = type;
    if (got <= 0 || field->number == PPROF_PERIOD_TYPE)
        return got < 0 ? -1 : 0;
    if (pf_array_room(&tables->types, &tables->types_room, tables->n_types, sizeof *tables->types, error))
        return -1;
    tables->types[tables->n_types++] = type;
    return 0;
}

static int take_string(struct pprof_tables *tables, const struct pprof_field *field, struct pf_error *error)
{
    if (!tables->n_strings && field->size &&
        pprof_warn(tables, field->offset, "bad-string", error,
                   "the first string is not empty: it counts as empty"))
        return -1;
    if (pf_array_room(&tables->strings, &tables->strings_room, tables->n_strings, sizeof *tables->strings,
                      error))
        return -1;
    uint32_t name = field->size && tables->n_strings
                        ? pf_samples_string(tables->profile, (const char *)field->bytes, field->size, error)
                        : PF_NO_STRING;
    if (name == PF_NO_STRING && field->size && tables->n_strings)
        return -1;
    tables->strings[tables->n_strings++] = name;
    return 0;
}

static int add_comment(struct pprof_tables *tables, uint64_t string, struct pf_error *error)
{
    if (pf_array_room(&tables->comments, &tables->comments_room, tables->n_comments, sizeof *tables->comments,
                      error))
        return -1;
    tables->comments[tables->n_comments++] = string;
    return 0;
}

/* One number, or several that are packed into one field. */
static int take_comments(struct pprof_tables *tables, const struct pprof_field *field, struct pf_error *error)
{
    uint64_t string;
    if (field->wire == WIRE_VARINT)
        return add_comment(tables, field->value, error);
    for (struct pprof_message packed = pprof_in(field); packed.at < packed.end;) {
        if (!pprof_varint(&packed, &string))
            return pprof_warn(tables, field->offset, "bad-message", error,
                              "a number in comments does not end");
        if (add_comment(tables, string, error))
            return -1;
    }
    return 0;
}

int pprof_tables_take(struct pprof_tables *tables, const struct pprof_field *field, struct pf_error *error)
{
    uint64_t number = field->number;
    bool message = number <= PPROF_STRING || number == PPROF_PERIOD_TYPE;
    if (number >= PPROF_FIELDS)
        return 0;
    if (field->wire != (message ? WIRE_BYTES : WIRE_VARINT) &&
        !(number == PPROF_COMMENT && field->wire == WIRE_BYTES))
        return pprof_warn(tables, field->offset, "bad-type", error,
                          "field %u of the profile has another type: it is left out", (unsigned)number);
    switch (number) {
    case PPROF_SAMPLE_TYPE:
    case PPROF_PERIOD_TYPE:
        return take_type(tables, field, error);
    case PPROF_SAMPLE:
        tables->samples++;
        return 0;
    case PPROF_MAPPING:
        return take_mapping(tables, field, error);
    case PPROF_LOCATION:
        return take_location(tables, field, error);
    case PPROF_FUNCTION:
        return take_function(tables, field, error);
    case PPROF_STRING:
        return take_string(tables, field, error);
    case PPROF_COMMENT:
        return take_comments(tables, field, error);
    }
    if (number == PPROF_TIME && tables->header[PPROF_TIME])
        tables->refused =
            "the file is several profiles one after the other, of which each has ids of its own";
    tables->header[number] = field->value;
    return 0;
}

/* ---- names -------------------------------------------------------------------------------------- */

int pprof_string(struct pprof_tables *tables, uint64_t index, const char *what, uint32_t *name,
                 struct pf_error *error)
{
    *name = index < tables->n_strings ? tables->strings[index] : PF_NO_STRING;
    if (index < tables->n_strings || !index)
        return 0;
    return pprof_warn(tables, NOWHERE, "bad-string", error, "%s is string %jd of %zu: it counts as empty",
                      what, (intmax_t)index, tables->n_strings);
}

static int name_functions(struct pprof_tables *tables, struct pf_error *error)
{
    for (size_t i = 0; i < tables->functions.n; i++) {
        struct pprof_function *function = &tables->function[i];
        uint32_t system;
        if (pprof_string(tables, function->name, "a function's name", &function->named, error) ||
            pprof_string(tables, function->system, "a function's system name", &system, error) ||
            pprof_string(tables, function->file, "a function's file", &function->filed, error))
            return -1;
        if (function->named == PF_NO_STRING)
            function->named = system;
    }
    return 0;
}

/*
 * Functions of one name are one, as pprof shows them: where they stand in several files, none is told. (The files are in
 * locations.csv.)
 */
static int agree_on_files(struct pprof_tables *tables, struct pf_error *error)
{
    enum { NOT_SEEN = 0 };
    size_t n = pf_strings_count(tables->profile->contexts->strings);
    uint32_t *files = calloc(n + 1, sizeof *files); /* by name: that of its first function + 1 */
    if (!files)
        return pf_fail_memory(error);
    for (size_t i = 0; i < tables->functions.n; i++) {
        const struct pprof_function *function = &tables->function[i];
        if (function->named == PF_NO_STRING)
            continue;
        uint32_t *file = &files[function->named], mine = function->filed + 1; /* PF_NO_STRING + 1 is 0 */
        mine = mine ? mine : PF_NO_STRING;
        *file = *file == NOT_SEEN || *file == mine ? mine : PF_NO_STRING;
    }
    for (size_t i = 0; i < tables->functions.n; i++) {
        struct pprof_function *function = &tables->function[i];
        bool one = function->named != PF_NO_STRING && files[function->named] != PF_NO_STRING;
        function->shown = one ? function->filed : PF_NO_STRING;
    }
    free(files);
    return 0;
}

/* Frames without a function are called as the file that they are in. */
static int name_mappings(struct pprof_tables *tables, struct pf_error *error)
{
    for (size_t i = 0; i < tables->mappings.n; i++) {
        struct pprof_mapping *mapping = &tables->mapping[i];
        mapping->bracketed = PF_NO_STRING;
        if (pprof_string(tables, mapping->file, "a mapping's file", &mapping->filed, error))
            return -1;
        if (mapping->filed == PF_NO_STRING)
            continue;
        struct pf_cell file = pf_interned(tables->profile->contexts->strings, mapping->filed);
        size_t end = file.size, start;
        while (end && file.text[end - 1] == '/')
            end--;
        for (start = end; start && file.text[start - 1] != '/';)
            start--;
        char *text = malloc(end - start + 2);
        if (!text)
            return pf_fail_memory(error);
        text[0] = '[';
        memcpy(text + 1, file.text + start, end - start);
        text[end - start + 1] = ']';
        mapping->bracketed = pf_samples_string(tables->profile, text, end - start + 2, error);
        free(text);
        if (mapping->bracketed == PF_NO_STRING)
            return -1;
    }
    return 0;
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* The frame of one line of a location. function: NULL if there is none. */
static int make_frame(struct pprof_tables *tables, const struct pprof_location *location,
                      const struct pprof_function *function, uint32_t *frame, struct pf_error *error)
{
    struct pf_frame made = {.name = PF_NO_STRING, .file = PF_NO_STRING, .module = PF_NO_STRING};
    int64_t i = location ? pprof_find(&tables->mappings, location->mapping) : -1;
    if (function) {
        made.name = function->named;
        made.file = function->shown;
    }
    if (i >= 0)
        made.module = tables->mapping[i].filed;
    if (i >= 0 && made.name == PF_NO_STRING)
        made.name = tables->mapping[i].bracketed;
    if (made.name == PF_NO_STRING)
        made.name = pf_samples_string(tables->profile, "<unknown>", 9, error);
    if (made.name == PF_NO_STRING)
        return -1;
    *frame = pf_samples_frame(tables->profile, &made, error);
    return *frame == PF_NO_STRING ? -1 : 0;
}

/*
 * Finds what of a location is dropped: at the outermost line that is to be dropped, that and those inlined into it. If it is the
 * outermost of all, the whole location is.
 */
static int resolve_location(struct pprof_tables *tables, struct pprof_location *location, uint64_t id,
                            struct pf_error *error)
{
    bool found_any = false;
    for (uint32_t k = location->lines; k-- > 0;) {
        struct pprof_line *line = &tables->lines[location->first + k];
        int64_t i = pprof_find(&tables->functions, line->function);
        if (i < 0 &&
            pprof_warn(tables, NOWHERE, "no-function", error, "function %ju of location %ju is not there",
                       (uintmax_t)line->function, (uintmax_t)id))
            return -1;
        const struct pprof_function *function = i < 0 ? NULL : &tables->function[i];
        if (make_frame(tables, location, function, &line->frame, error))
            return -1;
        if (function && function->dropped && !found_any) {
            found_any = true;
            location->dropped = k + 1 == location->lines;
            location->cut = location->dropped ? 0 : k + 1;
        }
    }
    if (location->lines)
        return 0;
    if (pf_array_room(&tables->lines, &tables->lines_room, tables->n_lines, sizeof *tables->lines, error))
        return -1;
    location->first = (uint32_t)tables->n_lines++;
    location->lines = 1;
    tables->lines[location->first] = (struct pprof_line){0};
    return make_frame(tables, location, NULL, &tables->lines[location->first].frame, error);
}

static int find_dropped(struct pprof_tables *tables, struct pf_error *error)
{
    const struct pf_strings *strings = tables->profile->contexts->strings;
    uint32_t dropped, kept;
    const char *wrong;
    if (pprof_string(tables, tables->header[PPROF_DROP_FRAMES], "drop_frames", &dropped, error) ||
        pprof_string(tables, tables->header[PPROF_KEEP_FRAMES], "keep_frames", &kept, error))
        return -1;
    struct pprof_drop *drop =
        pprof_drop_new(pf_interned(strings, dropped), pf_interned(strings, kept), &wrong);
    for (size_t i = 0; drop && i < tables->functions.n; i++)
        tables->function[i].dropped = tables->function[i].named != PF_NO_STRING &&
                                      pprof_drops(drop, pf_interned(strings, tables->function[i].named));
    if (drop && pprof_drop_gave_up(drop))
        wrong = "to match drop_frames takes too long for some names: these are not dropped";
    pprof_drop_free(drop);
    return wrong ? pprof_warn(tables, NOWHERE, "bad-expression", error, "%s", wrong) : 0;
}

/* ---- metrics ------------------------------------------------------------------------------------ */

static bool is_taken(const struct pf_samples *samples, const char *name)
{
    for (size_t i = 0; i < samples->n_metrics; i++)
        if (!strcmp(samples->metrics[i].name, name))
            return true;
    return false;
}

/* A type's metric; of types of one name the later ones have their index behind it. */
static int add_metric(struct pprof_tables *tables, size_t index, struct pf_error *error)
{
    struct pf_samples *samples = tables->profile->state;
    const struct pf_strings *strings = tables->profile->contexts->strings;
    struct pprof_type *type = &tables->types[index];
    uint32_t name, unit;
    if (pprof_string(tables, type->type, "a sample type", &name, error) ||
        pprof_string(tables, type->unit, "a sample type's unit", &unit, error))
        return -1;
    const char *called = name == PF_NO_STRING ? "value" : pf_interned(strings, name).text;
    char *text = NULL;
    if ((is_taken(samples, called) ? asprintf(&text, "%s (%zu)", called, index)
                                   : asprintf(&text, "%s", called)) < 0)
        return pf_fail_memory(error);
    int metric = pf_samples_metric(tables->profile, text, strlen(text),
                                   unit == PF_NO_STRING ? "" : pf_interned(strings, unit).text, error);
    free(text);
    if (metric < 0)
        return -1;
    samples->metrics[metric].id = (int64_t)index;
    type->metric = (uint32_t)metric;
    return 0;
}

/* The type that pprof shows if it is not asked for another: that of the profile, else the last. */
static int default_type(struct pprof_tables *tables, size_t *index, struct pf_error *error)
{
    uint32_t wanted, name;
    *index = tables->n_types - 1;
    if (pprof_string(tables, tables->header[PPROF_DEFAULT_TYPE], "default_sample_type", &wanted, error))
        return -1;
    for (size_t i = 0; wanted != PF_NO_STRING && i < tables->n_types; i++) {
        name =
            tables->types[i].type < tables->n_strings ? tables->strings[tables->types[i].type] : PF_NO_STRING;
        if (name != wanted)
            continue;
        *index = i;
        break;
    }
    return 0;
}

/* The default one comes first, so that it is the primary metric among equals. */
static int add_metrics(struct pprof_tables *tables, struct pf_error *error)
{
    size_t first;
    if (!tables->n_types)
        return 0;
    if (default_type(tables, &first, error))
        return -1;
    for (size_t i = 0; i < tables->n_types; i++)
        if (add_metric(tables, i, error))
            return -1;
    struct pf_samples *samples = tables->profile->state;
    if (samples->n_metrics != tables->n_types)
        return 0; /* names with the same text before a NUL are one metric */
    struct pf_metric metric = samples->metrics[first];
    memmove(samples->metrics + 1, samples->metrics, first * sizeof metric);
    samples->metrics[0] = metric;
    for (size_t i = 0; i <= first; i++)
        tables->types[i].metric = i == first ? 0 : (uint32_t)i + 1;
    return 0;
}

int pprof_tables_resolve(struct pprof_tables *tables, struct pf_error *error)
{
    if (!tables->n_strings)
        tables->refused = "the profile has no strings, so that nothing in it has a name";
    else if (tables->samples && !tables->n_types)
        tables->refused = "nothing says what the samples' values are";
    if (tables->refused)
        return 0;
    if (add_metrics(tables, error) || name_functions(tables, error) || agree_on_files(tables, error) ||
        name_mappings(tables, error) || find_dropped(tables, error) ||
        make_frame(tables, NULL, NULL, &tables->unknown_frame, error))
        return -1;
    for (size_t i = 0; i < tables->locations.n; i++)
        if (resolve_location(tables, &tables->location[i], tables->locations.ids[i], error))
            return -1;
    return 0;
}
