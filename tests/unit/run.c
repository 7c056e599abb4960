/* SPDX-License-Identifier: MIT */
/* Tests failures, memory and warnings of a run of a driver's code. */
#include "formats/runtime/run.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/unit/tap.h"

static struct pf_model model;
static struct pf_error error;
static char freed[8]; /* names of the objects that were freed, in order */

static void free_thing(void *thing)
{
    strcat(freed, thing);
}

static size_t warnings(void)
{
    return pf_rows_count(model.warnings);
}

static bool warns(size_t row, const char *code, const char *text)
{
    const struct pf_cell *cells = pf_rows_at(model.warnings, row);
    return !strcmp(cells[3].text, code) && !strcmp(cells[4].text, text);
}

/* ---- entering and leaving ----------------------------------------------------------------------- */

static void succeed(struct pf_run *run, void *arg)
{
    pf_own(run, "a", free_thing);
    char *kept = pf_own(run, "kept", free_thing);
    pf_own(run, "b", free_thing);
    ok(pf_disown(run, kept) == kept, "an object can be taken back from the run");
    pf_run_warn(run, "warning", "odd", 1, -1, "value %d", 7);
    ok(!*freed && !warnings(), "a running body frees no object and passes on no warning");
    *(bool *)arg = true;
}

static void fail_deep(struct pf_run *run, int depth)
{
    if (depth)
        fail_deep(run, depth - 1);
    pf_run_check(run, pf_fail(run->error, EIO, "a disk fails"));
}

static void fail(struct pf_run *run, void *arg)
{
    pf_own(run, "a", free_thing);
    pf_run_warn(run, "warning", "odd", 1, -1, "never seen");
    fail_deep(run, 5);
    *(bool *)arg = true;
}

static void refuse(struct pf_run *run, void *arg)
{
    (void)arg;
    pf_run_refuse(run, 12, "not supported");
}

static void own_nothing(struct pf_run *run, void *arg)
{
    (void)arg;
    pf_own(run, NULL, free);
}

static void edge(void)
{
    bool whole = false;
    ok(!pf_run(&model, succeed, &whole, &error) && whole, "a body that returns has succeeded");
    ok(!strcmp(freed, "ba"), "what the run owns is freed in reverse order");
    ok(warnings() == 1 && warns(0, "odd", "value 7"),
       "warnings of a run that succeeded are added to the model");
    *freed = 0;
    whole = false;
    ok(pf_run(&model, fail, &whole, &error) == -1 && !whole && error.code == EIO,
       "a failure at any depth ends the body");
    ok(!strcmp(freed, "a"), "objects that a failed run owns are freed");
    ok(warnings() == 1, "warnings of a failed run are dropped");
    ok(pf_run(&model, refuse, NULL, &error) == -1 && error.code == EINVAL && error.line == 12,
       "a driver can refuse a file, with the line");
    ok(pf_run(&model, own_nothing, NULL, &error) == -1 && error.code == ENOMEM,
       "owning NULL fails with ENOMEM");
}

/* ---- memory ------------------------------------------------------------------------------------- */

struct lists {
    PF_LIST(int) pushed;
    PF_LIST(int) reached;
    bool full;
};

static void fill(struct pf_run *run, void *arg)
{
    struct lists *lists = arg;
    run->memory_most = 1 << 20;
    for (int i = 0; i < 1000; i++)
        *PF_PUSH(run, lists->pushed) = i;
    *PF_ITEM(run, lists->reached, 500) = 1;
    ok(lists->pushed.n == 1000 && lists->pushed.at[999] == 999 && lists->reached.at[499] == 0 &&
           lists->reached.at[500] == 1,
       "lists grow, with zeros before an item beyond the end");
    ok(!pf_run_is_full(run), "a few items do not reach the memory limit");
    pf_run_use(run, 1 << 20);
    lists->full = pf_run_is_full(run);
    pf_run_use(run, 2 << 20);
}

static void memory(void)
{
    struct lists lists = {0};
    ok(pf_run(&model, fill, &lists, &error) == -1 && error.code == EFBIG,
       "twice the memory limit fails the run");
    ok(lists.full, "reaching the memory limit is reported before the run fails");
    ok(!lists.pushed.at && !lists.reached.at, "the end of the run frees its lists");
    lists.full = false;
    pf_run(&model, fill, &lists, &error);
    ok(lists.full && !lists.pushed.n && !lists.pushed.room,
       "lists are empty after the run, so that another run may fill them");
}

/* ---- libraries ---------------------------------------------------------------------------------- */

/* A library with callbacks, each of which must return to the library, also on failure. */
static bool library_left;

static int library(int (*callback)(void *arg), void *arg)
{
    int result = callback(arg);
    library_left = true;
    return result;
}

struct sorting {
    struct pf_run *run;
    bool fails, after;
};

static void compare(struct pf_run *run, void *arg)
{
    const struct sorting *sorting = arg;
    pf_own(run, "c", free_thing);
    if (sorting->fails)
        pf_run_check(run, pf_fail(run->error, EIO, "a disk fails"));
}

static int call_back(void *arg)
{
    struct sorting *sorting = arg;
    return pf_run_call(sorting->run, compare, sorting);
}

static void call_library(struct pf_run *run, void *arg)
{
    struct sorting *sorting = arg;
    sorting->run = run;
    pf_run_enter_library(run);
    int result = library(call_back, sorting);
    pf_run_leave_library(run);
    if (result)
        pf_run_fail(run);
    sorting->after = true;
}

static void libraries(void)
{
    struct sorting good = {0}, bad = {.fails = true};
    *freed = 0;
    ok(!pf_run(&model, call_library, &good, &error) && good.after && !strcmp(freed, "c"),
       "code of the driver runs in a library's callback");
    library_left = false;
    ok(pf_run(&model, call_library, &bad, &error) == -1 && !bad.after && error.code == EIO && library_left,
       "if a callback fails, the library returns before the run fails");
}

/* ---- warnings ----------------------------------------------------------------------------------- */

static void warn_much(struct pf_run *run, void *arg)
{
    (void)arg;
    for (int i = 0; i < 600; i++)
        pf_run_warn(run, "warning", "many", i + 1, -1, "many");
    pf_run_warn(run, "warning", "few", 700, -1, "few");
    for (int i = 0; i < 10; i++)
        pf_run_warn(run, "fatal", "many", 800, -1, "fatal");
}

static void capped_warnings(void)
{
    size_t before = warnings();
    ok(!pf_run(&model, warn_much, NULL, &error) && warnings() == before + 500 + 1 + 10 + 1,
       "500 warnings of a code are kept, and all fatal ones");
    ok(warns(before + 500, "few", "few"), "warnings of one code do not hide those of others");
    ok(warns(warnings() - 1, "more", "100 further problems are not listed"),
       "a warning counts those that are not listed");
}

int main(void)
{
    model.warnings = pf_rows_new(5);
    edge();
    memory();
    libraries();
    capped_warnings();
    pf_rows_free(model.warnings);
    return done();
}
