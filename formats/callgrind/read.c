/* SPDX-License-Identifier: MIT */
#include "formats/callgrind/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

static int complain(struct callgrind_reader *reader, const char *severity, const char *code, const char *what)
{
    return pf_warn(reader->profile, (int64_t)reader->line.number, (int64_t)reader->line.offset, severity,
                   code, reader->error, "%s", what);
}

static int intern(struct callgrind_reader *reader, struct callgrind_text text, uint32_t *string)
{
    *string = pf_samples_string(reader->profile, text.at, (size_t)(text.end - text.at), reader->error);
    return *string == PF_NO_STRING ? -1 : 0;
}

static int unknown_name(struct callgrind_reader *reader, uint32_t *string)
{
    static const char unknown[] = "???";
    return intern(reader, (struct callgrind_text){unknown, unknown + 3}, string);
}

/* ---- costs ------------------------------------------------------------------------------------------- */

/* Room for one more metric in each row. */
static int widen(struct callgrind_reader *reader)
{
    size_t rows = pf_strings_count(reader->keys), stride = reader->stride + 1;
    pf_int128 *wider = calloc(rows * stride + 1, sizeof *wider);
    if (!wider)
        return pf_fail_memory(reader->error);
    for (size_t i = 0; i < rows; i++)
        memcpy(wider + i * stride, reader->costs + i * reader->stride, reader->stride * sizeof *wider);
    free(reader->costs);
    reader->costs = wider;
    reader->costs_room = rows * stride + 1;
    reader->stride = stride;
    return 0;
}

static int find_row(struct callgrind_reader *reader, uint32_t callee, uint32_t *row)
{
    if (reader->thread == PF_NO_PARTITION)
        reader->thread = pf_samples_partition(reader->profile, "all", 3, NULL, reader->error);
    if (reader->thread == PF_NO_PARTITION)
        return -1;
    struct callgrind_key key = {reader->thread, reader->function, callee};
    *row = pf_intern(reader->keys, (const char *)&key, sizeof key, reader->error);
    return *row == PF_NO_STRING
               ? -1
               : pf_array_reach(&reader->costs, &reader->costs_room, ((size_t)*row + 1) * reader->stride - 1,
                                sizeof *reader->costs, reader->error);
}

static bool add_to(pf_int128 *sum, pf_int128 more)
{
    pf_int128 result;
    if (__builtin_add_overflow(*sum, more, &result))
        return false;
    *sum = result;
    return true;
}

static int add_counts(struct callgrind_reader *reader, struct callgrind_text counts, pf_int128 *to,
                      pf_int128 *part)
{
    callgrind_skip_blanks(&counts);
    for (unsigned event = 0; counts.at < counts.end; event++, callgrind_skip_blanks(&counts)) {
        pf_int128 count;
        if (event == reader->n_events)
            return complain(reader, "warning", "excess-counts",
                            "more counts than there are events: left out");
        if (!callgrind_take_count(&counts, &count))
            return complain(reader, "error", "bad-count",
                            "a count that is none: the rest of the line is left out");
        unsigned metric = reader->metric[event];
        if (!add_to(&to[metric], count) || (part && !add_to(&part[metric], count)))
            return complain(reader, "error", "overflow",
                            "a sum that needs more than 128 bits: the count is left out");
    }
    return 0;
}

static int enter_function(struct callgrind_reader *reader, uint32_t name)
{
    struct pf_frame frame = {.name = name, .file = reader->here, .module = reader->object};
    reader->name = name;
    reader->function = pf_samples_frame(reader->profile, &frame, reader->error);
    reader->own = PF_NO_STRING;
    if (reader->function == PF_NO_STRING ||
        pf_array_reach(&reader->defined, &reader->defined_room, reader->function, sizeof *reader->defined,
                       reader->error))
        return -1;
    reader->defined[reader->function] = true;
    return 0;
}

static int read_call(struct callgrind_reader *reader, struct callgrind_text counts)
{
    struct pf_frame frame = {.name = reader->callee_name,
                             .file = reader->callee_file == PF_NO_STRING ? reader->here : reader->callee_file,
                             .module = reader->callee_object == PF_NO_STRING ? reader->object
                                                                             : reader->callee_object};
    uint32_t callee = pf_samples_frame(reader->profile, &frame, reader->error), row;
    reader->callee_object = reader->callee_file = reader->callee_name = PF_NO_STRING;
    reader->calling = false;
    if (callee == PF_NO_STRING || find_row(reader, callee, &row))
        return -1;
    pf_int128 *costs = &reader->costs[row * reader->stride];
    add_to(costs, reader->calls);
    return add_counts(reader, counts, costs + 1, NULL);
}

static int read_costs(struct callgrind_reader *reader, struct callgrind_text line)
{
    for (unsigned i = 0; i < reader->positions; i++)
        if (!callgrind_take_position(&line))
            return complain(reader, "error", "bad-position", "a position that is none: the line is left out");
    bool jumping = reader->jumping;
    reader->jumping = false;
    if (jumping)
        return 0;
    uint32_t unknown;
    if (reader->function == PF_NO_STRING &&
        (complain(reader, "error", "no-function", "costs before any function: told of `???`") ||
         unknown_name(reader, &unknown) || enter_function(reader, unknown)))
        return -1;
    if (reader->calling)
        return read_call(reader, line);
    if (reader->own == PF_NO_STRING && find_row(reader, CALLGRIND_NOBODY, &reader->own))
        return -1;
    return add_counts(reader, line, &reader->costs[reader->own * reader->stride + 1], reader->part);
}

/* ---- names ------------------------------------------------------------------------------------------- */

/* `name`, `(12) name`, which gives the name a number, or `(12)`. */
static int take_name(struct callgrind_reader *reader, enum callgrind_dictionary dictionary,
                     struct callgrind_text text, uint32_t *name)
{
    struct pf_map *names = &reader->names[dictionary];
    uint64_t number;
    if (!callgrind_take_number(&text, &number))
        return intern(reader, text, name);
    uintptr_t known = (uintptr_t)pf_map_get(names, number);
    callgrind_skip_blanks(&text);
    if (text.at == text.end && known) {
        *name = (uint32_t)(known - 1);
        return 0;
    }
    if (text.at == text.end)
        return complain(reader, "error", "undefined", "the number of a name that is not defined: `???`") ||
                       unknown_name(reader, name)
                   ? -1
                   : 0;
    if (intern(reader, text, name))
        return -1;
    if (known && known - 1 != *name &&
        complain(reader, "warning", "redefined", "the number of another name: the new one counts"))
        return -1;
    return pf_map_put(names, number, (void *)((uintptr_t)*name + 1)) ? 0 : pf_fail_memory(reader->error);
}

/* A file or object: nothing is none. */
static int take_place(struct callgrind_reader *reader, enum callgrind_dictionary dictionary,
                      struct callgrind_text text, uint32_t *place)
{
    *place = PF_NO_STRING;
    return text.at < text.end ? take_name(reader, dictionary, text, place) : 0;
}

static int take_calls(struct callgrind_reader *reader, struct callgrind_text text)
{
    struct callgrind_text count;
    reader->calls = 0;
    reader->calling = true;
    if ((!callgrind_take_item(&text, &count) || !callgrind_take_digits(&count, &reader->calls)) &&
        complain(reader, "error", "bad-calls", "a call without number: none are counted"))
        return -1;
    if (reader->callee_name != PF_NO_STRING)
        return 0;
    return complain(reader, "error", "no-callee", "a call without cfn=: told of `???`") ||
                   unknown_name(reader, &reader->callee_name)
               ? -1
               : 0;
}

static int read_name(struct callgrind_reader *reader, enum callgrind_word word, struct callgrind_text text)
{
    uint32_t name;
    switch (word) {
    case OB:
        return take_place(reader, OBJECTS, text, &reader->object);
    case FL:
        if (take_place(reader, FILES, text, &reader->file))
            return -1;
        reader->here = reader->file;
        return 0;
    case FI:
    case FE:
        if (take_place(reader, FILES, text, &reader->here))
            return -1;
        /* To Cachegrind, a function's lines in another file are another function. */
        return reader->cachegrind && reader->function != PF_NO_STRING ? enter_function(reader, reader->name)
                                                                      : 0;
    case FN:
        if (reader->calling && complain(reader, "error", "no-costs", "a call without costs is left out"))
            return -1;
        reader->calling = reader->jumping = false;
        reader->here = reader->file;
        return take_name(reader, FUNCTIONS, text, &name) ? -1 : enter_function(reader, name);
    case COB:
        return take_place(reader, OBJECTS, text, &reader->callee_object);
    case CFI:
    case CFL:
        return take_place(reader, FILES, text, &reader->callee_file);
    case CFN:
        return take_name(reader, FUNCTIONS, text, &reader->callee_name);
    case JFI:
        return take_place(reader, FILES, text, &name);
    case JFN:
        return take_name(reader, FUNCTIONS, text, &name);
    case CALLS:
    case RCALLS:
        return take_calls(reader, text);
    default: /* jump=, jcnd= */
        reader->jumping = true;
        return 0;
    }
}

/* ---- the header -------------------------------------------------------------------------------------- */

static bool ends_with(struct callgrind_text text, const char *end)
{
    size_t size = strlen(end);
    return (size_t)(text.end - text.at) >= size && !strncasecmp(text.end - size, end, size);
}

/* `Time_(10ns)` has its unit in brackets, `sysTime (elapsed ns)` too, before other words. */
static struct callgrind_text bracketed(struct callgrind_text name, bool words_before)
{
    if (!ends_with(name, ")"))
        return (struct callgrind_text){name.end, name.end};
    struct callgrind_text unit = {name.end - 1, name.end - 1};
    while (unit.at > name.at && unit.at[-1] != '(' && (!words_before || !callgrind_is_blank(unit.at[-1])))
        unit.at--;
    return unit;
}

/* The unit of an event: in its name, else in its long name, else it is a count. */
static int find_unit(struct callgrind_reader *reader, struct callgrind_text name, struct callgrind_text title,
                     const char **unit)
{
    static const char *const long_names[][2] = {{"bytes", "bytes"},
                                                {"nanoseconds", "ns"},
                                                {"microseconds", "us"},
                                                {"milliseconds", "ms"},
                                                {"seconds", "s"}};
    static const char *const times[] = {"ns", "us", "ms", "s"};
    *unit = "#";
    struct callgrind_text own = bracketed(name, false), other = bracketed(title, true);
    if (own.at > name.at && own.at < own.end) {
        uint32_t string;
        if (intern(reader, own, &string))
            return -1;
        *unit = pf_interned(reader->profile->contexts->strings, string).text; /* a NUL stands behind it */
        return 0;
    }
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if ((size_t)(other.end - other.at) == strlen(times[i]) && ends_with(other, times[i]))
            *unit = times[i];
    for (size_t i = sizeof long_names / sizeof *long_names; i-- > 0;)
        if (ends_with(title, long_names[i][0]))
            *unit = long_names[i][1];
    return 0;
}

static struct callgrind_text title_of(const struct callgrind_reader *reader, struct callgrind_text name)
{
    const struct pf_strings *strings = reader->profile->contexts->strings;
    for (unsigned i = 0; i < reader->n_titles; i++) {
        struct pf_cell cell = pf_interned(strings, reader->titles[i][0]),
                       title = pf_interned(strings, reader->titles[i][1]);
        if (cell.size == (size_t)(name.end - name.at) && !memcmp(cell.text, name.at, cell.size))
            return (struct callgrind_text){title.text, title.text + title.size};
    }
    return (struct callgrind_text){name.end, name.end};
}

/* The inclusive metric beside an exclusive one. What functions hold of each other never adds up. */
static int add_inclusive(struct callgrind_reader *reader, int exclusive)
{
    struct pf_samples *samples = &reader->state->samples;
    char name[256];
    int size = snprintf(name, sizeof name, "%.240s (inc)", samples->metrics[exclusive].name);
    int inclusive = pf_samples_metric(reader->profile, name, (size_t)size, samples->metrics[exclusive].unit,
                                      reader->error);
    if (inclusive < 0)
        return -1;
    samples->metrics[inclusive].empty = true;
    samples->metrics[inclusive].scope = "inclusive";
    samples->metrics[inclusive].over_contexts = PF_OVER_NO_CONTEXTS;
    samples->metrics[inclusive].partner = exclusive;
    samples->metrics[exclusive].partner = inclusive;
    return 0;
}

/* Its title is borrowed from the names, where a NUL stands behind each. */
static int add_metric(struct callgrind_reader *reader, struct callgrind_text name, unsigned *metric)
{
    struct pf_samples *samples = &reader->state->samples;
    struct callgrind_text title = title_of(reader, name);
    const char *unit;
    if (find_unit(reader, name, title, &unit))
        return -1;
    int index =
        pf_samples_metric(reader->profile, name.at, (size_t)(name.end - name.at), unit, reader->error);
    if (index < 0)
        return -1;
    for (*metric = 0; *metric < reader->n_metrics; ++*metric)
        if (reader->exclusive[*metric] == index)
            return 0;
    if (title.at < title.end)
        samples->metrics[index].description = title.at;
    samples->metrics[index].empty = true; /* until there is a value */
    reader->exclusive[reader->n_metrics++] = index;
    return widen(reader) || (!reader->cachegrind && add_inclusive(reader, index)) ? -1 : 0;
}

static int read_events(struct callgrind_reader *reader, struct callgrind_text text)
{
    struct callgrind_text name;
    reader->n_events = 0;
    while (callgrind_take_item(&text, &name)) {
        unsigned metric;
        if (reader->n_events == CALLGRIND_METRICS || reader->n_metrics == CALLGRIND_METRICS)
            return complain(reader, "error", "events", "more events than are read: the others are left out");
        if (add_metric(reader, name, &metric))
            return -1;
        reader->metric[reader->n_events++] = (uint8_t)metric;
    }
    return 0;
}

/* `event: short : long` or `event: short = formula : long`. */
static int read_title(struct callgrind_reader *reader, struct callgrind_text text)
{
    struct callgrind_text name;
    const char *colon = memchr(text.at, ':', (size_t)(text.end - text.at));
    if (!colon || reader->n_titles == CALLGRIND_METRICS || !callgrind_take_item(&text, &name) ||
        name.at >= colon)
        return 0;
    uint32_t *title = reader->titles[reader->n_titles++];
    return intern(reader, name, &title[0]) ||
                   intern(reader, callgrind_trimmed((struct callgrind_text){colon + 1, text.end}), &title[1])
               ? -1
               : 0;
}

static void read_positions(struct callgrind_reader *reader, struct callgrind_text text)
{
    struct callgrind_text item;
    for (reader->positions = 0; callgrind_take_item(&text, &item);)
        reader->positions++;
    if (!reader->positions)
        reader->positions = 1;
}

static void read_totals(struct callgrind_reader *reader, struct callgrind_text text)
{
    for (reader->n_told = 0; reader->n_told < reader->n_events; reader->n_told++)
        if (!callgrind_take_count(&text, &reader->told[reader->n_told]))
            break;
    reader->told_line = reader->line.number;
}

/* A part is over: what it says that its functions add up to is compared with what they do. */
static int end_part(struct callgrind_reader *reader)
{
    int failed = 0;
    for (unsigned i = 0; i < reader->n_told && i < reader->n_events && !failed; i++) {
        const struct pf_metric *metric =
            &reader->state->samples.metrics[reader->exclusive[reader->metric[i]]];
        if (reader->told[i] != reader->part[reader->metric[i]])
            failed =
                pf_warn(reader->profile, (int64_t)reader->told_line, -1, "warning", "totals", reader->error,
                        "%.80s of the functions adds up to another number than this line says", metric->name);
    }
    memset(reader->part, 0, sizeof reader->part);
    reader->n_told = 0;
    reader->calling = reader->jumping = false;
    reader->object = reader->file = reader->here = reader->function = reader->own = PF_NO_STRING;
    reader->callee_object = reader->callee_file = reader->callee_name = PF_NO_STRING;
    return failed;
}

static int begin_part(struct callgrind_reader *reader)
{
    reader->thread = PF_NO_PARTITION;
    return end_part(reader);
}

static int read_thread(struct callgrind_reader *reader, struct callgrind_text text)
{
    text = callgrind_trimmed(text);
    reader->own = PF_NO_STRING;
    reader->thread =
        pf_samples_partition(reader->profile, text.at, (size_t)(text.end - text.at), NULL, reader->error);
    return reader->thread == PF_NO_PARTITION ? -1 : 0;
}

static int read_header(struct callgrind_reader *reader, enum callgrind_word word, struct callgrind_text text)
{
    switch (word) {
    case VERSION:
    case PART:
        return begin_part(reader);
    case THREAD:
        return read_thread(reader, text);
    case POSITIONS:
        read_positions(reader, text);
        return 0;
    case EVENT:
        return read_title(reader, text);
    case EVENTS:
        return read_events(reader, text);
    case SUMMARY: /* of Callgrind's counters, which may have run on while nothing was collected */
    case TOTALS:
        if ((word == SUMMARY) == reader->cachegrind)
            read_totals(reader, text);
        return 0;
    default:
        return 0;
    }
}

/* ---- the pass ---------------------------------------------------------------------------------------- */

static int read_line(struct callgrind_reader *reader)
{
    struct callgrind_text text = {reader->line.text, reader->line.text + reader->line.size};
    bool open =
        !reader->line.more && pf_linereader_tell(reader->lines) == reader->line.offset + reader->line.size;
    if (reader->line.continued || text.at == text.end || *text.at == '#')
        return 0;
    if (reader->line.more &&
        complain(reader, "warning", "long-line", "a line of which only the beginning is read"))
        return -1;
    if (open && !reader->state->ends_open &&
        complain(reader, "fatal", "cut", "the last line has no end: the file is cut"))
        return -1;
    if (reader->cachegrind ? *text.at >= '0' && *text.at <= '9' : callgrind_begins_cost(*text.at))
        return read_costs(reader, text);
    if (open && !reader->state->ends_open)
        return 0;
    enum callgrind_word word = callgrind_take_word(&text);
    if (word == NO_WORD || (reader->cachegrind && !callgrind_in_both(word)))
        return complain(reader, "warning", "bad-line", "a line that is not understood is left out");
    return callgrind_in_body(word) ? read_name(reader, word, text) : read_header(reader, word, text);
}

static int read_lines(struct callgrind_reader *reader, struct pf_pass *pass)
{
    int more;
    while ((more = pf_linereader_next(reader->lines, &reader->line, reader->error)) > 0) {
        if (reader->line.number % 4096 == 0 &&
            pf_samples_step(reader->profile, pass, reader->line.offset, reader->error))
            return -1;
        if (read_line(reader))
            return -1;
    }
    if (more < 0)
        return -1;
    if (reader->cachegrind && !reader->n_told &&
        complain(reader, "warning", "no-summary",
                 "no line `summary:` at the end: the file is cut or not finished"))
        return -1;
    return end_part(reader);
}

int callgrind_read(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct callgrind_state *state = profile->state;
    struct callgrind_reader reader = {.profile = profile,
                                      .state = state,
                                      .error = error,
                                      .lines = pf_linereader_new(state->samples.input),
                                      .cachegrind = profile->driver == &pf_cachegrind_driver,
                                      .keys = pf_strings_new(),
                                      .stride = 1,
                                      .positions = 1,
                                      .name = PF_NO_STRING};
    int failed = !reader.lines || !reader.keys
                     ? pf_fail_memory(error)
                     : begin_part(&reader) || read_lines(&reader, pass) || callgrind_finish(&reader);
    for (int i = 0; i < DICTIONARIES; i++)
        pf_map_free(&reader.names[i]);
    free(reader.defined);
    free(reader.costs);
    pf_strings_free(reader.keys);
    pf_linereader_free(reader.lines);
    return failed ? -1 : 0;
}
