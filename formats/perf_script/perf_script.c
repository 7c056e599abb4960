/* SPDX-License-Identifier: MIT */
/* Driver for the text of `perf script`: one header per sample, followed by one line per frame. See docs/formats/perf-script.md. */
#include "formats/kit/number.h"
#include "formats/kit/sorter.h"
#include "formats/perf_script/line.h"
#include "formats/probe.h"
#include "formats/runtime/build.h"
#include "formats/runtime/line_sums.h"

extern const struct pf_driver pf_perf_script_driver;

/* ---- recognising -------------------------------------------------------------------------------- */

/* Finds a frame with a symbol or a dso on the header's line. An address without either may be a data address. */
static bool has_named_frame(const struct perf_header *header, struct perf_frame *frame)
{
    return perf_header_frame(header->line, header->rest, frame) && (frame->has_symbol || frame->has_dso);
}

enum { FOREIGN_LINES = 32 /* gives up if so many unrelated lines precede the first known one */ };

/* Returns true if a line identifies the format without a frame: a header with command, time and event, or a record with a tid or time. */
static bool is_certain(enum perf_kind kind, const struct perf_header *header)
{
    if (kind == PERF_RECORD)
        return pf_size(header->time) || pf_size(header->tid);
    return kind == PERF_HEADER && pf_size(header->comm) && pf_size(header->time) && pf_size(header->event);
}

/*
 * Accepts a text that has a header or a record. The text must also have a frame, unless a header or record at its beginning suffices
 * (is_certain). At least six of ten lines must be headers, frames or source lines; records and further fields of samples are not counted.
 */
static void perf_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    size_t have, counts[PERF_UNKNOWN + 1] = {0}, known = 0, frames = 0;
    const char *head = (const char *)pf_probe_text_head(probe, PF_HEAD_MAX, &have);
    struct pf_slice text = pf_slice(head, have), line;
    struct perf_header header;
    struct perf_frame frame;
    /* The previous line if its kind is unknown. It may be a header if a frame follows. */
    struct pf_slice before = {NULL, NULL};
    bool certain = false;
    bool record = false; /* the previous line is a record, which may continue on further lines */
    while (pf_take_line(&text, true, &line)) {
        enum perf_kind kind = perf_line(line, &header, &frame);
        if (kind == PERF_FRAME && before.at && perf_weak_header(before, &header)) {
            counts[PERF_UNKNOWN]--;
            counts[PERF_HEADER]++;
        }
        if (kind == PERF_UNKNOWN && record && *line.at == '\t')
            continue;
        record = kind == PERF_RECORD;
        if (kind == PERF_UNKNOWN && perf_has_wide_address(line) && perf_weak_header(line, &header) &&
            has_named_frame(&header, &frame))
            kind = PERF_HEADER;
        before = kind == PERF_UNKNOWN ? line : (struct pf_slice){NULL, NULL};
        if (!known && !counts[PERF_UNKNOWN])
            certain = certain || is_certain(kind, &header);
        counts[kind]++;
        frames += kind == PERF_FRAME ||
                  (kind == PERF_HEADER && perf_header_frame(header.line, header.rest, &frame));
        known = counts[PERF_HEADER] + counts[PERF_FRAME] + counts[PERF_SOURCE_LINE];
        if (!known && counts[PERF_UNKNOWN] == FOREIGN_LINES)
            return;
    }
    if (counts[PERF_HEADER] + counts[PERF_RECORD] && (frames || certain) &&
        10 * known >= 6 * (known + counts[PERF_UNKNOWN]))
        result->confidence = 6;
}

/* ---- reading ------------------------------------------------------------------------------------ */

struct perf_script {
    struct pf_build *build;
    /* The current sample, if `open`. */
    bool open;
    uint32_t thread, metric; /* metric: of the event; 0: the header has no event */
    struct pf_cell period;
    bool timed;               /* the header has a time */
    int64_t time;             /* ns */
    PF_LIST(uint32_t) frames; /* innermost first */
    bool provisional;         /* the only frame is from the header's line: a call chain replaces it */
    bool fields;              /* further fields have followed the frames */
    uint32_t dso;             /* the dso of the last frame that has one */
    bool has_dsos;            /* some frame has a dso */
    bool has_events;          /* some header has an event */
    bool has_chains;          /* some sample has a call chain */
    bool strong;              /* a header with a tid, and a time or an event, has been read */
    bool weak;                /* a weak header has begun a sample */
    bool skipping;            /* skipping lines that continue a record */
    /* A line that may be a weak header; the next line decides. pending_size is 0 if there is none. */
    char pending[512];
    size_t pending_size;
    uint64_t pending_number, pending_offset;
    /* Offset of the end of the last skipped line. If it is the file's end, the file is truncated. */
    uint64_t bad_end;
    struct pf_source_line leaf; /* source line of the innermost frame */
    bool has_lines;             /* the innermost frame of some sample has a source line */
    struct pf_line_sums *lines;
    PF_LIST(pf_int128) elsewhere; /* by metric: values of samples whose innermost frame has no source line */
    struct pf_sorter *times;      /* record per sample with a time: thread, number, time, context */
    uint64_t n_times;
};

/* Multiplies a decimal number by 10^places. Returns false, with *value 0, if the number is invalid or the product exceeds 64 bits. */
static bool perf_parse_decimal(struct pf_slice word, int places, int64_t *value)
{
    pf_int128 wide = 0;
    bool is = pf_parse_fixed(word.at, pf_size(word), places, &wide) && wide == (int64_t)wide;
    *value = is ? (int64_t)wide : 0;
    return is;
}

static struct pf_cell perf_cell_of(struct pf_slice word)
{
    int64_t value;
    perf_parse_decimal(word, 0, &value);
    return pf_size(word) ? pf_int(value) : pf_absent();
}

/* Sets the thread, named by command and tid if they are printed. A renamed thread counts as a new thread. */
static void perf_enter_thread(struct perf_script *script, const struct perf_header *header)
{
    enum { COMM_MAX = 256, TID_MAX = 31 };
    char name[COMM_MAX + 1 + TID_MAX];
    size_t comm = pf_size(header->comm), tid = pf_size(header->tid), size;
    comm = comm < COMM_MAX ? comm : COMM_MAX;
    tid = tid < TID_MAX ? tid : TID_MAX;
    memcpy(name, header->comm.at, comm);
    size = comm;
    if (comm && tid)
        name[size++] = ' ';
    memcpy(name + size, header->tid.at, tid);
    size += tid;
    struct pf_cell fields[] = {perf_cell_of(header->pid), perf_cell_of(header->tid),
                               comm ? pf_text(header->comm.at, comm) : pf_absent()};
    script->thread =
        pf_build_partition(script->build, size ? name : "all", size ? size : strlen("all"), fields);
}

/*
 * Sets the event's metric and the sample's period. The period is in nanoseconds for clock events and otherwise a number
 * of events. It is 1 if the header has none.
 */
static void enter_event(struct perf_script *script, const struct perf_header *header)
{
    struct pf_slice event = header->event;
    const char *colon = memchr(event.at, ':', pf_size(event));
    size_t base = colon ? (size_t)(colon - event.at) : pf_size(event);
    bool has_period = pf_size(header->period);
    bool clock =
        (base == 9 && pf_begins(event, "cpu-clock")) || (base == 10 && pf_begins(event, "task-clock"));
    pf_int128 period = UINT64_MAX;
    pf_parse_fixed(header->period.at, pf_size(header->period), 0, &period);
    script->period = has_period ? pf_uint(period < UINT64_MAX ? (uint64_t)period : UINT64_MAX) : pf_int(1);
    script->metric =
        pf_build_metric(script->build, event.at, pf_size(event), clock && has_period ? "ns" : "");
}

static void add_frame(struct perf_script *script, const struct perf_frame *frame)
{
    struct pf_build *build = script->build;
    struct pf_frame made = {
        .name = pf_build_slice(build, frame->symbol), .file = PF_NO_STRING, .module = PF_NO_STRING};
    if (frame->has_dso && !frame->inlined) {
        /* Usually the previous frame has the same dso: skip the look-up. */
        struct pf_cell last = pf_build_named(build, script->dso);
        if (last.type != PF_TEXT || last.size != pf_size(frame->dso) ||
            memcmp(last.text, frame->dso.at, last.size) != 0)
            script->dso = pf_build_slice(build, frame->dso);
        made.module = script->dso;
    }
    if (!script->frames.n)
        script->leaf = (struct pf_source_line){.name = made.name, .file = PF_NO_STRING};
    *PF_PUSH(build->run, script->frames) = pf_build_frame(build, &made);
}

/* A source line belongs to the frame before it. Only the innermost frame's line is kept. */
static void add_source_line(struct perf_script *script, struct pf_slice line)
{
    struct pf_slice file;
    if (script->frames.n != 1 || script->leaf.line || !perf_source_place(line, &file, &script->leaf.line))
        return;
    script->leaf.file = pf_build_slice(script->build, file);
    script->has_lines = true;
}

/* Adds a value to the source line of the current sample. */
static void add_to_line(struct perf_script *script, uint32_t metric, pf_int128 value)
{
    if (script->leaf.line)
        pf_line_sums_add(script->lines, &script->leaf, metric, value);
    else
        *PF_ITEM(script->build->run, script->elsewhere, metric) += value;
}

/* Makes the table of source lines if the file has source lines. */
static void end_lines(struct perf_script *script)
{
    const struct pf_source_line none = {.name = PF_NO_STRING, .file = PF_NO_STRING};
    if (!script->has_lines)
        return;
    for (uint32_t metric = 0; metric < script->build->n_metrics; metric++)
        pf_line_sums_add(script->lines, &none, metric,
                         *PF_ITEM(script->build->run, script->elsewhere, metric));
    pf_line_sums_end(script->lines, 0);
}

/* Ends the current sample, if one is open, and adds its values. */
static void end_sample(struct perf_script *script)
{
    struct pf_build *build = script->build;
    uint32_t context = PF_NO_CONTEXT;
    if (!script->open)
        return;
    script->open = false;
    script->leaf.line = script->frames.n ? script->leaf.line : 0;
    if (!script->frames.n)
        *PF_PUSH(build->run, script->frames) =
            pf_build_named_frame(build, "[no stack]", strlen("[no stack]"));
    while (script->frames.n)
        context = pf_build_enter(build, context, script->frames.at[--script->frames.n]);
    uint64_t row[] = {script->thread, script->n_times++, (uint64_t)script->time, context};
    if (script->timed)
        pf_run_check(build->run, pf_sorter_add(script->times, row, build->run->error));
    pf_build_add(build, script->thread, context, 0, pf_int(1));
    add_to_line(script, 0, 1);
    if (script->metric) {
        pf_build_add(build, script->thread, context, script->metric, script->period);
        add_to_line(script, script->metric,
                    script->period.type == PF_UINT ? (pf_int128)script->period.u : script->period.i);
    }
}

static void begin_sample(struct perf_script *script, const struct perf_header *header)
{
    struct perf_frame frame;
    end_sample(script);
    perf_enter_thread(script, header);
    script->metric = 0;
    if (pf_size(header->event)) {
        script->has_events = true;
        enter_event(script, header);
    }
    script->open = true;
    script->timed = perf_parse_decimal(header->time, 9, &script->time);
    script->fields = script->skipping = false;
    script->provisional = script->has_chains ? has_named_frame(header, &frame)
                                             : perf_header_frame(header->line, header->rest, &frame);
    if (script->provisional)
        add_frame(script, &frame);
}

/*
 * Handles a line of unknown kind that may be a weak header. If it has a frame, it begins a sample. Otherwise it is kept until the next
 * line decides (decide_kept_line). Returns false if the line cannot be a weak header, for example since the file has full headers.
 */
static bool keep_line(struct perf_script *script, const struct pf_line *line)
{
    struct perf_header header;
    struct perf_frame frame;
    if (line->more || line->continued || script->strong ||
        (script->open && !script->fields && !script->weak) ||
        !perf_weak_header(pf_slice(line->text, line->size), &header))
        return false;
    if (has_named_frame(&header, &frame)) {
        script->weak = true;
        begin_sample(script, &header);
        return true;
    }
    if (line->size > sizeof script->pending)
        return false;
    memcpy(script->pending, line->text, line->size);
    script->pending_size = line->size;
    script->pending_number = line->number;
    script->pending_offset = line->offset;
    return true;
}

static void warn_line(struct perf_script *script, uint64_t number, uint64_t offset, bool is_frame,
                      const char *what)
{
    pf_build_warn(script->build, number, offset, "error", is_frame ? "bad-frame" : "bad-line",
                  "%s: line skipped", what);
}

/* The kept line is a header if a frame follows or, in a file with weak headers, a blank line, a comment or the end of the file. */
static void decide_kept_line(struct perf_script *script, enum perf_kind next)
{
    struct perf_header header;
    struct pf_slice line = pf_slice(script->pending, script->pending_size);
    script->pending_size = 0;
    if (pf_size(line) && (next == PERF_FRAME || (next == PERF_NOTHING && script->weak)) &&
        perf_weak_header(line, &header)) {
        script->weak = true;
        begin_sample(script, &header);
    } else if (pf_size(line)) {
        script->bad_end = script->pending_offset + pf_size(line);
        warn_line(script, script->pending_number, script->pending_offset, false,
                  "neither a sample nor a frame");
    }
}

/*
 * Handles a line. Skips a frame or header as truncated (`cut`) if the file ends within it and its dso or event, which earlier lines have,
 * is missing or incomplete.
 */
static void perf_read_line(struct pf_build *build, const struct pf_line *line)
{
    struct perf_script *script = build->state;
    struct perf_header header;
    struct perf_frame frame;
    struct pf_slice text = pf_slice(line->text, line->size);
    enum perf_kind kind = line->more || line->continued ? PERF_UNKNOWN : perf_line(text, &header, &frame);
    decide_kept_line(script, kind);
    bool in_sample = script->open;
    bool lacks = kind == PERF_FRAME    ? frame.cut || (script->has_dsos && !frame.has_dso)
                 : kind == PERF_HEADER ? script->has_events && !pf_size(header.event)
                                       : false;
    bool cut = lacks && pf_build_line_is_open(script->build, line);
    script->has_dsos |= kind == PERF_FRAME && frame.has_dso;
    if (kind == PERF_NOTHING) {
        if (!pf_size(pf_trimmed(text))) {
            end_sample(script);
            script->skipping = false;
        }
    } else if (kind == PERF_HEADER && !cut) {
        script->strong = true;
        begin_sample(script, &header);
    } else if (kind == PERF_RECORD) {
        end_sample(script);
        script->skipping = true;
    } else if (kind == PERF_FRAME && in_sample && !cut) {
        if (script->provisional)
            script->frames.n = 0;
        script->provisional = false;
        script->has_chains = true;
        add_frame(script, &frame);
    } else if (in_sample && (kind == PERF_SOURCE_LINE || kind == PERF_FIELDS)) {
        script->fields |= kind == PERF_FIELDS;
        if (kind == PERF_SOURCE_LINE && !script->fields)
            add_source_line(script, text);
    } else if (kind == PERF_UNKNOWN && keep_line(script, line)) {
        script->skipping = false;
    } else if (!script->skipping || kind == PERF_FRAME || !pf_is_blank(*line->text)) {
        script->bad_end = line->offset + line->size;
        warn_line(script, line->number, line->offset, kind == PERF_FRAME,
                  cut                  ? "truncated line"
                  : kind == PERF_FRAME ? "frame without a sample"
                                       : "neither a sample nor a frame");
    }
}

/* Adds the rows of trace.csv, sorted by thread, then in file order. (The file interleaves threads.) */
static void list_times(struct perf_script *script)
{
    struct pf_build *build = script->build;
    const uint64_t *row;
    pf_run_check(build->run, pf_sorter_finish(script->times, build->run->error));
    while (pf_run_check(build->run, pf_sorter_next(script->times, &row, build->run->error)))
        pf_build_stay(build, (uint32_t)row[0], (uint32_t)row[3], pf_int((int64_t)row[2]), pf_int(0));
}

static void perf_read_file(struct pf_build *build)
{
    struct perf_script *script = build->state;
    script->build = build;
    script->dso = PF_NO_STRING;
    script->times = PF_OWN(build->run, pf_sorter_new(4, 2, build->model->options->cache / 4), pf_sorter_free);
    script->lines = pf_line_sums_new(build);
    pf_build_metric(build, "samples", strlen("samples"), "");
    pf_build_lines(build, perf_read_line);
    decide_kept_line(script, PERF_NOTHING);
    end_sample(script);
    list_times(script);
    end_lines(script);
    if (script->bad_end && script->bad_end == pf_input_size(build->input))
        pf_build_warn(build, 0, script->bad_end, "fatal", "cut-line", "the file is truncated within a line");
}

/* Copies lines such as `# hostname : vm` from the output of `perf script --header` to info.txt. */
static void perf_open_file(struct pf_build *build)
{
    static const char *const keys[][2] = {{"# hostname :", "Host"},       {"# cmdline :", "Command"},
                                          {"# captured on    :", "Date"}, {"# perf version :", "Perf"},
                                          {"# arch :", "Architecture"},   {"# cpudesc :", "Processor"}};
    char head[16 * 1024];
    struct pf_slice text = pf_slice(head, pf_build_peek(build, head, sizeof head, 0)), line;
    while (pf_take_line(&text, false, &line))
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (pf_take(&line, keys[i][0])) {
                pf_skip_blanks(&line);
                pf_build_info(build, keys[i][1], line);
            }
}

static const struct pf_column thread_fields[] = {
    {"pid", PF_GROUP, 0}, {"tid", PF_PLAIN, 0}, {"comm", PF_GROUP, 0}};

static const struct pf_table own_tables[] = {PF_LINE_TABLE};

static const struct pf_build_format format = {.state = sizeof(struct perf_script),
                                              .fields = thread_fields,
                                              .n_fields = sizeof thread_fields / sizeof *thread_fields,
                                              .partitioned = true,
                                              .tables = own_tables,
                                              .n_tables = 1,
                                              .time_unit = "ns",
                                              .open = perf_open_file,
                                              .read = perf_read_file};

const struct pf_driver pf_perf_script_driver = {.name = "perf-script",
                                                .title = "text of `perf script`",
                                                .version = 6,
                                                .kit = &format,
                                                .text = true,
                                                .probe = perf_probe,
                                                PF_BUILD_OPERATIONS};
