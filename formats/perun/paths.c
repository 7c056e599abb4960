/* SPDX-License-Identifier: MIT */
/*
 * Contexts of what resources say of their place: trace, uid and command. Which end of a trace is the root depends on the
 * form of its frames: objects with `function` stand innermost first and hold the uid; objects with `func` and strings
 * stand outermost first, and the uid is the leaf after them.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/perun/perun.h"

enum { FUNCTION, COMMAND, NOWHERE };
const char *const perun_kinds[] = {"function", "command", "none"};

/* A cache of places: one a slot. */
enum { PLACES = 65536 };

struct step {
    uint32_t name, file, line;
    uint8_t kind;
};

struct perun_paths {
    struct pf_tree *tree;
    struct pf_json_trees *trees;
    struct place {
        uint64_t hash; /* 0: free */
        uint32_t context, uid;
    } * places; /* PLACES */
    struct perun_text name;
    struct step *steps;
    size_t n_steps, steps_room;
    uint32_t *files, *lines; /* of contexts */
    size_t files_room, lines_room;
};

struct perun_paths *perun_paths_new(struct pf_tree *tree)
{
    struct perun_paths *paths = calloc(1, sizeof *paths);
    if (!paths)
        return NULL;
    paths->tree = tree;
    paths->trees = pf_json_trees_new(PERUN_WHOLE_MAX, true);
    paths->places = calloc(PLACES, sizeof *paths->places);
    if (paths->trees && paths->places)
        return paths;
    perun_paths_free(paths);
    return NULL;
}

void perun_paths_free(struct perun_paths *paths)
{
    if (!paths)
        return;
    pf_json_trees_free(paths->trees);
    perun_text_free(&paths->name);
    free(paths->places);
    free(paths->steps);
    free(paths->files);
    free(paths->lines);
    free(paths);
}

/* ---- steps -------------------------------------------------------------------------------------- */

/* A frame or uid as a step. */
static int flatten(struct perun_paths *paths, struct json_object *value, struct step *step,
                   struct pf_error *error)
{
    struct perun_frame frame;
    struct pf_strings *strings = paths->tree->strings;
    paths->name.size = 0;
    if (perun_flatten(value, &paths->name, &frame, error) || perun_add(&paths->name, "", 0, error))
        return -1;
    *step = (struct step){.file = PF_NO_STRING, .line = frame.line, .kind = FUNCTION};
    if (frame.file_size)
        step->file = pf_intern(strings, paths->name.at, frame.file_size, error);
    step->name = pf_intern(strings, paths->name.at, paths->name.size, error);
    return step->name == PF_NO_STRING ? -1 : 0;
}

static int add_step(struct perun_paths *paths, struct step step, struct pf_error *error)
{
    if (pf_array_room(&paths->steps, &paths->steps_room, paths->n_steps, sizeof *paths->steps, error))
        return -1;
    paths->steps[paths->n_steps++] = step;
    return 0;
}

/* Whether a trace that begins with this frame stands outermost first. */
static bool is_outermost(struct json_object *frame)
{
    struct json_object *value;
    return json_object_is_type(frame, json_type_string) ||
           (json_object_object_get_ex(frame, "func", &value) &&
            !json_object_object_get_ex(frame, "function", &value));
}

/* The steps of a trace, root first; *outermost: it stands so in the file. */
static int add_trace(struct perun_paths *paths, struct json_object *trace, bool *outermost,
                     struct pf_error *error)
{
    size_t n = pf_tree_length(trace);
    struct step step;
    *outermost = n && is_outermost(json_object_array_get_idx(trace, 0));
    for (size_t i = 0; i < n; i++)
        if (flatten(paths, json_object_array_get_idx(trace, *outermost ? i : n - 1 - i), &step, error) ||
            add_step(paths, step, error))
            return -1;
    return 0;
}

/* A value of the file as a tree; a number as its text, as which it is shown. */
static int tree_of(struct perun_paths *paths, const struct perun_raw *raw, struct json_object **tree,
                   struct pf_error *error)
{
    struct pf_json_token token = raw->token;
    token.text = raw->text;
    if (token.event == PF_JSON_OBJECT || token.event == PF_JSON_ARRAY)
        return pf_json_tree_of(paths->trees, &token, tree, error);
    bool text = token.event == PF_JSON_STRING || token.event == PF_JSON_NUMBER;
    *tree = text ? json_object_new_string_len(token.text, (int)token.size)
                 : json_object_new_boolean(token.event == PF_JSON_TRUE);
    return *tree ? 0 : pf_fail_memory(error);
}

static int read_trace(struct perun_paths *paths, const struct perun_raw *raw, bool *outermost,
                      struct pf_error *error)
{
    struct json_object *trace;
    *outermost = false;
    if (raw->token.event != PF_JSON_ARRAY)
        return 0;
    if (tree_of(paths, raw, &trace, error))
        return -1;
    int failed = add_trace(paths, trace, outermost, error);
    json_object_put(trace);
    return failed;
}

/* The uid as a step; its name is PF_NO_STRING if there is none. */
static int read_uid(struct perun_paths *paths, const struct perun_raw *raw, struct step *step,
                    struct pf_error *error)
{
    struct json_object *uid;
    *step = (struct step){.name = PF_NO_STRING, .file = PF_NO_STRING};
    if (raw->token.event == PF_JSON_END || raw->token.event == PF_JSON_NULL)
        return 0;
    if (tree_of(paths, raw, &uid, error))
        return -1;
    int failed = flatten(paths, uid, step, error);
    json_object_put(uid);
    return failed;
}

/* The command as the root, unless the path's trace begins with it: then the two are the same. */
static int read_command(struct perun_paths *paths, const struct perun_raw *command, struct step *root,
                        struct pf_error *error)
{
    *root = (struct step){.name = PF_NO_STRING, .file = PF_NO_STRING, .kind = COMMAND};
    if (command->token.event != PF_JSON_STRING || !command->token.size)
        return 0;
    root->name = pf_intern(paths->tree->strings, command->text, command->token.size, error);
    if (root->name == PF_NO_STRING)
        return -1;
    if (paths->n_steps && paths->steps[0].name == root->name) {
        paths->steps[0].kind = COMMAND;
        root->name = PF_NO_STRING;
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
    if (pf_array_reach(&paths->files, &paths->files_room, before, sizeof *paths->files, error) ||
        pf_array_reach(&paths->lines, &paths->lines_room, before, sizeof *paths->lines, error))
        return -1;
    *context = pf_tree_child(tree, *context, step->name, step->name, step->kind, flags, error);
    if (*context == before) {
        paths->files[before] = step->file;
        paths->lines[before] = step->line;
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
    if (!paths->n_steps && leaf.name == PF_NO_STRING) {
        leaf = (struct step){.file = PF_NO_STRING, .kind = NOWHERE};
        if ((leaf.name = pf_intern(paths->tree->strings, "(none)", 6, error)) == PF_NO_STRING)
            return -1;
    }
    if (leaf.name != PF_NO_STRING && (!paths->n_steps || outermost) && add_step(paths, leaf, error))
        return -1;
    *context = PF_NO_CONTEXT;
    if (root.name != PF_NO_STRING && go_down(paths, &root, context, error))
        return -1;
    for (size_t i = 0; i < paths->n_steps; i++)
        if (go_down(paths, &paths->steps[i], context, error))
            return -1;
    return 0;
}

/* The program's key makes the hash: equal ones are of one place. */
static uint64_t hash_of(const struct perun_raw *const raws[3])
{
    uint64_t hash = 1;
    for (unsigned i = 0; i < 3; i++)
        if (raws[i]->token.event != PF_JSON_END)
            hash = pf_siphash(hash + 16 * i + raws[i]->token.event, raws[i]->text, raws[i]->token.size);
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

void perun_paths_finish(struct perun_paths *paths)
{
    size_t count = paths->tree->count;
    bool files = false, lines = false;
    for (size_t i = 0; i < count; i++) {
        files |= paths->files[i] != PF_NO_STRING;
        lines |= paths->lines[i] != 0;
    }
    if (files) {
        paths->tree->file = paths->files;
        paths->files = NULL;
    }
    if (lines) {
        paths->tree->line = paths->lines;
        paths->lines = NULL;
    }
}
