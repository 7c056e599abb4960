/* SPDX-License-Identifier: MIT */
#include "fs/sums/export.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/print.h"
#include "formats/kit/table.h"
#include "formats/kit/utf8.h"
#include "fs/text/table.h"

enum trace_format { SPANS, CALLS, SAMPLES };
enum trace_stage { HEAD, THREADS, ROWS, TAIL, OVER };

/* The state of the walk, except for the stack and the table's cursor. */
struct trace_position {
    uint32_t stage, thread; /* thread: in stage THREADS, the next one; in ROWS, that of the last row */
    uint32_t open, depth;   /* open: a sample is open (SAMPLES); depth: number of open calls (CALLS) */
};

struct trace_walk {
    struct pf_walk base;
    struct pf_model *model;
    const struct pf_table *table;
    const struct pf_cursor_ops *ops;
    struct pf_cursor cursor;
    struct pf_cell *cells;
    enum trace_format kind;
    int partition, time, duration, event, function, context, name; /* columns; -1: absent */
    int64_t ns;                                                    /* per unit of the table's times */
    struct trace_position at;
    uint64_t *stack; /* identities (see call_of) of the open calls, outermost first */
    size_t stack_room;
};

/* ---- text --------------------------------------------------------------------------------------- */

/* Appends a JSON string in quotes. Bytes that are not valid UTF-8 become \xHH. */
static void add_json_string(struct pf_buf *out, struct pf_cell text)
{
    pf_buf_char(out, '"');
    for (size_t i = 0, n, wrong; i < text.size; i += n) {
        unsigned char byte = (unsigned char)text.text[i];
        n = pf_utf8((const unsigned char *)text.text + i, text.size - i, &wrong);
        if (!n)
            pf_buf_printf(out, "\\\\x%02X", byte);
        else if (byte < 0x20)
            pf_buf_printf(out, "\\u%04x", byte);
        else {
            if (byte == '"' || byte == '\\')
                pf_buf_char(out, '\\');
            pf_buf_add(out, text.text + i, n);
        }
        n = n ? n : 1;
    }
    pf_buf_char(out, '"');
}

/* Returns `cell` plus `after` (NULL: 0) in nanoseconds. The sum is rounded, not its parts, so that the end of an event and
 * an equal start of the next event remain equal. */
static pf_int128 event_ns(const struct trace_walk *walk, const struct pf_cell *cell,
                          const struct pf_cell *after)
{
    if (cell->type == PF_DOUBLE || (after && after->type == PF_DOUBLE)) {
        double value = cell->type == PF_DOUBLE ? cell->d : (double)cell->i;
        double more = !after ? 0 : after->type == PF_DOUBLE ? after->d : (double)after->i;
        value = round((value + more) * (double)walk->ns);
        return fabs(value) < 0x1p100 ? (pf_int128)value : 0;
    }
    pf_int128 value = cell->type == PF_WIDE   ? *cell->wide
                      : cell->type == PF_UINT ? (pf_int128)cell->u
                                              : cell->i;
    return (value + (after ? after->i : 0)) * walk->ns;
}

/* Appends microseconds with three decimals. */
static void add_microseconds(struct pf_buf *out, pf_int128 ns)
{
    char digits[PF_NUMBER_MAX];
    if (ns < 0) {
        pf_buf_char(out, '-');
        ns = -ns;
    }
    pf_buf_add(out, digits, (size_t)(pf_print_wide(digits, ns / 1000) - digits));
    pf_buf_printf(out, ".%03d", (int)(ns % 1000));
}

static void add_trace_event(const struct trace_walk *walk, struct pf_buf *out, char phase)
{
    pf_buf_printf(out, ",\n{\"ph\":\"%c\",\"pid\":1,\"tid\":%u,\"ts\":", phase, walk->at.thread + 1);
    add_microseconds(out, event_ns(walk, &walk->cells[walk->time], NULL));
}

static struct pf_cell event_name(const struct trace_walk *walk)
{
    const struct pf_tree *tree = walk->model->contexts;
    if (walk->name >= 0 && walk->table->columns[walk->name].role != PF_CONTEXT_NAME)
        return walk->cells[walk->name];
    const struct pf_cell *context = walk->context >= 0 ? &walk->cells[walk->context] : NULL;
    bool known = context && context->type == PF_INT && context->i >= 0 && context->i < tree->count;
    return known ? pf_interned(tree->strings, tree->name[context->i]) : pf_absent();
}

static void add_named_event(const struct trace_walk *walk, struct pf_buf *out, char phase)
{
    struct pf_cell name = event_name(walk);
    add_trace_event(walk, out, phase);
    if (phase == 'X') {
        pf_buf_str(out, ",\"dur\":");
        const struct pf_cell *time = &walk->cells[walk->time];
        add_microseconds(out,
                         event_ns(walk, time, &walk->cells[walk->duration]) - event_ns(walk, time, NULL));
    }
    if (phase == 'i')
        pf_buf_str(out, ",\"s\":\"t\"");
    pf_buf_str(out, ",\"name\":");
    add_json_string(out, name.type == PF_TEXT ? name : pf_text("", 0));
    pf_buf_char(out, '}');
}

static void add_end_event(const struct trace_walk *walk, struct pf_buf *out)
{
    add_trace_event(walk, out, 'E');
    pf_buf_char(out, '}');
}

static void add_trace_head(const struct trace_walk *walk, struct pf_buf *out)
{
    pf_buf_str(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                    "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":");
    add_json_string(out, pf_string(walk->model->driver->name));
    pf_buf_str(out, "}}");
}

static void add_thread_event(const struct trace_walk *walk, uint32_t thread, struct pf_buf *out)
{
    pf_buf_printf(out, ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":",
                  thread + 1);
    add_json_string(out, pf_rows_at(walk->model->partitions.items, thread)[1]);
    pf_buf_str(out, "}}");
}

/* ---- rows --------------------------------------------------------------------------------------- */

static bool is_number_cell(const struct pf_cell *cell)
{
    return cell->type != PF_ABSENT && cell->type != PF_TEXT;
}

static bool begins_with(const struct pf_cell *cell, const char *word)
{
    size_t size = strlen(word);
    return cell->type == PF_TEXT && cell->size >= size && !memcmp(cell->text, word, size);
}

static bool has_last_word(const struct pf_cell *cell, const char *word)
{
    size_t size = strlen(word);
    return cell->type == PF_TEXT && cell->size >= size && !memcmp(cell->text + cell->size - size, word, size);
}

/* Returns a number that identifies the function of a call: the cell `function`, otherwise the context, otherwise a hash of the name. */
static uint64_t call_of(const struct trace_walk *walk)
{
    int column = walk->function >= 0 ? walk->function : walk->context;
    if (column >= 0 && is_number_cell(&walk->cells[column]))
        return walk->cells[column].u;
    struct pf_cell name = event_name(walk);
    return name.type == PF_TEXT ? pf_siphash(0, name.text, name.size) : 0;
}

static int begin_call(struct trace_walk *walk, struct pf_buf *out, struct pf_error *error)
{
    if (pf_array_room(&walk->stack, &walk->stack_room, walk->at.depth, sizeof *walk->stack, error))
        return -1;
    walk->stack[walk->at.depth++] = call_of(walk);
    add_named_event(walk, out, 'B');
    return 0;
}

static void end_innermost_call(struct trace_walk *walk, struct pf_buf *out)
{
    uint64_t call = call_of(walk);
    uint32_t depth = walk->at.depth;
    while (depth && walk->stack[depth - 1] != call)
        depth--;
    for (; depth && walk->at.depth >= depth; walk->at.depth--)
        add_end_event(walk, out);
}

static int add_open_call(struct trace_walk *walk, struct pf_buf *out, struct pf_error *error)
{
    const struct pf_cell *event = &walk->cells[walk->event];
    if (begins_with(event, "enter") || has_last_word(event, "start"))
        return begin_call(walk, out, error);
    if (begins_with(event, "exit") || begins_with(event, "tail-exit") || has_last_word(event, "stop"))
        end_innermost_call(walk, out);
    else
        add_named_event(walk, out, 'i');
    return 0;
}

static int add_event_row(struct trace_walk *walk, struct pf_buf *out, struct pf_error *error)
{
    const struct pf_cell *thread = &walk->cells[walk->partition];
    if (thread->type != PF_INT || !is_number_cell(&walk->cells[walk->time]))
        return 0;
    if (thread->i != walk->at.thread)
        walk->at = (struct trace_position){.stage = ROWS, .thread = (uint32_t)thread->i};
    if (walk->kind == CALLS)
        return add_open_call(walk, out, error);
    if (walk->kind == SPANS) {
        add_named_event(walk, out, is_number_cell(&walk->cells[walk->duration]) ? 'X' : 'i');
        return 0;
    }
    if (walk->at.open)
        add_end_event(walk, out);
    add_named_event(walk, out, 'B');
    walk->at.open = true;
    return 0;
}

static int add_next_row(struct trace_walk *walk, struct pf_buf *out, struct pf_error *error)
{
    int more = walk->ops->next(&walk->cursor, walk->cells, error);
    if (more < 0 || (more && add_event_row(walk, out, error)))
        return -1;
    if (!more)
        walk->at.stage = TAIL;
    return 0;
}

static int next_trace_event(struct pf_walk *base, struct pf_buf *out, struct pf_error *error)
{
    struct trace_walk *walk = (struct trace_walk *)base;
    size_t before = out->size;
    while (walk->at.stage < OVER && out->size == before && !out->failed) {
        if (walk->at.stage == HEAD) {
            add_trace_head(walk, out);
            walk->at.stage = THREADS;
        } else if (walk->at.stage == THREADS) {
            if (walk->at.thread < pf_rows_count(walk->model->partitions.items))
                add_thread_event(walk, walk->at.thread++, out);
            else
                walk->at = (struct trace_position){.stage = ROWS, .thread = UINT32_MAX};
        } else if (walk->at.stage == ROWS) {
            if (add_next_row(walk, out, error))
                return -1;
        } else {
            pf_buf_str(out, "\n]}\n");
            walk->at.stage = OVER;
        }
    }
    return out->failed ? pf_fail_memory(error) : out->size > before;
}

/* ---- positions ---------------------------------------------------------------------------------- */

/* Saves the position, the stack, and the position of the table's cursor. */
static size_t save_trace_walk(const struct pf_walk *base, void *saved, size_t room)
{
    const struct trace_walk *walk = (const struct trace_walk *)base;
    size_t stack = walk->at.depth * sizeof *walk->stack, head = sizeof walk->at + stack;
    if (room >= head) {
        memcpy(saved, &walk->at, sizeof walk->at);
        if (stack)
            memcpy((char *)saved + sizeof walk->at, walk->stack, stack);
    }
    bool fits = saved && room >= head;
    return head + walk->ops->save(&walk->cursor, fits ? (char *)saved + head : NULL, fits ? room - head : 0);
}

static int restore_trace_walk(struct pf_walk *base, const void *saved, size_t size, struct pf_error *error)
{
    struct trace_walk *walk = (struct trace_walk *)base;
    struct trace_position at;
    if (size < sizeof at)
        return pf_fail(error, EINVAL, "not a position");
    memcpy(&at, saved, sizeof at);
    size_t stack = at.depth * sizeof *walk->stack, head = sizeof at + stack;
    if (at.stage > OVER || size < head)
        return pf_fail(error, EINVAL, "not a position");
    if (stack && pf_array_reach(&walk->stack, &walk->stack_room, at.depth - 1, sizeof *walk->stack, error))
        return -1;
    if (stack)
        memcpy(walk->stack, (const char *)saved + sizeof at, stack);
    walk->at = at;
    return walk->ops->restore(&walk->cursor, (const char *)saved + head, size - head, error);
}

static void close_trace_walk(struct pf_walk *base)
{
    struct trace_walk *walk = (struct trace_walk *)base;
    walk->ops->close(&walk->cursor);
    free(walk->cells);
    free(walk->stack);
    free(walk);
}

static double trace_progress(const struct pf_walk *base)
{
    const struct trace_walk *walk = (const struct trace_walk *)base;
    return walk->ops->progress ? walk->ops->progress(&walk->cursor) : 0;
}

static const struct pf_walk_ops trace_ops = {.next = next_trace_event,
                                             .save = save_trace_walk,
                                             .restore = restore_trace_walk,
                                             .close = close_trace_walk,
                                             .progress = trace_progress};

static void find_trace_columns(struct trace_walk *walk)
{
    const struct pf_table *table = walk->table;
    const char *unit = walk->model->time_unit ? walk->model->time_unit : "";
    walk->partition = pf_table_column(table, PF_PARTITION);
    walk->time = pf_table_column_named(table, "time");
    walk->duration = pf_table_column_named(table, "duration");
    walk->event = pf_table_column_named(table, "event");
    walk->function = pf_table_column_named(table, "function");
    walk->context = pf_table_column(table, PF_CONTEXT);
    walk->name = pf_table_column_named(table, "name");
    walk->kind = walk->duration >= 0 ? SPANS : walk->event >= 0 ? CALLS : SAMPLES;
    walk->ns = pf_unit_ns(unit) ? pf_unit_ns(unit) : 1000;
}

struct pf_walk *pf_trace_json_walk(struct pf_model *model, const struct pf_table *table,
                                   struct pf_error *error)
{
    struct trace_walk *walk = calloc(1, sizeof *walk);
    if (!walk) {
        pf_fail_memory(error);
        return NULL;
    }
    walk->base.ops = &trace_ops;
    walk->model = model;
    walk->table = table;
    walk->ops = pf_table_ops(table);
    walk->cursor = (struct pf_cursor){.model = model, .table = table, .only = PF_UNRESTRICTED};
    find_trace_columns(walk);
    walk->cells = calloc(table->n_columns + 1, sizeof *walk->cells);
    int failed = walk->cells ? walk->ops->open(&walk->cursor, error) : pf_fail_memory(error);
    if (!failed)
        return &walk->base;
    close_trace_walk(&walk->base);
    return NULL;
}
