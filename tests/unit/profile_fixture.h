/* SPDX-License-Identifier: MIT */
#ifndef PROFILE_FIXTURE_H
#define PROFILE_FIXTURE_H

#include "formats/driver_extra.h"
#include "formats/probe.h"
#include "fs/profile/profile_private.h"
#include "fs/profile/views.h"
#include "tests/unit/fake_tables.h"
#include "tests/unit/gate.h"
#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

/*
 * A driver for a made-up format. A file has "PARTITIONS CONTEXTS EVENTS" in digits, and may have a sibling NAME.extra. Tests can make the
 * driver's stages block and fail.
 */
struct control {
    struct gate *gate[PF_STAGES]; /* the gate at which a stage waits first */
    struct gate *probe_gate;      /* the gate at which the probe of a file named "slow" waits first */
    int fails[PF_STAGES];         /* the errno value with which a stage fails; 0: it succeeds */
    atomic_int probes, opens, closes, loads[PF_STAGES];
    bool alone;     /* the driver does not look up NAME.extra */
    unsigned skips; /* how the table of values skips other metrics' data: PF_SEEKS_METRIC, PF_SKIMS_METRIC */
    bool leans;     /* aggregates of metric 0 need metric 1 too, but not vice versa */
    int changes;    /* number of cursors over events that will fail because their data was superseded */
    int64_t restored;
};
static struct control control;

static int open_made_up(struct pf_model *model, struct pf_error *error)
{
    struct pf_input *input, *extra;
    struct pf_error absent;
    char text[64] = "";
    unsigned partitions, contexts, events;
    atomic_fetch_add(&control.opens, 1);
    if (control.gate[PF_OPENED])
        gate_pass(control.gate[PF_OPENED]);
    if (pf_source_open(model->source, NULL, PF_RAW, &input, error) ||
        pf_input_read(input, text, sizeof text - 1, 0, error) < 0)
        return -1;
    if (!control.alone)
        pf_source_open(model->source, "log.extra", PF_RAW, &extra, &absent);
    if (sscanf(text, "%u %u %u", &partitions, &contexts, &events) != 3)
        return pf_fail_at(error, EINVAL, 0, "not three numbers");
    struct fake_tables *fake = calloc(1, sizeof *fake);
    if (!fake)
        return pf_fail_memory(error);
    fake->partitions = partitions;
    fake->contexts = contexts;
    fake->events = events;
    fake->changes_left = control.changes;
    fake_tables_open(fake, model);
    fake->tables[FAKE_VALUES].flags |= control.skips;
    if (control.leans) {
        fake->metrics[0].partner = 1;
        fake->metrics[1].over_contexts = PF_OVER_ROOTS;
    }
    return 0;
}

static int load_made_up(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    atomic_fetch_add(&control.loads[stage], 1);
    if (control.gate[stage])
        gate_pass(control.gate[stage]);
    if (control.fails[stage])
        return pf_fail(error, control.fails[stage], "the stage can't be loaded");
    if (pf_pass_step(1, 1, error))
        return -1;
    return fake_tables_load(model->state, model, stage, error);
}

static void close_made_up(struct pf_model *model)
{
    atomic_fetch_add(&control.closes, 1);
    if (model->state)
        fake_tables_close(model->state);
    free(model->state);
}

/* Accepts files that begin with a digit or the word `broken`. */
static void probe_made_up(struct pf_probe *probe, struct pf_probe_result *result)
{
    size_t have;
    const unsigned char *bytes = pf_probe_head(probe, 8, &have);
    atomic_fetch_add(&control.probes, 1);
    if (control.probe_gate && !strcmp(probe->name, "slow"))
        gate_pass(control.probe_gate);
    if (have && ((bytes[0] >= '0' && bytes[0] <= '9') || (have >= 6 && !memcmp(bytes, "broken", 6))))
        result->confidence = 8;
}

static size_t facts_made_up(const struct pf_model *model, void *saved, size_t room)
{
    int64_t fact = fake_of(model)->fact;
    if (room >= sizeof fact)
        memcpy(saved, &fact, sizeof fact);
    return sizeof fact;
}

static int restore_made_up(struct pf_model *model, const void *saved, size_t size, struct pf_error *error)
{
    int64_t fact;
    if (size != sizeof fact)
        return pf_fail(error, EINVAL, "not a fact");
    memcpy(&fact, saved, size);
    fake_of(model)->fact = control.restored = fact;
    return 0;
}

static struct pf_driver_extra made_up_extra = {.facts = facts_made_up, .restore = restore_made_up};

static struct pf_driver made_up_driver = {.name = "made-up",
                                          .title = "made-up profiles",
                                          .version = 1,
                                          .probe = probe_made_up,
                                          .open = open_made_up,
                                          .load = load_made_up,
                                          .close = close_made_up,
                                          .extra = &made_up_extra};

/* ---- the environment of profiles ------------------------------------------------------------------- */

__attribute__((unused)) static void env_init(struct pf_env *env, const char *cache_folder)
{
    *env = (struct pf_env){.pool = pf_pool_new(2),
                           .blocks = pf_blocks_new(8 << 20),
                           .options = {.cache = 16 << 20},
                           .cache = cache_folder ? pf_cache_new(cache_folder) : NULL,
                           .next_text = 1};
}

__attribute__((unused)) static void env_end(struct pf_env *env)
{
    pf_pool_free(env->pool);
    pf_blocks_free(env->blocks);
    pf_cache_free(env->cache);
}

/* Opens a profile without a path; takes ownership of the source. Returns NULL with *error filled on failure. */
static struct pf_profile *open_profile_of(struct pf_env *env, struct pf_source *source,
                                          struct pf_error *error)
{
    struct pf_profile *profile = pf_profile_new(env, &made_up_driver, error);
    if (!profile) {
        pf_source_free(source);
        return NULL;
    }
    profile->source = source;
    if (!pf_profile_open_here(profile, error))
        return profile;
    pf_profile_release(profile);
    return NULL;
}

/* Saves the results of passes in the cache, however short the passes were. */
__attribute__((unused)) static void save_results(struct pf_profile *profile)
{
    pf_datum_put_passes(profile);
    profile->unsaved_ns = 0;
}

/* Returns the profile FOLDER/log, or NULL. */
__attribute__((unused)) static struct pf_profile *profile_in(struct pf_env *env, const char *folder,
                                                             struct pf_error *error)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct pf_source *source = pf_source_new(fd, "log", error);
    close(fd);
    return source ? open_profile_of(env, source, error) : NULL;
}

/* ---- every file of a profile --------------------------------------------------------------------- */

struct visit {
    void (*file)(struct visit *visit, struct pf_node node, const char *path);
    struct pf_env *env;
    struct pf_profile *profile;
    unsigned files, folders, wrong;
    struct pf_buf paths; /* one per line */
};

/* Visits everything below a folder, files and folders in the order of their entries. */
__attribute__((unused)) static void visit_all(struct visit *visit, struct pf_node folder, const char *path)
{
    char name[256], below[4096];
    struct pf_node entry;
    struct pf_op op = PF_OP;
    visit->folders++;
    if (pf_profile_ready(visit->profile, folder, &op))
        return;
    for (uint64_t i = 0; pf_folder_entry(visit->profile, folder, i, name, &entry); i++) {
        snprintf(below, sizeof below, "%s/%s", path, name);
        pf_buf_printf(&visit->paths, "%s\n", below + 1);
        if (pf_is_folder(entry.kind)) {
            visit_all(visit, entry, below);
        } else {
            visit->files++;
            visit->file(visit, entry, below);
        }
    }
}

/* ---- requesting and waiting --------------------------------------------------------------------- */

__attribute__((unused)) static int stage_of(struct pf_profile *profile, enum pf_stage stage,
                                            struct pf_error *error)
{
    struct pf_op op = PF_OP;
    int result = pf_profile_stage(profile, stage, &op);
    *error = op.error;
    return result;
}

__attribute__((unused)) static int size_of(struct pf_profile *profile, struct pf_node node, uint64_t *size,
                                           struct pf_error *error)
{
    struct pf_op op = PF_OP;
    int result = pf_profile_size(profile, node, size, &op);
    *error = op.error;
    return result;
}

/* Reads a whole file in pieces of `step` bytes. Returns -1 with *error set on failure. */
__attribute__((unused)) static int read_file(struct pf_env *env, struct pf_profile *profile,
                                             struct pf_node node, size_t step, struct pf_buf *out,
                                             struct pf_error *error)
{
    struct pf_file *file;
    struct pf_op op = PF_OP;
    int n = 1, result = pf_file_open(profile, node, &file, &op);
    if (result) {
        *error = op.error;
        return result;
    }
    while (!result && n) {
        struct pf_span spans[PF_SPANS];
        result = pf_file_read(file, out->size, step, spans, &n, &op);
        for (int i = 0; !result && i < n; i++) {
            pf_buf_add(out, spans[i].block->data + spans[i].offset, spans[i].size);
            pf_blocks_release(env->blocks, spans[i].block);
        }
    }
    pf_file_close(file);
    *error = op.error;
    return result;
}

#endif
