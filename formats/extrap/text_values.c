/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/extrap/text.h"
#include "formats/extrap/text_data.h"
#include "formats/kit/position.h"

/*
 * The table "values" in the order of the file: block by block, line by line, value by value. A block's record
 * tells whether it can hold a row at all; in it, lines of other points are skipped without being parsed.
 */
struct values {
    const struct pf_xtext_index *index;
    uint64_t size; /* of the file */
    struct pf_restriction only;
    unsigned parameters;
    uint32_t number; /* of the block; PF_NO_BLOCK: the end */
    struct pf_xtext_block block;
    const struct pf_series *series; /* of the block */
    uint64_t line;                  /* lines of the block that were begun */
    uint64_t value;                 /* values of the line that were served */
    struct pf_xtext_data data;
};

/* A saved position; in the byte order of the machine, as the whole cache is. */
struct position {
    uint64_t offset, line, value;
    uint32_t number, inside;
};

static bool block_matches(const struct values *values, const struct pf_xtext_block *block)
{
    const struct pf_restriction *only = &values->only;
    const struct pf_series *series = &values->index->experiment->series[block->series];
    return (only->context < 0 || series->context == only->context) &&
           (only->metric < 0 || series->metric == only->metric) &&
           (only->partition < 0 || (uint64_t)only->partition < block->lines);
}

static uint32_t block_after(const struct values *values, uint32_t number)
{
    if (values->only.context >= 0)
        return values->block.next_in_context;
    return number + 1 < values->index->n_blocks ? number + 1 : PF_NO_BLOCK;
}

/* Stands before the first matching block from `number` on. */
static int enter_block(struct values *values, uint32_t number, struct pf_error *error)
{
    while (number != PF_NO_BLOCK) {
        if (pf_xtext_block(values->index, number, &values->block, error) < 0)
            return -1;
        if (block_matches(values, &values->block))
            break;
        number = block_after(values, number);
    }
    values->number = number;
    values->line = values->value = 0;
    if (number == PF_NO_BLOCK)
        return 0;
    values->series = &values->index->experiment->series[values->block.series];
    return pf_xtext_data_seek(&values->data, values->block.offset, false, error);
}

static uint32_t first_block(const struct values *values)
{
    if (values->only.context >= 0)
        return values->only.context > UINT32_MAX
                   ? PF_NO_BLOCK
                   : pf_experiment_data_of(values->index->experiment, (uint32_t)values->only.context)->first;
    return values->index->n_blocks ? 0 : PF_NO_BLOCK;
}

static int values_open(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct pf_xtext *text = cursor->profile->state;
    struct values *values = cursor->state = calloc(1, sizeof *values);
    if (!values)
        return pf_fail_memory(error);
    values->index = text->index;
    values->size = pf_input_size(text->input);
    values->only = cursor->only;
    values->parameters = text->tables.parameters;
    if (pf_xtext_data_open(&values->data, text->input, error) < 0)
        return -1;
    return enter_block(values, first_block(values), error);
}

static void values_close(struct pf_cursor *cursor)
{
    struct values *values = cursor->state;
    if (values)
        pf_xtext_data_close(&values->data);
    free(values);
}

/* Goes on to the next line that can hold a row. 1; 0: the end of the table; -1: *error filled. */
static int next_line(struct values *values, struct pf_error *error)
{
    int64_t only = values->only.partition;
    while (values->number != PF_NO_BLOCK) {
        uint64_t wanted = only < 0 ? values->line : (uint64_t)only;
        if (wanted >= values->block.lines || wanted < values->line) {
            if (enter_block(values, block_after(values, values->number), error) < 0)
                return -1;
            continue;
        }
        int got;
        do {
            got = pf_xtext_data_line(&values->data, error);
            values->line++;
        } while (got > 0 && values->line <= wanted);
        values->value = 0;
        if (got < 0)
            return -1;
        if (!got) /* cannot be: the pass has counted these lines */
            values->number = PF_NO_BLOCK;
        return got;
    }
    return 0;
}

static int values_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct values *values = cursor->state;
    double value;
    int got;
    while (!(got = pf_xtext_data_value(&values->data, &value, error)))
        if ((got = next_line(values, error)) <= 0)
            return got;
    if (got > 0)
        pf_value_cells(cells, values->parameters, (uint32_t)(values->line - 1),
                       values->block.base + values->value++, values->series, value);
    return got;
}

static size_t values_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct values *values = cursor->state;
    struct position position = {.offset = pf_xtext_data_tell(&values->data),
                                .line = values->line,
                                .value = values->value,
                                .number = values->number,
                                .inside = values->data.inside};
    return pf_position_save(&position, sizeof position, blob, room);
}

/* False if no walk can come to this position. */
static bool position_fits(const struct values *values, const struct position *position,
                          const struct pf_xtext_block *block)
{
    return block_matches(values, block) && position->line <= block->lines && position->inside <= 1 &&
           (position->line || !position->inside) && position->offset >= block->offset &&
           position->offset <= values->size && position->value <= values->size;
}

static int values_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct values *values = cursor->state;
    struct position position;
    if (pf_position_restore(&position, sizeof position, blob, size, error))
        return -1;
    if (position.number == PF_NO_BLOCK) {
        values->number = PF_NO_BLOCK;
        values->data.inside = false;
        return 0;
    }
    struct pf_xtext_block block;
    if (position.number >= values->index->n_blocks)
        return pf_position_refuse(error);
    if (pf_xtext_block(values->index, position.number, &block, error) < 0)
        return -1;
    if (!position_fits(values, &position, &block))
        return pf_position_refuse(error);
    values->number = position.number;
    values->block = block;
    values->series = &values->index->experiment->series[block.series];
    values->line = position.line;
    values->value = position.value;
    return pf_xtext_data_seek(&values->data, position.offset, position.inside, error);
}

static double values_progress(const struct pf_cursor *cursor)
{
    const struct values *values = cursor->state;
    uint32_t blocks = values->index->n_blocks;
    return values->number < blocks ? (double)values->number / blocks : 1;
}

const struct pf_cursor_ops pf_xtext_values = {
    .open = values_open,
    .next = values_next,
    .save = values_save,
    .restore = values_restore,
    .close = values_close,
    .progress = values_progress,
};
