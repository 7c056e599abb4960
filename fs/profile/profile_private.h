/* SPDX-License-Identifier: MIT */
#ifndef PF_PROFILE_PRIVATE_H
#define PF_PROFILE_PRIVATE_H

#include "formats/kit/lock.h"
#include "fs/map.h"
#include "fs/profile/failure.h"
#include "fs/profile/known.h"
#include "fs/profile/profile.h"
#include "fs/profile/views.h"

struct pf_profile {
    struct pf_owner owner; /* first; counts the references */
    struct pf_core *core;
    void (*end)(struct pf_profile *profile);      /* profile.c: closes and frees the profile after its last release */
    void (*remember)(struct pf_profile *profile); /* profile_cache.c: caches what passes have found; not with `lock` held */
    const struct pf_driver *driver;
    struct pf_model model;    /* once it is opened */
    struct pf_source *source; /* closed until then */

    /* What is known from an earlier time may answer for the profile: then it is opened by the first who asks for more. */
    atomic_bool opened;
    char *path;              /* below SOURCE; NULL: what is learnt is not kept */
    uint64_t key;            /* of the source in the cache; 0: what is known is not kept */
    uint64_t device;         /* that the source is on */
    struct pf_access access; /* of who may read what is known; immutable */

    struct pf_known known;

    struct pf_lock lock; /* guards what follows */
    enum pf_stage stage;
    struct pf_failure
        failure; /* why the next stage can't be loaded: not tried again, it may be half loaded */
    struct pf_family *families[PF_TABLES_MAX];
    struct pf_aggregate *aggregate;  /* of all metrics */
    struct pf_aggregate **of_metric; /* by metric: of it and its partner, which share them; NULL: none */
    bool contexts_named;
    bool sums_stored;       /* `aggregate` is in the cache, or too large for it */
    bool *of_metric_stored; /* the same of each in of_metric */
    struct pf_map texts;    /* of struct pf_file_text, by node */
    struct pf_map sizes;    /* of files that are too short for checkpoints, by node; texts.c */
    char *facts;            /* what the driver learnt in an earlier process, until its stage is loaded */
    size_t facts_size;
    uint64_t unsaved_ns; /* how long the passes took whose findings are not in the cache yet */
    bool saving;

    /* Made with their stages, or those of many contexts when they are asked for; immutable afterwards. */
    struct pf_dirnames *names[PF_NAMED];
    uint16_t *context_dir_size; /* length of each context's path; UINT16_MAX: too long */
};

/* ---- state.c ------------------------------------------------------------------------------------- */

/* With profile->lock held: the number of contexts; 0 as long as the model is not loaded. */
uint32_t pf_contexts_now(const struct pf_profile *profile);
/* With profile->lock held: as pf_profile_aggregate_now. */
struct pf_aggregate *pf_aggregate_now(const struct pf_profile *profile, int metric);

/* True if the size of a short file has been measured. With profile->lock held. */
bool pf_find_size(const struct pf_profile *profile, struct pf_node node, uint64_t *size);
/* The size of a table's file out of the table's sizes. */
uint64_t pf_family_size(const struct pf_family *family, struct pf_node node);
/* True with a size that needs no open profile. */
bool pf_size_if_kept(struct pf_profile *profile, struct pf_node node, uint64_t *size);

/* Counts a pass whose findings are worth a place in the cache, and caches them if they took long. `start` is when the pass began. */
void pf_profile_note_pass(struct pf_profile *profile, uint64_t start);
uint64_t pf_now_ns(void);

/* profile_names.c: name what has come with a stage, but contexts; and these, which may be tried again. 0, or -1 with *error filled. */
int pf_profile_name(struct pf_profile *profile, enum pf_stage stage, struct pf_error *error);
int pf_profile_name_contexts(struct pf_profile *profile, struct pf_error *error);

/*
 * profile_aggregates.c: frees all, for who closes the profile.
 */
void pf_profile_free_aggregates(struct pf_profile *profile);
/* True if the disk has lost some of them: the profile is to be opened again. With profile->lock held. */
bool pf_profile_lost_sums(const struct pf_profile *profile);

/* profile_known.c: the key in the cache of a source that is open, from its first input; sets profile->device. */
uint64_t pf_profile_open_key(struct pf_profile *profile);

/* profile_cache.c: read what earlier processes have found; write what is known now (not with profile->lock held). */
void pf_profile_recall(struct pf_profile *profile);
void pf_profile_remember(struct pf_profile *profile);
/* profile_cache.c: sums of all metrics (-1), or of one and its partner, that an earlier process has stored. NULL: there are none. */
struct pf_aggregate *pf_profile_stored_sums(struct pf_profile *profile, int metric);

/* profile.c: opens a profile that no other thread has, on this thread. 0, or -1 with *error filled. */
int pf_profile_open(struct pf_profile *profile, struct pf_error *error);
/* profile.c: one that is not open yet; NULL with *error filled. */
struct pf_profile *pf_profile_new(struct pf_core *core, const struct pf_driver *driver,
                                  struct pf_error *error);

/*
 * profile_known.c: the source's inputs are to be these, as pf_profile_inputs gives them, whether they have been opened or not. 0, or -1 with
 * *error filled, ESTALE if they are others.
 */
int pf_profile_expect(struct pf_profile *profile, const char *inputs, size_t size, struct pf_error *error);
/* Keeps what is known, if something was learnt. */
/* False: the source has changed since it was opened, and nothing may be cached for it. Passes have been checked when they ended. */
bool pf_profile_may_cache(struct pf_profile *profile);
void pf_profile_keep_known(struct pf_profile *profile);
/* profile_known.c: recalls the names of a version that had these inputs and has changed since. False: the cache does not hold them. */
bool pf_profile_recall_names(struct pf_profile *profile, const struct pf_buf *inputs);
/* True if something is known of what is at the profile's place now. */
bool pf_profile_recall_known(struct pf_profile *profile);
/* The key of what is known of the profile if its source has these numbers. */
uint64_t pf_profile_key(const struct pf_profile *profile, uint64_t device, uint64_t inode);

/* Learns the listing of a folder that can be searched now; the size and perhaps the text of a file. */
void pf_profile_learn_folder(struct pf_profile *profile, struct pf_node folder);
void pf_profile_learn_file(struct pf_profile *profile, struct pf_node file, uint64_t size, const char *text);

/*
 * profile_known.c: what text depends on, which stands before all that is kept; and taken off again. False: what stands there now is
 * another version, or it is not sound. Else *access says who may read what it was made from.
 */
void pf_profile_pack_head(struct pf_profile *profile, struct pf_buf *out);
bool pf_profile_unpack_head(struct pf_profile *profile, struct pf_unpack *in, struct pf_access *access);

/*
 * texts.c: a file's text, shared by all its handles and by jobs. Kept without handles if measuring it has set checkpoints; of a shorter
 * file the size is kept.
 */
struct pf_file_text {
    struct pf_owner
        owner; /* first; counts handles, operations and jobs; the last reference is dropped under profile->lock */
    struct pf_text text;
    struct pf_profile *profile; /* held while there are references */
    struct pf_node node;
    _Atomic uint64_t until; /* to be measured up to here */
    bool keep;
};

/* The text of a node, with a reference; made if there is none. NULL: out of memory. */
struct pf_file_text *pf_file_text_of(struct pf_profile *profile, struct pf_node node);
void pf_file_text_release(struct pf_file_text *text);
/* Frees the texts that are kept without handles, and all sizes. */
void pf_file_texts_free(struct pf_profile *profile);

/* Measures a text up to an offset; UINT64_MAX: to its end. 0, or -1 with op->error filled. */
int pf_file_text_measure(struct pf_file_text *text, uint64_t until, struct pf_op *op);
/* Renders a range of a text into the cache of blocks, on a pass thread. 0, or -1 with op->error filled. */
int pf_file_text_render(struct pf_file_text *text, uint64_t offset, size_t size, struct pf_op *op);

/* For the cache: visits all texts that are kept, with profile->lock held. */
void pf_file_texts_each(struct pf_profile *profile,
                        void (*each)(void *arg, struct pf_node node, const struct pf_text *text), void *arg);
/* For the cache: keeps a text that an earlier process has measured. Takes the checkpoints over. False: it is measured already. */
bool pf_file_text_restore(struct pf_profile *profile, struct pf_node node, uint64_t size, uint64_t measured,
                          struct pf_checkpoints *checkpoints);

/* ---- views.c, for nodes.c ------------------------------------------------------------------------ */

/* An entry of a folder that is no item: a view, a folder of views, or a driver's table. */
struct pf_own {
    unsigned kind;
    const char *stem, *extension; /* its name */
};
/* The entries of a folder one after the other: *at, 0 at first, counts. False when there are no more. */
bool pf_next_own(const struct pf_model *model, unsigned folder, size_t *at, struct pf_own *own);
/* Writes the entry's name into name[PF_NAME_MAX + 1]. */
void pf_put_own_name(const struct pf_own *own, char *name);
/* The kind of a folder's entry by its name. False: the folder has none of this name. */
bool pf_find_own(const struct pf_model *model, unsigned folder, const char *name, unsigned *kind);

/* A kind of folder that holds an entry for each item of something that has names. */
struct pf_named_folder {
    unsigned folder, item; /* kinds */
    enum pf_named named;
};
/* By the kind of the folder, and by that of its items; NULL: there is none. */
const struct pf_named_folder *pf_named_folder(unsigned folder);
const struct pf_named_folder *pf_folder_of_items(unsigned item);
/* How many items of a kind there are in the profile; 1 of a kind that is no item. */
uint64_t pf_count_of(const struct pf_model *model, unsigned kind);
/* The folder that holds a node. */
struct pf_node pf_folder_of(const struct pf_model *model, struct pf_node node);

#endif
