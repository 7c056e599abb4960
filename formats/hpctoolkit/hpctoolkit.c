/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/hpctoolkit/meta.h"
#include "formats/hpctoolkit/read.h"

extern const struct pf_driver pf_hpctoolkit_driver;

#define KIND(name, severity, code) [HPC_NOTE_##name] = {severity, code, NULL},
const struct pf_note_kind hpc_note_kinds[HPC_NOTE_KINDS] = {HPC_NOTES(KIND)};

/* ---- probing ------------------------------------------------------------------------------------------ */

static void probe_meta(struct pf_probe *probe, struct pf_verdict *verdict)
{
    unsigned char bytes[16];
    if (pf_probe_head_of(probe, "meta.db", bytes, sizeof bytes) < sizeof bytes ||
        memcmp(bytes, "HPCTOOLKITmeta", HPC_META_NAME) != 0)
        return;
    verdict->confidence = 32;
    snprintf(verdict->version, sizeof verdict->version, "%u.%u", bytes[14], bytes[15]);
    if (bytes[14] != 4)
        snprintf(verdict->message, sizeof verdict->message, "this version of meta.db is not supported");
}

/* The version that the root element in a file's head (terminated by NUL) names; NULL if there is none. Changes the head. */
static const char *experiment_version(char *head)
{
    char *root = strstr(head, "<HPCToolkitExperiment"), *end = root ? strchr(root, '>') : NULL;
    if (!end)
        return NULL;
    *end = 0;
    char *version = strstr(root, "version=\"");
    if (!version)
        return NULL;
    version += strlen("version=\"");
    end = strchr(version, '"');
    if (!end || end == version)
        return NULL;
    *end = 0;
    return version;
}

/* An inline DTD of about 9 KB may stand before the root element. */
static void probe_experiment(struct pf_probe *probe, struct pf_verdict *verdict)
{
    enum { HEAD = 32 * 1024 };
    char *bytes = malloc(HEAD + 1);
    if (!bytes) {
        pf_probe_failed(probe, ENOMEM);
        return;
    }
    bytes[pf_probe_head_of(probe, "experiment.xml", (unsigned char *)bytes, HEAD)] = 0;
    const char *version = experiment_version(bytes);
    if (version) {
        verdict->confidence = 32;
        snprintf(verdict->version, sizeof verdict->version, "%s", version);
        if (strncmp(version, "4.", 2) != 0 && strncmp(version, "2.", 2) != 0)
            snprintf(verdict->message, sizeof verdict->message,
                     "experiment.xml of version %s is not supported", version);
    }
    free(bytes);
}

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    if (pf_probe_has(probe, "meta.db"))
        probe_meta(probe, verdict);
    if (!verdict->confidence && pf_probe_has(probe, "experiment.xml"))
        probe_experiment(probe, verdict);
}

/* What else stands in the folder (notes about the format, formulas of metrics) changes nothing. */
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

static int open_description(struct pf_profile *profile, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    if (!pf_source_open(profile->source, "meta.db", &state->description, error))
        return hpc_meta_open(profile, notes, error);
    if (error->code != ENOENT)
        return -1;
    *error = (struct pf_error){0};
    if (pf_source_open(profile->source, "experiment.xml", &state->description, error))
        return -1;
    return hpc_experiment_open(profile, notes, error);
}

static int add_layout(struct pf_profile *profile, struct pf_error *error)
{
    static const char *const layouts[] = {
        [HPC_META] = "meta.db",
        [HPC_DRAFT] = "meta.db (draft)",
        [HPC_XML4] = "experiment.xml with profile.db",
        [HPC_OLD] = "experiment.xml with metric-db",
    };
    const struct hpc_state *state = hpc_state(profile);
    struct pf_cell layout[] = {pf_string("Layout"), pf_string(layouts[state->layout])};
    /* As the writers made it unless they were told to keep the threads apart: nothing is wrong with it. */
    struct pf_cell values[] = {pf_string("Values"),
                               pf_string("summary.csv alone: there are no files of threads")};
    if (pf_rows_add(profile->info, layout, error))
        return -1;
    bool summary_alone = state->layout == HPC_OLD && !hpc_parts_have_values(state->parts);
    return summary_alone ? pf_rows_add(profile->info, values, error) : 0;
}

static void set_profile(struct pf_profile *profile)
{
    const struct hpc_state *state = hpc_state(profile);
    profile->partitions.singular = "thread";
    profile->partitions.plural = "threads";
    profile->partitions.field_columns = hpc_field_columns;
    profile->partitions.n_fields = HPC_FIELDS;
    profile->partitions.fields_stage = PF_PARTITIONED;
    profile->context_columns = hpc_context_columns;
    profile->n_context_columns = HPC_CONTEXT_COLUMNS;
    profile->context_cells = hpc_context_cells;
    profile->metrics = state->metrics.items;
    profile->n_metrics = state->metrics.count;
    profile->metrics_stage = PF_OPENED;
    profile->time_unit = "ns";
    profile->src = "src";
}

static int open_files(struct pf_profile *profile, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    if (open_description(profile, notes, error))
        return -1;
    state->big_endian = state->layout == HPC_XML4 || state->layout == HPC_OLD;
    if ((state->layout == HPC_OLD ? hpc_parts_open(profile, error)
                                  : hpc_profiles_open(profile, notes, error)) ||
        hpc_metrics_finish(state, error) || add_layout(profile, error) || hpc_set_tables(profile, error))
        return -1;
    set_profile(profile);
    return 0;
}

static int open_database(struct pf_profile *profile, struct pf_error *error)
{
    struct pf_notes notes = {0};
    struct hpc_state *state = profile->state = calloc(1, sizeof *state);
    if (!state || !(state->strings = pf_strings_new()))
        return pf_fail_memory(error);
    int failed = open_files(profile, &notes, error) || pf_notes_publish(&notes, profile, error);
    pf_notes_free(&notes);
    return failed ? -1 : 0;
}

/* ---- loading ------------------------------------------------------------------------------------------ */

static int load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    struct pf_notes notes = {0};
    int failed = 0;
    if (stage == PF_PARTITIONED)
        failed = state->layout == HPC_OLD ? hpc_parts_load(profile, &notes, pass, error)
                                          : hpc_profiles_load(profile, &notes, pass, error);
    else if (stage == PF_MODELLED)
        failed = hpc_contexts_load(profile, &notes, pass, error);
    else if (stage == PF_DERIVED && state->profile_db)
        failed = hpc_index_load(state, pass, error);
    failed = failed || pf_notes_publish(&notes, profile, error);
    pf_notes_free(&notes);
    return failed ? -1 : 0;
}

static void close_database(struct pf_profile *profile)
{
    struct hpc_state *state = profile->state;
    if (!state)
        return;
    hpc_metrics_free(state);
    hpc_threads_free(&state->threads);
    hpc_model_free(&state->model);
    pf_notes_free(&state->broken);
    hpc_index_free(state->index);
    hpc_parts_free(state->parts);
    free(state->identifiers.names);
    free(state->tables);
    pf_strings_free(state->strings);
    free(state);
    profile->state = NULL;
}

const struct pf_driver pf_hpctoolkit_driver = {
    .name = "hpctoolkit",
    .title = "HPCToolkit database (meta.db, or experiment.xml 4.0 and 2.x)",
    .version = 6,
    .matters = name_matters,
    .directories = true,
    .probe = probe,
    .open = open_database,
    .load = load,
    .close = close_database,
};
