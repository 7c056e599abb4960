/* SPDX-License-Identifier: MIT */
#include "formats/extrap/pointdirs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/parse.h"

/* ---- one name ------------------------------------------------------------------------------------ */

static bool is_of_value(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == ',';
}

/* A value: digits, with at most one point between them. */
static bool parse_value(const char *text, size_t size, double *value)
{
    char number[256];
    if (size >= sizeof number)
        return false;
    for (size_t i = 0; i < size; i++)
        number[i] = text[i] == ',' ? '.' : text[i];
    while (size && number[size - 1] == '.')
        size--;
    return pf_parse_double(number, size, value);
}

const char *pf_pointdir_parse(const char *name, struct pf_pointdir *point)
{
    const char *dot = strchr(name, '.'), *repetition = strstr(name, ".r");
    const char *at = dot ? dot + 1 : name, *end = repetition ? repetition : name + strlen(name);
    point->count = 0;
    while (at < end) {
        struct pf_pointdir_parameter parameter = {.name = at};
        if (is_of_value(*at))
            return "has a value without a name";
        while (at < end && !is_of_value(*at))
            at++;
        parameter.size = (size_t)(at - parameter.name);
        const char *value = at;
        while (at < end && is_of_value(*at))
            at++;
        if (value == at)
            return "has a name without a value";
        if (!parse_value(value, (size_t)(at - value), &parameter.value))
            return "has a value that is no number";
        if (point->count == PF_PARAMETERS_MAX)
            return "has too many parameters";
        point->parameters[point->count++] = parameter;
    }
    return point->count ? NULL : "has no parameters";
}

/* ---- lists of names ------------------------------------------------------------------------------ */

static void free_names(struct pf_pointdir_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->at[i]);
    free(names->at);
    *names = (struct pf_pointdir_names){0};
}

/* A folder being listed. */
struct listing {
    struct pf_pointdir_names *names;
    const char *suffix; /* of the files that are wanted; NULL: folders are */
    struct pf_error *error;
    bool failed; /* out of memory */
};

static bool is_file(const char *name, const char *suffix)
{
    size_t size = strlen(name), end = strlen(suffix);
    return *name != '.' && size > end && !strcmp(name + size - end, suffix);
}

static int take_name(void *arg, const char *name, unsigned char type)
{
    struct listing *listing = arg;
    struct pf_pointdir_names *names = listing->names;
    (void)type;
    if (*name == '.' || (listing->suffix && !is_file(name, listing->suffix)))
        return 0;
    listing->failed =
        pf_array_room(&names->at, &names->room, names->count, sizeof *names->at, listing->error) != 0;
    if (listing->failed)
        return 1;
    names->at[names->count] = strdup(name);
    listing->failed = !names->at[names->count] && pf_fail_memory(listing->error);
    names->count += !listing->failed;
    return listing->failed;
}

static int by_text(const void *left, const void *right)
{
    const char *a, *b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return strcmp(a, b);
}

/* ---- all of a folder ----------------------------------------------------------------------------- */

struct pf_pointdir_entry *pf_pointdirs_add(struct pf_pointdirs *dirs, const char *name,
                                           struct pf_error *error)
{
    if (pf_array_room(&dirs->entries, &dirs->room, dirs->count, sizeof *dirs->entries, error))
        return NULL;
    char *copy = strdup(name);
    if (!copy) {
        pf_fail_memory(error);
        return NULL;
    }
    dirs->entries[dirs->count] = (struct pf_pointdir_entry){.name = copy};
    return &dirs->entries[dirs->count++];
}

static int by_name(const void *left, const void *right)
{
    const struct pf_pointdir_entry *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static int by_point(const void *left, const void *right)
{
    const struct pf_pointdir_entry *a = left, *b = right;
    if (!a->problem != !b->problem)
        return a->problem ? 1 : -1;
    for (size_t i = 0; !a->problem && i < PF_PARAMETERS_MAX; i++)
        if (a->values[i] < b->values[i] || a->values[i] > b->values[i])
            return a->values[i] < b->values[i] ? -1 : 1;
    return strcmp(a->name, b->name);
}

static bool has_same_parameters(const struct pf_pointdirs *dirs, const struct pf_pointdir *point)
{
    bool same = point->count == dirs->parameters;
    for (unsigned i = 0; same && i < point->count; i++)
        same = strlen(dirs->names[i]) == point->parameters[i].size &&
               !memcmp(dirs->names[i], point->parameters[i].name, point->parameters[i].size);
    return same;
}

/* The first one that is a point tells the parameters. */
static int take_entry(struct pf_pointdirs *dirs, struct pf_pointdir_entry *entry, struct pf_error *error)
{
    struct pf_pointdir point;
    entry->problem = pf_pointdir_parse(entry->name, &point);
    if (entry->problem)
        return 0;
    for (unsigned i = dirs->parameters; !dirs->points && i < point.count; i++, dirs->parameters++)
        if (!(dirs->names[i] = strndup(point.parameters[i].name, point.parameters[i].size)))
            return pf_fail_memory(error);
    if (!has_same_parameters(dirs, &point)) {
        entry->problem = "has other parameters than those before it";
        return 0;
    }
    for (unsigned i = 0; i < point.count; i++)
        entry->values[i] = point.parameters[i].value;
    dirs->points++;
    return 0;
}

/* True if the parameter's value is not the same everywhere. */
static bool varies(const struct pf_pointdirs *dirs, unsigned parameter)
{
    const struct pf_pointdir_entry *first = NULL;
    for (size_t i = 0; i < dirs->count; i++) {
        const struct pf_pointdir_entry *entry = &dirs->entries[i];
        if (entry->problem)
            continue;
        first = first ? first : entry;
        if (entry->values[parameter] < first->values[parameter] ||
            entry->values[parameter] > first->values[parameter])
            return true;
    }
    return false;
}

/* Leaves only the parameters that vary, unless none does. */
static void drop_constants(struct pf_pointdirs *dirs)
{
    bool keep[PF_PARAMETERS_MAX], any = false;
    unsigned kept = 0;
    for (unsigned i = 0; i < dirs->parameters; i++)
        any |= keep[i] = varies(dirs, i);
    for (unsigned i = 0; any && i < dirs->parameters; i++) {
        if (!keep[i]) {
            free(dirs->names[i]);
            continue;
        }
        dirs->names[kept] = dirs->names[i];
        for (size_t e = 0; e < dirs->count; e++)
            dirs->entries[e].values[kept] = dirs->entries[e].values[i];
        kept++;
    }
    for (size_t e = 0; any && e < dirs->count; e++)
        memset(&dirs->entries[e].values[kept], 0, (PF_PARAMETERS_MAX - kept) * sizeof(double));
    dirs->parameters = any ? kept : dirs->parameters;
}

int pf_pointdirs_finish(struct pf_pointdirs *dirs, struct pf_error *error)
{
    if (!dirs->count)
        return 0;
    qsort(dirs->entries, dirs->count, sizeof *dirs->entries, by_name);
    for (size_t i = 0; i < dirs->count; i++)
        if (take_entry(dirs, &dirs->entries[i], error))
            return -1;
    drop_constants(dirs);
    qsort(dirs->entries, dirs->count, sizeof *dirs->entries, by_point);
    return 0;
}

void pf_pointdirs_free(struct pf_pointdirs *dirs)
{
    for (size_t i = 0; i < dirs->count; i++) {
        free(dirs->entries[i].name);
        free_names(&dirs->entries[i].files);
    }
    for (unsigned i = 0; i < dirs->parameters; i++)
        free(dirs->names[i]);
    free(dirs->entries);
    *dirs = (struct pf_pointdirs){0};
}

/* A folder without such files, or one that cannot be looked into, is no point. */
static int take_folder(struct pf_pointdirs *dirs, struct pf_source *source, const char *folder,
                       const char *suffix, struct pf_error *error)
{
    struct pf_pointdir_names files = {0};
    struct listing listing = {&files, suffix, error, false};
    int result = pf_source_list_in(source, folder, take_name, &listing, error);
    if (result && !listing.failed && (error->code == EACCES || error->code == ENOENT))
        result = 0;
    struct pf_pointdir_entry *entry =
        result || listing.failed || !files.count ? NULL : pf_pointdirs_add(dirs, folder, error);
    if (!entry) {
        result = result || listing.failed || files.count ? -1 : 0;
        free_names(&files);
        return result;
    }
    qsort(files.at, files.count, sizeof *files.at, by_text);
    entry->files = files;
    dirs->files += files.count;
    return 0;
}

int pf_pointdirs_list(struct pf_pointdirs *dirs, struct pf_source *source, const char *suffix,
                      struct pf_error *error)
{
    struct pf_pointdir_names folders = {0};
    struct listing listing = {&folders, NULL, error, false};
    int result = pf_source_list_folders(source, take_name, &listing, error);
    if (listing.failed)
        result = -1;
    for (size_t i = 0; i < folders.count && !result; i++)
        result = take_folder(dirs, source, folders.at[i], suffix, error);
    free_names(&folders);
    return result ? -1 : pf_pointdirs_finish(dirs, error);
}

/* ---- probing ------------------------------------------------------------------------------------- */

/* Entries of a folder that are looked at, and folders that are looked into. */
enum { ENTRIES_MAX = 4096, FOLDERS_MAX = 64 };

/* What a folder is looked through for. */
struct look {
    struct pf_probe *probe;
    const char *suffix;
    unsigned entries, folders, found, least;
};

static int look_for_file(void *arg, const char *name, unsigned char type)
{
    struct look *look = arg;
    (void)type;
    look->found += is_file(name, look->suffix);
    return look->found || ++look->entries == ENTRIES_MAX;
}

static int look_for_point(void *arg, const char *name, unsigned char type)
{
    struct look *look = arg, inside = {.suffix = look->suffix};
    struct pf_pointdir point;
    if ((type == DT_DIR || type == DT_UNKNOWN) && *name != '.' && !pf_pointdir_parse(name, &point)) {
        look->folders++;
        if (!pf_probe_list(look->probe, name, look_for_file, &inside))
            look->found += inside.found;
    }
    return look->found >= look->least || look->folders == FOLDERS_MAX || ++look->entries == ENTRIES_MAX;
}

bool pf_pointdirs_probe(struct pf_probe *probe, const char *suffix, unsigned least)
{
    struct look look = {.probe = probe, .suffix = suffix, .least = least};
    return !pf_probe_list(probe, ".", look_for_point, &look) && look.found >= least;
}
