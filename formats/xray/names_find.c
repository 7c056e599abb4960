/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/xray/elf_map.h"
#include "formats/xray/names.h"
#include "formats/xray/yaml_map.h"

/*
 * Which map belongs to a log: nothing in a log names its program, but the runtime calls it
 * xray-log.PROGRAM.XXXXXX.
 */

#define LOG_PREFIX "xray-log."

/* Entries of a folder that are gone through, and files that are looked into, before the search is given up. */
enum { ENTRIES_MAX = 4096, CANDIDATES_MAX = 64 };

enum kind { NO_MAP, ELF_MAP, YAML_MAP };

struct search {
    struct pf_source *source;
    struct pf_pass *pass;
};

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

/* The kind of a file beside the log; NO_MAP also if there is none. */
static int look_at(const struct search *search, const char *name, enum kind *kind, struct pf_error *error)
{
    struct pf_input *input;
    *kind = NO_MAP;
    int failed = pf_source_peek(search->source, name, &input, error) || kind_of(input, kind, error);
    pf_input_free(input);
    return failed && is_final(error) ? -1 : 0;
}

/* Reads a map beside the log; *names stays as it is if the file is no map. */
static int read_beside(const struct search *search, const char *name, struct xray_names *names,
                       struct pf_error *error)
{
    struct pf_input *input;
    enum kind kind = NO_MAP;
    if (pf_source_open(search->source, name, &input, error))
        return is_final(error) ? -1 : 0;
    if (read_input(names, &kind, input, search->pass, error))
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

static int find_by_name(const struct search *search, const char *program, struct xray_names *names,
                        struct pf_error *error)
{
    static const char *const endings[] = {"", ".yaml", ".yml", ".instr_map", ".instr_map.yaml"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        struct xray_names other = {0};
        char *name;
        if (asprintf(&name, "%s%s", program, endings[i]) < 0)
            return pf_fail_memory(error);
        int failed = read_beside(search, name, &other, error);
        free(name);
        if (failed) {
            xray_names_free(&other);
            return -1;
        }
        keep_richer(names, &other);
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

/* The one map of each kind, by enum kind. None at all where a kind has several: nothing tells them apart. */
static int find_only(const struct search *search, const struct folder *folder, const char *only[3],
                     struct pf_error *error)
{
    size_t found[3] = {0};
    for (size_t i = 0; i < folder->n_files; i++) {
        enum kind kind;
        if (look_at(search, folder->files[i], &kind, error))
            return -1;
        if (kind != NO_MAP && ++found[kind] == 1)
            only[kind] = folder->files[i];
    }
    if (found[ELF_MAP] > 1 || found[YAML_MAP] > 1)
        only[ELF_MAP] = only[YAML_MAP] = NULL;
    return 0;
}

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

static int read_only(const struct search *search, const struct folder *folder, struct xray_names *names,
                     struct pf_error *error)
{
    const char *only[3] = {NULL};
    struct xray_names yaml = {0};
    if (find_only(search, folder, only, error) ||
        (only[ELF_MAP] && read_beside(search, only[ELF_MAP], names, error)) ||
        (only[YAML_MAP] && read_beside(search, only[YAML_MAP], &yaml, error))) {
        xray_names_free(&yaml);
        return -1;
    }
    if (names->map && yaml.map && !same_functions(names, &yaml)) {
        xray_names_free(names);
        xray_names_free(&yaml);
        return 0;
    }
    keep_richer(names, &yaml);
    return 0;
}

static int find_in_folder(const struct search *search, struct xray_names *names, struct pf_error *error)
{
    struct folder folder = {.log = pf_source_name(search->source)};
    int result = pf_source_list(search->source, collect, &folder, error);
    if (result && !is_final(error))
        result = 0;
    else if (!result && folder.no_memory)
        result = pf_fail_memory(error);
    else if (!result && !folder.too_many)
        result = read_only(search, &folder, names, error);
    for (size_t i = 0; i < folder.n_files; i++)
        free(folder.files[i]);
    return result;
}

/* ---- the search --------------------------------------------------------------------------------- */

static int read_option(const struct search *search, const char *path, struct xray_names *names,
                       struct pf_error *error)
{
    struct pf_input *input;
    enum kind kind = NO_MAP;
    if (set_map(names, path, error))
        return -1;
    if (pf_source_open_path(search->source, path, &input, error)) {
        xray_names_problem(names, 0, "%s", error->what);
        return is_final(error) ? -1 : 0;
    }
    if (read_input(names, &kind, input, search->pass, error))
        return -1;
    if (kind == NO_MAP)
        xray_names_problem(names, 0, "neither a program with a section xray_instr_map nor a map in YAML");
    return 0;
}

int xray_names_load(struct xray_names *names, struct pf_profile *profile, struct pf_pass *pass,
                    struct pf_error *error)
{
    struct search search = {.source = profile->source, .pass = pass};
    if (profile->options->instr_map)
        return read_option(&search, profile->options->instr_map, names, error);
    char *program = program_of(pf_source_name(profile->source), error);
    if (!program)
        return -1;
    int failed = *program ? find_by_name(&search, program, names, error) : 0;
    free(program);
    return failed || names->map ? failed : find_in_folder(&search, names, error);
}
