/* SPDX-License-Identifier: MIT */
#include "formats/runtime/run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pf_owned {
    void *thing;
    void (*free_thing)(void *);
};

/* ---- failing ------------------------------------------------------------------------------------ */

void pf_run_fail(struct pf_run *run)
{
    assert(!run->libraries);
    longjmp(*run->edge, 1);
}

void pf_run_refuse(struct pf_run *run, int64_t line, const char *what)
{
    if (line)
        pf_fail_line(run->error, EINVAL, line, "%s", what);
    else
        pf_fail(run->error, EINVAL, "%s", what);
    pf_run_fail(run);
}

/*
 * Calls the function; failures jump here. Has no local variables, since longjmp leaves variables that changed after setjmp indeterminate.
 */
static int guard(struct pf_run *run, void (*function)(struct pf_run *run, void *arg), void *arg)
{
    if (setjmp(*run->edge))
        return -1;
    function(run, arg);
    return 0;
}

int pf_run_call(struct pf_run *run, void (*function)(struct pf_run *run, void *arg), void *arg)
{
    jmp_buf edge, *outer = run->edge;
    unsigned libraries = run->libraries;
    run->edge = &edge;
    run->libraries = 0;
    int result = guard(run, function, arg);
    run->libraries = libraries;
    run->edge = outer;
    return result;
}

size_t pf_run_read(struct pf_run *run, struct pf_input *input, void *buffer, size_t size, uint64_t offset)
{
    ssize_t got = pf_input_read(input, buffer, size, offset, run->error);
    if (got < 0)
        pf_run_fail(run);
    return (size_t)got;
}

uint32_t pf_run_intern(struct pf_run *run, struct pf_strings *strings, const char *text, size_t size)
{
    uint32_t string = pf_intern(strings, text, size, run->error);
    if (string == PF_NO_STRING)
        pf_run_fail(run);
    return string;
}

/* ---- memory ------------------------------------------------------------------------------------- */

void *pf_own(struct pf_run *run, void *thing, void (*free_thing)(void *))
{
    if (!thing) {
        pf_fail_memory(run->error);
        pf_run_fail(run);
    }
    if (pf_array_room(&run->owned, &run->owned_room, run->n_owned, sizeof *run->owned, run->error)) {
        free_thing(thing);
        pf_run_fail(run);
    }
    run->owned[run->n_owned++] = (struct pf_owned){thing, free_thing};
    return thing;
}

void *pf_disown(struct pf_run *run, void *thing)
{
    size_t i = run->n_owned;
    while (run->owned[--i].thing != thing)
        assert(i);
    memmove(&run->owned[i], &run->owned[i + 1], (--run->n_owned - i) * sizeof *run->owned);
    return thing;
}

/* Frees the array that the pointer at address `array` refers to. Growing an array moves it, so the run owns the pointer's address. */
static void free_items(void *array)
{
    void *items, *none = NULL;
    memcpy(&items, array, sizeof items);
    memcpy(array, &none, sizeof none);
    free(items);
}

void pf_own_items(struct pf_run *run, void *array)
{
    pf_own(run, array, free_items);
}

/* Frees the items of a PF_LIST, whatever their type, and empties the list. */
static void free_list(void *list)
{
    free_items(list);
    memset(list, 0, sizeof(PF_LIST(void)));
}

void pf_run_use(struct pf_run *run, uint64_t bytes)
{
    run->memory += bytes;
    if (run->memory / 2 > run->memory_most)
        pf_run_check(run, pf_fail(run->error, EFBIG, PF_RUN_FULL));
}

void pf_run_grow(struct pf_run *run, void *list, size_t *room, size_t index, size_t item, bool zeroed)
{
    size_t before = *room;
    if (!before)
        pf_own(run, list, free_list);
    pf_run_check(run, zeroed ? pf_array_extend(list, room, index, item, run->error)
                             : pf_array_grow(list, room, index + 1, item, run->error));
    pf_run_use(run, (uint64_t)(*room - before) * item);
}

/* ---- the edge ----------------------------------------------------------------------------------- */

int pf_run(struct pf_model *model, void (*body)(struct pf_run *run, void *arg), void *arg,
           struct pf_error *error)
{
    jmp_buf edge;
    struct pf_run run = {.edge = &edge, .model = model, .error = error, .memory_most = UINT64_MAX / 2};
    size_t warnings = pf_rows_count(model->warnings);
    int result = guard(&run, body, arg);
    if (!result && pf_notes_publish(&run.notes, model, error)) {
        pf_rows_cut(model->warnings, warnings);
        result = -1;
    }
    while (run.n_owned) {
        const struct pf_owned *owned = &run.owned[--run.n_owned];
        owned->free_thing(owned->thing);
    }
    free(run.owned);
    pf_notes_free(&run.notes);
    return result;
}
