/* SPDX-License-Identifier: MIT */
#include "formats/json/json_form.h"

#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/print.h"
#include "tests/unit/tap.h"

/* Members are what their names begin with. */
static enum pf_json_gap choose(void *arg, const struct pf_json_token *name)
{
    (void)arg;
    switch (name->text[0]) {
    case 'n':
        return PF_JSON_NUMBER_GAP;
    case 's':
        return PF_JSON_STRING_GAP;
    case 'a':
        return PF_JSON_ANY_GAP;
    case 'f':
        return PF_JSON_FIXED;
    default:
        return PF_JSON_NO_FORM;
    }
}

static bool learn(struct pf_json_form *form, const char *text)
{
    struct pf_json *part = pf_json_new(NULL, 0, 0);
    bool learned = pf_json_form_learn(form, part, text, strlen(text), choose, NULL);
    pf_json_free(part);
    return learned;
}

/* ---- which objects have a form ------------------------------------------------------------------ */

static void has_form(const char *text, bool want)
{
    struct pf_json_form form;
    ok(learn(&form, text) == want, "%.60s %s a form", text, want ? "has" : "has not");
}

static void forms(void)
{
    char large[PF_JSON_FORM_TEXT + 20] = "", many[400] = "{";
    memset(large, ' ', sizeof large - 1);
    memcpy(large, "{\"f\":1", 6);
    strcpy(large + sizeof large - 2, "}");
    for (int i = 0; i <= PF_JSON_FORM_GAPS; i++)
        sprintf(many + strlen(many), "%s\"n\":1", i ? "," : "");
    strcat(many, "}");
    has_form("{\"n\": 1, \"s\": \"x\", \"a\": 2, \"a\": \"y\", \"f\": null} , 3", true);
    has_form("{}", true);
    has_form("{\"n\": \"1\"}", false);
    has_form("{\"s\": 1}", false);
    has_form("{\"a\": null}", false);
    has_form("{\"f\": [1]}", false);
    has_form("{\"f\": {}}", false);
    has_form("{\"other\": 1}", false);
    has_form("{\"s\": \"\\u0041\"}", false);
    has_form("{\"n\": 1", false);
    has_form("[1]", false);
    has_form(large, false);
    has_form(many, false);
}

/* ---- what matches ------------------------------------------------------------------------------- */

/* What fills the gaps of `form` in the list's second element, and the token that comes then. */
static void matches(const char *list, const char *want)
{
    struct pf_json_form form;
    struct pf_json_token token;
    struct pf_error error;
    struct pf_cell cells[PF_JSON_FORM_GAPS];
    char have[300] = "", *copy = strdup(list);
    struct pf_json *json = pf_json_new(NULL, 0, 0);
    bool learned = learn(&form, list + 1);
    pf_json_text(json, copy, strlen(copy));
    pf_json_next(json, &token, &error);
    pf_json_skip(json, &token, &error);
    bool matched = learned && pf_json_form_match(json, &form, cells);
    for (size_t i = 0; matched && i < form.n_gaps; i++) {
        char number[PF_NUMBER_MAX];
        const char *text = cells[i].type == PF_TEXT ? cells[i].text : number;
        const char *end = cells[i].type == PF_TEXT  ? text + cells[i].size
                          : cells[i].type == PF_INT ? pf_print_int(number, cells[i].i)
                                                    : pf_print_double(number, cells[i].d);
        sprintf(have + strlen(have), "%.*s ", (int)(end - text), text);
    }
    int event = pf_json_next(json, &token, &error);
    sprintf(have + strlen(have), "%s%s", matched ? "" : "no, ", event < 0 ? error.what : "");
    sprintf(have + strlen(have), "%d at %d", event, event < 0 ? (int)error.offset : (int)token.offset);
    is(have, want, list);
    pf_json_free(json);
    free(copy);
}

static void values(void)
{
    matches("[{\"n\": 1, \"s\": \"x\"}, {\"n\": -2.5, \"s\": \"yz\"}]", "-2.5 yz 4 at 43");
    matches("[{\"a\":1,\"a\":2},{\"a\":3,\"a\":4}, 5]", "3 4 7 at 30");
    matches("[{\"f\": \"x\", \"n\": 1}, {\"f\": \"x\", \"n\": 2}]", "2 4 at 39");
    matches("[{\"f\": \"x\", \"n\": 1}, {\"f\": \"y\", \"n\": 2}]", "no, 1 at 21");
    matches("[{\"n\": 1}, {\"n\":2}]", "no, 1 at 11");
    matches("[{\"n\": 1}, {\"n\": 2 }]", "no, 1 at 11");
    matches("[{\"n\": 1}, {\"n\": 1e2}]", "no, 1 at 11");
    matches("[{\"n\": 1}, {\"n\": 2, \"n\": 3}]", "no, 1 at 11");
    matches("[{\"n\": 1}, {\"n\": 02}]", "no, 1 at 11");
    matches("[{\"a\": 1}, {\"a\": \"1\"}]", "no, 1 at 11");
    matches("[{\"s\": \"x\"}, {\"s\": \"\\u0041\"}]", "no, 1 at 13");
    matches("[{\"s\": \"x\"}, {\"s\": \"\xc3\xa4\"}]", "no, 1 at 13");
    matches("[{\"n\": 1}, {\"n\": 2", "no, 1 at 11");
    matches("[{\"n\": 1}]", "no, 4 at 9");
    matches("[{\"n\": 1}, {\"n\": 2}{\"n\": 3}]",
            "2 neither a comma nor a closing bracket, column 20-1 at 19");
}

/* ---- through a window --------------------------------------------------------------------------- */

static ssize_t read_text(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const char *text = arg;
    size_t all = strlen(text), n = offset < all ? all - (size_t)offset : 0;
    (void)error;
    n = n < size ? n : size;
    memcpy(buffer, text + all - (offset < all ? all - (size_t)offset : 0), n);
    return (ssize_t)n;
}

/* The sum of a list of objects, and where it ends; objects are compared with the form of the first one, or read. */
static int64_t add_up(char *text, bool match, struct pf_error *end)
{
    struct pf_json *json = pf_json_new_reading(read_text, text, 0, 0);
    struct pf_json_form form;
    struct pf_json_token token;
    struct pf_cell cells[PF_JSON_FORM_GAPS];
    int64_t sum = 0;
    int event = 1;
    bool learned = learn(&form, text + 1);
    pf_json_next(json, &token, end);
    while (event > 0) {
        if (learned && match && pf_json_form_match(json, &form, cells)) {
            bool verbatim = cells[0].type == PF_TEXT;
            sum += verbatim ? pf_json_verbatim_number(cells[0].text, cells[0].size).i : cells[0].i;
            continue;
        }
        event = pf_json_next(json, &token, end);
        sum += event == PF_JSON_NUMBER ? (int64_t)token.mantissa : 0;
    }
    pf_json_free(json);
    return sum;
}

static void windows(void)
{
    enum { OBJECTS = 60000 };
    char *text = malloc(OBJECTS * 40 + 10), *at = text;
    struct pf_error read, matched;
    at += sprintf(at, "[");
    for (int i = 0; i < OBJECTS; i++)
        at += sprintf(at, "%s{\n  \"n\": %d\n}", i ? ",\n" : "", i);
    sprintf(at, ",\n x]");
    int64_t want = add_up(text, false, &read), have = add_up(text, true, &matched);
    ok(have == want && want == (int64_t)OBJECTS * (OBJECTS - 1) / 2,
       "objects that reach from one window into the next are read like all others");
    ok(read.line == 3 * OBJECTS + 1 && matched.line == read.line && matched.offset == read.offset &&
           !strcmp(matched.what, read.what),
       "lines and columns count through objects that match");
    free(text);
}

int main(void)
{
    forms();
    values();
    windows();
    return done();
}
