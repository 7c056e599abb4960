/* SPDX-License-Identifier: MIT */
#include "formats/kit/pass.h"

#include <errno.h>
#include <stddef.h>

static _Thread_local struct pf_pass *now;

struct pf_pass *pf_pass_begin(struct pf_pass *pass)
{
    struct pf_pass *before = now;
    now = pass;
    return before;
}

void pf_pass_end(struct pf_pass *before)
{
    now = before;
}

struct pf_pass *pf_pass_now(void)
{
    return now;
}

int pf_pass_check(struct pf_error *error)
{
    if (!now)
        return 0;
    if (atomic_load_explicit(&now->stop, memory_order_relaxed))
        return pf_fail(error, ECANCELED, "cancelled: no waiter left");
    if (!atomic_load_explicit(&now->stepped, memory_order_relaxed)) /* threads share it: written only once */
        atomic_store_explicit(&now->stepped, true, memory_order_relaxed);
    return 0;
}

int pf_pass_step(uint64_t done, uint64_t total, struct pf_error *error)
{
    if (now) {
        atomic_store_explicit(&now->done, done, memory_order_relaxed);
        atomic_store_explicit(&now->total, total, memory_order_relaxed);
    }
    return pf_pass_check(error);
}
