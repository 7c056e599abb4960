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

/* Returns the sort weight of a character. The ascending order is `~`, the end of the name or a digit, letters, other
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

/* Returns the start of a name's file suffixes, such as .tar.gz. A suffix is a dot, a letter or `~`, then any letters, digits and
 * `~`. */
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

static uint64_t hash_entry(uint64_t digest, const char *name, const struct stat *st)
{
    const uint64_t numbers[] = {st->st_dev,
                                st->st_ino,
                                (uint64_t)st->st_size,
                                (uint64_t)st->st_mtim.tv_sec,
                                (uint64_t)st->st_mtim.tv_nsec,
                                (uint64_t)st->st_ctim.tv_sec,
                                (uint64_t)st->st_ctim.tv_nsec};
    return pf_digest(pf_digest(digest, name, strlen(name)), numbers, sizeof numbers);
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
        list->others++; /* changes the digest */
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

/* Returns ENOENT if one profile is made from the folder's files and shown beside them; otherwise 0 or a transient errno value. */
static int check_beside(struct pf_fs *fs, const struct pf_folder *folder)
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
    int result = check_beside(fs, folder);
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

enum { ENTRIES_MOST = 4096, ENTRIES_DEPTH = 4 };

struct entry_digest {
    const struct pf_folder *folder;
    unsigned depth, left; /* levels and entries that may still be visited */
    uint64_t digest;
};

/* Adds an entry of a folder to the digest. The digest is a commutative sum, since entries come in any order. */
static int digest_entry(void *arg, const char *name, unsigned char type)
{
    struct entry_digest *entries = arg;
    struct stat st;
    (void)type;
    if (!entries->left)
        return 1;
    entries->left--;
    if (pf_folder_stat(entries->folder, name, &st))
        return 0;
    entries->digest += hash_entry(0, name, &st);
    struct pf_folder *below =
        S_ISDIR(st.st_mode) && entries->depth ? pf_folder_open(entries->folder, name) : NULL;
    struct entry_digest deeper = {below, entries->depth - 1, entries->left, 0};
    if (below) {
        pf_folder_list(below, digest_entry, &deeper);
        entries->left = deeper.left;
        entries->digest += pf_digest(deeper.digest, name, strlen(name));
    }
    pf_folder_free(below);
    return 0;
}

uint64_t pf_profile_digest(struct pf_fs *fs, uint64_t digest, const char *path,
                           const struct pf_entry_info *info, bool with_entries)
{
    digest = hash_entry(digest, path, &info->st);
    if (!with_entries || !S_ISDIR(info->st.st_mode) || pf_driver_extra_of(info->driver)->beside)
        return digest;
    struct pf_folder *folder = pf_folder_open(pf_fs_env(fs)->top, path);
    struct entry_digest entries = {folder, ENTRIES_DEPTH, ENTRIES_MOST, 0};
    if (folder)
        pf_folder_list(folder, digest_entry, &entries);
    pf_folder_free(folder);
    return pf_digest(digest, &entries.digest, sizeof entries.digest);
}

uint64_t pf_run_list_digest(struct pf_fs *fs, const struct pf_run_list *list, bool with_entries)
{
    uint64_t digest = list->others;
    for (unsigned i = 0; i < list->n; i++)
        digest = pf_profile_digest(fs, digest, list->runs[i].path, &list->runs[i].info, with_entries);
    return digest;
}
