/* SPDX-License-Identifier: MIT */
#include "formats/extrap/points.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/digest.h"
#include "formats/kit/number.h"
#include "formats/probe.h"

/* ---- the name of a folder ------------------------------------------------------------------------ */

static bool is_of_value(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == ',';
}

/* Parses a value: digits with at most one decimal point. */
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
            return "has a value that is not a number";
        if (point->count == PF_PARAMETERS_MAX)
            return "has too many parameters";
        point->parameters[point->count++] = parameter;
    }
    return point->count ? NULL : "has no parameters";
}

/* ---- the folders of a profile -------------------------------------------------------------------- */

int pf_pointdirs_add(struct pf_pointdirs *dirs, const char *name, struct pf_error *error)
{
    char *copy = strdup(name);
    if (!copy || pf_array_room(&dirs->entries, &dirs->room, dirs->count, sizeof *dirs->entries, error)) {
        free(copy);
        return pf_fail_memory(error);
    }
    dirs->entries[dirs->count++] = (struct pf_pointdir_entry){.name = copy};
    return 0;
}

static void free_entry(struct pf_pointdir_entry *entry)
{
    for (size_t i = 0; i < entry->n_files; i++)
        free(entry->files[i]);
    free(entry->files);
    free(entry->name);
}

static int by_folder_name(const void *left, const void *right)
{
    const struct pf_pointdir_entry *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static int by_point(const void *left, const void *right)
{
    const struct pf_pointdir_entry *a = left, *b = right;
    if (!a->problem != !b->problem)
        return a->problem ? 1 : -1;
    for (size_t i = 0; !a->problem && i < a->point.count; i++) {
        double left_value = a->point.parameters[i].value, right_value = b->point.parameters[i].value;
        if (left_value != right_value)
            return left_value < right_value ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

static bool has_same_parameters(const struct pf_pointdir *first, const struct pf_pointdir *point)
{
    bool same = point->count == first->count;
    for (unsigned i = 0; same && i < point->count; i++)
        same = first->parameters[i].size == point->parameters[i].size &&
               !memcmp(first->parameters[i].name, point->parameters[i].name, point->parameters[i].size);
    return same;
}

/* Keeps the parameters that vary, or all if none varies. */
static void choose_parameters(struct pf_pointdirs *dirs, const struct pf_pointdir *first)
{
    for (unsigned i = 0; i < first->count; i++) {
        bool varies = false;
        for (size_t e = 0; e < dirs->count; e++)
            varies |= !dirs->entries[e].problem &&
                      dirs->entries[e].point.parameters[i].value != first->parameters[i].value;
        if (varies)
            dirs->numbers[dirs->parameters++] = i;
    }
    if (dirs->parameters)
        return;
    for (unsigned i = 0; i < first->count; i++)
        dirs->numbers[dirs->parameters++] = i;
}

/* The first valid point defines the names of the parameters. */
void pf_pointdirs_finish(struct pf_pointdirs *dirs)
{
    const struct pf_pointdir *first = NULL;
    if (!dirs->count)
        return;
    qsort(dirs->entries, dirs->count, sizeof *dirs->entries, by_folder_name);
    for (size_t i = 0; i < dirs->count; i++) {
        struct pf_pointdir_entry *entry = &dirs->entries[i];
        entry->problem = pf_pointdir_parse(entry->name, &entry->point);
        if (!entry->problem && first && !has_same_parameters(first, &entry->point))
            entry->problem = "has other parameters than those before it";
        if (entry->problem)
            continue;
        first = first ? first : &entry->point;
        dirs->points++;
    }
    if (first)
        choose_parameters(dirs, first);
    qsort(dirs->entries, dirs->count, sizeof *dirs->entries, by_point);
}

void pf_pointdirs_free(struct pf_pointdirs *dirs)
{
    for (size_t i = 0; i < dirs->count; i++)
        free_entry(&dirs->entries[i]);
    free(dirs->entries);
    *dirs = (struct pf_pointdirs){0};
}

/* ---- listing ------------------------------------------------------------------------------------- */

struct points_listing {
    struct pf_pointdirs *dirs;
    struct pf_pointdir_entry *entry; /* the entry whose files are being listed */
    const char *suffix;              /* suffix of the files to list */
    struct pf_error *error;
    int failed; /* out of memory */
};

static bool is_wanted_file(const char *name, const char *suffix)
{
    size_t size = strlen(name), end = strlen(suffix);
    return *name != '.' && size > end && !strcmp(name + size - end, suffix);
}

static int take_folder(void *arg, const char *name, unsigned char type)
{
    struct points_listing *listing = arg;
    (void)type;
    if (*name != '.')
        listing->failed = pf_pointdirs_add(listing->dirs, name, listing->error);
    return listing->failed;
}

static int take_point_file(void *arg, const char *name, unsigned char type)
{
    struct points_listing *listing = arg;
    struct pf_pointdir_entry *entry = listing->entry;
    (void)type;
    if (!is_wanted_file(name, listing->suffix))
        return 0;
    char *copy = strdup(name);
    if (!copy || pf_array_room(&entry->files, &entry->room_files, entry->n_files, sizeof *entry->files,
                               listing->error)) {
        free(copy);
        return listing->failed = pf_fail_memory(listing->error);
    }
    entry->files[entry->n_files++] = copy;
    return 0;
}

static int by_text(const void *left, const void *right)
{
    const char *a, *b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return strcmp(a, b);
}

/* Lists the folders of a source that have files with this suffix. Leaves out folders that cannot be read. */
static int list_points(struct pf_pointdirs *dirs, struct pf_source *source, const char *suffix,
                       struct pf_error *error)
{
    struct points_listing listing = {.dirs = dirs, .suffix = suffix, .error = error};
    size_t kept = 0;
    int result = pf_source_list_folders(source, take_folder, &listing, error);
    for (size_t i = 0; i < dirs->count && !result && !listing.failed; i++) {
        struct pf_pointdir_entry *entry = listing.entry = &dirs->entries[i];
        result = pf_source_list_in(source, entry->name, take_point_file, &listing, error);
        if (result && !listing.failed && (error->code == EACCES || error->code == ENOENT))
            result = 0;
        if (entry->n_files)
            qsort(entry->files, entry->n_files, sizeof *entry->files, by_text);
    }
    for (size_t i = 0; i < dirs->count; i++)
        if (dirs->entries[i].n_files)
            dirs->entries[kept++] = dirs->entries[i];
        else
            free_entry(&dirs->entries[i]);
    dirs->count = kept;
    pf_pointdirs_finish(dirs);
    return result || listing.failed ? -1 : 0;
}

/* ---- probing ------------------------------------------------------------------------------------- */

/* Limits of a probe: maximum entries examined of each directory, and maximum folders opened. */
enum { ENTRIES_MAX = 4096, FOLDERS_MAX = 64 };

/* State of probing a folder. */
struct points_look {
    struct pf_probe *probe;
    const char *suffix;
    unsigned entries, folders, found, least;
    uint64_t endings; /* set of the endings of names in the points' folders, as in struct pf_probe */
    bool cut;         /* some folder was not searched to its end, since a file was found */
};

/*
 * Returns three bits (some may coincide) that stand for the ending of a name, as in a Bloom filter; 0 if it has no
 * ending.
 */
static uint64_t ending_bits(const char *name)
{
    const uint64_t bit = 1;
    const char *ending = strrchr(name, '.');
    uint64_t hash = ending ? pf_digest(0, ending, strlen(ending)) : 0;
    return ending ? bit << hash % 64 | bit << hash / 64 % 64 | bit << hash / 4096 % 64 : 0;
}

static int look_for_file(void *arg, const char *name, unsigned char type)
{
    struct points_look *look = arg;
    (void)type;
    look->endings |= ending_bits(name);
    look->found += is_wanted_file(name, look->suffix);
    return look->found || ++look->entries == ENTRIES_MAX;
}

static int look_for_point(void *arg, const char *name, unsigned char type)
{
    struct points_look *look = arg, inside = {.suffix = look->suffix};
    struct pf_pointdir point;
    if ((type == DT_DIR || type == DT_UNKNOWN) && *name != '.' && !pf_pointdir_parse(name, &point)) {
        look->folders++;
        if (!pf_probe_list(look->probe, name, look_for_file, &inside))
            look->found += inside.found;
        look->endings |= inside.endings;
        look->cut |= inside.found;
    }
    return look->found >= look->least || look->folders == FOLDERS_MAX || ++look->entries == ENTRIES_MAX;
}

bool pf_points_probe(struct pf_probe *probe, const char *suffix, unsigned least)
{
    struct points_look look = {.probe = probe, .suffix = suffix, .least = least};
    /* An earlier probe may have recorded the endings of all names. If this ending is not among them, there is no such file. */
    bool absent = probe->points_searched && (~probe->points_endings & ending_bits(suffix));
    if (absent || pf_probe_list(probe, ".", look_for_point, &look))
        return false;
    probe->points_searched = !look.cut;
    probe->points_endings = look.endings;
    return look.found >= least;
}

/* ---- the profile --------------------------------------------------------------------------------- */

/* Creates a study with the folder's parameters. */
static struct pf_study *new_study(struct pf_run *run)
{
    const struct pf_pointdirs *dirs = &((const struct pf_points *)run->model->state)->dirs;
    struct pf_study *study = pf_study_new(run, NULL, 0);
    for (unsigned i = 0; i < dirs->parameters; i++) {
        const struct pf_pointdir_parameter *parameter = &dirs->entries[0].point.parameters[dirs->numbers[i]];
        pf_study_parameter(study, parameter->name, parameter->size, 0, -1);
    }
    return study;
}

static void make_head(struct pf_run *run, void *reading)
{
    struct pf_study *study = new_study(run);
    pf_study_info(study);
    pf_study_made(reading, study);
}

int pf_points_open(struct pf_model *model, const char *suffix, const char *what, struct pf_error *error)
{
    struct pf_points *points = model->state;
    struct pf_study_reading reading = {.read = make_head, .head = true};
    size_t files = 0;
    pf_study_declare(model, false);
    if (list_points(&points->dirs, model->source, suffix, error) || pf_study_read(model, &reading, error))
        return -1;
    for (size_t i = 0; i < points->dirs.count; i++)
        files += points->dirs.entries[i].n_files;
    struct pf_cell cells[] = {pf_string(what), pf_uint(files)};
    return pf_rows_add(model->info, cells, error);
}

static void read_folder(struct pf_study *study, const struct pf_pointdir_entry *folder,
                        pf_points_file *read_file)
{
    const struct pf_points *points = study->run->model->state;
    if (folder->problem) {
        pf_study_note(study, PF_BAD_POINT, 0, -1, "folder %.100s %s: it is left out", folder->name,
                      folder->problem);
        return;
    }
    struct pf_point at = {.count = points->dirs.parameters};
    for (unsigned i = 0; i < at.count; i++)
        at.coordinates[i] = folder->point.parameters[points->dirs.numbers[i]].value;
    uint32_t point = pf_study_point(study, &at);
    for (size_t i = 0; i < folder->n_files; i++) {
        char path[2 * 256 + 2]; /* two file names of at most 255 bytes, a slash and a NUL */
        snprintf(path, sizeof path, "%s/%s", folder->name, folder->files[i]);
        read_file(study, path, point);
    }
}

struct pf_study *pf_points_read(struct pf_run *run, pf_points_file *read_file)
{
    const struct pf_pointdirs *dirs = &((const struct pf_points *)run->model->state)->dirs;
    struct pf_study *study = new_study(run);
    for (size_t i = 0; i < dirs->count; i++)
        read_folder(study, &dirs->entries[i], read_file);
    if (!dirs->points)
        pf_study_note(study, PF_NOTHING, 0, -1, "no folder is a point");
    pf_study_finish(study);
    return study;
}

void pf_points_note(struct pf_study *study, const char *path, const char *what)
{
    pf_study_note(study, PF_BAD_MEMBER, 0, -1, "%.150s %s", path, what);
}

void pf_points_close(struct pf_model *model)
{
    struct pf_points *points = model->state;
    if (!points)
        return;
    pf_pointdirs_free(&points->dirs);
    pf_study_close(model);
}
