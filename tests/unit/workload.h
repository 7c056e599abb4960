/* SPDX-License-Identifier: MIT */
#ifndef PF_TEST_WORKLOAD_H
#define PF_TEST_WORKLOAD_H

#include <errno.h>
#include <stdlib.h>

#include "formats/driver.h"
#include "fs/work.h"
#include "tests/unit/background.h"
#include "tests/unit/gate.h"

/* An owner whose jobs wait at a gate and count events. */
struct workload {
    struct pf_owner owner; /* first member, for casts */
    struct gate gate;
    int code; /* error code with which the jobs fail; 0: they succeed */
    atomic_int runs, steps, ended, stopped, released;
    void *more; /* for the test's own use */
};

static void release_workload(struct pf_owner *owner)
{
    atomic_fetch_add(&((struct workload *)owner)->released, 1);
    atomic_fetch_sub(&owner->references, 1); /* the owner may be freed after this */
}

static const struct pf_owner_type workload_type = {release_workload, NULL};

__attribute__((unused)) static void workload_init(struct workload *load, struct pf_pool *pool, bool open)
{
    *load = (struct workload){.gate = GATE_CLOSED};
    load->gate.open = open;
    pf_owner_init(&load->owner, &workload_type, pool, 1);
}

static int end_run(struct workload *load, int result, struct pf_error *error)
{
    if (result)
        atomic_fetch_add(&load->stopped, 1);
    else if (load->code)
        result = pf_fail(error, load->code, "as it was told to");
    atomic_fetch_add(&load->ended, 1);
    return result;
}

/* A job that waits at the gate, then makes one step. */
static int run_gated(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct workload *load = (struct workload *)owner;
    (void)number;
    atomic_fetch_add(&load->runs, 1);
    gate_pass(&load->gate);
    return end_run(load, pf_pass_step(1, 2, error), error);
}

/* A job that waits at the gate, then makes steps until it is stopped. */
static int run_endless(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct workload *load = (struct workload *)owner;
    (void)number;
    atomic_fetch_add(&load->runs, 1);
    gate_pass(&load->gate);
    while (!pf_pass_step(0, 0, error)) {
        atomic_fetch_add(&load->steps, 1);
        usleep(100);
    }
    return end_run(load, -1, error);
}

/* Waits until an endless job has made a whole step. */
__attribute__((unused)) static void await_step(struct workload *load)
{
    for (int before = load->steps; load->steps < before + 2;)
        usleep(100);
}

__attribute__((unused)) static const struct pf_work gated = {"gated", PF_WORK_SIZES, NULL, run_gated},
                                                    endless = {"endless", PF_WORK_SIZES, NULL, run_endless};

/* An operation that needs a job, on its own thread. */
struct asking {
    struct background background;
    const struct pf_work *work;
    struct workload *load;
    uint64_t number;
    bool early; /* pf_need succeeded before the job had ended */
};

static int ask(void *arg, struct pf_op *op)
{
    struct asking *asking = arg;
    int result = pf_need(op, asking->work, &asking->load->owner, asking->number);
    asking->early = !result && !atomic_load(&asking->load->ended);
    return result;
}

__attribute__((unused)) static void ask_start(struct asking *asking, const struct pf_work *work,
                                              struct workload *load, uint64_t number)
{
    *asking = (struct asking){.work = work, .load = load, .number = number};
    background_start(&asking->background, ask, asking);
}

/* Waits until the operation ends. Returns its error code or 0. */
__attribute__((unused)) static int ask_result(struct asking *asking)
{
    return background_result(&asking->background) ? asking->background.op.error.code : 0;
}

__attribute__((unused)) static void ask_interrupt(struct asking *asking)
{
    pf_op_interrupt(asking->load->owner.pool, &asking->background.op);
}

#endif
