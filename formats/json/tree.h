/* SPDX-License-Identifier: MIT */
#ifndef PF_JSON_TREE_H
#define PF_JSON_TREE_H

#include <json-c/json.h>

#include "formats/json/json.h"

/*
 * Parses values into json-c trees, for small values whose members come in any order: heads, models, a line of JSON
 * Lines. The pull parser finds the value, so mass data around it is not stored, and damage has an offset in the file.
 * In json-c's tree, the last of two equal names wins, and integers beyond 64 bits are clamped. A tree takes about ten
 * times the memory of its text, hence the limit. For one thread.
 */
struct pf_json_trees;

/*
 * limit: maximum size of a value's text in bytes. strict: invalid UTF-8 is an error; otherwise it is kept. Returns NULL
 * if memory is exhausted.
 */
struct pf_json_trees *pf_json_trees_new(size_t limit, bool strict);
void pf_json_trees_free(struct pf_json_trees *trees);

/*
 * Parses the reader's next value. *tree is the value's tree, owned by the caller (json_object_put); NULL for null, and for
 * an object or array that exceeds the limit (token->cut). *token is the value's first token. Returns the token's event,
 * which is PF_JSON_END or the end of the container if there is no value; -1 with *error filled as by pf_json_next, also
 * for errors inside the value.
 */
int pf_json_tree(struct pf_json_trees *trees, struct pf_json *json, struct pf_json_token *token,
                 struct json_object **tree, struct pf_error *error);

/* Parses an object or array from the token that pf_json_take filled. *tree is owned by the caller. Returns 0, or -1
 * with *error filled. */
int pf_json_tree_of(struct pf_json_trees *trees, const struct pf_json_token *token, struct json_object **tree,
                    struct pf_error *error);

/* The tree of a string, number, true or false, owned by the caller. NULL for other tokens, and if memory is exhausted. */
struct json_object *pf_json_scalar(const struct pf_json_token *token);

/* The value of an object's member, borrowed. NULL if it is null or missing, or `object` is not an object. */
static inline struct json_object *pf_tree_get(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;
    return json_object_object_get_ex(object, name, &value) ? value : NULL;
}

/* The text of a string, valid as long as the tree. Absent for other values. */
static inline struct pf_cell pf_tree_text(struct json_object *value)
{
    bool text = json_object_is_type(value, json_type_string);
    return text ? pf_text(json_object_get_string(value), (size_t)json_object_get_string_len(value))
                : pf_absent();
}

/* A number as a cell: an integer of up to 64 bits, or a double. Absent for other values. */
struct pf_cell pf_tree_number(struct json_object *value);

/* True if the value is an object, or an array. */
static inline bool pf_tree_is_object(struct json_object *value)
{
    return json_object_is_type(value, json_type_object);
}

static inline bool pf_tree_is_list(struct json_object *value)
{
    return json_object_is_type(value, json_type_array);
}

/* The number of elements of an array; 0 for other values. */
static inline size_t pf_tree_length(struct json_object *value)
{
    return pf_tree_is_list(value) ? json_object_array_length(value) : 0;
}

#endif
