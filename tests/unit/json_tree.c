/* SPDX-License-Identifier: MIT */
/* Tests small values, which the pull reader finds and json-c parses to trees. */
#include <errno.h>

#include "formats/json/tree.h"
#include "tests/unit/tap.h"

/* Checks the values of a text: `want` has each value as json-c prints it, with its offset, or the error for it. */
static void trees_are(const char *text, size_t limit, const char *want, const char *name)
{
    char have[500] = "", *copy = strdup(text);
    struct pf_json_trees *trees = pf_json_trees_new(limit, false);
    struct pf_json *json = pf_json_new(NULL, 0, 0);
    struct pf_json_token token;
    struct json_object *tree;
    struct pf_error error = {0};
    int event = 1;
    pf_json_text(json, copy, strlen(copy));
    pf_json_next(json, &token, &error);
    while (event > 0 && event != PF_JSON_ARRAY_END) {
        event = pf_json_tree(trees, json, &token, &tree, &error);
        size_t at = strlen(have);
        if (event < 0)
            snprintf(have + at, sizeof have - at, "%s at %d in line %d", error.what, (int)error.offset,
                     (int)error.line);
        else if (event != PF_JSON_ARRAY_END)
            snprintf(have + at, sizeof have - at, "%s at %d|",
                     token.cut ? "(too long)" : json_object_to_json_string_ext(tree, JSON_C_TO_STRING_PLAIN),
                     (int)token.offset);
        json_object_put(tree);
    }
    is(have, want, name);
    pf_json_free(json);
    pf_json_trees_free(trees);
    free(copy);
}

static void test_trees(void)
{
    trees_are(
        "[{\"a\": [1, 2.50], \"b\": {}}, [], \"x\", 7, true, null, 1e400]", 1000,
        "{\"a\":[1,2.50],\"b\":{}} at 1|[] at 28|\"x\" at 32|7 at 37|true at 40|null at 46|Infinity at 52|",
        "values become trees with numbers as written");
    trees_are("[{\"a\": 1, \"a\": 2}, {\"n\": NaN, \"i\": -Infinity}]", 1000,
              "{\"a\":2} at 1|{\"n\":NaN,\"i\":-Infinity} at 19|", "the last of equal names is used");
    trees_are("[[1, 2, 3, 4, 5, 6, 7, 8, 9, 0], 3]", 10, "[1,2,3,4,5,6,7,8,9,0] at 1|3 at 33|",
              "a value that fits the buffer has no limit");
    trees_are("[{\"a\":\n[1,\n}]", 1000, "'}' closes an array, column 1 at 11 in line 3",
              "damage is reported with its offset");
    trees_are("[{\"a\":\n[1,\n]}, 5]", 1000, "unexpected character at 11 in line 3",
              "damage that only json-c detects is reported with its offset");
}

static void test_limit(void)
{
    char *text = malloc(40000);
    strcpy(text, "[[");
    for (int i = 0; i < 6000; i++)
        strcat(text, "12345,");
    strcat(text, "1],2]");
    trees_are(text, 5000, "(too long) at 1|2 at 36005|", "a long value is skipped");
    free(text);
}

static void test_cells(void)
{
    struct json_object *tree = json_tokener_parse(
        "{\"i\":-3,\"u\":18446744073709551615,\"d\":0.5,\"t\":\"x\",\"b\":true,\"n\":null,\"l\":[1]}");
    ok(pf_tree_number(pf_tree_get(tree, "i")).i == -3 &&
           pf_tree_number(pf_tree_get(tree, "u")).type == PF_UINT &&
           pf_tree_number(pf_tree_get(tree, "d")).d == 0.5,
       "numbers become cells");
    ok(pf_tree_text(pf_tree_get(tree, "t")).size == 1, "texts become cells");
    ok(pf_tree_number(pf_tree_get(tree, "n")).type == PF_ABSENT &&
           pf_tree_number(pf_tree_get(tree, "l")).type == PF_ABSENT &&
           pf_tree_text(pf_tree_get(tree, "i")).type == PF_ABSENT && !pf_tree_get(tree, "none") &&
           !pf_tree_get(NULL, "x"),
       "other values are absent cells");
    ok(pf_tree_length(pf_tree_get(tree, "l")) == 1 && !pf_tree_length(pf_tree_get(tree, "t")),
       "lists have a length");
    json_object_put(tree);
}

int main(void)
{
    test_trees();
    test_limit();
    test_cells();
    return done();
}
