/* SPDX-License-Identifier: MIT */
#ifndef PF_DRIVER_EXTRA_H
#define PF_DRIVER_EXTRA_H

#include "formats/driver.h"

/* Optional parts of the driver interface (formats/driver.h) that few formats need. */

/* ---- parts of a profile other than measurements ------------------------------------------------ */

/*
 * The keys of a profile. Each key has a folder with an info.txt (the key's row in the table `about`, one line per cell)
 * and the tables that have a column of role PF_KEY.
 */
struct pf_keys {
    const char *plural; /* name of the folder: "models"; NULL: no keys */
    /* Two columns: id, name (names are unique). From PF_MODELLED on. Owned by the driver. */
    struct pf_rows *items;
    unsigned about; /* index in model->tables of a table that is held in rows and has one row per item */
};

/* A file that the profile carries, such as its decompressed original. It appears in src/ under this name. */
struct pf_blob {
    const char *name;
};

/* A symbolic link in the profile's folder. */
struct pf_link {
    const char *name;   /* any bytes; bytes that file names cannot contain are escaped */
    const char *target; /* a path relative to the folder of the source */
};

/* Filled by open(), except for keys.items. Owned by the driver, one per model. */
struct pf_model_extra {
    struct pf_keys keys;
    const struct pf_blob *blobs;
    size_t n_blobs;
    /* Name of the folder in the source that is shown as src/. The core sets `src` to NULL if there is no such folder. */
    const char *src;
    const struct pf_link *links;
    size_t n_links;
    /*
     * The table of call edges, for a format that stores call edges and no tree (no context has a parent). Its rows are
     * held in memory from PF_MODELLED on. It has a column of role PF_METRIC and plain columns called caller, callee
     * (names) and inclusive. callers.csv is made from it. Without a tree, inclusive values of functions are not computed:
     * they are the values of an exclusive metric's partner. NULL: the contexts are a tree.
     */
    const struct pf_table *edges;
};

/* Returns the extras of a model, never NULL. */
static inline const struct pf_model_extra *pf_extra_of(const struct pf_model *model)
{
    static const struct pf_model_extra none;
    return model->extra ? model->extra : &none;
}

/* ---- optional functions of a driver ----------------------------------------------------------------- */

struct pf_driver_extra {
    /*
     * True (for drivers of directories only): the profile is an additional entry PF_BESIDE_NAME of the directory, unless the directory has
     * an entry of that name. Only directories that have subdirectories are probed. False: the profile takes the place of the file or
     * directory.
     */
    bool beside;
    /*
     * Optional; both functions or neither. Facts are results of earlier passes over tables; later rows depend on these results. The core
     * caches them, so that sizes cached by an earlier process stay valid. `facts` writes the facts to `saved` if they fit into `room` bytes,
     * and returns their size in either case; it copies from memory only, since locks are held. `restore` restores them after PF_PARTITIONED
     * and returns 0, or -1 with *error filled.
     *
     * If a pass finds that a fact used for earlier rows is wrong, the cursor's `next` corrects the fact in the driver's state and fails
     * with EAGAIN; the core then restarts the pass. Only the first complete pass over a table may do so.
     */
    size_t (*facts)(const struct pf_model *model, void *saved, size_t room);
    int (*restore)(struct pf_model *model, const void *saved, size_t size, struct pf_error *error);
    /*
     * Required if a model has blobs: reads up to `size` bytes at `offset` (bytes) of a blob. Returns their number, which is smaller only at
     * the blob's end, or -1 with *error filled. Called from PF_OPENED on, from any thread.
     */
    ssize_t (*blob_read)(struct pf_model *model, size_t blob, void *buffer, size_t size, uint64_t offset,
                         struct pf_error *error);
};

/* Returns the extras of a driver, never NULL. */
static inline const struct pf_driver_extra *pf_driver_extra_of(const struct pf_driver *driver)
{
    static const struct pf_driver_extra none;
    return driver->extra ? driver->extra : &none;
}

/* ---- tables --------------------------------------------------------------------------------------- */

/* Further flags of struct pf_table, beyond enum pf_table_flags. */
enum pf_table_extra_flags {
    PF_ONLY_IN_KEYS = 256, /* appears only in the folders of keys */
    /* A cursor restricted to a metric skips the data of other metrics, but not fast enough for one pass per metric to pay off. */
    PF_SKIMS_METRIC = 512,
    /* A cursor restricted to a metric and its partner skips the data of other metrics. */
    PF_SEEKS_PARTNER = 1024,
};

/* The result of next_values of struct pf_cursor_ops: all values of one metric and context, valid until the next call. */
struct pf_value_row {
    uint32_t metric, context;
    const struct pf_cell *values; /* one cell per partition; an absent cell: no value */
};

#endif
