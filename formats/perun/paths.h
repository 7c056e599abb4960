/* SPDX-License-Identifier: MIT */
#ifndef PF_PERUN_PATHS_H
#define PF_PERUN_PATHS_H

#include "formats/json/json.h"
#include "formats/kit/tree.h"
#include "formats/perun/flat.h"

/*
 * Makes contexts of what resources say of their place: trace, uid and command. Which end of a trace is the root
 * depends on the form of its frames: objects with `function` stand innermost first and hold the uid; objects with `func`
 * and strings stand outermost first, and the uid is the leaf after them.
 */
struct perun_paths;

/* Kinds of contexts. */
enum { PERUN_FUNCTION, PERUN_COMMAND, PERUN_NOWHERE };
extern const char *const perun_kinds[];

/* A value as it stands in the file: JSON text (ended by a NUL) or a string's text. */
struct perun_raw {
    enum pf_json_event event; /* PF_JSON_END: there is none */
    char *text;
    size_t size;
    uint64_t offset, line; /* in the file */
};

/* The tree gets what is found. NULL: out of memory. */
struct perun_paths *perun_paths_new(struct pf_tree *tree);
void perun_paths_free(struct perun_paths *paths);

/*
 * The context of a place, and its uid as one text in the tree's strings (PF_NO_STRING: it has none). Places met a short
 * while ago are not read again. 0, or -1 with *error filled: with the place in the file if the text is no JSON.
 */
int perun_path(struct perun_paths *paths, const struct perun_raw *trace, const struct perun_raw *uid,
               const struct perun_raw *command, uint32_t *context, uint32_t *uid_text,
               struct pf_error *error);

/* The same of a uid that is a text, one of the tree's strings, without trace and command. */
int perun_path_of_word(struct perun_paths *paths, uint32_t uid, uint32_t *context, struct pf_error *error);

/* Gives the tree what is known of files and lines. After the last path, before the tree is finished. */
void perun_paths_finish(struct perun_paths *paths);

#endif
