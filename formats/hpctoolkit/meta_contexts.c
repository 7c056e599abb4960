/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"

#include "formats/hpctoolkit/meta.h"
#include "formats/hpctoolkit/read.h"

/* Flags of a context: what follows its fixed part, in this order. */
enum { HAS_FUNCTION = 1, HAS_PLACE = 2, HAS_POINT = 4 };

/* Of entries and contexts, in bytes; the strides of entries are in the file. */
enum { ENTRY_SIZE = 32, CONTEXT_SIZE = 0x20, DRAFT_CONTEXT_SIZE = 0x18, CONTEXT_MAX = 0x20 + 8 * 255 };

/* How often to look whether somebody still waits. */
enum { CONTEXTS_A_STEP = 8192 };

/* An array of records, as a section begins: u64 offset, u32 count, u16 stride. */
struct array {
    uint64_t at;
    uint32_t count;
    uint16_t stride;
};

/* A children array that is being walked, and whose they are. */
struct level {
    uint64_t at, end;
    uint32_t parent;
};

struct reading {
    struct hpc_meta *meta;
    struct hpc_model *model;
    struct pf_pass *pass;
    struct array modules, files, functions;
    struct level *levels; /* the path to where the walk is */
    size_t depth, room;
    uint64_t
        walked; /* bytes of all children arrays so far: they do not overlap, so no more than the section has */
    uint32_t duplicates; /* contexts whose id was taken */
};

static struct pf_strings *strings_of(const struct reading *reading)
{
    return reading->model->tree->strings;
}

/* ---- modules, files, functions ------------------------------------------------------------------------ */

/* The array of a section; empty, with a note, if it cannot be. */
static int read_array(struct reading *reading, enum hpc_section section, const char *what, size_t least,
                      struct array *array, struct pf_error *error)
{
    struct hpc_meta *meta = reading->meta;
    const unsigned char *bytes = hpc_meta_record(meta, meta->sections[section].offset, 14, error);
    *array = (struct array){0};
    if (!bytes && error->code)
        return -1;
    if (bytes && meta->sections[section].size >= 14)
        *array = (struct array){pf_u64(bytes, false), pf_u32(bytes + 8, false), pf_u16(bytes + 12, false)};
    if (!array->count ||
        (array->stride >= least && hpc_fits(array->at, array->count, array->stride, meta->size)))
        return 0;
    *array = (struct array){0};
    return hpc_note(meta->notes, HPC_NOTE_FATAL_BEYOND_END, 0, (int64_t)meta->sections[section].offset,
                    "meta.db: the %s do not fit into the file; none is read", what);
}

/* The index of the record that a pointer leads to, or HPC_NO_NUMBER. */
static uint32_t index_of(const struct array *array, uint64_t pointer)
{
    if (!array->count || pointer < array->at || (pointer - array->at) % array->stride)
        return HPC_NO_NUMBER;
    uint64_t i = (pointer - array->at) / array->stride;
    return i < array->count ? (uint32_t)i : HPC_NO_NUMBER;
}

/* Record: u32 flags, padding, u64 path. */
static int read_places(struct reading *reading, const struct array *array, bool copied,
                       struct hpc_places *places, struct pf_error *error)
{
    for (uint32_t i = 0; i < array->count; i++) {
        uint64_t at = array->at + (uint64_t)i * array->stride;
        const unsigned char *bytes = hpc_meta_record(reading->meta, at, 16, error);
        if (!bytes ||
            (i % CONTEXTS_A_STEP == 0 && pf_pass_step(reading->pass, at, reading->meta->size, error)))
            return -1;
        struct hpc_place place = {.id = i, .copied = copied && pf_u32(bytes, false) & 1};
        place.path = hpc_meta_intern(reading->meta, pf_u64(bytes + 8, false), strings_of(reading), error);
        if (place.path == PF_NO_STRING || hpc_add_place(places, &place, error))
            return -1;
    }
    return 0;
}

static uint32_t path_at(const struct array *array, const struct hpc_places *places, uint64_t pointer)
{
    uint32_t i = index_of(array, pointer);
    return i == HPC_NO_NUMBER ? PF_NO_STRING : places->items[i].path;
}

/* A function without a name is called after its place in the module, or in the source. */
static int name_function(struct reading *reading, struct hpc_function *function, struct pf_error *error)
{
    struct hpc_context like = {
        .kind = function->module == PF_NO_STRING && function->file != PF_NO_STRING ? HPC_LINE : HPC_FUNCTION,
        .offset = function->offset,
        .module = function->module,
        .file = function->file,
        .line = function->line,
    };
    if (hpc_name_context(reading->model, &like, error))
        return -1;
    function->name = like.name;
    return 0;
}

/* Record: u64 name, u64 module, u64 offset, u64 file, u32 line, u32 flags. */
static int read_function(struct reading *reading, uint32_t i, struct pf_error *error)
{
    struct hpc_model *model = reading->model;
    uint64_t at = reading->functions.at + (uint64_t)i * reading->functions.stride;
    const unsigned char *bytes = hpc_meta_record(reading->meta, at, 40, error);
    if (!bytes)
        return -1;
    struct hpc_function function = {
        .id = i,
        .module = path_at(&reading->modules, &model->modules, pf_u64(bytes + 8, false)),
        .offset = pf_u64(bytes + 16, false),
        .file = path_at(&reading->files, &model->files, pf_u64(bytes + 24, false)),
        .line = pf_u32(bytes + 32, false),
    };
    if (function.module == PF_NO_STRING)
        function.offset = HPC_NO_OFFSET;
    function.name = hpc_meta_intern(reading->meta, pf_u64(bytes, false), strings_of(reading), error);
    if (function.name == PF_NO_STRING ||
        (!pf_interned(strings_of(reading), function.name).size && name_function(reading, &function, error)))
        return -1;
    return hpc_add_function(&model->functions, &function, error);
}

static int read_functions(struct reading *reading, struct pf_error *error)
{
    for (uint32_t i = 0; i < reading->functions.count; i++) {
        if (i % CONTEXTS_A_STEP == 0 &&
            pf_pass_step(reading->pass, reading->functions.at + i, reading->meta->size, error))
            return -1;
        if (read_function(reading, i, error))
            return -1;
    }
    return 0;
}

static int read_lists(struct reading *reading, struct pf_error *error)
{
    if (read_array(reading, HPC_MODULES, "load modules", 16, &reading->modules, error) ||
        read_array(reading, HPC_FILES, "files", 16, &reading->files, error) ||
        read_array(reading, HPC_FUNCTIONS, "functions", 40, &reading->functions, error))
        return -1;
    if (read_places(reading, &reading->modules, false, &reading->model->modules, error) ||
        read_places(reading, &reading->files, true, &reading->model->files, error))
        return -1;
    return read_functions(reading, error);
}

/* ---- contexts ----------------------------------------------------------------------------------------- */

static int note(struct reading *reading, uint64_t offset, enum hpc_note_kind kind, const char *text)
{
    return hpc_note(reading->meta->notes, kind, 0, (int64_t)offset, "meta.db: %s", text);
}

/* Goes down to the children of a context. The levels are what the walk would have on a stack if it recursed. */
static int descend(struct reading *reading, uint64_t at, uint64_t size, uint32_t parent,
                   struct pf_error *error)
{
    const struct hpc_extent *section = &reading->meta->sections[HPC_CONTEXTS];
    if (!size)
        return 0;
    if (at < section->offset || !hpc_fits(at, size, 1, section->offset + section->size))
        return note(reading, at, HPC_NOTE_ERROR_CHILDREN, "children of a context lie outside their section");
    if (size > section->size - reading->walked)
        return note(reading, at, HPC_NOTE_ERROR_CHILDREN, "children of contexts overlap; these are left out");
    reading->walked += size;
    if (pf_array_room(&reading->levels, &reading->room, reading->depth, sizeof *reading->levels, error))
        return -1;
    reading->levels[reading->depth++] = (struct level){at, at + size, parent};
    return 0;
}

static enum hpc_kind kind_of(unsigned lexical_type)
{
    static const enum hpc_kind kinds[] = {HPC_FUNCTION, HPC_LOOP, HPC_LINE, HPC_INSTRUCTION};
    return lexical_type < sizeof kinds / sizeof *kinds ? kinds[lexical_type] : HPC_OTHER;
}

/* Behind the fixed part, as the flags say: a function; a file and line (half a word each, the other half unused); a module and offset. */
static void set_place(const struct reading *reading, struct hpc_context *context, const unsigned char *words,
                      size_t n_words, unsigned flags)
{
    const struct hpc_model *model = reading->model;
    size_t used = 0;
    if (flags & HAS_FUNCTION && used + 1 <= n_words) {
        uint32_t i = index_of(&reading->functions, pf_u64(words + 8 * used++, false));
        if (i != HPC_NO_NUMBER) {
            const struct hpc_function *function = &model->functions.items[i];
            context->name = function->name;
            context->file = function->file;
            context->line = function->line;
            context->module = function->module;
            context->offset = function->offset;
        }
    }
    if (flags & HAS_PLACE && used + 2 <= n_words) {
        context->file = path_at(&reading->files, &model->files, pf_u64(words + 8 * used, false));
        context->line = pf_u32(words + 8 * used + 8, false);
        used += 2;
    }
    if (flags & HAS_POINT && used + 2 <= n_words) {
        context->module = path_at(&reading->modules, &model->modules, pf_u64(words + 8 * used, false));
        context->offset = pf_u64(words + 8 * used + 8, false);
    }
}

/* `context of type 9`: of a type that later minor versions may have. */
static int name_by_type(struct reading *reading, const char *what, unsigned type, uint32_t *name,
                        struct pf_error *error)
{
    char text[40];
    int size = snprintf(text, sizeof text, "%s of type %u", what, type);
    *name = pf_intern(strings_of(reading), text, (size_t)size, error);
    return *name == PF_NO_STRING ? -1 : 0;
}

/*
 * Fixed part: u64 size and u64 offset of the children, u32 id, u8 flags, u8 relation, u8 lexical type, u8 number of
 * words behind it, u16 propagation (not in drafts).
 */
static int read_context(struct reading *reading, struct level *level, struct pf_error *error)
{
    size_t fixed = reading->meta->state->layout == HPC_DRAFT ? DRAFT_CONTEXT_SIZE : CONTEXT_SIZE;
    const unsigned char *bytes = NULL;
    size_t size = fixed;
    uint64_t at = level->at, left = level->end - at;
    uint32_t parent = level->parent;
    level->at = level->end; /* in case it can't be read */
    if (left >= fixed && (bytes = hpc_meta_record(reading->meta, at, fixed, error)))
        size = fixed + 8 * (size_t)bytes[0x17];
    if (bytes && size <= left)
        bytes = hpc_meta_record(reading->meta, at, size, error);
    if (left < size || !bytes)
        return bytes || left < size ? note(reading, at, HPC_NOTE_ERROR_CUT_CONTEXT,
                                           "an array of contexts ends inside this one")
                                    : -1;
    level->at = at + size;
    uint64_t children = pf_u64(bytes + 8, false), children_size = pf_u64(bytes, false);
    unsigned relation = bytes[0x15];
    struct hpc_context context = {
        .id = pf_u32(bytes + 0x10, false),
        .kind = kind_of(bytes[0x16]),
        .relation = (uint8_t)(relation + HPC_LEXICAL), /* 255 becomes HPC_NO_RELATION */
        .flags = relation == 1 || relation == 2 ? PF_FRAME : 0,
        .name = PF_NO_STRING,
        .file = PF_NO_STRING,
        .module = PF_NO_STRING,
        .offset = HPC_NO_OFFSET,
    };
    set_place(reading, &context, bytes + fixed, bytes[0x17], bytes[0x14]);
    if (context.kind == HPC_OTHER && context.name == PF_NO_STRING &&
        name_by_type(reading, "context", bytes[0x16], &context.name, error))
        return -1;
    if (context.name == PF_NO_STRING && hpc_name_context(reading->model, &context, error))
        return -1;
    uint32_t i = hpc_model_add(reading->model, parent, &context, error);
    if (i != PF_NO_CONTEXT)
        return descend(reading, children, children_size, i, error);
    if (error->code)
        return -1;
    /* Also what keeps a cycle of children from being walked for ever. */
    return reading->duplicates++ ? 0
                                 : note(reading, at, HPC_NOTE_ERROR_CONTEXT_TWICE,
                                        "a context's id is taken; it and what else is like it are left out");
}

/* Walks what hangs below the level that was entered last, depth first. */
static int walk(struct reading *reading, struct pf_error *error)
{
    for (uint64_t n = 0; reading->depth; n++) {
        if (n % CONTEXTS_A_STEP == 0 &&
            pf_pass_step(reading->pass, n * CONTEXT_SIZE, reading->meta->size, error))
            return -1;
        struct level *level = &reading->levels[reading->depth - 1];
        if (level->at >= level->end)
            reading->depth--;
        else if (read_context(reading, level, error))
            return -1;
    }
    return 0;
}

/* An entry that the database gives no name. */
static int name_entry(struct reading *reading, unsigned type, uint32_t *name, struct pf_error *error)
{
    static const char *const names[] = {"unknown entry", "main thread", "application thread"};
    if (type >= sizeof names / sizeof *names)
        return name_by_type(reading, "entry", type, name, error);
    *name = pf_intern(strings_of(reading), names[type], strlen(names[type]), error);
    return *name == PF_NO_STRING ? -1 : 0;
}

/* Entry: u64 size and u64 offset of the children, u32 id, u16 kind, padding, u64 name. */
static int read_entry(struct reading *reading, uint64_t at, uint32_t root, struct pf_error *error)
{
    const unsigned char *bytes = hpc_meta_record(reading->meta, at, ENTRY_SIZE, error);
    if (!bytes)
        return error->code
                   ? -1
                   : note(reading, at, HPC_NOTE_ERROR_ENTRY, "an entry lies beyond the end of the file");
    uint64_t size = pf_u64(bytes, false), children = pf_u64(bytes + 8, false);
    unsigned type = pf_u16(bytes + 0x14, false);
    struct hpc_context context = {
        .id = pf_u32(bytes + 0x10, false),
        .name = hpc_meta_intern(reading->meta, pf_u64(bytes + 0x18, false), strings_of(reading), error),
        .file = PF_NO_STRING,
        .module = PF_NO_STRING,
        .offset = HPC_NO_OFFSET,
        .kind = HPC_ENTRY,
        .flags = PF_FRAME,
    };
    if (context.name == PF_NO_STRING || (!pf_interned(strings_of(reading), context.name).size &&
                                         name_entry(reading, type, &context.name, error)))
        return -1;
    uint32_t i = hpc_model_add(reading->model, root, &context, error);
    if (i == PF_NO_CONTEXT)
        return error->code ? -1
                           : note(reading, at, HPC_NOTE_ERROR_CONTEXT_TWICE,
                                  "an entry's id is taken; it is left out");
    return descend(reading, children, size, i, error) || walk(reading, error) ? -1 : 0;
}

/* Section: u64 entries, u16 their number, u8 their stride; of drafts: u64 size and u64 offset of the root's children. */
static int read_tree(struct reading *reading, struct pf_error *error)
{
    struct hpc_meta *meta = reading->meta;
    uint32_t root = hpc_model_add_root(reading->model, 0, error);
    if (root == PF_NO_CONTEXT)
        return -1;
    uint64_t offset = meta->sections[HPC_CONTEXTS].offset;
    const unsigned char *section = hpc_meta_record(meta, offset, 16, error);
    if (!section || meta->sections[HPC_CONTEXTS].size < 16)
        return error->code
                   ? -1
                   : note(reading, offset, HPC_NOTE_ERROR_CONTEXTS, "there is no section of contexts");
    uint64_t entries = pf_u64(section, false);
    if (meta->state->layout == HPC_DRAFT)
        return descend(reading, pf_u64(section + 8, false), entries, root, error) || walk(reading, error) ? -1
                                                                                                          : 0;
    unsigned count = pf_u16(section + 8, false), stride = section[10];
    if (stride < ENTRY_SIZE)
        return note(reading, offset, HPC_NOTE_ERROR_CONTEXTS,
                    "the records of entries are too short; no context is read");
    for (unsigned i = 0; i < count; i++) {
        uint64_t at;
        if (__builtin_add_overflow(entries, (uint64_t)i * stride, &at))
            return note(reading, offset, HPC_NOTE_ERROR_ENTRY, "the entries lie beyond the end of the file");
        if (read_entry(reading, at, root, error))
            return -1;
    }
    return 0;
}

int hpc_meta_contexts(struct hpc_state *state, struct hpc_model *model, struct pf_notes *notes,
                      struct pf_pass *pass, struct pf_error *error)
{
    struct hpc_meta meta;
    struct reading reading = {.meta = &meta, .model = model, .pass = pass};
    struct pf_notes again = {0}; /* what was noted when the profile was opened */
    int failed = hpc_meta_begin(&meta, state, &again, error);
    meta.notes = notes;
    failed = failed || read_lists(&reading, error) || read_tree(&reading, error);
    free(reading.levels);
    hpc_meta_end(&meta);
    pf_notes_free(&again);
    return failed ? -1 : 0;
}
