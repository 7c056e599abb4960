/* SPDX-License-Identifier: MIT */
/*
 * Contexts of resources, from trace, uid and command. The form of a trace's frames determines its order: objects with `function`
 * are innermost first and include the uid; objects with `func`, and strings, are outermost first, and the uid is the leaf below
 * them.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/print.h"
#include "formats/perun/perun.h"

enum { FUNCTION, COMMAND, NOWHERE };
const char *const perun_kinds[] = {"function", "command", "none"};

/* Slots of the direct-mapped cache of contexts. */
enum { PLACES = 65536 };

/* Maximum number of an object's values in its name (real ones have at most five), and maximum bytes of a name. */
enum { PARTS_MAX = 64, NAME_MAX_SIZE = 64 * 1024 };

struct step {
    uint32_t name, file, line;
    uint8_t kind;
};

struct perun_paths {
    struct pf_tree *tree;
    struct pf_json_trees *trees;
    struct place {
        uint64_t hash; /* of trace, uid and command; 0: free slot */
        uint32_t context, uid;
    } * places; /* PLACES */
    char name[NAME_MAX_SIZE];
    size_t name_size, file_size; /* bytes of `name`; bytes of the source file that it begins with, 0: none */
    uint32_t line;               /* the source line in `name`; 0: none */
    struct step *steps;
    size_t n_steps, steps_room;
    size_t files_room, lines_room; /* capacity of tree->file and tree->line */
};

struct perun_paths *perun_paths_new(struct pf_tree *tree, struct pf_json_trees *trees)
{
    struct perun_paths *paths = calloc(1, sizeof *paths);
    if (!paths)
        return NULL;
    paths->tree = tree;
    paths->trees = trees;
    paths->places = calloc(PLACES, sizeof *paths->places);
    if (paths->places)
        return paths;
    free(paths);
    return NULL;
}

void perun_paths_free(struct perun_paths *paths)
{
    if (!paths)
        return;
    free(paths->places);
    free(paths->steps);
    free(paths);
}

/* ---- names of frames and uids ------------------------------------------------------------------- */

/* Order of known keys in a name; other keys follow. */
static const struct {
    const char *key;
    unsigned rank;
} ranks[] = {
    {"bin", 0},    {"file", 1},      {"source", 1},    {"package", 1},     {"module", 2},
    {"class", 3},  {"struct", 3},    {"structure", 3}, {"function", 4},    {"func", 4},
    {"method", 4}, {"procedure", 4}, {"line", 5},      {"instruction", 6},
};
enum { RANKS = sizeof ranks / sizeof *ranks, FILES = 1, LINES = 5, OTHERS = 7 };

struct part {
    unsigned rank, number; /* number: position in the object */
    const char *key;
    struct json_object *value;
};

static unsigned rank_of(const char *key)
{
    for (size_t i = 0; i < RANKS; i++)
        if (!strcmp(key, ranks[i].key))
            return ranks[i].rank;
    return OTHERS;
}

enum { KEY_MAX = 256 };

/*
 * Unknown keys are ordered by a decimal number: the concatenated decimal codes of the key's characters, each plus 6. Returns the
 * number of its digits.
 */
static size_t digits_of(const char *key, char digits[3 * KEY_MAX])
{
    size_t size = 0;
    for (size_t i = 0; i < KEY_MAX && key[i]; i++)
        size = (size_t)(pf_print_uint(digits + size, (unsigned char)key[i] + 6u) - digits);
    return size;
}

static int by_rank(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    char x[3 * KEY_MAX + PF_NUMBER_MAX], y[3 * KEY_MAX + PF_NUMBER_MAX];
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->rank == OTHERS) {
        size_t m = digits_of(a->key, x), n = digits_of(b->key, y);
        int order = m != n ? (m < n ? -1 : 1) : memcmp(x, y, m);
        if (order)
            return order;
    }
    return a->number < b->number ? -1 : 1;
}

/* Appends to the name. A text that does not fit is cut between UTF-8 characters. */
static void add(struct perun_paths *paths, const char *text, size_t size)
{
    size_t room = sizeof paths->name - paths->name_size;
    if (size > room)
        for (size = room; size && ((unsigned char)text[size] & 0xc0) == 0x80;)
            size--;
    memcpy(paths->name + paths->name_size, text, size);
    paths->name_size += size;
}

/* Appends a scalar: numbers as in the file, None, True and False as in Python. Nested objects and lists are skipped. */
static void add_scalar(struct perun_paths *paths, struct json_object *value)
{
    const char *word = !value ? "None" : json_object_get_boolean(value) ? "True" : "False";
    if (value && !json_object_is_type(value, json_type_boolean)) {
        if (pf_tree_is_object(value) || pf_tree_is_list(value))
            return;
        struct pf_cell text = pf_tree_text(value);
        if (text.type == PF_TEXT) {
            add(paths, text.text, text.size);
            return;
        }
        word = json_object_to_json_string(value);
    }
    add(paths, word ? word : "", word ? strlen(word) : 0);
}

static uint32_t line_of(struct json_object *value)
{
    bool number = json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
    double line = number ? json_object_get_double(value) : 0;
    return line >= 1 && line < UINT32_MAX ? (uint32_t)line : 0;
}

/* Appends the object's values, joined by colons, in the order of their keys' ranks. */
static void add_object(struct perun_paths *paths, struct json_object *object)
{
    struct part parts[PARTS_MAX];
    unsigned n = 0;
    json_object_object_foreach(object, key, value)
    {
        if (n < PARTS_MAX) {
            parts[n] = (struct part){rank_of(key), n, key, value};
            n++;
        }
    }
    qsort(parts, n, sizeof *parts, by_rank);
    for (unsigned i = 0; i < n; i++) {
        add(paths, ":", i > 0);
        add_scalar(paths, parts[i].value);
        if (!i && parts[i].rank == FILES)
            paths->file_size = paths->name_size;
        if (parts[i].rank == LINES)
            paths->line = line_of(parts[i].value);
    }
}

uint32_t perun_name_of(struct perun_paths *paths, struct json_object *value, struct pf_error *error)
{
    paths->name_size = paths->file_size = paths->line = 0;
    if (pf_tree_is_object(value))
        add_object(paths, value);
    else if (!pf_tree_is_list(value))
        add_scalar(paths, value);
    for (size_t i = 0; i < pf_tree_length(value) && i < PARTS_MAX; i++) {
        add(paths, ",", i > 0);
        add_scalar(paths, json_object_array_get_idx(value, i));
    }
    return pf_intern(paths->tree->strings, paths->name, paths->name_size, error);
}

/* ---- steps -------------------------------------------------------------------------------------- */

/* Makes a step from a frame or uid. */
static int make_step(struct perun_paths *paths, struct json_object *value, struct step *step,
                     struct pf_error *error)
{
    *step = (struct step){.file = PERUN_NONE, .kind = FUNCTION};
    step->name = perun_name_of(paths, value, error);
    step->line = paths->line;
    if (step->name != PERUN_NONE && paths->file_size)
        step->file = pf_intern(paths->tree->strings, paths->name, paths->file_size, error);
    return step->name == PERUN_NONE ? -1 : 0;
}

static int add_step(struct perun_paths *paths, struct step step, struct pf_error *error)
{
    if (pf_array_room(&paths->steps, &paths->steps_room, paths->n_steps, sizeof *paths->steps, error))
        return -1;
    paths->steps[paths->n_steps++] = step;
    return 0;
}

/* Returns true if a trace whose first frame is this one is outermost first. */
static bool is_outermost(struct json_object *frame)
{
    struct json_object *value;
    return json_object_is_type(frame, json_type_string) ||
           (json_object_object_get_ex(frame, "func", &value) &&
            !json_object_object_get_ex(frame, "function", &value));
}

/* Adds the steps of a trace, root first. *outermost: the file has this order. */
static int add_trace(struct perun_paths *paths, struct json_object *trace, bool *outermost,
                     struct pf_error *error)
{
    size_t n = pf_tree_length(trace);
    struct step step;
    *outermost = n && is_outermost(json_object_array_get_idx(trace, 0));
    for (size_t i = 0; i < n; i++)
        if (make_step(paths, json_object_array_get_idx(trace, *outermost ? i : n - 1 - i), &step, error) ||
            add_step(paths, step, error))
            return -1;
    return 0;
}

static int read_trace(struct perun_paths *paths, const struct perun_raw *raw, bool *outermost,
                      struct pf_error *error)
{
    struct json_object *trace;
    *outermost = false;
    if (raw->token.event != PF_JSON_ARRAY)
        return 0;
    if (pf_json_tree_of(paths->trees, &raw->token, &trace, error))
        return -1;
    int failed = add_trace(paths, trace, outermost, error);
    json_object_put(trace);
    return failed;
}

/* Makes a step from the uid; its name is PERUN_NONE if the uid is missing. A number is named as written in the file. */
static int read_uid(struct perun_paths *paths, const struct perun_raw *raw, struct step *step,
                    struct pf_error *error)
{
    const struct pf_json_token *token = &raw->token;
    struct json_object *uid = NULL;
    *step = (struct step){.name = PERUN_NONE, .file = PERUN_NONE};
    if (token->event == PF_JSON_END || token->event == PF_JSON_NULL)
        return 0;
    if (token->event == PF_JSON_OBJECT || token->event == PF_JSON_ARRAY) {
        if (pf_json_tree_of(paths->trees, token, &uid, error))
            return -1;
    } else {
        uid = token->event == PF_JSON_NUMBER ? json_object_new_string_len(token->text, (int)token->size)
                                             : pf_json_scalar(token);
        if (!uid)
            return pf_fail_memory(error);
    }
    int failed = make_step(paths, uid, step, error);
    json_object_put(uid);
    return failed;
}

/* Makes the root step from the command. If the trace begins with the command, that step becomes the root instead. */
static int read_command(struct perun_paths *paths, const struct perun_raw *command, struct step *root,
                        struct pf_error *error)
{
    *root = (struct step){.name = PERUN_NONE, .file = PERUN_NONE, .kind = COMMAND};
    if (command->token.event != PF_JSON_STRING || !command->token.size)
        return 0;
    root->name = pf_intern(paths->tree->strings, command->token.text, command->token.size, error);
    if (root->name == PERUN_NONE)
        return -1;
    if (paths->n_steps && paths->steps[0].name == root->name) {
        paths->steps[0].kind = COMMAND;
        root->name = PERUN_NONE;
    }
    return 0;
}

/* ---- contexts ----------------------------------------------------------------------------------- */

static int go_down(struct perun_paths *paths, const struct step *step, uint32_t *context,
                   struct pf_error *error)
{
    struct pf_tree *tree = paths->tree;
    uint32_t before = tree->count;
    uint8_t flags = *context == PF_NO_CONTEXT ? PF_FRAME | PF_ROOT : PF_FRAME;
    if (pf_array_reach(&tree->file, &paths->files_room, before, sizeof *tree->file, error) ||
        pf_array_reach(&tree->line, &paths->lines_room, before, sizeof *tree->line, error))
        return -1;
    *context = pf_tree_child(tree, *context, step->name, step->name, step->kind, flags, error);
    if (*context == before) {
        tree->file[before] = step->file;
        tree->line[before] = step->line;
    }
    return *context == PF_NO_CONTEXT ? -1 : 0;
}

static int find_path(struct perun_paths *paths, const struct perun_raw *trace, const struct perun_raw *uid,
                     const struct perun_raw *command, uint32_t *context, uint32_t *uid_text,
                     struct pf_error *error)
{
    struct step leaf, root;
    bool outermost;
    paths->n_steps = 0;
    if (read_trace(paths, trace, &outermost, error) || read_uid(paths, uid, &leaf, error) ||
        read_command(paths, command, &root, error))
        return -1;
    *uid_text = leaf.name;
    if (!paths->n_steps && leaf.name == PERUN_NONE) {
        leaf = (struct step){.file = PERUN_NONE, .kind = NOWHERE};
        if ((leaf.name = pf_intern(paths->tree->strings, "(none)", 6, error)) == PERUN_NONE)
            return -1;
    }
    if (leaf.name != PERUN_NONE && (!paths->n_steps || outermost) && add_step(paths, leaf, error))
        return -1;
    *context = PF_NO_CONTEXT;
    if (root.name != PERUN_NONE && go_down(paths, &root, context, error))
        return -1;
    for (size_t i = 0; i < paths->n_steps; i++)
        if (go_down(paths, &paths->steps[i], context, error))
            return -1;
    return 0;
}

/* The hash is keyed with the process's secret, so equal hashes are taken for equal values. Never 0. */
static uint64_t hash_of(const struct perun_raw *const raws[3])
{
    uint64_t hash = 1;
    for (unsigned i = 0; i < 3; i++)
        if (raws[i]->token.event != PF_JSON_END)
            hash = pf_siphash(hash + 16 * i + raws[i]->token.event, raws[i]->token.text, raws[i]->token.size);
    return hash + !hash;
}

int perun_path(struct perun_paths *paths, const struct perun_raw *trace, const struct perun_raw *uid,
               const struct perun_raw *command, uint32_t *context, uint32_t *uid_text, struct pf_error *error)
{
    uint64_t hash = hash_of((const struct perun_raw *const[]){trace, uid, command});
    struct place *place = &paths->places[hash % PLACES];
    if (place->hash != hash) {
        if (find_path(paths, trace, uid, command, context, uid_text, error))
            return -1;
        *place = (struct place){hash, *context, *uid_text};
    }
    *context = place->context;
    *uid_text = place->uid;
    return 0;
}
