/* SPDX-License-Identifier: MIT */
#include "formats/input/archive_private.h"

/* Members of a zip that are deflated. The last few are kept for who opens them again. */

/* The place of a member among those that are kept; NULL: it is not. With archive->lock held. */
static struct kept *find(struct pf_archive *archive, uint32_t member)
{
    for (unsigned i = 0; i < PF_ARCHIVE_KEPT; i++)
        if (archive->kept[i].unpacked && archive->kept[i].member == member)
            return &archive->kept[i];
    return NULL;
}

static struct pf_unpacked *start(struct pf_archive *archive, uint32_t member)
{
    const struct pf_member *about = &archive->members[member];
    return pf_unpacked_new(pf_archives_unpackings(archive->archives), PF_DEFLATED, pf_archive_read_file,
                           archive, about->start, archive->size, about->size);
}

struct pf_unpacked *pf_archive_member_unpacked(struct pf_archive *archive, uint32_t member)
{
    pthread_mutex_lock(&archive->lock);
    struct kept *kept = find(archive, member);
    struct pf_unpacked *unpacked = kept ? kept->unpacked : start(archive, member), *old = NULL;
    if (unpacked && !kept) {
        kept = &archive->kept[archive->next_kept++ % PF_ARCHIVE_KEPT];
        old = kept->unpacked;
        *kept = (struct kept){unpacked, member};
    }
    if (unpacked)
        pf_unpacked_hold(unpacked);
    pthread_mutex_unlock(&archive->lock);
    pf_unpacked_release(old);
    return unpacked;
}
