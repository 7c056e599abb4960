/* SPDX-License-Identifier: MIT */
#ifndef PF_VFS_H
#define PF_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "formats/kit/store.h"
#include "formats/probe.h"
#include "fs/profile/profile.h"

/*
 * The filesystem without FUSE: what the mount and the commands both stand on.
 *
 * An operation returns 0 or an errno value (positive), and waits on its thread for the passes that it needs. op->error describes a failure
 * that comes from a profile or a pass.
 */
struct pf_fs;
struct pf_virtual;

#define PF_ROOT_INO 1

struct pf_fs_options {
    struct pf_options profile;
    const struct pf_virtual *const *virtuals; /* ends with a NULL; may be NULL */
    bool only_profiles;                       /* leave out what is no profile */
    uint64_t
        unpacked; /* how many bytes of what is compressed in SOURCE are kept unpacked, in memory and on disk */
    bool always_look; /* for tests: what spans profiles is compared with them at each look-up */
    bool no_archives; /* they are the files that they are, not folders of their members */
    bool
        others; /* others than the mounter may look: access control lists count, .profilefs is the mounter's */
    const char *cache_folder; /* of the database; NULL: nothing is kept between mounts */
    uint64_t cache_limit;     /* in bytes, of all that is kept; 0: none is set */
    unsigned pass_threads;
};

/* Opens SOURCE (a directory, or one profile). Borrows what the options point to. NULL with *error filled. */
struct pf_fs *pf_fs_new(const char *source, const struct pf_fs_options *options, struct pf_error *error);
/* Starts the threads of passes, which the first pass would start else, and the one that closes what has gone from SOURCE: what
 * serves for long wants both. 0, or -1: out of threads. */
int pf_fs_start(struct pf_fs *fs);
/* The line of status.txt that tells what sandbox holds; borrowed. */
void pf_fs_tell_sandbox(struct pf_fs *fs, const char *text);
/* To be called each second while operations are in progress (pf_pool_tick). */
void pf_fs_tick(struct pf_fs *fs);
/* Ends an operation's waits with EINTR (pf_op_interrupt). */
void pf_fs_interrupt(struct pf_fs *fs, struct pf_op *op);
/* Adds to what the program allocates on the heap but closing profiles cannot free. */
void pf_fs_exclude_heap(struct pf_fs *fs, ptrdiff_t bytes);
/*
 * The end, in steps for a process that must end while SOURCE does not answer. Only pf_fs_free is mandatory.
 * pf_fs_stop: stops passes and refuses new ones; from then on saving does not touch SOURCE. pf_fs_join: waits for the threads.
 * pf_fs_save: puts into the cache what is not there yet. pf_fs_free: also closes files of SOURCE.
 */
void pf_fs_stop(struct pf_fs *fs);
void pf_fs_join(struct pf_fs *fs);
void pf_fs_save(struct pf_fs *fs);
void pf_fs_free(struct pf_fs *fs);

struct pf_attr {
    struct stat st;       /* st_ino is the node's number */
    double entry_seconds; /* how long name and attributes may be believed */
    double attr_seconds;
    uint64_t shown; /* what programs see as st_ino; 0: the node's number */
};

/* Each success counts as one use of attr->st.st_ino, which pf_fs_forget gives back. Not `sized`: a size that needs a pass is 0. */
int pf_fs_lookup(struct pf_fs *fs, uint64_t parent, const char *name, bool sized, struct pf_attr *attr,
                 struct pf_op *op);
void pf_fs_forget(struct pf_fs *fs, uint64_t ino, uint64_t uses);
int pf_fs_getattr(struct pf_fs *fs, uint64_t ino, struct pf_attr *attr, struct pf_op *op);
/* target: allocated for the caller. */
int pf_fs_readlink(struct pf_fs *fs, uint64_t ino, char **target, struct pf_op *op);

struct pf_dir;
int pf_fs_opendir(struct pf_fs *fs, uint64_t ino, struct pf_dir **dir, struct pf_op *op);
/* A directory may be listed by several threads. It is closed when each that holds it has closed it, and so is a handle. */
struct pf_dir *pf_dir_hold(struct pf_dir *dir);
void pf_fs_closedir(struct pf_dir *dir);
bool pf_dir_keeps_cache(const struct pf_dir *dir); /* entries of this number never change */

/*
 * The entry behind `offset` (0: the first; then the entry's own `next`). type is DT_*; 1: filled; 0: no more;
 * a negative errno value: there is one, but memory or descriptors lack for finding out what it is.
 * With want_attr, *attr is filled (and its number used once) if that needs no pass, else attr->st.st_ino is
 * 0.
 */
struct pf_dirent {
    char name[256];
    uint64_t ino;
    unsigned char type;
    uint64_t next;
};
int pf_fs_readdir(struct pf_dir *dir, uint64_t offset, struct pf_dirent *entry, bool want_attr,
                  struct pf_attr *attr, struct pf_op *op);

struct pf_handle;
/* once: for one thread that reads the file once: each read begins where the last one ended. Needs no pass for the size. */
int pf_fs_open(struct pf_fs *fs, uint64_t ino, bool once, struct pf_handle **handle, struct pf_op *op);
struct pf_handle *pf_handle_hold(struct pf_handle *handle);
void pf_fs_close(struct pf_handle *handle);
/* How a handle wants to be read. */
bool pf_handle_keeps_cache(const struct pf_handle *handle); /* content of this number never changes */
bool pf_handle_is_direct(const struct pf_handle *handle);   /* must not be cached at all */
/* Returns true if the file differed when it was opened from the attributes that were last returned for its number. */
bool pf_handle_has_changed(const struct pf_handle *handle);

/* What a read yields: pieces of cached blocks, or a range of a file descriptor (a file that passes through),
 * or bytes, which stay until the handle's next read. */
struct pf_data {
    int pieces; /* > 0: piece[] */
    bool is_cut; /* fewer bytes in pieces than asked for, although the file does not end there */
    struct pf_piece piece[PF_PIECES];
    int fd; /* >= 0: size bytes at offset */
    uint64_t offset;
    const char *bytes; /* else */
    size_t size;
    char *own; /* to be freed */
};
int pf_fs_read(struct pf_handle *handle, uint64_t offset, size_t size, struct pf_data *data,
               struct pf_op *op);
void pf_data_release(struct pf_fs *fs, struct pf_data *data);

/* ---- for what is built on profiles of SOURCE: control, runs, commands --------------------------- */

struct pf_core *pf_fs_core(struct pf_fs *fs);
const struct pf_fs_options *pf_fs_options(const struct pf_fs *fs);

/* The errno value that programs see for an error's code. */
int pf_errno_shown(int code);
/* The errno value that programs see for a call's result: 0, or -1 with op->error filled. */
static inline int pf_op_errno(const struct pf_op *op, int result)
{
    return result ? pf_errno_shown(op->error.code) : 0;
}

/* True if SOURCE is one profile. */
bool pf_root_is_profile(struct pf_fs *fs);

enum pf_entry_type { PF_ENTRY_DIR, PF_ENTRY_FILE, PF_ENTRY_LINK, PF_ENTRY_OTHER, PF_ENTRY_PROFILE };

/* What an entry of SOURCE is, found by looking at it. */
struct pf_found {
    enum pf_entry_type type;
    bool packed; /* DIR: it is an archive, of which st makes a folder */
    bool unprobed; /* DIR: the file system has not said in time what it holds: it may be a profile */
    struct stat st;
    const struct pf_driver *driver; /* PROFILE only */
    struct pf_verdict verdict;
};

/*
 * Finds out what `name` in a folder is, or PF_BESIDE_NAME beside what the folder holds. 0 or an errno value. If that is transient
 * (pf_is_transient), what it is could not be found out; found->type is that of the file itself if at least its attributes were read.
 */
int pf_classify(struct pf_fs *fs, const struct pf_folder *folder, const char *name, struct pf_found *found);
/*
 * The same for listings and look-ups: waits 2 s at most for what a folder holds that is on another file system than SOURCE, one that is
 * not on a disk. If there is no answer then, found->unprobed is set.
 */
int pf_classify_in_time(struct pf_fs *fs, const struct pf_folder *folder, const char *name, struct pf_found *found);

/* Opens the profile that was found at a path below SOURCE ("": SOURCE itself). NULL with *error filled. */
struct pf_profile *pf_open_found(struct pf_fs *fs, const char *path, const struct pf_driver *driver,
                                 struct pf_error *error);

/* Figures for status.txt. Safe for many threads. */
struct pf_fs_status {
    uint64_t started;    /* monotonic seconds */
    time_t started_at;   /* seconds since 1970 */
    const char *sandbox; /* borrowed; NULL: there is none */
    size_t open_profiles, entries;
};
void pf_fs_status(struct pf_fs *fs, struct pf_fs_status *status);

/*
 * Node numbers. Entries of SOURCE have their own small numbers (the root is 1). Nodes inside a profile are made of the number of the
 * profile's instance, the kind and the item; nodes of a virtual folder likewise, of a number that the folder chooses.
 *
 *   63      40 39  32 31           0
 *   [instance][ kind ][    item    ]
 */
enum { PF_KIND_VIRTUAL = 252 /* the first kind that no view has */ };

static inline uint64_t pf_ino(uint32_t instance, unsigned kind, uint32_t item)
{
    return (uint64_t)instance << 40 | (uint64_t)kind << 32 | item;
}

/* ---- virtual folders ---------------------------------------------------------------------------- */

/* A folder of SOURCE in which a virtual folder is looked for. */
struct pf_virtual_place {
    uint64_t ino;
    const char *path;             /* below SOURCE, "" for the root; NULL: not asked for */
    const struct pf_folder *open; /* NULL as well */
    uint64_t shown;               /* what programs would see as st_ino of the virtual folder */
};

/* The content of a file in a virtual folder: bytes for the caller to free, or a settled store for the caller to free. */
struct pf_virtual_text {
    char *bytes;
    struct pf_store *store;
    uint64_t size;
    bool direct; /* another text each time: must not be cached by the kernel */
};

/*
 * A folder of generated files that a module above the tree shows among the names of SOURCE. All functions are called by several threads
 * at once and without locks; results are those of the operations above. What `make` returned is `self`.
 */
struct pf_virtual {
    const char *name;
    unsigned kind; /* of all its nodes; no other virtual folder has it */
    bool hides;    /* an entry of this name in SOURCE is hidden by it; false: the entry wins */
    void *(*make)(struct pf_fs *fs); /* NULL: out of memory */
    void (*free)(void *self);
    /* The folder itself in a folder of SOURCE. 0 with *attr filled, ENOENT, or another errno value. hides: without path and open. */
    int (*find)(void *self, const struct pf_virtual_place *place, struct pf_attr *attr);
    /*
     * True if it is listed in a folder that holds so many profiles, and no entry of this name. beside: one of these is made of what the
     * folder holds. hides: asked without either.
     */
    bool (*is_listed)(void *self, uint64_t folder, uint64_t profiles, bool beside);
    int (*lookup)(void *self, uint64_t parent, const char *name, struct pf_attr *attr, struct pf_op *op);
    int (*getattr)(void *self, uint64_t ino, struct pf_attr *attr, struct pf_op *op);
    /* Prepares a folder for `entry`. */
    int (*opendir)(void *self, uint64_t ino, struct pf_op *op);
    /* The entry of this number, from 0 on, without its `next`; false past the last. */
    bool (*entry)(void *self, uint64_t ino, uint64_t number, struct pf_dirent *entry);
    int (*open)(void *self, uint64_t ino, struct pf_virtual_text *text, struct pf_op *op);
    int (*readlink)(void *self, uint64_t ino, char **target, struct pf_op *op);
    /* Frees memory and descriptors that can be had again. False: there were none. */
    bool (*shrink)(void *self);
};

#endif
