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
 * The filesystem without FUSE: the common base of the mount and the commands. All functions are thread-safe
 * unless noted.
 *
 * An operation returns 0 or a positive errno value, and blocks its thread until the passes that it needs are done.
 * op->error describes a failure of a profile or a pass. Call operations without any lock of fs/ held.
 */
struct pf_fs;
struct pf_virtual;

#define PF_ROOT_INO 1

struct pf_fs_options {
    struct pf_options profile;
    const struct pf_virtual *const *virtuals; /* NULL-terminated; may be NULL */
    bool only_profiles;                       /* hide files that are not profiles */
    uint64_t
        unpacked; /* maximum number of unpacked bytes of compressed files that are kept, in memory and on disk together */
    bool always_look; /* for tests: views that span profiles re-check the profiles at each look-up */
    bool no_archives; /* archives are shown as plain files, not as folders */
    bool
        others; /* users other than the mounter have access: heed access control lists, and let only the mounter enter .profilefs */
    const char *cache_folder; /* folder of the cache database; NULL: no cache between mounts */
    uint64_t cache_limit;     /* maximum size of the cache in bytes; 0: no limit */
    unsigned pass_threads;
};

/*
 * Opens SOURCE: a directory, an archive or one profile. Everything that the options point to is borrowed. Returns NULL
 * with *error filled on failure.
 */
struct pf_fs *pf_fs_new(const char *source, const struct pf_fs_options *options, struct pf_error *error);
/*
 * For long-running servers: starts the pass threads and the reaper now, instead of when they are first needed. Returns 0,
 * or -1 if threads cannot be created.
 */
int pf_fs_start(struct pf_fs *fs);
/* Sets the text of the sandbox line in status.txt. The text is borrowed. */
void pf_fs_set_sandbox(struct pf_fs *fs, const char *text);
/* Interrupts an operation: its waits return EINTR (pf_op_interrupt). */
void pf_fs_interrupt(struct pf_fs *fs, struct pf_op *op);
/* Adds to the number of heap bytes that the reaper ignores, since unloading profiles cannot free them. */
void pf_fs_exclude_heap(struct pf_fs *fs, ptrdiff_t bytes);
/* Returns the resident memory of the process in bytes, or UINT64_MAX if /proc cannot be read. */
uint64_t pf_resident_memory(void);
/*
 * Shutdown in steps, for a process that must exit while SOURCE may not respond. Only pf_fs_free is mandatory.
 * - pf_fs_stop stops passes and refuses new ones. After it, pf_fs_save does not access SOURCE.
 * - pf_fs_join joins the threads.
 * - pf_fs_save writes uncached results to the cache.
 * - pf_fs_free frees everything and closes files of SOURCE.
 */
void pf_fs_stop(struct pf_fs *fs);
void pf_fs_join(struct pf_fs *fs);
void pf_fs_save(struct pf_fs *fs);
void pf_fs_free(struct pf_fs *fs);

struct pf_attr {
    struct stat st;       /* st_ino is the node number */
    double entry_seconds; /* how long the kernel may cache the name and its node, in seconds */
    double attr_seconds;
    uint64_t shown; /* st_ino shown to programs; 0: the node number */
};

/*
 * Looks up a name. Each success adds one look-up reference to attr->st.st_ino; pf_fs_forget drops `uses` of them. If
 * not `sized`, a size that needs a pass is reported as 0.
 */
int pf_fs_lookup(struct pf_fs *fs, uint64_t parent, const char *name, bool sized, struct pf_attr *attr,
                 struct pf_op *op);
void pf_fs_forget(struct pf_fs *fs, uint64_t ino, uint64_t uses);
int pf_fs_getattr(struct pf_fs *fs, uint64_t ino, struct pf_attr *attr, struct pf_op *op);
/* Returns the target of a link in *target, allocated; the caller frees it. */
int pf_fs_readlink(struct pf_fs *fs, uint64_t ino, char **target, struct pf_op *op);

struct pf_dir;
int pf_fs_opendir(struct pf_fs *fs, uint64_t ino, struct pf_dir **dir, struct pf_op *op);
/*
 * Adds a reference, since several threads may list one directory. pf_fs_closedir drops a reference. If it was the last one,
 * the directory is closed.
 */
struct pf_dir *pf_dir_hold(struct pf_dir *dir);
void pf_fs_closedir(struct pf_dir *dir);
bool pf_dir_keeps_cache(const struct pf_dir *dir); /* the kernel may cache the listing: it never changes */

/*
 * An entry of a directory. type is DT_*. The offset of the first entry is 0, that of each other one is the `next` of the
 * entry before it. pf_fs_readdir returns 1 with *entry filled, 0 at the end, or a negative errno value, for example if there
 * are no memory or descriptors to determine the entry's type. With want_attr, attributes that need no pass are stored in
 * *attr and add a look-up reference to attr->st.st_ino; otherwise attr->st.st_ino is 0.
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
/*
 * Opens a file. once: one thread reads the file once, sequentially and without gaps; opening the file then needs no
 * pass that computes the size.
 */
int pf_fs_open(struct pf_fs *fs, uint64_t ino, bool once, struct pf_handle **handle, struct pf_op *op);
struct pf_handle *pf_handle_hold(struct pf_handle *handle);
void pf_fs_close(struct pf_handle *handle);
/* How the kernel should cache a handle: */
bool pf_handle_keeps_cache(const struct pf_handle *handle); /* a file with this node number never changes */
bool pf_handle_is_direct(const struct pf_handle *handle);   /* must not be cached */
/* True if the file's attributes at open differed from those last returned for its node number. */
bool pf_handle_has_changed(const struct pf_handle *handle);

/*
 * The result of a read: spans of cached blocks, a range of a file descriptor (a passed-through file), or bytes that
 * are valid until the next read of the handle.
 */
struct pf_data {
    int n_spans; /* > 0: the result is in spans[] */
    bool is_cut; /* the spans are shorter than the request, although the file continues */
    struct pf_span spans[PF_SPANS];
    int fd; /* >= 0: the result is `size` bytes at `offset` of this file */
    uint64_t offset;
    const char *bytes; /* neither spans nor fd: the result is `size` bytes here */
    size_t size;
    char *own; /* owned buffer, or NULL */
};
int pf_fs_read(struct pf_handle *handle, uint64_t offset, size_t size, struct pf_data *data,
               struct pf_op *op);
void pf_data_release(struct pf_fs *fs, struct pf_data *data);

/* ---- for modules above the tree: control, runs, commands ---------------------------------------- */

struct pf_env *pf_fs_env(struct pf_fs *fs);
const struct pf_fs_options *pf_fs_options(const struct pf_fs *fs);

/* The errno value that programs see for an error's code. */
int pf_errno_shown(int code);
/* Converts the result of a call (0, or -1 with op->error filled) into the errno value that programs see. */
static inline int pf_op_errno(const struct pf_op *op, int result)
{
    return result ? pf_errno_shown(op->error.code) : 0;
}

/* True if SOURCE is one profile. */
bool pf_root_is_profile(struct pf_fs *fs);

enum pf_entry_type { PF_ENTRY_DIR, PF_ENTRY_FILE, PF_ENTRY_LINK, PF_ENTRY_OTHER, PF_ENTRY_PROFILE };

/* The result of examining an entry of SOURCE. */
struct pf_entry_info {
    enum pf_entry_type type;
    bool packed;   /* DIR: an archive shown as a folder; st is adjusted to a folder */
    bool unprobed; /* DIR: probing has timed out; the folder may be a profile */
    struct stat st;
    const struct pf_driver *driver; /* PROFILE only */
    struct pf_probe_result probe;
};

/*
 * Determines the type of `name` in a folder. The name PF_BESIDE_NAME denotes the profile that is made from the
 * folder itself. 0 or an errno value. After a transient error (pf_is_transient) the entry may be a profile or not;
 * info->type is then derived from st_mode only, if the attributes could be read.
 */
int pf_classify(struct pf_fs *fs, const struct pf_folder *folder, const char *name,
                struct pf_entry_info *info);
/*
 * pf_classify for listings and look-ups. Probing a folder on a foreign file system (pf_is_foreign) is limited to 2 s;
 * after that, info->unprobed is set.
 */
int pf_classify_in_time(struct pf_fs *fs, const struct pf_folder *folder, const char *name,
                        struct pf_entry_info *info);

/* Figures for status.txt. Thread-safe. */
struct pf_fs_status {
    uint64_t started;    /* monotonic seconds */
    time_t started_at;   /* seconds since 1970 */
    const char *sandbox; /* borrowed; NULL: no sandbox */
    size_t loaded_profiles, entries;
};
void pf_fs_status(struct pf_fs *fs, struct pf_fs_status *status);

/*
 * Node numbers. An entry of SOURCE has a small number (the root is 1). The number of a node inside a profile consists
 * of the number of the profile's version, the kind and the item. Nodes of a virtual folder use the same layout; the
 * folder chooses the number in the place of the version.
 *
 *   63      40 39  32 31           0
 *   [version ][ kind ][    item    ]
 */
enum { PF_KIND_VIRTUAL = 252 /* this kind and higher ones are those of virtual folders */ };

static inline uint64_t pf_ino(uint32_t version, unsigned kind, uint32_t item)
{
    return (uint64_t)version << 40 | (uint64_t)kind << 32 | item;
}

/* ---- virtual folders ---------------------------------------------------------------------------- */

/* The folder of SOURCE in which a virtual folder is looked up. */
struct pf_virtual_parent {
    uint64_t ino;
    const char *path;             /* below SOURCE, "" for the root; NULL for virtuals that hide entries */
    const struct pf_folder *open; /* NULL for virtuals that hide entries */
    uint64_t shown;               /* st_ino of the virtual folder as shown to programs */
};

/* The contents of a file in a virtual folder: bytes or a flushed store, owned by the caller. */
struct pf_virtual_text {
    char *bytes;
    struct pf_store *store;
    uint64_t size;
    bool direct; /* contents differ on each open: the kernel must not cache them */
};

/*
 * A folder of generated files that a module above the tree adds to folders of SOURCE. All functions are called
 * concurrently and without locks; results are as for the operations above. `self` is the pointer returned by `make`.
 */
struct pf_virtual {
    const char *name;
    unsigned kind; /* kind of all its nodes; unique among virtual folders */
    bool hides;    /* hides an entry of SOURCE with this name; false: the entry takes precedence */
    void *(*make)(struct pf_fs *fs); /* NULL: out of memory */
    void (*free)(void *self);
    /*
     * Looks up the virtual folder in a folder of SOURCE. 0 with *attr filled, ENOENT, or another errno value. If
     * `hides`, parent->path and parent->open are NULL.
     */
    int (*find)(void *self, const struct pf_virtual_parent *parent, struct pf_attr *attr, struct pf_op *op);
    /*
     * True if the virtual folder is listed in a folder that holds this number of profiles. beside: one of the profiles
     * is made from the folder itself. If `hides`, the result depends on `folder` only (see pf_virtual_hides).
     */
    bool (*is_listed)(void *self, uint64_t folder, uint64_t profiles, bool beside);
    int (*lookup)(void *self, uint64_t parent, const char *name, struct pf_attr *attr, struct pf_op *op);
    int (*getattr)(void *self, uint64_t ino, struct pf_attr *attr, struct pf_op *op);
    /* Prepares a folder for calls of `entry`. */
    int (*opendir)(void *self, uint64_t ino, struct pf_op *op);
    /* Fills *entry, except `next`, with the entry of this number; the first one is 0. False past the end. */
    bool (*entry)(void *self, uint64_t ino, uint64_t number, struct pf_dirent *entry);
    int (*open)(void *self, uint64_t ino, struct pf_virtual_text *text, struct pf_op *op);
    /* NULL: the folder has no links. */
    int (*readlink)(void *self, uint64_t ino, char **target, struct pf_op *op);
    /* Frees memory and descriptors of data that can be recomputed. Returns false if there was nothing to free. Optional. */
    bool (*shrink)(void *self);
};

#endif
