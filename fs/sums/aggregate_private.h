/* SPDX-License-Identifier: MIT */
#ifndef PF_AGGREGATE_PRIVATE_H
#define PF_AGGREGATE_PRIVATE_H

#include <math.h>

#include "formats/kit/lock.h"
#include "fs/sums/aggregate.h"
#include "fs/sums/spill_guard.h"

/* What the aggregate's own files share: numbers, storage, and the orders that views are walked in. */

/* ---- numbers ------------------------------------------------------------------------------------ */

/*
 * A sum. Whoever holds one knows beside it whether it is `real`: then a double with what rounding has lost so
 * far (Neumaier's compensated summation), else an exact integer. All zero is 0 either way.
 */
union pf_number {
    pf_int128 i;
    struct {
        double sum, lost;
    } d;
};

static inline void pf_real_add(union pf_number *to, double x)
{
    double sum = to->d.sum + x;
    if (isfinite(sum))
        to->d.lost += fabs(to->d.sum) >= fabs(x) ? (to->d.sum - sum) + x : (x - sum) + to->d.sum;
    to->d.sum = sum;
}

/* Nearly all integers have 64 bits, which the processor converts itself. */
static inline double pf_int_double(pf_int128 i)
{
    return i == (int64_t)i ? (double)(int64_t)i : (double)i;
}

static inline double pf_number_double(const union pf_number *number, bool real)
{
    if (!real)
        return pf_int_double(number->i);
    return isfinite(number->d.sum) ? number->d.sum + number->d.lost : number->d.sum;
}

/* Adds a number of the same sort. False if an integer sum needs more than 128 bits; *to is then as before. */
static inline bool pf_number_add(union pf_number *to, const union pf_number *x, bool real)
{
    pf_int128 sum;
    if (real)
        pf_real_add(to, pf_number_double(x, true));
    else if (__builtin_add_overflow(to->i, x->i, &sum))
        return false;
    else
        to->i = sum;
    return true;
}

/* The same for a difference. */
static inline bool pf_number_subtract(union pf_number *from, const union pf_number *x, bool real)
{
    pf_int128 difference;
    if (real)
        pf_real_add(from, -pf_number_double(x, true));
    else if (__builtin_sub_overflow(from->i, x->i, &difference))
        return false;
    else
        from->i = difference;
    return true;
}

/* An exact integer becomes a double. */
static inline union pf_number pf_number_real(union pf_number number)
{
    return (union pf_number){.d = {(double)number.i, 0}};
}

/* A number times a factor: exact if it is an integer and the product fits 128 bits, otherwise a double; *real says which. */
static inline union pf_number pf_number_times(union pf_number number, int64_t factor, bool *real)
{
    pf_int128 product;
    if (!*real && !__builtin_mul_overflow(number.i, factor, &product))
        return (union pf_number){.i = product};
    double x = pf_number_double(&number, *real) * (double)factor;
    *real = true;
    return (union pf_number){.d = {x, 0}};
}

/* Below, at or above 0 as a is less than, equal to or greater than b; nan is less than all other numbers. */
static inline int pf_number_compare(const union pf_number *a, const union pf_number *b, bool real)
{
    if (!real)
        return (a->i > b->i) - (a->i < b->i);
    double x = pf_number_double(a, true), y = pf_number_double(b, true);
    if (isnan(x) || isnan(y))
        return !isnan(x) - !isnan(y);
    return (x > y) - (x < y);
}

/* A bound: one of equal parts of a total. */
struct pf_least {
    union pf_number number;
    bool real;
};

/* The least number of which `parts` make up a total of more than 0: exact if neither the total nor what is compared is real. */
static inline struct pf_least pf_least_part(const union pf_number *total, bool total_real, bool compared_real,
                                            int parts)
{
    if (total_real || compared_real)
        return (struct pf_least){{.d = {pf_number_double(total, total_real) / parts, 0}}, true};
    return (struct pf_least){{.i = total->i / parts + (total->i % parts > 0)}, false};
}

/* True if the number is less than the bound; nan is not. A real number needs a bound made for real ones. */
static inline bool pf_is_below(const union pf_number *number, bool real, const struct pf_least *least)
{
    if (!least->real)
        return number->i < least->number.i;
    return pf_number_double(number, real) < least->number.d.sum;
}

/* The number as a cell, which may point to *number. */
static inline struct pf_cell pf_number_cell(const union pf_number *number, bool real)
{
    if (real)
        return pf_double(pf_number_double(number, true));
    if (number->i >= INT64_MIN && number->i <= INT64_MAX)
        return pf_int((int64_t)number->i);
    return pf_wide(&number->i);
}

/* The reverse: false if there is no number in the cell. An integer is exact, *real tells a double. */
static inline bool pf_number_of_cell(const struct pf_cell *cell, union pf_number *number, bool *real)
{
    *real = cell->type == PF_DOUBLE;
    *number = (union pf_number){0};
    if (*real)
        number->d.sum = cell->d;
    else if (cell->type == PF_INT)
        number->i = cell->i;
    else if (cell->type == PF_UINT)
        number->i = cell->u;
    else if (cell->type == PF_WIDE)
        number->i = *cell->wide;
    return cell->type != PF_ABSENT && cell->type != PF_TEXT;
}

/* A cell's number for pictures and sums that need not be exact; nan if there is none. */
static inline long double pf_cell_number(const struct pf_cell *cell)
{
    union pf_number number;
    bool real;
    if (!pf_number_of_cell(cell, &number, &real))
        return NAN;
    return real ? (long double)number.d.sum : (long double)number.i;
}

/* ---- storage ------------------------------------------------------------------------------------ */

/*
 * Memory that is only taken, never given back but as a whole: zeroed, in segments from the heap while all arenas and arrangements
 * together hold at most `limit` bytes, and from an unlinked file beyond.
 */
struct pf_segment;
struct pf_arena {
    uint64_t limit;
    uint64_t held; /* bytes of its segments on the heap */
    struct pf_segment *segments;
    size_t n_segments;
    char *at; /* the newest segment's free bytes */
    size_t left;
    int file; /* -1: none yet */
    uint64_t file_size;
    atomic_bool lost; /* some of what was in the file cannot be read: it has become zeros */
};

/*
 * An array over contexts or partitions, of which only the stretches that somebody touched exist: a database
 * of a thousand metrics has most of them in few contexts.
 */
enum { PF_STRETCH = 256 }; /* items */
struct pf_plane {
    char **stretches; /* each NULL or with PF_STRETCH items, the last one with what is left */
};

/* Item i of a plane of `count` items, zeroed when first touched. NULL with *error filled. */
void *pf_plane_at(struct pf_arena *arena, struct pf_plane *plane, size_t count, size_t item, size_t i,
                  struct pf_error *error);
void pf_arena_free(struct pf_arena *arena);

/* Count bytes on the heap that are no arena's, and take them off again; and whether all together exceed the limit. */
void pf_sums_count(uint64_t bytes);
void pf_sums_uncount(uint64_t bytes);
bool pf_sums_exceed(uint64_t limit);
/* Fills *error for an arena some of which is lost. Always returns -1. */
int pf_arena_lost(struct pf_error *error);

/* Zeroed bytes, aligned for wide integers. NULL with *error filled. */
void *pf_arena_take(struct pf_arena *arena, size_t size, struct pf_error *error);

/* Item i, or NULL if nothing has touched its stretch. */
static inline void *pf_plane_find(const struct pf_plane *plane, size_t item, size_t i)
{
    char *stretch = plane->stretches ? plane->stretches[i / PF_STRETCH] : NULL;
    return stretch ? stretch + i % PF_STRETCH * item : NULL;
}

/* The first item from i on whose stretch has been touched; `count` if there is none. */
static inline size_t pf_plane_next(const struct pf_plane *plane, size_t i, size_t count)
{
    if (!plane->stretches)
        return count;
    while (i < count && !plane->stretches[i / PF_STRETCH])
        i = (i / PF_STRETCH + 1) * PF_STRETCH;
    return i < count ? i : count;
}

/* What magnitudes of integers may add up to: somewhat less than 2^127, for they are rounded. */
#define PF_INTEGERS_MAX 0x1.fp126

/* A smallest or largest value. */
union pf_bound {
    pf_int128 i;
    double d;
};

/* One metric in one context, over partitions. */
struct pf_context_sum {
    union pf_number sum;
    union pf_bound low, high;
    double deviation; /* sum of squared differences from the mean */
    uint64_t count;   /* at least 1 */
};

/*
 * The sums of one metric by context. Contexts are many, and most have a value in one partition alone: these take
 * PF_CONTEXT_LEAST bytes each, others point to a record.
 */
enum { PF_CONTEXT_LEAST = 9 };
struct pf_context_sums {
    struct pf_plane plane;
    size_t n; /* contexts */
};

/* The sum of a context, made of numbers that are `real` or not. False if it has no value. */
bool pf_context_load(const struct pf_context_sums *sums, size_t context, bool real,
                     struct pf_context_sum *sum);

/* The number alone of which pf_context_load tells all. */
bool pf_context_total(const struct pf_context_sums *sums, size_t context, bool real, union pf_number *total);

/* The sum itself, to be changed where it stands; NULL: the context has at most one value, which pf_context_load tells. */
struct pf_context_sum *pf_context_record(const struct pf_context_sums *sums, size_t context);

/*
 * Only for speed, where contexts come in any order: have the processor get from memory what says where a context's sum is; and, once
 * that is there, the sum.
 */
void pf_context_expect(const struct pf_context_sums *sums, size_t context);
void pf_context_expect_sum(const struct pf_context_sums *sums, size_t context);

/* True if it has a value. */
bool pf_context_has(const struct pf_context_sums *sums, size_t context);

/* Keeps the first value of a context: 1; 0: it has a sum already, or the value takes more than PF_CONTEXT_LEAST; -1: *error filled. */
int pf_context_begin(struct pf_arena *arena, struct pf_context_sums *sums, size_t context, bool real,
                     const union pf_bound *value, struct pf_error *error);

/* Keeps it. 0, or -1 with *error. */
int pf_context_store(struct pf_arena *arena, struct pf_context_sums *sums, size_t context, bool real,
                     const struct pf_context_sum *sum, struct pf_error *error);

/* The first context from i on that has a value; sums->n if there is none. */
size_t pf_context_next(const struct pf_context_sums *sums, size_t i);

/* One metric in one partition, over contexts. */
struct pf_partition_sum {
    union pf_number sum; /* of those contexts that over_contexts names */
    uint64_t contexts;   /* how many have a value */
};

struct pf_metric_sums {
    bool real; /* sums, low and high are doubles, else integers */
    double
        magnitude; /* what all values add up to without their signs: as long as that fits 128 bits, so do all sums of integers */
    union pf_number total;
    bool negative;  /* some value is; not known of an aggregate that has been unpacked */
    size_t holders; /* partitions that have any value */
    bool beyond;    /* some share of it is above 100 % */
    struct pf_context_sums contexts;
    struct pf_plane partitions; /* struct pf_partition_sum */
    struct pf_context_sums at;  /* of a PF_AT metric: the values in its one partition */
};

struct pf_arranged;

struct pf_aggregate {
    const struct pf_model *model;
    uint32_t n_contexts;
    size_t n_partitions;
    struct pf_arena arena;
    struct pf_metric_sums *metrics; /* profile->n_metrics */
    struct pf_lock lock;            /* guards what follows */
    struct pf_arranged *arranged;   /* those made so far, latest used first */
};

/* The metric's sums in a context. False if it has no value there. */
static inline bool pf_context_get(const struct pf_aggregate *aggregate, unsigned metric, uint32_t context,
                                  struct pf_context_sum *sum)
{
    const struct pf_metric_sums *sums = &aggregate->metrics[metric];
    return pf_context_load(&sums->contexts, context, sums->real, sum);
}

/* An aggregate without values, or NULL with *error filled. */
struct pf_aggregate *pf_aggregate_empty(const struct pf_model *model, struct pf_error *error);

/* Adds all values, or those of one metric (>= 0) and its partner. 0, or -1 with *error filled. (adding.c) */
int pf_aggregate_add(struct pf_aggregate *aggregate, struct pf_model *model, int64_t metric,
                     struct pf_error *error);

/* Fills beyond of each metric. 0, or -1 with *error filled. */
int pf_find_beyond(struct pf_aggregate *aggregate, struct pf_error *error);

/* Fills holders of each metric, from its partitions. */
void pf_count_holders(struct pf_aggregate *aggregate);

/* True if over_contexts takes a context with these flags (enum pf_context_flags) into account. */
bool pf_counts(enum pf_over_contexts over, unsigned flags);

/* What over_partitions makes of the metric in this context: true with *number, of the sort that the metric's
 * sums are; false if it has no value or does not add up. */
bool pf_context_number(const struct pf_aggregate *aggregate, unsigned metric, uint32_t context,
                       union pf_number *number);

/* ---- exclusive and inclusive values ------------------------------------------------------------- */

/* The two metrics that a metric's views are made from; PF_NO_PARTNER where it has to be derived. */
struct pf_twins {
    int exclusive, inclusive;
};
struct pf_twins pf_twins_of(const struct pf_model *model, unsigned metric);

/* What shares are of. */
struct pf_totals {
    unsigned of;      /* the metric whose total exclusive values add up to */
    double exclusive; /* what exclusive values are a share of: what they add up to */
    double
        inclusive; /* what inclusive values are a share of: what the roots hold, or `exclusive` if that is more */
};

/* One metric's values by context, as they are made. */
struct pf_values {
    struct pf_aggregate *aggregate;
    const struct pf_tree *tree;
    unsigned metric;
    bool exclusive_only; /* nothing else is filled than exclusive[] */
    struct pf_twins twins;
    uint32_t n;
    bool exclusive_real, inclusive_real;
    union pf_number *exclusive, *inclusive; /* what counts: 0 where there is no value */
    bool *lacking;                          /* the inclusive value is not known; NULL: all are */
    bool *present;                          /* some context in the subtree has a value */
    struct pf_totals totals;
    uint32_t *scratch; /* one item a context, for whoever computes */
};

/* True if a context stands by itself: it calls nothing, nothing calls it, and it is neither a frame nor a root. */
bool pf_stands_alone(const struct pf_tree *tree, uint32_t context);

/* Makes room, and fills twins and, unless exclusive_only, present[]. 0, or -1 with *error filled and nothing to
 * free. */
int pf_values_new(struct pf_values *values, struct pf_aggregate *aggregate, unsigned metric,
                  bool exclusive_only, struct pf_error *error);
void pf_values_free(struct pf_values *values);

/* The stored value of a metric in a context, as a double if that is wanted; false if it has none there. */
bool pf_values_stored(const struct pf_values *values, int metric, uint32_t context, bool real,
                      union pf_number *number);

/* Fills exclusive[], totals and, unless exclusive_only, inclusive[]; with doubles where sums of integers might need more than 128 bits. */
void pf_values_fill(struct pf_values *values);

/* ---- orders of walking -------------------------------------------------------------------------- */

/*
 * Contexts of one kind, name and file, or of one name and caller's name, added up; inclusive values of the outermost
 * ones alone.
 */
struct pf_function {
    union pf_number exclusive, inclusive;
    union pf_number running; /* sum of `exclusive` up to and with this one */
    uint32_t contexts;       /* how many contexts of this key stand in the tree */
    uint32_t name, file;     /* strings; a pair's `file` is the caller. PF_NO_STRING: none */
    uint8_t kind;
    bool lacking; /* the inclusive value is not known */
};

/* A line of stacks.folded, with what is needed for it most, so that no context has to be looked at, which stand anywhere in memory. */
struct pf_folded_line {
    uint32_t context, name;
    uint32_t depth; /* PF_NO_DEPTH: its caller has no line */
    uint32_t value; /* 0: it is too large for this, but can be made from the exclusive value */
};
#define PF_NO_DEPTH UINT32_MAX

/* A load module or source file, which has a name only, or a source line. */
struct pf_place_sum {
    union pf_number exclusive;
    uint32_t functions;  /* how many have a frame there; not of a line */
    uint32_t name, file; /* strings; PF_NO_STRING: none. Of a line, `name` is its function */
    uint32_t line;       /* 0: none */
};

/*
 * Exclusive and inclusive values of one metric by context, and with them what a view is walked by. Made when
 * the first walk needs it, immutable then, kept while the cache limit allows.
 */
enum pf_arrangement { PF_BY_FUNCTION, PF_BY_CALLER, PF_BY_STACK, PF_BY_NAME, PF_BY_EDGE, PF_BY_MODULE, PF_BY_FILE, PF_BY_LINE };
struct pf_arranged {
    enum pf_arrangement kind;
    unsigned metric;
    unsigned users;          /* walks that hold it; under the aggregate's lock */
    uint64_t bytes, counted; /* what it takes; as pf_sums_count was told */
    struct pf_arranged *next;

    bool exclusive_real, inclusive_real;
    struct pf_totals totals;
    size_t
        width; /* PF_BY_FUNCTION: of the longest value that hot.txt prints, as pf_print_rounded prints it */

    union pf_number *exclusive;    /* PF_BY_STACK: by context */
    struct pf_folded_line *folded; /* PF_BY_STACK: callers first, children by index */
    uint32_t n_order;              /* of these */
    /* PF_BY_STACK: a context's ancestor (or itself) at depth PF_STACK_HALF - 1; NULL if none is so deep that a
     * stack is cut. */
    uint32_t *outer;
    uint64_t left_out; /* PF_BY_STACK: positive values that round to 0 */

    struct pf_function
        *functions; /* PF_BY_FUNCTION: largest exclusive value first, PF_BY_CALLER: inclusive */
    size_t n_functions;
    struct pf_place_sum *places; /* PF_BY_MODULE, PF_BY_FILE, PF_BY_LINE: largest exclusive value first */
    size_t n_places;
    struct pf_strings *strings; /* of functions' or places' names; NULL: those of the tree */
};

/* Fills functions[], for PF_BY_FUNCTION and PF_BY_CALLER, of values that are filled. 0, or -1 with *error filled. */
int pf_arrange_functions(struct pf_values *values, struct pf_arranged *arranged, struct pf_error *error);

/* Fills places[], for PF_BY_MODULE, PF_BY_FILE and PF_BY_LINE, of values that are filled; uses them up. 0, or -1 with *error filled. */
int pf_arrange_places(struct pf_values *values, struct pf_arranged *arranged, struct pf_error *error);

/* True if a context begins a function: it is a frame, or a root. Contexts below, up to the next such one, belong to it. */
static inline bool pf_is_function_head(const struct pf_tree *tree, uint32_t context)
{
    return tree->flags[context] & PF_FRAME || tree->parent[context] == PF_NO_CONTEXT;
}

/* By context, the head of the function that it belongs to: the nearest one at or above it. `owner` has an item for each context. */
void pf_find_owners(const struct pf_tree *tree, uint32_t *owner);

/* The string, or PF_NO_STRING if it is empty. */
static inline uint32_t pf_string_or_none(const struct pf_strings *strings, uint32_t string)
{
    return string == PF_NO_STRING || pf_interned(strings, string).size ? string : PF_NO_STRING;
}

/* Below, at or above 0 as a is before, equal to or after b by their bytes; PF_NO_STRING is an empty string. */
int pf_compare_strings(const struct pf_strings *strings, uint32_t a, uint32_t b);

/* A share of a total in percent; absent if the total is 0 or not finite. */
struct pf_cell pf_percent_cell(const union pf_number *part, bool real, double whole);

/* The cells of function i in functions.csv, of an arrangement by function. Those of numbers may point into it. */
enum {
    PF_FUNCTION_KIND,
    PF_FUNCTION_CONTEXTS,
    PF_FUNCTION_EXCLUSIVE,
    PF_FUNCTION_INCLUSIVE,
    PF_FUNCTION_EXCLUSIVE_PERCENT,
    PF_FUNCTION_INCLUSIVE_PERCENT,
    PF_FUNCTION_UNIT,
    PF_FUNCTION_NAME,
    PF_FUNCTION_FILE,
    PF_FUNCTION_COLUMNS
};
void pf_function_cells(const struct pf_model *model, const struct pf_arranged *arranged, size_t i,
                       struct pf_cell cells[PF_FUNCTION_COLUMNS]);

/* A folded stack of more than twice this many frames shows the outermost and innermost so many. */
enum { PF_STACK_HALF = 512 };

/*
 * Where some stack is cut: by context, its ancestor (or itself) at depth PF_STACK_HALF - 1, allocated for the caller; NULL if none
 * is. 0, or -1 with *error filled.
 */
int pf_find_outer(const struct pf_tree *tree, uint32_t **outer, struct pf_error *error);

/* The arrangement of a metric, made if need be; to be put back after use. NULL with *error filled. */
struct pf_arranged *pf_arranged_get(struct pf_aggregate *aggregate, unsigned metric, enum pf_arrangement kind,
                                    struct pf_error *error);
void pf_arranged_put(struct pf_aggregate *aggregate, struct pf_arranged *arranged);

/* Frees all; no walk may hold one any more. */
void pf_arranged_free_all(struct pf_aggregate *aggregate);

/* True if a value has a place among the folded stacks: it is at least 1, rounded. */
bool pf_is_folded(const struct pf_folding *folding, const union pf_number *number, bool real);
/* What such a value is there, or 0 if that takes more than 32 bits. */
uint32_t pf_folded_value(const struct pf_folding *folding, const union pf_number *number, bool real);
/* Appends such a value as an integer in digits: readers of folded stacks take nothing else. */
void pf_add_folded(const struct pf_folding *folding, const union pf_number *number, bool real, struct pf_buf *out);

/* ---- walks -------------------------------------------------------------------------------------- */

/* The text of a stack, names with semicolons between them, which the next one's begins with as far as both have frames in common. */
struct pf_stack {
    void (*add_name)(struct pf_buf *out,
                     const struct pf_cell *name); /* of a frame; [unnamed] is added for none */
    struct pf_buf text;
    uint32_t n;                         /* frames of the last one; 0: none yet */
    uint32_t frames[2 * PF_STACK_HALF]; /* contexts, outermost first */
    size_t ends[2 * PF_STACK_HALF];     /* where each one's name ends in the text */
};

/* Makes the text that of a context whose caller, at this depth less 1, is one of the last one's frames, or the last one. */
void pf_stack_add(struct pf_stack *stack, const struct pf_tree *tree, uint32_t context, uint32_t name,
                  uint32_t depth);

/* Makes the text that of a context of a tree, all of whose stacks are made with the same `outer` (see pf_find_outer). */
void pf_stack_set(struct pf_stack *stack, const struct pf_tree *tree, const uint32_t *outer,
                  uint32_t context);

/* How stacks.folded has names. */
void pf_folded_frame(struct pf_buf *out, const struct pf_cell *name);

/* Appends the record at the walk's position, which it moves on; false at the end. */
struct pf_metric_walk;
typedef bool pf_metric_record(struct pf_metric_walk *walk, struct pf_buf *out);

/* A walk over a view. Position 0 of its lines is the first one; the last position is `end`. */
struct pf_metric_walk {
    struct pf_lines lines;
    pf_metric_record *record; /* of the view */
    struct pf_aggregate *aggregate;
    const struct pf_model *model;
    unsigned metric;
    struct pf_arranged *arranged; /* NULL if the view needs none */
    struct pf_stack *stack;       /* owned; stacks.folded only, as the next */
    struct pf_folding folding;
    uint64_t stands_at; /* the position behind the line whose stack that is; 0: no stack is there yet */
    uint64_t end;
};

/* How many functions hot.txt has. */
enum { PF_HOT_FUNCTIONS = 100 };
pf_metric_record pf_hot_record, pf_folded_record, pf_modules_record, pf_files_record, pf_lines_record;
/* As a walk's `measure`. */
int pf_folded_measure(struct pf_lines *lines, uint64_t *size, struct pf_error *error);

/* Appends a view that is short however large the profile is. 0, or -1 with *error filled. */
typedef int pf_metric_text(struct pf_aggregate *aggregate, unsigned metric, struct pf_buf *out,
                           struct pf_error *error);
pf_metric_text pf_tree_text, pf_bottom_up_text, pf_groups_text;

#endif
