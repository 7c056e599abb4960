/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

static const char *const kinds[] = {
    [HPC_ROOT] = "root",         [HPC_ENTRY] = "entry",
    [HPC_FUNCTION] = "function", [HPC_INLINED] = "inlined",
    [HPC_CALL] = "call",         [HPC_LOOP] = "loop",
    [HPC_LINE] = "line",         [HPC_INSTRUCTION] = "instruction",
    [HPC_OTHER] = "other",
};

int hpc_model_init(struct hpc_model *model, struct pf_error *error)
{
    *model = (struct hpc_model){.tree = pf_tree_new(kinds)};
    return model->tree ? 0 : pf_fail_memory(error);
}

void hpc_model_free(struct hpc_model *model)
{
    pf_tree_free(model->tree);
    hpc_idmap_free(&model->ids);
    hpc_idmap_free(&model->traced);
    hpc_old_summary_free(&model->summary);
    free(model->offset);
    free(model->relation);
    free(model->functions.items);
    free(model->files.items);
    free(model->modules.items);
    *model = (struct hpc_model){0};
}

/* ---- contexts ----------------------------------------------------------------------------------- */

static int make_room(struct hpc_model *model, struct pf_error *error)
{
    struct pf_tree *tree = model->tree;
    if (tree->count < model->room)
        return 0;
    size_t room = model->room ? (size_t)model->room * 2 : 256;
    if (room > UINT32_MAX || pf_array_resize(&tree->id, room, sizeof *tree->id, error) ||
        pf_array_resize(&tree->line, room, sizeof *tree->line, error) ||
        pf_array_resize(&tree->file, room, sizeof *tree->file, error) ||
        pf_array_resize(&tree->module, room, sizeof *tree->module, error) ||
        pf_array_resize(&model->offset, room, sizeof *model->offset, error) ||
        pf_array_resize(&model->relation, room, sizeof *model->relation, error))
        return pf_fail_memory(error);
    model->room = (uint32_t)room;
    return 0;
}

uint32_t hpc_model_add(struct hpc_model *model, uint32_t parent, const struct hpc_context *context,
                       struct pf_error *error)
{
    struct pf_tree *tree = model->tree;
    error->code = 0;
    if (make_room(model, error) || hpc_idmap_add(&model->ids, context->id, tree->count, error) <= 0)
        return PF_NO_CONTEXT;
    uint32_t i = pf_tree_add(tree, parent, 0, context->name, (uint8_t)context->kind, context->flags, error);
    if (i == PF_NO_CONTEXT)
        return i;
    tree->id[i] = context->id;
    tree->line[i] = context->line;
    tree->file[i] = context->file;
    tree->module[i] = context->module;
    model->offset[i] = context->offset;
    model->relation[i] = context->relation;
    return i;
}

/* Adds a context that has no parent and of which no more is known than this. As hpc_model_add. */
static uint32_t add_bare(struct hpc_model *model, uint64_t id, const char *name, enum hpc_kind kind,
                         uint8_t flags, struct pf_error *error)
{
    struct hpc_context context = {
        .id = id,
        .offset = HPC_NO_OFFSET,
        .name = pf_intern(model->tree->strings, name, strlen(name), error),
        .file = PF_NO_STRING,
        .module = PF_NO_STRING,
        .kind = kind,
        .flags = flags,
    };
    return context.name == PF_NO_STRING ? PF_NO_CONTEXT
                                        : hpc_model_add(model, PF_NO_CONTEXT, &context, error);
}

uint32_t hpc_model_add_root(struct hpc_model *model, uint64_t id, struct pf_error *error)
{
    return add_bare(model, id, "root", HPC_ROOT, PF_ROOT | PF_FRAME, error);
}

int hpc_model_add_unlisted(struct hpc_model *model, uint64_t id, struct pf_error *error)
{
    if (hpc_idmap_find(&model->ids, id) != HPC_NO_NUMBER)
        return 0;
    if (add_bare(model, id, "unlisted instruction", HPC_INSTRUCTION, 0, error) == PF_NO_CONTEXT)
        return -1;
    model->unlisted++;
    return 0;
}

/* ---- names -------------------------------------------------------------------------------------- */

/* The last part of a path: what stands behind the last slash, unless that is nothing. */
static struct pf_cell last_part(const struct pf_strings *strings, uint32_t path)
{
    struct pf_cell cell = pf_interned(strings, path);
    if (cell.type != PF_TEXT)
        return pf_string("");
    const char *slash = cell.size ? memrchr(cell.text, '/', cell.size - 1) : NULL;
    size_t skip = slash ? (size_t)(slash + 1 - cell.text) : 0;
    return pf_text(cell.text + skip, cell.size - skip);
}

/* Longer names of files are cut in the names of contexts; they stand in full in the columns file and module. */
enum { PART_MAX = 400 };

static int printed(struct pf_cell part)
{
    int size = part.size < PART_MAX ? (int)part.size : PART_MAX;
    while (size && (uint32_t)size < part.size && (part.text[size] & 0xc0) == 0x80)
        size--; /* not inside of a character */
    return size;
}

/* `FILE:LINE`, as much of it as is known. Returns its length. */
static int print_place(const struct hpc_model *model, const struct hpc_context *context, char *out,
                       size_t room)
{
    struct pf_cell file = last_part(model->tree->strings, context->file);
    if (!file.size)
        return snprintf(out, room, "<unknown file>");
    if (!context->line)
        return snprintf(out, room, "%.*s", printed(file), file.text);
    return snprintf(out, room, "%.*s:%u", printed(file), file.text, context->line);
}

/* `MODULE+0xOFFSET`. Returns its length; 0 if neither is known. */
static int print_address(const struct hpc_model *model, const struct hpc_context *context, char *out,
                         size_t room)
{
    struct pf_cell module = last_part(model->tree->strings, context->module);
    if (!module.size && context->offset == HPC_NO_OFFSET)
        return 0;
    if (context->offset == HPC_NO_OFFSET)
        return snprintf(out, room, "%.*s", printed(module), module.text);
    return snprintf(out, room, "%.*s+0x%llx", printed(module), module.text,
                    (unsigned long long)context->offset);
}

int hpc_name_context(struct hpc_model *model, struct hpc_context *context, struct pf_error *error)
{
    char name[PART_MAX + 64];
    int size = 0;
    if (context->kind == HPC_LOOP) {
        size = snprintf(name, sizeof name, "loop at ");
        size += print_place(model, context, name + size, sizeof name - (size_t)size);
    } else if (context->kind == HPC_LINE || (context->kind == HPC_CALL && context->line)) {
        size = print_place(model, context, name, sizeof name);
    } else {
        size = print_address(model, context, name, sizeof name);
    }
    if (!size)
        size = snprintf(name, sizeof name, "<unknown %s>", kinds[context->kind]);
    context->name = pf_intern(model->tree->strings, name, (size_t)size, error);
    return context->name == PF_NO_STRING ? -1 : 0;
}

/* ---- lists -------------------------------------------------------------------------------------- */

int hpc_add_function(struct hpc_functions *functions, const struct hpc_function *function,
                     struct pf_error *error)
{
    if (functions->count == UINT32_MAX ||
        pf_array_room(&functions->items, &functions->room, functions->count, sizeof *functions->items, error))
        return pf_fail_memory(error);
    functions->items[functions->count++] = *function;
    return 0;
}

int hpc_add_place(struct hpc_places *places, const struct hpc_place *place, struct pf_error *error)
{
    if (places->count == UINT32_MAX ||
        pf_array_room(&places->items, &places->room, places->count, sizeof *places->items, error))
        return pf_fail_memory(error);
    places->items[places->count++] = *place;
    return 0;
}

/* ---- the summary of 2.x --------------------------------------------------------------------------- */

/* Bytes of values that are held in memory. */
enum { SUMMARY_MEMORY = 8 << 20 };

static int make_summary_room(struct hpc_old_summary *summary, uint32_t context, struct pf_error *error)
{
    if (!summary->values && !(summary->values = pf_store_new(SUMMARY_MEMORY)))
        return pf_fail_memory(error);
    return pf_array_reach(&summary->runs, &summary->room, context, sizeof *summary->runs, error);
}

int hpc_old_summary_add(struct hpc_old_summary *summary, uint32_t context, uint32_t metric, double number,
                        struct pf_error *error)
{
    struct hpc_old_value value = {.value = number, .metric = metric};
    if (make_summary_room(summary, context, error))
        return -1;
    struct hpc_run *run = &summary->runs[context];
    if (run->count && (run->first + run->count != summary->count || run->count == UINT32_MAX))
        return 0;
    if (pf_store_append(summary->values, &value, sizeof value, error))
        return -1;
    if (!run->count++)
        run->first = summary->count;
    summary->count++;
    return 1;
}

void hpc_old_summary_free(struct hpc_old_summary *summary)
{
    pf_store_free(summary->values);
    free(summary->runs);
    *summary = (struct hpc_old_summary){0};
}

/* ---- numbers --------------------------------------------------------------------------------------- */

static bool is_id(const void *of, uint32_t number, const void *id)
{
    return ((const struct hpc_numbered *)of)[number].id == *(const uint64_t *)id;
}

int hpc_idmap_add(struct hpc_idmap *map, uint64_t id, uint32_t number, struct pf_error *error)
{
    uint64_t hash = pf_siphash_number(id);
    if (pf_hash_find(&map->table, hash, is_id, map->items, &id) != PF_NOT_THERE)
        return 0;
    if (pf_array_room(&map->items, &map->room, map->table.count, sizeof *map->items, error))
        return -1;
    map->items[map->table.count] = (struct hpc_numbered){id, number};
    if (pf_hash_add(&map->table, hash, map->table.count, error))
        return -1;
    if (id > map->largest)
        map->largest = id;
    return 1;
}

int hpc_idmap_pack(struct hpc_idmap *map, struct pf_error *error)
{
    /* An array takes no more memory than the table then. */
    if (!map->table.count || map->packed || map->largest / 4 > map->table.count)
        return 0;
    map->packed = malloc((map->largest + 1) * sizeof *map->packed);
    if (!map->packed) {
        pf_fail_memory(error);
        return -1;
    }
    for (uint64_t id = 0; id <= map->largest; id++)
        map->packed[id] = HPC_NO_NUMBER;
    for (uint32_t i = 0; i < map->table.count; i++)
        map->packed[map->items[i].id] = map->items[i].number;
    return 0;
}

uint32_t hpc_idmap_search(const struct hpc_idmap *map, uint64_t id)
{
    int64_t found = pf_hash_find(&map->table, pf_siphash_number(id), is_id, map->items, &id);
    return found == PF_NOT_THERE ? HPC_NO_NUMBER : map->items[found].number;
}

void hpc_idmap_free(struct hpc_idmap *map)
{
    pf_hash_free(&map->table);
    free(map->items);
    free(map->packed);
    *map = (struct hpc_idmap){0};
}
