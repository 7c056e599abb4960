/* SPDX-License-Identifier: MIT */
#include "formats/json/walk.h"

#include <errno.h>

#include "formats/json/probe.h"
#include "formats/probe.h"

/*
 * Passes a value to `take` if its first token, which has been read, is `event`. Skips what `take` leaves. `depth` is
 * the nesting before the value.
 */
static int json_walk_pass_value(struct pf_json_walk at, unsigned depth, int event, pf_json_taker *take)
{
    bool fits = event == PF_JSON_END || event == PF_JSON_NAME || event == (int)at.token->event;
    int got = fits ? take(&at) : 0;
    while (!got && pf_json_depth(at.json) > depth)
        got = pf_json_leave(at.json, at.error);
    return got;
}

static bool is_called(const struct pf_json_member *member, const struct pf_json_token *name)
{
    return !member->size || (member->size == name->size && !memcmp(member->name, name->text, name->size));
}

int pf_json_member(const struct pf_json_walk *walk, void *into, const struct pf_json_member *members,
                   const struct pf_json_token *name)
{
    struct pf_json_walk at = *walk;
    struct pf_json_token value;
    const struct pf_json_member *member = members;
    unsigned depth = pf_json_depth(walk->json);
    while (member->name && !is_called(member, name))
        member++;
    if (!member->name)
        return pf_json_skip(walk->json, &value, walk->error) < 0 ? -1 : 0;
    at.into = into;
    at.place = into ? (char *)into + member->place : NULL;
    at.token = name;
    if (member->event != PF_JSON_NAME) {
        if (pf_json_next(walk->json, &value, walk->error) < 0)
            return -1;
        at.token = &value;
    }
    return json_walk_pass_value(at, depth, member->event, member->take);
}

int pf_json_object(const struct pf_json_walk *walk, void *into, const struct pf_json_member *members)
{
    struct pf_json_token name;
    int event, got = 0;
    while (!got && (event = pf_json_next(walk->json, &name, walk->error)) != PF_JSON_OBJECT_END)
        got = event == PF_JSON_NAME ? pf_json_member(walk, into, members, &name) : -1;
    return got;
}

int pf_json_whole_object(const struct pf_json_walk *walk, void *into, const struct pf_json_member *members)
{
    struct pf_json_token token;
    if (pf_json_next(walk->json, &token, walk->error) < 0)
        return -1;
    if (token.event != PF_JSON_OBJECT) {
        pf_fail_at(walk->error, EBADMSG, (int64_t)token.offset, "the top level is not an object");
        walk->error->line = (int64_t)token.line;
        return -1;
    }
    int got = pf_json_object(walk, into, members);
    return got ? got : pf_json_next(walk->json, &token, walk->error);
}

int pf_json_array(const struct pf_json_walk *walk, void *into, int event, pf_json_taker *take)
{
    struct pf_json_walk at = *walk;
    struct pf_json_token value;
    unsigned depth = pf_json_depth(walk->json);
    int found, got = 0;
    at.into = at.place = into;
    at.token = &value;
    while (!got && (found = pf_json_next(walk->json, &value, walk->error)) != PF_JSON_ARRAY_END)
        got = found > 0 ? json_walk_pass_value(at, depth, event, take) : -1;
    return got;
}

bool pf_json_enter_array(struct pf_run *run, struct pf_json *json, const struct pf_json_place *place)
{
    struct pf_json_token token;
    if (!place->line)
        return false;
    pf_json_seek(json, place->offset, place->line);
    return pf_json_got(run, pf_json_next(json, &token, run->error)) == PF_JSON_ARRAY;
}

/* ---- takers ------------------------------------------------------------------------------------- */

int pf_json_take_place(const struct pf_json_walk *walk)
{
    *(struct pf_json_place *)walk->place = (struct pf_json_place){walk->token->offset, walk->token->line};
    return 0;
}

int pf_json_take_name(const struct pf_json_walk *walk)
{
    uint32_t *name = walk->place;
    if (walk->token->event != PF_JSON_STRING)
        return 0;
    *name = pf_intern(walk->model->contexts->strings, walk->token->text, walk->token->size, walk->error);
    return *name == PF_NO_STRING ? -1 : 0;
}

int pf_json_take_whole(const struct pf_json_walk *walk)
{
    pf_json_whole(walk->token, walk->place);
    return 0;
}

int pf_json_take_line(const struct pf_json_walk *walk)
{
    int64_t line;
    if (pf_json_whole(walk->token, &line) && line >= 0 && line < UINT32_MAX)
        *(uint32_t *)walk->place = (uint32_t)line;
    return 0;
}

int pf_json_take_notice(const struct pf_json_walk *walk)
{
    *(bool *)walk->place = true;
    return 0;
}

bool pf_json_whole(const struct pf_json_token *token, int64_t *value)
{
    bool fits = token->simple && token->integer && token->mantissa <= INT64_MAX;
    if (fits)
        *value = token->negative ? -(int64_t)token->mantissa : (int64_t)token->mantissa;
    return fits;
}

int pf_json_count_down(const struct pf_json_walk *walk)
{
    unsigned *missing = walk->into;
    return --*missing == 0;
}

enum { NAMES_MAX = 8 /* a table of up to this many members is first checked by names only */ };

bool pf_probe_object(struct pf_probe *probe, unsigned flags, uint64_t scan, void *into,
                     const struct pf_json_member *members)
{
    struct pf_json_look look;
    struct pf_json_token token;
    struct pf_error error = {0};
    const char *names[NAMES_MAX + 1];
    size_t n = 0;
    for (; n < NAMES_MAX && members[n].name; n++)
        names[n] = members[n].name;
    names[n] = NULL;
    struct pf_json_walk walk = {
        .json = pf_json_look(probe, &look, flags, scan, members[n].name ? NULL : names), .error = &error};
    bool found = walk.json && pf_json_next(walk.json, &token, &error) == PF_JSON_OBJECT &&
                 pf_json_object(&walk, into, members) > 0;
    pf_json_look_end(probe, &look, &error);
    return found;
}

/* ---- damage ------------------------------------------------------------------------------------- */

bool pf_json_is_damage(const struct pf_error *error)
{
    return error->code == ENODATA || error->code == EBADMSG || error->code == E2BIG;
}

int pf_json_got(struct pf_run *run, int got)
{
    if (got < 0 && !pf_json_is_damage(run->error))
        pf_run_fail(run);
    return got;
}

int pf_json_check_full(struct pf_run *run)
{
    return pf_run_is_full(run) ? pf_fail(run->error, EBADMSG, PF_RUN_FULL) : 0;
}

void pf_json_warn(struct pf_run *run, const struct pf_json_token *at, const char *code, const char *what)
{
    pf_run_warn(run, "warning", code, at ? at->line : 0, at ? (int64_t)at->offset : -1, "%s", what);
}

void pf_json_warn_of_damage(struct pf_run *run)
{
    struct pf_error damage = *run->error;
    pf_run_warn(run, "fatal", "damaged", damage.line, damage.offset, "%s: only the part before it is read",
                damage.what);
}
