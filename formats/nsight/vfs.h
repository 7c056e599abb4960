/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_VFS_H
#define PF_NSIGHT_VFS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/input/source.h"

/*
 * SQLite's view of one input: a file that only this connection knows, that is read with pf_input_read and
 * never changes. There are no locks, no journal and no other files. Each connection registers one of its own,
 * so that nothing is shared between threads.
 */
struct nsight_vfs {
    sqlite3_vfs methods; /* known to SQLite while registered: must not move */
    char name[32];
    struct pf_input *input;
    uint64_t have;  /* bytes of the input */
    uint64_t size;  /* as SQLite is told: more than there are if the end is missing */
    uint64_t bytes; /* that have been read so far */
    bool failed;    /* a read has failed: */
    struct pf_error failure;
};

/* The name that a connection opens through such a VFS. */
#define NSIGHT_VFS_FILE "export"

/*
 * Registers a VFS over an input, which must outlive it. A database that was cut short is shown in the length that
 * its header tells, with nothing but zeros where the file ends, so that what came before can be read. -1 with
 * *error filled.
 */
int nsight_vfs_register(struct nsight_vfs *vfs, struct pf_input *input, struct pf_error *error);

/* Makes SQLite forget it; after the connection is closed. */
void nsight_vfs_unregister(struct nsight_vfs *vfs);

#endif
