/* SPDX-License-Identifier: MIT */
/* Tests how objects are read by tables of handlers for their members. */
#include "formats/json/walk.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/unit/tap.h"

struct point {
    int64_t x;
    uint32_t line;
    bool seen;
    struct pf_json_place list;
    int64_t inside, elements;
};

static int take_inside(const struct pf_json_walk *walk)
{
    static const struct pf_json_member members[] = {
        PF_MEMBER("x", PF_JSON_NUMBER, pf_json_take_whole, struct point, inside),
        PF_MEMBERS_END,
    };
    return pf_json_object(walk, walk->into, members);
}

static int count(const struct pf_json_walk *walk)
{
    ((struct point *)walk->into)->elements++;
    return walk->token->event == PF_JSON_TRUE;
}

static int take_elements(const struct pf_json_walk *walk)
{
    return pf_json_array(walk, walk->into, PF_JSON_END, count);
}

/* Stores the length of the member's name. Reads past the value, as a handler of type PF_JSON_NAME must. */
static int take_itself(const struct pf_json_walk *walk)
{
    struct pf_json_token value;
    *(int64_t *)walk->place = (int64_t)walk->token->size;
    return pf_json_skip(walk->json, &value, walk->error) < 0 ? -1 : 0;
}

static const struct pf_json_member members[] = {
    PF_MEMBER("x", PF_JSON_NUMBER, pf_json_take_whole, struct point, x),
    PF_MEMBER("line", PF_JSON_NUMBER, pf_json_take_line, struct point, line),
    PF_MEMBER("seen", PF_JSON_END, pf_json_take_notice, struct point, seen),
    PF_MEMBER("list", PF_JSON_ARRAY, pf_json_take_place, struct point, list),
    PF_MEMBER_OF_ALL("inside", PF_JSON_OBJECT, take_inside),
    PF_MEMBER_OF_ALL("elements", PF_JSON_ARRAY, take_elements),
    PF_MEMBER("itself", PF_JSON_NAME, take_itself, struct point, x),
    PF_MEMBERS_END,
};

static int read_point(const char *text, struct point *point, struct pf_error *error)
{
    char *copy = strdup(text);
    struct pf_json_walk walk = {.json = pf_json_new(NULL, 0, 0), .error = error};
    *point = (struct point){0};
    pf_json_text(walk.json, copy, strlen(copy));
    int got = pf_json_whole_object(&walk, point, members);
    pf_json_free(walk.json);
    free(copy);
    return got;
}

int main(void)
{
    struct point point;
    struct pf_error error = {0};
    ok(!read_point("{\"line\": 3, \"x\": -7, \"seen\": [{\"x\": 1}], \"y\": {\"x\": 2}}", &point, &error) &&
           point.x == -7 && point.line == 3 && point.seen,
       "members may be in any order, and members outside the table are skipped");
    ok(!read_point("{\"x\": \"1\", \"line\": -1, \"list\": {}, \"inside\": [1]}", &point, &error) &&
           !point.x && !point.line && !point.list.line && !point.inside,
       "values of other types are skipped");
    ok(!read_point("{\"inside\": {\"x\": 4, \"y\": [{}]}, \"x\": 5, \"list\": [[1], 2]}", &point, &error) &&
           point.inside == 4 && point.x == 5 && point.list.offset == 48 && point.list.line == 1,
       "objects may be nested, and the offset of an array is stored");
    ok(!read_point("{\"elements\": [1, [2], {\"x\": 3}], \"itself\": [1], \"seen\": 1}", &point, &error) &&
           point.elements == 3 && point.x == 6 && point.seen,
       "the rest of a value is skipped, and a handler may read the value itself");
    ok(read_point("{\"elements\": [1, true, 3], \"x\": 5}", &point, &error) == 1 && point.elements == 2 &&
           !point.x,
       "a handler can stop the walk");
    ok(read_point("{\"x\": 5, \"inside\": {\"x\": 1, ]", &point, &error) == -1 && error.code == EBADMSG &&
           pf_json_is_damage(&error) && point.x == 5 && point.inside == 1,
       "damage ends the walk, and members before it are read");
    ok(read_point("{\"elements\": [1, 2", &point, &error) == -1 && error.code == ENODATA &&
           point.elements == 2,
       "the end of the text ends the walk, and members before it are read");
    ok(read_point("{\"x\": 5} \"line\": 3}", &point, &error) == -1 && error.code == EBADMSG && point.x == 5,
       "text after the object is an error, and the members before it are read");
    ok(read_point("\n\"x\": 5}", &point, &error) == -1 && error.code == EBADMSG && error.offset == 1 &&
           error.line == 2,
       "another value than an object is an error");
    return done();
}
