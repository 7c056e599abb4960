/* SPDX-License-Identifier: MIT */
#ifndef PF_LIVE_PRIVATE_H
#define PF_LIVE_PRIVATE_H

#include "formats/kit/table.h"
#include "fs/profile/failure.h"
#include "fs/profile/known.h"
#include "fs/profile/live.h"
#include "fs/profile/views.h"

/* What a pass can be for. */
enum pf_task_kind {
    PF_TASK_STAGE,     /* load the model up to stage `item` */
    PF_TASK_FAMILY,    /* sizes of table `item` */
    PF_TASK_AGGREGATE, /* aggregates */
    PF_TASK_NAMES,     /* names of many contexts' folders */
    PF_TASK_COVER,     /* measure a file up to an offset */
    PF_TASK_BLOCKS,    /* make blocks of a heavy file */
};

struct pf_file_text; /* file.c: a file's text, shared by its handles */

/* A pass that is queued or running for a profile. */
struct pf_task {
    struct pf_task *next;
    struct pf_live *live; /* held */
    enum pf_task_kind kind;
    uint64_t item;             /* stage, table, or the file's key */
    struct pf_file_text *text; /* held; COVER and BLOCKS only */
    uint64_t offset, size;     /* COVER: until offset; BLOCKS: this range */
    struct pf_job *job;
};

struct pf_live {
    struct pf_core *core;
    const struct pf_driver *driver;
    struct pf_profile profile; /* once it is opened */
    struct pf_source *source;  /* then, or earlier where that is needed */
    atomic_uint references;

    /* What is known from an earlier time may answer for the profile: then it is opened by the first who asks for more. */
    atomic_bool opened;
    pthread_mutex_t opening;
    char *path;              /* below SOURCE; NULL: it was opened at once, and what is learnt is not kept */
    uint64_t key;            /* under which it is kept */
    bool directory;          /* what stands at the path */
    struct pf_access access; /* of who may read what is known; immutable */
    bool more_inputs;        /* some of these may not be open now */
    struct pf_buf inputs;    /* of the profile that what is known was learnt from; immutable */

    pthread_mutex_t lock; /* guards what follows */
    struct pf_known known;
    enum pf_stage stage;
    struct pf_failure
        failure; /* why the next stage can't be loaded: not tried again, it may be half loaded */
    struct pf_task *tasks;
    struct pf_family *families[PF_TABLES_MAX];
    struct pf_failure family_failure[PF_TABLES_MAX];
    struct pf_aggregate *aggregate;
    struct pf_failure aggregate_failure;
    bool contexts_named;
    struct pf_failure names_failure; /* why the contexts could not be named */
    char *packed_aggregate;          /* from the cache file, until somebody asks for it */
    size_t packed_aggregate_size;
    struct pf_map texts;           /* of struct pf_file_text, by node */
    unsigned alone[PF_TABLES_MAX]; /* how many files of a table were measured on their own */
    char *facts; /* what the driver learnt in an earlier process, until its stage is loaded */
    size_t facts_size;
    uint64_t unsaved_ns; /* how long the passes took whose findings are in no cache file yet */
    bool saving;

    /* Made with their stages, or those of many contexts when they are asked for; immutable afterwards. */
    struct pf_dirnames *names[PF_NAMED];
    const char **reserved[PF_NAMED]; /* what they may not be called */
    uint16_t *context_dir_size;      /* length of each context's path; UINT16_MAX: too long */
};

/*
 * Starts a pass, or joins the one that runs for the same (kind, item); called with live->lock held. PF_WAIT
 * with *job (a reference), or -1 with *error. `text` is held by the task while it lives.
 */
int pf_task_start(struct pf_live *live, enum pf_task_kind kind, uint64_t item, struct pf_file_text *text,
                  uint64_t offset, uint64_t size, struct pf_job **job, struct pf_error *error);

/* live_names.c: name what a stage has made. 0, or -1 with *error filled; to name contexts may be tried again. */
int pf_live_name_partitions(struct pf_live *live, struct pf_error *error);
int pf_live_name_metrics(struct pf_live *live, struct pf_error *error);
int pf_live_name_contexts(struct pf_live *live, struct pf_error *error);
int pf_live_name_keys(struct pf_live *live, struct pf_error *error);
int pf_live_name_carried(struct pf_live *live,
                         struct pf_error *error); /* blobs and links, when it is opened */

/* live_cache.c: read what earlier processes have found; write what is known now (not with live->lock held). */
void pf_live_recall(struct pf_live *live);
void pf_live_remember(struct pf_live *live);

/* live.c: one that is not open yet; NULL with *error filled. */
struct pf_live *pf_live_new(struct pf_core *core, const struct pf_driver *driver, struct pf_error *error);

/* live_known.c: makes live->source. 0, or -1 with *error filled. */
int pf_live_need_source(struct pf_live *live, struct pf_error *error);
/* What is known was made from inputs that the open profile has not. */
bool pf_live_has_more_inputs(const struct pf_live *live);
/* 0 if the inputs that what is known was made from are as they were; else -1 with *error filled. */
int pf_live_check_known(struct pf_live *live, struct pf_error *error);
/* Keeps what is known, if something was learnt. */
void pf_live_keep_known(struct pf_live *live);

/* Learns the listing of a folder that can be searched now; the size and perhaps the text of a file. */
void pf_live_learn_folder(struct pf_live *live, struct pf_node folder);
void pf_live_learn_file(struct pf_live *live, struct pf_node file, uint64_t size, const char *text);

/* As pf_folder_entry, pf_folder_find and pf_node_parent, from what is known; the first two are -1 where that tells nothing. */
int pf_live_known_entry(struct pf_live *live, struct pf_node folder, uint64_t number, char *name,
                        struct pf_node *entry);
int pf_live_known_find(struct pf_live *live, struct pf_node folder, const char *name, struct pf_node *entry);
bool pf_live_known_parent(struct pf_live *live, struct pf_node node, struct pf_node *parent, char *name);
/* The size of a file, and a copy of its text for the caller, or NULL. False: neither is known. */
bool pf_live_known_file(struct pf_live *live, struct pf_node file, uint64_t *size, char **text);

/* live_cache.c: what text depends on but for the inputs and the number of tables. */
void pf_live_pack_versions(const struct pf_live *live, struct pf_buf *out);
/* Inputs are packed as their number and so many of these. */
void pf_live_pack_input(struct pf_buf *out, const char *name, const struct pf_stamp *stamp);
/* And unpacked one by one: 1, the next (name NULL: the source itself); 0: no more; -1: they are not sound. */
struct pf_packed_inputs {
    struct pf_unpack in;
    uint64_t left;
    char path[4096];
    const char *name;
    struct pf_stamp stamp;
};
void pf_packed_inputs(struct pf_packed_inputs *inputs, const char *bytes, size_t size);
int pf_packed_input_next(struct pf_packed_inputs *inputs);

/* file.c, for the cache: all texts that are kept (with live->lock held), and one that was; takes the track over. */
void pf_file_texts_each(struct pf_live *live,
                        void (*each)(void *arg, struct pf_node node, const struct pf_text *text), void *arg);
bool pf_file_text_restore(struct pf_live *live, struct pf_node node, uint64_t size, uint64_t covered,
                          struct pf_track *track);

/* file.c, for tasks: run them, and hold or let go of a text. */
int pf_file_text_cover(struct pf_file_text *text, uint64_t until, struct pf_pass *pass,
                       struct pf_error *error);
int pf_file_text_blocks(struct pf_file_text *text, uint64_t offset, uint64_t size, struct pf_pass *pass,
                        struct pf_error *error);
void pf_file_text_failed(struct pf_file_text *text, const struct pf_error *error);
void pf_file_text_hold(struct pf_file_text *text); /* with live->lock held */
void pf_file_text_release(struct pf_file_text *text);
/* Frees what texts are kept although no handle is on them. */
void pf_file_texts_free(struct pf_live *live);

#endif
