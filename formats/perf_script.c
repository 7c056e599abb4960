/* SPDX-License-Identifier: MIT */
/* What `perf script` prints: a line a sample, and a line a frame below it. See docs/formats/perf-script.md. */
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/samples.h"
#include "formats/kit/sorter.h"
#include "formats/kit/spans.h"

extern const struct pf_driver pf_perf_script_driver;

/* ---- one line ----------------------------------------------------------------------------------- */

struct text {
    const char *at, *end;
};

/* The first line of a sample: `comm pid/tid [cpu] misc time: period event: what follows`. */
struct header {
    struct text comm, pid, tid, time, period, event, rest; /* empty where it has none */
};

/* A line of a call chain: `address symbol+0x12 (dso)`. */
struct frame {
    struct text symbol, dso;
    bool has_dso, inlined;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static size_t size_of(struct text text)
{
    return (size_t)(text.end - text.at);
}

static struct text skip_blanks(struct text text)
{
    while (text.at < text.end && is_blank(*text.at))
        text.at++;
    return text;
}

/* Takes what stands before the next blank off the front, and the blanks. */
static struct text take_word(struct text *text)
{
    struct text word = {text->at, text->at};
    while (word.end < text->end && !is_blank(*word.end))
        word.end++;
    text->at = word.end;
    *text = skip_blanks(*text);
    return word;
}

static bool is_number(struct text word)
{
    const char *at = word.at;
    while (at < word.end && isdigit((unsigned char)*at))
        at++;
    return at == word.end && word.at < word.end;
}

static bool is_signed(struct text word)
{
    word.at += word.at < word.end && *word.at == '-';
    return is_number(word);
}

/* `[002]` */
static bool is_cpu(struct text word)
{
    return size_of(word) > 2 && *word.at == '[' && word.end[-1] == ']' &&
           is_number((struct text){word.at + 1, word.end - 1});
}

/* Flags of what the processor did, and of context switches: `K`, `Sp`, `d..` */
static bool is_misc(struct text word)
{
    const char *at = word.at;
    while (at < word.end && (isalpha((unsigned char)*at) || strchr(".+-", *at)))
        at++;
    return at == word.end && size_of(word) >= 1 && size_of(word) <= 16;
}

/* `4332.596867:` */
static bool is_time(struct text word)
{
    const char *point = memchr(word.at, '.', size_of(word));
    return point && word.end[-1] == ':' && is_number((struct text){word.at, point}) &&
           is_number((struct text){point + 1, word.end - 1});
}

static bool is_event(struct text word, bool timed)
{
    return size_of(word) > 1 && word.end[-1] == ':' && (timed || isalpha((unsigned char)*word.at));
}

/* What follows the tid. */
static bool take_rest(struct text text, struct header *header)
{
    struct text word = take_word(&text);
    header->time = header->period = (struct text){text.at, text.at};
    if (is_cpu(word))
        word = take_word(&text);
    if (is_misc(word))
        word = take_word(&text);
    bool timed = size_of(word) && is_time(word);
    if (timed) {
        header->time = (struct text){word.at, word.end - 1};
        word = take_word(&text);
    }
    if (is_number(word)) {
        header->period = word;
        word = take_word(&text);
    }
    header->event = (struct text){word.at, word.end - 1};
    header->rest = text;
    return is_event(word, timed);
}

/* `12`, `-1`, `11/12`, of which the last may stand behind blanks. */
static bool take_ids(struct text *text, struct header *header)
{
    struct text word = take_word(text);
    const char *slash = memchr(word.at, '/', size_of(word));
    header->pid = (struct text){word.at, slash ? slash : word.at};
    header->tid = (struct text){slash ? slash + 1 : word.at, word.end};
    if (slash && !size_of(header->tid))
        header->tid = take_word(text);
    return is_signed(header->tid) && (!slash || is_signed(header->pid));
}

/* A command may hold blanks and numbers: the first number behind which all else has its form is the thread's. */
static bool take_header(struct text line, struct header *header)
{
    struct text text = skip_blanks(line);
    header->comm = (struct text){text.at, text.at};
    if (!size_of(text) || *line.at == '\t')
        return false;
    for (take_word(&text); size_of(text); take_word(&text)) {
        struct text rest = text;
        header->comm.end = text.at;
        if ((isdigit((unsigned char)*text.at) || *text.at == '-') && take_ids(&rest, header) &&
            take_rest(rest, header)) {
            while (is_blank(header->comm.end[-1]))
                header->comm.end--;
            return true;
        }
    }
    return false;
}

/* Where the group begins that the last parenthesis of the text closes, if a blank stands before it; NULL: there is none. */
static const char *last_group(struct text text)
{
    unsigned open = 0;
    if (!size_of(text) || text.end[-1] != ')')
        return NULL;
    for (const char *at = text.end; at > text.at; at--) {
        open += at[-1] == ')';
        open -= at[-1] == '(';
        if (!open)
            return at - 1 > text.at && is_blank(at[-2]) ? at - 1 : NULL;
    }
    return NULL;
}

static bool take_frame(struct text text, struct frame *frame)
{
    text = skip_blanks(text);
    while (size_of(text) && is_blank(text.end[-1]))
        text.end--;
    struct text address = take_word(&text);
    const char *at = address.at;
    while (at < address.end && isxdigit((unsigned char)*at))
        at++;
    if (at < address.end || !size_of(address) || size_of(address) > 16 || !size_of(text))
        return false;
    const char *group = last_group(text);
    *frame = (struct frame){.symbol = text, .has_dso = group};
    if (group) {
        frame->dso = (struct text){group + 1, text.end - 1};
        frame->symbol.end = group - 1;
        frame->inlined = size_of(frame->dso) == 7 && !memcmp(frame->dso.at, "inlined", 7);
    }
    struct text offset = {frame->symbol.end, frame->symbol.end};
    while (offset.at > frame->symbol.at && isxdigit((unsigned char)offset.at[-1]))
        offset.at--;
    if (size_of(offset) && offset.at - frame->symbol.at > 3 && !memcmp(offset.at - 3, "+0x", 3))
        frame->symbol.end = offset.at - 3;
    return true;
}

/* A line that `perf script -F +srcline` adds: `  file.c:12`, `  libc.so[27b25]`, `  file.c:12 (discriminator 2)`. */
static bool is_source_line(struct text text)
{
    if (size_of(text) < 4 || memcmp(text.at, "  ", 2) != 0)
        return false;
    static const char more[] = " (discriminator ";
    const char *behind = memmem(text.at, size_of(text), more, sizeof more - 1);
    text.end = behind ? behind : text.end;
    const char *at = text.end;
    while (at > text.at && isdigit((unsigned char)at[-1]))
        at--;
    return text.end[-1] == ']' || text.end[-1] == '?' || (at < text.end && at > text.at && at[-1] == ':');
}

enum kind { NOTHING, HEADER, FRAME, SOURCE_LINE, UNKNOWN };

/* Frames are set off by a tab; text that has been copied may have lost it, but then tells the file of the symbol. */
static enum kind kind_of(struct text line, struct header *header, struct frame *frame)
{
    if (!size_of(skip_blanks(line)) || *line.at == '#')
        return NOTHING;
    if (take_header(line, header))
        return HEADER;
    if (take_frame(line, frame) && (*line.at == '\t' || frame->has_dso))
        return FRAME;
    return is_source_line(line) ? SOURCE_LINE : UNKNOWN;
}

/* A frame may stand on the line of the sample, if there is no call chain. Text of tracepoints may look like it. */
static bool take_only_frame(struct text rest, struct frame *frame)
{
    struct text word = skip_blanks(rest);
    word = take_word(&word);
    return take_frame(rest, frame) && (frame->has_dso || size_of(word) > 5);
}

/* ---- recognising -------------------------------------------------------------------------------- */

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    size_t have, counts[UNKNOWN + 1] = {0};
    const char *at = (const char *)pf_samples_head(probe, PF_HEAD_MAX, &have), *end = at + have;
    struct header header;
    struct frame frame;
    bool timed = false;
    for (const char *newline; at < end; at = newline + 1) {
        newline = memchr(at, '\n', (size_t)(end - at));
        newline = newline ? newline : end;
        struct text line = {at, newline > at && newline[-1] == '\r' ? newline - 1 : newline};
        enum kind kind = kind_of(line, &header, &frame);
        if (kind == HEADER && !counts[HEADER] && !counts[FRAME] && !counts[UNKNOWN])
            timed = size_of(header.time);
        counts[kind]++;
    }
    size_t known = counts[HEADER] + counts[FRAME] + counts[SOURCE_LINE];
    if (counts[HEADER] && (counts[FRAME] || timed) && 10 * known >= 6 * (known + counts[UNKNOWN]))
        verdict->confidence = 6;
}

/* ---- reading ------------------------------------------------------------------------------------ */

struct perf_script {
    struct pf_samples samples;
    /* The sample at hand. */
    bool open;
    uint32_t thread;
    int metric; /* of its event */
    struct pf_cell period;
    bool timed;
    int64_t time;     /* ns */
    uint32_t *frames; /* innermost first */
    size_t n_frames, frames_room;
    uint32_t dso;            /* of the last frame that has one */
    bool has_dsos;           /* some frame has one */
    uint64_t bad_end;        /* where a line ends that has been left out */
    struct pf_sorter *times; /* of all samples with a time: thread, number, time, context */
    uint64_t n_times;
    struct pf_spans *spans;
};

static struct perf_script *state_of(const struct pf_profile *profile)
{
    return profile->state;
}

static int64_t integer(struct text word)
{
    int64_t value = 0;
    bool minus = size_of(word) && *word.at == '-';
    for (const char *at = word.at + minus; at < word.end; at++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *at - '0', &value))
            return 0;
    return minus ? -value : value;
}

static struct pf_cell cell_of(struct text word)
{
    return size_of(word) ? pf_int(integer(word)) : pf_absent();
}

/* A thread that has got another name is another. */
static int enter_thread(struct pf_profile *profile, const struct header *header, struct pf_error *error)
{
    struct perf_script *script = state_of(profile);
    char name[256 + 32];
    size_t comm = size_of(header->comm), tid = size_of(header->tid);
    comm = comm < 256 ? comm : 256;
    tid = tid < 31 ? tid : 31;
    memcpy(name, header->comm.at, comm);
    name[comm] = ' ';
    memcpy(name + comm + 1, header->tid.at, tid);
    struct pf_cell fields[] = {cell_of(header->pid), cell_of(header->tid), pf_text(header->comm.at, comm)};
    script->thread = pf_samples_partition(profile, name, comm + 1 + tid, fields, error);
    return script->thread == PF_NO_PARTITION ? -1 : 0;
}

/* Its period, in nanoseconds of a clock or in events; without one samples are counted. */
static int enter_event(struct pf_profile *profile, const struct header *header, struct pf_error *error)
{
    struct perf_script *script = state_of(profile);
    const char *colon = memchr(header->event.at, ':', size_of(header->event));
    size_t base = colon ? (size_t)(colon - header->event.at) : size_of(header->event);
    bool has_period = size_of(header->period);
    bool clock = (base == 9 && !memcmp(header->event.at, "cpu-clock", 9)) ||
                 (base == 10 && !memcmp(header->event.at, "task-clock", 10));
    uint64_t period = 0;
    for (const char *at = header->period.at; at < header->period.end; at++)
        if (__builtin_mul_overflow(period, 10, &period) ||
            __builtin_add_overflow(period, (unsigned)(*at - '0'), &period))
            period = UINT64_MAX;
    script->period = has_period ? pf_uint(period) : pf_int(1);
    script->metric = pf_samples_metric(profile, header->event.at, size_of(header->event),
                                       clock && has_period ? "ns" : "", error);
    return script->metric < 0 ? -1 : 0;
}

/* Seconds with digits behind the point, as nanoseconds. */
static bool take_time(struct text text, int64_t *time)
{
    const char *point = memchr(text.at, '.', size_of(text));
    *time = point ? integer((struct text){text.at, point}) : 0;
    for (int i = 1; i <= 9 && point; i++) {
        int digit = point + i < text.end ? point[i] - '0' : 0;
        if (__builtin_mul_overflow(*time, 10, time) || __builtin_add_overflow(*time, digit, time))
            return false;
    }
    return point;
}

/* The number of a file's name, which is mostly that of the frame before. */
static uint32_t dso_of(struct pf_profile *profile, struct text dso, struct pf_error *error)
{
    struct perf_script *script = state_of(profile);
    struct pf_cell last = pf_interned(profile->contexts->strings, script->dso);
    if (last.type != PF_TEXT || last.size != size_of(dso) || memcmp(last.text, dso.at, last.size) != 0)
        script->dso = pf_samples_string(profile, dso.at, size_of(dso), error);
    return script->dso;
}

/* The frame's number; PF_NO_STRING with *error filled. */
static uint32_t number_of(struct pf_profile *profile, const struct frame *frame, struct pf_error *error)
{
    bool module = frame->has_dso && !frame->inlined;
    struct pf_frame made = {.file = PF_NO_STRING, .module = PF_NO_STRING};
    made.name = pf_samples_string(profile, frame->symbol.at, size_of(frame->symbol), error);
    if (made.name != PF_NO_STRING && module)
        made.module = dso_of(profile, frame->dso, error);
    if (made.name == PF_NO_STRING || (module && made.module == PF_NO_STRING))
        return PF_NO_STRING;
    return pf_samples_frame(profile, &made, error);
}

static int add_frame(struct pf_profile *profile, const struct frame *frame, struct pf_error *error)
{
    struct perf_script *script = state_of(profile);
    if (pf_array_room(&script->frames, &script->frames_room, script->n_frames, sizeof *script->frames, error))
        return -1;
    uint32_t number = number_of(profile, frame, error);
    if (number == PF_NO_STRING)
        return -1;
    script->frames[script->n_frames++] = number;
    return 0;
}

/* Ends the sample at hand, if there is one. */
static int end_sample(struct pf_profile *profile, struct pf_error *error)
{
    static const char no_stack[] = "[no stack]";
    struct perf_script *script = state_of(profile);
    uint32_t context = PF_NO_CONTEXT;
    struct frame none = {.symbol = {no_stack, no_stack + sizeof no_stack - 1}};
    if (!script->open)
        return 0;
    if (!script->n_frames && add_frame(profile, &none, error))
        return -1;
    while (script->n_frames) {
        context = pf_samples_enter(profile, context, script->frames[--script->n_frames], error);
        if (context == PF_NO_CONTEXT)
            return -1;
    }
    script->open = false;
    uint64_t row[] = {script->thread, script->n_times++, (uint64_t)script->time, context};
    if (script->timed && pf_sorter_add(script->times, row, error))
        return -1;
    return pf_samples_add(profile, script->thread, context, 0, pf_int(1), error) ||
                   pf_samples_add(profile, script->thread, context, (uint32_t)script->metric, script->period,
                                  error)
               ? -1
               : 0;
}

static int begin_sample(struct pf_profile *profile, const struct header *header, struct pf_error *error)
{
    struct perf_script *script = state_of(profile);
    struct frame frame;
    if (end_sample(profile, error) || enter_thread(profile, header, error) ||
        enter_event(profile, header, error))
        return -1;
    script->open = true;
    script->timed = take_time(header->time, &script->time);
    return take_only_frame(header->rest, &frame) ? add_frame(profile, &frame, error) : 0;
}

static int read_line(struct pf_profile *profile, const struct pf_line *line, struct pf_error *error)
{
    struct perf_script *script = state_of(profile);
    struct text text = {line->text, line->text + line->size};
    struct header header;
    struct frame frame;
    enum kind kind = line->more || line->continued ? UNKNOWN : kind_of(text, &header, &frame);
    if (kind == NOTHING)
        return line->size && *line->text == '#' ? 0 : end_sample(profile, error);
    if (kind == HEADER)
        return begin_sample(profile, &header, error);
    if (kind == SOURCE_LINE && script->open)
        return 0;
    script->has_dsos |= kind == FRAME && frame.has_dso;
    if (kind == FRAME && script->open && (frame.has_dso || !script->has_dsos))
        return add_frame(profile, &frame, error);
    script->bad_end = line->offset + line->size;
    return pf_warn(profile, (int64_t)line->number, (int64_t)line->offset, "error",
                   kind == FRAME ? "bad-frame" : "bad-line", error, "%s: the line is left out",
                   kind == FRAME && script->open ? "a frame that does not tell its file, as others do"
                   : kind == FRAME               ? "a frame without a sample"
                                                 : "neither a sample nor a frame");
}

/* Samples of several threads stand among each other: trace.csv has them thread by thread, in the order of the file. */
static int list_times(struct pf_profile *profile, struct pf_error *error)
{
    struct perf_script *script = state_of(profile);
    const struct pf_tree *tree = profile->contexts;
    uint64_t threads = pf_rows_count(profile->partitions.items), thread = 0;
    const uint64_t *row;
    int more = pf_sorter_finish(script->times, error) ? -1 : 1;
    while (more > 0 && (more = pf_sorter_next(script->times, &row, error)) > 0) {
        for (; thread < row[0]; thread++)
            if (pf_spans_end_partition(script->spans, error))
                return -1;
        struct pf_span_row span = {
            .time = pf_time((int64_t)row[2]), .context = (uint32_t)row[3], .name = tree->name[row[3]]};
        if (pf_spans_add(script->spans, &span, error))
            return -1;
    }
    for (; thread < threads && more == 0; thread++)
        if (pf_spans_end_partition(script->spans, error))
            return -1;
    return more;
}

static int read_all(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct perf_script *script = state_of(profile);
    if (pf_samples_metric(profile, "samples", 7, "", error) < 0 ||
        pf_samples_lines(profile, pass, read_line, error) || end_sample(profile, error) ||
        list_times(profile, error))
        return -1;
    if (!script->bad_end || script->bad_end != pf_input_size(script->samples.input))
        return 0;
    return pf_warn(profile, 0, (int64_t)script->bad_end, "fatal", "cut-line", error,
                   "the file ends inside a line");
}

static int read_file(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct perf_script *script = state_of(profile);
    script->dso = PF_NO_STRING;
    script->times = pf_sorter_new(4, 2, profile->options->cache / 4);
    script->spans = pf_spans_new(profile->options->cache / 4);
    int failed = script->times && script->spans ? read_all(profile, pass, error) : pf_fail_memory(error);
    pf_sorter_free(script->times);
    script->times = NULL;
    return failed;
}

static void clear(struct pf_profile *profile)
{
    struct perf_script *script = state_of(profile);
    free(script->frames);
    pf_spans_free(script->spans);
}

/* What `perf script --header` tells of the machine, in lines `# hostname : vm`. */
static int open_file(struct pf_profile *profile, struct pf_error *error)
{
    static const char *const keys[][2] = {{"# hostname :", "Host"},       {"# cmdline :", "Command"},
                                          {"# captured on    :", "Date"}, {"# perf version :", "Perf"},
                                          {"# arch :", "Architecture"},   {"# cpudesc :", "Processor"}};
    char head[16 * 1024];
    ssize_t got = pf_input_read(state_of(profile)->samples.input, head, sizeof head, 0, error);
    const char *at = head, *end = head + (got > 0 ? got : 0);
    for (const char *newline; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1)
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            size_t size = strlen(keys[i][0]);
            if ((size_t)(newline - at) <= size || memcmp(at, keys[i][0], size) != 0)
                continue;
            struct text value = skip_blanks((struct text){at + size, newline});
            struct pf_cell cells[] = {pf_string(keys[i][1]), pf_text(value.at, size_of(value))};
            if (pf_rows_add(profile->info, cells, error))
                return -1;
        }
    return got < 0 ? -1 : 0;
}

static const struct pf_column thread_fields[] = {
    {"pid", PF_PLAIN, 0}, {"tid", PF_PLAIN, 0}, {"comm", PF_PLAIN, 0}};

static const struct pf_table tables[] = {PF_SPANS_TRACE(struct perf_script, spans, PF_PARTITIONED)};

static const struct pf_samples_format format = {.state = sizeof(struct perf_script),
                                                .fields = thread_fields,
                                                .n_fields = sizeof thread_fields / sizeof *thread_fields,
                                                .partitioned = true,
                                                .tables = tables,
                                                .n_tables = 1,
                                                .time_unit = "ns",
                                                .open = open_file,
                                                .read = read_file,
                                                .clear = clear};

const struct pf_driver pf_perf_script_driver = {.name = "perf-script",
                                                .title = "text of `perf script`",
                                                .version = 1,
                                                .kit = &format,
                                                .probe = probe,
                                                .open = pf_samples_open,
                                                .load = pf_samples_load,
                                                .close = pf_samples_close};
