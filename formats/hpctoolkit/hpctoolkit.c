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

/* Searches the first 32 KB for the root element, since an inline DTD of about 9 KB may precede it. */
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

static void probe_database(struct pf_probe *probe, struct pf_probe_result *result)
{
    if (pf_probe_has(probe, "meta.db"))
        probe_meta(probe, result);
    if (!result->confidence && pf_probe_has(probe, "experiment.xml"))
        probe_experiment(probe, result);
}

/* True for the names of files that the driver may read. Other files, such as notes on the format, do not affect the profile. */
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

/* Opens and reads meta.db or, if there is none, experiment.xml. Sets the const char * at `arg` to the name of the file. */
static void read_description(struct pf_run *run, void *arg)
{
    struct hpc_state *state = hpc_state(run->model);
    const char **name = arg;
    if (!pf_source_open(run->model->source, *name, PF_RAW, &state->description, run->error)) {
        hpc_meta_open(run);
        return;
    }
    if (run->error->code != ENOENT)
        pf_run_fail(run);
    *name = "experiment.xml";
    pf_run_check(run, pf_source_open(run->model->source, *name, PF_RAW, &state->description, run->error));
    hpc_experiment_open(run);
}

static void open_files(struct pf_run *run, void *arg)
{
    static const char *const layouts[] = {
        [HPC_META] = "meta.db",
        [HPC_DRAFT] = "meta.db (draft)",
        [HPC_XML4] = "experiment.xml with profile.db",
        [HPC_OLD] = "experiment.xml with metric-db",
    };
    struct hpc_state *state = run->model->state = pf_run_memory(run, calloc(1, sizeof *state));
    const char *name = "meta.db";
    (void)arg;
    state->strings = pf_run_memory(run, pf_strings_new());
    if (pf_run_call(run, read_description, &name)) {
        if (!*run->error->where)
            snprintf(run->error->where, sizeof run->error->where, "%s", name);
        pf_run_fail(run);
    }
    state->big_endian = state->layout == HPC_XML4 || state->layout == HPC_OLD;
    struct pf_cell layout[] = {pf_string("Layout"), pf_string(layouts[state->layout])};
    pf_run_check(run, pf_rows_add(run->model->info, layout, run->error));
    if (state->layout == HPC_OLD)
        hpc_parts_open(run);
    else
        hpc_profiles_open(run);
    hpc_set_tables(run);
}

static int open_database(struct pf_model *model, struct pf_error *error)
{
    return pf_run(model, open_files, NULL, error);
}

/* ---- loading ------------------------------------------------------------------------------------------ */

static void load_threads(struct pf_run *run)
{
    struct hpc_state *state = hpc_state(run->model);
    hpc_threads_free(&state->threads); /* the threads of an earlier attempt that failed */
    PF_OWN(run, &state->threads, hpc_threads_free);
    if (state->layout == HPC_OLD)
        hpc_parts_load(run);
    else
        hpc_profiles_load(run);
    hpc_publish_threads(run);
    pf_disown(run, &state->threads);
}

static void load_database_stage(struct pf_run *run, void *arg)
{
    enum pf_stage stage = *(const enum pf_stage *)arg;
    if (stage == PF_PARTITIONED)
        load_threads(run);
    else if (stage == PF_MODELLED)
        hpc_model_load(run);
    else if (stage == PF_DERIVED && hpc_state(run->model)->profile_db)
        hpc_index_load(run);
}

static int load_database(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    return pf_run(model, load_database_stage, &stage, error);
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
    .version = 15,
    .matters = name_matters,
    .directories = true,
    .probe = probe_database,
    .open = open_database,
    .load = load_database,
    .close = close_database,
};
