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

/*
 * What is known of a profile from an earlier time, and keeping what is learnt. One entry of the database a source and set of
 * options, so that a new version takes the place of the old one's: what text depends on, the inputs, then what is known.
 */

/* ---- inputs by path ----------------------------------------------------------------------------- */

/* Cuts the last name off a path and returns it. */
static char *cut_name(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    return slash ? slash + 1 : path;
}

/* Where the source stands below SOURCE ("": it is SOURCE), allocated: a profile beside what a folder holds is made from that. */
static char *source_path(const struct pf_driver *driver, const char *path)
{
    char *copy = strdup(path);
    if (copy && driver->beside && cut_name(copy) == copy)
        *copy = 0;
    return copy;
}

static struct pf_source *source_at(const struct pf_core *core, char *path, struct pf_error *error)
{
    const char *whole = core->root_name ? core->root_name : ".";
    char *name = *path ? cut_name(path) : NULL;
    if (!name || name == path)
        return pf_source_in(core->top, name ? name : whole, error);
    struct pf_folder *folder = pf_folder_open(core->top, path);
    if (!folder) {
        pf_fail(error, errno, "%s", strerror(errno));
        return NULL;
    }
    struct pf_source *source = pf_source_in(folder, name, error);
    pf_folder_free(folder);
    return source;
}

int pf_live_need_source(struct pf_live *live, struct pf_error *error)
{
    pthread_mutex_lock(&live->lock);
    bool there = live->source != NULL;
    pthread_mutex_unlock(&live->lock);
    if (there)
        return 0;
    char *path = live->path ? source_path(live->driver, live->path) : NULL;
    struct pf_source *source = path ? source_at(live->core, path, error) : NULL;
    if (!path)
        pf_fail(error, live->path ? ENOMEM : ESTALE, "%s", strerror(live->path ? ENOMEM : ESTALE));
    free(path);
    if (!source)
        return -1;
    pf_source_set_matters(source, live->driver->matters);
    if (live->core->others)
        pf_source_mind_others(source, live->driver->matters);
    pthread_mutex_lock(&live->lock);
    struct pf_source *spare = live->source;
    live->source = spare ? spare : source;
    pthread_mutex_unlock(&live->lock);
    if (spare)
        pf_source_free(source);
    return 0;
}

/* The input's path below SOURCE. False: it is a listing, or there is no room. */
static bool place_of(const struct pf_live *live, const char *name, char *out, size_t room)
{
    size_t size = strlen(live->path), last = name ? strlen(name) : 0;
    bool listing = name && (!strcmp(name, PF_FOLDER) || (last && name[last - 1] == '/'));
    if (listing || size + last + 2 > room || !size)
        return false;
    strcpy(out, name && *name == '/' ? name : live->path);
    if (!name || *name == '/')
        return true;
    if (!live->directory || live->driver->beside) { /* beside it, or in the folder that it stands in */
        char *slash = strrchr(out, '/');
        *(slash ? slash + 1 : out) = 0;
    } else {
        strcat(out, "/");
    }
    strcat(out, name);
    return true;
}

/* What stands at a path below SOURCE, or at an absolute one. False: it leads through an archive. */
static bool stamp_at(const struct pf_live *live, const char *path, struct pf_stamp *stamp)
{
    struct stat st;
    *stamp = (struct pf_stamp){0};
    if (*path != '/' && pf_folder_fd(live->core->top) < 0)
        return false; /* SOURCE is an archive */
    if (fstatat(live->core->root, path, &st, *path == '/' ? 0 : AT_SYMLINK_NOFOLLOW))
        return errno != ENOTDIR;
    if (S_ISREG(st.st_mode))
        *stamp = pf_stamp_of(&st);
    return true;
}

/* 0 if an input is as it was; else -1 with *error filled. */
static int check_input(struct pf_live *live, const char *name, const struct pf_stamp *stamp,
                       struct pf_error *error)
{
    char path[2 * PATH_MAX];
    struct pf_stamp now;
    bool plain = live->path && place_of(live, name, path, sizeof path) && stamp_at(live, path, &now);
    int same = plain                              ? pf_stamp_same(&now, stamp)
               : pf_live_need_source(live, error) ? -error->code
                                                  : pf_source_matches(live->source, name, stamp);
    if (same == 1)
        return 0;
    int code = same < 0 && pf_is_lack(-same) ? -same : ESTALE;
    return pf_fail(error, code, "%s", code == ESTALE ? "the file has changed" : strerror(code));
}

int pf_live_matches(struct pf_live *live, const char *inputs, size_t size, struct pf_error *error)
{
    struct pf_packed_inputs at;
    int more;
    pf_packed_inputs(&at, inputs, size);
    while ((more = pf_packed_input_next(&at)) > 0)
        if (check_input(live, at.name, &at.stamp, error))
            return -1;
    return more ? pf_fail(error, ESTALE, "the file has changed") : 0;
}

int pf_live_check_known(struct pf_live *live, struct pf_error *error)
{
    return live->inputs.size ? pf_live_matches(live, live->inputs.data, live->inputs.size, error) : 0;
}

/* The input is one of the open profile's. */
static bool is_open_input(const struct pf_live *live, const char *name)
{
    size_t n = live->source ? pf_source_input_count(live->source) : 0;
    struct pf_stamp stamp;
    for (size_t i = 0; i < n; i++) {
        const char *other = pf_source_input_at(live->source, i, &stamp);
        if (name && other ? !strcmp(name, other) : name == other)
            return true;
    }
    return false;
}

bool pf_live_has_more_inputs(const struct pf_live *live)
{
    struct pf_packed_inputs known;
    bool open = true;
    pf_packed_inputs(&known, live->inputs.data, live->inputs.size);
    while (live->inputs.size && open && pf_packed_input_next(&known) > 0)
        open = is_open_input(live, known.name);
    return !open;
}

void pf_live_inputs(const struct pf_live *live, struct pf_buf *out)
{
    struct pf_packed_inputs known;
    size_t start = out->size;
    uint64_t n = live->source ? pf_source_input_count(live->source) : 0;
    pf_pack_u64(out, n);
    for (size_t i = 0; i < n; i++) {
        struct pf_stamp stamp;
        const char *name = pf_source_input_at(live->source, i, &stamp);
        pf_live_pack_input(out, name, &stamp);
    }
    pf_packed_inputs(&known, live->inputs.data, live->inputs.size);
    while (live->inputs.size && pf_packed_input_next(&known) > 0)
        if (!is_open_input(live, known.name)) {
            pf_live_pack_input(out, known.name, &known.stamp);
            n++;
        }
    if (!out->failed)
        memcpy(out->data + start, &n, sizeof n);
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

static uint64_t key_of(const struct pf_live *live, const struct stat *st)
{
    struct pf_buf key = {0};
    uint64_t hash = 0;
    pf_pack_u64(&key, st->st_dev);
    pf_pack_u64(&key, st->st_ino);
    if (!stamp_at(live, live->path, &(struct pf_stamp){0})) /* all members of an archive are one file */
        pf_buf_str(&key, live->path);
    pf_live_pack_versions(live, &key);
    if (!key.failed)
        hash = pf_hash(0, key.data, key.size);
    pf_buf_free(&key);
    return hash;
}

/* What stands before that which is kept: what it depends on. */
static void pack_head(const struct pf_live *live, const struct pf_access *access, struct pf_buf *out)
{
    struct pf_buf inputs = {0};
    pf_live_inputs(live, &inputs);
    pf_live_pack_versions(live, out);
    pf_pack_u64(out, inputs.size);
    pf_buf_add(out, inputs.data, inputs.size);
    pf_buf_add(out, (const char *)access, sizeof *access);
    out->failed |= inputs.failed;
    pf_buf_free(&inputs);
}

/* Takes it off again. False: it is of other versions, or not sound. */
static bool unpack_head(struct pf_live *live, struct pf_unpack *in)
{
    struct pf_buf versions = {0};
    pf_live_pack_versions(live, &versions);
    const void *stored = pf_unpack_bytes(in, versions.size);
    bool same = !versions.failed && stored && !memcmp(stored, versions.data, versions.size);
    pf_buf_free(&versions);
    uint64_t inputs_size = same ? pf_unpack_u64(in) : 0;
    const char *inputs = same ? pf_unpack_bytes(in, inputs_size) : NULL;
    if (!inputs)
        return false;
    const struct pf_access *access = pf_unpack_bytes(in, sizeof *access);
    if (!access)
        return false;
    memcpy(&live->access, access, sizeof live->access);
    pf_buf_add(&live->inputs, inputs, inputs_size);
    return !live->inputs.failed;
}

static bool unpack(struct pf_live *live, const char *bytes, size_t size)
{
    struct pf_unpack in = {bytes, bytes + size, false};
    return unpack_head(live, &in) && pf_known_unpack(&live->known, &in);
}

/* True if something is known of what stands there now. */
static bool recall_known(struct pf_live *live)
{
    struct pf_error error;
    size_t size;
    char *bytes = has_a_key(live) ? pf_cachedb_get(live->core->cachedb, live->key, &size) : NULL;
    bool known = bytes && unpack(live, bytes, size) && keeps_what_it_learns(live) &&
                 !pf_live_check_known(live, &error);
    free(bytes);
    if (!known) {
        live->access = (struct pf_access){.mode = 0444};
        pf_known_free(&live->known);
        pf_buf_free(&live->inputs);
    }
    return known;
}

void pf_live_keep_known(struct pf_live *live)
{
    struct pf_buf out = {0};
    if (!keeps_what_it_learns(live) || !live->known.changed || !pf_live_intact(live))
        return;
    struct pf_access access = pf_live_access(live);
    pack_head(live, &access, &out);
    pthread_mutex_lock(&live->lock);
    pf_known_pack(&live->known, &out);
    live->known.changed = false;
    pthread_mutex_unlock(&live->lock);
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
    struct pf_live *live = core->cachedb ? pf_live_new(core, driver, &error) : NULL;
    if (!live)
        return NULL;
    live->path = strdup(path);
    live->directory = S_ISDIR(st->st_mode);
    size_t all = 0;
    char *bytes = live->path ? pf_cachedb_get(core->cachedb, part_key_of(live, st), &all) : NULL;
    struct pf_unpack in = {bytes, bytes ? bytes + all : NULL, false};
    if (bytes && unpack_head(live, &in) && !pf_live_check_known(live, &error)) {
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
    struct pf_access access = pf_live_access(live);
    pack_head(live, &access, &out);
    pf_buf_add(&out, part->data, part->size);
    out.failed |= part->failed;
    pf_cachedb_put(live->core->cachedb, part_key_of(live, st), &out);
    pf_buf_free(&out);
}

struct pf_live *pf_live_at(struct pf_core *core, const struct pf_driver *driver, const char *path,
                           const struct stat *st, struct pf_error *error)
{
    struct pf_live *live = pf_live_new(core, driver, error);
    if (!live)
        return NULL;
    live->path = strdup(path);
    live->directory = st && S_ISDIR(st->st_mode);
    live->key = st ? key_of(live, st) : 0;
    if (!live->path)
        pf_fail_memory(error);
    if (!live->path || (!recall_known(live) && pf_live_wake(live, error))) {
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
    pthread_mutex_lock(&live->lock);
    if (n <= PF_KNOWN_ENTRIES_MAX)
        pf_known_add_folder(&live->known, folder, n, &entries);
    pthread_mutex_unlock(&live->lock);
    pf_buf_free(&entries);
}

void pf_live_learn_file(struct pf_live *live, struct pf_node file, uint64_t size, const char *text)
{
    bool of_context = file.kind == PF_CONTEXT_INFO || pf_table_base(file.kind) == PF_TABLE_OF_CONTEXT;
    if (!keeps_what_it_learns(live) || (pf_table_of(file.kind) >= 0 && of_context) ||
        file.kind == PF_CONTEXT_INFO)
        return;
    pthread_mutex_lock(&live->lock);
    pf_known_add_file(&live->known, file, size, text);
    pthread_mutex_unlock(&live->lock);
}

int pf_live_known_entry(struct pf_live *live, struct pf_node folder, uint64_t number, char *name,
                        struct pf_node *entry)
{
    pthread_mutex_lock(&live->lock);
    int result = !pf_known_lists(&live->known, folder)
                     ? -1
                     : pf_known_entry(&live->known, folder, number, name, entry);
    pthread_mutex_unlock(&live->lock);
    return result;
}

int pf_live_known_find(struct pf_live *live, struct pf_node folder, const char *name, struct pf_node *entry)
{
    pthread_mutex_lock(&live->lock);
    int result =
        !pf_known_lists(&live->known, folder) ? -1 : pf_known_find(&live->known, folder, name, entry);
    pthread_mutex_unlock(&live->lock);
    return result;
}

bool pf_live_known_parent(struct pf_live *live, struct pf_node node, struct pf_node *parent, char *name)
{
    pthread_mutex_lock(&live->lock);
    bool known = pf_known_parent(&live->known, node, parent, name);
    pthread_mutex_unlock(&live->lock);
    return known;
}

bool pf_live_known_file(struct pf_live *live, struct pf_node file, uint64_t *size, char **text)
{
    const char *kept = NULL;
    pthread_mutex_lock(&live->lock);
    bool known = pf_known_file(&live->known, file, size, &kept);
    if (text)
        *text = known && kept ? malloc(*size + 1) : NULL;
    if (text && *text)
        memcpy(*text, kept, *size);
    pthread_mutex_unlock(&live->lock);
    return known;
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

int pf_live_link(struct pf_live *live, unsigned kind, uint32_t item, char **target, struct pf_job **job,
                 struct pf_error *error)
{
    struct pf_node node = {kind, item};
    uint64_t size;
    if (pf_live_known_file(live, node, &size, target) && *target) {
        (*target)[size] = 0;
        return 0;
    }
    int result = pf_live_ready(live, kind, item, job, error);
    if (!result)
        result = read_target(live, node, target, error);
    if (!result && *target)
        pf_live_learn_file(live, node, strlen(*target), *target);
    return result;
}
