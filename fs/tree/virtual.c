/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/tree/vfs_private.h"

int pf_virtuals_make(struct pf_fs *fs, struct pf_error *error)
{
    size_t n = 0;
    while (fs->options.virtuals && fs->options.virtuals[n])
        n++;
    fs->virtuals = calloc(n + 1, sizeof *fs->virtuals);
    for (size_t v = 0; v < n && fs->virtuals; v++)
        if (!(fs->virtuals[v] = fs->options.virtuals[v]->make(fs)))
            return pf_fail_memory(error);
    return fs->virtuals ? 0 : pf_fail_memory(error);
}

void pf_virtuals_free(struct pf_fs *fs)
{
    for (size_t v = 0; fs->virtuals && fs->virtuals[v]; v++)
        fs->options.virtuals[v]->free(fs->virtuals[v]);
    free(fs->virtuals);
}

bool pf_virtuals_shrink(struct pf_fs *fs)
{
    bool shrunk = false;
    for (size_t v = 0; fs->virtuals && fs->virtuals[v] && !shrunk; v++)
        shrunk = fs->options.virtuals[v]->shrink && fs->options.virtuals[v]->shrink(fs->virtuals[v]);
    return shrunk;
}

const struct pf_virtual *pf_virtual_of(const struct pf_fs *fs, uint64_t ino, void **self)
{
    unsigned kind = (unsigned)(ino >> 32 & 0xff);
    for (size_t v = 0; kind >= PF_KIND_VIRTUAL && fs->options.virtuals && fs->options.virtuals[v]; v++)
        if (fs->options.virtuals[v]->kind == kind) {
            *self = fs->virtuals[v];
            return fs->options.virtuals[v];
        }
    return NULL;
}

bool pf_virtual_hides(const struct pf_fs *fs, uint64_t folder, const char *name)
{
    const struct pf_virtual *at;
    for (size_t v = 0; fs->options.virtuals && (at = fs->options.virtuals[v]); v++)
        if (at->hides && !strcmp(at->name, name))
            return at->is_listed(fs->virtuals[v], folder, 0, false);
    return false;
}

int pf_virtual_find(struct pf_fs *fs, uint64_t folder, const struct pf_folder *open, const char *name,
                    struct pf_attr *attr, struct pf_op *op)
{
    const struct pf_virtual *const *virtuals = fs->options.virtuals;
    size_t v = 0;
    while (virtuals && virtuals[v] && (strcmp(virtuals[v]->name, name) != 0 || virtuals[v]->hides != !open))
        v++;
    if (!virtuals || !virtuals[v])
        return ENOENT;
    struct pf_virtual_parent parent = {.ino = folder, .open = open};
    if (!open)
        return virtuals[v]->find(fs->virtuals[v], &parent, attr, op);
    struct pf_entry *entry = pf_entry_hold(fs, folder);
    if (!entry)
        return ESTALE;
    char *path = pf_entry_path(fs, entry);
    parent.path = path;
    parent.shown = pf_shown_ino(entry, name);
    int result = path ? virtuals[v]->find(fs->virtuals[v], &parent, attr, op) : ENOMEM;
    free(path);
    pf_entry_release(fs, entry);
    return result;
}
