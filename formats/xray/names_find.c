/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/xray/names.h"

/*
 * Finds the map that belongs to a log. A log does not name its program, but the runtime names the log
 * xray-log.PROGRAM.XXXXXX. Opening a log searches for maps, and reads the first bytes of files next to the log. The maps
 * are read when names are needed.
 */

#define LOG_PREFIX "xray-log."

/* Limits of the search: maximum number of names of the folder that are considered, and of files that are opened. */
enum { ENTRIES_MAX = 4096, CANDIDATES_MAX = 64 };

/* The kinds of files that contain a map. */
static const struct kind {
    int (*is)(struct pf_input *input, bool *is, struct pf_error *error);
    int (*read)(struct xray_names *names, struct pf_input *input, struct pf_error *error);
} kinds[] = {{xray_elf_has_map, xray_elf_map_read}, {xray_yaml_is_map, xray_yaml_map_read}};

enum { KINDS = sizeof kinds / sizeof *kinds }; /* as a kind, KINDS means that the file is not a map */

/* ---- one map ------------------------------------------------------------------------------------ */

static int map_kind_of(struct pf_input *input, size_t *kind, struct pf_error *error)
{
    bool is = false;
    *kind = KINDS;
    for (size_t i = 0; i < KINDS && !is; i++) {
        if (kinds[i].is(input, &is, error))
            return -1;
        *kind = is ? i : KINDS;
    }
    return 0;
}

/*
 * Reads a map, which the user specified if `option` is set. Records problems of the file in *names. Returns 0, or -1 with
 * *error filled if memory runs out or an error is transient, since such an error is not a problem of the file.
 */
static int read_map_file(struct xray_names *names, struct pf_source *source, const char *name, bool option,
                         struct pf_error *error)
{
    struct pf_input *input;
    size_t kind = KINDS;
    int failed = pf_source_open(source, name, option ? PF_PATH : PF_RAW, &input, error);
    if (!failed)
        failed = map_kind_of(input, &kind, error) ||
                 (kind < KINDS && kinds[kind].read(names, input, error)) || pf_input_done(input, error);
    if (failed && pf_is_transient(error->code))
        return -1;
    if (kind == KINDS && !option)
        return 0;
    if (failed)
        xray_names_problem(names, 0, "%s", error->what);
    else if (kind == KINDS)
        xray_names_problem(names, 0, "neither a program with a section xray_instr_map nor a map in YAML");
    xray_names_finish(names);
    names->map = strdup(name);
    return names->map ? 0 : pf_fail_memory(error);
}

/* ---- maps named like the program ---------------------------------------------------------------- */

/*
 * Returns PROGRAM if the log is called `xray-log.PROGRAM.XXXXXX`, otherwise an empty text; NULL with *error filled. The
 * caller frees it.
 */
static char *program_of(const char *log, struct pf_error *error)
{
    size_t prefix = strlen(LOG_PREFIX);
    const char *program = "", *end = program;
    if (!strncmp(log, LOG_PREFIX, prefix)) {
        program = log + prefix;
        end = strrchr(program, '.');
        end = end ? end : program + strlen(program);
    }
    char *copy = strndup(program, (size_t)(end - program));
    if (!copy)
        pf_fail_memory(error);
    return copy;
}

static int add_file(struct xray_maps *maps, const char *name, struct pf_error *error)
{
    maps->files[maps->count] = strdup(name);
    return maps->files[maps->count++] ? 0 : pf_fail_memory(error);
}

/*
 * Sets *kind to the kind of a file next to the log, or to KINDS if it is not a map or does not exist. If `recorded` is set,
 * the file becomes an input of the profile in any case, since even a missing one may become a map later.
 */
static int examine_map(struct pf_source *source, const char *name, bool recorded, size_t *kind,
                       struct pf_error *error)
{
    struct pf_input *input = NULL;
    *kind = KINDS;
    int failed = pf_source_open(source, name, recorded ? PF_RAW : PF_PEEK, &input, error) ||
                 map_kind_of(input, kind, error) || (recorded && pf_input_done(input, error));
    if (!recorded)
        pf_input_free(input);
    if (failed)
        *kind = KINDS;
    return failed && pf_is_transient(error->code) ? -1 : 0;
}

static int find_by_name(struct xray_maps *maps, struct pf_source *source, const char *program,
                        struct pf_error *error)
{
    static const char *const endings[XRAY_MAPS_MAX] = {"", ".yaml", ".yml", ".instr_map", ".instr_map.yaml"};
    for (size_t i = 0; i < XRAY_MAPS_MAX; i++) {
        char *name;
        size_t kind;
        if (asprintf(&name, "%s%s", program, endings[i]) < 0)
            return pf_fail_memory(error);
        int failed =
            examine_map(source, name, true, &kind, error) || (kind < KINDS && add_file(maps, name, error));
        free(name);
        if (failed)
            return -1;
    }
    return 0;
}

/* ---- the only maps in the folder ---------------------------------------------------------------- */

struct folder {
    const char *log;
    char *files[CANDIDATES_MAX]; /* owned */
    size_t n_files, n_entries;
    bool too_many, no_memory;
};

bool xray_name_matters(const char *name)
{
    /* Endings of profiles and their companions, which are neither programs nor maps. */
    static const char *const others[] = {".xray", ".fdr",  ".log",   ".prof", ".trace", ".txt",
                                         ".csv",  ".json", ".jsonl", ".perf", ".md",    ".sqlite",
                                         ".html", ".gz",   ".xz",    ".zst",  ".tar",   ".cubex"};
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending && i < sizeof others / sizeof *others; i++)
        if (!strcmp(ending, others[i]))
            return false;
    return strncmp(name, LOG_PREFIX, strlen(LOG_PREFIX)) != 0;
}

/* Collects files that may be maps. */
static int collect(void *arg, const char *name, unsigned char type)
{
    struct folder *folder = arg;
    folder->too_many = ++folder->n_entries > ENTRIES_MAX; /* counts names that matter */
    if (folder->too_many)
        return 1;
    if ((type != DT_REG && type != DT_UNKNOWN) || !strcmp(name, folder->log))
        return 0;
    folder->too_many = folder->n_files == CANDIDATES_MAX;
    if (folder->too_many)
        return 1;
    folder->files[folder->n_files] = strdup(name);
    folder->no_memory = !folder->files[folder->n_files++];
    return folder->no_memory;
}

/* Finds the only map of each kind. If a kind has several, finds no map at all, since nothing identifies the right one. */
static int find_only_maps(struct xray_maps *maps, struct pf_source *source, const struct folder *folder,
                          struct pf_error *error)
{
    const char *only[KINDS] = {NULL};
    for (size_t i = 0; i < folder->n_files; i++) {
        size_t kind;
        if (examine_map(source, folder->files[i], false, &kind, error))
            return -1;
        if (kind < KINDS && only[kind])
            return 0;
        if (kind < KINDS)
            only[kind] = folder->files[i];
    }
    maps->only = true;
    for (size_t i = 0; i < KINDS; i++)
        if (only[i] && add_file(maps, only[i], error))
            return -1;
    return 0;
}

static int find_in_folder(struct xray_maps *maps, struct pf_source *source, struct pf_error *error)
{
    struct folder folder = {.log = pf_source_name(source)};
    int result = pf_source_list(source, collect, &folder, error);
    if (result && !pf_is_transient(error->code))
        result = 0;
    else if (!result && folder.no_memory)
        result = pf_fail_memory(error);
    else if (!result && !folder.too_many)
        result = find_only_maps(maps, source, &folder, error);
    for (size_t i = 0; i < folder.n_files; i++)
        free(folder.files[i]);
    return result;
}

int xray_maps_find(struct xray_maps *maps, struct pf_model *model, struct pf_error *error)
{
    struct pf_source *source = model->source;
    if (model->options->instr_map)
        return add_file(maps, model->options->instr_map, error);
    char *program = program_of(pf_source_name(source), error);
    if (!program)
        return -1;
    int failed = *program ? find_by_name(maps, source, program, error) : 0;
    free(program);
    return failed || maps->count ? failed : find_in_folder(maps, source, error);
}

void xray_maps_free(struct xray_maps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        free(maps->files[i]);
    *maps = (struct xray_maps){0};
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* Returns true if two maps have the same functions. A program and a YAML map are then forms of one map. */
static bool same_functions(const struct xray_names *a, const struct xray_names *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].id != b->items[i].id || a->items[i].address != b->items[i].address)
            return false;
    return true;
}

/* If two maps must be forms of one map (maps->only) but differ, keeps neither. Otherwise keeps the one that names more functions. */
int xray_names_load(struct xray_names *names, const struct xray_maps *maps, struct pf_model *model,
                    struct pf_error *error)
{
    for (size_t i = 0; i < maps->count; i++) {
        struct xray_names other = {0};
        bool option = model->options->instr_map;
        int failed = read_map_file(&other, model->source, maps->files[i], option, error);
        bool differ = !failed && maps->only && names->map && other.map && !same_functions(names, &other);
        if (!failed && !differ && other.map && (!names->map || other.named > names->named)) {
            struct xray_names poorer = *names;
            *names = other;
            other = poorer;
        }
        xray_names_free(&other);
        if (failed || differ) {
            xray_names_free(names);
            return failed;
        }
    }
    return 0;
}
