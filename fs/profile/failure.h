/* SPDX-License-Identifier: MIT */
#ifndef PF_FAILURE_H
#define PF_FAILURE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/kit/error.h"
#include "fs/clock.h"

/*
 * Why something could not be made, for those who ask for it again: what is wrong with the data stays wrong, while what
 * the system lacked (memory, descriptors, room on a disk) may be there a moment later. Zeroed: nothing has failed.
 * Guarded by the owner's lock.
 */
struct pf_failure {
    struct pf_error *error; /* owned; NULL: none */
    uint64_t until;         /* in monotonic seconds: then it is worth another try */
};

/* How long those who waited have to hear of a lack. */
enum { PF_LACK_SECONDS = 2 };

/* Where there is no memory to note it, it is tried again at once. */
static inline void pf_failure_note(struct pf_failure *failure, const struct pf_error *error)
{
    bool descriptors =
        error->code == EMFILE || error->code == ENFILE; /* given back by closing what is idle */
    if (!failure->error)
        failure->error = malloc(sizeof *failure->error);
    if (failure->error)
        *failure->error = *error;
    failure->until = descriptors               ? 0
                     : pf_is_lack(error->code) ? pf_monotonic_seconds() + PF_LACK_SECONDS
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
