/* SPDX-License-Identifier: MIT */
#include "fs/sums/spill_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "formats/kit/lock.h"

/* An item of the list of guards. Items are never freed, only reused, since the signal handler walks the list without a lock. */
struct pf_guard {
    struct pf_guard *next;
    _Atomic(char *) base; /* NULL: unused */
    size_t size;
    atomic_bool *lost;
};

static _Atomic(struct pf_guard *) guards;
static atomic_bool any_lost;
static struct pf_lock lock = PF_LOCK_INITIALIZER(PF_RANK_GUARDS); /* serializes pf_guard_mapping */

/* Handles SIGBUS. For an address outside all guarded mappings, restores the default action, so that the repeated access ends
 * the process. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    const char *at = info->si_addr;
    (void)context;
    for (struct pf_guard *guard = guards; guard; guard = guard->next) {
        char *base = guard->base;
        if (!base || at < base || at >= base + guard->size)
            continue;
        *guard->lost = true; /* set before any thread can read a zero */
        any_lost = true;
        void *zeros = mmap(base, guard->size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        errno = saved;
        if (zeros == base)
            return;
    }
    signal(number, SIG_DFL);
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
}

struct pf_guard *pf_guard_mapping(char *base, size_t size, atomic_bool *lost)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    pf_lock_take(&lock);
    struct pf_guard *guard = guards;
    while (guard && guard->base)
        guard = guard->next;
    bool new = !guard;
    if (new)
        guard = calloc(1, sizeof *guard);
    if (guard) {
        guard->size = size;
        guard->lost = lost;
        guard->base = base;
    }
    if (guard && new) {
        guard->next = guards;
        guards = guard;
    }
    pf_lock_drop(&lock);
    return guard;
}

void pf_guard_release(struct pf_guard *guard)
{
    guard->base = NULL;
}

bool pf_guard_any_lost(void)
{
    return any_lost;
}
