/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/extrap/text.h"
#include "formats/extrap/text_grammar.h"
#include "formats/extrap/text_points.h"
#include "formats/input/linereader.h"

/* Bytes of blocks held in memory before they spill: more than a million blocks. */
#define BLOCKS_HELD ((uint64_t)64 << 20)

/* Names of metrics and call paths are cut here; the reader's window is larger. */
enum { NAME_MAX_BYTES = 64 * 1024 };

/* How often to say how far the pass is. */
#define STEP_BYTES ((uint64_t)1 << 20)

/* Extra-P's own limit. */
enum { READER_PARAMETERS = 4 };

struct indexer {
    struct pf_xtext_index *index;
    struct pf_experiment *experiment; /* index->experiment */
    enum pf_xtext_word word;          /* of the line that the pieces belong to */
    struct pf_xtext_points points;
    uint32_t metric, context; /* as the last METRIC and REGION lines say; PF_NO_STRING, PF_NO_CONTEXT */

    struct pf_xtext_block block; /* being read; lines == 0: none yet */
    uint64_t longest;            /* values in its longest line */
    bool over;                   /* more DATA lines than points: further ones are passed over */

    uint64_t values;  /* of the DATA line being read */
    bool bad;         /* a word of it is no number: the rest is passed over */
    bool passed_over; /* the line has no point */
    char name[NAME_MAX_BYTES];
};

static int note(struct indexer *indexer, enum pf_problem problem, const struct pf_line *line,
                const char *text, struct pf_error *error)
{
    return pf_experiment_note(indexer->experiment, problem, line->number, (int64_t)line->offset, error, "%s",
                              text);
}

/* ---- blocks ------------------------------------------------------------------------------------- */

int pf_xtext_block(const struct pf_xtext_index *index, uint32_t i, struct pf_xtext_block *block,
                   struct pf_error *error)
{
    return pf_store_read(index->blocks, i * (uint64_t)sizeof *block, block, sizeof *block, error);
}

/* Makes block `from` point to the block that is about to be added. */
static int link_block(struct pf_xtext_index *index, uint32_t from, size_t member, struct pf_error *error)
{
    uint32_t to = index->n_blocks;
    return pf_store_write(index->blocks, from * (uint64_t)sizeof(struct pf_xtext_block) + member, &to,
                          sizeof to, error);
}

/* Adds the block that has been read to the index. */
static int finish_block(struct indexer *indexer, struct pf_error *error)
{
    struct pf_xtext_block *block = &indexer->block;
    struct pf_experiment *experiment = indexer->experiment;
    struct pf_xtext_index *index = indexer->index;
    indexer->over = false;
    if (!block->lines)
        return 0;
    struct pf_series *series = &experiment->series[block->series];
    struct pf_context_data *data = &experiment->by_context[series->context];
    block->base = series->repetitions;
    block->next_in_series = block->next_in_context = PF_NO_BLOCK;
    if (series->last == PF_NO_BLOCK)
        series->first = index->n_blocks;
    else if (link_block(index, series->last, offsetof(struct pf_xtext_block, next_in_series), error) < 0 ||
             pf_experiment_note_series(experiment, PF_REPEATED_SERIES, block->series, block->line,
                                       (int64_t)block->offset, error,
                                       "further data, served as further repetitions") < 0)
        return -1;
    if (data->last == PF_NO_BLOCK)
        data->first = index->n_blocks;
    else if (link_block(index, data->last, offsetof(struct pf_xtext_block, next_in_context), error) < 0)
        return -1;
    if (pf_store_append(index->blocks, block, sizeof *block, error) < 0)
        return -1;
    series->repetitions += indexer->longest;
    series->last = data->last = index->n_blocks++;
    block->lines = 0;
    indexer->longest = 0;
    return 0;
}

/* The current series, as the next block's. */
static int start_block(struct indexer *indexer, const struct pf_line *line, struct pf_error *error)
{
    struct pf_experiment *experiment = indexer->experiment;
    if (indexer->metric == PF_NO_STRING) {
        indexer->metric = pf_experiment_metric(experiment, "", 0, error);
        if (indexer->metric == PF_NO_STRING)
            return -1;
    }
    if (indexer->context == PF_NO_CONTEXT) {
        indexer->context = pf_experiment_callpath(experiment, "", 0, error);
        if (indexer->context == PF_NO_CONTEXT ||
            note(indexer, PF_NO_REGION, line,
                 "DATA before the first REGION: shown at a call path without a name, which Extra-P ignores",
                 error) < 0)
            return -1;
    }
    uint32_t series = pf_experiment_series(experiment, indexer->context, indexer->metric, error);
    if (series == PF_NO_SERIES)
        return -1;
    indexer->block = (struct pf_xtext_block){.offset = line->offset, .line = line->number, .series = series};
    return 0;
}

/* ---- lines -------------------------------------------------------------------------------------- */

static int start_data(struct indexer *indexer, const struct pf_line *line, struct pf_error *error)
{
    indexer->values = 0;
    indexer->bad = false;
    indexer->passed_over = indexer->over || indexer->block.lines >= indexer->experiment->n_points ||
                           indexer->index->n_blocks == PF_NO_BLOCK - 1;
    if (!indexer->passed_over)
        return indexer->block.lines ? 0 : start_block(indexer, line, error);
    if (indexer->over)
        return 0;
    indexer->over = true;
    if (!indexer->experiment->n_points)
        return note(indexer, PF_ORDER, line,
                    "DATA before POINTS, passed over up to the next REGION or METRIC", error);
    if (indexer->block.lines < indexer->experiment->n_points)
        return note(indexer, PF_LIMIT, line,
                    "more blocks of data than can be told apart: the rest is ignored", error);
    return note(indexer, PF_DATA_TOO_MANY, line,
                "more DATA lines than points, passed over up to the next REGION or METRIC", error);
}

static int note_bad_value(struct indexer *indexer, const struct pf_line *line, const char *at,
                          const char *end, struct pf_error *error)
{
    const char *word;
    size_t size;
    pf_xtext_next_word(&at, end, &word, &size);
    int64_t offset = (int64_t)(line->offset + (uint64_t)(word - line->text));
    indexer->bad = true;
    return pf_experiment_note(indexer->experiment, PF_BAD_NUMBER, line->number, offset, error,
                              "a value is not a number, the rest of the line is passed over: '%.*s'",
                              pf_experiment_clip(word, size), word);
}

static int add_data(struct indexer *indexer, const struct pf_line *line, const char *text, size_t size,
                    struct pf_error *error)
{
    if (indexer->passed_over)
        return 0;
    const char *end = text + size, *bad = NULL;
    if (!indexer->bad) {
        if (line->more && size && !pf_xtext_is_blank(end[-1]))
            bad = text; /* a word longer than the window */
        else
            indexer->values += pf_xtext_count_values(text, end, &bad);
        if (bad && note_bad_value(indexer, line, bad, end, error) < 0)
            return -1;
    }
    if (line->more)
        return 0;
    indexer->block.lines++;
    if (indexer->values > indexer->longest)
        indexer->longest = indexer->values;
    if (!indexer->values && !indexer->bad)
        return note(indexer, PF_DATA_WITHOUT_VALUES, line, "DATA without values", error);
    return 0;
}

static int start_points(struct indexer *indexer, const struct pf_line *line, struct pf_error *error)
{
    pf_xtext_points_start(&indexer->points);
    unsigned parameters = pf_experiment_parameters(indexer->experiment);
    if (!parameters)
        return note(indexer, PF_ORDER, line, "POINTS before PARAMETER: the coordinates have no names", error);
    return 0;
}

static int add_parameters(struct indexer *indexer, const struct pf_line *line, const char *text, size_t size,
                          struct pf_error *error)
{
    const char *at = text, *end = text + size, *name;
    size_t length;
    while (pf_xtext_next_word(&at, end, &name, &length)) {
        unsigned before = pf_experiment_parameters(indexer->experiment);
        int added = pf_experiment_add_parameter(indexer->experiment, name, length, error);
        if (added < 0)
            return -1;
        if (added && before == READER_PARAMETERS &&
            note(indexer, PF_PARAMETER_COUNT, line, "more than 4 parameters: Extra-P refuses the file",
                 error) < 0)
            return -1;
        if (!added && before == PF_PARAMETERS_MAX)
            return note(indexer, PF_LIMIT, line, "more than 16 parameters, the rest are passed over", error);
    }
    return 0;
}

static int start_parameters(struct indexer *indexer, const struct pf_line *line, struct pf_error *error)
{
    if (!indexer->experiment->n_points)
        return 0;
    return note(indexer, PF_ORDER, line, "PARAMETER after POINTS: earlier points lack this coordinate",
                error);
}

/* METRIC and REGION: the name, blanks made one, in indexer->name; its size, or -1 with *error filled. */
static int64_t read_name(struct indexer *indexer, const struct pf_line *line, const char *text, size_t size,
                         struct pf_error *error)
{
    bool cut;
    size_t used = pf_xtext_name(text, size, indexer->name, sizeof indexer->name, &cut);
    if ((cut || line->more) && note(indexer, PF_CUT_NAME, line, "the name is too long and cut", error) < 0)
        return -1;
    if (!used && pf_experiment_note(indexer->experiment, PF_CUT_NAME, line->number, (int64_t)line->offset,
                                    error, "%s without a name", pf_xtext_keyword(indexer->word)) < 0)
        return -1;
    return (int64_t)used;
}

static int set_metric(struct indexer *indexer, const struct pf_line *line, const char *text, size_t size,
                      struct pf_error *error)
{
    int64_t used = read_name(indexer, line, text, size, error);
    if (used < 0 || finish_block(indexer, error) < 0)
        return -1;
    indexer->metric = pf_experiment_metric(indexer->experiment, indexer->name, (size_t)used, error);
    return indexer->metric == PF_NO_STRING ? -1 : 0;
}

static int set_region(struct indexer *indexer, const struct pf_line *line, const char *text, size_t size,
                      struct pf_error *error)
{
    int64_t used = read_name(indexer, line, text, size, error);
    if (used < 0 || finish_block(indexer, error) < 0)
        return -1;
    indexer->context = pf_experiment_callpath(indexer->experiment, indexer->name, (size_t)used, error);
    return indexer->context == PF_NO_CONTEXT ? -1 : 0;
}

static int note_unknown(struct indexer *indexer, const struct pf_line *line, const char *text, size_t size,
                        struct pf_error *error)
{
    return pf_experiment_note(indexer->experiment, PF_NO_SUCH_WORD, line->number, (int64_t)line->offset,
                              error, "no keyword of the format, the line is passed over: '%.*s'",
                              pf_experiment_clip(text, size), text);
}

/* What the first piece of a line does before its rest is read. */
static int start_line(struct indexer *indexer, const struct pf_line *line, const struct pf_xtext_split *split,
                      struct pf_error *error)
{
    indexer->word = split->word;
    if (split->indented &&
        note(indexer, PF_INDENTED, line, "an indented line: Extra-P refuses the file", error) < 0)
        return -1;
    switch (split->word) {
    case PF_XTEXT_DATA:
        return start_data(indexer, line, error);
    case PF_XTEXT_POINTS:
        return start_points(indexer, line, error);
    case PF_XTEXT_PARAMETER:
        return start_parameters(indexer, line, error);
    case PF_XTEXT_METRIC:
        return set_metric(indexer, line, split->rest, split->size, error);
    case PF_XTEXT_REGION:
        return set_region(indexer, line, split->rest, split->size, error);
    case PF_XTEXT_UNKNOWN:
        return note_unknown(indexer, line, split->rest, split->size, error);
    case PF_XTEXT_BLANK:
        break;
    }
    return 0;
}

static int add_line(struct indexer *indexer, const struct pf_line *line, struct pf_error *error)
{
    struct pf_xtext_split split = {.rest = line->text, .size = line->size};
    if (!line->continued) {
        split = pf_xtext_split(line->text, line->size);
        if (start_line(indexer, line, &split, error) < 0)
            return -1;
    }
    switch (indexer->word) {
    case PF_XTEXT_DATA:
        return add_data(indexer, line, split.rest, split.size, error);
    case PF_XTEXT_POINTS:
        return pf_xtext_points_add(&indexer->points, indexer->experiment, line, split.rest, split.size,
                                   error);
    case PF_XTEXT_PARAMETER:
        return add_parameters(indexer, line, split.rest, split.size, error);
    default:
        return 0;
    }
}

/* ---- the pass ----------------------------------------------------------------------------------- */

/* Notes every block that has fewer lines than there are points, now that all points are known. */
static int note_gaps(struct indexer *indexer, struct pf_error *error)
{
    struct pf_experiment *experiment = indexer->experiment;
    for (uint32_t i = 0; i < indexer->index->n_blocks; i++) {
        struct pf_xtext_block block;
        if (pf_xtext_block(indexer->index, i, &block, error) < 0)
            return -1;
        if (block.lines == experiment->n_points)
            continue;
        if (pf_experiment_note_series(experiment, PF_INCOMPLETE_SERIES, block.series, block.line,
                                      (int64_t)block.offset, error, "data for %ju of %zu points",
                                      (uintmax_t)block.lines, experiment->n_points) < 0)
            return -1;
    }
    return 0;
}

static int note_nothing(struct indexer *indexer, struct pf_error *error)
{
    struct pf_experiment *experiment = indexer->experiment;
    const char *missing = !pf_experiment_parameters(experiment) ? "parameters"
                          : !experiment->n_points               ? "points"
                          : !indexer->index->n_blocks           ? "values"
                                                                : NULL;
    if (!missing)
        return 0;
    return pf_experiment_note(experiment, PF_NOTHING, 0, -1, error, "the file has no %s", missing);
}

static int run(struct indexer *indexer, struct pf_linereader *reader, uint64_t end, struct pf_pass *pass,
               struct pf_error *error)
{
    struct pf_line line;
    uint64_t next_step = 0;
    int got;
    while ((got = pf_linereader_next(reader, &line, error)) > 0 && line.offset < end) {
        if (line.offset >= next_step) {
            next_step = line.offset + STEP_BYTES;
            if (pf_pass_step(pass, line.offset, end, error) < 0)
                return -1;
        }
        if (add_line(indexer, &line, error) < 0)
            return -1;
    }
    if (got < 0 || finish_block(indexer, error) < 0 || note_gaps(indexer, error) < 0)
        return -1;
    return note_nothing(indexer, error);
}

/* Skips the byte order mark that some editors put before UTF-8. */
static int skip_mark(struct pf_input *input, struct pf_linereader *reader, struct pf_experiment *experiment,
                     struct pf_error *error)
{
    char mark[3];
    ssize_t got = pf_input_read(input, mark, sizeof mark, 0, error);
    if (got < 0)
        return -1;
    if (got < 3 || memcmp(mark, "\xef\xbb\xbf", 3) != 0)
        return 0;
    pf_linereader_seek(reader, 3, 1);
    return pf_experiment_note(experiment, PF_MARK, 1, 0, error,
                              "a byte order mark before the first line: Extra-P refuses the file");
}

static struct pf_xtext_index *index_alloc(void)
{
    struct pf_xtext_index *index = calloc(1, sizeof *index);
    if (!index)
        return NULL;
    index->experiment = pf_experiment_new();
    index->blocks = pf_store_new(BLOCKS_HELD);
    if (index->experiment && index->blocks)
        return index;
    pf_xtext_index_free(index);
    return NULL;
}

void pf_xtext_index_free(struct pf_xtext_index *index)
{
    if (!index)
        return;
    pf_experiment_free(index->experiment);
    pf_store_free(index->blocks);
    free(index);
}

struct pf_xtext_index *pf_xtext_index_new(struct pf_input *input, uint64_t end, struct pf_pass *pass,
                                          struct pf_error *error)
{
    struct pf_xtext_index *index = index_alloc();
    struct pf_linereader *reader = pf_linereader_new(input);
    struct indexer *indexer = calloc(1, sizeof *indexer);
    int result = -1;
    if (!index || !reader || !indexer) {
        pf_fail_memory(error);
    } else {
        indexer->index = index;
        indexer->experiment = index->experiment;
        indexer->metric = PF_NO_STRING;
        indexer->context = PF_NO_CONTEXT;
        result = skip_mark(input, reader, index->experiment, error) < 0
                     ? -1
                     : run(indexer, reader, end, pass, error);
    }
    free(indexer);
    pf_linereader_free(reader);
    if (!result)
        return index;
    pf_xtext_index_free(index);
    return NULL;
}
