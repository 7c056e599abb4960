/* SPDX-License-Identifier: MIT */
#ifndef PF_AGGREGATE_PRIVATE_H
#define PF_AGGREGATE_PRIVATE_H

#include "formats/kit/lock.h"
#include "fs/sums/order.h"
#include "fs/sums/spill_guard.h"

/* Declarations for the aggregate's source files only: the storage of sums, and the values that orders are made from. */

/* ---- storage ------------------------------------------------------------------------------------ */

/* An arena allocator: memory is zeroed, and freed only as a whole. A segment comes from the heap if, with the segment, all
 * arenas and orders of the process hold at most `limit` bytes, or this arena holds only a small share of `limit`. Other
 * segments are mapped from an unlinked file. */
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

/* A sparse array over contexts or partitions. Only the chunks in use are allocated, since in a database with a thousand
 * metrics, most metrics have values in few contexts. */
enum { PF_SPARSE_CHUNK = 256 }; /* items */
struct pf_sparse_array {
    char **chunks; /* each NULL or of PF_SPARSE_CHUNK items; the last one may be shorter */
};

/* Returns item i of a sparse array that has `count` items of `item` bytes each. Allocates the item's zeroed chunk on first
 * use. Returns NULL with *error filled on failure. */
void *pf_sparse_at(struct pf_arena *arena, struct pf_sparse_array *sparse, size_t count, size_t item,
                   size_t i, struct pf_error *error);
void pf_arena_free(struct pf_arena *arena);

/* Account for heap bytes outside arenas. pf_budget_exceeded returns true if the total of the process, with arenas, exceeds
 * `limit`; it then also sets the flag that pf_budget_was_exceeded returns. */
void pf_budget_add(uint64_t bytes);
void pf_budget_subtract(uint64_t bytes);
bool pf_budget_exceeded(uint64_t limit);
/* Fills *error for an arena that has lost data. Always returns -1. */
int pf_arena_lost(struct pf_error *error);

/* Returns item i, or NULL if the chunk of the item has not been allocated. An item has `item` bytes. */
static inline void *pf_sparse_find(const struct pf_sparse_array *sparse, size_t item, size_t i)
{
    char *chunk = sparse->chunks ? sparse->chunks[i / PF_SPARSE_CHUNK] : NULL;
    return chunk ? chunk + i % PF_SPARSE_CHUNK * item : NULL;
}

/* Returns the first index >= i whose chunk has been allocated, or `count` if there is none. */
static inline size_t pf_sparse_next(const struct pf_sparse_array *sparse, size_t i, size_t count)
{
    if (!sparse->chunks)
        return count;
    while (i < count && !sparse->chunks[i / PF_SPARSE_CHUNK])
        i = (i / PF_SPARSE_CHUNK + 1) * PF_SPARSE_CHUNK;
    return i < count ? i : count;
}

/* Integer sums cannot overflow while the sum of absolute values is at most this. The limit is less than 2^127 because the
 * sum of absolute values is a double, which is rounded. */
#define PF_INTEGERS_MAX 0x1.fp126

/* A smallest or largest value. */
union pf_extreme {
    pf_int128 i;
    double d;
};

/* A lower bound for numbers. */
struct pf_lower_bound {
    union pf_number number;
    bool real;
};

/* The lower bound total / parts, for a total > 0. Exact if neither the total nor the numbers to be compared are real. */
static inline struct pf_lower_bound pf_lower_bound_of(const union pf_number *total, bool total_real,
                                                      bool compared_real, int parts)
{
    if (total_real || compared_real)
        return (struct pf_lower_bound){{.d = {pf_number_double(total, total_real) / parts, 0}}, true};
    return (struct pf_lower_bound){{.i = total->i / parts + (total->i % parts > 0)}, false};
}

/* True if the number is less than the bound; false for nan. A real number must be compared with a real bound. */
static inline bool pf_is_below(const union pf_number *number, bool real, const struct pf_lower_bound *bound)
{
    if (!bound->real)
        return number->i < bound->number.i;
    return pf_number_double(number, real) < bound->number.d.sum;
}

/* Sum and statistics of the values that one metric has in one context, over all partitions. */
struct pf_context_sum {
    union pf_number sum;
    union pf_extreme low, high;
    double deviation; /* sum of squared differences from the mean */
    uint64_t count;   /* number of values, at least 1 */
};

/* The sums of one metric by context. Most contexts have a value in only one partition. Such a context takes only a slot of
 * PF_CONTEXT_SLOT_SIZE bytes; the slots of other contexts point to a struct pf_context_sum, the record. */
enum { PF_CONTEXT_SLOT_SIZE = 9 };
struct pf_context_sums {
    struct pf_sparse_array sparse;
    size_t n; /* contexts */
};

/* Loads the sum of a context. `real` is true if the metric's sums are doubles. Returns false if the context has no value. */
bool pf_context_load(const struct pf_context_sums *sums, size_t context, bool real,
                     struct pf_context_sum *sum);

/* Like pf_context_load, but loads only the member `sum`. */
bool pf_context_total(const struct pf_context_sums *sums, size_t context, bool real, union pf_number *total);

/* Returns the record of a context, which the caller may modify. Returns NULL if the context has no value, or only one value,
 * which is in the slot. pf_context_load reads both slots and records. */
struct pf_context_sum *pf_context_record(const struct pf_context_sums *sums, size_t context);

/* Prefetch the sum of a context, for callers that access contexts in random order. pf_context_prefetch prefetches the slot.
 * pf_context_prefetch_record reads the slot and prefetches the record, so it should be called when the slot has arrived in the
 * processor's cache. */
void pf_context_prefetch(const struct pf_context_sums *sums, size_t context);
void pf_context_prefetch_record(const struct pf_context_sums *sums, size_t context);

/* True if the context has a value. */
bool pf_context_has(const struct pf_context_sums *sums, size_t context);

/* Stores the first value of a context. Returns 1 if stored; 0 if the context has a sum already, or if the value
 * exceeds 64 bits; -1 with *error filled. */
int pf_context_begin(struct pf_arena *arena, struct pf_context_sums *sums, size_t context, bool real,
                     const union pf_extreme *value, struct pf_error *error);

/* Stores the sum of a context. Returns 0, or -1 with *error filled. */
int pf_context_store(struct pf_arena *arena, struct pf_context_sums *sums, size_t context, bool real,
                     const struct pf_context_sum *sum, struct pf_error *error);

/* Returns the first context from i on that has a value, or sums->n if there is none. */
size_t pf_context_next(const struct pf_context_sums *sums, size_t i);

/* The sum of one metric in one partition, over contexts. */
struct pf_partition_sum {
    union pf_number sum; /* of the contexts that over_contexts selects */
    uint64_t contexts;   /* contexts that have a value */
};

struct pf_metric_sums {
    bool real;        /* sums, low and high are doubles; otherwise integers */
    double magnitude; /* sum of absolute values; up to PF_INTEGERS_MAX, integer sums cannot overflow */
    union pf_number total;
    bool negative;      /* some value is negative; always false in an unpacked aggregate */
    size_t with_values; /* partitions that have any value */
    bool exceeds_total; /* some share exceeds 100 % */
    struct pf_context_sums contexts;
    struct pf_sparse_array partitions; /* struct pf_partition_sum */
    struct pf_context_sums at;         /* PF_AT metrics: the values in the selected partition */
};

struct pf_aggregate {
    const struct pf_model *model;
    uint32_t n_contexts;
    size_t n_partitions;
    struct pf_arena arena;
    struct pf_metric_sums *metrics; /* by metric */
    pf_need_order *need; /* set by pf_aggregate_share; NULL: each thread makes missing orders itself */
    void *owner;
    struct pf_lock lock;     /* guards the members below */
    struct pf_order *orders; /* most recently used first */
};

/* Loads a metric's sum in a context. Returns false if the metric has no value there. */
static inline bool pf_context_get(const struct pf_aggregate *aggregate, unsigned metric, uint32_t context,
                                  struct pf_context_sum *sum)
{
    const struct pf_metric_sums *sums = &aggregate->metrics[metric];
    return pf_context_load(&sums->contexts, context, sums->real, sum);
}

/* The statistics that contexts.csv shows of one metric in one context, over the `count` partitions that have a value. All cells are
 * absent if count is 0. Cells may point into wide[], so the struct must not be copied. */
struct pf_context_statistics {
    uint64_t count;
    struct pf_cell sum; /* by over_partitions: a sum, minimum, maximum, one partition's value, or absent */
    struct pf_cell mean, min, max;
    struct pf_cell stddev; /* of the population */
    /* max x n / sum, where n is the number of threads that have any value of the metric: 1 is perfect balance, n means
     * that one thread has everything. Absent if partitions are not threads or the metric does not add up over them. */
    struct pf_cell imbalance;
    pf_int128 wide[4];
};

/* Fills *statistics. Preconditions: metric < n_metrics, context < n_contexts. */
void pf_aggregate_context(const struct pf_aggregate *aggregate, unsigned metric, uint32_t context,
                          struct pf_context_statistics *statistics);

/* Returns an aggregate without values, or NULL with *error filled. */
struct pf_aggregate *pf_aggregate_empty(const struct pf_model *model, struct pf_error *error);

/* Adds the values of all metrics (metric < 0), or of one metric and its partner. Returns 0, or -1 with *error filled.
 * (aggregate_pass.c) */
int pf_aggregate_add(struct pf_aggregate *aggregate, struct pf_model *model, int64_t metric,
                     struct pf_error *error);

/* Sets `exceeds_total` of each metric. Returns 0, or -1 with *error filled. */
int pf_find_exceeding(struct pf_aggregate *aggregate, struct pf_error *error);

/* Sets `with_values` of each metric, from its partition sums. */
void pf_count_with_values(struct pf_aggregate *aggregate);

/* True if over_contexts includes contexts with these flags (enum pf_context_flags). */
bool pf_includes_context(enum pf_over_contexts over, unsigned flags);

/* ---- exclusive and inclusive values ------------------------------------------------------------- */

/* The exclusive and the inclusive metric that a metric's views are made from. If one of them is PF_NO_PARTNER, its values are
 * derived from the other one. */
struct pf_partners {
    int exclusive, inclusive;
};
struct pf_partners pf_partners_of(const struct pf_model *model, unsigned metric);

/* The exclusive and inclusive values of one metric by context, while they are computed. */
struct pf_values {
    struct pf_aggregate *aggregate;
    const struct pf_tree *tree;
    unsigned metric;
    bool exclusive_only; /* only exclusive[] is filled */
    struct pf_partners partners;
    uint32_t n;
    bool exclusive_real, inclusive_real;
    union pf_number *exclusive, *inclusive; /* 0 if there is no value */
    bool *unknown;                          /* the inclusive value is unknown; NULL: all values are known */
    bool *present;                          /* some context in the subtree has a value */
    struct pf_totals totals;
    uint32_t *scratch; /* one item per context, for the functions that compute values */
};

/* Allocates the arrays, and fills partners and, unless exclusive_only, present[]. Returns 0, or -1 with *error filled and
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

/* ---- orders ------------------------------------------------------------------------------------- */

/* A line of stacks.folded. The name, depth and value are copied here to avoid a cache miss per context. */
struct pf_folded_line {
    uint32_t context, name;
    uint32_t depth; /* PF_NO_DEPTH: the context's caller has no line */
    uint32_t value; /* 0: the value exceeds 32 bits and is computed from exclusive[] */
};
#define PF_NO_DEPTH UINT32_MAX

/* True if a context is the head of a function: it is a frame or a root. Contexts below it, down to the next head,
 * belong to the function. */
static inline bool pf_is_function_head(const struct pf_tree *tree, uint32_t context)
{
    return tree->flags[context] & PF_FRAME || tree->parent[context] == PF_NO_CONTEXT;
}

/* Fills head[], one item per context: the head of the context's function, that is, the nearest head at or above the
 * context. */
void pf_find_heads(const struct pf_tree *tree, uint32_t *head);

/* The string, or PF_NO_STRING if the string is empty. */
static inline uint32_t pf_string_or_none(const struct pf_strings *strings, uint32_t string)
{
    return string == PF_NO_STRING || pf_interned(strings, string).size ? string : PF_NO_STRING;
}

/* Three-way comparison by bytes; PF_NO_STRING is an empty string. */
int pf_compare_strings(const struct pf_strings *strings, uint32_t a, uint32_t b);

/* A share of a total in percent; absent if the total is 0 or not finite. */
struct pf_cell pf_percent_cell(const union pf_number *part, bool real, double whole);

/* Fills functions[] for PF_BY_FUNCTION, PF_BY_CALLER, PF_BY_NAME and PF_BY_EDGE. `values` must have been filled. Returns
 * 0, or -1 with *error filled. */
int pf_order_functions(struct pf_values *values, struct pf_order *order, struct pf_error *error);

/* Fills locations[] for PF_BY_MODULE, PF_BY_FILE and PF_BY_LINE. `values` must have been filled; the arrays in `values` are
 * overwritten. Returns 0, or -1 with *error filled. */
int pf_order_locations(struct pf_values *values, struct pf_order *order, struct pf_error *error);

/* Frees all orders; no walk may hold a reference. */
void pf_orders_free(struct pf_aggregate *aggregate);

/* ---- walks -------------------------------------------------------------------------------------- */

/* The function of a view that appends the record at the walk's position and advances the position. Returns false at the end. */
struct pf_metric_walk;
typedef bool pf_metric_record(struct pf_metric_walk *walk, struct pf_buf *out);

/* A walk over a view. Position 0 is the header line, except in stacks.folded. */
struct pf_metric_walk {
    struct pf_walk base;
    pf_metric_record *record; /* the view's function */
    struct pf_aggregate *aggregate;
    const struct pf_model *model;
    unsigned metric;
    struct pf_order *order; /* NULL if the view needs none */
    struct pf_stack *stack; /* owned; for stacks.folded only, like the next two members */
    struct pf_folded_unit folded_unit;
    uint64_t stack_position; /* the position after the line whose stack is current; 0: no stack yet */
    uint64_t end;
};

/* Maximum number of functions in hot.txt. */
enum { PF_HOT_FUNCTIONS = 100 };
pf_metric_record pf_hot_record, pf_folded_record, pf_modules_record, pf_files_record, pf_lines_record;
/* The `measure` operation of stacks.folded. */
int pf_folded_measure(struct pf_walk *base, uint64_t *size, struct pf_error *error);

/* Appends the whole text of a view. Returns 0, or -1 with *error filled. */
typedef int pf_metric_text(struct pf_aggregate *aggregate, unsigned metric, struct pf_buf *out,
                           struct pf_error *error);
pf_metric_text pf_tree_text, pf_bottom_up_text, pf_groups_text;

#endif
