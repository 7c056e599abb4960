/* SPDX-License-Identifier: MIT */
#ifndef FAKE_MODEL_H
#define FAKE_MODEL_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fs/sums/aggregate.h"
#include "tests/unit/tap.h"

/* A profile built value by value, for tests of computations on values. If memory runs out, the test aborts. */
struct fake {
    struct pf_model model;
    struct pf_options options;
    struct pf_metric metrics[16];
    struct pf_table table;
    struct pf_rows *rows;
    struct pf_aggregate *aggregate;
};

#define FAKE __attribute__((unused)) static

FAKE void must(bool holds)
{
    if (!holds)
        abort();
}

/* Makes a profile with this number of threads, named t0, t1, ... */
FAKE void fake_init(struct fake *fake, int threads)
{
    static const char *const kinds[] = {"function"};
    static const struct pf_column columns[] = {{.name = "thread", .role = PF_PARTITION},
                                               {.name = "context", .role = PF_CONTEXT},
                                               {.name = "metric", .role = PF_METRIC},
                                               {.name = "value", .role = PF_PLAIN}};
    struct pf_error error;
    *fake = (struct fake){.options = {.cache = 1 << 20}, .rows = pf_rows_new(4)};
    struct pf_rows *items = pf_rows_new(2);
    struct pf_tree *tree = pf_tree_new(kinds);
    must(fake->rows && items && tree);
    for (int i = 0; i < threads; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        struct pf_cell cells[] = {pf_int(i), pf_string(name)};
        must(!pf_rows_add(items, cells, &error));
    }
    fake->table =
        (struct pf_table){.name = "values", .columns = columns, .n_columns = 4, .data = &fake->rows};
    fake->model = (struct pf_model){.options = &fake->options,
                                    .partitions = {"thread", "threads", .items = items},
                                    .contexts = tree,
                                    .metrics = fake->metrics,
                                    .values = &fake->table,
                                    .value_column = 3};
}

FAKE void fake_free(struct fake *fake)
{
    pf_aggregate_free(fake->aggregate);
    pf_rows_free(fake->model.partitions.items);
    pf_tree_free(fake->model.contexts);
    pf_rows_free(fake->rows);
}

/* Adds a metric and returns its index. */
FAKE unsigned fake_metric(struct fake *fake, const char *name, const char *type,
                          enum pf_over_contexts contexts, enum pf_over_partitions partitions)
{
    struct pf_metric *metric = &fake->metrics[fake->model.n_metrics];
    *metric = (struct pf_metric){.name = name,
                                 .unit = "ns",
                                 .scope = contexts == PF_OVER_ROOTS ? "inclusive" : "exclusive",
                                 .type = type,
                                 .description = "",
                                 .over_contexts = contexts,
                                 .over_partitions = partitions,
                                 .partner = PF_NO_PARTNER};
    return (unsigned)fake->model.n_metrics++;
}

FAKE void fake_partners(struct fake *fake, unsigned a, unsigned b)
{
    fake->metrics[a].partner = (int)b;
    fake->metrics[b].partner = (int)a;
}

/* Adds a context and returns its index. */
FAKE uint32_t fake_context(struct fake *fake, uint32_t parent, const char *name, uint8_t flags)
{
    struct pf_error error;
    struct pf_tree *tree = fake->model.contexts;
    uint32_t id = pf_intern(tree->strings, name, strlen(name), &error);
    uint32_t context = pf_tree_add(tree, parent, id, id, 0, flags, &error);
    must(id != PF_NO_STRING && context != PF_NO_CONTEXT);
    return context;
}

FAKE void fake_cell(struct fake *fake, int64_t thread, int64_t context, int64_t metric, struct pf_cell value)
{
    struct pf_error error;
    struct pf_cell cells[] = {pf_int(thread), pf_int(context), pf_int(metric), value};
    must(!pf_rows_add(fake->rows, cells, &error));
}

FAKE void fake_value(struct fake *fake, int64_t thread, int64_t context, int64_t metric, int64_t value)
{
    fake_cell(fake, thread, context, metric, pf_int(value));
}

FAKE void fake_real(struct fake *fake, int64_t thread, int64_t context, int64_t metric, double value)
{
    fake_cell(fake, thread, context, metric, pf_double(value));
}

/* Makes the aggregate; call after the last context and value have been added. */
FAKE void fake_finish(struct fake *fake)
{
    struct pf_error error = {0};
    must(!pf_tree_finish(fake->model.contexts, &error));
    fake->aggregate = pf_aggregate_new(&fake->model, &error);
    if (!fake->aggregate)
        printf("# %s\n", error.what);
    must(fake->aggregate);
}

FAKE struct pf_walk *fake_walk(struct fake *fake, unsigned metric, enum pf_metric_view view)
{
    struct pf_error error;
    struct pf_walk *walk = pf_metric_view_walk(fake->aggregate, metric, view, &error);
    must(walk);
    return walk;
}

/* Returns the whole text of a view, null-terminated; the caller frees text.data. */
FAKE struct pf_buf fake_text(struct fake *fake, unsigned metric, enum pf_metric_view view)
{
    struct pf_error error;
    struct pf_buf text = {0};
    struct pf_walk *walk = fake_walk(fake, metric, view);
    while (walk->ops->next(walk, &text, &error) > 0)
        ;
    walk->ops->close(walk);
    pf_buf_char(&text, '\0');
    must(!text.failed);
    return text;
}

/* Returns the whole text of a view; each record is read by a new walk that resumes at the position saved by the previous one. */
FAKE struct pf_buf fake_resumed_text(struct fake *fake, unsigned metric, enum pf_metric_view view)
{
    struct pf_error error;
    struct pf_buf text = {0};
    unsigned char saved[64];
    size_t size = 0;
    int more = 1;
    while (more > 0) {
        struct pf_walk *walk = fake_walk(fake, metric, view);
        if (size)
            must(!pf_walk_restore(walk, saved, size, &error));
        more = walk->ops->next(walk, &text, &error);
        size = pf_walk_save(walk, saved, sizeof saved);
        walk->ops->close(walk);
    }
    pf_buf_char(&text, '\0');
    must(!text.failed);
    return text;
}

/* True if measure() returns the length of each record of a view, even after the walk is restored from a saved position. */
FAKE bool fake_measures(struct fake *fake, unsigned metric, enum pf_metric_view view)
{
    struct pf_error error;
    struct pf_buf text = {0};
    struct pf_walk *walk = fake_walk(fake, metric, view), *measuring = fake_walk(fake, metric, view);
    bool right = true;
    int more = 1;
    for (int n = 1; more > 0 && right && walk->ops->measure; n++) {
        unsigned char saved[64];
        uint64_t size = 0, before = text.size;
        if (n % 5 == 0)
            must(!pf_walk_restore(measuring, saved, pf_walk_save(walk, saved, sizeof saved), &error));
        more = walk->ops->next(walk, &text, &error);
        right = measuring->ops->measure(measuring, &size, &error) == more && size == text.size - before;
    }
    walk->ops->close(walk);
    measuring->ops->close(measuring);
    must(!text.failed);
    pf_buf_free(&text);
    return right;
}

/* Checks a view's text, once read in a single walk and once resumed at each record. */
FAKE void shows(struct fake *fake, unsigned metric, enum pf_metric_view view, const char *want,
                const char *behaviour)
{
    struct pf_buf text = fake_text(fake, metric, view);
    struct pf_buf resumed = fake_resumed_text(fake, metric, view);
    if (is(text.data, want, behaviour) && strcmp(text.data, resumed.data) != 0)
        is(resumed.data, want, "the same text is read from saved positions");
    if (!fake_measures(fake, metric, view))
        ok(false, "the records are as long as they are measured");
    pf_buf_free(&text);
    pf_buf_free(&resumed);
}

#endif
