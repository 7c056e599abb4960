/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_STUDY_H
#define PF_EXTRAP_STUDY_H

#include "formats/extrap/experiment.h"
#include "formats/extrap/measured.h"
#include "formats/extrap/models.h"
#include "formats/input/source.h"

/*
 * Everything that a file tells, and what readers add it with. Reading is sticky: once something has failed (memory, a read,
 * nobody waits any more), nothing more is added, numbers are the ones that mean none, and `failed` says so. A reader need not
 * look after each step: it ends its loops. For one thread.
 */
struct pf_study {
    struct pf_experiment *experiment;
    struct pf_measured *measured;
    struct pf_models *models;
    char version[32]; /* of the format, for info.txt */
    char scaling[32]; /* how Extra-P made one value of many locations; empty: not said */

    /* While it is read: */
    struct pf_input *input;
    uint64_t end; /* what comes after about this offset is not looked at */
    struct pf_pass *pass;
    uint64_t next_step;
    struct pf_error *error; /* filled if */
    bool failed;
};

/* NULL: out of memory. */
struct pf_study *pf_study_new(void);
void pf_study_free(struct pf_study *study);

/* How often to say how far a pass is. */
#define PF_STUDY_STEP ((uint64_t)1 << 20)

/* Says that the pass stands at this offset. False: nobody waits for it any more, or the study had failed before. */
bool pf_study_step(struct pf_study *study, uint64_t at);

/* Remembers that something has failed if the result is negative. Returns whether the study is as good as before. */
static inline bool pf_study_check(struct pf_study *study, int result)
{
    study->failed |= result < 0;
    return !study->failed;
}

/* True if *error, with which a reader has failed, is the file's fault; else it is memory or a read. */
bool pf_study_is_damage(const struct pf_error *error);

/* What a reader has failed with: the file's fault is noted as the reason why reading ends, all else is the study's failure. */
void pf_study_damage(struct pf_study *study);

/* The number of a parameter, added if new; -1: there are PF_PARAMETERS_MAX others, which is noted, or the study has failed. */
int pf_study_parameter(struct pf_study *study, const char *name, size_t size, uint64_t line, int64_t offset);

/* As the functions of struct pf_experiment; PF_NO_STRING, _CONTEXT, _SERIES, _POINT: the study has failed. */
uint32_t pf_study_metric(struct pf_study *study, const char *name, size_t size);
uint32_t pf_study_callpath(struct pf_study *study, uint32_t parent, const char *path, size_t size);
/* The contexts that a tree's are in the study, added by their names. Freed by the caller; NULL: the study has failed. */
uint32_t *pf_study_contexts(struct pf_study *study, const struct pf_tree *tree);
/* The place is where the series is first told of. */
uint32_t pf_study_series(struct pf_study *study, uint32_t context, uint32_t metric, bool anew, uint64_t line,
                         int64_t offset);
/* Of `count` coordinates those up to PF_PARAMETERS_MAX are there. A number of them that is not the parameters' is noted. */
uint32_t pf_study_point(struct pf_study *study, const double *coordinates, unsigned count, bool broken,
                        uint64_t line, int64_t offset);

/* As pf_measured_begin and pf_measured_add. */
void pf_study_begin(struct pf_study *study, uint32_t series, uint32_t point, bool starts);
static inline void pf_study_add(struct pf_study *study, double value)
{
    if (!study->failed && pf_measured_add(study->measured, value, study->error) < 0)
        study->failed = true;
}

#endif
