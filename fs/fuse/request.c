/* SPDX-License-Identifier: MIT */
#include "fs/fuse/request.h"

#include <errno.h>

#include "fs/clock.h"
#include "fs/fuse/interrupt.h"

enum {
    /*
     * In milliseconds: the watch thread looks for due requests every TICK_MS, and checks the signals of a request's caller every
     * CHECK_MS. It does so even if the kernel has reported no signal: libfuse reads the reports on the threads that serve requests,
     * and all of these threads may be waiting.
     */
    TICK_MS = 250,
    CHECK_MS = 1000,
    /* Interval of checking a request for which the kernel has reported a signal. The kernel reports only one signal per request. It
     * may be a harmless one, such as a timer's, followed by a fatal one. */
    RECHECK_MS = 50,
    /* A signal to a caller that /proc does not show ends the wait after this time: Ctrl-C must work, but a periodic timer must not
     * fail every look-up of a cold file. */
    UNKNOWN_MS = 1000,
    /* Maximum duration of a phase of the shutdown, and of the last attempt to save. */
    END_MS = 2000,
    SAVE_MS = 1000
};

/* ---- the request's own thread -------------------------------------------------------------------- */

/* Records a signal. Must not reply, since libfuse calls it with the request's lock held. */
static void on_signal(fuse_req_t req, void *data)
{
    struct pf_request *request = data;
    struct pf_mount *mount = request->mount;
    (void)req;
    pf_lock_take(&mount->lock);
    request->signalled = request->check_at = pf_monotonic_ms();
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
                                   .check_at = pf_monotonic_ms() + CHECK_MS};
    /* Report the mount as ready here and not in op_init, after which libfuse can still reject the options. A request proves that the
     * kernel has accepted the reply to FUSE_INIT. */
    if (!atomic_load(&mount->is_ready) && !atomic_exchange(&mount->is_ready, true))
        mount->ready(mount->ready_arg);
    if (mount->worker_heap)
        pf_fs_exclude_heap(mount->fs, mount->worker_heap);
    fuse_req_interrupt_func(req, on_signal, request);
    /* Once the request is in the list, `req` may be freed at any time (request.h). */
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
    while (mount->checked == request)
        pf_lock_wait(&mount->lock, &mount->check_ended);
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

/* ---- the watch thread ----------------------------------------------------------------------------- */

/* Returns true if the caller's wait should end. */
static bool should_end(pid_t caller, uint64_t signalled, uint64_t now)
{
    enum pf_answer answer = pf_signal_ends_wait(caller);
    return answer == PF_YES || (answer == PF_UNKNOWN && signalled && now - signalled >= UNKNOWN_MS);
}

/* Checks one request, and replies EINTR if the wait should end. Drops mount->lock meanwhile. */
static void check_request(struct pf_mount *mount, struct pf_request *request, bool over, uint64_t now)
{
    pf_assert_held(&mount->lock);
    uint64_t signalled = request->signalled;
    mount->checked = request; /* pf_request_end waits until this is reset */
    pf_lock_drop(&mount->lock);
    bool end =
        (over || should_end(request->caller, signalled, now)) && !atomic_exchange(&request->answered, true);
    if (end) {
        fuse_reply_err(request->req, EINTR);
        pf_fs_interrupt(mount->fs, &request->op);
    }
    pf_lock_take(&mount->lock);
    request->check_at = now + (request->signalled ? RECHECK_MS : CHECK_MS);
    mount->checked = NULL;
    pthread_cond_broadcast(&mount->check_ended);
}

/* Checks the requests that are due, or all once the session is over. Returns the time until the next check, in milliseconds. */
static unsigned look_at_all(struct pf_mount *mount)
{
    bool over = fuse_session_exited(mount->session);
    uint64_t now = pf_monotonic_ms();
    unsigned pause = mount->requests || mount->deadline ? TICK_MS : CHECK_MS;
    for (struct pf_request *at = mount->requests; at; at = at->next) {
        if (atomic_load(&at->answered))
            continue;
        if (over || at->check_at <= now)
            check_request(mount, at, over, now);
        if (at->signalled)
            pause = RECHECK_MS;
    }
    if (over && mount->phase == PF_SERVING && !mount->deadline) {
        mount->deadline = now + END_MS;
        pf_fs_stop(mount->fs);
    }
    return pause;
}

static void wait_ms(struct pf_mount *mount, unsigned ms)
{
    struct timespec until = pf_monotonic_after(ms);
    pf_lock_wait_until(&mount->lock, &mount->work, &until);
}

static void *save_in_background(void *arg)
{
    struct pf_mount *mount = arg;
    pf_fs_save(mount->fs);
    pf_lock_take(&mount->lock);
    mount->saved = true;
    pthread_cond_signal(&mount->work);
    pf_lock_drop(&mount->lock);
    return NULL;
}

/* Saves on another thread, since saving may block on a lock that a hanging thread holds, and ends the process. */
static void abandon(struct pf_mount *mount)
{
    pf_assert_held(&mount->lock);
    pthread_t saver;
    uint64_t until = pf_monotonic_ms() + SAVE_MS;
    mount->abandoned = true;
    mount->saved = mount->phase > PF_JOINING || pthread_create(&saver, NULL, save_in_background, mount);
    while (!mount->saved && pf_monotonic_ms() < until)
        wait_ms(mount, TICK_MS);
    mount->end_process(mount);
}

static void *watch(void *arg)
{
    struct pf_mount *mount = arg;
    unsigned pause = TICK_MS;
    pf_lock_take(&mount->lock);
    while (mount->phase != PF_ENDED) {
        if (!mount->has_signal)
            wait_ms(mount, pause);
        mount->has_signal = false;
        pause = look_at_all(mount);
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
        pf_lock_wait(&mount->lock, &mount->check_ended);
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
