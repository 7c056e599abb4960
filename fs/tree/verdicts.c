/* SPDX-License-Identifier: MIT */
#include "fs/tree/verdicts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/hash.h"
#include "fs/text/pack.h"
#include "fs/tree/vfs_private.h"
#include "fs/version.h"

enum { SEEN = 8192, UNSAVED = 128, WORTH_SAVING = 32 /* so few are as quickly probed */ };

struct seen {
    struct pf_stamp stamp;
    uint64_t name;   /* its hash: drivers look at names, and a file may have several */
    uint32_t driver; /* its place among the drivers, from 1; 0: nobody's */
    bool packed;
    struct pf_verdict verdict;
};

struct pf_verdicts {
    struct pf_cachedb *db;
    uint64_t edition;     /* of all drivers: others may find something else */
    pthread_mutex_t lock; /* guards what follows */
    size_t n_unsaved;
    struct seen unsaved[UNSAVED];
    struct seen seen[SEEN];
};

static uint64_t edition(void)
{
    uint64_t hash = PF_RENDERER_VERSION;
    for (size_t i = 0; pf_drivers[i]; i++) {
        hash = pf_hash(hash, pf_drivers[i]->name, strlen(pf_drivers[i]->name));
        hash = pf_hash(hash, &pf_drivers[i]->version, sizeof pf_drivers[i]->version);
    }
    return hash;
}

struct pf_verdicts *pf_verdicts_new(struct pf_cachedb *db)
{
    struct pf_verdicts *verdicts =
        calloc(1, sizeof *verdicts); /* whose pages nobody takes who lists few files */
    if (!verdicts)
        return NULL;
    verdicts->db = db;
    verdicts->edition = edition();
    pthread_mutex_init(&verdicts->lock, NULL);
    return verdicts;
}

void pf_verdicts_free(struct pf_verdicts *verdicts)
{
    if (!verdicts)
        return;
    pf_verdicts_save(verdicts);
    pthread_mutex_destroy(&verdicts->lock);
    free(verdicts);
}

static uint32_t driver_count(void)
{
    uint32_t count = 0;
    while (pf_drivers[count])
        count++;
    return count;
}

static uint32_t number_of(const struct pf_driver *driver)
{
    for (uint32_t i = 0; driver && pf_drivers[i]; i++)
        if (pf_drivers[i] == driver)
            return i + 1;
    return 0;
}

static struct seen *place_of(struct pf_verdicts *verdicts, const struct pf_stamp *stamp, uint64_t name)
{
    return &verdicts->seen[((stamp->inode * 0x9e3779b97f4a7c15u ^ stamp->device ^ name) >> 32) % SEEN];
}

static bool is_of(const struct seen *seen, const struct pf_stamp *stamp, uint64_t name)
{
    return seen->name == name && pf_stamp_same(&seen->stamp, stamp);
}

/* ---- the database ------------------------------------------------------------------------------- */

/* A new version of a file takes the place of the old one's. */
static uint64_t key_of(const struct pf_stamp *stamp, uint64_t name)
{
    const uint64_t what[] = {0x7665726469637473 /* "verdicts" */, stamp->device, stamp->inode, name};
    return pf_hash(0, what, sizeof what);
}

static void pack(const struct pf_verdicts *verdicts, const struct seen *seen, struct pf_buf *out)
{
    pf_pack_u64(out, verdicts->edition);
    pf_buf_add(out, (const char *)&seen->stamp, sizeof seen->stamp);
    pf_pack_u64(out, seen->name);
    pf_pack_u64(out, (uint64_t)seen->driver << 1 | seen->packed);
    pf_pack_u64(out, seen->verdict.confidence);
    pf_buf_add(out, seen->verdict.version, strlen(seen->verdict.version) + 1);
    pf_buf_add(out, seen->verdict.message, strlen(seen->verdict.message) + 1);
}

static bool unpack_text(struct pf_unpack *in, char *text, size_t room)
{
    const char *end = in->failed ? NULL : memchr(in->at, 0, (size_t)(in->end - in->at));
    size_t size = end ? (size_t)(end - in->at) + 1 : 0;
    if (!size || size > room)
        return false;
    memcpy(text, in->at, size);
    in->at += size;
    return true;
}

static bool unpack(const struct pf_verdicts *verdicts, struct pf_unpack in, struct seen *seen)
{
    uint64_t of = pf_unpack_u64(&in);
    const struct pf_stamp *stamp = pf_unpack_bytes(&in, sizeof *stamp);
    if (stamp)
        memcpy(&seen->stamp, stamp, sizeof *stamp);
    seen->name = pf_unpack_u64(&in);
    uint64_t driver = pf_unpack_u64(&in);
    seen->driver = (uint32_t)(driver >> 1);
    seen->packed = driver & 1;
    seen->verdict.confidence = (unsigned)pf_unpack_u64(&in);
    return !in.failed && of == verdicts->edition && seen->driver <= driver_count() &&
           unpack_text(&in, seen->verdict.version, sizeof seen->verdict.version) &&
           unpack_text(&in, seen->verdict.message, sizeof seen->verdict.message);
}

static bool find_kept(struct pf_verdicts *verdicts, const struct pf_stamp *stamp, uint64_t name,
                      struct seen *seen)
{
    size_t size;
    char *bytes = verdicts->db ? pf_cachedb_get(verdicts->db, key_of(stamp, name), &size) : NULL;
    bool known = bytes && unpack(verdicts, (struct pf_unpack){bytes, bytes + size, false}, seen) &&
                 is_of(seen, stamp, name);
    free(bytes);
    return known;
}

/* Puts them into the database. */
static void keep(struct pf_verdicts *verdicts, const struct seen *seen, size_t n)
{
    uint64_t keys[UNSAVED] = {0};
    struct pf_buf values[UNSAVED] = {{0}};
    for (size_t i = 0; i < n; i++) {
        keys[i] = key_of(&seen[i].stamp, seen[i].name);
        pack(verdicts, &seen[i], &values[i]);
    }
    pf_cachedb_put_all(verdicts->db, keys, values, n);
    for (size_t i = 0; i < n; i++)
        pf_buf_free(&values[i]);
}

void pf_verdicts_save(struct pf_verdicts *verdicts)
{
    struct seen *unsaved = verdicts->db ? malloc(sizeof verdicts->unsaved) : NULL;
    if (!unsaved)
        return;
    pthread_mutex_lock(&verdicts->lock);
    size_t n = verdicts->n_unsaved < WORTH_SAVING ? 0 : verdicts->n_unsaved;
    memcpy(unsaved, verdicts->unsaved, n * sizeof *unsaved);
    verdicts->n_unsaved -= n;
    pthread_mutex_unlock(&verdicts->lock);
    if (n)
        keep(verdicts, unsaved, n);
    free(unsaved);
}

/* ---- asking and noting -------------------------------------------------------------------------- */

bool pf_verdicts_recall(struct pf_verdicts *verdicts, const struct pf_stamp *stamp, const char *name,
                        struct pf_found *found)
{
    struct seen seen;
    uint64_t hash = pf_hash(0, name, strlen(name));
    struct seen *place = place_of(verdicts, stamp, hash);
    pthread_mutex_lock(&verdicts->lock);
    bool known = is_of(place, stamp, hash);
    if (known)
        seen = *place;
    pthread_mutex_unlock(&verdicts->lock);
    if (!known && find_kept(verdicts, stamp, hash, &seen)) {
        known = true;
        pthread_mutex_lock(&verdicts->lock);
        *place = seen;
        pthread_mutex_unlock(&verdicts->lock);
    }
    if (known) {
        found->driver = seen.driver ? pf_drivers[seen.driver - 1] : NULL;
        found->verdict = seen.verdict;
        found->packed = seen.packed;
    }
    return known;
}

void pf_verdicts_note(struct pf_verdicts *verdicts, const struct pf_stamp *stamp, const char *name,
                      const struct pf_found *found)
{
    struct seen seen = {*stamp, pf_hash(0, name, strlen(name)), number_of(found->driver), found->packed,
                        found->verdict};
    pthread_mutex_lock(&verdicts->lock);
    *place_of(verdicts, stamp, seen.name) = seen;
    if (verdicts->n_unsaved < UNSAVED)
        verdicts->unsaved[verdicts->n_unsaved++] = seen;
    bool full = verdicts->n_unsaved == UNSAVED;
    pthread_mutex_unlock(&verdicts->lock);
    if (full)
        pf_verdicts_save(verdicts);
}
