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
 * PF_BACK_OFF_SECONDS is how long a transient error is reported before a retry. After EMFILE and ENFILE, retries are made at
 * once for PF_RETRY_SECONDS; then the error is reported for the same time.
 */
enum { PF_BACK_OFF_SECONDS = 2, PF_RETRY_SECONDS = 20 };

/*
 * The state of retries after EMFILE or ENFILE. The failed operation is retried at once, since descriptors become
 * free when other files are closed.
 */
struct pf_retry {
    uint64_t first, last; /* first and latest failure, in monotonic seconds; zeroed by a success */
};

/*
 * Records a failure, which the caller then retries. If failures have lasted longer than PF_RETRY_SECONDS, returns false
 * without recording this one: the caller must not retry until as much time has passed since `last`.
 */
static inline bool pf_retry_begin(struct pf_retry *retry)
{
    uint64_t now = pf_monotonic_seconds();
    if (now - retry->last > PF_RETRY_SECONDS)
        retry->first = now;
    else if (now - retry->first > PF_RETRY_SECONDS)
        return false;
    retry->last = now;
    return true;
}

/*
 * The stored failure of an operation. An error from damaged data is permanent. A transient error (pf_is_transient) is
 * reported for a short time and then retried. A zeroed struct means that nothing has failed. Guarded by the owner's
 * lock.
 */
struct pf_failure {
    struct pf_error *error; /* owned; NULL: no failure */
    uint64_t until;         /* end of the back-off, in monotonic seconds */
    struct pf_retry retry;
};

/* Stores a copy of the error. If the allocation fails, the error is not stored and the next call retries. */
static inline void pf_failure_note(struct pf_failure *failure, const struct pf_error *error)
{
    bool descriptors =
        error->code == EMFILE || error->code == ENFILE; /* closing idle profiles frees descriptors */
    if (!failure->error)
        failure->error = malloc(sizeof *failure->error);
    if (failure->error)
        *failure->error = *error;
    uint64_t now = pf_monotonic_seconds();
    failure->until = descriptors ? pf_retry_begin(&failure->retry) ? 0 : now + PF_RETRY_SECONDS
                     : pf_is_transient(error->code) ? now + PF_BACK_OFF_SECONDS
                                                    : UINT64_MAX;
}

/* True if a failure is stored and its back-off has ended. */
static inline bool pf_failure_is_over(const struct pf_failure *failure)
{
    return failure->error && pf_monotonic_seconds() >= failure->until;
}

#endif
