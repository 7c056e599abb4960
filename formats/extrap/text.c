/* SPDX-License-Identifier: MIT */
/*
 * Reader of Extra-P text files. A line consists of a keyword, blanks (spaces or tabs) and arguments. METRIC and REGION lines
 * determine the series of the DATA lines that follow. The i-th of these DATA lines belongs to point i.
 */
#include <stdio.h>
#include <stdlib.h>

#include "formats/extrap/stored.h"
#include "formats/input/linereader.h"
#include "formats/kit/number.h"
#include "formats/probe.h"

/* Maximum sizes of a line and of a name, in bytes. */
enum { LINE_MAX_BYTES = 64 << 20, NAME_MAX_BYTES = 64 * 1024 };

/* Maximum number of parameters that Extra-P accepts. */
enum { READER_PARAMETERS = 4 };

/* ---- the grammar of a line ---------------------------------------------------------------------- */

enum word { BLANK, PARAMETER, POINTS, METRIC, REGION, DATA, UNKNOWN };

static const char *const keywords[] = {[PARAMETER] = "PARAMETER",
                                       [POINTS] = "POINTS",
                                       [METRIC] = "METRIC",
                                       [REGION] = "REGION",
                                       [DATA] = "DATA"};

static const char *skip_line_blanks(const char *at, const char *end)
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

/* Reads the next word from *at on, and moves *at past it. Returns false if there is no further word. */
static bool next_word(const char **at, const char *end, struct pf_cell *word)
{
    const char *start = skip_line_blanks(*at, end);
    *at = skip_word(start, end);
    *word = pf_text(start, (size_t)(*at - start));
    return *at > start;
}

/*
 * Returns the keyword of a line. Sets *rest to the text after the keyword or, if the keyword is unknown, to the line's first
 * word. Empty lines, and lines whose first word begins with #, are BLANK.
 */
static enum word split_line(const char *text, const char *end, const char **rest)
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

/* Statistics of the lines in the head of a file. */
struct text_look {
    unsigned words[UNKNOWN + 1]; /* number of well-formed lines of each keyword */
    unsigned good, bad;          /* number of well-formed lines, and of other lines that are not blank */
    unsigned names;              /* number of words after PARAMETER */
    bool keyword_first;          /* the first non-blank line is well-formed and not indented */
};

static void examine_line(struct text_look *look, const char *text, const char *end)
{
    const char *rest;
    struct pf_cell first, word;
    double value;
    enum word keyword = split_line(text, end, &rest);
    if (keyword == BLANK)
        return;
    /* A keyword alone is weak evidence, since a sentence may begin with it. So its arguments must be valid too. */
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
 * Examines the lines in the head of a file; stops if the first non-blank line is bad. A line that the end of the head cuts
 * off counts only if it is the first, since a long list of points may fill the head.
 */
static struct text_look examine_head(const char *text, size_t size, bool whole_file)
{
    struct text_look look = {0};
    const char *at = text, *end = text + size;
    if (size >= 3 && !memcmp(at, "\xef\xbb\xbf", 3))
        at += 3;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *after = newline ? newline : end;
        bool begun = look.good + look.bad;
        if (begun && (!look.keyword_first || (!newline && !whole_file)))
            break;
        examine_line(&look, at, after > at && after[-1] == '\r' ? after - 1 : after);
        at = newline ? newline + 1 : end;
    }
    return look;
}

/*
 * Returns the confidence that a text is an Extra-P file. Prose may begin with DATA or REGION, so the head must have lines of
 * two keywords, and four well-formed lines for each bad one. A head with only PARAMETER lines (a list of points
 * fills the rest, or the file is truncated) must have no bad line, and fewer names than a paragraph has words.
 */
static unsigned confidence_of_text(const struct text_look *look)
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

static void text_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    size_t have;
    const char *head = (const char *)pf_probe_head(probe, PF_HEAD_MAX, &have);
    if (!have)
        return;
    struct text_look look = examine_head(head, have, have < PF_HEAD_MAX || probe->size <= have);
    result->confidence = confidence_of_text(&look);
    if (result->confidence && !look.words[PARAMETER])
        snprintf(result->message, sizeof result->message, "no PARAMETER line at the head of the file");
}

/* ---- reading ------------------------------------------------------------------------------------ */

struct extrap_text {
    struct pf_study *study;
    struct pf_line line;
    const char *end;          /* end of the line */
    uint32_t metric, context; /* of the last METRIC and REGION; PF_NO_STRING, PF_NO_CONTEXT: none yet */
    uint32_t series;          /* series of the DATA lines; PF_NO_SERIES: no DATA line yet */
    uint32_t lines;           /* number of the series' DATA lines so far */
    bool over;                /* there were more DATA lines than points, so further ones are skipped */

    unsigned depth;        /* number of open parentheses in a POINTS line */
    bool inner;            /* the line has nested parentheses */
    struct pf_point point; /* the point being read */
    char name[NAME_MAX_BYTES];
};

/* Notes a problem at a position in the line. */
static void note_at(struct extrap_text *text, struct pf_note_kind problem, const char *at, const char *what)
{
    pf_study_note(text->study, problem, text->line.number,
                  (int64_t)text->line.offset + (at - text->line.text), "%s", what);
}

/* Notes a problem with the word at a position in the line. */
static void note_word(struct extrap_text *text, struct pf_note_kind problem, const char *at, size_t size,
                      const char *what)
{
    pf_study_note(text->study, problem, text->line.number,
                  (int64_t)text->line.offset + (at - text->line.text), "%s: '%.*s'", what,
                  pf_study_clip(at, size), at);
}

/* ---- names -------------------------------------------------------------------------------------- */

static void add_parameters(struct extrap_text *text, const char *at)
{
    struct pf_study *study = text->study;
    const char *start = text->line.text;
    struct pf_cell name;
    if (pf_study_points(study))
        note_at(text, PF_ORDER, start, "PARAMETER after POINTS: earlier points lack this coordinate");
    while (next_word(&at, text->end, &name)) {
        unsigned before = pf_study_parameters(study);
        pf_study_parameter(study, name.text, name.size, text->line.number, (int64_t)text->line.offset);
        if (before == PF_PARAMETERS_MAX)
            return;
        if (before == READER_PARAMETERS && pf_study_parameters(study) > before)
            note_at(text, PF_PARAMETER_COUNT, start, "more than 4 parameters: Extra-P refuses the file");
    }
}

/*
 * Reads the name of a METRIC or REGION, and returns its size. Replaces each run of blanks by one space, and removes leading
 * and trailing blanks.
 */
static size_t read_text_name(struct extrap_text *text, const char *at, enum word keyword)
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
    if (cut)
        note_at(text, PF_CUT_NAME, text->line.text, "the name is too long and cut");
    if (!used)
        pf_study_note(text->study, PF_CUT_NAME, text->line.number, (int64_t)text->line.offset,
                      "%s without a name", keywords[keyword]);
    return used;
}

/* Handles METRIC and REGION. Each of them ends the current series. */
static void set_name(struct extrap_text *text, const char *at, enum word keyword)
{
    size_t size = read_text_name(text, at, keyword);
    text->series = PF_NO_SERIES;
    text->lines = 0;
    text->over = false;
    if (keyword == METRIC)
        text->metric = pf_study_metric(text->study, text->name, size);
    else
        text->context = pf_study_callpath(text->study, PF_NO_CONTEXT, text->name, size);
}

/* ---- points ------------------------------------------------------------------------------------- */

/* Adds the point being read, and begins the next one. */
static void finish_point(struct extrap_text *text, const char *at)
{
    const struct pf_point point = text->point;
    size_t before = pf_study_points(text->study);
    text->point = (struct pf_point){.count = 0};
    if (!point.count) {
        note_at(text, PF_BAD_POINT, at, "a point without coordinates: skipped");
        return;
    }
    pf_study_point_at(text->study, &point, text->line.number,
                      (int64_t)text->line.offset + (at - text->line.text));
    if (pf_study_points(text->study) == before)
        note_at(text, PF_REPEATED_POINT, at, "a repeated point: skipped, its DATA lines have no point");
}

/* Adds a coordinate. An invalid number makes the point broken but does not drop the point, so that later DATA lines match their points. */
static void add_text_coordinate(struct extrap_text *text, const char *at, size_t size)
{
    double value;
    bool good = pf_parse_double(at, size, &value);
    if (!good)
        note_word(text, PF_BAD_NUMBER, at, size, "a coordinate is not a number");
    pf_point_add(&text->point, good ? &value : NULL);
    if (!text->depth)
        finish_point(text, at);
}

static void add_brace(struct extrap_text *text, const char *at)
{
    if (*at == ')' && !text->depth) {
        note_at(text, PF_BAD_POINT, at, "a closing brace without an opening one");
    } else if (*at == ')') {
        if (!--text->depth)
            finish_point(text, at);
    } else if (++text->depth > 1 && !text->inner) {
        text->inner = true;
        note_at(text, PF_INNER_BRACES, at, "braces inside a point's braces: Extra-P refuses the file");
    }
}

/*
 * Handles POINTS. `1 2` are two points of one coordinate. `(1 2)` is one point of two coordinates. So is `((1) (2))`, which
 * Extra-P rejects although its documentation shows it.
 */
static void add_points(struct extrap_text *text, const char *at)
{
    text->depth = 0;
    text->inner = false;
    text->point = (struct pf_point){.count = 0};
    if (!pf_study_parameters(text->study))
        note_at(text, PF_ORDER, text->line.text, "POINTS before PARAMETER: the coordinates have no names");
    while ((at = skip_line_blanks(at, text->end)) < text->end) {
        const char *start = at++;
        bool brace = *start == '(' || *start == ')';
        while (!brace && at < text->end && !memchr(" \t()", *at, 4))
            at++;
        if (brace)
            add_brace(text, start);
        else
            add_text_coordinate(text, start, (size_t)(at - start));
    }
    if (!text->depth)
        return;
    text->depth = 0;
    note_at(text, PF_BAD_POINT, at, "a brace is not closed");
    if (text->point.count)
        finish_point(text, at);
}

/* ---- data --------------------------------------------------------------------------------------- */

/* Begins the series of the current METRIC and REGION. */
static void begin_series(struct extrap_text *text)
{
    if (text->metric == PF_NO_STRING)
        text->metric = pf_study_metric(text->study, "", 0);
    if (text->context == PF_NO_CONTEXT) {
        text->context = pf_study_callpath(text->study, PF_NO_CONTEXT, "", 0);
        note_at(text, PF_NO_REGION, text->line.text,
                "DATA before the first REGION: shown at a call path without a name, which Extra-P ignores");
    }
    text->series = pf_study_series(text->study, text->context, text->metric, false, text->line.number,
                                   (int64_t)text->line.offset);
}

static void skip_data_line(struct extrap_text *text)
{
    bool points = pf_study_points(text->study);
    if (!text->over)
        note_at(text, points ? PF_DATA_TOO_MANY : PF_ORDER, text->line.text,
                points ? "more DATA lines than points: skipped up to the next REGION or METRIC"
                       : "DATA before POINTS: skipped up to the next REGION or METRIC");
    text->over = true;
}

static void add_data(struct extrap_text *text, const char *at)
{
    struct pf_cell word;
    double value;
    if (text->over || text->lines >= pf_study_points(text->study)) {
        skip_data_line(text);
        return;
    }
    if (text->series == PF_NO_SERIES)
        begin_series(text);
    pf_study_begin(text->study, text->series, text->lines++, true);
    if (skip_line_blanks(at, text->end) == text->end)
        note_at(text, PF_DATA_WITHOUT_VALUES, text->line.text, "DATA without values");
    while (next_word(&at, text->end, &word)) {
        if (!pf_parse_double(word.text, word.size, &value)) {
            note_word(text, PF_BAD_NUMBER, word.text, word.size,
                      "a value is not a number: the rest of the line is skipped");
            return;
        }
        pf_study_add(text->study, value);
    }
}

/* ---- all lines ---------------------------------------------------------------------------------- */

static void add_text_line(struct extrap_text *text)
{
    const char *rest, *start = text->line.text;
    text->end = start + text->line.size;
    enum word keyword = split_line(start, text->end, &rest);
    if (text->line.more)
        note_at(text, PF_LIMIT, start, "the line is too long: its rest is skipped");
    if (text->end > start && (*start == ' ' || *start == '\t') &&
        skip_line_blanks(start, text->end) < text->end)
        note_at(text, PF_INDENTED, start, "an indented line: Extra-P refuses the file");
    if (keyword == DATA)
        add_data(text, rest);
    else if (keyword == METRIC || keyword == REGION)
        set_name(text, rest, keyword);
    else if (keyword == POINTS)
        add_points(text, rest);
    else if (keyword == PARAMETER)
        add_parameters(text, rest);
    else if (keyword == UNKNOWN)
        pf_study_note(text->study, PF_NO_SUCH_WORD, text->line.number, (int64_t)text->line.offset,
                      "unknown keyword, the line is skipped: '%.*s'",
                      pf_study_clip(rest, (size_t)(text->end - rest)), rest);
}

/* Skips a UTF-8 byte order mark, with a note, if the file begins with one. */
static void skip_text_mark(struct pf_study *study, struct pf_linereader *reader)
{
    char mark[3];
    if (pf_run_read(study->run, study->input, mark, sizeof mark, 0) < 3 ||
        memcmp(mark, PF_BYTE_ORDER_MARK, 3) != 0)
        return;
    pf_linereader_seek(reader, 3, 1);
    pf_study_note(study, PF_MARK, 1, 0, "a byte order mark before the first line: Extra-P refuses the file");
}

static void read_text_form(struct pf_study *study)
{
    struct pf_run *run = study->run;
    struct pf_linereader *reader = PF_OWN(run, pf_linereader_new(study->input), pf_linereader_free);
    struct extrap_text *text = PF_OWN(run, calloc(1, sizeof *text), free);
    struct pf_line *line = &text->line;
    text->study = study;
    text->metric = PF_NO_STRING;
    text->context = PF_NO_CONTEXT;
    text->series = PF_NO_SERIES;
    skip_text_mark(study, reader);
    while (pf_run_check(run, pf_linereader_whole(reader, LINE_MAX_BYTES, line, run->error)) &&
           line->offset < study->end) {
        pf_study_step(study, line->offset);
        if (!line->continued)
            add_text_line(text);
    }
}

const struct pf_driver pf_extrap_text_driver = {
    .name = "extrap-text",
    .title = "Extra-P text file",
    .version = 9,
    .text = true,
    .probe = text_probe,
    .kit = &(const struct pf_study_format){read_text_form, PF_STUDY_HEAD, false},
    PF_STUDY_OPERATIONS,
};
