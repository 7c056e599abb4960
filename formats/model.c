/* SPDX-License-Identifier: MIT */
#include "formats/model.h"
#include "formats/driver.h"

int pf_model_begin(struct pf_model *model, const struct pf_driver *driver, struct pf_source *source,
                   const struct pf_options *options, struct pf_error *error)
{
    *model = (struct pf_model){.driver = driver,
                               .source = source,
                               .options = options,
                               .info = pf_rows_new(2),
                               .warnings = pf_rows_new(5)};
    return model->info && model->warnings ? 0 : pf_fail_memory(error);
}

/* Adds the single partition of a model without partitions: a thread, "all". */
static int add_thread_all(struct pf_partitions *partitions, struct pf_error *error)
{
    struct pf_cell all[] = {pf_int(0), pf_string("all")};
    *partitions = (struct pf_partitions){.singular = "thread", .plural = "threads", .items = pf_rows_new(2)};
    return partitions->items ? pf_rows_add(partitions->items, all, error) : pf_fail_memory(error);
}

int pf_model_open(struct pf_model *model, const struct pf_driver *driver, struct pf_source *source,
                  const struct pf_options *options, struct pf_error *error)
{
    if (pf_model_begin(model, driver, source, options, error) || driver->open(model, error))
        return -1;
    model->metrics_late = model->values && !model->metrics;
    return model->values && !model->partitions.plural ? add_thread_all(&model->partitions, error) : 0;
}

int pf_model_load(struct pf_model *model, enum pf_stage last, struct pf_error *error)
{
    for (enum pf_stage stage = PF_PARTITIONED; stage <= last; stage++)
        if (model->driver->load(model, stage, error))
            return -1;
    return 0;
}

void pf_model_end(struct pf_model *model)
{
    model->driver->close(model);
    pf_rows_free(model->partitions.items);
    pf_rows_free(model->partitions.fields);
    pf_rows_free(model->info);
    pf_rows_free(model->warnings);
    pf_tree_free(model->contexts);
}
