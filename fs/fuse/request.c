/* SPDX-License-Identifier: MIT */
#include "fs/fuse/request.h"

#include <errno.h>
#include <time.h>

#include "fs/clock.h"
#include "fs/fuse/interrupt.h"

enum {
    /*
     * How often requests are looked at, in milliseconds. Signals are looked at even if the kernel has reported none: libfuse reads
     * its reports on the threads that serve requests, and these may all be waiting.
     */
    TICK_MS = 250,
    ASK_MS = 1000,
    /* The kernel reports one signal for each request. It may be a harmless one, such as a timer's, with a fatal one to follow. */
    ASK_AGAIN_MS = 50,
    /* A caller whose signals cannot be seen is taken for interrupted after this time: Ctrl-C must work, and a ticking timer must not
     * fail every look-up of a cold file. */
    UNKNOWN_MS = 1000,
    /* For how long a step of the end may stand still, and the last attempt to save. */
    END_MS = 2000,
    SAVE_MS = 1000
};

/* ---- the request's own thread -------------------------------------------------------------------- */

/* Called with a lock of libfuse's on the request: it must not reply. */
static void on_signal(fuse_req_t req, void *data)
{
    struct pf_request *request = data;
    struct pf_mount *mount = request->mount;
    (void)req;
    pf_lock_take(&mount->lock);
    request->signalled = request->ask_at = pf_monotonic_ms();
    mount->has_signal = true;
    pthread_cond_signal(&mount->work);
    pf_lock_drop(&mount->lock);
}

void pf_request_begin(struct pf_request *request, fuse_req_t req)
{
    struct pf_mount *mount = fuse_req_userdata(req);
    *request = (struct pf_request){.req = req,
                                   .mount = mount,
                                   .caller = fuse_req_ctx(req)->pid,
                                   .op = PF_OP,
                                   .ask_at = pf_monotonic_ms() + ASK_MS};
    /* libfuse may still reject the options after op_init; a request follows only if the kernel has accepted the reply. */
    if (!atomic_load(&mount->is_ready) && !atomic_exchange(&mount->is_ready, true))
        mount->ready(mount->ready_arg);
    if (mount->worker_heap)
        pf_fs_exclude_heap(mount->fs, mount->worker_heap);
    fuse_req_interrupt_func(req, on_signal, request);
    /* From here on `req` is gone as soon as the request is answered. */
    pf_lock_take(&mount->lock);
    request->next = mount->requests;
    if (request->next)
        request->next->previous = request;
    mount->requests = request;
    pf_lock_drop(&mount->lock);
}

void pf_request_end(struct pf_request *request)
{
    struct pf_mount *mount = request->mount;
    pf_lock_take(&mount->lock);
    while (mount->asked == request)
        pf_lock_wait(&mount->lock, &mount->has_asked);
    *(request->previous ? &request->previous->next : &mount->requests) = request->next;
    if (request->next)
        request->next->previous = request->previous;
    pf_lock_drop(&mount->lock);
    if (mount->worker_heap)
        pf_fs_exclude_heap(mount->fs, -mount->worker_heap);
}

bool pf_request_claim(struct pf_request *request)
{
    if (atomic_exchange(&request->answered, true))
        return false;
    fuse_req_interrupt_func(request->req, NULL, NULL); /* waits for on_signal */
    return true;
}

/* ---- the thread that looks at requests ------------------------------------------------------------ */

/* True if the caller should wait no longer. */
static bool should_end(pid_t caller, uint64_t signalled, uint64_t now)
{
    enum pf_answer answer = pf_signal_ends_wait(caller);
    return answer == PF_YES || (answer == PF_UNKNOWN && signalled && now - signalled >= UNKNOWN_MS);
}

/* Looks at one request, and answers it if it should end; which is without the lock meanwhile. */
static void look_at(struct pf_mount *mount, struct pf_request *request, bool over, uint64_t now)
{
    pf_assert_held(&mount->lock);
    uint64_t signalled = request->signalled;
    mount->asked = request; /* it does not go away until has_asked */
    pf_lock_drop(&mount->lock);
    bool end =
        (over || should_end(request->caller, signalled, now)) && !atomic_exchange(&request->answered, true);
    if (end) {
        fuse_reply_err(request->req, EINTR);
        pf_fs_interrupt(mount->fs, &request->op);
    }
    pf_lock_take(&mount->lock);
    request->ask_at = now + (request->signalled ? ASK_AGAIN_MS : ASK_MS);
    mount->asked = NULL;
    pthread_cond_broadcast(&mount->has_asked);
}

/* Looks at all requests whose time has come. Returns when to come again, in milliseconds from now. */
static long look_at_all(struct pf_mount *mount)
{
    bool over = fuse_session_exited(mount->session);
    uint64_t now = pf_monotonic_ms();
    long pause = mount->requests || mount->deadline ? TICK_MS : ASK_MS;
    for (struct pf_request *at = mount->requests; at; at = at->next) {
        if (atomic_load(&at->answered))
            continue;
        if (over || at->ask_at <= now)
            look_at(mount, at, over, now);
        if (at->signalled)
            pause = ASK_AGAIN_MS;
    }
    if (over && mount->phase == PF_SERVING && !mount->deadline) {
        mount->deadline = now + END_MS;
        pf_fs_stop(mount->fs);
    }
    return pause;
}

/* The pool's tick, each second. */
static void tick(struct pf_mount *mount)
{
    uint64_t now = pf_monotonic_ms();
    if (mount->phase != PF_SERVING || now - mount->ticked < ASK_MS)
        return;
    mount->ticked = now;
    pf_fs_tick(mount->fs);
}

static void wait_ms(struct pf_mount *mount, long ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pf_lock_wait_until(&mount->lock, &mount->work, &until);
}

static void *save(void *arg)
{
    struct pf_mount *mount = arg;
    pf_fs_save(mount->fs);
    pf_lock_take(&mount->lock);
    mount->saved = true;
    pthread_cond_signal(&mount->work);
    pf_lock_drop(&mount->lock);
    return NULL;
}

/* Ends the process. Another thread saves: it may need a lock that a thread holds which hangs. */
static void abandon(struct pf_mount *mount)
{
    pf_assert_held(&mount->lock);
    pthread_t saver;
    uint64_t until = pf_monotonic_ms() + SAVE_MS;
    mount->abandoned = true;
    mount->saved = mount->phase > PF_JOINING || pthread_create(&saver, NULL, save, mount);
    while (!mount->saved && pf_monotonic_ms() < until)
        wait_ms(mount, TICK_MS);
    mount->leave(mount);
}

static void *watch(void *arg)
{
    struct pf_mount *mount = arg;
    long pause = TICK_MS;
    pf_lock_take(&mount->lock);
    while (mount->phase != PF_ENDED) {
        if (!mount->has_signal)
            wait_ms(mount, pause);
        mount->has_signal = false;
        pause = look_at_all(mount);
        tick(mount);
        if (mount->deadline && pf_monotonic_ms() >= mount->deadline)
            abandon(mount);
    }
    pf_lock_drop(&mount->lock);
    return NULL;
}

int pf_watch_start(struct pf_mount *mount)
{
    int result = pthread_create(&mount->watcher, NULL, watch, mount);
    mount->watched = !result;
    return result;
}

void pf_watch_phase(struct pf_mount *mount, enum pf_phase phase)
{
    pf_lock_take(&mount->lock);
    while (mount->abandoned)
        pf_lock_wait(&mount->lock, &mount->has_asked);
    mount->phase = phase;
    mount->deadline = phase == PF_JOINING || phase == PF_FREEING ? pf_monotonic_ms() + END_MS : 0;
    pthread_cond_signal(&mount->work);
    pf_lock_drop(&mount->lock);
}

void pf_watch_end(struct pf_mount *mount)
{
    if (!mount->watched)
        return;
    pf_watch_phase(mount, PF_ENDED);
    pthread_join(mount->watcher, NULL);
}
