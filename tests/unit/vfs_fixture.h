/* SPDX-License-Identifier: MIT */
#ifndef VFS_FIXTURE_H
#define VFS_FIXTURE_H

#include <dirent.h>
#include <errno.h>

#include "formats/recognise.h"
#include "fs/control/control.h"
#include "fs/runs/runs.h"
#include "fs/tree/vfs_private.h"
#include "tests/unit/profile_fixture.h"

/* The filesystem over a folder of made-up profiles, called as the kernel calls it. */

/* Drivers that a test adds. The test defines the macro before it includes this file. */
#ifndef FURTHER_DRIVERS
#define FURTHER_DRIVERS
#endif
const struct pf_driver *const pf_drivers[] = {&made_up_driver, FURTHER_DRIVERS NULL};

#define VFS __attribute__((unused)) static

VFS const struct pf_virtual *const virtuals[] = {&pf_control, &pf_runs, NULL};

VFS struct pf_fs *fs_of(const char *source, bool only_profiles)
{
    struct pf_error error;
    const struct pf_fs_options options = {.profile = {.cache = 16 << 20},
                                          .virtuals = virtuals,
                                          .only_profiles = only_profiles,
                                          .pass_threads = 2};
    struct pf_fs *fs = pf_fs_new(source, &options, &error);
    return fs && !pf_fs_start(fs) ? fs : NULL;
}

VFS int look_up(struct pf_fs *fs, uint64_t parent, const char *name, struct pf_attr *attr)
{
    struct pf_op op = PF_OP;
    return pf_fs_lookup(fs, parent, name, true, attr, &op);
}

/* A look-up to run in the background. */
struct wanted {
    struct pf_fs *fs;
    uint64_t folder;
    const char *name;
};

VFS int look_up_wanted(void *arg, struct pf_op *op)
{
    const struct wanted *wanted = arg;
    struct pf_attr attr;
    return pf_fs_lookup(wanted->fs, wanted->folder, wanted->name, true, &attr, op);
}

VFS int attr_of(struct pf_fs *fs, uint64_t ino, struct pf_attr *attr)
{
    struct pf_op op = PF_OP;
    return pf_fs_getattr(fs, ino, attr, &op);
}

VFS int open_file(struct pf_fs *fs, uint64_t ino, struct pf_handle **handle)
{
    struct pf_op op = PF_OP;
    return pf_fs_open(fs, ino, false, handle, &op);
}

VFS int open_dir(struct pf_fs *fs, uint64_t ino, struct pf_dir **dir)
{
    struct pf_op op = PF_OP;
    return pf_fs_opendir(fs, ino, dir, &op);
}

/* Looks up each component of a path and forgets all inodes except the last. Returns 0 or an errno value. */
VFS int find_path(struct pf_fs *fs, const char *path, struct pf_attr *attr)
{
    uint64_t at = PF_ROOT_INO;
    char name[512];
    int result = 0;
    while (!result && *path) {
        size_t n = strcspn(path, "/");
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        path += n + (path[n] == '/');
        result = look_up(fs, at, name, attr);
        if (at != PF_ROOT_INO)
            pf_fs_forget(fs, at, 1);
        at = attr->st.st_ino;
    }
    return result;
}

/* Looks up a path. Returns its inode, which the caller forgets; 0 if the path does not exist. */
VFS uint64_t ino_of(struct pf_fs *fs, const char *path)
{
    struct pf_attr attr;
    return find_path(fs, path, &attr) ? 0 : attr.st.st_ino;
}

/* Reads from a handle, appends the bytes to `out` and stores their number in *got. Returns 0 or an errno value. */
VFS int read_handle(struct pf_fs *fs, struct pf_handle *handle, uint64_t offset, size_t size,
                    struct pf_buf *out, size_t *got)
{
    struct pf_data data;
    size_t before = out->size;
    struct pf_op op = PF_OP;
    int result = pf_fs_read(handle, offset, size, &data, &op);
    if (!result && data.fd >= 0) {
        char *at = pf_buf_reserve(out, size);
        ssize_t n = pread(data.fd, at, size, (off_t)offset);
        out->size += n > 0 ? (size_t)n : 0;
    } else if (!result && data.bytes) {
        pf_buf_add(out, data.bytes, data.size);
    }
    for (int i = 0; !result && i < data.n_spans; i++)
        pf_buf_add(out, data.spans[i].block->data + data.spans[i].offset, data.spans[i].size);
    if (!result)
        pf_data_release(fs, &data);
    *got = out->size - before;
    return result;
}

/* Reads a handle from start to end, and closes it. Returns 0 or an errno value. */
VFS int read_to_end(struct pf_fs *fs, struct pf_handle *handle, size_t step, struct pf_buf *out)
{
    size_t got = 1;
    int result = 0;
    for (uint64_t offset = 0; !result && got; offset += got)
        result = read_handle(fs, handle, offset, step, out, &got);
    pf_fs_close(handle);
    return result;
}

/* Reads the whole file with this inode. Returns 0 or an errno value. */
VFS int read_ino(struct pf_fs *fs, uint64_t ino, size_t step, struct pf_buf *out)
{
    struct pf_handle *handle;
    int result = open_file(fs, ino, &handle);
    return result ? result : read_to_end(fs, handle, step, out);
}

/* Returns the content of a path as a string, "" if it cannot be read; the caller frees it. */
VFS char *text_at(struct pf_fs *fs, const char *path)
{
    struct pf_buf out = {0};
    uint64_t ino = ino_of(fs, path);
    if (ino)
        read_ino(fs, ino, 100000, &out);
    if (ino)
        pf_fs_forget(fs, ino, 1);
    pf_buf_char(&out, 0);
    return out.data;
}

/* Returns the names in an open folder, each followed by a newline; the caller frees them. */
VFS char *names_in(struct pf_dir *dir)
{
    struct pf_buf out = {0};
    struct pf_dirent entry;
    struct pf_op op = PF_OP;
    for (uint64_t offset = 0; pf_fs_readdir(dir, offset, &entry, false, NULL, &op) > 0; offset = entry.next)
        pf_buf_printf(&out, "%s\n", entry.name);
    pf_buf_char(&out, 0);
    return out.data;
}

#endif
