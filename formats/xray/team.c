/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <unistd.h>

#include "formats/xray/reading.h"

/*
 * Several threads of a log at once. The thread that runs the pass reads too, and takes over what is ready in the
 * order of the log's threads; helpers do nothing but read. What comes out depends on no timing.
 */
enum {
    HELPERS_MAX = 3,
    WINDOW = 2 * (HELPERS_MAX + 1), /* threads that may have been begun, but not been taken over */
};

/* In bytes: less is read about as soon as a helper has been started, or as a thread's reading has been handed over. */
#define WORTH_HELP    ((uint64_t)256 * 1024)
#define WORTH_HANDING ((uint64_t)4 * 1024)

struct team {
    const struct xray_state *state;
    struct pf_pass *pass;
    _Atomic uint64_t done; /* bytes */
    size_t window;         /* at most WINDOW */

    pthread_mutex_t lock; /* guards what follows; who holds it waits for nothing else */
    pthread_cond_t changed;
    bool stop;
    size_t next;  /* thread to be begun next */
    size_t taken; /* so many have been taken over */
    struct place {
        bool ready; /* from then on it is the passing thread's, before that the reader's */
        bool failed;
        struct pf_error error;
        struct xray_reading reading;
    } places[WINDOW]; /* thread t: places[t % window] */
};

/* With the lock held: whether a thread may be begun. */
static bool may_begin(const struct team *team)
{
    return team->next < team->state->index.n_threads && team->next < team->taken + team->window;
}

/* With the lock held, which is given up meanwhile: reads the next thread. */
static void read_next(struct team *team)
{
    size_t thread = team->next++;
    struct place *place = &team->places[thread % team->window];
    pthread_mutex_unlock(&team->lock);
    place->failed = xray_read_thread(&place->reading, team->state, &team->state->index.threads[thread],
                                     team->pass, &team->done, &place->error) != 0;
    pthread_mutex_lock(&team->lock);
    place->ready = true;
    pthread_cond_broadcast(&team->changed);
}

static void *help(void *arg)
{
    struct team *team = arg;
    pthread_mutex_lock(&team->lock);
    while (!team->stop && team->next < team->state->index.n_threads) {
        if (may_begin(team))
            read_next(team);
        else
            pthread_cond_wait(&team->changed, &team->lock);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

/* With the lock held, which is given up meanwhile: hands over the next thread in order, which is ready. */
static int take_over(struct team *team, xray_take_reading *take, void *arg, struct pf_error *error)
{
    struct place *place = &team->places[team->taken % team->window];
    pthread_mutex_unlock(&team->lock);
    int failed = -1;
    if (place->failed)
        *error = place->error;
    else
        failed = take(arg, team->taken, &place->reading, error);
    xray_reading_free(&place->reading);
    pthread_mutex_lock(&team->lock);
    place->ready = false;
    team->taken++;
    pthread_cond_broadcast(&team->changed);
    return failed;
}

static int lead(struct team *team, xray_take_reading *take, void *arg, struct pf_error *error)
{
    int failed = 0;
    pthread_mutex_lock(&team->lock);
    while (!failed && team->taken < team->state->index.n_threads) {
        if (team->places[team->taken % team->window].ready)
            failed = take_over(team, take, arg, error);
        else if (may_begin(team))
            read_next(team);
        else
            pthread_cond_wait(&team->changed, &team->lock);
    }
    team->stop = true;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
    return failed;
}

static size_t helpers_for(const struct xray_index *index)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = processors > HELPERS_MAX ? HELPERS_MAX : processors > 1 ? (size_t)processors - 1 : 0;
    if (index->n_threads < 2 || index->bytes < WORTH_HELP || index->bytes / index->n_threads < WORTH_HANDING)
        return 0;
    return index->n_threads - 1 < most ? index->n_threads - 1 : most;
}

int xray_read_threads(const struct xray_state *state, struct pf_pass *pass, xray_take_reading *take,
                      void *arg, struct pf_error *error)
{
    pthread_t helpers[HELPERS_MAX];
    size_t wanted = helpers_for(&state->index), started = 0;
    struct team team = {.state = state,
                        .pass = pass,
                        .window = 2 * (wanted + 1),
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER};
    /* Without helpers it works as well. */
    while (started < wanted && !pthread_create(&helpers[started], NULL, help, &team))
        started++;
    int failed = lead(&team, take, arg, error);
    for (size_t i = 0; i < started; i++)
        pthread_join(helpers[i], NULL);
    for (size_t i = 0; i < team.window; i++)
        if (team.places[i].ready)
            xray_reading_free(&team.places[i].reading);
    pthread_cond_destroy(&team.changed);
    pthread_mutex_destroy(&team.lock);
    return failed;
}
