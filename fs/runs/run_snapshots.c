/* SPDX-License-Identifier: MIT */
#include "fs/runs/run_snapshots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/clock.h"

enum { SNAPSHOTS_MOST = 256, HELD_MOST = 64 << 20 /* bytes of texts of all of them */ };

/* Those of all metrics; handles keep theirs. */
static void free_texts(struct pf_runs *runs)
{
    for (size_t m = 0; runs->texts && m < runs->metrics.n; m++)
        pf_runs_texts_free(&runs->texts[m]);
    runs->held = 0;
}

static void free_runs(struct pf_runs *runs)
{
    free_texts(runs);
    free(runs->texts);
    pf_shared_free(&runs->metrics);
    pf_buf_free(&runs->summary);
    pf_members_free(&runs->members);
    free(runs->path);
    free(runs);
}

void pf_runs_put(struct pf_fs *fs, struct pf_runs *runs)
{
    pthread_mutex_lock(&fs->lock);
    bool last = --runs->uses == 0 && runs->replaced;
    pthread_mutex_unlock(&fs->lock);
    if (last)
        free_runs(runs);
}

/* With fs->lock held: no look-up gives it any more. */
static bool replace(struct pf_fs *fs, struct pf_runs *runs)
{
    pf_map_remove(&fs->runs, runs->id);
    if (pf_map_get(&fs->runs_of, runs->folder) == runs)
        pf_map_remove(&fs->runs_of, runs->folder);
    runs->replaced = true;
    return !runs->uses;
}

/* With fs->lock held: a number that none has, 24 bits; those that are still known are passed over. False: out of memory. */
static bool give_number(struct pf_fs *fs, struct pf_runs *runs)
{
    do
        runs->id = fs->next_runs = fs->next_runs % 0xffffff + 1;
    while (pf_map_get(&fs->runs, runs->id));
    return pf_map_put(&fs->runs, runs->id, runs);
}

void pf_runs_close_off(struct pf_fs *fs, struct pf_runs *runs, bool closed)
{
    if (!closed || !fs->options.others || !runs->everybodys)
        return;
    runs->everybodys = false;
    if (runs->replaced)
        return;
    pf_map_remove(&fs->runs, runs->id);
    if (!give_number(fs, runs))
        replace(fs, runs);
}

bool pf_runs_is_fresh(struct pf_fs *fs, struct pf_runs *runs)
{
    struct pf_members members = {0};
    uint64_t now = pf_monotonic_seconds();
    pthread_mutex_lock(&fs->lock);
    bool old = now - runs->looked >= fs->snapshot_seconds, inside = runs->inside;
    uint64_t state = runs->state;
    pthread_mutex_unlock(&fs->lock);
    if (!old)
        return true;
    struct pf_folder *folder = pf_folder_open(fs->top, *runs->path ? runs->path : ".");
    int result = folder ? pf_members_list(fs, folder, runs->path, &members) : errno;
    pf_folder_free(folder);
    bool same = pf_is_transient(result) || (!result && pf_members_state(fs, &members, inside) == state);
    pf_members_free(&members);
    pthread_mutex_lock(&fs->lock);
    runs->looked = now;
    if (!same && !runs->replaced)
        replace(fs, runs); /* this use of it is not the last */
    pthread_mutex_unlock(&fs->lock);
    return same;
}

struct pf_runs *pf_runs_enter(struct pf_fs *fs, uint64_t ino)
{
    pthread_mutex_lock(&fs->lock);
    struct pf_runs *runs = pf_map_get(&fs->runs, ino >> 40);
    if (runs)
        runs->uses++;
    pthread_mutex_unlock(&fs->lock);
    if (!runs || pf_runs_is_fresh(fs, runs))
        return runs;
    pf_runs_put(fs, runs);
    return NULL;
}

/* With fs->lock held: of too many snapshots, the one that was looked at longest ago; what is to be freed then, or NULL. */
static struct pf_runs *drop_oldest(struct pf_fs *fs)
{
    struct pf_runs *oldest = NULL;
    for (size_t i = 0; fs->runs.count > SNAPSHOTS_MOST && i <= fs->runs.mask; i++) {
        struct pf_runs *runs = fs->runs.slots[i].value;
        if (runs && !runs->uses && (!oldest || runs->looked < oldest->looked))
            oldest = runs;
    }
    return oldest && replace(fs, oldest) ? oldest : NULL;
}

struct pf_runs *pf_runs_new(struct pf_fs *fs, uint64_t folder, const char *path, struct pf_members *members)
{
    struct pf_runs *runs = calloc(1, sizeof *runs);
    char *copy = strdup(path);
    if (!runs || !copy) {
        free(runs);
        free(copy);
        return NULL;
    }
    *runs = (struct pf_runs){.folder = folder,
                             .path = copy,
                             .members = *members,
                             .state = pf_members_state(fs, members, false),
                             .everybodys = true,
                             .looked = pf_monotonic_seconds(),
                             .uses = 1};
    *members = (struct pf_members){0};
    for (unsigned i = 0; i < runs->members.n; i++)
        runs->everybodys &= (runs->members.members[i].found.st.st_mode & 0444) == 0444;
    pthread_mutex_lock(&fs->lock);
    const struct pf_entry *entry = pf_entry_get(fs, folder);
    runs->shown = entry ? pf_shown_ino(entry, PF_RUNS_NAME) : 0;
    struct pf_runs *old = pf_map_get(&fs->runs_of, folder);
    bool free_old = old && replace(fs, old);
    if (!give_number(fs, runs) || !pf_map_put(&fs->runs_of, folder, runs)) {
        replace(fs, runs);
        pthread_mutex_unlock(&fs->lock);
        free_runs(runs);
        return NULL;
    }
    struct pf_runs *oldest = drop_oldest(fs);
    pthread_mutex_unlock(&fs->lock);
    if (free_old)
        free_runs(old);
    if (oldest)
        free_runs(oldest);
    return runs;
}

static uint64_t held_by_all(const struct pf_fs *fs)
{
    uint64_t held = 0;
    for (size_t i = 0; fs->runs.slots && i <= fs->runs.mask; i++) {
        const struct pf_runs *runs = fs->runs.slots[i].value;
        held += runs ? runs->held : 0;
    }
    return held;
}

bool pf_runs_shrink(struct pf_fs *fs)
{
    struct pf_runs *oldest = NULL;
    for (size_t i = 0; fs->runs.slots && i <= fs->runs.mask; i++) {
        struct pf_runs *runs = fs->runs.slots[i].value;
        if (runs && !runs->uses && runs->held && (!oldest || runs->looked < oldest->looked))
            oldest = runs;
    }
    if (oldest)
        free_texts(oldest);
    return oldest;
}

void pf_runs_limit(struct pf_fs *fs)
{
    while (held_by_all(fs) > HELD_MOST && pf_runs_shrink(fs)) {
    }
}

void pf_runs_free(struct pf_fs *fs)
{
    for (size_t i = 0; fs->runs.slots && i <= fs->runs.mask; i++)
        if (fs->runs.slots[i].value)
            free_runs(fs->runs.slots[i].value);
    pf_map_free(&fs->runs);
    pf_map_free(&fs->runs_of);
}
