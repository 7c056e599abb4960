/* SPDX-License-Identifier: MIT */
/*
 * Contexts of resources. The context of a resource is a path of steps: its command, the frames of its trace, its uid. Frames that are
 * objects with `function` are written innermost first, and the uid is one of them. Frames that are objects with `func`, or strings, are
 * written outermost first, and the uid is the leaf below them.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/print.h"
#include "formats/perun/perun.h"

enum { FUNCTION, COMMAND, NOWHERE };
const char *const perun_kinds[] = {"function", "command", "none"};

/* Slots of the direct-mapped cache of contexts. */
enum { SLOTS = 65536 };

/* Maximum number of values of an object that its name consists of (real objects have at most five); maximum size of a name in bytes. */
enum { PARTS_MAX = 64, NAME_MAX_SIZE = 64 * 1024 };

struct step {
    uint32_t name, file, line;
    uint8_t kind;
};

struct perun_paths {
    struct perun_data *data;
    struct pf_json_trees *trees;
    struct json_object *parsed; /* the trace or uid being read */
    struct path_slot {
        uint64_t hash; /* of trace, uid and command; 0: the slot is free */
        uint32_t context, uid;
    } * slots; /* an array of SLOTS */
    char name[NAME_MAX_SIZE];
    size_t name_size, file_size; /* size of `name`, and of the file name that it begins with (0: none) */
    uint32_t line;               /* the source line that `name` contains; 0: none */
    PF_LIST(struct step) steps;
    size_t files_room, lines_room; /* capacity of tree->file and tree->line */
};

static void free_paths(struct perun_paths *paths)
{
    json_object_put(paths->parsed);
    free(paths->slots);
    free(paths);
}

struct perun_paths *perun_paths_new(struct perun_data *data, struct pf_json_trees *trees)
{
    struct perun_paths *paths = PF_OWN(data->run, calloc(1, sizeof *paths), free_paths);
    paths->data = data;
    paths->trees = trees;
    paths->slots = pf_run_memory(data->run, calloc(SLOTS, sizeof *paths->slots));
    return paths;
}

/* ---- names of frames and uids ------------------------------------------------------------------- */

/* Values of an object are joined in the order of their keys' ranks. Unknown keys come last. */
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
    unsigned rank, number; /* `number` is the part's position in the object */
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
 * Prints the decimal number by which Perun orders unknown keys. Its digits are the codes of the key's characters, each increased by 6 and
 * printed one after the other. Returns the number of digits.
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

/* Appends a text to the name. Cuts it at a UTF-8 character boundary if it does not fit. */
static void add_path_text(struct perun_paths *paths, const char *text, size_t size)
{
    size_t room = sizeof paths->name - paths->name_size;
    if (size > room)
        for (size = room; size && ((unsigned char)text[size] & 0xc0) == 0x80;)
            size--;
    memcpy(paths->name + paths->name_size, text, size);
    paths->name_size += size;
}

/*
 * Appends a scalar. Numbers are written as in the file, and null, true and false as in Python. Skips objects and lists.
 */
static void add_scalar(struct perun_paths *paths, struct json_object *value)
{
    const char *word = !value ? "None" : json_object_get_boolean(value) ? "True" : "False";
    if (value && !json_object_is_type(value, json_type_boolean)) {
        if (pf_tree_is_object(value) || pf_tree_is_list(value))
            return;
        struct pf_cell text = pf_tree_text(value);
        if (text.type == PF_TEXT) {
            add_path_text(paths, text.text, text.size);
            return;
        }
        word = json_object_to_json_string(value);
    }
    add_path_text(paths, word ? word : "", word ? strlen(word) : 0);
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
        add_path_text(paths, ":", i > 0);
        add_scalar(paths, parts[i].value);
        if (!i && parts[i].rank == FILES)
            paths->file_size = paths->name_size;
        if (parts[i].rank == LINES)
            paths->line = line_of(parts[i].value);
    }
}

uint32_t perun_name_of(struct perun_paths *paths, struct json_object *value)
{
    paths->name_size = paths->file_size = paths->line = 0;
    if (pf_tree_is_object(value))
        add_object(paths, value);
    else if (!pf_tree_is_list(value))
        add_scalar(paths, value);
    for (size_t i = 0; i < pf_tree_length(value) && i < PARTS_MAX; i++) {
        add_path_text(paths, ",", i > 0);
        add_scalar(paths, json_object_array_get_idx(value, i));
    }
    return perun_string(paths->data, paths->name, paths->name_size);
}

/* ---- steps -------------------------------------------------------------------------------------- */

/* Makes a step from a frame or uid. */
static struct step make_step(struct perun_paths *paths, struct json_object *value)
{
    struct step step = {.file = PERUN_NONE, .kind = FUNCTION};
    step.name = perun_name_of(paths, value);
    step.line = paths->line;
    if (paths->file_size)
        step.file = perun_string(paths->data, paths->name, paths->file_size);
    return step;
}

static void add_step(struct perun_paths *paths, struct step step)
{
    *PF_PUSH(paths->data->run, paths->steps) = step;
}

/* Parses a value into paths->parsed. */
static void parse(struct perun_paths *paths, const struct pf_json_token *token)
{
    struct pf_run *run = paths->data->run;
    pf_run_check(run, pf_json_tree_of(paths->trees, token, &paths->parsed, run->error));
}

static void drop_parsed(struct perun_paths *paths)
{
    json_object_put(paths->parsed);
    paths->parsed = NULL;
}

/* Returns true if a trace with this first frame is written outermost first. */
static bool is_outermost(struct json_object *frame)
{
    struct json_object *value;
    return json_object_is_type(frame, json_type_string) ||
           (json_object_object_get_ex(frame, "func", &value) &&
            !json_object_object_get_ex(frame, "function", &value));
}

/* Adds the steps of a trace, outermost first. Returns true if the trace is written in this order. */
static bool read_trace(struct perun_paths *paths, const struct perun_raw *raw)
{
    if (raw->token.event != PF_JSON_ARRAY)
        return false;
    parse(paths, &raw->token);
    size_t n = pf_tree_length(paths->parsed);
    bool outermost = n && is_outermost(json_object_array_get_idx(paths->parsed, 0));
    for (size_t i = 0; i < n; i++)
        add_step(paths,
                 make_step(paths, json_object_array_get_idx(paths->parsed, outermost ? i : n - 1 - i)));
    drop_parsed(paths);
    return outermost;
}

/* Makes a step from the uid. The step's name is PERUN_NONE if the uid is missing. A number is named as it is written in the file. */
static struct step read_uid(struct perun_paths *paths, const struct perun_raw *raw)
{
    const struct pf_json_token *token = &raw->token;
    if (token->event == PF_JSON_END || token->event == PF_JSON_NULL)
        return (struct step){.name = PERUN_NONE, .file = PERUN_NONE};
    if (token->event == PF_JSON_OBJECT || token->event == PF_JSON_ARRAY)
        parse(paths, token);
    else
        paths->parsed =
            pf_run_memory(paths->data->run, token->event == PF_JSON_NUMBER
                                                ? json_object_new_string_len(token->text, (int)token->size)
                                                : pf_json_scalar(token));
    struct step step = make_step(paths, paths->parsed);
    drop_parsed(paths);
    return step;
}

/*
 * Makes the root step from the command. The step's name is PERUN_NONE if there is no command, or if the trace begins with the
 * command. In the latter case, the trace's first step is the root.
 */
static struct step read_command(struct perun_paths *paths, const struct perun_raw *command)
{
    struct step root = {.name = PERUN_NONE, .file = PERUN_NONE, .kind = COMMAND};
    if (command->token.event != PF_JSON_STRING || !command->token.size)
        return root;
    root.name = perun_string(paths->data, command->token.text, command->token.size);
    if (paths->steps.n && paths->steps.at[0].name == root.name) {
        paths->steps.at[0].kind = COMMAND;
        root.name = PERUN_NONE;
    }
    return root;
}

/* ---- contexts ----------------------------------------------------------------------------------- */

/* Finds or adds the context of a step below `parent`. */
static uint32_t child_context(struct perun_paths *paths, const struct step *step, uint32_t parent)
{
    struct pf_run *run = paths->data->run;
    struct pf_tree *tree = paths->data->tree;
    uint32_t before = tree->count;
    uint8_t flags = parent == PF_NO_CONTEXT ? PF_FRAME | PF_ROOT : PF_FRAME;
    pf_run_check(run,
                 pf_array_reach(&tree->file, &paths->files_room, before, sizeof *tree->file, run->error));
    pf_run_check(run,
                 pf_array_reach(&tree->line, &paths->lines_room, before, sizeof *tree->line, run->error));
    uint32_t context = pf_tree_child(tree, parent, step->name, step->name, step->kind, flags, run->error);
    if (context == PF_NO_CONTEXT)
        pf_run_fail(run);
    if (context == before) {
        tree->file[before] = step->file;
        tree->line[before] = step->line;
    }
    return context;
}

static struct path_slot find_path(struct perun_paths *paths, const struct perun_raw *trace,
                                  const struct perun_raw *uid, const struct perun_raw *command)
{
    paths->steps.n = 0;
    bool outermost = read_trace(paths, trace);
    struct step leaf = read_uid(paths, uid), root = read_command(paths, command);
    struct path_slot slot = {.context = PF_NO_CONTEXT, .uid = leaf.name};
    if (!paths->steps.n && leaf.name == PERUN_NONE)
        leaf = (struct step){
            .name = perun_string(paths->data, "(none)", 6), .file = PERUN_NONE, .kind = NOWHERE};
    if (leaf.name != PERUN_NONE && (!paths->steps.n || outermost))
        add_step(paths, leaf);
    if (root.name != PERUN_NONE)
        slot.context = child_context(paths, &root, slot.context);
    for (size_t i = 0; i < paths->steps.n; i++)
        slot.context = child_context(paths, &paths->steps.at[i], slot.context);
    return slot;
}

/* Returns a hash, never 0. It is keyed with the process's secret, so values with equal hashes are taken to be equal. */
static uint64_t hash_of_path(const struct perun_raw *const raws[3])
{
    uint64_t hash = 1;
    for (unsigned i = 0; i < 3; i++)
        if (raws[i]->token.event != PF_JSON_END)
            hash = pf_siphash(hash + 16 * i + raws[i]->token.event, raws[i]->token.text, raws[i]->token.size);
    return hash + !hash;
}

void perun_path(struct perun_paths *paths, const struct perun_raw *trace, const struct perun_raw *uid,
                const struct perun_raw *command, uint32_t *context, uint32_t *uid_text)
{
    uint64_t hash = hash_of_path((const struct perun_raw *const[]){trace, uid, command});
    struct path_slot *slot = &paths->slots[hash % SLOTS];
    if (slot->hash != hash) {
        *slot = find_path(paths, trace, uid, command);
        slot->hash = hash;
    }
    *context = slot->context;
    *uid_text = slot->uid;
}
