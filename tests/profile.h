/* SPDX-License-Identifier: MIT */
#ifndef TEST_PROFILE_H
#define TEST_PROFILE_H

#include <stdlib.h>

#include "formats/driver.h"
#include "formats/model.h"

/* Tests of drivers open profiles by these functions, without the core. */

/* Opens the file or folder `name` of `folder`. Returns 0, or -1 with *error filled; in either case the caller calls profile_close. */
static inline int profile_open(struct pf_model *model, const struct pf_driver *driver, int folder,
                               const char *name, const struct pf_options *options, struct pf_error *error)
{
    struct pf_source *source = pf_source_new(folder, name, error);
    if (!source)
        abort();
    pf_source_set_matters(source, driver->matters);
    return pf_model_open(model, driver, source, options, error);
}

static inline void profile_close(struct pf_model *model)
{
    struct pf_source *source = model->source;
    pf_model_end(model);
    pf_source_free(source);
}

#endif
