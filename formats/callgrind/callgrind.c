/* SPDX-License-Identifier: MIT */
#include "formats/callgrind/callgrind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_LINES = 1000,
    LOOK = 8192, /* bytes that probing looks at */
};

/* ---- recognising ------------------------------------------------------------------------------------- */

/* What the first lines hold. */
struct look {
    bool seen[WORDS];
    bool numbered; /* names as (1) or (1) name */
    bool over;     /* nothing stands behind them */
    bool body;     /* they go as far as a line of the body */
    bool other;    /* a line that neither has */
    enum callgrind_word first;
    bool magic; /* `# callgrind format` */
};

static void look_at_line(struct look *look, struct callgrind_text line)
{
    struct callgrind_text whole = line;
    if (line.at == line.end || *line.at == '#') {
        look->magic |= line.end - line.at >= 18 && !memcmp(line.at, "# callgrind format", 18);
        return;
    }
    enum callgrind_word word = callgrind_take_word(&line);
    if (look->body) { /* what is wrong here is for the reader to tell */
        look->seen[word] = true;
        return;
    }
    struct callgrind_text value = callgrind_trimmed(line);
    if (word == NO_WORD)
        look->other |= whole.end - whole.at < 4 || memcmp(whole.at, "====", 4) != 0;
    else if (word == EVENTS && value.at == value.end)
        look->other = true; /* a key of YAML, say */
    if (!look->first)
        look->first = word;
    look->seen[word] = true;
    look->body = callgrind_in_body(word);
    look->numbered |= look->body && value.at < value.end && *value.at == '(';
}

static void look_at(struct pf_probe *probe, struct look *look)
{
    size_t have;
    const char *head = (const char *)pf_samples_head(probe, LOOK, &have);
    const char *end = head + (have < LOOK ? have : LOOK), *newline;
    *look = (struct look){.over = have < LOOK};
    for (const char *at = head; at < end; at = newline + 1) {
        newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline && !look->over)
            return;
        const char *stop = newline ? newline : end;
        look_at_line(look, (struct callgrind_text){at, stop - (stop > at && stop[-1] == '\r')});
        if (!newline)
            return;
    }
}

/* True if some word stands there that Cachegrind's files never have. */
static bool is_callgrind(const struct look *look)
{
    for (enum callgrind_word word = OB; word < WORDS; word++)
        if (look->seen[word] && !callgrind_in_both(word))
            return true;
    return look->numbered || (look->first != DESC && look->first != CMD);
}

/* Files of other tools have no magic number: nothing but lines of a header, with names of events, up to one of the body. */
static unsigned confidence_of(const struct look *look)
{
    if (look->magic)
        return 32;
    if (look->other)
        return 0;
    if (look->seen[EVENTS] && look->body)
        return 16;
    /* Nothing was measured, or a long command line hides the rest. */
    bool named = look->seen[CREATOR] || look->seen[VERSION] || look->seen[CMD];
    return named && !look->body && (look->seen[EVENTS] || (!look->over && look->seen[CMD])) ? 8 : 0;
}

static void probe_callgrind(struct pf_probe *probe, struct pf_verdict *verdict)
{
    struct look look;
    look_at(probe, &look);
    if (look.magic || is_callgrind(&look))
        verdict->confidence = confidence_of(&look);
}

static void probe_cachegrind(struct pf_probe *probe, struct pf_verdict *verdict)
{
    struct look look;
    look_at(probe, &look);
    if (!look.magic && !is_callgrind(&look) && look.seen[CMD] && look.seen[EVENTS])
        verdict->confidence = confidence_of(&look);
}

/* ---- the header -------------------------------------------------------------------------------------- */

static int add_info(struct pf_profile *profile, const char *key, struct callgrind_text value,
                    struct pf_error *error)
{
    value = callgrind_trimmed(value);
    struct pf_cell cells[] = {pf_string(key), pf_text(value.at, (size_t)(value.end - value.at))};
    return value.at < value.end ? pf_rows_add(profile->info, cells, error) : 0;
}

/* 1: the header goes on; 0: it is over. */
static int open_line(struct pf_profile *profile, const struct pf_line *line, bool *events,
                     struct pf_error *error)
{
    struct callgrind_text text = {line->text, line->text + line->size};
    enum callgrind_word word = callgrind_take_word(&text);
    pf_int128 version = 0;
    struct callgrind_text value = callgrind_trimmed(text);
    *events |= word == EVENTS && value.at < value.end;
    if (word == VERSION && callgrind_take_digits(&value, &version) && version > 1)
        return pf_fail_line(error, EINVAL, (int64_t)line->number,
                            "a later version of the format, which is not known");
    if ((word == CMD && add_info(profile, "Title", text, error)) ||
        (word == CREATOR && add_info(profile, "Creator", text, error)))
        return -1;
    if (word == CREATOR)
        ((struct callgrind_state *)profile->state)->ends_open =
            value.end - value.at == 5 && !memcmp(value.at, "yappi", 5);
    if ((!callgrind_in_body(word)) && (!line->size || !callgrind_begins_cost(*line->text)))
        return 1;
    if (!*events)
        return pf_fail_line(error, EINVAL, (int64_t)line->number,
                            "costs without a line `events:` before them");
    return 0;
}

static int open_file(struct pf_profile *profile, struct pf_error *error)
{
    struct callgrind_state *state = profile->state;
    struct pf_linereader *reader = pf_linereader_new(state->samples.input);
    struct pf_line line;
    bool events = false;
    int more = reader ? 1 : pf_fail_memory(error);
    for (int i = 0; more > 0 && i < HEADER_LINES; i++)
        if ((more = pf_linereader_next(reader, &line, error)) > 0 && !line.continued)
            more = open_line(profile, &line, &events, error);
    pf_linereader_free(reader);
    if (more < 0)
        return -1;
    return events ? 0 : pf_fail(error, EINVAL, "no line `events:`");
}

/* ---- the drivers -------------------------------------------------------------------------------- */

static const struct pf_column call_columns[CALLGRIND_COLUMNS] = {
    [CALLGRIND_THREAD] = {"thread", PF_PARTITION, 0},   [CALLGRIND_CONTEXT] = {"context", PF_CONTEXT, 0},
    [CALLGRIND_METRIC] = {"metric", PF_METRIC, 0},      [CALLGRIND_COUNT] = {"count", PF_PLAIN, 0},
    [CALLGRIND_INCLUSIVE] = {"inclusive", PF_PLAIN, 0}, [CALLGRIND_CALLER] = {"caller", PF_PLAIN, 0},
    [CALLGRIND_CALLEE] = {"callee", PF_PLAIN, 0},
};

static const struct pf_table call_tables[] = {
    {.name = "calls", .columns = call_columns, .n_columns = CALLGRIND_COLUMNS, .stage = PF_MODELLED},
};

static int open_callgrind(struct pf_profile *profile, struct pf_error *error)
{
    profile->edges = &profile->tables[1];
    return open_file(profile, error);
}

static const struct pf_samples_format callgrind_format = {
    .state = sizeof(struct callgrind_state),
    .partitioned = true,
    .zeros = true,
    .tables = call_tables,
    .n_tables = 1,
    .open = open_callgrind,
    .read = callgrind_read,
};

const struct pf_driver pf_callgrind_driver = {
    .name = "callgrind",
    .title = "Callgrind's call graphs (valgrind, xdebug, yappi, pprof -callgrind, ruby-prof)",
    .version = 1,
    .kit = &callgrind_format,
    .probe = probe_callgrind,
    .open = pf_samples_open,
    .load = pf_samples_load,
    .close = pf_samples_close,
};

/* Its functions' rows of costs are read with calls that it never has: rows[0] stays unused. */
static const struct pf_samples_format cachegrind_format = {
    .state = sizeof(struct callgrind_state),
    .open = open_file,
    .read = callgrind_read,
};

const struct pf_driver pf_cachegrind_driver = {
    .name = "cachegrind",
    .title = "Cachegrind's counts by function (valgrind, cg_merge, cg_diff)",
    .version = 2,
    .kit = &cachegrind_format,
    .probe = probe_cachegrind,
    .open = pf_samples_open,
    .load = pf_samples_load,
    .close = pf_samples_close,
};
