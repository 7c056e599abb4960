/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/xray/names.h"

/*
 * Which map belongs to a log: nothing in a log names its program, but the runtime calls it
 * xray-log.PROGRAM.XXXXXX. What may be the map is found when the log is opened, at the cost of looking at the
 * first bytes of files beside it; maps are read when names are needed.
 */

#define LOG_PREFIX "xray-log."

/* Entries of a folder that are gone through, and files that are looked into, before the search is given up. */
enum { ENTRIES_MAX = 4096, CANDIDATES_MAX = 64 };

enum kind { NO_MAP, ELF_MAP, YAML_MAP };

/* ---- one file ----------------------------------------------------------------------------------- */

/* What cannot be read is passed over, but for want of memory and for passes that nobody waits for. */
static bool is_final(const struct pf_error *error)
{
    return error->code == ENOMEM || error->code == ECANCELED;
}

static int kind_of(struct pf_input *input, enum kind *kind, struct pf_error *error)
{
    bool elf = false, yaml = false;
    if (xray_elf_has_map(input, &elf, error) || (!elf && xray_yaml_is_map(input, &yaml, error)))
        return -1;
    *kind = elf ? ELF_MAP : yaml ? YAML_MAP : NO_MAP;
    return 0;
}

static int read_kind(struct xray_names *names, enum kind kind, struct pf_input *input, struct pf_pass *pass,
                     struct pf_error *error)
{
    switch (kind) {
    case ELF_MAP:
        return xray_elf_map_read(names, input, pass, error);
    case YAML_MAP:
        return xray_yaml_map_read(names, input, pass, error);
    case NO_MAP:
        break;
    }
    return 0;
}

/* Reads an open file if it is a map. What is wrong with it is noted in *names. */
static int read_input(struct xray_names *names, enum kind *kind, struct pf_input *input, struct pf_pass *pass,
                      struct pf_error *error)
{
    if (kind_of(input, kind, error) || read_kind(names, *kind, input, pass, error) ||
        pf_input_done(input, error)) {
        if (is_final(error))
            return -1;
        xray_names_problem(names, 0, "%s", error->what);
    }
    xray_names_finish(names);
    return 0;
}

static int set_map(struct xray_names *names, const char *name, struct pf_error *error)
{
    names->map = strdup(name);
    return names->map ? 0 : pf_fail_memory(error);
}

/* Reads a map beside the log; *names stays as it is if the file is no map. */
static int read_beside(struct pf_source *source, const char *name, struct xray_names *names,
                       struct pf_pass *pass, struct pf_error *error)
{
    struct pf_input *input;
    enum kind kind = NO_MAP;
    if (pf_source_open(source, name, &input, error))
        return is_final(error) ? -1 : 0;
    if (read_input(names, &kind, input, pass, error))
        return -1;
    return kind == NO_MAP ? 0 : set_map(names, name, error);
}

/* Keeps the one that names more functions; of equals the first. Frees the other. */
static void keep_richer(struct xray_names *names, struct xray_names *other)
{
    if (other->map && (!names->map || other->named > names->named)) {
        struct xray_names poorer = *names;
        *names = *other;
        *other = poorer;
    }
    xray_names_free(other);
}

/* ---- by the log's name -------------------------------------------------------------------------- */

/* The program in `xray-log.PROGRAM.XXXXXX`, or NULL with *error filled; empty if the log is called otherwise.
 * Owned by the caller. */
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

/* Takes a file if it is a map. It is an input either way: it may become one. */
static int try_name(struct xray_maps *maps, struct pf_source *source, const char *name,
                    struct pf_error *error)
{
    struct pf_input *input;
    enum kind kind = NO_MAP;
    if (pf_source_open(source, name, &input, error) || kind_of(input, &kind, error) ||
        pf_input_done(input, error))
        return is_final(error) ? -1 : 0;
    return kind == NO_MAP ? 0 : add_file(maps, name, error);
}

static int find_by_name(struct xray_maps *maps, struct pf_source *source, const char *program,
                        struct pf_error *error)
{
    static const char *const endings[XRAY_MAPS_MAX] = {"", ".yaml", ".yml", ".instr_map", ".instr_map.yaml"};
    for (size_t i = 0; i < XRAY_MAPS_MAX; i++) {
        char *name;
        if (asprintf(&name, "%s%s", program, endings[i]) < 0)
            return pf_fail_memory(error);
        int failed = try_name(maps, source, name, error);
        free(name);
        if (failed)
            return -1;
    }
    return 0;
}

/* ---- the only one ------------------------------------------------------------------------------- */

struct folder {
    const char *log;
    char *files[CANDIDATES_MAX]; /* owned */
    size_t n_files, n_entries;
    bool too_many, no_memory;
};

bool xray_name_matters(const char *name)
{
    /* What profiles and their companions are called; neither programs nor maps are. */
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
    folder->too_many = ++folder->n_entries > ENTRIES_MAX; /* of those that matter */
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

/* The kind of a file beside the log; NO_MAP also if there is none. */
static int look_at(struct pf_source *source, const char *name, enum kind *kind, struct pf_error *error)
{
    struct pf_input *input;
    *kind = NO_MAP;
    int failed = pf_source_peek(source, name, &input, error) || kind_of(input, kind, error);
    pf_input_free(input);
    return failed && is_final(error) ? -1 : 0;
}

/* The one map of each kind. None at all where a kind has several: nothing tells them apart. */
static int find_only(struct xray_maps *maps, struct pf_source *source, const struct folder *folder,
                     struct pf_error *error)
{
    size_t found[3] = {0};
    const char *only[3] = {NULL};
    for (size_t i = 0; i < folder->n_files; i++) {
        enum kind kind;
        if (look_at(source, folder->files[i], &kind, error))
            return -1;
        if (kind != NO_MAP && ++found[kind] == 1)
            only[kind] = folder->files[i];
    }
    if (found[ELF_MAP] > 1 || found[YAML_MAP] > 1)
        return 0;
    maps->only = true;
    return (only[ELF_MAP] && add_file(maps, only[ELF_MAP], error)) ||
                   (only[YAML_MAP] && add_file(maps, only[YAML_MAP], error))
               ? -1
               : 0;
}

static int find_in_folder(struct xray_maps *maps, struct pf_source *source, struct pf_error *error)
{
    struct folder folder = {.log = pf_source_name(source)};
    int result = pf_source_list(source, collect, &folder, error);
    if (result && !is_final(error))
        result = 0;
    else if (!result && folder.no_memory)
        result = pf_fail_memory(error);
    else if (!result && !folder.too_many)
        result = find_only(maps, source, &folder, error);
    for (size_t i = 0; i < folder.n_files; i++)
        free(folder.files[i]);
    return result;
}

int xray_maps_find(struct xray_maps *maps, struct pf_profile *profile, struct pf_error *error)
{
    struct pf_source *source = profile->source;
    if (profile->options->instr_map)
        return add_file(maps, profile->options->instr_map, error);
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

/* A program and a map in YAML that agree in their functions are one map in two forms. */
static bool same_functions(const struct xray_names *a, const struct xray_names *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].id != b->items[i].id || a->items[i].address != b->items[i].address)
            return false;
    return true;
}

/* Reads all maps and keeps the one that names most functions; none, if two are to be one map but differ. */
static int read_maps(const struct xray_maps *maps, struct pf_source *source, struct xray_names *names,
                     struct pf_pass *pass, struct pf_error *error)
{
    for (size_t i = 0; i < maps->count; i++) {
        struct xray_names other = {0};
        if (read_beside(source, maps->files[i], &other, pass, error)) {
            xray_names_free(&other);
            return -1;
        }
        if (maps->only && names->map && other.map && !same_functions(names, &other)) {
            xray_names_free(names);
            xray_names_free(&other);
            return 0;
        }
        keep_richer(names, &other);
    }
    return 0;
}

static int read_option(struct pf_source *source, const char *path, struct xray_names *names,
                       struct pf_pass *pass, struct pf_error *error)
{
    struct pf_input *input;
    enum kind kind = NO_MAP;
    if (set_map(names, path, error))
        return -1;
    if (pf_source_open_path(source, path, &input, error)) {
        xray_names_problem(names, 0, "%s", error->what);
        return is_final(error) ? -1 : 0;
    }
    if (read_input(names, &kind, input, pass, error))
        return -1;
    if (kind == NO_MAP)
        xray_names_problem(names, 0, "neither a program with a section xray_instr_map nor a map in YAML");
    return 0;
}

int xray_names_load(struct xray_names *names, const struct xray_maps *maps, struct pf_profile *profile,
                    struct pf_pass *pass, struct pf_error *error)
{
    const char *option = profile->options->instr_map;
    return option ? read_option(profile->source, option, names, pass, error)
                  : read_maps(maps, profile->source, names, pass, error);
}
