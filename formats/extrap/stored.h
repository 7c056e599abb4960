/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_STORED_H
#define PF_EXTRAP_STORED_H

#include "formats/extrap/columns.h"
#include "formats/extrap/experiment.h"
#include "formats/extrap/measured.h"
#include "formats/extrap/models.h"
#include "formats/input/source.h"
#include "formats/json/json.h"

/*
 * Profiles whose measurements are collected in a store: what their drivers share. A driver supplies a function that
 * reads its file into a study; the rest (stages, tables, cursors) is here. A composite of several files is
 * another such function.
 */

/* Everything that a file tells. */
struct pf_study {
    struct pf_experiment *experiment;
    struct pf_measured *measured;
    struct pf_models *models;
    char version[32]; /* of the format, for info.txt */
    char scaling[32]; /* how Extra-P made one value of many locations; empty: not said */
};

void pf_study_free(struct pf_study *study);

/*
 * Reads an input into a new study, up to about the offset `end`: what comes after it is not looked at. Damage is
 * noted with the experiment. 0, or -1 with *error filled: the input cannot be read at all, or ECANCELED.
 */
typedef int pf_study_read(struct pf_study *study, struct pf_input *input, uint64_t end, struct pf_pass *pass,
                          struct pf_error *error);

/* The state of such a profile. */
struct pf_stored {
    struct pf_input *input;
    pf_study_read *read;
    struct pf_study *study;     /* NULL before the pass */
    struct pf_experiment *head; /* big files: the parameters as their first MB has them; else NULL */
    struct pf_experiment_tables tables;
};

/* Files up to this size are mostly read whole when they are opened; of larger ones, this much is. */
#define PF_STUDY_HEAD ((uint64_t)1 << 20)

/*
 * The functions of a driver. open: reads files of at most `whole` bytes whole, of larger ones about PF_STUDY_HEAD bytes.
 * models: there is a table of them.
 */
int pf_stored_open(struct pf_profile *profile, pf_study_read *read, uint64_t whole, bool models,
                   struct pf_error *error);
int pf_stored_load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass,
                   struct pf_error *error);
void pf_stored_close(struct pf_profile *profile);

/* How often to say how far a pass is. */
#define PF_STUDY_STEP ((uint64_t)1 << 20)

/* True if what pf_json_next and its like have failed with is the text's fault; else it is memory or a read. */
bool pf_study_is_damage(const struct pf_error *error);

/* Notes why reading ended before the end of the file. 0 or -1. */
int pf_study_damage(struct pf_study *study, struct pf_error *error);

/* An input that ends at an offset, for a JSON reader. */
struct pf_study_input {
    struct pf_input *input;
    uint64_t end;
    struct pf_pass *pass;
    uint64_t next_step;
};

/* Reads it, and says how far the pass is. arg: a struct pf_study_input. */
ssize_t pf_study_input_read(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error);

/* True if the token is a number, or a string that Python's float() takes, or a fraction as "3/2". */
bool pf_study_number(const struct pf_json_token *token, double *value);

/* Notes a name that was cut or had bytes replaced. 0 or -1. */
int pf_study_check_text(struct pf_study *study, const struct pf_json_token *token, struct pf_error *error);

/* Walks values, statistics and cells. (stored_rows.c) */
extern const struct pf_cursor_ops pf_stored_rows;

#endif
