/* SPDX-License-Identifier: MIT */
#ifndef PF_RUNS_FOLDER_H
#define PF_RUNS_FOLDER_H

#include "fs/runs/archive.h"
#include "fs/runs/changes.h"

/*
 * The runs of a folder of SOURCE: the profiles that it holds directly, in the order of `ls -v`, as they were at one moment.
 */
enum { PF_RUNS_MOST = 4096 };

struct pf_member {
    char *path; /* below SOURCE */
    const char *name;
    struct pf_found found;
};

struct pf_members {
    struct pf_member *members;
    unsigned n;
    uint64_t state; /* a number that differs once there are others, or one has changed */
};

/*
 * Lists the members of an open folder whose path below SOURCE is this. 0 with *members filled; ENOENT if there are too
 * few, too many, or a profile made of what the folder holds; else an errno value.
 */
int pf_members_list(struct pf_fs *fs, const struct pf_folder *folder, const char *path,
                    struct pf_members *members);
void pf_members_free(struct pf_members *members);

/* Below, at or above 0 as `ls -v` puts a before, with or behind b. */
int pf_compare_versions(const char *a, const char *b);

/* A metric that two or more runs have. */
struct pf_shared {
    char *name, *unit, *dir;
    unsigned runs, primary; /* how many have it, and in how many it is primary */
};

/* Where a text stands in a store. */
struct pf_extent {
    uint64_t offset, size;
};

/* What the runs have in common: made by opening them all. */
struct pf_overview {
    struct pf_shared *metrics;
    size_t n, room;
    int primary; /* index, -1: there are none */
    struct pf_buf summary;
};
int pf_overview_make(struct pf_fs *fs, const struct pf_members *members, struct pf_pass *pass,
                     struct pf_overview *overview, struct pf_error *error);
void pf_overview_free(struct pf_overview *overview);

/* The tables of one metric, one behind the other. */
enum pf_runs_table { PF_RUNS_FUNCTIONS, PF_RUNS_VALUES, PF_RUNS_CONTEXTS, PF_RUNS_CHANGES, PF_RUNS_TABLES };
struct pf_runs_texts {
    struct pf_store *store; /* settled; NULL: not made */
    struct pf_extent tables[PF_RUNS_TABLES];
};
int pf_runs_make(struct pf_fs *fs, const struct pf_members *members, const struct pf_shared *metric,
                 struct pf_pass *pass, struct pf_runs_texts *texts, struct pf_error *error);

#endif
