/* SPDX-License-Identifier: MIT */
#include "formats/callgrind/callgrind.h"

#include "formats/probe.h"

enum {
    HEADER_LINES = 1000,
    LOOK = 8192, /* bytes that probing examines */
};

/* ---- recognising ------------------------------------------------------------------------------------- */

/* Properties of the lines in the file's head. */
struct callgrind_evidence {
    bool seen[WORDS];
    bool numbered;             /* names have the form (1) or (1) name */
    bool over;                 /* the head is the whole file */
    bool body;                 /* a line of the body has been seen */
    bool other;                /* a line that belongs to neither format has been seen */
    enum callgrind_word first; /* keyword of the first line that has one */
    bool magic;                /* there is a line `# callgrind format` */
};

static void callgrind_examine_line(struct callgrind_evidence *look, struct pf_slice line)
{
    if (line.at == line.end || *line.at == '#') {
        look->magic |= pf_begins(line, "# callgrind format");
        return;
    }
    enum callgrind_word word = callgrind_take_word(&line);
    if (look->body) { /* errors in the body are left to the reader */
        look->seen[word] = true;
        return;
    }
    struct pf_slice value = pf_trimmed(line);
    if (word == NO_WORD)
        look->other |= !pf_begins(line, "====");
    else if (word == EVENTS && value.at == value.end)
        look->other = true; /* no events: for example a key of YAML */
    if (!look->first)
        look->first = word;
    look->seen[word] = true;
    look->body = callgrind_in_body(word);
    look->numbered |= look->body && value.at < value.end && *value.at == '(';
}

static void callgrind_examine(struct pf_probe *probe, struct callgrind_evidence *look)
{
    size_t have;
    const char *head = (const char *)pf_probe_text_head(probe, LOOK, &have);
    struct pf_slice text = pf_slice(head, have < LOOK ? have : LOOK), line;
    *look = (struct callgrind_evidence){.over = have < LOOK};
    while ((!look->other || look->magic) && pf_take_line(&text, look->over, &line))
        callgrind_examine_line(look, line);
}

/*
 * True if the file cannot be Cachegrind's: it has a keyword or numbered names that Cachegrind never writes, or its
 * first keyword is neither desc: nor cmd:.
 */
static bool is_callgrind(const struct callgrind_evidence *look)
{
    for (enum callgrind_word word = OB; word < WORDS; word++)
        if (look->seen[word] && !callgrind_in_both(word))
            return true;
    return look->numbered || (look->first != DESC && look->first != CMD);
}

/*
 * Files of other tools have no magic number. They are recognised by a header with event names and without foreign
 * lines, followed by a line of the body.
 */
static unsigned callgrind_confidence_of(const struct callgrind_evidence *look)
{
    if (look->magic)
        return 32;
    if (look->other)
        return 0;
    if (look->seen[EVENTS] && look->body)
        return 16;
    /* An empty profile, or a long command line that fills the head. */
    bool named = look->seen[CREATOR] || look->seen[VERSION] || look->seen[CMD];
    return named && !look->body && (look->seen[EVENTS] || (!look->over && look->seen[CMD])) ? 8 : 0;
}

static void probe_callgrind(struct pf_probe *probe, struct pf_probe_result *result)
{
    struct callgrind_evidence look;
    callgrind_examine(probe, &look);
    if (look.magic || is_callgrind(&look))
        result->confidence = callgrind_confidence_of(&look);
}

static void probe_cachegrind(struct pf_probe *probe, struct pf_probe_result *result)
{
    struct callgrind_evidence look;
    callgrind_examine(probe, &look);
    if (!look.magic && !is_callgrind(&look) && look.seen[CMD] && look.seen[EVENTS])
        result->confidence = callgrind_confidence_of(&look);
}

/* ---- the header -------------------------------------------------------------------------------------- */

/* Handles a line of the header; the line `events:` sets *events. Returns false at the first line of the body. */
static bool open_line(struct pf_build *build, const struct pf_line *line, bool *events)
{
    struct pf_slice text = pf_slice(line->text, line->size);
    enum callgrind_word word = callgrind_take_word(&text);
    struct pf_slice value = pf_trimmed(text), digits = value;
    pf_int128 version = 0;
    *events |= word == EVENTS && value.at < value.end;
    if (word == VERSION && pf_take_digits(&digits, &version) && version > 1)
        pf_run_refuse(build->run, (int64_t)line->number, "unknown later version of the format");
    if (word == CMD || word == CREATOR)
        pf_build_info(build, word == CMD ? "Title" : "Creator", value);
    if (!callgrind_in_body(word) && (!line->size || !callgrind_begins_cost(*line->text)))
        return true;
    if (!*events)
        pf_run_refuse(build->run, (int64_t)line->number, "costs before the line `events:`");
    return false;
}

static void callgrind_open_file(struct pf_build *build)
{
    struct pf_linereader *lines = PF_OWN(build->run, pf_linereader_new(build->input), pf_linereader_free);
    struct pf_line line;
    bool events = false, more = true;
    for (int i = 0; more && i < HEADER_LINES &&
                    pf_run_check(build->run, pf_linereader_next(lines, &line, build->run->error));
         i++)
        if (!line.continued)
            more = open_line(build, &line, &events);
    if (!events)
        pf_run_refuse(build->run, 0, "no line `events:`");
}

/* ---- the drivers -------------------------------------------------------------------------------- */

static const struct pf_column call_columns[CALLGRIND_COLUMNS] = {
    [CALLGRIND_THREAD] = {"thread", PF_PARTITION, 0},   [CALLGRIND_CONTEXT] = {"context", PF_CONTEXT, 0},
    [CALLGRIND_METRIC] = {"metric", PF_METRIC, 0},      [CALLGRIND_COUNT] = {"count", PF_PLAIN, 0},
    [CALLGRIND_INCLUSIVE] = {"inclusive", PF_PLAIN, 0}, [CALLGRIND_CALLER] = {"caller", PF_PLAIN, 0},
    [CALLGRIND_CALLEE] = {"callee", PF_PLAIN, 0},
};

static const struct pf_table own_tables[] = {
    [CALLGRIND_LINES] = PF_LINE_TABLE,
    [CALLGRIND_CALLS] = {.name = "calls",
                         .columns = call_columns,
                         .n_columns = CALLGRIND_COLUMNS,
                         .stage = PF_MODELLED},
};

static void open_callgrind(struct pf_build *build)
{
    struct pf_model *model = build->model;
    struct callgrind *callgrind = build->state;
    model->extra = &callgrind->extra;
    callgrind->extra.edges = &model->tables[1 + CALLGRIND_CALLS]; /* table 0 is "values" */
    callgrind_open_file(build);
}

static void read_callgrind(struct pf_build *build)
{
    callgrind_read(build, false);
}

static void read_cachegrind(struct pf_build *build)
{
    callgrind_read(build, true);
}

static const struct pf_build_format callgrind_format = {.state = sizeof(struct callgrind),
                                                        .partitioned = true,
                                                        .zeros = true,
                                                        .tables = own_tables,
                                                        .n_tables = sizeof own_tables / sizeof *own_tables,
                                                        .open = open_callgrind,
                                                        .read = read_callgrind};

const struct pf_driver pf_callgrind_driver = {
    .name = "callgrind",
    .title = "Callgrind's call graphs (valgrind, xdebug, yappi, pprof -callgrind, ruby-prof)",
    .version = 8,
    .kit = &callgrind_format,
    .text = true,
    .probe = probe_callgrind,
    PF_BUILD_OPERATIONS,
};

static const struct pf_build_format cachegrind_format = {.state = sizeof(struct callgrind),
                                                         .tables = own_tables,
                                                         .n_tables = 1,
                                                         .open = callgrind_open_file,
                                                         .read = read_cachegrind};

const struct pf_driver pf_cachegrind_driver = {
    .name = "cachegrind",
    .title = "Cachegrind's counts by function (valgrind, cg_merge, cg_diff)",
    .version = 7,
    .kit = &cachegrind_format,
    .text = true,
    .probe = probe_cachegrind,
    PF_BUILD_OPERATIONS,
};
