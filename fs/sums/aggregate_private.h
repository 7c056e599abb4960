/* SPDX-License-Identifier: MIT */
#ifndef PF_AGGREGATE_PRIVATE_H
#define PF_AGGREGATE_PRIVATE_H

#include <math.h>

#include "formats/kit/lock.h"
#include "fs/sums/aggregate.h"
#include "fs/sums/spill_guard.h"

/* Private to the aggregate's source files: numbers, storage, and the orders in which views are walked. */

/* ---- numbers ------------------------------------------------------------------------------------ */

/* A sum. The owner of a sum keeps a flag `real` next to it: if set, the sum is a double with the rounding error so far
 * (Neumaier's compensated summation), otherwise an exact integer. All-zero bytes are 0 in both cases. */
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

/* Fast path: nearly all integers fit 64 bits, which the processor converts itself. */
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

/* Adds a number of the same kind. Returns false, with *to unchanged, if an integer sum overflows 128 bits. */
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

/* Like pf_number_add, for a difference. */
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

/* Converts an exact integer to a double. */
static inline union pf_number pf_number_real(union pf_number number)
{
    return (union pf_number){.d = {(double)number.i, 0}};
}

/* Multiplies a number by a factor. The result is exact if the number is an integer and the product fits 128 bits;
 * otherwise it is a double. *real is updated. */
static inline union pf_number pf_number_times(union pf_number number, int64_t factor, bool *real)
{
    pf_int128 product;
    if (!*real && !__builtin_mul_overflow(number.i, factor, &product))
        return (union pf_number){.i = product};
    double x = pf_number_double(&number, *real) * (double)factor;
    *real = true;
    return (union pf_number){.d = {x, 0}};
}

/* Three-way comparison; nan is less than all other numbers. */
static inline int pf_number_compare(const union pf_number *a, const union pf_number *b, bool real)
{
    if (!real)
        return (a->i > b->i) - (a->i < b->i);
    double x = pf_number_double(a, true), y = pf_number_double(b, true);
    if (isnan(x) || isnan(y))
        return !isnan(x) - !isnan(y);
    return (x > y) - (x < y);
}

/* A lower bound: one of `parts` equal parts of a total. */
struct pf_least {
    union pf_number number;
    bool real;
};

/* The lower bound total / parts, for a total > 0. Exact if neither the total nor the numbers to be compared are real. */
static inline struct pf_least pf_least_part(const union pf_number *total, bool total_real, bool compared_real,
                                            int parts)
{
    if (total_real || compared_real)
        return (struct pf_least){{.d = {pf_number_double(total, total_real) / parts, 0}}, true};
    return (struct pf_least){{.i = total->i / parts + (total->i % parts > 0)}, false};
}

/* True if the number is less than the bound; false for nan. A real number needs a bound made for real numbers. */
static inline bool pf_is_below(const union pf_number *number, bool real, const struct pf_least *least)
{
    if (!least->real)
        return number->i < least->number.i;
    return pf_number_double(number, real) < least->number.d.sum;
}

/* Converts the number to a cell, which may point to *number. */
static inline struct pf_cell pf_number_cell(const union pf_number *number, bool real)
{
    if (real)
        return pf_double(pf_number_double(number, true));
    if (number->i >= INT64_MIN && number->i <= INT64_MAX)
        return pf_int((int64_t)number->i);
    return pf_wide(&number->i);
}

/* Converts a cell to a number. Returns false if the cell holds no number. An integer stays exact; *real is set for a
 * double. */
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

/* The cell's number as a long double, for charts and sums that need not be exact; nan if there is none. */
static inline long double pf_cell_number(const struct pf_cell *cell)
{
    union pf_number number;
    bool real;
    if (!pf_number_of_cell(cell, &number, &real))
        return NAN;
    return real ? (long double)number.d.sum : (long double)number.i;
}

/* ---- storage ------------------------------------------------------------------------------------ */

/* An arena allocator: memory is zeroed, and freed only as a whole. Segments come from the heap while all arenas and
 * arrangements of the process together hold at most `limit` bytes, and from an unlinked file after that. */
struct pf_segment;
struct pf_arena {
    uint64_t limit;
    uint64_t held; /* size of the segments on the heap */
    struct pf_segment *segments;
    size_t n_segments;
    char *at; /* next free byte of the newest segment */
    size_t left;
    int file; /* -1: not created yet */
    uint64_t file_size;
    atomic_bool lost; /* part of the file could not be read and was replaced by zeros */
};

/* A sparse array over contexts or partitions: only the stretches in use are allocated, since a database with a thousand
 * metrics has values of most metrics in few contexts only. */
enum { PF_STRETCH = 256 }; /* items */
struct pf_plane {
    char **stretches; /* each NULL or of PF_STRETCH items; the last one may be shorter */
};

/* Returns item i of a plane of `count` items, allocating its zeroed stretch on first use. NULL with *error filled. */
void *pf_plane_at(struct pf_arena *arena, struct pf_plane *plane, size_t count, size_t item, size_t i,
                  struct pf_error *error);
void pf_arena_free(struct pf_arena *arena);

/* Accounting of heap bytes outside arenas: add, subtract, and test whether the process's total exceeds the limit. */
void pf_sums_count(uint64_t bytes);
void pf_sums_uncount(uint64_t bytes);
bool pf_sums_exceed(uint64_t limit);
/* Fills *error for an arena that has lost data. Always returns -1. */
int pf_arena_lost(struct pf_error *error);

/* Allocates zeroed bytes, aligned for 128-bit integers. NULL with *error filled. */
void *pf_arena_take(struct pf_arena *arena, size_t size, struct pf_error *error);

/* Item i, or NULL if its stretch has not been allocated. */
static inline void *pf_plane_find(const struct pf_plane *plane, size_t item, size_t i)
{
    char *stretch = plane->stretches ? plane->stretches[i / PF_STRETCH] : NULL;
    return stretch ? stretch + i % PF_STRETCH * item : NULL;
}

/* The first index >= i whose stretch has been allocated; `count` if there is none. */
static inline size_t pf_plane_next(const struct pf_plane *plane, size_t i, size_t count)
{
    if (!plane->stretches)
        return count;
    while (i < count && !plane->stretches[i / PF_STRETCH])
        i = (i / PF_STRETCH + 1) * PF_STRETCH;
    return i < count ? i : count;
}

/* Maximum sum of magnitudes for which integer sums cannot overflow; less than 2^127 because magnitudes are rounded. */
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

/* The sums of one metric by context. Most contexts have a value in one partition only: such a context takes
 * PF_CONTEXT_LEAST bytes; other contexts point to a record. */
enum { PF_CONTEXT_LEAST = 9 };
struct pf_context_sums {
    struct pf_plane plane;
    size_t n; /* contexts */
};

/* Loads the sum of a context; `real` is the metric's kind of numbers. Returns false if the context has no value. */
bool pf_context_load(const struct pf_context_sums *sums, size_t context, bool real,
                     struct pf_context_sum *sum);

/* Like pf_context_load, but loads the total only. */
bool pf_context_total(const struct pf_context_sums *sums, size_t context, bool real, union pf_number *total);

/* The record of a context's sum, which the caller may modify; NULL if the context has at most one value (use
 * pf_context_load). */
struct pf_context_sum *pf_context_record(const struct pf_context_sums *sums, size_t context);

/* Prefetches, for callers that access contexts in random order: first the slot of a context; then, once the slot is in
 * the cache, the record. */
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
    union pf_number sum; /* of the contexts that over_contexts selects */
    uint64_t contexts;   /* contexts that have a value */
};

struct pf_metric_sums {
    bool real; /* sums, low and high are doubles; otherwise integers */
    double
        magnitude; /* sum of the absolute values; while it fits 128 bits, so do all sums of integers */
    union pf_number total;
    bool negative;  /* some value is negative; unknown after unpacking */
    size_t holders; /* partitions that have any value */
    bool beyond;    /* some share exceeds 100 % */
    struct pf_context_sums contexts;
    struct pf_plane partitions; /* struct pf_partition_sum */
    struct pf_context_sums at;  /* PF_AT metrics: the values in the selected partition */
};

struct pf_arranged;

struct pf_aggregate {
    const struct pf_model *model;
    uint32_t n_contexts;
    size_t n_partitions;
    struct pf_arena arena;
    struct pf_metric_sums *metrics; /* profile->n_metrics */
    struct pf_lock lock;            /* guards the members below */
    struct pf_arranged *arranged;   /* arrangements in LRU order, latest first */
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

/* Adds the values of all metrics (metric < 0), or of one metric and its partner. Returns 0, or -1 with *error filled.
 * (adding.c) */
int pf_aggregate_add(struct pf_aggregate *aggregate, struct pf_model *model, int64_t metric,
                     struct pf_error *error);

/* Sets `beyond` of each metric. Returns 0, or -1 with *error filled. */
int pf_find_beyond(struct pf_aggregate *aggregate, struct pf_error *error);

/* Sets `holders` of each metric, from its partition sums. */
void pf_count_holders(struct pf_aggregate *aggregate);

/* True if over_contexts includes contexts with these flags (enum pf_context_flags). */
bool pf_counts(enum pf_over_contexts over, unsigned flags);

/* The metric's value in a context, combined by over_partitions, of the same kind (integer or double) as the metric's
 * sums. Returns false if there is no value or the metric does not add up. */
bool pf_context_number(const struct pf_aggregate *aggregate, unsigned metric, uint32_t context,
                       union pf_number *number);

/* ---- exclusive and inclusive values ------------------------------------------------------------- */

/* The pair of metrics that a metric's views are made from; PF_NO_PARTNER if one must be derived. */
struct pf_twins {
    int exclusive, inclusive;
};
struct pf_twins pf_twins_of(const struct pf_model *model, unsigned metric);

/* The totals that percentages refer to. */
struct pf_totals {
    unsigned of;      /* the metric whose total is the sum of the exclusive values */
    double exclusive; /* 100 % of exclusive values: their sum */
    double
        inclusive; /* 100 % of inclusive values: the sum over the roots, or `exclusive` if that is larger */
};

/* One metric's values by context, while they are computed. */
struct pf_values {
    struct pf_aggregate *aggregate;
    const struct pf_tree *tree;
    unsigned metric;
    bool exclusive_only; /* only exclusive[] is filled */
    struct pf_twins twins;
    uint32_t n;
    bool exclusive_real, inclusive_real;
    union pf_number *exclusive, *inclusive; /* 0 if there is no value */
    bool *lacking;                          /* the inclusive value is unknown; NULL if all are known */
    bool *present;                          /* some context in the subtree has a value */
    struct pf_totals totals;
    uint32_t *scratch; /* one item per context, for the functions that compute values */
};

/* True if a context is isolated: it has no callees and no caller, and is neither a frame nor a root. */
bool pf_stands_alone(const struct pf_tree *tree, uint32_t context);

/* Allocates the arrays, and fills twins and, unless exclusive_only, present[]. Returns 0, or -1 with *error filled and
 * nothing to free. */
int pf_values_new(struct pf_values *values, struct pf_aggregate *aggregate, unsigned metric,
                  bool exclusive_only, struct pf_error *error);
void pf_values_free(struct pf_values *values);

/* The stored value of a metric in a context, converted to a double if `real`. Returns false if there is none. */
bool pf_values_stored(const struct pf_values *values, int metric, uint32_t context, bool real,
                      union pf_number *number);

/* Fills exclusive[], totals and, unless exclusive_only, inclusive[]. Uses doubles if integer sums could overflow 128
 * bits. */
void pf_values_fill(struct pf_values *values);

/* ---- arrangements: the orders in which views are walked ------------------------------------------ */

/* The sum over contexts of one kind, name and file, or of one pair of callee and caller names. The inclusive value
 * counts the outermost contexts only, so that recursion is not counted twice. */
struct pf_function {
    union pf_number exclusive, inclusive;
    union pf_number running; /* prefix sum of `exclusive`, including this one */
    uint32_t contexts;       /* contexts with this key */
    uint32_t name, file;     /* strings; a pair's `file` is the caller. PF_NO_STRING: none */
    uint8_t kind;
    bool lacking; /* the inclusive value is unknown */
};

/* A line of stacks.folded. Denormalised, to avoid a cache miss per context. */
struct pf_folded_line {
    uint32_t context, name;
    uint32_t depth; /* PF_NO_DEPTH: its caller has no line */
    uint32_t value; /* 0: exceeds 32 bits; computed from the exclusive value instead */
};
#define PF_NO_DEPTH UINT32_MAX

/* A load module, a source file (both have only a name), or a source line. */
struct pf_place_sum {
    union pf_number exclusive;
    uint32_t functions;  /* functions with a frame there; unused for lines */
    uint32_t name, file; /* strings; PF_NO_STRING: none. For a line, `name` is its function */
    uint32_t line;       /* 0: none */
};

/* Exclusive and inclusive values of one metric by context, and the order in which a view walks them. Made when the
 * first walk needs it, immutable afterwards, kept while the cache limit allows. */
enum pf_arrangement { PF_BY_FUNCTION, PF_BY_CALLER, PF_BY_STACK, PF_BY_NAME, PF_BY_EDGE, PF_BY_MODULE, PF_BY_FILE, PF_BY_LINE };
struct pf_arranged {
    enum pf_arrangement kind;
    unsigned metric;
    unsigned users;          /* reference count of walks; guarded by the aggregate's lock */
    uint64_t bytes, counted; /* current size; size that was passed to pf_sums_count */
    struct pf_arranged *next;

    bool exclusive_real, inclusive_real;
    struct pf_totals totals;
    size_t
        width; /* PF_BY_FUNCTION: width of the longest value in hot.txt, as pf_print_rounded prints it */

    union pf_number *exclusive;    /* PF_BY_STACK: by context */
    struct pf_folded_line *folded; /* PF_BY_STACK: callers first, children by index */
    uint32_t n_order;              /* number of items in folded[] */
    /* PF_BY_STACK: by context, its ancestor (or itself) at depth PF_STACK_HALF - 1; NULL if no stack is deep enough to
     * be cut. */
    uint32_t *outer;
    uint64_t left_out; /* PF_BY_STACK: number of positive values that round to 0 */

    struct pf_function
        *functions; /* PF_BY_FUNCTION: by exclusive value, PF_BY_CALLER: by inclusive value; largest first */
    size_t n_functions;
    struct pf_place_sum *places; /* PF_BY_MODULE, PF_BY_FILE, PF_BY_LINE: by exclusive value, largest first */
    size_t n_places;
    struct pf_strings *strings; /* names of functions or places; NULL: use the tree's strings */
};

/* Fills functions[] for PF_BY_FUNCTION and PF_BY_CALLER. `values` must have been filled. Returns 0, or -1 with *error
 * filled. */
int pf_arrange_functions(struct pf_values *values, struct pf_arranged *arranged, struct pf_error *error);

/* Fills places[] for PF_BY_MODULE, PF_BY_FILE and PF_BY_LINE. `values` must have been filled; its arrays are
 * overwritten. Returns 0, or -1 with *error filled. */
int pf_arrange_places(struct pf_values *values, struct pf_arranged *arranged, struct pf_error *error);

/* True if a context is the head of a function: it is a frame or a root. Contexts below it, down to the next head,
 * belong to the function. */
static inline bool pf_is_function_head(const struct pf_tree *tree, uint32_t context)
{
    return tree->flags[context] & PF_FRAME || tree->parent[context] == PF_NO_CONTEXT;
}

/* Fills owner[], one item per context: the head of the context's function, that is, the nearest head at or above the
 * context. */
void pf_find_owners(const struct pf_tree *tree, uint32_t *owner);

/* The string, or PF_NO_STRING if the string is empty. */
static inline uint32_t pf_string_or_none(const struct pf_strings *strings, uint32_t string)
{
    return string == PF_NO_STRING || pf_interned(strings, string).size ? string : PF_NO_STRING;
}

/* Three-way comparison by bytes; PF_NO_STRING is an empty string. */
int pf_compare_strings(const struct pf_strings *strings, uint32_t a, uint32_t b);

/* A share of a total in percent; absent if the total is 0 or not finite. */
struct pf_cell pf_percent_cell(const union pf_number *part, bool real, double whole);

/* The cells of function i in functions.csv, for an arrangement by function. Number cells may point into the
 * arrangement. */
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

/* A folded stack of more than 2 * PF_STACK_HALF frames shows only its outermost and innermost PF_STACK_HALF frames. */
enum { PF_STACK_HALF = 512 };

/* Allocates *outer for the caller: by context, its ancestor (or itself) at depth PF_STACK_HALF - 1; NULL if no stack is
 * deep enough to be cut. Returns 0, or -1 with *error filled. */
int pf_find_outer(const struct pf_tree *tree, uint32_t **outer, struct pf_error *error);

/* Returns the arrangement of a metric, making it if necessary. The caller must release it after use. NULL with *error
 * filled. */
struct pf_arranged *pf_arranged_get(struct pf_aggregate *aggregate, unsigned metric, enum pf_arrangement kind,
                                    struct pf_error *error);
void pf_arranged_put(struct pf_aggregate *aggregate, struct pf_arranged *arranged);

/* Frees all arrangements; no walk may hold a reference. */
void pf_arranged_free_all(struct pf_aggregate *aggregate);

/* True if a value appears in the folded stacks: it rounds to at least 1. */
bool pf_is_folded(const struct pf_folding *folding, const union pf_number *number, bool real);
/* The folded value, or 0 if it exceeds 32 bits. */
uint32_t pf_folded_value(const struct pf_folding *folding, const union pf_number *number, bool real);
/* Appends the folded value in decimal digits: readers of folded stacks accept only integers. */
void pf_add_folded(const struct pf_folding *folding, const union pf_number *number, bool real, struct pf_buf *out);

/* ---- walks -------------------------------------------------------------------------------------- */

/* The text of a folded stack: names joined by semicolons. The prefix that consecutive stacks have in common is kept. */
struct pf_stack {
    void (*add_name)(struct pf_buf *out,
                     const struct pf_cell *name); /* appends a frame's name; [unnamed] is added for an empty one */
    struct pf_buf text;
    uint32_t n;                         /* number of frames of the current stack; 0: none yet */
    uint32_t frames[2 * PF_STACK_HALF]; /* contexts, outermost first */
    size_t ends[2 * PF_STACK_HALF];     /* offset in the text where each frame's name ends */
};

/* Sets the text to the stack of a context whose caller, at depth - 1, is a frame of the current stack. */
void pf_stack_add(struct pf_stack *stack, const struct pf_tree *tree, uint32_t context, uint32_t name,
                  uint32_t depth);

/* Sets the text to the stack of a context. All calls for one struct pf_stack must use the same tree and `outer` (see
 * pf_find_outer). */
void pf_stack_set(struct pf_stack *stack, const struct pf_tree *tree, const uint32_t *outer,
                  uint32_t context);

/* Appends a frame's name as stacks.folded prints it. */
void pf_folded_frame(struct pf_buf *out, const struct pf_cell *name);

/* Appends the record at the walk's position and advances the position. Returns false at the end. */
struct pf_metric_walk;
typedef bool pf_metric_record(struct pf_metric_walk *walk, struct pf_buf *out);

/* A walk over a view. Position 0 of its lines is the header line; `end` is the last position. */
struct pf_metric_walk {
    struct pf_lines lines;
    pf_metric_record *record; /* of the view */
    struct pf_aggregate *aggregate;
    const struct pf_model *model;
    unsigned metric;
    struct pf_arranged *arranged; /* NULL if the view needs none */
    struct pf_stack *stack;       /* owned; for stacks.folded only, like the next two members */
    struct pf_folding folding;
    uint64_t stands_at; /* the position after the line whose stack is current; 0: no stack yet */
    uint64_t end;
};

/* Number of functions in hot.txt. */
enum { PF_HOT_FUNCTIONS = 100 };
pf_metric_record pf_hot_record, pf_folded_record, pf_modules_record, pf_files_record, pf_lines_record;
/* The `measure` operation of stacks.folded. */
int pf_folded_measure(struct pf_lines *lines, uint64_t *size, struct pf_error *error);

/* Appends a view whose text is short for any profile. Returns 0, or -1 with *error filled. */
typedef int pf_metric_text(struct pf_aggregate *aggregate, unsigned metric, struct pf_buf *out,
                           struct pf_error *error);
pf_metric_text pf_tree_text, pf_bottom_up_text, pf_groups_text;

#endif
