/* SPDX-License-Identifier: MIT */
#include "formats/json/tree.h"

#include <errno.h>
#include <stdlib.h>

struct pf_json_trees {
    struct json_tokener *tokener;
    struct pf_json_buffer text; /* of the current value */
};

struct pf_json_trees *pf_json_trees_new(size_t limit, bool strict)
{
    struct pf_json_trees *trees = calloc(1, sizeof *trees);
    if (!trees)
        return NULL;
    trees->text.limit = limit;
    trees->tokener = json_tokener_new_ex(PF_JSON_DEPTH_MAX);
    if (!trees->tokener) {
        pf_json_trees_free(trees);
        return NULL;
    }
    json_tokener_set_flags(trees->tokener, JSON_TOKENER_STRICT | (strict ? JSON_TOKENER_VALIDATE_UTF8 : 0));
    return trees;
}

void pf_json_trees_free(struct pf_json_trees *trees)
{
    if (!trees)
        return;
    if (trees->tokener)
        json_tokener_free(trees->tokener);
    free(trees->text.bytes);
    free(trees);
}

/* Fills *error with json-c's message for the text of `token`, and with the offset and line in the file. Returns -1. */
static int json_tree_fail(struct pf_json_trees *trees, const struct pf_json_token *token,
                          struct pf_error *error)
{
    enum json_tokener_error code = json_tokener_get_error(trees->tokener);
    size_t at = json_tokener_get_parse_end(trees->tokener);
    if (code == json_tokener_error_depth)
        return pf_fail_at(error, E2BIG, (int64_t)token->offset, "the value is nested too deeply");
    pf_fail_at(error, EBADMSG, (int64_t)(token->offset + at), "%s", json_tokener_error_desc(code));
    error->line = (int64_t)token->line;
    for (size_t i = 0; i < at && i < token->size; i++)
        error->line += token->text[i] == '\n';
    return -1;
}

struct json_object *pf_json_scalar(const struct pf_json_token *token)
{
    pf_int128 wide;
    struct pf_cell cell;
    switch (token->event) {
    case PF_JSON_STRING:
        return json_object_new_string_len(token->text, (int)token->size);
    case PF_JSON_TRUE:
    case PF_JSON_FALSE:
        return json_object_new_boolean(token->event == PF_JSON_TRUE);
    case PF_JSON_NUMBER:
        cell = pf_json_number(token, &wide);
        return cell.type == PF_INT    ? json_object_new_int64(cell.i)
               : cell.type == PF_UINT ? json_object_new_uint64(cell.u)
                                      : json_object_new_double(pf_json_double(token));
    default:
        return NULL;
    }
}

int pf_json_tree_of(struct pf_json_trees *trees, const struct pf_json_token *token, struct json_object **tree,
                    struct pf_error *error)
{
    json_tokener_reset(trees->tokener);
    *tree = json_tokener_parse_ex(trees->tokener, token->text, (int)token->size);
    return *tree ? 0 : json_tree_fail(trees, token, error);
}

int pf_json_tree(struct pf_json_trees *trees, struct pf_json *json, struct pf_json_token *token,
                 struct json_object **tree, struct pf_error *error)
{
    *tree = NULL;
    int event = pf_json_take(json, token, &trees->text, error);
    if (event == PF_JSON_OBJECT || event == PF_JSON_ARRAY) {
        if (!token->cut && pf_json_tree_of(trees, token, tree, error))
            return -1;
        return event;
    }
    if (event != PF_JSON_STRING && event != PF_JSON_NUMBER && event != PF_JSON_TRUE && event != PF_JSON_FALSE)
        return event;
    *tree = pf_json_scalar(token);
    return *tree ? event : pf_fail_memory(error);
}

struct pf_cell pf_tree_number(struct json_object *value)
{
    if (json_object_is_type(value, json_type_double))
        return pf_double(json_object_get_double(value));
    if (!json_object_is_type(value, json_type_int))
        return pf_absent();
    int64_t number = json_object_get_int64(value);
    return number == INT64_MAX ? pf_uint(json_object_get_uint64(value)) : pf_int(number);
}
