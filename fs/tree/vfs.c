/* SPDX-License-Identifier: MIT */
#include "fs/tree/vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/clock.h"
#include "fs/tree/vfs_private.h"

/* Creates, starts, stops and frees the filesystem. */

/* Opens SOURCE, which may be a symbolic link. If SOURCE is a file, opens the folder that contains it. */
static int open_root(struct pf_fs *fs, const char *source, struct pf_error *error)
{
    char *path = realpath(source, NULL);
    struct stat st = {0};
    if (!path || stat(path, &st)) {
        pf_fail(error, errno, "%s", strerror(errno));
        free(path);
        return -1;
    }
    char *slash = strrchr(path, '/');
    if (!S_ISDIR(st.st_mode)) {
        fs->env.root_name = strdup(slash + 1);
        slash[slash == path] = 0;
    }
    fs->env.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result =
        fs->env.root < 0 || fstat(fs->env.root, &st) ? pf_fail(error, errno, "%s", strerror(errno)) : 0;
    fs->device = st.st_dev;
    free(path);
    fs->archives = pf_archives_new(fs->options.unpacked, !fs->options.no_archives);
    int top = result ? -1 : fcntl(fs->env.root, F_DUPFD_CLOEXEC, 3);
    fs->env.top = top < 0 ? NULL : pf_folder_new(top, fs->archives);
    if (fs->archives)
        pf_cache_indexes(fs);
    if (!result && (!fs->env.top || !fs->archives))
        result = pf_fail_memory(error);
    return result;
}

/* Makes paths relative to the archive that is SOURCE. Does not read the archive yet. */
static int enter_root(struct pf_fs *fs, struct pf_error *error)
{
    struct pf_folder *archive = pf_folder_below(fs->env.top, fs->env.root_name);
    if (!archive)
        return pf_fail(error, errno, "%s", strerror(errno));
    pf_folder_free(fs->env.top);
    fs->env.top = archive;
    free(fs->env.root_name);
    fs->env.root_name = NULL;
    return 0;
}

static int add_root(struct pf_fs *fs, struct pf_error *error)
{
    struct pf_entry *root = calloc(1, sizeof *root);
    if (!root || !pf_map_put(&fs->entries, PF_ROOT_INO, root)) {
        free(root);
        return pf_fail_memory(error);
    }
    root->id = PF_ROOT_INO;
    root->holds = 1;
    fs->next_entry = PF_ROOT_INO + 1;
    struct pf_entry_info info;
    int code = pf_classify(fs, fs->env.top, fs->env.root_name ? fs->env.root_name : ".", &info);
    if (code)
        return pf_fail(error, code, "%s", strerror(code));
    pf_entry_set_info(root, &info);
    if (info.type != PF_ENTRY_DIR && info.type != PF_ENTRY_PROFILE)
        return pf_fail(error, EINVAL, "neither a directory nor a profile of a known format");
    return info.packed ? enter_root(fs, error) : 0;
}

struct pf_fs *pf_fs_new(const char *source, const struct pf_fs_options *options, struct pf_error *error)
{
    struct pf_fs *fs = calloc(1, sizeof *fs);
    if (!fs) {
        pf_fail_memory(error);
        return NULL;
    }
    fs->env.root = -1;
    fs->options = *options;
    fs->started = pf_monotonic_seconds();
    fs->started_at = time(NULL);
    fs->env.options = options->profile;
    if (options->cache_folder)
        fs->env.cache = pf_cache_new(options->cache_folder);
    fs->env.others = options->others;
    fs->env.reader = getuid();
    fs->env.next_text = 1;
    pf_lock_init(&fs->lock, PF_RANK_FS);
    pf_reaper_init(fs);
    fs->probe_results = pf_probe_results_new(fs->env.cache);
    fs->env.blocks = pf_blocks_new(options->profile.cache / 2);
    fs->env.pool = pf_pool_new(options->pass_threads);
    if (!fs->probe_results || !fs->env.blocks || !fs->env.pool)
        pf_fail_memory(error);
    else if (!open_root(fs, source, error) && !add_root(fs, error) && !pf_virtuals_make(fs, error))
        return fs;
    pf_fs_free(fs);
    return NULL;
}

int pf_fs_start(struct pf_fs *fs)
{
    return pf_pool_start(fs->env.pool) || pf_reaper_start(fs) ? -1 : 0;
}

void pf_fs_set_sandbox(struct pf_fs *fs, const char *text)
{
    fs->sandbox = text;
}

void pf_fs_interrupt(struct pf_fs *fs, struct pf_op *op)
{
    pf_op_interrupt(fs->env.pool, op);
}

void pf_fs_exclude_heap(struct pf_fs *fs, ptrdiff_t bytes)
{
    atomic_fetch_add(&fs->heap_excluded, bytes);
}

static void free_nodes(struct pf_fs *fs)
{
    for (size_t i = 0; fs->versions.slots && i <= fs->versions.mask; i++) {
        struct pf_version *version = fs->versions.slots[i].value;
        if (version)
            pf_version_free(version);
    }
    for (size_t i = 0; fs->entries.slots && i <= fs->entries.mask; i++) {
        struct pf_entry *entry = fs->entries.slots[i].value;
        if (entry)
            free(entry->name);
        free(entry);
    }
    pf_map_free(&fs->versions);
    pf_map_free(&fs->entries);
    pf_map_free(&fs->by_name);
}

void pf_fs_stop(struct pf_fs *fs)
{
    atomic_store(&fs->env.ending, true);
    pf_pool_close(fs->env.pool);
}

void pf_fs_join(struct pf_fs *fs)
{
    pf_reaper_end(fs);
    if (fs->env.pool)
        pf_pool_join(fs->env.pool);
}

void pf_fs_free(struct pf_fs *fs)
{
    if (!fs)
        return;
    pf_fs_join(fs);
    pf_reaper_free(fs);
    pf_virtuals_free(fs);
    free_nodes(fs);
    pf_blocks_free(fs->env.blocks);
    pf_folder_free(fs->env.top);
    pf_archives_free(fs->archives);
    pf_probe_results_free(fs->probe_results);
    pf_cache_free(fs->env.cache);
    pf_pool_free(fs->env.pool);
    if (fs->env.root >= 0)
        close(fs->env.root);
    pf_lock_destroy(&fs->lock);
    free(fs->env.root_name);
    free(fs);
}

struct pf_env *pf_fs_env(struct pf_fs *fs)
{
    return &fs->env;
}

const struct pf_fs_options *pf_fs_options(const struct pf_fs *fs)
{
    return &fs->options;
}

void pf_fs_status(struct pf_fs *fs, struct pf_fs_status *status)
{
    pf_lock_take(&fs->lock);
    *status = (struct pf_fs_status){fs->started, fs->started_at, fs->sandbox, fs->loaded_profiles,
                                    fs->entries.count};
    pf_lock_drop(&fs->lock);
}
