/* SPDX-License-Identifier: MIT */
#ifndef PF_JSON_WALK_H
#define PF_JSON_WALK_H

#include <errno.h>

#include "formats/json/json.h"

/* What drivers share that read a file's members in any order, and keep what stands before damage. */

/* True if reading failed because of the text: what came before counts. */
static inline bool pf_json_is_damage(const struct pf_error *error)
{
    return error->code == ENODATA || error->code == EBADMSG || error->code == E2BIG;
}

/* Passes over the rest of a value that began with this event. 0, or -1 with *error filled. */
static inline int pf_json_pass(struct pf_json *json, int event, struct pf_error *error)
{
    return event == PF_JSON_OBJECT || event == PF_JSON_ARRAY ? pf_json_leave(json, error)
           : event < 0                                       ? -1
                                                             : 0;
}

/* A value to come back to. line 0: it is not there. */
struct pf_json_place {
    uint64_t offset, line;
};

static inline struct pf_json_place pf_json_place_of(const struct pf_json_token *token)
{
    return (struct pf_json_place){token->offset, token->line};
}

/* Goes to before the first element of an array. False if there is none at this place. */
static inline bool pf_json_enter_array(struct pf_json *json, const struct pf_json_place *place,
                                       struct pf_error *error)
{
    struct pf_json_token token;
    if (!place->line)
        return false;
    pf_json_seek(json, place->offset, place->line);
    return pf_json_next(json, &token, error) == PF_JSON_ARRAY;
}

/* Takes a number that is an integer of few digits. */
static inline bool pf_json_whole(const struct pf_json_token *token, int64_t *value)
{
    bool fits = token->simple && token->integer && token->mantissa <= INT64_MAX;
    if (fits)
        *value = token->negative ? -(int64_t)token->mantissa : (int64_t)token->mantissa;
    return fits;
}

/* The short name of a member, kept while its value is read. A longer one is kept as an empty one. */
struct pf_json_name {
    char text[16];
};

static inline struct pf_json_name pf_json_name_of(const struct pf_json_token *name)
{
    struct pf_json_name kept = {""};
    if (name->size < sizeof kept.text)
        memcpy(kept.text, name->text, name->size);
    return kept;
}

static inline bool pf_json_named(const struct pf_json_name *name, const char *text)
{
    return !strcmp(name->text, text);
}

#endif
