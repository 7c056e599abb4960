/* SPDX-License-Identifier: MIT */
#include "formats/perun/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/table.h"

const char *const perun_kinds[] = {"function", "command", "none"};

/* Places remembered, and their bytes in all; then all are forgotten. */
#define PLACES_MAX 65536u
#define BYTES_MAX  ((size_t)16 << 20)

struct known {
    uint64_t hash; /* 0: free */
    size_t at, size;
    uint32_t context, uid;
};

/* What makes a place: trace, uid, command. */
struct place {
    const struct perun_raw *parts[3];
    uint64_t kinds[3]; /* of each its event, and its size, which is 0 for what there is none of */
    uint64_t hash;
    size_t size; /* of kinds and texts: as it is remembered */
};

/* One step of a path. */
struct step {
    uint32_t name, file, line;
    uint8_t kind;
};

struct perun_paths {
    struct pf_tree *tree;
    struct pf_json *json; /* reads texts in memory */
    struct known *known;  /* PLACES_MAX * 2 slots, made with the first place that has a trace */
    uint32_t n_known;
    struct perun_text bytes; /* of what is known */
    struct perun_text name;
    struct step *steps;
    size_t n_steps, room;
    uint32_t *files, *lines; /* of contexts, n_places of them */
    size_t n_places;
    uint32_t *
        of_word; /* of strings, n_words of them: 1 + the context of a uid that is this text alone; 0: not known */
    size_t n_words;
};

struct perun_paths *perun_paths_new(struct pf_tree *tree)
{
    struct perun_paths *paths = calloc(1, sizeof *paths);
    if (!paths)
        return NULL;
    paths->tree = tree;
    paths->json = pf_json_new(NULL, 0, 0);
    if (!paths->json) {
        free(paths);
        return NULL;
    }
    return paths;
}

void perun_paths_free(struct perun_paths *paths)
{
    if (!paths)
        return;
    pf_json_free(paths->json);
    perun_text_free(&paths->bytes);
    perun_text_free(&paths->name);
    free(paths->known);
    free(paths->steps);
    free(paths->files);
    free(paths->lines);
    free(paths->of_word);
    free(paths);
}

/* ---- places met before -------------------------------------------------------------------------- */

static struct place place_of(const struct perun_raw *trace, const struct perun_raw *uid,
                             const struct perun_raw *command)
{
    struct place place = {.parts = {trace, uid, command}, .size = sizeof place.kinds};
    for (size_t i = 0; i < 3; i++) {
        size_t size = place.parts[i]->event == PF_JSON_END ? 0 : place.parts[i]->size;
        place.kinds[i] = (uint64_t)size << 8 | (uint64_t)place.parts[i]->event;
        place.size += size;
    }
    place.hash = pf_siphash(0, place.kinds, sizeof place.kinds);
    for (size_t i = 0; i < 3; i++)
        if (place.kinds[i] >> 8)
            place.hash = pf_siphash(place.hash, place.parts[i]->text, place.parts[i]->size);
    place.hash += !place.hash;
    return place;
}

static bool is_place(const struct perun_paths *paths, const struct known *known, const struct place *place)
{
    const char *at = paths->bytes.at + known->at;
    if (known->hash != place->hash || known->size != place->size ||
        memcmp(at, place->kinds, sizeof place->kinds) != 0)
        return false;
    at += sizeof place->kinds;
    for (size_t i = 0; i < 3; i++) {
        size_t size = (size_t)(place->kinds[i] >> 8);
        if (size && memcmp(at, place->parts[i]->text, size) != 0)
            return false;
        at += size;
    }
    return true;
}

static struct known *slot_of(struct perun_paths *paths, const struct place *place)
{
    for (uint32_t i = (uint32_t)place->hash;; i++) {
        struct known *slot = &paths->known[i & (2 * PLACES_MAX - 1)];
        if (!slot->hash || is_place(paths, slot, place))
            return slot;
    }
}

static int remember(struct perun_paths *paths, const struct place *place, uint32_t context, uint32_t uid,
                    struct pf_error *error)
{
    if (place->size > BYTES_MAX / 4)
        return 0;
    if (paths->n_known == PLACES_MAX || paths->bytes.size + place->size > BYTES_MAX) {
        memset(paths->known, 0, 2 * PLACES_MAX * sizeof *paths->known);
        paths->n_known = 0;
        paths->bytes.size = 0;
    }
    struct known *slot = slot_of(paths, place);
    *slot = (struct known){place->hash, paths->bytes.size, place->size, context, uid};
    paths->n_known++;
    int failed = perun_text_add(&paths->bytes, (const char *)place->kinds, sizeof place->kinds, error);
    for (size_t i = 0; i < 3 && !failed; i++)
        failed = perun_text_add(&paths->bytes, place->parts[i]->text, (size_t)(place->kinds[i] >> 8), error);
    return failed;
}

/* ---- steps -------------------------------------------------------------------------------------- */

static int add_step(struct perun_paths *paths, struct step step, struct pf_error *error)
{
    if (paths->n_steps == paths->room) {
        size_t room = paths->room ? 2 * paths->room : 64;
        struct step *steps = realloc(paths->steps, room * sizeof *steps);
        if (!steps)
            return pf_fail_memory(error);
        paths->steps = steps;
        paths->room = room;
    }
    paths->steps[paths->n_steps++] = step;
    return 0;
}

/* A frame or uid whose first token is `token` becomes a step. */
static int flatten_step(struct perun_paths *paths, const struct pf_json_token *token, struct step *step,
                        struct perun_frame *frame, struct pf_error *error)
{
    *frame = (struct perun_frame){0};
    *step = (struct step){.file = PF_NO_STRING, .kind = PERUN_FUNCTION};
    paths->name.size = 0;
    if (perun_flatten(paths->json, token, &paths->name, frame, error) || perun_text_end(&paths->name, error))
        return -1;
    step->line = frame->line;
    if (frame->file_size)
        step->file = pf_intern(paths->tree->strings, paths->name.at + frame->file, frame->file_size, error);
    step->name = pf_intern(paths->tree->strings, paths->name.at, paths->name.size, error);
    return step->name == PF_NO_STRING ? -1 : 0;
}

static void reverse(struct step *steps, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct step step = steps[i];
        steps[i] = steps[n - 1 - i];
        steps[n - 1 - i] = step;
    }
}

/* Text in memory was read from its start on: the place of what is wrong in it becomes one in the file. */
static int fail_in(const struct perun_raw *raw, struct pf_error *error)
{
    error->offset = error->offset < 0 ? -1 : error->offset + (int64_t)raw->offset;
    error->line = error->line ? error->line - 1 + (int64_t)raw->line : 0;
    return -1;
}

/* The steps of a trace, root first; *outermost: it stands so in the file. */
static int read_trace(struct perun_paths *paths, const struct perun_raw *trace, bool *outermost,
                      struct pf_error *error)
{
    struct pf_json_token token;
    bool first = true;
    *outermost = false;
    if (trace->event != PF_JSON_ARRAY)
        return 0;
    pf_json_text(paths->json, trace->text, trace->size);
    if (pf_json_next(paths->json, &token, error) < 0)
        return fail_in(trace, error);
    for (;; first = false) {
        struct step step;
        struct perun_frame frame;
        int event = pf_json_next(paths->json, &token, error);
        if (event < 0)
            return fail_in(trace, error);
        if (event == PF_JSON_ARRAY_END)
            break;
        bool text = event == PF_JSON_STRING;
        if (flatten_step(paths, &token, &step, &frame, error))
            return fail_in(trace, error);
        if (add_step(paths, step, error))
            return -1;
        if (first)
            *outermost = text || (frame.has_func && !frame.has_function);
    }
    if (!*outermost)
        reverse(paths->steps, paths->n_steps);
    return 0;
}

/* The uid as a step; its name is PF_NO_STRING if there is none. */
static int read_uid(struct perun_paths *paths, const struct perun_raw *uid, struct step *step,
                    struct pf_error *error)
{
    struct perun_frame frame;
    struct pf_json_token token = {.event = uid->event, .text = uid->text, .size = uid->size};
    *step = (struct step){.name = PF_NO_STRING, .file = PF_NO_STRING};
    if (uid->event == PF_JSON_END || uid->event == PF_JSON_NULL)
        return 0;
    if (uid->event == PF_JSON_OBJECT || uid->event == PF_JSON_ARRAY) {
        pf_json_text(paths->json, uid->text, uid->size);
        if (pf_json_next(paths->json, &token, error) < 0)
            return fail_in(uid, error);
    }
    return flatten_step(paths, &token, step, &frame, error) ? fail_in(uid, error) : 0;
}

/* Room for the file and line of one more context. */
static int reserve_place(struct perun_paths *paths, uint32_t context, struct pf_error *error)
{
    if (context < paths->n_places)
        return 0;
    size_t room = paths->n_places ? 2 * paths->n_places : 1024;
    uint32_t *files = realloc(paths->files, room * sizeof *files);
    if (files)
        paths->files = files;
    uint32_t *lines = realloc(paths->lines, room * sizeof *lines);
    if (lines)
        paths->lines = lines;
    if (!files || !lines)
        return pf_fail_memory(error);
    paths->n_places = room;
    return 0;
}

static int go_down(struct perun_paths *paths, const struct step *step, uint32_t *context,
                   struct pf_error *error)
{
    struct pf_tree *tree = paths->tree;
    uint32_t before = tree->count;
    uint8_t flags = *context == PF_NO_CONTEXT ? PF_FRAME | PF_ROOT : PF_FRAME;
    if (reserve_place(paths, before, error))
        return -1;
    *context = pf_tree_child(tree, *context, step->name, step->name, step->kind, flags, error);
    if (*context == before) {
        paths->files[before] = step->file;
        paths->lines[before] = step->line;
    }
    return *context == PF_NO_CONTEXT ? -1 : 0;
}

/* Puts the command before the path, unless its trace begins with it: then the two are the same root. */
static int read_command(struct perun_paths *paths, const struct perun_raw *command, struct step *root,
                        struct pf_error *error)
{
    *root = (struct step){.name = PF_NO_STRING, .file = PF_NO_STRING, .kind = PERUN_COMMAND};
    if (command->event != PF_JSON_STRING || !command->size)
        return 0;
    root->name = pf_intern(paths->tree->strings, command->text, command->size, error);
    if (root->name == PF_NO_STRING)
        return -1;
    if (paths->n_steps && paths->steps[0].name == root->name) {
        paths->steps[0].kind = PERUN_COMMAND;
        root->name = PF_NO_STRING;
    }
    return 0;
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
        leaf = (struct step){.file = PF_NO_STRING, .kind = PERUN_NOWHERE};
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

int perun_path(struct perun_paths *paths, const struct perun_raw *trace, const struct perun_raw *uid,
               const struct perun_raw *command, uint32_t *context, uint32_t *uid_text, struct pf_error *error)
{
    if (!paths->known && !(paths->known = calloc(2 * PLACES_MAX, sizeof *paths->known)))
        return pf_fail_memory(error);
    struct place place = place_of(trace, uid, command);
    const struct known *slot = slot_of(paths, &place);
    if (slot->hash) {
        *context = slot->context;
        *uid_text = slot->uid;
        return 0;
    }
    if (find_path(paths, trace, uid, command, context, uid_text, error))
        return -1;
    return remember(paths, &place, *context, *uid_text, error);
}

static int reserve_words(struct perun_paths *paths, uint32_t word, struct pf_error *error)
{
    size_t room = paths->n_words ? paths->n_words : 1024;
    while (room <= word)
        room *= 2;
    uint32_t *of_word = realloc(paths->of_word, room * sizeof *of_word);
    if (!of_word)
        return pf_fail_memory(error);
    memset(of_word + paths->n_words, 0, (room - paths->n_words) * sizeof *of_word);
    paths->of_word = of_word;
    paths->n_words = room;
    return 0;
}

int perun_path_of_word(struct perun_paths *paths, uint32_t uid, uint32_t *context, struct pf_error *error)
{
    if (uid >= paths->n_words && reserve_words(paths, uid, error))
        return -1;
    if (!paths->of_word[uid]) {
        struct step step = {.name = uid, .file = PF_NO_STRING, .kind = PERUN_FUNCTION};
        *context = PF_NO_CONTEXT;
        if (go_down(paths, &step, context, error))
            return -1;
        paths->of_word[uid] = *context + 1;
    }
    *context = paths->of_word[uid] - 1;
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
