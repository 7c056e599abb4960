/* SPDX-License-Identifier: MIT */
#include "formats/extrap/text.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/extrap/text_grammar.h"
#include "formats/kit/parse.h"

/* Files up to this size are read whole when they are opened; of larger ones, this much is. */
#define READ_ON_OPEN ((uint64_t)1 << 20)

/* ---- recognising -------------------------------------------------------------------------------- */

/* What the lines at the head of a file look like. */
struct look {
    unsigned words[PF_XTEXT_UNKNOWN + 1]; /* lines of each kind that also have what their keyword takes */
    unsigned good, bad;                   /* lines that are not blank */
    unsigned names;                       /* words after PARAMETER */
    bool keyword_first;                   /* the first of them is good and not indented */
};

/* A keyword alone proves little ("DATA is a word", as a sentence may begin): it must take what follows it. */
static bool takes_rest(const struct pf_xtext_split *split)
{
    const char *at = split->rest, *word;
    size_t size;
    double value;
    if (split->word == PF_XTEXT_UNKNOWN || !pf_xtext_next_word(&at, split->rest + split->size, &word, &size))
        return false;
    if (split->word == PF_XTEXT_DATA)
        return pf_parse_double(word, size, &value);
    if (split->word == PF_XTEXT_POINTS)
        return *word == '(' || pf_parse_double(word, size, &value);
    return true;
}

static unsigned count_words(const char *at, size_t size)
{
    const char *end = at + size, *word;
    unsigned count = 0;
    while (pf_xtext_next_word(&at, end, &word, &size))
        count++;
    return count;
}

static void look_at_line(struct look *look, const char *text, size_t size)
{
    struct pf_xtext_split split = pf_xtext_split(text, size);
    if (split.word == PF_XTEXT_BLANK)
        return;
    bool good = takes_rest(&split);
    if (!look->good && !look->bad)
        look->keyword_first = good && !split.indented;
    if (good)
        look->words[split.word]++;
    if (split.word == PF_XTEXT_PARAMETER)
        look->names += count_words(split.rest, split.size);
    look->good += good;
    look->bad += !good;
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
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline && !whole_file && look.good + look.bad)
            break;
        const char *after = newline ? newline : end;
        size_t length = (size_t)(after - at);
        look_at_line(&look, at, length && after[-1] == '\r' ? length - 1 : length);
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
    for (int word = PF_XTEXT_PARAMETER; word < PF_XTEXT_UNKNOWN; word++)
        kinds += look->words[word] != 0;
    if (!look->keyword_first || look->bad > look->good / 4)
        return 0;
    if (kinds == 1)
        return look->words[PF_XTEXT_PARAMETER] && !look->bad && look->names <= PF_PARAMETERS_MAX ? 8 : 0;
    return kinds == 2 ? 12 : 16;
}

static void text_probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    size_t have;
    if (probe->directory)
        return;
    const char *head = (const char *)pf_probe_head(probe, PF_HEAD_MAX, &have);
    if (!have)
        return;
    struct look look = look_at_head(head, have, have < PF_HEAD_MAX || probe->size <= have);
    verdict->confidence = confidence_of(&look);
    if (verdict->confidence && !look.words[PF_XTEXT_PARAMETER])
        snprintf(verdict->message, sizeof verdict->message, "no PARAMETER line at the head of the file");
}

/* ---- the profile -------------------------------------------------------------------------------- */

static int set_columns(struct pf_profile *profile, const struct pf_experiment *experiment,
                       struct pf_error *error)
{
    struct pf_xtext *text = profile->state;
    return pf_experiment_columns(&text->tables, experiment, profile, error);
}

/* The pass over the whole file. */
static int read_all(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_xtext *text = profile->state;
    struct pf_xtext_index *index = pf_xtext_index_new(text->input, pf_input_size(text->input), pass, error);
    if (!index)
        return -1;
    if (pf_experiment_publish(index->experiment, profile, error) < 0) {
        pf_xtext_index_free(index);
        return -1;
    }
    text->index = index;
    return set_columns(profile, index->experiment, error);
}

/* Of a big file, enough to name the columns of its tables: PARAMETER lines come first. */
static int read_head(struct pf_profile *profile, struct pf_error *error)
{
    struct pf_xtext *text = profile->state;
    struct pf_xtext_index *index = pf_xtext_index_new(text->input, READ_ON_OPEN, NULL, error);
    text->head = index ? pf_experiment_parameters_of(index->experiment, error) : NULL;
    pf_xtext_index_free(index);
    if (!text->head)
        return -1;
    return set_columns(profile, text->head, error);
}

static const struct pf_experiment_ops ops = {
    .values = &pf_xtext_values, .statistics = &pf_xtext_statistics, .cells = &pf_xtext_statistics};

static int text_open(struct pf_profile *profile, struct pf_error *error)
{
    struct pf_xtext *text = profile->state = calloc(1, sizeof *text);
    if (!text)
        return pf_fail_memory(error);
    if (pf_source_open(profile->source, NULL, &text->input, error) < 0)
        return -1;
    profile->partitions.singular = "point";
    profile->partitions.plural = "points";
    profile->partitions.fields_stage = PF_PARTITIONED;
    pf_experiment_declare(&text->tables, &ops, profile);
    bool small = pf_input_size(text->input) <= READ_ON_OPEN;
    profile->metrics_stage = small ? PF_OPENED : PF_MODELLED;
    if ((small ? read_all(profile, NULL, error) : read_head(profile, error)) < 0)
        return -1;
    return pf_experiment_info(profile, small ? text->index->experiment : text->head, error);
}

static int text_load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass,
                     struct pf_error *error)
{
    const struct pf_xtext *text = profile->state;
    if (stage != PF_PARTITIONED || text->index)
        return 0;
    return read_all(profile, pass, error);
}

static void text_close(struct pf_profile *profile)
{
    struct pf_xtext *text = profile->state;
    if (!text)
        return;
    pf_xtext_index_free(text->index);
    pf_experiment_free(text->head);
    pf_experiment_tables_free(&text->tables);
    free(text);
    profile->state = NULL;
}

const struct pf_driver pf_extrap_text_driver = {
    .name = "extrap-text",
    .title = "Extra-P text file",
    .version = 3,
    .directories = false,
    .probe = text_probe,
    .open = text_open,
    .load = text_load,
    .close = text_close,
};
