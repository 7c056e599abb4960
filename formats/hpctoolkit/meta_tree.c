/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "formats/hpctoolkit/meta.h"

/* Flags of a context's record: which optional parts follow its fixed part, in this order. */
enum { HAS_FUNCTION = 1, HAS_PLACE = 2, HAS_POINT = 4 };

/*
 * Minimum size of an entry's record in bytes (the file declares the stride), and sizes of the fixed part of a context.
 */
enum { ENTRY_SIZE = 32, CONTEXT_SIZE = 0x20, DRAFT_CONTEXT_SIZE = 0x18 };

/* Records between two checks of the pass. */
enum { RECORDS_A_STEP = 8192 };

/* An array of children that is being walked. Its unread rest is the range [at, end) of the file. */
struct meta_tree_level {
    uint64_t at, end;
    uint32_t parent;
};

struct meta_tree_reading {
    struct pf_run *run;
    struct hpc_meta *meta;
    struct hpc_model *model;
    struct hpc_array lists[HPC_LISTS];
    PF_LIST(struct meta_tree_level) levels; /* the stack of arrays on the path to the current context */
    struct pf_ids names;                    /* file offset of a string -> its number in the tree's strings */
    uint64_t walked; /* total size of the arrays pushed so far; at most the size of the section */
    bool duplicates; /* a duplicate context id has been reported */
};

/*
 * Interns a string of the file in the tree's strings. Each offset is read once. Strings of an undamaged file do not
 * overlap, so their total size is at most the file's size. Once it exceeds the file's size, further strings become empty.
 */
static uint32_t intern_at(struct meta_tree_reading *reading, uint64_t pointer)
{
    struct hpc_meta *meta = reading->meta;
    uint32_t id = pf_ids_find(&reading->names, pointer);
    if (id != PF_NO_ID)
        return id;
    size_t size = meta->scanned < meta->size ? hpc_meta_string(meta, pointer, HPC_STRING_MAX) : 0;
    id = hpc_intern(reading->run, reading->model->tree->strings, meta->string, size);
    pf_run_check(reading->run, pf_ids_add(&reading->names, pointer, id, reading->run->error));
    return id;
}

static bool is_empty(const struct meta_tree_reading *reading, uint32_t name)
{
    return !pf_interned(reading->model->tree->strings, name).size;
}

/* ---- modules, files, functions ------------------------------------------------------------------------ */

/* Each list's section begins with u64 array, u32 count, u16 stride. */
static const struct {
    const char *name;
    enum hpc_section section;
    size_t least; /* minimum size of a record in bytes */
} kinds_of_lists[HPC_LISTS] = {[HPC_MODULES] = {"load modules", MODULES, 16},
                               [HPC_FILES] = {"files", FILES, 16},
                               [HPC_FUNCTIONS] = {"functions", FUNCTIONS, 40}};

/* Returns the item at a file offset; NULL if there is none. */
static const struct hpc_item *item_at_pointer(const struct meta_tree_reading *reading, enum hpc_list list,
                                              uint64_t pointer)
{
    const struct hpc_array *array = &reading->lists[list];
    if (!array->count || pointer < array->at || (pointer - array->at) % array->stride)
        return NULL;
    uint64_t i = (pointer - array->at) / array->stride;
    return i < array->count ? &reading->model->lists[list].items[i] : NULL;
}

static uint32_t path_at(const struct meta_tree_reading *reading, enum hpc_list list, uint64_t pointer)
{
    const struct hpc_item *item = item_at_pointer(reading, list, pointer);
    return item ? item->name : PF_NO_STRING;
}

/* Names an unnamed function by its offset in the module, or by its source line. */
static void name_nameless_function(const struct meta_tree_reading *reading, struct hpc_item *function)
{
    struct hpc_context like = {
        .kind = function->module == PF_NO_STRING && function->file != PF_NO_STRING ? HPC_LINE : HPC_FUNCTION,
        .offset = function->offset,
        .module = function->module,
        .file = function->file,
        .line = function->line,
    };
    hpc_name_context(reading->run, reading->model, &like);
    function->name = like.name;
}

/*
 * Reads record i of a list. The record of a function is u64 name, u64 module, u64 offset, u64 file, u32 line, u32 flags.
 * The record of a module or file is u32 flags, padding, u64 path.
 */
static void read_item_record(struct meta_tree_reading *reading, enum hpc_list list, uint64_t i)
{
    const struct hpc_array *array = &reading->lists[list];
    const unsigned char *bytes =
        hpc_meta_record(reading->meta, array->at + i * array->stride, kinds_of_lists[list].least);
    struct hpc_item item = {.id = i, .file = PF_NO_STRING, .module = PF_NO_STRING, .offset = HPC_NO_OFFSET};
    uint64_t name = pf_u64(bytes + (list == HPC_FUNCTIONS ? 0 : 8), false);
    if (list == HPC_FUNCTIONS) {
        item.module = path_at(reading, HPC_MODULES, pf_u64(bytes + 8, false));
        if (item.module != PF_NO_STRING)
            item.offset = pf_u64(bytes + 16, false);
        item.file = path_at(reading, HPC_FILES, pf_u64(bytes + 24, false));
        item.line = pf_u32(bytes + 32, false);
    } else {
        item.copied = list == HPC_FILES && pf_u32(bytes, false) & 1;
    }
    item.name = intern_at(reading, name);
    if (list == HPC_FUNCTIONS && is_empty(reading, item.name))
        name_nameless_function(reading, &item);
    hpc_model_add_item(reading->run, reading->model, list, &item);
}

/* Reads a list of items. An invalid array is treated as empty, with a warning. */
static void read_item_list(struct meta_tree_reading *reading, enum hpc_list list)
{
    struct hpc_meta *meta = reading->meta;
    struct hpc_array *array = &reading->lists[list];
    const struct hpc_extent *section = &meta->sections[kinds_of_lists[list].section];
    const unsigned char *bytes = hpc_meta_record(meta, section->offset, 14);
    if (bytes && section->size >= 14)
        *array =
            (struct hpc_array){pf_u64(bytes, false), pf_u32(bytes + 8, false), pf_u16(bytes + 12, false)};
    if (array->count && (array->stride < kinds_of_lists[list].least ||
                         !hpc_fits(array->at, array->count, array->stride, meta->size))) {
        array->count = 0;
        pf_run_warn(reading->run, "fatal", "beyond-end", 0, section->offset,
                    "meta.db: the table of %s exceeds the file: skipped", kinds_of_lists[list].name);
    }
    for (uint64_t i = 0; i < array->count; i++) {
        if (i % RECORDS_A_STEP == 0)
            pf_run_step(reading->run, array->at + i, meta->size);
        read_item_record(reading, list, i);
    }
}

/* ---- contexts ----------------------------------------------------------------------------------------- */

static void note_context(const struct meta_tree_reading *reading, uint64_t offset, const char *code,
                         const char *text)
{
    pf_run_warn(reading->run, "error", code, 0, offset, "meta.db: %s", text);
}

/* Pushes the children of a context onto the stack of the depth-first walk. */
static void push_children(struct meta_tree_reading *reading, uint64_t at, uint64_t size, uint32_t parent)
{
    const struct hpc_extent *section = &reading->meta->sections[CONTEXTS];
    if (!size)
        return;
    if (at < section->offset || !hpc_fits(at, size, 1, section->offset + section->size)) {
        note_context(reading, at, "children", "children of a context outside their section: skipped");
        return;
    }
    if (size > section->size - reading->walked) {
        note_context(reading, at, "children", "overlapping children of contexts: skipped");
        return;
    }
    reading->walked += size;
    *PF_PUSH(reading->run, reading->levels) = (struct meta_tree_level){at, at + size, parent};
}

/*
 * Reads the optional parts of a context, which `flags` declares: a function, then a file and a line, then a module and an
 * offset. Each of these five takes a word of eight bytes.
 */
static void set_place(const struct meta_tree_reading *reading, struct hpc_context *context,
                      const unsigned char *words, size_t n_words, unsigned flags)
{
    size_t used = 0;
    if (flags & HAS_FUNCTION && used + 1 <= n_words) {
        const struct hpc_item *function =
            item_at_pointer(reading, HPC_FUNCTIONS, pf_u64(words + 8 * used++, false));
        if (function) {
            context->name = function->name;
            context->file = function->file;
            context->line = function->line;
            context->module = function->module;
            context->offset = function->offset;
        }
    }
    if (flags & HAS_PLACE && used + 2 <= n_words) {
        context->file = path_at(reading, HPC_FILES, pf_u64(words + 8 * used, false));
        context->line = pf_u32(words + 8 * used + 8, false);
        used += 2;
    }
    if (flags & HAS_POINT && used + 2 <= n_words) {
        context->module = path_at(reading, HPC_MODULES, pf_u64(words + 8 * used, false));
        context->offset = pf_u64(words + 8 * used + 8, false);
    }
}

/* Returns a name for a context of an unknown type, for example `context of type 9`. Later minor versions may add types. */
static uint32_t name_by_type(const struct meta_tree_reading *reading, const char *what, unsigned type)
{
    char text[40];
    int size = snprintf(text, sizeof text, "%s of type %u", what, type);
    return pf_run_intern(reading->run, reading->model->tree->strings, text, (size_t)size);
}

/*
 * Reads the next context of a level. The fixed part of a context is u64 size and u64 offset of the children, u32 id, u8 flags, u8
 * relation, u8 lexical type, u8 number of words that follow the fixed part, and, except in drafts, u16 propagation.
 */
static void read_context_record(struct meta_tree_reading *reading, struct meta_tree_level *level)
{
    static const enum hpc_kind kinds[] = {HPC_FUNCTION, HPC_LOOP, HPC_LINE, HPC_INSTRUCTION};
    size_t fixed = reading->meta->state->layout == HPC_DRAFT ? DRAFT_CONTEXT_SIZE : CONTEXT_SIZE;
    const unsigned char *bytes = NULL;
    size_t size = fixed;
    uint64_t at = level->at, left = level->end - at;
    uint32_t parent = level->parent;
    level->at = level->end; /* skips the rest of the array if reading fails */
    if (left >= fixed && (bytes = hpc_meta_record(reading->meta, at, fixed)))
        size = fixed + 8 * (size_t)bytes[0x17];
    if (left < size || !(bytes = hpc_meta_record(reading->meta, at, size))) {
        note_context(reading, at, "cut-context",
                     "array of contexts ends inside a context: its rest is skipped");
        return;
    }
    level->at = at + size;
    uint64_t children = pf_u64(bytes + 8, false), children_size = pf_u64(bytes, false);
    unsigned relation = bytes[0x15], type = bytes[0x16];
    struct hpc_context context = {
        .id = pf_u32(bytes + 0x10, false),
        .kind = type < sizeof kinds / sizeof *kinds ? kinds[type] : HPC_OTHER,
        .relation = (uint8_t)(relation + HPC_LEXICAL), /* 255 wraps to HPC_NO_RELATION */
        .flags = relation == 1 || relation == 2 ? PF_FRAME : 0,
        .name = PF_NO_STRING,
        .file = PF_NO_STRING,
        .module = PF_NO_STRING,
        .offset = HPC_NO_OFFSET,
    };
    set_place(reading, &context, bytes + fixed, bytes[0x17], bytes[0x14]);
    if (context.name == PF_NO_STRING && context.kind == HPC_OTHER)
        context.name = name_by_type(reading, "context", type);
    else if (context.name == PF_NO_STRING)
        hpc_name_context(reading->run, reading->model, &context);
    uint32_t i = hpc_model_add(reading->run, reading->model, parent, &context);
    if (i != PF_NO_CONTEXT)
        push_children(reading, children, children_size, i);
    else if (!reading->duplicates) /* the check for duplicate ids also stops cycles of children */
        note_context(reading, at, "context-twice",
                     "duplicate context id: all such contexts are skipped (further ones are not reported)");
    reading->duplicates |= i == PF_NO_CONTEXT;
}

/* Walks the descendants of a context, depth first. */
static void walk_contexts(struct meta_tree_reading *reading, uint64_t at, uint64_t size, uint32_t parent)
{
    push_children(reading, at, size, parent);
    for (uint64_t n = 0; reading->levels.n; n++) {
        struct meta_tree_level *level = &reading->levels.at[reading->levels.n - 1];
        if (n % RECORDS_A_STEP == 0)
            pf_run_step(reading->run, n * CONTEXT_SIZE, reading->meta->size);
        if (level->at >= level->end)
            reading->levels.n--;
        else
            read_context_record(reading, level);
    }
}

/*
 * Reads an entry and its descendants. The record of an entry is u64 size and u64 offset of the children, u32 id, u16 type, padding,
 * u64 name.
 */
static void read_entry_record(struct meta_tree_reading *reading, uint64_t at, uint32_t root)
{
    static const char *const names[] = {"unknown entry", "main thread", "application thread"};
    struct pf_run *run = reading->run;
    const unsigned char *bytes = hpc_meta_record(reading->meta, at, ENTRY_SIZE);
    if (!bytes) {
        note_context(reading, at, "entry", "entry beyond the end of the file: skipped");
        return;
    }
    uint64_t size = pf_u64(bytes, false), children = pf_u64(bytes + 8, false);
    unsigned type = pf_u16(bytes + 0x14, false);
    struct hpc_context context = {
        .id = pf_u32(bytes + 0x10, false),
        .name = intern_at(reading, pf_u64(bytes + 0x18, false)),
        .file = PF_NO_STRING,
        .module = PF_NO_STRING,
        .offset = HPC_NO_OFFSET,
        .kind = HPC_ENTRY,
        .flags = PF_FRAME,
    };
    if (is_empty(reading, context.name))
        context.name = type < sizeof names / sizeof *names ? pf_run_intern(run, reading->model->tree->strings,
                                                                           names[type], strlen(names[type]))
                                                           : name_by_type(reading, "entry", type);
    uint32_t i = hpc_model_add(run, reading->model, root, &context);
    if (i == PF_NO_CONTEXT)
        note_context(reading, at, "context-twice", "duplicate id of an entry: skipped");
    else
        walk_contexts(reading, children, size, i);
}

/*
 * Reads the section of contexts. In the released layout, it is u64 offset of the entries, u16 number of entries, u8
 * stride. In drafts, it is u64 size and u64 offset of the root's children.
 */
static void read_tree(struct meta_tree_reading *reading)
{
    const struct hpc_meta *meta = reading->meta;
    uint64_t offset = meta->sections[CONTEXTS].offset;
    uint32_t root = hpc_model_add_root(reading->run, reading->model, 0);
    const unsigned char *section = hpc_meta_record(reading->meta, offset, 16);
    if (!section || meta->sections[CONTEXTS].size < 16) {
        note_context(reading, offset, "contexts", "no section of contexts: no contexts are read");
        return;
    }
    if (meta->state->layout == HPC_DRAFT) {
        uint64_t size = pf_u64(section, false), children = pf_u64(section + 8, false);
        walk_contexts(reading, children, size, root);
        return;
    }
    uint64_t entries = pf_u64(section, false);
    unsigned count = pf_u16(section + 8, false), stride = section[10];
    if (stride < ENTRY_SIZE) {
        note_context(reading, offset, "contexts", "records of entries are too short: no contexts are read");
        return;
    }
    for (unsigned i = 0; i < count; i++)
        read_entry_record(reading, entries + (uint64_t)i * stride, root);
}

void hpc_meta_contexts(struct pf_run *run, struct hpc_model *model)
{
    struct meta_tree_reading *reading = PF_OWN(run, calloc(1, sizeof *reading), free);
    PF_OWN(run, &reading->names, pf_ids_free);
    reading->run = run;
    reading->model = model;
    reading->meta = hpc_meta_begin(run, true); /* quiet: opening has added these warnings */
    for (int list = 0; list < HPC_LISTS; list++)
        read_item_list(reading, (enum hpc_list)list);
    read_tree(reading);
}
