/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "fs/profile/profile_private.h"

/* Constructs profiles at paths below SOURCE, and reads cached data of profiles that are not open. */

/*
 * The path of a profile's source below SOURCE, allocated. If a profile is made from a folder and listed in it
 * (driver->beside), its source is that folder.
 */
static char *source_path(const struct pf_env *env, const struct pf_driver *driver, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t size = !pf_driver_extra_of(driver)->beside ? strlen(path) : slash ? (size_t)(slash - path) : 0;
    return size ? strndup(path, size) : strdup(env->root_name ? env->root_name : ".");
}

/* Creates a profile with a closed source. */
static struct pf_profile *profile_below(struct pf_env *env, const struct pf_driver *driver, const char *path,
                                        struct pf_error *error)
{
    struct pf_profile *profile = pf_profile_new(env, driver, error);
    char *where = profile ? source_path(env, driver, path) : NULL;
    if (where && (profile->path = strdup(path)))
        profile->source = pf_source_at(env->top, where, driver->directories, error);
    free(where);
    if (profile && profile->source) {
        pf_source_set_matters(profile->source, driver->matters);
        return profile;
    }
    pf_fail_memory(error);
    pf_profile_release(profile);
    return NULL;
}

struct pf_profile *pf_profile_at(struct pf_env *env, const struct pf_driver *driver, const char *path,
                                 const struct stat *st, const struct pf_buf *inputs, struct pf_error *error)
{
    struct pf_profile *profile = profile_below(env, driver, path, error);
    if (!profile)
        return NULL;
    profile->device = st ? st->st_dev : 0;
    profile->key = st ? pf_profile_key(profile, st->st_dev, st->st_ino) : 0;
    bool others = inputs && inputs->size && pf_profile_expect(profile, inputs->data, inputs->size, error);
    if (others || (!pf_datum_get_tree(profile) && pf_profile_open_here(profile, error))) {
        pf_profile_release(profile);
        return NULL;
    }
    return profile;
}

struct pf_profile *pf_profile_old_names(struct pf_env *env, const struct pf_driver *driver, const char *path,
                                        const struct stat *st, const struct pf_buf *inputs)
{
    struct pf_error error;
    struct pf_profile *profile = inputs->size ? profile_below(env, driver, path, &error) : NULL;
    if (!profile)
        return NULL;
    profile->device = st->st_dev;
    profile->key = pf_profile_key(profile, st->st_dev, st->st_ino);
    if (pf_datum_get_old_names(profile, inputs))
        return profile;
    pf_profile_release(profile);
    return NULL;
}

char *pf_datum_get_part(struct pf_env *env, const struct pf_driver *driver, const char *path,
                        const struct stat *st, size_t *size)
{
    struct pf_error error;
    struct pf_profile *profile = env->cache ? profile_below(env, driver, path, &error) : NULL;
    if (!profile)
        return NULL;
    profile->device = st->st_dev;
    char *bytes = pf_datum_get(profile, pf_profile_key(profile, st->st_dev, st->st_ino), PF_DATUM_PART, 0,
                               size, &profile->access);
    pf_profile_release(profile);
    return bytes;
}

/* ---- links -------------------------------------------------------------------------------------- */

/* Reads the target of a link: the text that the walk over its node returns. */
static int read_target(struct pf_profile *profile, struct pf_node node, char **target, struct pf_error *error)
{
    struct pf_buf text = {0};
    struct pf_lines *lines = pf_node_walk(profile, node, error);
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

int pf_profile_link(struct pf_profile *profile, struct pf_node node, char **target, struct pf_op *op)
{
    uint64_t size;
    const char *hidden = pf_hidden_target(node.kind);
    if (hidden)
        return (*target = strdup(hidden)) ? 0 : pf_fail_memory(&op->error);
    if (pf_cached_get_file(&profile->cached, node, &size, target) && *target)
        return 0;
    int result = pf_profile_ready(profile, node, op);
    if (!result)
        result = read_target(profile, node, target, &op->error);
    if (!result && *target)
        pf_profile_put_file(profile, node, strlen(*target), *target);
    return result;
}
