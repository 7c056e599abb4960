/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/profile/names.h"
#include "fs/profile/profile_private.h"
#include "fs/text/pack.h"
#include "fs/version.h"

/*
 * The data of a profile in the cache: keys, heads, and the datum of the cached tree (pf_cached). The database has one
 * origin per profile and set of options, so a new version of a profile replaces the old one. The head of the origin
 * holds everything that the texts depend on, including the inputs, and the access rights.
 */

/* ---- versions and inputs as bytes --------------------------------------------------------------- */

static void pack_text(struct pf_buf *out, const char *text)
{
    pf_pack_u64(out, text ? strlen(text) + 1 : 0);
    if (text)
        pf_buf_str(out, text);
}

/* Appends the driver's name, the options that texts depend on, and the machine, which determines the byte order of the data. */
static void pack_options(const struct pf_profile *profile, struct pf_buf *out)
{
    const struct pf_options *options = &profile->env->options;
    pf_pack_u64(out, PF_MACHINE);
    pack_text(out, profile->driver->name);
    pack_text(out, options->metric);
    pack_text(out, options->instr_map);
    pf_pack_u64(out, profile->env->others); /* determines which access rules apply */
}

/* Appends everything that text depends on, except the inputs. */
static void pack_versions(const struct pf_profile *profile, struct pf_buf *out)
{
    pack_options(profile, out);
    pf_pack_u64(out, profile->driver->version);
    pf_pack_u64(out, PF_RENDERER_VERSION);
    /* Data refer to nodes by the number of their kind. These two numbers change when most kinds are added; a new view of metrics raises
     * PF_RENDERER_VERSION. */
    pf_pack_u64(out, PF_LAST_FOLDER << 16 | PF_METRIC_FILE);
}

/* Format: the number of inputs, then the name and stamp of each. */
void pf_profile_inputs(const struct pf_profile *profile, struct pf_buf *out)
{
    uint64_t n = pf_source_input_count(profile->source);
    pf_pack_u64(out, n);
    for (size_t i = 0; i < n; i++) {
        struct pf_stamp stamp;
        pack_text(out, pf_source_input_at(profile->source, i, &stamp));
        pf_buf_add(out, (const char *)&stamp, sizeof stamp);
    }
}

/* Parses one input. *name is a copy in `room`, or NULL for the source itself. False if the bytes are invalid. */
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

int pf_profile_expect(struct pf_profile *profile, const char *inputs, size_t size, struct pf_error *error)
{
    char room[PATH_MAX];
    const char *name;
    struct pf_stamp stamp;
    for (int record = 0; record < 2; record++) { /* first compare all, then record */
        struct pf_unpack in = {inputs, inputs + size, false};
        for (uint64_t left = pf_unpack_u64(&in); left; left--) {
            if (!next_input(&in, room, &name, &stamp))
                return pf_fail(error, ESTALE, "the file has changed");
            int same = record ? 1 : pf_source_matches(profile->source, name, &stamp);
            if (same != 1)
                return pf_fail(error, same ? -same : ESTALE, "%s",
                               same ? strerror(-same) : "the file has changed");
            if (record && pf_source_record(profile->source, name, &stamp, error))
                return -1;
        }
    }
    return 0;
}

/*
 * Records inputs without comparing them with the disk. A file whose stamp differs from the recorded one cannot be opened.
 * Returns 0 or -1; *error is not filled if the bytes are invalid.
 */
static int record_inputs(struct pf_profile *profile, const struct pf_buf *inputs, struct pf_error *error)
{
    char room[PATH_MAX];
    const char *name;
    struct pf_stamp stamp;
    struct pf_unpack in = {inputs->data, inputs->data + inputs->size, false};
    for (uint64_t left = pf_unpack_u64(&in); left; left--)
        if (!next_input(&in, room, &name, &stamp) || pf_source_record(profile->source, name, &stamp, error))
            return -1;
    return in.failed ? -1 : 0;
}

bool pf_profile_is_one_file(struct pf_profile *profile)
{
    return profile->path && !profile->driver->directories && pf_source_input_count(profile->source) == 1;
}

/* ---- keys --------------------------------------------------------------------------------------- */

static bool has_a_key(const struct pf_profile *profile)
{
    return profile->key && profile->path && profile->env->cache;
}

/*
 * True if the tree may be cached. If users other than the mounter may read, this holds only for a profile that is a single
 * file, whose stamp shows each change of its mode and access control list. Access to other profiles also depends on folders
 * and files that are not inputs.
 */
static bool caches_tree(struct pf_profile *profile)
{
    return has_a_key(profile) && (!profile->env->others || pf_profile_is_one_file(profile));
}

static bool lies_in_archive(const struct pf_profile *profile)
{
    pf_may_block();
    struct stat st;
    return pf_folder_fd(profile->env->top) < 0 ||
           (fstatat(profile->env->root, profile->path, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOTDIR);
}

/*
 * The path is part of the key if the device has no persistent number, and for a member of an archive, since all members
 * share the inode of the archive.
 */
uint64_t pf_profile_key(const struct pf_profile *profile, uint64_t device, uint64_t inode)
{
    struct pf_buf key = {0};
    uint64_t hash = 0;
    pf_pack_u64(&key, pf_lasting_device(device));
    pf_pack_u64(&key, inode);
    if (profile->path && (!pf_lasting_device(device) || lies_in_archive(profile)))
        pf_buf_str(&key, profile->path);
    pack_options(profile, &key);
    if (!key.failed && profile->env->cache)
        hash = pf_cache_key(profile->env->cache, key.data, key.size);
    pf_buf_free(&key);
    return hash;
}

uint64_t pf_profile_open_key(struct pf_profile *profile)
{
    struct pf_stamp stamp = {0};
    pf_source_input_at(profile->source, 0, &stamp);
    if (!profile->device)
        profile->device = stamp.device;
    return pf_profile_key(profile, stamp.device, stamp.inode);
}

/*
 * Replaces device number `device` by `by` in the stamps of packed inputs; heads hold 0 if the number may change. False if the bytes are
 * invalid.
 */
static bool replace_device(char *inputs, size_t size, uint64_t device, uint64_t by)
{
    struct pf_unpack in = {inputs, inputs + size, false};
    for (uint64_t left = pf_unpack_u64(&in); left && !in.failed; left--) {
        struct pf_stamp stamp;
        uint64_t name = pf_unpack_u64(&in);
        if (name)
            pf_unpack_bytes(&in, name - 1);
        char *at = (char *)(uintptr_t)pf_unpack_bytes(&in, sizeof stamp);
        if (!at)
            return false;
        memcpy(&stamp, at, sizeof stamp);
        if (stamp.device == device && stamp.inode) /* an absent input is all zero */
            stamp.device = by;
        memcpy(at, &stamp, sizeof stamp);
    }
    return !in.failed;
}

/* ---- heads -------------------------------------------------------------------------------------- */

/*
 * A head consists of the output of pack_versions, the output of pf_profile_inputs, each preceded by its size, and the access
 * rights.
 */
struct head_parts {
    struct pf_buf versions, inputs; /* point into the head */
    struct pf_access access;
};

static bool split_head(const char *bytes, size_t size, struct head_parts *parts)
{
    if (!size)
        return false;
    struct pf_unpack in = {bytes, bytes + size, false};
    struct pf_buf *const texts[] = {&parts->versions, &parts->inputs};
    for (size_t i = 0; i < 2; i++) {
        uint64_t n = pf_unpack_u64(&in);
        *texts[i] = (struct pf_buf){.data = (char *)(uintptr_t)pf_unpack_bytes(&in, n), .size = n};
    }
    const void *access = pf_unpack_bytes(&in, sizeof parts->access);
    if (access)
        memcpy(&parts->access, access, sizeof parts->access);
    return access;
}

static bool same_bytes(const struct pf_buf *a, const struct pf_buf *b)
{
    return a->size == b->size && (!a->size || !memcmp(a->data, b->data, a->size));
}

void pf_profile_pack_head(struct pf_profile *profile, struct pf_buf *out)
{
    struct pf_buf texts[2] = {{0}};
    struct pf_access access = pf_profile_access(profile);
    pack_versions(profile, &texts[0]);
    pf_profile_inputs(profile, &texts[1]);
    if (!texts[1].failed && !pf_lasting_device(profile->device))
        replace_device(texts[1].data, texts[1].size, profile->device, 0);
    for (size_t i = 0; i < 2; i++) {
        pf_pack_u64(out, texts[i].size);
        pf_buf_add(out, texts[i].data, texts[i].size);
        out->failed |= texts[i].failed;
        pf_buf_free(&texts[i]);
    }
    pf_buf_add(out, (const char *)&access, sizeof access);
}

/*
 * Splits a head. In the stamps of its inputs, except absent ones, replaces device 0 by the profile's device. False if the
 * versions in the head are not the present ones.
 */
static bool split_own_head(const struct pf_profile *profile, const struct pf_buf *head,
                           struct head_parts *parts)
{
    struct pf_buf versions = {0};
    pack_versions(profile, &versions);
    bool own = !versions.failed && !head->failed && split_head(head->data, head->size, parts) &&
               same_bytes(&parts->versions, &versions) &&
               replace_device(parts->inputs.data, parts->inputs.size, 0, profile->device);
    pf_buf_free(&versions);
    return own;
}

bool pf_profile_accepts(struct pf_profile *profile, const struct pf_buf *head, struct pf_access *access)
{
    struct head_parts parts;
    struct pf_error error;
    if (!split_own_head(profile, head, &parts) ||
        pf_profile_expect(profile, parts.inputs.data, parts.inputs.size, &error))
        return false;
    *access = parts.access;
    return true;
}

/* Returns the bytes of the next input (name and stamp), and sets *size to their number. NULL at the end. */
static const char *next_packed_input(struct pf_unpack *in, size_t *size)
{
    const char *start = in->at;
    uint64_t name = pf_unpack_u64(in);
    if (name)
        pf_unpack_bytes(in, name - 1);
    pf_unpack_bytes(in, sizeof(struct pf_stamp));
    *size = (size_t)(in->at - start);
    return in->failed ? NULL : start;
}

/* True if `inputs` contain an input. Searches from the cursor first, since heads mostly list their inputs in the same order. */
static bool has_input(const struct pf_buf *inputs, struct pf_unpack *cursor, const char *input, size_t size)
{
    for (int round = 0; round < 2; round++) {
        const char *other;
        size_t other_size;
        while ((other = next_packed_input(cursor, &other_size)))
            if (other_size == size && !memcmp(other, input, size))
                return true;
        *cursor = (struct pf_unpack){inputs->data + sizeof(uint64_t), inputs->data + inputs->size, false};
    }
    return false;
}

enum {
    COMPARED_MAX =
        1000 /* with more inputs, heads match only if they are equal, since the comparison may be quadratic */
};

static bool head_includes(const struct pf_cache_head *head, const struct pf_cache_head *other)
{
    struct head_parts larger, smaller;
    if (!split_head(head->bytes, head->size, &larger) || !split_head(other->bytes, other->size, &smaller) ||
        !same_bytes(&larger.versions, &smaller.versions))
        return false;
    struct pf_unpack cursor = {larger.inputs.data, larger.inputs.data + larger.inputs.size, false},
                     in = {smaller.inputs.data, smaller.inputs.data + smaller.inputs.size, false};
    uint64_t n = pf_unpack_u64(&cursor), left = pf_unpack_u64(&in);
    if (n > COMPARED_MAX || left > n)
        return false;
    for (; left; left--) {
        size_t size;
        const char *input = next_packed_input(&in, &size);
        if (!input || !has_input(&larger.inputs, &cursor, input, size))
            return false;
    }
    return true;
}

/* ---- reading and writing data ------------------------------------------------------------------- */

char *pf_datum_get(struct pf_profile *profile, uint64_t key, enum pf_datum type, uint64_t number,
                   size_t *size, struct pf_access *access)
{
    struct pf_buf head = {0};
    char *bytes = pf_cache_get(profile->env->cache, key, type, number, size, &head);
    if (bytes && !pf_profile_accepts(profile, &head, access)) {
        free(bytes);
        bytes = NULL;
    }
    pf_buf_free(&head);
    return bytes;
}

void pf_datum_put(struct pf_profile *profile, uint64_t key, enum pf_datum type, uint64_t number,
                  const struct pf_buf *value)
{
    struct pf_buf bytes = {0};
    pf_profile_pack_head(profile, &bytes);
    const struct pf_cache_head head = {bytes.data, bytes.size, head_includes};
    if (!bytes.failed)
        pf_cache_put(profile->env->cache, &head, key, type, number, value);
    pf_buf_free(&bytes);
}

bool pf_datum_get_old_names(struct pf_profile *profile, const struct pf_buf *inputs)
{
    struct pf_error error;
    struct pf_buf head = {0};
    struct head_parts parts;
    size_t size = 0;
    char *bytes = has_a_key(profile)
                      ? pf_cache_get(profile->env->cache, profile->key, PF_DATUM_TREE, 0, &size, &head)
                      : NULL;
    bool valid = bytes && split_own_head(profile, &head, &parts) && same_bytes(&parts.inputs, inputs) &&
                 !record_inputs(profile, inputs, &error) && pf_cached_unpack(&profile->cached, bytes, size);
    pf_buf_free(&head);
    free(bytes);
    return valid;
}

bool pf_datum_get_tree(struct pf_profile *profile)
{
    size_t size = 0;
    char *bytes = has_a_key(profile)
                      ? pf_datum_get(profile, profile->key, PF_DATUM_TREE, 0, &size, &profile->access)
                      : NULL;
    /* caches_tree is asked after the read, which records the inputs that it counts. */
    bool valid = bytes && caches_tree(profile) && pf_cached_unpack(&profile->cached, bytes, size);
    free(bytes);
    if (!valid)
        profile->access = (struct pf_access){.mode = 0444};
    return valid;
}

void pf_datum_put_tree(struct pf_profile *profile)
{
    struct pf_buf out = {0};
    if (!caches_tree(profile) || !pf_cached_is_changed(&profile->cached) || !pf_profile_may_cache(profile))
        return;
    pf_cached_pack(&profile->cached, &out);
    pf_datum_put(profile, profile->key, PF_DATUM_TREE, 0, &out);
    pf_buf_free(&out);
}

void pf_datum_put_excerpt(struct pf_profile *profile, const struct stat *st, const struct pf_buf *excerpt)
{
    if (!profile->path || !profile->env->cache || !pf_profile_intact(profile))
        return;
    profile->device = st->st_dev;
    pf_datum_put(profile, pf_profile_key(profile, st->st_dev, st->st_ino), PF_DATUM_EXCERPT, 0, excerpt);
}

/* ---- the cached tree, in memory ------------------------------------------------------------------------------- */

/* The folder of a context is not stored: there are too many contexts. */
void pf_profile_put_folder(struct pf_profile *profile, struct pf_node folder)
{
    struct pf_buf entries = {0};
    struct pf_node entry;
    char name[PF_NAME_MAX + 1];
    unsigned n = 0;
    if (!caches_tree(profile) || folder.kind == PF_CONTEXT_DIR ||
        !pf_cached_wants_folder(&profile->cached, folder))
        return;
    for (; n <= PF_CACHED_ENTRIES_MAX && pf_folder_entry(profile, folder, n, name, &entry); n++)
        pf_cached_add_entry(&entries, entry, name);
    if (n <= PF_CACHED_ENTRIES_MAX)
        pf_cached_put_folder(&profile->cached, folder, &entries);
    if (!pf_cached_has_folder(&profile->cached, folder))
        pf_cached_put_long_folder(&profile->cached, folder);
    pf_buf_free(&entries);
}

void pf_profile_put_file(struct pf_profile *profile, struct pf_node file, uint64_t size, const char *text)
{
    bool of_context = file.kind == PF_CONTEXT_INFO || pf_table_base(file.kind) == PF_TABLE_OF_CONTEXT;
    if (!caches_tree(profile) || (pf_table_of(file.kind) >= 0 && of_context) || file.kind == PF_CONTEXT_INFO)
        return;
    pf_cached_put_file(&profile->cached, file, size, text);
}
