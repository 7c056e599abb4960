/* SPDX-License-Identifier: MIT */
#include "formats/model.h"
#include "tests/profile.h"
#include "tests/unit/tap.h"

/* The tables and texts that the core adds to those of a driver. */

static const struct pf_table values = {.name = "values"};

static int open_measuring(struct pf_model *model, struct pf_error *error)
{
    (void)error;
    model->values = &values;
    return 0;
}

static int open_index(struct pf_model *model, struct pf_error *error)
{
    (void)model, (void)error;
    return 0;
}

static void close_nothing(struct pf_model *model)
{
    (void)model;
}

static void thread_all(void)
{
    static const struct pf_driver measuring = {.open = open_measuring, .close = close_nothing};
    static const struct pf_driver of_others = {.open = open_index, .close = close_nothing};
    struct pf_model model;
    struct pf_error error;
    struct pf_options options = {0};
    ok(!pf_model_open(&model, &measuring, NULL, &options, &error) &&
           !strcmp(model.partitions.plural, "threads") && pf_rows_count(model.partitions.items) == 1,
       "a format without partitions has one thread");
    struct pf_cell name = pf_rows_at(model.partitions.items, 0)[1];
    ok(name.size == 3 && !memcmp(name.text, "all", 3),
       "the thread of a format without partitions is named all");
    pf_model_end(&model);
    ok(!pf_model_open(&model, &of_others, NULL, &options, &error) && !model.partitions.plural,
       "a profile without measurements has no threads");
    pf_model_end(&model);
}

int main(void)
{
    thread_all();
    return done();
}
