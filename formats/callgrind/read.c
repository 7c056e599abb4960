/* SPDX-License-Identifier: MIT */
#include "formats/callgrind/callgrind.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static void callgrind_warn(struct callgrind *callgrind, const char *severity, const char *code,
                           const char *what)
{
    pf_build_warn(callgrind->build, callgrind->line.number, callgrind->line.offset, severity, code, "%s",
                  what);
}

static uint32_t unknown_name(struct callgrind *callgrind)
{
    return pf_build_name(callgrind->build, "???", 3);
}

/* ---- costs ------------------------------------------------------------------------------------------- */

/* Adds a number for one more metric to each row of callgrind->costs. */
static void widen(struct callgrind *callgrind)
{
    size_t rows = pf_strings_count(callgrind->keys), stride = callgrind->stride++;
    (void)PF_ITEM(callgrind->build->run, callgrind->costs, rows * callgrind->stride);
    for (size_t i = rows; i-- > 0;) {
        pf_int128 *row = callgrind->costs.at + i * callgrind->stride;
        memmove(row, callgrind->costs.at + i * stride, stride * sizeof *row);
        row[stride] = 0;
    }
}

/* Finds or adds the row of the current function's calls of `callee` or, if that is CALLGRIND_NO_FUNCTION, of its exclusive costs. */
static uint32_t find_row(struct callgrind *callgrind, uint32_t callee)
{
    struct pf_build *build = callgrind->build;
    if (callgrind->thread == PF_NO_PARTITION)
        callgrind->thread = pf_build_partition(build, "all", 3, NULL);
    struct callgrind_key key = {callgrind->thread, callgrind->function, callee};
    uint32_t row = pf_build_intern(build, callgrind->keys, &key, sizeof key);
    (void)PF_ITEM(build->run, callgrind->costs, ((size_t)row + 1) * callgrind->stride - 1);
    *PF_ITEM(build->run, callgrind->exists, callgrind->function) = true;
    if (callee != CALLGRIND_NO_FUNCTION)
        *PF_ITEM(build->run, callgrind->exists, callee) = true;
    return row;
}

/* Adds to a sum. Returns false, with the sum unchanged, if it would overflow. */
static bool add_to(pf_int128 *sum, pf_int128 more)
{
    pf_int128 result;
    bool fits = !__builtin_add_overflow(*sum, more, &result);
    *sum = fits ? result : *sum;
    return fits;
}

/* Adds a function's exclusive cost of one metric to the current source line. */
static void add_line_cost(struct callgrind *callgrind, unsigned metric, pf_int128 cost)
{
    bool known = callgrind->line_column < callgrind->positions && callgrind->line_at > 0 &&
                 callgrind->line_at <= UINT32_MAX;
    struct pf_source_line where = {
        .name = callgrind->name, .file = callgrind->here, .line = known ? (uint32_t)callgrind->line_at : 0};
    pf_line_sums_add(callgrind->lines, &where, callgrind->exclusive[metric], cost);
}

/*
 * Adds the counts of a cost line to a row. If `own` is set, adds them to the part's sums and to the source line, too.
 */
static void callgrind_add_counts(struct callgrind *callgrind, struct pf_slice counts, pf_int128 *to, bool own)
{
    for (unsigned event = 0; counts.at < counts.end; event++) {
        pf_int128 count;
        if (event == callgrind->n_events) {
            callgrind_warn(callgrind, "warning", "excess-counts",
                           "more counts than events: the others skipped");
            return;
        }
        if (!callgrind_take_count(&counts, &count)) {
            callgrind_warn(callgrind, "error", "bad-count", "invalid count: rest of the line skipped");
            return;
        }
        unsigned metric = callgrind->metric[event];
        pf_int128 sum = to[metric];
        if (!add_to(&sum, count) || (own && !add_to(&callgrind->part[metric], count))) {
            callgrind_warn(callgrind, "error", "overflow", "sum exceeds 128 bits: count skipped");
            return;
        }
        to[metric] = sum;
        if (own)
            add_line_cost(callgrind, metric, count);
    }
}

static void enter_function(struct callgrind *callgrind, uint32_t name)
{
    struct pf_frame frame = {.name = name, .file = callgrind->here, .module = callgrind->object};
    callgrind->name = name;
    callgrind->function = pf_build_frame(callgrind->build, &frame);
    callgrind->own = PF_NO_STRING;
    *PF_ITEM(callgrind->build->run, callgrind->defined, callgrind->function) = true;
}

/*
 * Reads the cost line after calls=, which has the inclusive costs of the calls. Without cfi=, the callee is in the
 * current file; without cob=, in the current object.
 */
static void callgrind_read_call(struct callgrind *callgrind, struct pf_slice counts)
{
    bool has_file = callgrind->callee_file != PF_NO_STRING,
         has_object = callgrind->callee_object != PF_NO_STRING;
    struct pf_frame frame = {.name = callgrind->callee_name,
                             .file = has_file ? callgrind->callee_file : callgrind->here,
                             .module = has_object ? callgrind->callee_object : callgrind->object};
    uint32_t row = find_row(callgrind, pf_build_frame(callgrind->build, &frame));
    pf_int128 *costs = &callgrind->costs.at[row * callgrind->stride];
    callgrind->callee_object = callgrind->callee_file = callgrind->callee_name = PF_NO_STRING;
    callgrind->calling = false;
    if (!add_to(costs, callgrind->calls))
        callgrind_warn(callgrind, "error", "overflow", "sum exceeds 128 bits: calls not counted");
    callgrind_add_counts(callgrind, counts, costs + 1, false);
}

static void read_costs(struct callgrind *callgrind, struct pf_slice line)
{
    pf_int128 address = 0; /* ignored */
    for (unsigned i = 0; i < callgrind->positions; i++)
        if (!callgrind_take_position(&line, i == callgrind->line_column ? &callgrind->line_at : &address)) {
            callgrind_warn(callgrind, "error", "bad-position", "invalid position: line skipped");
            return;
        }
    bool jumping = callgrind->jumping;
    callgrind->jumping = false;
    if (jumping)
        return;
    if (callgrind->function == PF_NO_STRING) {
        callgrind_warn(callgrind, "error", "no-function", "costs outside any function: assigned to `???`");
        enter_function(callgrind, unknown_name(callgrind));
    }
    if (callgrind->calling) {
        callgrind_read_call(callgrind, line);
        return;
    }
    if (callgrind->own == PF_NO_STRING)
        callgrind->own = find_row(callgrind, CALLGRIND_NO_FUNCTION);
    callgrind_add_counts(callgrind, line, &callgrind->costs.at[callgrind->own * callgrind->stride + 1], true);
}

/* ---- names ------------------------------------------------------------------------------------------- */

/* Resolves a name, which is `name`, `(12) name` (this defines reference 12) or `(12)`. */
static uint32_t callgrind_parse_name(struct callgrind *callgrind, enum callgrind_dictionary dictionary,
                                     struct pf_slice text)
{
    struct pf_ids *names = &callgrind->names[dictionary];
    uint64_t number;
    if (!callgrind_take_reference(&text, &number))
        return pf_build_slice(callgrind->build, text);
    uint32_t known = pf_ids_find(names, number);
    pf_skip_blanks(&text);
    if (text.at == text.end && known != PF_NO_ID)
        return known;
    if (text.at == text.end) {
        callgrind_warn(callgrind, "error", "undefined", "undefined name number: shown as `???`");
        return unknown_name(callgrind);
    }
    uint32_t name = pf_build_slice(callgrind->build, text);
    if (known != PF_NO_ID && known != name)
        callgrind_warn(callgrind, "warning", "redefined", "redefined name number: the new name is used");
    pf_run_check(callgrind->build->run, pf_ids_set(names, number, name, callgrind->build->run->error));
    return name;
}

/* Resolves a file or object. Empty text means none. */
static uint32_t take_place(struct callgrind *callgrind, enum callgrind_dictionary dictionary,
                           struct pf_slice text)
{
    return text.at < text.end ? callgrind_parse_name(callgrind, dictionary, text) : PF_NO_STRING;
}

/* Drops a call that has no cost line, with a warning. */
static void callgrind_end_call(struct callgrind *callgrind)
{
    if (callgrind->calling)
        callgrind_warn(callgrind, "error", "no-costs", "call without costs: skipped");
    callgrind->calling = false;
}

static void take_calls(struct callgrind *callgrind, struct pf_slice text)
{
    struct pf_slice count = pf_take_word(&text);
    callgrind_end_call(callgrind);
    callgrind->calling = true;
    if (!pf_take_digits(&count, &callgrind->calls) || count.at < count.end) {
        callgrind_warn(callgrind, "error", "bad-calls", "invalid number of calls: not counted");
        callgrind->calls = 0;
    }
    if (callgrind->callee_name == PF_NO_STRING) {
        callgrind_warn(callgrind, "error", "no-callee", "call without cfn=: assigned to `???`");
        callgrind->callee_name = unknown_name(callgrind);
    }
}

static void callgrind_read_name(struct callgrind *callgrind, enum callgrind_word word, struct pf_slice text)
{
    switch (word) {
    case OB:
        callgrind->object = take_place(callgrind, OBJECTS, text);
        break;
    case FL:
        callgrind->here = callgrind->file = take_place(callgrind, FILES, text);
        break;
    case FI:
    case FE:
        callgrind->here = take_place(callgrind, FILES, text);
        /* In Cachegrind, a function's lines in another file count as another function. */
        if (callgrind->cachegrind && callgrind->function != PF_NO_STRING)
            enter_function(callgrind, callgrind->name);
        break;
    case FN:
        callgrind_end_call(callgrind);
        callgrind->jumping = false;
        callgrind->here = callgrind->file;
        enter_function(callgrind, callgrind_parse_name(callgrind, FUNCTIONS, text));
        break;
    case COB:
        callgrind->callee_object = take_place(callgrind, OBJECTS, text);
        break;
    case CFI:
    case CFL:
        callgrind->callee_file = take_place(callgrind, FILES, text);
        break;
    case CFN:
        callgrind->callee_name = callgrind_parse_name(callgrind, FUNCTIONS, text);
        break;
    case JFI:
        take_place(callgrind, FILES, text);
        break;
    case JFN:
        callgrind_parse_name(callgrind, FUNCTIONS, text);
        break;
    case CALLS:
    case RCALLS:
        take_calls(callgrind, text);
        break;
    default: /* jump=, jcnd= */
        callgrind->jumping = true;
    }
}

/* ---- the header -------------------------------------------------------------------------------------- */

static bool callgrind_ends_with(struct pf_slice text, const char *end)
{
    size_t size = strlen(end);
    return pf_size(text) >= size && !strncasecmp(text.end - size, end, size);
}

/*
 * Returns the unit in the brackets at the end of a name, such as `Time_(10ns)`. If `words_before` is set, only the last
 * word in the brackets is the unit, as in `sysTime (elapsed ns)`. Returns an empty slice if there is no unit.
 */
static struct pf_slice bracketed(struct pf_slice name, bool words_before)
{
    if (!callgrind_ends_with(name, ")"))
        return (struct pf_slice){name.end, name.end};
    struct pf_slice unit = {name.end - 1, name.end - 1};
    while (unit.at > name.at && unit.at[-1] != '(' && (!words_before || !pf_is_blank(unit.at[-1])))
        unit.at--;
    return unit;
}

/* Returns the unit in an event's name or, if it has none, in its long name. Without either, the event is a count. */
static const char *callgrind_unit_of(struct callgrind *callgrind, struct pf_slice name, struct pf_slice title)
{
    static const char *const units[][2] = {{"bytes", "bytes"},
                                           {"nanoseconds", "ns"},
                                           {"microseconds", "us"},
                                           {"milliseconds", "ms"},
                                           {"seconds", "s"}};
    static const char *const times[] = {"ns", "us", "ms", "s"};
    struct pf_slice own = bracketed(name, false), other = bracketed(title, true);
    if (own.at > name.at && own.at < own.end) /* interned names are NUL-terminated */
        return pf_build_named(callgrind->build, pf_build_slice(callgrind->build, own)).text;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (callgrind_ends_with(title, units[i][0]))
            return units[i][1];
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (pf_size(other) == strlen(times[i]) && callgrind_ends_with(other, times[i]))
            return times[i];
    return "#";
}

/* Returns the long name of an event, from its `event:` line; empty if there is none. */
static struct pf_slice title_of(const struct callgrind *callgrind, struct pf_slice name)
{
    for (unsigned i = 0; i < callgrind->n_titles; i++) {
        struct pf_cell cell = pf_build_named(callgrind->build, callgrind->titles[i][0]),
                       title = pf_build_named(callgrind->build, callgrind->titles[i][1]);
        if (cell.size == pf_size(name) && !memcmp(cell.text, name.at, cell.size))
            return pf_slice(title.text, title.size);
    }
    return (struct pf_slice){name.end, name.end};
}

/* Adds the inclusive metric of an exclusive one. Inclusive values of functions overlap, so they never add up. */
static void add_inclusive(struct callgrind *callgrind, uint32_t exclusive)
{
    struct pf_build *build = callgrind->build;
    char *name = NULL;
    int size = asprintf(&name, "%s (inc)", build->metrics[exclusive].name);
    PF_OWN(build->run, size < 0 ? NULL : name, free);
    uint32_t inclusive = pf_build_metric(build, name, (size_t)size, build->metrics[exclusive].unit);
    struct pf_metric *metric = &build->metrics[inclusive];
    metric->scope = "inclusive";
    metric->over_contexts = PF_OVER_NO_CONTEXTS;
    metric->partner = (int)exclusive;
    build->metrics[exclusive].partner = (int)inclusive;
}

/* Finds or adds the metric of an event. */
static unsigned callgrind_find_metric(struct callgrind *callgrind, struct pf_slice name)
{
    struct pf_build *build = callgrind->build;
    struct pf_slice title = title_of(callgrind, name);
    uint32_t index =
        pf_build_metric(build, name.at, pf_size(name), callgrind_unit_of(callgrind, name, title));
    for (unsigned i = 0; i < callgrind->n_metrics; i++)
        if (callgrind->exclusive[i] == index)
            return i;
    if (title.at < title.end) /* borrowed from the names, which are NUL-terminated */
        build->metrics[index].description = title.at;
    callgrind->exclusive[callgrind->n_metrics] = index;
    widen(callgrind);
    if (!callgrind->cachegrind)
        add_inclusive(callgrind, index);
    return callgrind->n_metrics++;
}

static void callgrind_read_events(struct callgrind *callgrind, struct pf_slice text)
{
    pf_skip_blanks(&text);
    for (callgrind->n_events = 0; text.at < text.end; callgrind->n_events++) {
        struct pf_slice name = pf_take_word(&text);
        if (callgrind->n_events == CALLGRIND_METRICS || callgrind->n_metrics == CALLGRIND_METRICS) {
            callgrind_warn(callgrind, "error", "events", "too many events: the others skipped");
            return;
        }
        callgrind->metric[callgrind->n_events] = (uint8_t)callgrind_find_metric(callgrind, name);
    }
}

/* Parses `event: short : long` or `event: short = formula : long`. */
static void callgrind_read_title(struct callgrind *callgrind, struct pf_slice text)
{
    const char *colon = memchr(text.at, ':', pf_size(text));
    struct pf_slice name = (pf_skip_blanks(&text), pf_take_word(&text));
    if (!colon || callgrind->n_titles == CALLGRIND_METRICS || name.at >= colon)
        return;
    uint32_t *title = callgrind->titles[callgrind->n_titles++];
    title[0] = pf_build_slice(callgrind->build, name);
    title[1] = pf_build_slice(callgrind->build, pf_trimmed((struct pf_slice){colon + 1, text.end}));
}

/* Parses the names of the columns before the counts. Only the column `line` is used. An empty list means `line`. */
static void read_positions(struct callgrind *callgrind, struct pf_slice text)
{
    text = pf_trimmed(text);
    callgrind->line_column = UINT_MAX;
    for (callgrind->positions = 0; text.at < text.end; callgrind->positions++)
        if (pf_is(pf_take_word(&text), "line") && callgrind->line_column == UINT_MAX)
            callgrind->line_column = callgrind->positions;
    if (callgrind->positions)
        return;
    callgrind->positions = 1;
    callgrind->line_column = 0;
}

/* Parses a part's declared sums, which end_part checks. */
static void read_totals(struct callgrind *callgrind, struct pf_slice text)
{
    pf_skip_blanks(&text);
    for (callgrind->n_declared = 0; callgrind->n_declared < callgrind->n_events; callgrind->n_declared++)
        if (!callgrind_take_count(&text, &callgrind->declared[callgrind->n_declared]))
            break;
    callgrind->declared_line = callgrind->line.number;
}

/*
 * Ends a part of the file. (Callgrind may append a part per thread or dump.) Compares the part's declared sums with the
 * computed ones, and resets the current names. Dictionaries and costs are kept.
 */
static void end_part(struct callgrind *callgrind)
{
    for (unsigned i = 0; i < callgrind->n_declared && i < callgrind->n_events; i++) {
        unsigned metric = callgrind->metric[i];
        if (callgrind->declared[i] != callgrind->part[metric])
            pf_build_warn(callgrind->build, callgrind->declared_line, -1, "warning", "totals",
                          "%.80s of the functions has another sum than this line",
                          callgrind->build->metrics[callgrind->exclusive[metric]].name);
    }
    memset(callgrind->part, 0, sizeof callgrind->part);
    callgrind->n_declared = 0;
    callgrind_end_call(callgrind);
    callgrind->jumping = false;
    callgrind->thread = PF_NO_PARTITION;
    callgrind->object = callgrind->file = callgrind->here = callgrind->function = callgrind->own =
        PF_NO_STRING;
    callgrind->callee_object = callgrind->callee_file = callgrind->callee_name = PF_NO_STRING;
}

static void callgrind_read_header(struct callgrind *callgrind, enum callgrind_word word, struct pf_slice text)
{
    struct pf_slice value = pf_trimmed(text);
    switch (word) {
    case VERSION:
    case PART:
        end_part(callgrind);
        break;
    case CREATOR:
        callgrind->ends_open = pf_size(value) == 5 && pf_begins(value, "yappi");
        break;
    case THREAD:
        callgrind->own = PF_NO_STRING;
        callgrind->thread = pf_build_partition(callgrind->build, value.at, pf_size(value), NULL);
        break;
    case POSITIONS:
        read_positions(callgrind, text);
        break;
    case EVENT:
        callgrind_read_title(callgrind, text);
        break;
    case EVENTS:
        callgrind_read_events(callgrind, text);
        break;
    case SUMMARY: /* ignored in Callgrind's files, where it includes events while collection was off */
    case TOTALS:
    case TOTAL: /* php-memprof's keyword */
        if ((word == SUMMARY) == callgrind->cachegrind)
            read_totals(callgrind, text);
        break;
    default:
        break;
    }
}

/* ---- the pass ---------------------------------------------------------------------------------------- */

static void callgrind_read_line(struct pf_build *build, const struct pf_line *line)
{
    struct callgrind *callgrind = build->state;
    struct pf_slice text = pf_slice(line->text, line->size);
    bool open = pf_build_line_is_open(callgrind->build, line) && !callgrind->ends_open;
    callgrind->line = *line;
    if (line->continued || text.at == text.end || *text.at == '#')
        return;
    if (line->more)
        callgrind_warn(callgrind, "warning", "long-line", "line too long: only its beginning is read");
    bool costs = callgrind->cachegrind ? isdigit((unsigned char)*text.at) : callgrind_begins_cost(*text.at);
    enum callgrind_word word = costs ? NO_WORD : callgrind_take_word(&text);
    if (open && !costs &&
        (word == NO_WORD || callgrind_in_body(word))) { /* no complete file ends with such a line */
        callgrind_warn(callgrind, "fatal", "cut",
                       "the last line has no newline: line skipped, the file is truncated");
        return;
    }
    if (open)
        callgrind_warn(callgrind, "warning", "no-newline",
                       "the last line has no newline: the file may be truncated");
    if (costs)
        read_costs(callgrind, text);
    else if (callgrind_in_body(word) && (!callgrind->cachegrind || callgrind_in_both(word)))
        callgrind_read_name(callgrind, word, text);
    else if (word != NO_WORD && (!callgrind->cachegrind || callgrind_in_both(word)))
        callgrind_read_header(callgrind, word, text);
    else
        callgrind_warn(callgrind, "warning", "bad-line", "invalid line: skipped");
}

void callgrind_read(struct pf_build *build, bool cachegrind)
{
    struct callgrind *callgrind = build->state;
    callgrind->build = build;
    callgrind->keys = PF_OWN(build->run, pf_strings_new(), pf_strings_free);
    for (int i = 0; i < DICTIONARIES; i++)
        PF_OWN(build->run, &callgrind->names[i], pf_ids_free);
    callgrind->cachegrind = cachegrind;
    callgrind->stride = callgrind->positions = 1;
    callgrind->name = PF_NO_STRING;
    callgrind->lines = pf_line_sums_new(build);
    end_part(callgrind);
    pf_build_lines(build, callgrind_read_line);
    if (callgrind->cachegrind && !callgrind->n_declared)
        callgrind_warn(callgrind, "warning", "no-summary",
                       "no line `summary:` at the end: the file is truncated or unfinished");
    end_part(callgrind);
    callgrind_finish(callgrind);
    pf_line_sums_end(callgrind->lines, CALLGRIND_LINES);
}
