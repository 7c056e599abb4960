/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/kit/array.h"
#include "formats/kit/utf8.h"

/* ---- contexts ----------------------------------------------------------------------------------- */

static const char *const kinds[] = {
    [HPC_ROOT] = "root",         [HPC_ENTRY] = "entry",
    [HPC_FUNCTION] = "function", [HPC_INLINED] = "inlined",
    [HPC_CALL] = "call",         [HPC_LOOP] = "loop",
    [HPC_LINE] = "line",         [HPC_INSTRUCTION] = "instruction",
    [HPC_OTHER] = "other",
};

void hpc_model_begin(struct pf_run *run, struct hpc_model *model)
{
    *model = (struct hpc_model){.tree = pf_run_memory(run, pf_tree_new(kinds))};
}

void hpc_model_free(struct hpc_model *model)
{
    pf_tree_free(model->tree);
    pf_ids_free(&model->ids);
    pf_ids_free(&model->traced);
    pf_store_free(model->summary);
    free(model->offset);
    free(model->relation);
    for (int i = 0; i < HPC_LISTS; i++)
        free(model->lists[i].items);
    *model = (struct hpc_model){0};
}

/*
 * Grows the tree's optional columns and the model's own columns to the tree's capacity, because pf_tree_add grows only
 * the other columns.
 */
static void grow_context_columns(struct pf_run *run, struct hpc_model *model)
{
    struct pf_tree *tree = model->tree;
    model->room = tree->room;
    pf_run_check(run, pf_array_resize(&tree->id, tree->room, sizeof *tree->id, run->error));
    pf_run_check(run, pf_array_resize(&tree->line, tree->room, sizeof *tree->line, run->error));
    pf_run_check(run, pf_array_resize(&tree->file, tree->room, sizeof *tree->file, run->error));
    pf_run_check(run, pf_array_resize(&tree->module, tree->room, sizeof *tree->module, run->error));
    pf_run_check(run, pf_array_resize(&model->offset, tree->room, sizeof *model->offset, run->error));
    pf_run_check(run, pf_array_resize(&model->relation, tree->room, sizeof *model->relation, run->error));
}

uint32_t hpc_model_add(struct pf_run *run, struct hpc_model *model, uint32_t parent,
                       const struct hpc_context *context)
{
    struct pf_tree *tree = model->tree;
    if (!pf_run_check(run, pf_ids_add(&model->ids, context->id, tree->count, run->error)))
        return PF_NO_CONTEXT;
    uint32_t i =
        pf_tree_add(tree, parent, 0, context->name, (uint8_t)context->kind, context->flags, run->error);
    pf_run_check(run, i == PF_NO_CONTEXT ? -1 : 0);
    if (model->room < tree->room)
        grow_context_columns(run, model);
    hpc_model_set(model, i, context);
    tree->id[i] = context->id;
    return i;
}

void hpc_model_set(struct hpc_model *model, uint32_t i, const struct hpc_context *context)
{
    struct pf_tree *tree = model->tree;
    tree->kind[i] = (uint8_t)context->kind;
    tree->name[i] = context->name;
    tree->flags[i] |= context->flags;
    tree->line[i] = context->line;
    tree->file[i] = context->file;
    tree->module[i] = context->module;
    model->offset[i] = context->offset;
    model->relation[i] = context->relation;
}

uint32_t hpc_model_add_bare(struct pf_run *run, struct hpc_model *model, uint64_t id, const char *name,
                            enum hpc_kind kind, uint8_t flags)
{
    struct hpc_context context = {
        .id = id,
        .offset = HPC_NO_OFFSET,
        .name = pf_run_intern(run, model->tree->strings, name, strlen(name)),
        .file = PF_NO_STRING,
        .module = PF_NO_STRING,
        .kind = kind,
        .flags = flags,
    };
    return hpc_model_add(run, model, PF_NO_CONTEXT, &context);
}

uint32_t hpc_model_add_root(struct pf_run *run, struct hpc_model *model, uint64_t id)
{
    return hpc_model_add_bare(run, model, id, "root", HPC_ROOT, PF_ROOT | PF_FRAME);
}

const struct pf_column hpc_context_columns[HPC_CONTEXT_COLUMNS] = {
    [HPC_RELATION] = {"relation", PF_PLAIN, 0}, [HPC_OFFSET] = {"offset", PF_PLAIN, 0}};

void hpc_context_cells(const struct pf_model *profile, uint32_t context, struct pf_cell *cells)
{
    static const char *const relations[HPC_RELATIONS] = {
        [HPC_LEXICAL] = "lexical", [HPC_BY_CALL] = "call", [HPC_BY_INLINED_CALL] = "inlined_call"};
    const struct hpc_model *model = &hpc_state(profile)->model;
    uint64_t offset = model->offset[context];
    unsigned relation = model->relation[context];
    cells[HPC_RELATION] =
        relation < HPC_RELATIONS ? pf_string(relations[relation]) : pf_uint(relation - HPC_LEXICAL);
    cells[HPC_OFFSET] = offset == HPC_NO_OFFSET ? pf_absent() : pf_uint(offset);
}

/* ---- names -------------------------------------------------------------------------------------- */

/* Maximum size in bytes of a base name within a context's name. The columns file and module hold the full path. */
enum { PART_MAX = 400 };

/*
 * Returns the last component of a path, including a trailing slash, truncated to PART_MAX bytes at a UTF-8 character
 * boundary; "" if there is no path.
 */
static struct pf_cell base_name_of(const struct hpc_model *model, uint32_t path)
{
    struct pf_cell cell = pf_interned(model->tree->strings, path);
    if (cell.type != PF_TEXT || !cell.size)
        return pf_string("");
    const char *slash = memrchr(cell.text, '/', cell.size - 1);
    const char *part = slash ? slash + 1 : cell.text;
    return pf_text(part, pf_utf8_cut(part, cell.size - (size_t)(part - cell.text), PART_MAX));
}

void hpc_name_context(struct pf_run *run, const struct hpc_model *model, struct hpc_context *context)
{
    char name[PART_MAX + 64];
    bool loop = context->kind == HPC_LOOP, call = context->kind == HPC_CALL && context->line;
    bool place = loop || call || context->kind == HPC_LINE, offset = context->offset != HPC_NO_OFFSET;
    struct pf_cell part = base_name_of(model, place ? context->file : context->module);
    int size = snprintf(name, sizeof name, "%s%.*s", loop ? "loop at " : "", (int)part.size, part.text);
    if (place && !part.size)
        size += snprintf(name + size, sizeof name - (size_t)size, "<unknown file>");
    else if (place && context->line)
        size += snprintf(name + size, sizeof name - (size_t)size, ":%u", context->line);
    else if (!place && offset)
        size += snprintf(name + size, sizeof name - (size_t)size, "+0x%" PRIx64, context->offset);
    else if (!place && !part.size)
        size = snprintf(name, sizeof name, "<unknown %s>", kinds[context->kind]);
    context->name = pf_run_intern(run, model->tree->strings, name, (size_t)size);
}

/* ---- lists, and the summary of 2.x ------------------------------------------------------------------ */

void hpc_model_add_item(struct pf_run *run, struct hpc_model *model, enum hpc_list list,
                        const struct hpc_item *item)
{
    struct hpc_items *items = &model->lists[list];
    if (items->count == UINT32_MAX)
        pf_run_check(run, pf_fail_memory(run->error));
    pf_run_check(run, pf_array_room(&items->items, &items->room, items->count, sizeof *item, run->error));
    items->items[items->count++] = *item;
}

bool hpc_model_add_value(struct pf_run *run, struct hpc_model *model, const struct hpc_old_value *value)
{
    enum { HELD = 8 << 20 }; /* maximum number of bytes of values in memory */
    if (!model->summary)
        model->summary = pf_run_memory(run, pf_store_new(HELD));
    if (value->context < model->last_with_summary)
        return false;
    model->last_with_summary = value->context;
    pf_run_check(run, pf_store_append(model->summary, value, sizeof *value, run->error));
    return true;
}
