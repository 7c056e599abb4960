/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void pprof_step(struct pprof *pprof, int part, uint64_t offset)
{
    struct pf_build *build = pprof->build;
    uint64_t done, total;
    pf_input_progress(build->input, offset, &done, &total);
    pf_run_check(build->run, pf_pass_step(done + (part ? total : 0), 2 * total, build->run->error));
}

/* Fails the run if the pass was cancelled. Called by loops over items in memory. */
static void check_pprof_pass(struct pprof *pprof)
{
    pf_run_check(pprof->build->run, pf_pass_check(pprof->build->run->error));
}

/* ---- messages ----------------------------------------------------------------------------------- */

int pprof_take_field(struct pprof *pprof, struct pprof_message *message, const struct pprof_form *form,
                     uint64_t offset, struct pprof_field *field, const char **wrong)
{
    int more;
    while ((more = pprof_next(message, field, wrong)) > 0) {
        field->offset = offset;
        if (pprof_fits(form, field))
            return 1;
        if (pprof_is(form, field->number))
            pprof_warn(pprof, offset, "bad-type", "field %u of a %s has the wrong type: skipped",
                       (unsigned)field->number, form->what);
    }
    return more;
}

/* Maximum field number of the messages that pprof_handle_message reads. */
enum { NUMBERS_MAX = 10 };

/*
 * Reads the numbers of a message into `numbers`, by field number, and calls `each` for the messages in it. The last of repeated numbers
 * wins. Returns false, after a warning, if the message is malformed.
 */
static bool pprof_handle_message(struct pprof *pprof, const struct pprof_field *whole,
                                 const struct pprof_form *form, uint64_t numbers[NUMBERS_MAX + 1],
                                 bool (*each)(struct pprof *, const struct pprof_form *,
                                              const struct pprof_field *))
{
    struct pprof_message message = pprof_in(whole);
    struct pprof_field field;
    const char *wrong = NULL;
    int more;
    memset(numbers, 0, (NUMBERS_MAX + 1) * sizeof *numbers);
    while ((more = pprof_take_field(pprof, &message, form, whole->offset, &field, &wrong)) > 0)
        if (field.wire == WIRE_VARINT)
            numbers[field.number] = field.value;
        else if (each && !each(pprof, form->of[field.number], &field))
            return false;
    if (more)
        pprof_warn(pprof, whole->offset, "bad-message", "%s skipped: %s", form->what, wrong);
    return !more;
}

static bool take_line(struct pprof *pprof, const struct pprof_form *form, const struct pprof_field *field)
{
    uint64_t numbers[NUMBERS_MAX + 1];
    if (!pprof_handle_message(pprof, field, form, numbers, NULL))
        return false;
    if (pprof->lines.n > UINT32_MAX / 2)
        pf_run_check(pprof->build->run,
                     pf_fail(pprof->build->run->error, EFBIG, "too many lines of locations"));
    *PF_PUSH(pprof->build->run, pprof->lines) =
        (struct pprof_line){.function = numbers[1], .line = numbers[2]};
    return true;
}

/*
 * Returns the index for a record with this id: a new one, or, after a warning, the index of an earlier record, which is
 * replaced. PF_NO_ID, after a warning, if the id is 0.
 */
static uint32_t add_id(struct pprof *pprof, struct pf_ids *ids, uint64_t id, uint64_t offset,
                       const char *what)
{
    uint32_t found = pf_ids_find(ids, id);
    if (!id) {
        pprof_warn(pprof, offset, "bad-id", "%s with id 0: skipped", what);
        return PF_NO_ID;
    }
    if (found != PF_NO_ID) {
        pprof_warn(pprof, offset, "double-id", "two %ss with id %ju: the later one is used", what,
                   (uintmax_t)id);
        return found;
    }
    if (!ids->count)
        PF_OWN(pprof->build->run, ids, pf_ids_free);
    pf_run_check(pprof->build->run, pf_ids_add(ids, id, ids->count, pprof->build->run->error));
    return ids->count - 1;
}

/* Takes a message with an id: a function, location or mapping. */
static void pprof_handle_record(struct pprof *pprof, const struct pprof_field *field)
{
    struct pf_build *build = pprof->build;
    const struct pprof_form *form = pprof_file_form.of[field->number];
    bool location = field->number == PPROF_LOCATION, function = field->number == PPROF_FUNCTION;
    struct pf_ids *ids = location ? &pprof->locations : function ? &pprof->functions : &pprof->mappings;
    uint64_t numbers[NUMBERS_MAX + 1];
    size_t first = pprof->lines.n;
    bool good = pprof_handle_message(pprof, field, form, numbers, take_line);
    struct pprof_function called = {
        .name = numbers[2], .system = numbers[3], .file = numbers[4], .offset = field->offset};
    if (good && function && !numbers[1]) {
        *PF_PUSH(build->run, pprof->unnumbered) = called;
        return;
    }
    uint32_t place = good ? add_id(pprof, ids, numbers[1], field->offset, form->what) : PF_NO_ID;
    if (!good)
        pprof->lines.n = first;
    if (place == PF_NO_ID)
        return;
    if (location)
        *PF_ITEM(build->run, pprof->location, place) =
            (struct pprof_location){.id = numbers[1],
                                    .mapping = numbers[2],
                                    .address = numbers[3],
                                    .first = (uint32_t)first,
                                    .lines = (uint32_t)(pprof->lines.n - first)};
    else if (function)
        *PF_ITEM(build->run, pprof->function, place) = called;
    else
        *PF_ITEM(build->run, pprof->mapping, place) = (struct pprof_mapping){.file = numbers[5]};
}

static void pprof_read_type(struct pprof *pprof, const struct pprof_field *field)
{
    uint64_t numbers[NUMBERS_MAX + 1];
    if (!pprof_handle_message(pprof, field, pprof_file_form.of[field->number], numbers, NULL))
        return;
    struct pprof_type type = {.type = numbers[1], .unit = numbers[2]};
    if (field->number == PPROF_PERIOD_TYPE)
        pprof->period = type;
    else
        *PF_PUSH(pprof->build->run, pprof->types) = type;
}

static void pprof_read_string(struct pprof *pprof, const struct pprof_field *field)
{
    bool first = !pprof->strings.n;
    if (first && field->size)
        pprof_warn(pprof, field->offset, "bad-string", "the first string is not empty: treated as empty");
    uint32_t name = field->size && !first
                        ? pf_build_name(pprof->build, (const char *)field->bytes, field->size)
                        : PF_NO_STRING;
    *PF_PUSH(pprof->build->run, pprof->strings) = name;
}

void pprof_take(struct pprof *pprof, const struct pprof_field *field)
{
    uint64_t number = field->number;
    if (!pprof_fits(&pprof_file_form, field)) {
        if (pprof_is(&pprof_file_form, number))
            pprof_warn(pprof, field->offset, "bad-type",
                       "field %u of the profile has the wrong type: skipped", (unsigned)number);
        return;
    }
    switch (number) {
    case PPROF_SAMPLE_TYPE:
    case PPROF_PERIOD_TYPE:
        pprof_read_type(pprof, field);
        break;
    case PPROF_SAMPLE:
        pprof->samples++;
        break;
    case PPROF_MAPPING:
    case PPROF_LOCATION:
    case PPROF_FUNCTION:
        pprof_handle_record(pprof, field);
        break;
    case PPROF_STRING:
        pprof_read_string(pprof, field);
        break;
    case PPROF_COMMENT:
        if (!pprof_numbers(pprof->build, &pprof->comments, field))
            pprof_warn(pprof, field->offset, "bad-message", "unterminated number in comments");
        break;
    default:
        if (number == PPROF_TIME && pprof->header[PPROF_TIME])
            pprof->refused = "the file consists of several concatenated profiles with separate ids";
        pprof->header[number] = field->value;
    }
}

/* ---- names -------------------------------------------------------------------------------------- */

uint32_t pprof_string(struct pprof *pprof, uint64_t index, const char *what)
{
    if (index < pprof->strings.n)
        return pprof->strings.at[index];
    if (index)
        pprof_warn(pprof, PPROF_NOWHERE, "bad-string", "%s is string %jd of %zu: treated as empty", what,
                   (intmax_t)index, pprof->strings.n);
    return PF_NO_STRING;
}

/*
 * Adds the functions without id. In profiles of Pyroscope's agent for .NET, no function has an id, and locations refer to
 * functions by position, from 1. If any function has an id, functions without id cannot be referred to and are skipped.
 */
static void number_functions(struct pprof *pprof)
{
    bool none = !pprof->functions.count;
    if (none && pprof->unnumbered.n)
        pf_build_warn(pprof->build, 0, PPROF_NOWHERE, "warning", "no-ids",
                      "functions have no ids: numbered in file order");
    for (size_t i = 0; i < pprof->unnumbered.n; i++) {
        const struct pprof_function *function = &pprof->unnumbered.at[i];
        uint32_t place = add_id(pprof, &pprof->functions, none ? i + 1 : 0, function->offset, "function");
        if (place != PF_NO_ID)
            *PF_ITEM(pprof->build->run, pprof->function, place) = *function;
    }
}

/* Interns the names and files of functions. A function without a name gets its system (mangled) name. */
static void name_functions(struct pprof *pprof)
{
    for (size_t i = 0; i < pprof->functions.count; i++) {
        struct pprof_function *function = &pprof->function.at[i];
        check_pprof_pass(pprof);
        function->named = pprof_string(pprof, function->name, "a function's name");
        uint32_t system = pprof_string(pprof, function->system, "a function's system name");
        function->filed = pprof_string(pprof, function->file, "a function's file");
        if (function->named == PF_NO_STRING)
            function->named = system;
    }
}

/*
 * Sets the file shown for each function. No file is shown if functions of the same name are in several files, because
 * pprof merges these functions.
 */
static void choose_shown_files(struct pprof *pprof)
{
    for (size_t i = 0; i < pprof->functions.count; i++) {
        const struct pprof_function *function = &pprof->function.at[i];
        if (function->named != PF_NO_STRING)
            pf_build_add_file(pprof->build, &pprof->files, function->named, function->filed);
    }
    for (size_t i = 0; i < pprof->functions.count; i++) {
        struct pprof_function *function = &pprof->function.at[i];
        function->shown = pf_build_file_of(&pprof->files, function->named);
    }
}

/* Interns the concatenation of the three parts. Returns its number. */
static uint32_t join_name(struct pprof *pprof, const char *before, struct pf_slice name, const char *after)
{
    size_t sizes[] = {strlen(before), pf_size(name), strlen(after)};
    (void)PF_ITEM(pprof->build->run, pprof->text, sizes[0] + sizes[1] + sizes[2]);
    char *text = pprof->text.at;
    memcpy(text, before, sizes[0]);
    memcpy(text + sizes[0], name.at, sizes[1]);
    memcpy(text + sizes[0] + sizes[1], after, sizes[2]);
    return pf_build_name(pprof->build, text, sizes[0] + sizes[1] + sizes[2]);
}

/* Returns the name of frames without a function: the base name of their mapping's file, in brackets. */
static uint32_t bracket(struct pprof *pprof, uint32_t file)
{
    struct pf_build *build = pprof->build;
    uint32_t known = pf_ids_find(&pprof->bracketed, file);
    if (known != PF_NO_ID)
        return known;
    struct pf_cell path = pf_build_named(build, file);
    size_t end = path.size, start;
    while (end && path.text[end - 1] == '/')
        end--;
    for (start = end; start && path.text[start - 1] != '/';)
        start--;
    if (!pprof->bracketed.count)
        PF_OWN(build->run, &pprof->bracketed, pf_ids_free);
    uint32_t name = join_name(pprof, "[", pf_slice(path.text + start, end - start), "]");
    pf_run_check(build->run, pf_ids_add(&pprof->bracketed, file, name, build->run->error));
    return name;
}

static void name_mappings(struct pprof *pprof)
{
    for (size_t i = 0; i < pprof->mappings.count; i++) {
        struct pprof_mapping *mapping = &pprof->mapping.at[i];
        check_pprof_pass(pprof);
        mapping->filed = pprof_string(pprof, mapping->file, "a mapping's file");
        mapping->bracketed = mapping->filed == PF_NO_STRING ? PF_NO_STRING : bracket(pprof, mapping->filed);
    }
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* Returns the frame of a location's line. function: NULL if undefined. */
static uint32_t make_frame(struct pprof *pprof, const struct pprof_location *location,
                           const struct pprof_function *function)
{
    struct pf_frame made = {.name = function ? function->named : PF_NO_STRING,
                            .file = function ? function->shown : PF_NO_STRING,
                            .module = PF_NO_STRING};
    const struct pprof_mapping *mapping = location ? pprof_mapping(pprof, location->mapping) : NULL;
    if (mapping)
        made.module = mapping->filed;
    if (mapping && made.name == PF_NO_STRING)
        made.name = mapping->bracketed;
    if (made.name == PF_NO_STRING)
        made.name = pf_build_name(pprof->build, "<unknown>", strlen("<unknown>"));
    return pf_build_frame(pprof->build, &made);
}

/* Warns of an undefined mapping, once per id. */
static void check_mapping(struct pprof *pprof, const struct pprof_location *location)
{
    struct pf_build *build = pprof->build;
    if (!location->mapping || pprof_mapping(pprof, location->mapping))
        return;
    if (!pprof->missing.count)
        PF_OWN(build->run, &pprof->missing, pf_ids_free);
    if (pf_run_check(build->run,
                     pf_ids_add(&pprof->missing, location->mapping, pprof->missing.count, build->run->error)))
        pf_build_warn(build, 0, PPROF_NOWHERE, "warning", "no-mapping",
                      "undefined mapping %ju in location %ju: its locations have no module",
                      (uintmax_t)location->mapping, (uintmax_t)location->id);
}

/*
 * Resolves the frames of a location, and determines which of its lines are dropped: the outermost line with a dropped
 * function, and all lines inlined into this line. If this line is the location's outermost one, the whole location is
 * dropped.
 */
static void resolve_location(struct pprof *pprof, struct pprof_location *location)
{
    bool cut_found = false;
    check_mapping(pprof, location);
    for (uint32_t k = location->lines; k-- > 0;) {
        struct pprof_line *line = &pprof->lines.at[location->first + k];
        const struct pprof_function *function = pprof_function(pprof, line->function);
        if (!function)
            pprof_warn(pprof, PPROF_NOWHERE, "no-function", "undefined function %ju in location %ju",
                       (uintmax_t)line->function, (uintmax_t)location->id);
        line->frame = make_frame(pprof, location, function);
        if (function && function->dropped && !cut_found) {
            cut_found = true;
            location->dropped = k + 1 == location->lines;
            location->cut = location->dropped ? 0 : k + 1;
        }
    }
    if (location->lines)
        return;
    location->first = (uint32_t)pprof->lines.n;
    location->lines = 1;
    *PF_PUSH(pprof->build->run, pprof->lines) =
        (struct pprof_line){.frame = make_frame(pprof, location, NULL)};
}

/* Marks the functions that drop_frames and keep_frames select; matches each name once. */
static void find_dropped(struct pprof *pprof)
{
    const struct pf_strings *strings = pprof->build->model->contexts->strings;
    const char *wrong;
    uint32_t dropped = pprof_string(pprof, pprof->header[PPROF_DROP_FRAMES], "drop_frames");
    uint32_t kept = pprof_string(pprof, pprof->header[PPROF_KEEP_FRAMES], "keep_frames");
    struct pprof_drop *drop =
        pprof_drop_new(pf_interned(strings, dropped), pf_interned(strings, kept), &wrong);
    if (drop)
        PF_OWN(pprof->build->run, drop, pprof_drop_free);
    for (size_t i = 0; drop && i < pprof->functions.count; i++) {
        struct pprof_function *function = &pprof->function.at[i];
        if (function->named == PF_NO_STRING)
            continue;
        uint8_t *drops = PF_ITEM(pprof->build->run, pprof->drops, function->named);
        if (!*drops) {
            *drops = pprof_drops(drop, pf_interned(strings, function->named)) ? 2 : 1;
            pprof_step(pprof, 0, pprof->stream.base);
        }
        function->dropped = *drops == 2;
    }
    if (drop && pprof_drop_gave_up(drop))
        wrong = "matching drop_frames takes too long for some names: not dropped";
    if (wrong)
        pprof_warn(pprof, PPROF_NOWHERE, "bad-expression", "%s", wrong);
}

/* ---- metrics ------------------------------------------------------------------------------------ */

/* Adds a sample type's metric. If an earlier metric has the same name, appends the type's index to the name: `name (1)`. */
static void pprof_add_metric(struct pprof *pprof, size_t index)
{
    struct pf_build *build = pprof->build;
    struct pprof_type *type = &pprof->types.at[index];
    uint32_t name = pprof_string(pprof, type->type, "a sample type");
    uint32_t unit = pprof_string(pprof, type->unit, "a sample type's unit");
    struct pf_cell called = name == PF_NO_STRING ? pf_string("value") : pf_build_named(build, name);
    called.size = (uint32_t)strnlen(called.text, called.size);
    if (pf_build_find_metric(build, called.text, called.size) != PF_NO_METRIC) {
        char after[32];
        snprintf(after, sizeof after, " (%zu)", index);
        called = pf_build_named(build, join_name(pprof, "", pf_slice(called.text, called.size), after));
    }
    type->metric = pf_build_metric(build, called.text, called.size,
                                   unit == PF_NO_STRING ? "" : pf_build_named(build, unit).text);
    build->metrics[type->metric].id = (int64_t)index;
}

/*
 * Returns the index of the sample type that pprof shows by default: the profile's default_sample_type or, if there is none, the last
 * type.
 */
static size_t default_type(struct pprof *pprof)
{
    uint32_t wanted = pprof_string(pprof, pprof->header[PPROF_DEFAULT_TYPE], "default_sample_type");
    for (size_t i = 0; wanted != PF_NO_STRING && i < pprof->types.n; i++) {
        uint64_t type = pprof->types.at[i].type;
        if (type < pprof->strings.n && pprof->strings.at[type] == wanted)
            return i;
    }
    return pprof->types.n - 1;
}

/* The default type comes first, which makes it the primary metric among equals. */
static void pprof_add_metrics(struct pprof *pprof)
{
    struct pf_build *build = pprof->build;
    if (!pprof->types.n)
        return;
    size_t first = default_type(pprof);
    for (size_t i = 0; i < pprof->types.n; i++)
        if (pf_run_is_full(build->run))
            pprof->types.at[i].metric = PF_NO_METRIC;
        else
            pprof_add_metric(pprof, i);
    if (build->n_metrics != pprof->types.n)
        return; /* names with the same text before a NUL are one metric */
    struct pf_metric metric = build->metrics[first];
    memmove(build->metrics + 1, build->metrics, first * sizeof metric);
    build->metrics[0] = metric;
    for (size_t i = 0; i <= first; i++)
        pprof->types.at[i].metric = i == first ? 0 : (uint32_t)i + 1;
}

void pprof_resolve(struct pprof *pprof)
{
    if (!pprof->strings.n)
        pprof->refused = "the profile has no strings: no names are shown";
    else if (pprof->samples && !pprof->types.n)
        pprof->refused = "the profile has no sample types";
    if (pprof->refused)
        return;
    pprof_add_metrics(pprof);
    number_functions(pprof);
    name_functions(pprof);
    choose_shown_files(pprof);
    name_mappings(pprof);
    find_dropped(pprof);
    pprof->unknown_frame = make_frame(pprof, NULL, NULL);
    for (size_t i = 0; i < pprof->locations.count; i++) {
        check_pprof_pass(pprof);
        resolve_location(pprof, &pprof->location.at[i]);
    }
}
