/* SPDX-License-Identifier: MIT */
#ifndef PF_JSON_TREE_H
#define PF_JSON_TREE_H

#include <json-c/json.h>

#include "formats/json/json.h"

/*
 * Values as trees of json-c, for what is small and whose members come in any order: heads, models, a line of JSON Lines. The
 * pull reader finds the value, so that mass data around it cost nothing and damage has its place in the file; json-c makes
 * its tree, in which of two equal names the last counts and integers beyond 64 bits become the nearest one within. A tree takes some ten times the memory of its text: so there
 * is a limit. For one thread.
 */
struct pf_json_trees;

/*
 * limit: the longest text, in bytes, that becomes a tree. strict: bytes that are no UTF-8 are an error; else they stand as they
 * are. NULL: out of memory.
 */
struct pf_json_trees *pf_json_trees_new(size_t limit, bool strict);
void pf_json_trees_free(struct pf_json_trees *trees);

/*
 * The next value of the reader, as pf_json_skip goes over it: *tree is its tree, which json_object_put frees (NULL for null, and
 * where the value is longer than the limit: token->cut). *token is its first token. Returns the token's event, PF_JSON_END or the
 * end of the container if there is no value; -1 with *error filled: as pf_json_next, also for what is wrong inside the value.
 */
int pf_json_tree(struct pf_json_trees *trees, struct pf_json *json, struct pf_json_token *token,
                 struct json_object **tree, struct pf_error *error);

/* The same of a text that pf_json_take has given, with its token. 0, or -1 with *error filled. */
int pf_json_tree_of(struct pf_json_trees *trees, const struct pf_json_token *token, struct json_object **tree,
                    struct pf_error *error);

/* The tree of a token that is a string, number, true or false; NULL for all else, and if memory runs out. */
struct json_object *pf_json_scalar(const struct pf_json_token *token);

/* The value of an object's member; NULL if it is null, there is none, or `object` is no object. */
static inline struct json_object *pf_tree_get(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;
    return json_object_object_get_ex(object, name, &value) ? value : NULL;
}

/* The text of a string, absent for all else. Valid as long as the tree. */
static inline struct pf_cell pf_tree_text(struct json_object *value)
{
    bool text = json_object_is_type(value, json_type_string);
    return text ? pf_text(json_object_get_string(value), (size_t)json_object_get_string_len(value))
                : pf_absent();
}

/* A number as a cell: an integer of up to 64 bits, else a double. Absent for all else. */
struct pf_cell pf_tree_number(struct json_object *value);

/* True if the value is an object, or a list. */
static inline bool pf_tree_is_object(struct json_object *value)
{
    return json_object_is_type(value, json_type_object);
}

static inline bool pf_tree_is_list(struct json_object *value)
{
    return json_object_is_type(value, json_type_array);
}

/* How many elements a list has: 0 for all else. */
static inline size_t pf_tree_length(struct json_object *value)
{
    return pf_tree_is_list(value) ? json_object_array_length(value) : 0;
}

#endif
