/* SPDX-License-Identifier: MIT */
#ifndef PF_FAILURE_H
#define PF_FAILURE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/kit/error.h"
#include "fs/clock.h"

/* Seconds for which a transient error is reported before the next try; and for which missing descriptors are waited for first. */
enum { PF_LACK_SECONDS = 2, PF_SHORT_SECONDS = 20 };

/*
 * Descriptors come back when others close theirs, so what has failed for want of them is tried again at once. Who needs
 * more of them than there are, or never gets them, is told after some time nevertheless.
 */
struct pf_shortage {
    uint64_t first, last; /* failures in a row, in monotonic seconds; zeroed by what succeeds between them */
};

/* To be asked after each failure. True: it lasts already, and is not worth another try for PF_SHORT_SECONDS from `last` on. */
static inline bool pf_shortage_lasts(struct pf_shortage *shortage)
{
    uint64_t now = pf_monotonic_seconds();
    if (now - shortage->last > PF_SHORT_SECONDS)
        shortage->first = now;
    else if (now - shortage->first > PF_SHORT_SECONDS)
        return true;
    shortage->last = now;
    return false;
}

/*
 * Why something could not be made. Damaged data stays damaged, while a transient error (pf_is_transient) is reported for a short
 * time only and then tried again. Zeroed: nothing has failed. Guarded by the owner's lock.
 */
struct pf_failure {
    struct pf_error *error; /* owned; NULL: none */
    uint64_t until;         /* in monotonic seconds: then it is worth another try */
    struct pf_shortage shortage;
};

/* Where there is no memory to note it, it is tried again at once. */
static inline void pf_failure_note(struct pf_failure *failure, const struct pf_error *error)
{
    bool descriptors =
        error->code == EMFILE || error->code == ENFILE; /* given back by closing what is idle */
    if (!failure->error)
        failure->error = malloc(sizeof *failure->error);
    if (failure->error)
        *failure->error = *error;
    uint64_t now = pf_monotonic_seconds();
    failure->until = descriptors ? pf_shortage_lasts(&failure->shortage) ? now + PF_SHORT_SECONDS : 0
                     : pf_is_transient(error->code) ? now + PF_LACK_SECONDS
                                                    : UINT64_MAX;
}

/* True if it has failed and another try is not worth it yet; *error is why. */
static inline bool pf_failure_stands(const struct pf_failure *failure, struct pf_error *error)
{
    if (!failure->error || pf_monotonic_seconds() >= failure->until)
        return false;
    *error = *failure->error;
    return true;
}

static inline void pf_failure_free(struct pf_failure *failure)
{
    free(failure->error);
    failure->error = NULL;
}

#endif
