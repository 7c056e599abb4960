/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/hpctoolkit/read.h"
#include "formats/probe.h"

extern const struct pf_driver pf_hpctoolkit_driver;

/* ---- probing ------------------------------------------------------------------------------------------ */

static void probe_meta(struct pf_probe *probe, struct pf_probe_result *result)
{
    unsigned char bytes[16];
    if (pf_probe_head_of(probe, "meta.db", bytes, sizeof bytes) < sizeof bytes ||
        memcmp(bytes, HPC_META_MAGIC, HPC_META_VERSION) != 0)
        return;
    result->confidence = 32;
    snprintf(result->version, sizeof result->version, "%u.%u", bytes[HPC_META_VERSION],
             bytes[HPC_META_VERSION + 1]);
    if (bytes[HPC_META_VERSION] != 4)
        snprintf(result->message, sizeof result->message, "this version of meta.db is not supported");
}

/* An inline DTD of about 9 KB may precede the root element. */
static void probe_experiment(struct pf_probe *probe, struct pf_probe_result *result)
{
    enum { HEAD = 32 * 1024 };
    char *bytes = malloc(HEAD + 1);
    if (!bytes) {
        pf_probe_failed(probe, ENOMEM);
        return;
    }
    bytes[pf_probe_head_of(probe, "experiment.xml", (unsigned char *)bytes, HEAD)] = 0;
    char *root = strstr(bytes, "<HPCToolkitExperiment"), *end = root ? strchr(root, '>') : NULL;
    if (end)
        *end = 0;
    const char *version = end ? strstr(root, "version=\"") : NULL;
    if (version && strchr(version + 9, '"') && sscanf(version, "version=\"%23[^\"]", result->version) == 1) {
        result->confidence = 32;
        if (strncmp(result->version, "4.", 2) != 0 && strncmp(result->version, "2.", 2) != 0)
            snprintf(result->message, sizeof result->message, "experiment.xml of version %s is not supported",
                     result->version);
    }
    free(bytes);
}

static void probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    if (pf_probe_has(probe, "meta.db"))
        probe_meta(probe, result);
    if (!result->confidence && pf_probe_has(probe, "experiment.xml"))
        probe_experiment(probe, result);
}

/* Other files in the folder (notes on the format, formulas of metrics) do not affect the profile. */
static bool name_matters(const char *name)
{
    static const char *const ends[] = {"src", ".db", ".xml", ".metric-db", ".hpctrace", ".mdb", ".mt"};
    size_t size = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (size >= strlen(ends[i]) && !strcmp(name + size - strlen(ends[i]), ends[i]))
            return true;
    return false;
}

/* ---- opening ------------------------------------------------------------------------------------------ */

static int open_description(struct pf_model *model, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(model);
    if (!pf_source_open(model->source, "meta.db", PF_RAW, &state->description, error))
        return hpc_meta_open(model, notes, error);
    if (error->code != ENOENT)
        return -1;
    *error = (struct pf_error){0};
    if (pf_source_open(model->source, "experiment.xml", PF_RAW, &state->description, error))
        return -1;
    return hpc_experiment_open(model, notes, error);
}

static int add_layout(struct pf_model *model, struct pf_error *error)
{
    static const char *const layouts[] = {
        [HPC_META] = "meta.db",
        [HPC_DRAFT] = "meta.db (draft)",
        [HPC_XML4] = "experiment.xml with profile.db",
        [HPC_OLD] = "experiment.xml with metric-db",
    };
    struct pf_cell layout[] = {pf_string("Layout"), pf_string(layouts[hpc_state(model)->layout])};
    return pf_rows_add(model->info, layout, error);
}

static int open_files(struct pf_model *model, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(model);
    if (open_description(model, notes, error))
        return -1;
    state->big_endian = state->layout == HPC_XML4 || state->layout == HPC_OLD;
    return add_layout(model, error) ||
                   (state->layout == HPC_OLD ? hpc_parts_open(model, error)
                                             : hpc_profiles_open(model, notes, error)) ||
                   hpc_set_tables(model, error)
               ? -1
               : 0;
}

static int open_database(struct pf_model *model, struct pf_error *error)
{
    struct pf_notes notes = {0};
    struct hpc_state *state = model->state = calloc(1, sizeof *state);
    if (!state || !(state->strings = pf_strings_new()))
        return pf_fail_memory(error);
    int failed = open_files(model, &notes, error) || pf_notes_publish(&notes, model, error);
    pf_notes_free(&notes);
    return failed ? -1 : 0;
}

/* ---- loading ------------------------------------------------------------------------------------------ */

static int load(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(model);
    struct pf_notes notes = {0};
    int failed = 0;
    if (stage == PF_PARTITIONED)
        failed = state->layout == HPC_OLD ? hpc_parts_load(model, &notes, error)
                                          : hpc_profiles_load(model, &notes, error);
    else if (stage == PF_MODELLED)
        failed = hpc_model_load(model, &notes, error);
    else if (stage == PF_DERIVED && state->profile_db)
        failed = hpc_index_load(state, error);
    failed = failed || pf_notes_publish(&notes, model, error);
    pf_notes_free(&notes);
    return failed ? -1 : 0;
}

static void close_database(struct pf_model *model)
{
    struct hpc_state *state = model->state;
    if (!state)
        return;
    hpc_metrics_free(state);
    hpc_threads_free(&state->threads);
    hpc_model_free(&state->model);
    pf_notes_free(&state->broken);
    hpc_index_free(&state->index);
    hpc_parts_free(state->parts);
    free(state->identifiers);
    free(state->tables);
    pf_strings_free(state->strings);
    free(state);
    model->state = NULL;
}

const struct pf_driver pf_hpctoolkit_driver = {
    .name = "hpctoolkit",
    .title = "HPCToolkit database (meta.db, or experiment.xml 4.0 and 2.x)",
    .version = 12,
    .matters = name_matters,
    .directories = true,
    .probe = probe,
    .open = open_database,
    .load = load,
    .close = close_database,
};
