/* SPDX-License-Identifier: MIT */
#ifndef PF_SUMS_ORDER_H
#define PF_SUMS_ORDER_H

#include "fs/sums/folded.h"

/*
 * An order is a list of the functions, contexts or source locations of a metric with their values, sorted for a view. Orders are
 * used for the views below metrics/, for runs/, for the tables over several profiles, and for pictures.
 */

struct pf_folded_line;
struct pf_location;

/* Sets *number to the metric's value in a context, combined by over_partitions. It is an integer or a double like the metric's
 * sums. Returns false if there is no value or the metric has no combined value (PF_OVER_NO_PARTITIONS). */
bool pf_context_number(const struct pf_aggregate *aggregate, unsigned metric, uint32_t context,
                       union pf_number *number);

/* The totals that percentages refer to. */
struct pf_totals {
    unsigned metric;  /* index of the metric whose total is `exclusive` */
    double exclusive; /* 100 % of exclusive values: their sum */
    double inclusive; /* 100 % of inclusive values: the sum over the roots, at least `exclusive` */
};

/* ---- orders ------------------------------------------------------------------------------------- */

/* The sum over contexts with the same key: kind, name and file; PF_BY_NAME: the name; PF_BY_CALLER and PF_BY_EDGE: the names
 * of callee and caller. Only outermost contexts count for the inclusive value, so that recursion is not counted twice. */
struct pf_function {
    union pf_number exclusive, inclusive;
    union pf_number running; /* prefix sum of `exclusive`, including this one */
    uint32_t contexts;       /* contexts with this key */
    uint32_t name, file;     /* strings; of a pair: callee and caller. PF_NO_STRING: none */
    uint8_t kind;
    bool unknown; /* the inclusive value is unknown */
};

enum pf_order_kind {
    PF_BY_FUNCTION, /* functions.csv, hot.txt */
    PF_BY_CALLER,   /* callers.csv */
    PF_BY_STACK,    /* stacks.folded, flame.svg */
    PF_BY_NAME,     /* nodes of callgraph.dot */
    PF_BY_EDGE,     /* edges of callgraph.dot, callers in summary.md */
    PF_BY_MODULE,
    PF_BY_FILE,
    PF_BY_LINE,
    PF_LAST_ORDER = PF_BY_LINE
};

/* An order of one metric. It is made when a walk first needs it, is immutable afterwards, and stays cached while walks
 * use it or the budget allows. */
struct pf_order {
    enum pf_order_kind kind;
    unsigned metric;
    unsigned users;          /* reference count of walks and jobs; guarded by the aggregate's lock */
    bool made;               /* the order is complete: set once, guarded by the aggregate's lock; false: empty */
    uint64_t bytes, counted; /* current size; size that was passed to pf_budget_add */
    struct pf_order *next;

    bool exclusive_real, inclusive_real;
    struct pf_totals totals;
    size_t width; /* PF_BY_FUNCTION: width of the longest value in hot.txt, as pf_print_rounded prints it */

    union pf_number *exclusive;    /* PF_BY_STACK: exclusive values, indexed by context */
    struct pf_folded_line *folded; /* PF_BY_STACK: in preorder; siblings by index */
    uint32_t n_folded;             /* number of items in folded[] */
    /* PF_BY_STACK, indexed by context: the last frame before the cut of its stack (pf_find_outer); NULL: no stack is cut. */
    uint32_t *outer;
    uint64_t left_out; /* PF_BY_STACK: number of positive values that round to 0 */

    /* Largest first: PF_BY_FUNCTION by exclusive value, the others by inclusive value (PF_BY_NAME: by exclusive value where the
     * inclusive one is unknown). */
    struct pf_function *functions;
    size_t n_functions;
    struct pf_location *locations; /* PF_BY_MODULE, PF_BY_FILE, PF_BY_LINE: largest exclusive value first */
    size_t n_locations;
    struct pf_strings *strings; /* names of functions or locations; NULL: use the tree's strings */
};

/* Indexes of the cells in a row of functions.csv. pf_function_cells fills such a row from one function of a PF_BY_FUNCTION
 * order; cells with numbers may point into the order. */
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
void pf_function_cells(const struct pf_model *model, const struct pf_order *order, size_t i,
                       struct pf_cell cells[PF_FUNCTION_COLUMNS]);

/* Returns a reference to the order of a metric, which the caller releases with pf_order_release. A missing order is made in a job if
 * pf_aggregate_share was called, otherwise by this thread. The caller must hold no lock. Returns NULL with *error filled on failure. */
struct pf_order *pf_order_get(struct pf_aggregate *aggregate, unsigned metric, enum pf_order_kind kind,
                              struct pf_error *error);
void pf_order_release(struct pf_aggregate *aggregate, struct pf_order *order);

/* Makes an order unless it is cached. The order can be evicted before the next pf_order_get unless a caller of
 * pf_order_get is waiting for it. Returns 0, or -1 with *error filled. */
int pf_order_make(struct pf_aggregate *aggregate, unsigned metric, enum pf_order_kind kind,
                  struct pf_error *error);

/* A function that runs pf_order_make in a job shared by all walks, and waits for it. Returns 0, or -1 with *error filled. */
typedef int pf_need_order(void *owner, struct pf_aggregate *aggregate, unsigned metric,
                          enum pf_order_kind kind, struct pf_error *error);
/* Sets the function that pf_order_get calls for a missing order. Borrows `owner`. Must be called before other threads
 * use the aggregate. */
void pf_aggregate_share(struct pf_aggregate *aggregate, pf_need_order *need, void *owner);

/* Sets *left_out to the number of contexts that are missing from the folded stacks because their positive values round to 0.
 * Returns 0, or -1 with *error filled. */
int pf_folded_left_out(struct pf_aggregate *aggregate, unsigned metric, uint64_t *left_out,
                       struct pf_error *error);

#endif
