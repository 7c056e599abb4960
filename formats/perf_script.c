/* SPDX-License-Identifier: MIT */
/* What `perf script` prints: a line a sample, and a line a frame below it. See docs/formats/perf-script.md. */
#include "formats/kit/build.h"
#include "formats/kit/fixed.h"
#include "formats/kit/sorter.h"

extern const struct pf_driver pf_perf_script_driver;

/* ---- one line ----------------------------------------------------------------------------------- */

/* The first line of a sample: `comm pid/tid [cpu] misc time: period event: what follows`. */
struct header {
    struct pf_slice comm, pid, tid, time, period, event, rest; /* empty where it has none */
};

/* A line of a call chain: `address symbol+0x12 (dso)`. */
struct frame {
    struct pf_slice symbol, dso;
    bool has_dso, inlined;
};

static bool is_number(struct pf_slice word)
{
    const char *at = word.at;
    while (at < word.end && isdigit((unsigned char)*at))
        at++;
    return at == word.end && word.at < word.end;
}

static bool is_signed(struct pf_slice word)
{
    word.at += word.at < word.end && *word.at == '-';
    return is_number(word);
}

/* `[002]` */
static bool is_cpu(struct pf_slice word)
{
    return pf_size(word) > 2 && *word.at == '[' && word.end[-1] == ']' &&
           is_number((struct pf_slice){word.at + 1, word.end - 1});
}

/* Flags of what the processor did, and of context switches: `K`, `Sp`, `d..` */
static bool is_misc(struct pf_slice word)
{
    const char *at = word.at;
    while (at < word.end && (isalpha((unsigned char)*at) || strchr(".+-", *at)))
        at++;
    return at == word.end && pf_size(word) >= 1 && pf_size(word) <= 16;
}

/* `4332.596867:` */
static bool is_time(struct pf_slice word)
{
    const char *point = memchr(word.at, '.', pf_size(word));
    return point && word.end[-1] == ':' && is_number((struct pf_slice){word.at, point}) &&
           is_number((struct pf_slice){point + 1, word.end - 1});
}

static bool is_event(struct pf_slice word, bool timed)
{
    return pf_size(word) > 1 && word.end[-1] == ':' && (timed || isalpha((unsigned char)*word.at));
}

/* What follows the tid. */
static bool take_rest(struct pf_slice text, struct header *header)
{
    struct pf_slice word = pf_take_word(&text);
    header->time = header->period = (struct pf_slice){text.at, text.at};
    if (is_cpu(word))
        word = pf_take_word(&text);
    if (is_misc(word))
        word = pf_take_word(&text);
    bool timed = pf_size(word) && is_time(word);
    if (timed) {
        header->time = (struct pf_slice){word.at, word.end - 1};
        word = pf_take_word(&text);
    }
    if (is_number(word)) {
        header->period = word;
        word = pf_take_word(&text);
    }
    header->event = (struct pf_slice){word.at, word.end - 1};
    header->rest = text;
    return is_event(word, timed);
}

/* `12`, `-1`, `11/12`, of which the last may stand behind blanks. */
static bool take_ids(struct pf_slice *text, struct header *header)
{
    struct pf_slice word = pf_take_word(text);
    const char *slash = memchr(word.at, '/', pf_size(word));
    header->pid = (struct pf_slice){word.at, slash ? slash : word.at};
    header->tid = (struct pf_slice){slash ? slash + 1 : word.at, word.end};
    if (slash && !pf_size(header->tid))
        header->tid = pf_take_word(text);
    return is_signed(header->tid) && (!slash || is_signed(header->pid));
}

/* A command may hold blanks and numbers: the first number behind which all else has its form is the thread's. */
static bool take_header(struct pf_slice line, struct header *header)
{
    struct pf_slice text = line;
    pf_skip_blanks(&text);
    header->comm = (struct pf_slice){text.at, text.at};
    if (!pf_size(text) || *line.at == '\t')
        return false;
    for (pf_take_word(&text); pf_size(text); pf_take_word(&text)) {
        struct pf_slice rest = text;
        header->comm.end = text.at;
        if ((isdigit((unsigned char)*text.at) || *text.at == '-') && take_ids(&rest, header) &&
            take_rest(rest, header)) {
            while (pf_is_blank(header->comm.end[-1]))
                header->comm.end--;
            return true;
        }
    }
    return false;
}

/* Where the group begins that the last parenthesis of the text closes, if nothing or a blank stands before it; NULL: there is
 * none. */
static const char *last_group(struct pf_slice text)
{
    unsigned open = 0;
    if (!pf_size(text) || text.end[-1] != ')')
        return NULL;
    for (const char *at = text.end; at > text.at; at--) {
        open += at[-1] == ')';
        open -= at[-1] == '(';
        if (!open)
            return at - 1 == text.at || pf_is_blank(at[-2]) ? at - 1 : NULL;
    }
    return NULL;
}

static bool take_frame(struct pf_slice text, struct frame *frame)
{
    static const char unknown[] = "[unknown]";
    text = pf_trimmed(text);
    struct pf_slice address = pf_take_word(&text);
    const char *at = address.at;
    while (at < address.end && isxdigit((unsigned char)*at))
        at++;
    if (at < address.end || !pf_size(address) || pf_size(address) > 16 || !pf_size(text))
        return false;
    const char *group = last_group(text);
    *frame = (struct frame){.symbol = text, .has_dso = group};
    if (group) {
        frame->dso = (struct pf_slice){group + 1, text.end - 1};
        frame->symbol.end = group > text.at ? group - 1 : group;
        frame->inlined = pf_size(frame->dso) == 7 && !memcmp(frame->dso.at, "inlined", 7);
    }
    struct pf_slice offset = {frame->symbol.end, frame->symbol.end};
    while (offset.at > frame->symbol.at && isxdigit((unsigned char)offset.at[-1]))
        offset.at--;
    if (pf_size(offset) && offset.at - frame->symbol.at > 3 && !memcmp(offset.at - 3, "+0x", 3))
        frame->symbol.end = offset.at - 3;
    if (!pf_size(frame->symbol)) /* older versions of perf print nothing for it */
        frame->symbol = (struct pf_slice){unknown, unknown + sizeof unknown - 1};
    return true;
}

/* A line that `perf script -F +srcline` adds: `  file.c:12`, `  libc.so[27b25]`, `  file.c:12 (discriminator 2)`. */
static bool is_source_line(struct pf_slice text)
{
    if (pf_size(text) < 4 || memcmp(text.at, "  ", 2) != 0)
        return false;
    static const char more[] = " (discriminator ";
    const char *behind = memmem(text.at, pf_size(text), more, sizeof more - 1);
    text.end = behind ? behind : text.end;
    const char *at = text.end;
    while (at > text.at && isdigit((unsigned char)at[-1]))
        at--;
    return text.end[-1] == ']' || text.end[-1] == '?' || (at < text.end && at > text.at && at[-1] == ':');
}

enum kind { NOTHING, HEADER, FRAME, SOURCE_LINE, UNKNOWN };

/* Frames are set off by a tab; text that has been copied may have lost it, but then tells the file of the symbol. */
static enum kind kind_of(struct pf_slice line, struct header *header, struct frame *frame)
{
    if (!pf_size(pf_trimmed(line)) || *line.at == '#')
        return NOTHING;
    if (take_header(line, header))
        return HEADER;
    if (take_frame(line, frame) && (*line.at == '\t' || frame->has_dso))
        return FRAME;
    return is_source_line(line) ? SOURCE_LINE : UNKNOWN;
}

/* A frame may stand on the line of the sample, if there is no call chain. Text of tracepoints may look like it. */
static bool take_only_frame(struct pf_slice rest, struct frame *frame)
{
    struct pf_slice text = pf_trimmed(rest), word = pf_take_word(&text);
    return take_frame(rest, frame) && (frame->has_dso || pf_size(word) > 5);
}

/* ---- recognising -------------------------------------------------------------------------------- */

enum { FOREIGN_LINES = 32 /* a file that begins with so many lines of something else is none */ };

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    size_t have, counts[UNKNOWN + 1] = {0}, known = 0;
    const char *head = (const char *)pf_build_head(probe, PF_HEAD_MAX, &have);
    struct pf_slice text = pf_slice(head, have), line;
    struct header header;
    struct frame frame;
    bool timed = false;
    while (pf_take_line(&text, true, &line)) {
        enum kind kind = kind_of(line, &header, &frame);
        if (kind == HEADER && !counts[HEADER] && !counts[FRAME] && !counts[UNKNOWN])
            timed = pf_size(header.time);
        counts[kind]++;
        known += kind == HEADER || kind == FRAME || kind == SOURCE_LINE;
        if (!known && counts[UNKNOWN] == FOREIGN_LINES)
            return;
    }
    if (counts[HEADER] && (counts[FRAME] || timed) && 10 * known >= 6 * (known + counts[UNKNOWN]))
        verdict->confidence = 6;
}

/* ---- reading ------------------------------------------------------------------------------------ */

struct perf_script {
    struct pf_build build; /* first */
    /* The sample at hand. */
    bool open;
    uint32_t thread, metric; /* metric: of its event */
    struct pf_cell period;
    bool timed;
    int64_t time;             /* ns */
    PF_LIST(uint32_t) frames; /* innermost first */
    uint32_t dso;             /* of the last frame that has one */
    bool has_dsos;            /* some frame has one */
    uint64_t bad_end;         /* where a line ends that has been left out */
    struct pf_sorter *times;  /* of all samples with a time: thread, number, time, context */
    uint64_t n_times;
};

/* A number times 10^places. False if it is none that 64 bits hold; *value is 0 then. */
static bool take_value(struct pf_slice word, int places, int64_t *value)
{
    pf_int128 wide = 0;
    bool is = pf_parse_fixed(word.at, pf_size(word), places, &wide) && wide == (int64_t)wide;
    *value = is ? (int64_t)wide : 0;
    return is;
}

static struct pf_cell cell_of(struct pf_slice word)
{
    int64_t value;
    take_value(word, 0, &value);
    return pf_size(word) ? pf_int(value) : pf_absent();
}

/* A thread that has got another name is another. */
static void enter_thread(struct perf_script *script, const struct header *header)
{
    enum { COMM_MAX = 256, TID_MAX = 31 };
    char name[COMM_MAX + 1 + TID_MAX];
    size_t comm = pf_size(header->comm), tid = pf_size(header->tid);
    comm = comm < COMM_MAX ? comm : COMM_MAX;
    tid = tid < TID_MAX ? tid : TID_MAX;
    memcpy(name, header->comm.at, comm);
    name[comm] = ' ';
    memcpy(name + comm + 1, header->tid.at, tid);
    struct pf_cell fields[] = {cell_of(header->pid), cell_of(header->tid), pf_text(header->comm.at, comm)};
    script->thread = pf_build_thread(&script->build, name, comm + 1 + tid, fields);
}

/* Its period, in nanoseconds of a clock or in events; without one samples are counted. */
static void enter_event(struct perf_script *script, const struct header *header)
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
        pf_build_metric(&script->build, event.at, pf_size(event), clock && has_period ? "ns" : "");
}

static void add_frame(struct perf_script *script, const struct frame *frame)
{
    struct pf_build *build = &script->build;
    struct pf_frame made = {
        .name = pf_build_slice(build, frame->symbol), .file = PF_NO_STRING, .module = PF_NO_STRING};
    if (frame->has_dso && !frame->inlined) {
        /* It is mostly that of the frame before. */
        struct pf_cell last = pf_build_named(build, script->dso);
        if (last.type != PF_TEXT || last.size != pf_size(frame->dso) ||
            memcmp(last.text, frame->dso.at, last.size) != 0)
            script->dso = pf_build_slice(build, frame->dso);
        made.module = script->dso;
    }
    *PF_PUSH(build, script->frames) = pf_build_frame(build, &made);
}

/* Ends the sample at hand, if there is one. */
static void end_sample(struct perf_script *script)
{
    struct pf_build *build = &script->build;
    uint32_t context = PF_NO_CONTEXT;
    if (!script->open)
        return;
    script->open = false;
    if (!script->frames.n)
        *PF_PUSH(build, script->frames) = pf_build_named_frame(build, "[no stack]", strlen("[no stack]"));
    while (script->frames.n)
        context = pf_build_enter(build, context, script->frames.at[--script->frames.n]);
    uint64_t row[] = {script->thread, script->n_times++, (uint64_t)script->time, context};
    if (script->timed)
        pf_build_check(build, pf_sorter_add(script->times, row, build->error));
    pf_build_add(build, script->thread, context, 0, pf_int(1));
    pf_build_add(build, script->thread, context, script->metric, script->period);
}

static void begin_sample(struct perf_script *script, const struct header *header)
{
    struct frame frame;
    end_sample(script);
    enter_thread(script, header);
    enter_event(script, header);
    script->open = true;
    script->timed = take_value(header->time, 9, &script->time);
    if (take_only_frame(header->rest, &frame))
        add_frame(script, &frame);
}

static void read_line(void *state, const struct pf_line *line)
{
    struct perf_script *script = state;
    struct header header;
    struct frame frame;
    enum kind kind =
        line->more || line->continued ? UNKNOWN : kind_of(pf_slice(line->text, line->size), &header, &frame);
    bool in_sample = script->open;
    script->has_dsos |= kind == FRAME && frame.has_dso;
    if (kind == NOTHING) {
        if (!line->size || *line->text != '#')
            end_sample(script);
    } else if (kind == HEADER) {
        begin_sample(script, &header);
    } else if (kind == FRAME && in_sample && (frame.has_dso || !script->has_dsos)) {
        add_frame(script, &frame);
    } else if (kind != SOURCE_LINE || !in_sample) {
        script->bad_end = line->offset + line->size;
        pf_build_warn(&script->build, line->number, line->offset, "error",
                      kind == FRAME ? "bad-frame" : "bad-line", "%s: the line is left out",
                      kind == FRAME && in_sample ? "a frame that does not tell its file, as others do"
                      : kind == FRAME            ? "a frame without a sample"
                                                 : "neither a sample nor a frame");
    }
}

/* Samples of several threads stand among each other: trace.csv has them thread by thread, in the order of the file. */
static void list_times(struct perf_script *script)
{
    struct pf_build *build = &script->build;
    const uint64_t *row;
    pf_build_check(build, pf_sorter_finish(script->times, build->error));
    while (pf_build_check(build, pf_sorter_next(script->times, &row, build->error)))
        pf_build_stay(build, (uint32_t)row[0], (uint32_t)row[3], pf_int((int64_t)row[2]), pf_int(0));
}

static void read_file(void *state)
{
    struct perf_script *script = state;
    struct pf_build *build = &script->build;
    script->dso = PF_NO_STRING;
    script->times = PF_OWN(build, pf_sorter_new(4, 2, build->profile->options->cache / 4), pf_sorter_free);
    pf_build_metric(build, "samples", strlen("samples"), "");
    pf_build_lines(build, read_line);
    end_sample(script);
    list_times(script);
    if (script->bad_end && script->bad_end == pf_input_size(build->input))
        pf_build_warn(build, 0, script->bad_end, "fatal", "cut-line", "the file ends inside a line");
}

/* What `perf script --header` tells of the machine, in lines `# hostname : vm`. */
static void open_file(void *state)
{
    static const char *const keys[][2] = {{"# hostname :", "Host"},       {"# cmdline :", "Command"},
                                          {"# captured on    :", "Date"}, {"# perf version :", "Perf"},
                                          {"# arch :", "Architecture"},   {"# cpudesc :", "Processor"}};
    char head[16 * 1024];
    struct pf_slice text = pf_slice(head, pf_build_peek(state, head, sizeof head, 0)), line;
    while (pf_take_line(&text, false, &line))
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (pf_take(&line, keys[i][0])) {
                pf_skip_blanks(&line);
                pf_build_info(state, keys[i][1], line);
            }
}

static const struct pf_column thread_fields[] = {
    {"pid", PF_PLAIN, 0}, {"tid", PF_PLAIN, 0}, {"comm", PF_PLAIN, 0}};

static const struct pf_build_format format = {.state = sizeof(struct perf_script),
                                              .fields = thread_fields,
                                              .n_fields = sizeof thread_fields / sizeof *thread_fields,
                                              .partitioned = true,
                                              .time_unit = "ns",
                                              .open = open_file,
                                              .read = read_file};

const struct pf_driver pf_perf_script_driver = {.name = "perf-script",
                                                .title = "text of `perf script`",
                                                .version = 3,
                                                .kit = &format,
                                                .text = true,
                                                .probe = probe,
                                                PF_BUILD_OPERATIONS};
