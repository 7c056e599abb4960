/* SPDX-License-Identifier: MIT */
/*
 * Extra-P text files. A line is a keyword, blanks, and what the keyword takes; a blank is a space or tab. METRIC and REGION
 * say which series the DATA lines behind them are of; line i of these belongs to point i.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/extrap/stored.h"
#include "formats/input/linereader.h"
#include "formats/kit/parse.h"

/* What is read of a line, and of a name in it. */
enum { LINE_MAX_BYTES = 64 << 20, NAME_MAX_BYTES = 64 * 1024 };

/* Extra-P's own limit. */
enum { READER_PARAMETERS = 4 };

/* ---- the grammar of a line ---------------------------------------------------------------------- */

enum word { BLANK, PARAMETER, POINTS, METRIC, REGION, DATA, UNKNOWN };

static const char *const keywords[] = {[PARAMETER] = "PARAMETER",
                                       [POINTS] = "POINTS",
                                       [METRIC] = "METRIC",
                                       [REGION] = "REGION",
                                       [DATA] = "DATA"};

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

static const char *skip_word(const char *at, const char *end)
{
    while (at < end && *at != ' ' && *at != '\t')
        at++;
    return at;
}

/* The next word from *at on; false if there is none. Moves *at behind it. */
static bool next_word(const char **at, const char *end, struct pf_cell *word)
{
    const char *start = skip_blanks(*at, end);
    *at = skip_word(start, end);
    *word = pf_text(start, (size_t)(*at - start));
    return *at > start;
}

/* The keyword; *rest is what follows it, or all for an unknown one. */
static enum word split(const char *text, const char *end, const char **rest)
{
    struct pf_cell first;
    *rest = text;
    if (!next_word(rest, end, &first) || *first.text == '#')
        return BLANK;
    for (enum word word = PARAMETER; word < UNKNOWN; word++)
        if (strlen(keywords[word]) == first.size && !memcmp(keywords[word], first.text, first.size))
            return word;
    *rest = first.text;
    return UNKNOWN;
}

/* ---- recognising -------------------------------------------------------------------------------- */

/* What the lines at the head of a file look like. */
struct look {
    unsigned words[UNKNOWN + 1]; /* lines of each kind that also have what their keyword takes */
    unsigned good, bad;          /* lines that are not blank */
    unsigned names;              /* words after PARAMETER */
    bool keyword_first;          /* the first of them is good and not indented */
};

static void look_at_line(struct look *look, const char *text, const char *end)
{
    const char *rest;
    struct pf_cell first, word;
    double value;
    enum word keyword = split(text, end, &rest);
    if (keyword == BLANK)
        return;
    /* A keyword alone proves little ("DATA is a word", as a sentence may begin): it must take what follows it. */
    bool number = next_word(&rest, end, &first) && pf_parse_double(first.text, first.size, &value);
    bool good = keyword != UNKNOWN && first.size &&
                (keyword == DATA ? number : keyword != POINTS || number || *first.text == '(');
    if (!look->good && !look->bad)
        look->keyword_first = good && *text != ' ' && *text != '\t';
    look->words[keyword] += good;
    look->good += good;
    look->bad += !good;
    look->names += keyword == PARAMETER && first.size;
    while (keyword == PARAMETER && next_word(&rest, end, &word))
        look->names++;
}

/*
 * Looks at the lines of the head; at one that the head cuts off only if it is the first, since a long list of
 * points may fill the head.
 */
static struct look look_at_head(const char *text, size_t size, bool whole_file)
{
    struct look look = {0};
    const char *at = text, *end = text + size;
    if (size >= 3 && !memcmp(at, "\xef\xbb\xbf", 3))
        at += 3;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *after = newline ? newline : end;
        if (!newline && !whole_file && look.good + look.bad)
            break;
        look_at_line(&look, at, after > at && after[-1] == '\r' ? after - 1 : after);
        at = newline ? newline + 1 : end;
    }
    return look;
}

/*
 * Prose may well begin with DATA or REGION: it takes two kinds of lines, and four good ones for each bad one.
 * Of a file that has only PARAMETER lines (a list of points fills the rest of the head, or the file was cut)
 * no line may be bad, and the names must not be as many as the words of a paragraph.
 */
static unsigned confidence_of(const struct look *look)
{
    unsigned kinds = 0;
    for (int word = PARAMETER; word < UNKNOWN; word++)
        kinds += look->words[word] != 0;
    if (!look->keyword_first || look->bad > look->good / 4)
        return 0;
    if (kinds == 1)
        return look->words[PARAMETER] && !look->bad && look->names <= PF_PARAMETERS_MAX ? 8 : 0;
    return kinds == 2 ? 12 : 16;
}

static void text_probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    size_t have;
    const char *head = (const char *)pf_probe_head(probe, PF_HEAD_MAX, &have);
    if (!have)
        return;
    struct look look = look_at_head(head, have, have < PF_HEAD_MAX || probe->size <= have);
    verdict->confidence = confidence_of(&look);
    if (verdict->confidence && !look.words[PARAMETER])
        snprintf(verdict->message, sizeof verdict->message, "no PARAMETER line at the head of the file");
}

/* ---- reading ------------------------------------------------------------------------------------ */

struct text {
    struct pf_study *study;
    struct pf_experiment *experiment;
    struct pf_line line;
    const char *end;          /* of it */
    uint32_t metric, context; /* as the last METRIC and REGION lines say; PF_NO_STRING, PF_NO_CONTEXT */
    uint32_t series;          /* of the DATA lines; PF_NO_SERIES: none yet */
    uint32_t lines;           /* DATA lines that belong to points */
    bool over;                /* more of these than points: further ones are passed over */

    unsigned depth; /* of open braces in a POINTS line */
    unsigned count; /* coordinates of the open point; more than PF_PARAMETERS_MAX are counted, not kept */
    bool broken;    /* one of them is no number */
    bool inner;     /* inner braces in this line */
    double coordinates[PF_PARAMETERS_MAX];
    char name[NAME_MAX_BYTES];
};

/* Notes a problem at a place in the line. */
static int note(struct text *text, enum pf_problem problem, const char *at, const char *what,
                struct pf_error *error)
{
    return pf_experiment_note(text->experiment, problem, text->line.number,
                              (int64_t)text->line.offset + (at - text->line.text), error, "%s", what);
}

/* The same about a word. */
static int note_word(struct text *text, enum pf_problem problem, const char *at, size_t size,
                     const char *what, struct pf_error *error)
{
    return pf_experiment_note(text->experiment, problem, text->line.number,
                              (int64_t)text->line.offset + (at - text->line.text), error, "%s: '%.*s'", what,
                              pf_experiment_clip(at, size), at);
}

/* ---- names -------------------------------------------------------------------------------------- */

static int add_parameters(struct text *text, const char *at, struct pf_error *error)
{
    struct pf_experiment *experiment = text->experiment;
    struct pf_cell name;
    if (experiment->n_points &&
        note(text, PF_ORDER, text->line.text, "PARAMETER after POINTS: earlier points lack this coordinate",
             error) < 0)
        return -1;
    while (next_word(&at, text->end, &name)) {
        unsigned before = pf_experiment_parameters(experiment);
        int added = pf_experiment_add_parameter(experiment, name.text, name.size, error);
        if (added < 0)
            return -1;
        if (added && before == READER_PARAMETERS &&
            note(text, PF_PARAMETER_COUNT, text->line.text,
                 "more than 4 parameters: Extra-P refuses the file", error) < 0)
            return -1;
        if (!added && before == PF_PARAMETERS_MAX)
            return note(text, PF_LIMIT, text->line.text, "more than 16 parameters, the rest are passed over",
                        error);
    }
    return 0;
}

/* METRIC and REGION: the name with each run of blanks as one, and none at its ends. Its size, or -1 with *error filled. */
static int64_t read_name(struct text *text, const char *at, enum word keyword, struct pf_error *error)
{
    struct pf_cell word;
    size_t used = 0;
    bool cut = text->line.more;
    while (!cut && next_word(&at, text->end, &word)) {
        size_t gap = used ? 1 : 0, room = sizeof text->name - used - gap;
        cut = word.size > room;
        text->name[used] = ' ';
        memcpy(text->name + used + gap, word.text, cut ? room : word.size);
        used += gap + (cut ? room : word.size);
    }
    if ((cut && note(text, PF_CUT_NAME, text->line.text, "the name is too long and cut", error) < 0) ||
        (!used &&
         pf_experiment_note(text->experiment, PF_CUT_NAME, text->line.number, (int64_t)text->line.offset,
                            error, "%s without a name", keywords[keyword]) < 0))
        return -1;
    return (int64_t)used;
}

/* Both begin a series. */
static int set_name(struct text *text, const char *at, enum word keyword, struct pf_error *error)
{
    int64_t size = read_name(text, at, keyword, error);
    if (size < 0)
        return -1;
    text->series = PF_NO_SERIES;
    text->lines = 0;
    text->over = false;
    if (keyword == METRIC) {
        text->metric = pf_experiment_metric(text->experiment, text->name, (size_t)size, error);
        return text->metric == PF_NO_STRING ? -1 : 0;
    }
    text->context = pf_experiment_callpath(text->experiment, text->name, (size_t)size, error);
    return text->context == PF_NO_CONTEXT ? -1 : 0;
}

/* ---- points ------------------------------------------------------------------------------------- */

/* Ends the open point. */
static int finish_point(struct text *text, const char *at, struct pf_error *error)
{
    struct pf_experiment *experiment = text->experiment;
    unsigned count = text->count, parameters = pf_experiment_parameters(experiment);
    bool broken = text->broken;
    size_t before = experiment->n_points;
    text->count = 0;
    text->broken = false;
    if (!count)
        return note(text, PF_BAD_POINT, at, "a point without coordinates, passed over", error);
    if (parameters && count != parameters &&
        pf_experiment_note(
            experiment, PF_POINT_SIZE, text->line.number, (int64_t)text->line.offset + (at - text->line.text),
            error, "a point with %u of %u coordinates: Extra-P refuses the file", count, parameters) < 0)
        return -1;
    if (pf_experiment_point(experiment, text->coordinates,
                            count < PF_PARAMETERS_MAX ? count : PF_PARAMETERS_MAX, broken,
                            error) == PF_NO_POINT)
        return -1;
    return experiment->n_points > before
               ? 0
               : note(text, PF_REPEATED_POINT, at,
                      "a point that is there already, passed over: its DATA lines have no point", error);
}

/* A number that is none makes a broken point, so that the DATA lines after it still meet their points. */
static int add_coordinate(struct text *text, const char *at, size_t size, struct pf_error *error)
{
    double value;
    if (!pf_parse_double(at, size, &value)) {
        value = (double)NAN;
        text->broken = true;
        if (note_word(text, PF_BAD_NUMBER, at, size, "a coordinate is not a number", error) < 0)
            return -1;
    }
    if (text->count < PF_PARAMETERS_MAX)
        text->coordinates[text->count] = value;
    text->count++;
    return text->depth ? 0 : finish_point(text, at, error);
}

static int add_brace(struct text *text, const char *at, struct pf_error *error)
{
    if (*at == ')' && !text->depth)
        return note(text, PF_BAD_POINT, at, "a brace is closed that was not opened", error);
    if (*at == ')')
        return --text->depth ? 0 : finish_point(text, at, error);
    if (++text->depth < 2 || text->inner)
        return 0;
    text->inner = true;
    return note(text, PF_INNER_BRACES, at, "braces inside a point's braces: Extra-P refuses the file", error);
}

/*
 * `1 2` are two points of one coordinate, `(1 2)` is one of two, and so is `((1) (2))`, which Extra-P's documentation
 * shows and Extra-P refuses.
 */
static int add_points(struct text *text, const char *at, struct pf_error *error)
{
    text->depth = text->count = 0;
    text->broken = text->inner = false;
    if (!pf_experiment_parameters(text->experiment) &&
        note(text, PF_ORDER, text->line.text, "POINTS before PARAMETER: the coordinates have no names",
             error) < 0)
        return -1;
    while ((at = skip_blanks(at, text->end)) < text->end) {
        const char *start = at++;
        bool brace = *start == '(' || *start == ')';
        while (!brace && at < text->end && !strchr(" \t()", *at))
            at++;
        if ((brace ? add_brace(text, start, error)
                   : add_coordinate(text, start, (size_t)(at - start), error)) < 0)
            return -1;
    }
    if (!text->depth)
        return 0;
    text->depth = 0;
    if (note(text, PF_BAD_POINT, at, "a brace is not closed", error) < 0)
        return -1;
    return text->count ? finish_point(text, at, error) : 0;
}

/* ---- data --------------------------------------------------------------------------------------- */

/* The series that the METRIC and REGION before belong to. */
static int begin_series(struct text *text, struct pf_error *error)
{
    struct pf_experiment *experiment = text->experiment;
    size_t before = experiment->n_series;
    if (text->metric == PF_NO_STRING &&
        (text->metric = pf_experiment_metric(experiment, "", 0, error)) == PF_NO_STRING)
        return -1;
    if (text->context == PF_NO_CONTEXT) {
        text->context = pf_experiment_callpath(experiment, "", 0, error);
        if (text->context == PF_NO_CONTEXT ||
            note(text, PF_NO_REGION, text->line.text,
                 "DATA before the first REGION: shown at a call path without a name, which Extra-P ignores",
                 error) < 0)
            return -1;
    }
    text->series = pf_experiment_series(experiment, text->context, text->metric, error);
    if (text->series == PF_NO_SERIES)
        return -1;
    if (experiment->n_series > before) {
        experiment->series[text->series].line = text->line.number;
        experiment->series[text->series].offset = (int64_t)text->line.offset;
    }
    return 0;
}

static int pass_over(struct text *text, struct pf_error *error)
{
    if (text->over)
        return 0;
    text->over = true;
    bool points = text->experiment->n_points;
    return note(text, points ? PF_DATA_TOO_MANY : PF_ORDER, text->line.text,
                points ? "more DATA lines than points, passed over up to the next REGION or METRIC"
                       : "DATA before POINTS, passed over up to the next REGION or METRIC",
                error);
}

static int add_data(struct text *text, const char *at, struct pf_error *error)
{
    struct pf_measured *measured = text->study->measured;
    struct pf_cell word;
    double value;
    if (text->over || text->lines >= text->experiment->n_points)
        return pass_over(text, error);
    if (text->series == PF_NO_SERIES && begin_series(text, error) < 0)
        return -1;
    if (pf_measured_begin(measured, text->series, text->lines++, true, error) < 0)
        return -1;
    const char *rest = skip_blanks(at, text->end);
    if (rest == text->end)
        return note(text, PF_DATA_WITHOUT_VALUES, text->line.text, "DATA without values", error);
    while (next_word(&at, text->end, &word)) {
        if (!pf_parse_double(word.text, word.size, &value))
            return note_word(text, PF_BAD_NUMBER, word.text, word.size,
                             "a value is not a number, the rest of the line is passed over", error);
        if (pf_measured_add(measured, value, error) < 0)
            return -1;
    }
    return 0;
}

/* ---- all lines ---------------------------------------------------------------------------------- */

static int add_line(struct text *text, struct pf_error *error)
{
    const char *rest, *start = text->line.text;
    text->end = start + text->line.size;
    enum word keyword = split(start, text->end, &rest);
    if (text->line.more &&
        note(text, PF_LIMIT, start, "the line is too long, its rest is passed over", error) < 0)
        return -1;
    if (text->end > start && (*start == ' ' || *start == '\t') && skip_blanks(start, text->end) < text->end &&
        note(text, PF_INDENTED, start, "an indented line: Extra-P refuses the file", error) < 0)
        return -1;
    switch (keyword) {
    case PARAMETER:
        return add_parameters(text, rest, error);
    case POINTS:
        return add_points(text, rest, error);
    case METRIC:
    case REGION:
        return set_name(text, rest, keyword, error);
    case DATA:
        return add_data(text, rest, error);
    case UNKNOWN:
        return pf_experiment_note(text->experiment, PF_NO_SUCH_WORD, text->line.number,
                                  (int64_t)text->line.offset, error,
                                  "no keyword of the format, the line is passed over: '%.*s'",
                                  pf_experiment_clip(rest, (size_t)(text->end - rest)), rest);
    case BLANK:
        break;
    }
    return 0;
}

/* Skips the byte order mark that some editors put before UTF-8. */
static int skip_mark(struct text *text, struct pf_input *input, struct pf_linereader *reader,
                     struct pf_error *error)
{
    char mark[3];
    ssize_t got = pf_input_read(input, mark, sizeof mark, 0, error);
    if (got < 3 || memcmp(mark, "\xef\xbb\xbf", 3) != 0)
        return got < 0 ? -1 : 0;
    pf_linereader_seek(reader, 3, 1);
    return pf_experiment_note(text->experiment, PF_MARK, 1, 0, error,
                              "a byte order mark before the first line: Extra-P refuses the file");
}

static int read_lines(struct text *text, struct pf_linereader *reader, uint64_t end, struct pf_pass *pass,
                      struct pf_error *error)
{
    const struct pf_line *line = &text->line;
    uint64_t next_step = 0;
    int got;
    while ((got = pf_linereader_whole(reader, LINE_MAX_BYTES, &text->line, error)) > 0 &&
           line->offset < end) {
        if (line->offset >= next_step && pf_pass_step(pass, line->offset, end, error) < 0)
            return -1;
        next_step = line->offset >= next_step ? line->offset + PF_STUDY_STEP : next_step;
        if (!line->continued && add_line(text, error) < 0)
            return -1;
    }
    return got < 0 ? -1 : 0;
}

static int read_file(struct pf_study *study, struct pf_input *input, uint64_t end, struct pf_pass *pass,
                     struct pf_error *error)
{
    struct pf_linereader *reader = pf_linereader_new(input);
    struct text *text = calloc(1, sizeof *text);
    int result = -1;
    if (!reader || !text) {
        pf_fail_memory(error);
    } else {
        text->study = study;
        text->experiment = study->experiment;
        text->metric = PF_NO_STRING;
        text->context = PF_NO_CONTEXT;
        text->series = PF_NO_SERIES;
        result = skip_mark(text, input, reader, error) < 0 ? -1 : read_lines(text, reader, end, pass, error);
    }
    free(text);
    pf_linereader_free(reader);
    return result;
}

static int text_open(struct pf_profile *profile, struct pf_error *error)
{
    return pf_stored_open(profile, read_file, PF_STUDY_HEAD, false, error);
}

const struct pf_driver pf_extrap_text_driver = {
    .name = "extrap-text",
    .title = "Extra-P text file",
    .version = 4,
    .probe = text_probe,
    .open = text_open,
    .load = pf_stored_load,
    .close = pf_stored_close,
};
