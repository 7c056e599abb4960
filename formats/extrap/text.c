/* SPDX-License-Identifier: MIT */
#include "formats/extrap/text.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/extrap/text_grammar.h"
#include "formats/parse.h"

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

/* An experiment with the parameters of another and nothing else. */
static struct pf_experiment *parameters_of(const struct pf_experiment *experiment, struct pf_error *error)
{
    struct pf_experiment *copy = pf_experiment_new();
    if (!copy) {
        pf_fail_memory(error);
        return NULL;
    }
    for (unsigned i = 0; i < pf_experiment_parameters(experiment); i++) {
        const char *name = pf_experiment_parameter(experiment, i);
        if (pf_experiment_add_parameter(copy, name, strlen(name), error) < 0) {
            pf_experiment_free(copy);
            return NULL;
        }
    }
    return copy;
}

static void set_tables(struct pf_profile *profile, const struct pf_experiment *experiment)
{
    struct pf_xtext *text = profile->state;
    pf_experiment_tables(experiment, &text->tables, &pf_xtext_values, &pf_xtext_statistics, profile);
}

/* True if the tables' columns are already as the experiment's parameters want them. */
static bool same_parameters(const struct pf_experiment *a, const struct pf_experiment *b)
{
    unsigned n = pf_experiment_parameters(a);
    if (n != pf_experiment_parameters(b))
        return false;
    for (unsigned i = 0; i < n; i++)
        if (strcmp(pf_experiment_parameter(a, i), pf_experiment_parameter(b, i)) != 0)
            return false;
    return true;
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
    if (!text->head || !same_parameters(text->head, index->experiment))
        set_tables(profile, index->experiment);
    return 0;
}

/* Of a big file, enough to name the columns of its tables: PARAMETER lines come first. */
static int read_head(struct pf_profile *profile, struct pf_error *error)
{
    struct pf_xtext *text = profile->state;
    struct pf_xtext_index *index = pf_xtext_index_new(text->input, READ_ON_OPEN, NULL, error);
    text->head = index ? parameters_of(index->experiment, error) : NULL;
    pf_xtext_index_free(index);
    if (!text->head)
        return -1;
    set_tables(profile, text->head);
    return 0;
}

/* Names of parameters hold no blanks. */
static int add_info(struct pf_profile *profile, const struct pf_experiment *experiment,
                    struct pf_error *error)
{
    char *names = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&names, &size);
    if (!out)
        return pf_fail_memory(error);
    for (unsigned i = 0; i < pf_experiment_parameters(experiment); i++)
        fprintf(out, "%s%s", i ? " " : "", pf_experiment_parameter(experiment, i));
    bool written = fclose(out) == 0;
    struct pf_cell cells[] = {pf_string("Parameters"), pf_text(written ? names : "", written ? size : 0)};
    int result = written ? pf_rows_add(profile->info, cells, error) : pf_fail_memory(error);
    free(names);
    return result;
}

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
    bool small = pf_input_size(text->input) <= READ_ON_OPEN;
    profile->metrics_stage = small ? PF_OPENED : PF_MODELLED;
    if ((small ? read_all(profile, NULL, error) : read_head(profile, error)) < 0)
        return -1;
    return add_info(profile, small ? text->index->experiment : text->head, error);
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
    free(text);
    profile->state = NULL;
}

const struct pf_driver pf_extrap_text_driver = {
    .name = "extrap-text",
    .title = "Extra-P text file",
    .version = 1,
    .directories = false,
    .probe = text_probe,
    .open = text_open,
    .load = text_load,
    .close = text_close,
};
