/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/kit/hash.h"
#include "fs/profile/live_private.h"
#include "fs/profile/names.h"
#include "fs/version.h"

/*
 * What is known of a profile from an earlier time, and keeping what is learnt. One entry of the database a source and set of
 * options, so that a new version takes the place of the old one's: what text depends on, the inputs, then what is known.
 */

/* Where the source stands below SOURCE, allocated: a profile beside what a folder holds is made from that. */
static char *source_path(const struct pf_core *core, const struct pf_driver *driver, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t size = !driver->beside ? strlen(path) : slash ? (size_t)(slash - path) : 0;
    return size ? strndup(path, size) : strdup(core->root_name ? core->root_name : ".");
}

/* One whose source is closed. */
static struct pf_live *live_below(struct pf_core *core, const struct pf_driver *driver, const char *path,
                                  struct pf_error *error)
{
    struct pf_live *live = pf_live_new(core, driver, error);
    char *where = live ? source_path(core, driver, path) : NULL;
    if (where && (live->path = strdup(path)))
        live->source = pf_source_at(core->top, where, driver->directories, error);
    free(where);
    if (live && live->source) {
        pf_source_set_matters(live->source, driver->matters);
        return live;
    }
    pf_fail_memory(error);
    pf_live_release(live);
    return NULL;
}

/* ---- what text depends on, as bytes ------------------------------------------------------------- */

static void pack_text(struct pf_buf *out, const char *text)
{
    pf_pack_u64(out, text ? strlen(text) + 1 : 0);
    if (text)
        pf_buf_str(out, text);
}

/* All but the inputs. */
static void pack_versions(const struct pf_live *live, struct pf_buf *out)
{
    const struct pf_options *options = &live->core->options;
    pf_pack_u64(out, PF_MACHINE);
    pack_text(out, live->driver->name);
    pf_pack_u64(out, live->driver->version);
    pf_pack_u64(out, PF_RENDERER_VERSION);
    pf_pack_u64(out, PF_LAST_FOLDER << 16 | PF_METRIC_FILE); /* kinds of nodes are kept by their numbers */
    pack_text(out, options->metric);
    pack_text(out, options->instr_map);
    pf_pack_u64(out, live->core->others); /* who may read is told by other rules */
}

/* A number, and so many of each a name and a stamp. */
void pf_live_inputs(const struct pf_live *live, struct pf_buf *out)
{
    uint64_t n = pf_source_input_count(live->source);
    pf_pack_u64(out, n);
    for (size_t i = 0; i < n; i++) {
        struct pf_stamp stamp;
        pack_text(out, pf_source_input_at(live->source, i, &stamp));
        pf_buf_add(out, (const char *)&stamp, sizeof stamp);
    }
}

/* Takes an input off: its name in `room`, or NULL, the source itself. False: they are not sound. */
static bool next_input(struct pf_unpack *in, char room[PATH_MAX], const char **name, struct pf_stamp *stamp)
{
    uint64_t size = pf_unpack_u64(in);
    const char *text = size && size <= PATH_MAX ? pf_unpack_bytes(in, size - 1) : NULL;
    const void *bytes = !size || text ? pf_unpack_bytes(in, sizeof *stamp) : NULL;
    if (!bytes)
        return false;
    memcpy(stamp, bytes, sizeof *stamp);
    if (size) {
        memcpy(room, text, size - 1);
        room[size - 1] = 0;
    }
    *name = size ? room : NULL;
    return true;
}

int pf_live_expect(struct pf_live *live, const char *inputs, size_t size, struct pf_error *error)
{
    char room[PATH_MAX];
    const char *name;
    struct pf_stamp stamp;
    for (int known = 0; known < 2; known++) { /* none is recorded before all have been compared */
        struct pf_unpack in = {inputs, inputs + size, false};
        for (uint64_t left = pf_unpack_u64(&in); left; left--) {
            if (!next_input(&in, room, &name, &stamp))
                return pf_fail(error, ESTALE, "the file has changed");
            int same = known ? 1 : pf_source_matches(live->source, name, &stamp);
            if (same != 1)
                return pf_fail(error, same ? -same : ESTALE, "%s",
                               same ? strerror(-same) : "the file has changed");
            if (known && pf_source_know(live->source, name, &stamp, error))
                return -1;
        }
    }
    return 0;
}

bool pf_live_is_one_file(struct pf_live *live)
{
    return live->path && !live->driver->directories && pf_source_input_count(live->source) == 1;
}

/* ---- recalling and keeping ---------------------------------------------------------------------- */

static bool has_a_key(const struct pf_live *live)
{
    return live->key && live->path && live->core->cachedb;
}

/*
 * Where others are let in, what is known must tell who may read. Of one file that is its own mode and list, whose changes show in
 * its stamp; elsewhere folders and files that are no inputs count, too.
 */
static bool keeps_what_it_learns(struct pf_live *live)
{
    return has_a_key(live) && (!live->core->others || pf_live_is_one_file(live));
}

static bool lies_in_archive(const struct pf_live *live)
{
    struct stat st;
    return pf_folder_fd(live->core->top) < 0 ||
           (fstatat(live->core->root, live->path, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOTDIR);
}

static uint64_t key_of(const struct pf_live *live, const struct stat *st)
{
    struct pf_buf key = {0};
    uint64_t hash = 0;
    pf_pack_u64(&key, st->st_dev);
    pf_pack_u64(&key, st->st_ino);
    if (lies_in_archive(live)) /* whose members are all one file */
        pf_buf_str(&key, live->path);
    pack_versions(live, &key);
    if (!key.failed)
        hash = pf_hash(0, key.data, key.size);
    pf_buf_free(&key);
    return hash;
}

void pf_live_pack_head(struct pf_live *live, struct pf_buf *out)
{
    struct pf_buf inputs = {0};
    struct pf_access access = pf_live_access(live);
    pf_live_inputs(live, &inputs);
    pack_versions(live, out);
    pf_pack_u64(out, inputs.size);
    pf_buf_add(out, inputs.data, inputs.size);
    pf_buf_add(out, (const char *)&access, sizeof access);
    out->failed |= inputs.failed;
    pf_buf_free(&inputs);
}

bool pf_live_unpack_head(struct pf_live *live, struct pf_unpack *in, struct pf_access *access)
{
    struct pf_buf versions = {0};
    struct pf_error error;
    pack_versions(live, &versions);
    const void *stored = pf_unpack_bytes(in, versions.size);
    bool same = !versions.failed && stored && !memcmp(stored, versions.data, versions.size);
    pf_buf_free(&versions);
    uint64_t size = same ? pf_unpack_u64(in) : 0;
    const char *inputs = same ? pf_unpack_bytes(in, size) : NULL;
    const void *who = inputs ? pf_unpack_bytes(in, sizeof *access) : NULL;
    if (!who || pf_live_expect(live, inputs, size, &error))
        return false;
    memcpy(access, who, sizeof *access);
    return true;
}

/* True if something is known of what stands there now. */
static bool recall_known(struct pf_live *live)
{
    size_t size = 0;
    char *bytes = has_a_key(live) ? pf_cachedb_get(live->core->cachedb, live->key, &size) : NULL;
    struct pf_unpack in = {bytes, bytes ? bytes + size : NULL, false};
    bool known = bytes && pf_live_unpack_head(live, &in, &live->access) && keeps_what_it_learns(live) &&
                 pf_known_unpack(&live->known, &in);
    free(bytes);
    if (!known)
        live->access = (struct pf_access){.mode = 0444};
    return known;
}

void pf_live_keep_known(struct pf_live *live)
{
    struct pf_buf out = {0};
    if (!keeps_what_it_learns(live) || !pf_known_is_changed(&live->known) || !pf_live_may_cache(live))
        return;
    pf_live_pack_head(live, &out);
    pf_known_pack(&live->known, &out);
    pf_cachedb_put(live->core->cachedb, live->key, &out);
    pf_buf_free(&out);
}

/* Parts stand beside what is known, since they are looked at apart. */
static uint64_t part_key_of(const struct pf_live *live, const struct stat *st)
{
    return pf_hash(key_of(live, st), "part", 4);
}

char *pf_live_recall_part(struct pf_core *core, const struct pf_driver *driver, const char *path,
                          const struct stat *st, size_t *size)
{
    struct pf_error error;
    struct pf_live *live = core->cachedb ? live_below(core, driver, path, &error) : NULL;
    if (!live)
        return NULL;
    size_t all = 0;
    char *bytes = pf_cachedb_get(core->cachedb, part_key_of(live, st), &all);
    struct pf_unpack in = {bytes, bytes ? bytes + all : NULL, false};
    if (bytes && pf_live_unpack_head(live, &in, &live->access)) {
        *size = (size_t)(in.end - in.at);
        memmove(bytes, in.at, *size);
    } else {
        free(bytes);
        bytes = NULL;
    }
    pf_live_release(live);
    return bytes;
}

void pf_live_keep_part(struct pf_live *live, const struct stat *st, const struct pf_buf *part)
{
    struct pf_buf out = {0};
    if (!live->path || !live->core->cachedb || !pf_live_intact(live))
        return;
    pf_live_pack_head(live, &out);
    pf_buf_add(&out, part->data, part->size);
    out.failed |= part->failed;
    pf_cachedb_put(live->core->cachedb, part_key_of(live, st), &out);
    pf_buf_free(&out);
}

struct pf_live *pf_live_at(struct pf_core *core, const struct pf_driver *driver, const char *path,
                           const struct stat *st, const struct pf_buf *inputs, struct pf_error *error)
{
    struct pf_live *live = live_below(core, driver, path, error);
    if (!live)
        return NULL;
    live->key = st ? key_of(live, st) : 0;
    bool others = inputs && inputs->size && pf_live_expect(live, inputs->data, inputs->size, error);
    if (others || (!recall_known(live) && pf_live_wake(live, error))) {
        pf_live_release(live);
        return NULL;
    }
    return live;
}

/* ---- learning ----------------------------------------------------------------------------------- */

/* Contexts are too many to be kept. */
void pf_live_learn_folder(struct pf_live *live, struct pf_node folder)
{
    struct pf_buf entries = {0};
    struct pf_node entry;
    char name[PF_NAME_MAX + 1];
    uint32_t n = 0;
    if (!keeps_what_it_learns(live) || folder.kind == PF_CONTEXT_DIR)
        return;
    for (; n <= PF_KNOWN_ENTRIES_MAX && pf_folder_entry(live, folder, n, name, &entry); n++)
        pf_known_list(&entries, entry, name);
    if (n <= PF_KNOWN_ENTRIES_MAX)
        pf_known_add_folder(&live->known, folder, n, &entries);
    pf_buf_free(&entries);
}

void pf_live_learn_file(struct pf_live *live, struct pf_node file, uint64_t size, const char *text)
{
    bool of_context = file.kind == PF_CONTEXT_INFO || pf_table_base(file.kind) == PF_TABLE_OF_CONTEXT;
    if (!keeps_what_it_learns(live) || (pf_table_of(file.kind) >= 0 && of_context) ||
        file.kind == PF_CONTEXT_INFO)
        return;
    pf_known_add_file(&live->known, file, size, text);
}

/* ---- links -------------------------------------------------------------------------------------- */

/* The text that the walk over a link's node gives. */
static int read_target(struct pf_live *live, struct pf_node node, char **target, struct pf_error *error)
{
    struct pf_buf text = {0};
    struct pf_lines *lines = pf_node_walk(live, node, error);
    int more = lines ? 1 : -1;
    while (more > 0)
        more = lines->ops->next(lines, &text, error);
    if (lines)
        lines->ops->close(lines);
    pf_buf_char(&text, '\0');
    if (more == 0 && !text.failed) {
        *target = text.data;
        return 0;
    }
    pf_buf_free(&text);
    return more < 0 ? -1 : pf_fail_memory(error);
}

int pf_live_link(struct pf_live *live, struct pf_node node, char **target, struct pf_job **job,
                 struct pf_error *error)
{
    uint64_t size;
    const char *hidden = pf_hidden_target(node.kind);
    if (hidden)
        return (*target = strdup(hidden)) ? 0 : pf_fail_memory(error);
    if (pf_known_file(&live->known, node, &size, target) && *target)
        return 0;
    int result = pf_live_ready(live, node, job, error);
    if (!result)
        result = read_target(live, node, target, error);
    if (!result && *target)
        pf_live_learn_file(live, node, strlen(*target), *target);
    return result;
}
