/* SPDX-License-Identifier: MIT */
#include "fs/runs/run_list.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "formats/kit/digest.h"
#include "formats/recognise.h"

/* ---- the order of names ------------------------------------------------------------------------- */

/* Returns the sort weight of a character outside of numbers. Ascending: `~`, the end of the name, letters, other
 * characters. */
static int order_of(const char *at, const char *end)
{
    unsigned char c = at < end ? (unsigned char)*at : 0;
    return !c || isdigit(c) ? 0 : c == '~' ? -1 : isalpha(c) ? c : c + 256;
}

static int compare_parts(const char *a, const char *a_end, const char *b, const char *b_end)
{
    while (a < a_end || b < b_end) {
        int first = 0;
        while ((a < a_end && !isdigit((unsigned char)*a)) || (b < b_end && !isdigit((unsigned char)*b))) {
            int x = order_of(a, a_end), y = order_of(b, b_end);
            if (x != y)
                return x - y;
            a++;
            b++;
        }
        while (a < a_end && *a == '0')
            a++;
        while (b < b_end && *b == '0')
            b++;
        for (; a < a_end && b < b_end && isdigit((unsigned char)*a) && isdigit((unsigned char)*b); a++, b++)
            if (!first)
                first = *a - *b;
        if (a < a_end && isdigit((unsigned char)*a))
            return 1;
        if (b < b_end && isdigit((unsigned char)*b))
            return -1;
        if (first)
            return first;
    }
    return 0;
}

/* Returns the start of the file suffixes. A suffix is a dot, a letter or `~`, then any letters, digits and `~`. */
static const char *file_suffix(const char *name)
{
    const char *suffix = name + strlen(name), *at = suffix;
    while (at > name) {
        const char *dot = at;
        while (dot > name && (isalnum((unsigned char)dot[-1]) || dot[-1] == '~'))
            dot--;
        if (dot == name || dot[-1] != '.' || dot == at || isdigit((unsigned char)*dot))
            break;
        at = suffix = dot - 1;
    }
    return suffix;
}

int pf_natural_compare(const char *a, const char *b)
{
    if ((*a == '.') != (*b == '.'))
        return *a == '.' ? -1 : 1;
    int result = compare_parts(a, file_suffix(a), b, file_suffix(b));
    if (!result)
        result = compare_parts(a, a + strlen(a), b, b + strlen(b));
    return result ? result : strcmp(a, b);
}

/* ---- the list of runs ---------------------------------------------------------------------------- */

static int by_natural_order(const void *a, const void *b)
{
    return pf_natural_compare(((const struct pf_listed_run *)a)->name,
                              ((const struct pf_listed_run *)b)->name);
}

static uint64_t hash_entry(uint64_t state, const char *name, const struct stat *st)
{
    const uint64_t numbers[] = {st->st_dev,
                                st->st_ino,
                                (uint64_t)st->st_size,
                                (uint64_t)st->st_mtim.tv_sec,
                                (uint64_t)st->st_mtim.tv_nsec,
                                (uint64_t)st->st_ctim.tv_sec,
                                (uint64_t)st->st_ctim.tv_nsec};
    return pf_digest(pf_digest(state, name, strlen(name)), numbers, sizeof numbers);
}

/* Records an entry of the folder. Returns 0, even if the entry is not a run, or an errno value. */
static int add_run_entry(struct pf_fs *fs, const struct pf_folder *folder, const char *path, const char *name,
                         struct pf_run_list *list)
{
    struct pf_entry_info info = {0};
    struct pf_error error;
    int code = pf_classify_in_time(fs, folder, name, &info);
    if (!code && info.type == PF_ENTRY_FILE)
        list->others += hash_entry(0, name, &info.st); /* a commutative sum: entries come in any order */
    if (code || info.type != PF_ENTRY_PROFILE)
        return pf_is_transient(code) ? code : 0;
    if (list->n == PF_RUNS_MOST) {
        list->too_many = true;
        list->others++; /* changes the state */
        return ENOENT;
    }
    struct pf_listed_run *grown = realloc(list->runs, (list->n + 1) * sizeof *grown);
    if (!grown)
        return pf_fail_memory(&error), ENOMEM;
    list->runs = grown;
    struct pf_listed_run *listed = &grown[list->n];
    *listed = (struct pf_listed_run){.info = info};
    if (asprintf(&listed->path, "%s%s%s", path, *path ? "/" : "", name) < 0)
        return ENOMEM;
    listed->name = strrchr(listed->path, '/') ? strrchr(listed->path, '/') + 1 : listed->path;
    list->n++;
    return 0;
}

struct run_listing {
    struct pf_fs *fs;
    const struct pf_folder *folder;
    const char *path;
    struct pf_run_list *list;
    int result;
};

static int add_listed_entry(void *arg, const char *name, unsigned char type)
{
    struct run_listing *listing = arg;
    (void)type;
    listing->result = add_run_entry(listing->fs, listing->folder, listing->path, name, listing->list);
    return listing->result;
}

/* Returns ENOENT if a profile beside the folder is made from the folder's files, otherwise 0 or a transient errno value. */
static int look_beside(struct pf_fs *fs, const struct pf_folder *folder)
{
    struct pf_entry_info info;
    int code = pf_classify(fs, folder, PF_BESIDE_NAME, &info);
    if (!code)
        return info.driver && pf_driver_extra_of(info.driver)->beside ? ENOENT : 0;
    return pf_is_transient(code) ? code : 0;
}

int pf_run_list_read(struct pf_fs *fs, const struct pf_folder *folder, const char *path,
                     struct pf_run_list *list)
{
    *list = (struct pf_run_list){0};
    struct run_listing listing = {fs, folder, path, list, 0};
    int result = look_beside(fs, folder);
    if (!result)
        result = pf_folder_list(folder, add_listed_entry, &listing);
    if (!result && !list->too_many)
        result = listing.result;
    if (!result && list->n < PF_RUNS_LEAST)
        result = ENOENT;
    if (result) {
        pf_run_list_free(list);
        return result;
    }
    qsort(list->runs, list->n, sizeof *list->runs, by_natural_order);
    return 0;
}

void pf_run_list_free(struct pf_run_list *list)
{
    for (unsigned i = 0; i < list->n; i++)
        free(list->runs[i].path);
    free(list->runs);
    *list = (struct pf_run_list){0};
}

/* ---- changes ------------------------------------------------------------------------------------ */

enum { INSIDE_MOST = 4096, INSIDE_DEPTH = 4 };

struct inside {
    const struct pf_folder *folder;
    unsigned depth, left; /* levels and entries that may still be visited */
    uint64_t state;
};

/* Adds an entry of a folder to the state, commutatively: entries come in any order. */
static int note_inside(void *arg, const char *name, unsigned char type)
{
    struct inside *inside = arg;
    struct stat st;
    (void)type;
    if (!inside->left)
        return 1;
    inside->left--;
    if (pf_folder_stat(inside->folder, name, &st))
        return 0;
    inside->state += hash_entry(0, name, &st);
    struct pf_folder *below =
        S_ISDIR(st.st_mode) && inside->depth ? pf_folder_open(inside->folder, name) : NULL;
    struct inside deeper = {below, inside->depth - 1, inside->left, 0};
    if (below) {
        pf_folder_list(below, note_inside, &deeper);
        inside->left = deeper.left;
        inside->state += pf_digest(deeper.state, name, strlen(name));
    }
    pf_folder_free(below);
    return 0;
}

uint64_t pf_profile_digest(struct pf_fs *fs, uint64_t state, const char *path,
                           const struct pf_entry_info *info, bool look_inside)
{
    state = hash_entry(state, path, &info->st);
    if (!look_inside || !S_ISDIR(info->st.st_mode) || pf_driver_extra_of(info->driver)->beside)
        return state;
    struct pf_folder *folder = pf_folder_open(pf_fs_env(fs)->top, path);
    struct inside inside = {folder, INSIDE_DEPTH, INSIDE_MOST, 0};
    if (folder)
        pf_folder_list(folder, note_inside, &inside);
    pf_folder_free(folder);
    return pf_digest(state, &inside.state, sizeof inside.state);
}

uint64_t pf_run_list_digest(struct pf_fs *fs, const struct pf_run_list *list, bool look_inside)
{
    uint64_t state = list->others;
    for (unsigned i = 0; i < list->n; i++)
        state = pf_profile_digest(fs, state, list->runs[i].path, &list->runs[i].info, look_inside);
    return state;
}
