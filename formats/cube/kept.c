/* SPDX-License-Identifier: MIT */
#include "formats/cube/kept.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 2 * 1024 * 1024, ROWS_MIN = 4, ROWS_MAX = 256 };

struct pf_cube_kept {
    pthread_mutex_t lock; /* guards what follows */
    size_t row;           /* bytes of an entry's values */
    uint32_t rows, next;  /* how many entries there may be; which one is replaced next */
    struct entry {
        struct pf_cube_kept_key key;
        union pf_cube_number *values; /* owned; NULL: none */
    } entries[];
};

struct pf_cube_kept *pf_cube_kept_new(uint32_t locations)
{
    size_t row = ((size_t)locations + 1) * sizeof(union pf_cube_number), rows = BYTES / row + ROWS_MIN;
    if (rows > ROWS_MAX)
        rows = ROWS_MAX;
    struct pf_cube_kept *kept = calloc(1, sizeof *kept + rows * sizeof *kept->entries);
    if (!kept)
        return NULL;
    pthread_mutex_init(&kept->lock, NULL);
    kept->row = locations * sizeof(union pf_cube_number);
    kept->rows = (uint32_t)rows;
    return kept;
}

void pf_cube_kept_free(struct pf_cube_kept *kept)
{
    if (!kept)
        return;
    for (uint32_t i = 0; i < kept->rows; i++)
        free(kept->entries[i].values);
    pthread_mutex_destroy(&kept->lock);
    free(kept);
}

/* With the lock held. NULL: it is not there. */
static struct entry *find(struct pf_cube_kept *kept, const struct pf_cube_kept_key *key)
{
    for (uint32_t i = 0; i < kept->rows; i++) {
        struct entry *entry = &kept->entries[i];
        if (entry->values && entry->key.path == key->path && entry->key.metric == key->metric)
            return entry;
    }
    return NULL;
}

bool pf_cube_kept_find(struct pf_cube_kept *kept, const struct pf_cube_kept_key *key,
                       union pf_cube_number *values)
{
    if (!kept)
        return false;
    pthread_mutex_lock(&kept->lock);
    const struct entry *entry = find(kept, key);
    if (entry)
        memcpy(values, entry->values, kept->row);
    pthread_mutex_unlock(&kept->lock);
    return entry != NULL;
}

void pf_cube_kept_add(struct pf_cube_kept *kept, const struct pf_cube_kept_key *key,
                      const union pf_cube_number *values)
{
    if (!kept)
        return;
    pthread_mutex_lock(&kept->lock);
    struct entry *entry = find(kept, key) ? NULL : &kept->entries[kept->next];
    if (entry && !entry->values)
        entry->values = malloc(kept->row + 1);
    if (entry && entry->values) {
        entry->key = *key;
        memcpy(entry->values, values, kept->row);
        kept->next = (kept->next + 1) % kept->rows;
    }
    pthread_mutex_unlock(&kept->lock);
}
