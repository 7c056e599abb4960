/* SPDX-License-Identifier: MIT */
#ifndef PF_RUN_H
#define PF_RUN_H

#include <setjmp.h>

#include "formats/kit/array.h"
#include "formats/runtime/notes.h"

/*
 * One run of a driver's code, such as a pass over a file:
 *
 *     static void read_table(struct pf_run *run, void *arg)
 *     {
 *         char *row = PF_OWN(run, malloc(ROW), free);
 *         pf_run_check(run, pf_input_read(input, row, ROW, 0, run->error));
 *         if (*row != 'R')
 *             pf_run_warn(run, "error", "bad-row", 1, 0, "not a row: line skipped");
 *     }
 *     ...
 *     return pf_run(model, read_table, NULL, error);
 *
 * - Failure: functions that take a run do not fail to their caller. Without memory, with a failing disk or a cancelled pass the
 *   body ends by a jump to pf_run, which returns -1. So no function between them owns memory in a variable of its own.
 * - Ownership: the end of the run frees what the run owns, in reverse order, whether the body succeeded or not.
 * - Warnings: those of a body that succeeded become rows of warnings.csv. Damage in a file is a warning, not a failure.
 *
 * A run is its thread's, and valid only until its body ends.
 */
struct pf_run {
    struct pf_model *model;
    struct pf_error *error; /* filled before the run fails */
    struct pf_notes notes;
    uint64_t memory, memory_most; /* bytes, see pf_run_is_full */
    struct pf_owned *owned;
    size_t n_owned, owned_room;
    jmp_buf *edge;      /* where failing jumps to */
    unsigned libraries; /* calls of libraries between the edge and the code that runs: see pf_run_call */
};

/* Runs the body. 0; -1 with *error filled if it has failed: model->warnings are then what they were. */
int pf_run(struct pf_model *model, void (*body)(struct pf_run *run, void *arg), void *arg,
           struct pf_error *error);

/* ---- failing ------------------------------------------------------------------------------------ */

/* Ends the body. *run->error is filled. */
_Noreturn void pf_run_fail(struct pf_run *run);

/* Ends the body with EINVAL: the file is not in this format, or of a variant that is not supported. line 0: of no line. */
_Noreturn void pf_run_refuse(struct pf_run *run, int64_t line, const char *what);

/* Ends the body if a function that fills *run->error has failed: `got` is what it returned. Returns `got`. */
static inline int pf_run_check(struct pf_run *run, int got)
{
    if (got < 0)
        pf_run_fail(run);
    return got;
}

/*
 * Failing must not jump across a library's frames (SQLite, libxml2, json-c, libarchive, qsort), which would leave the library's state
 * half changed. A wrapper brackets each library function that calls back with pf_run_enter_library and pf_run_leave_library, and its
 * callback runs the driver's code by pf_run_call. If that returns -1, the callback makes the library stop; once the library function
 * has returned and pf_run_leave_library was called, the wrapper calls pf_run_fail.
 *
 * In builds without NDEBUG, failing between the two without pf_run_call aborts.
 */
static inline void pf_run_enter_library(struct pf_run *run)
{
    run->libraries++;
}
static inline void pf_run_leave_library(struct pf_run *run)
{
    run->libraries--;
}
/* Calls the function. 0; -1 if it has failed, with *run->error filled. */
int pf_run_call(struct pf_run *run, void (*function)(struct pf_run *run, void *arg), void *arg);

/* ---- memory ------------------------------------------------------------------------------------- */

/* Makes the run own a thing, which free_thing frees at its end; NULL: out of memory, the run fails. Returns the thing. */
void *pf_own(struct pf_run *run, void *thing, void (*free_thing)(void *));
#define PF_OWN(run, thing, free_thing) pf_own((run), (thing), (void (*)(void *))(free_thing))

/* As pf_own, of the memory from malloc that the pointer at address `array` points to at the end of the run, unless it is NULL. */
void pf_own_items(struct pf_run *run, void *array);

/* A list that grows, zeroed at first, in a struct that outlives the run; the end of the run frees its items. */
#define PF_LIST(type)                                                                                        \
    struct {                                                                                                 \
        type *at;                                                                                            \
        size_t n, room;                                                                                      \
    }

/* Adds an item to a list, uninitialised. Its address, until the next item is added. */
#define PF_PUSH(run, list)                                                                                   \
    (pf_run_room((run), &(list).at, &(list).room, (list).n, sizeof *(list).at), &(list).at[(list).n++])

/* The address of the item at `index` of a list, which is grown to it; new items are zero. Does not change the list's n. */
#define PF_ITEM(run, list, index)                                                                            \
    (pf_run_reach((run), &(list).at, &(list).room, (index), sizeof *(list).at), &(list).at[index])

/* Grows an array for PF_PUSH and PF_ITEM; the run owns its memory. */
void pf_run_grow(struct pf_run *run, void *array, size_t *room, size_t index, size_t item, bool zeroed);

static inline void pf_run_room(struct pf_run *run, void *array, size_t *room, size_t count, size_t item)
{
    if (count >= *room)
        pf_run_grow(run, array, room, count, item, false);
}

static inline void pf_run_reach(struct pf_run *run, void *array, size_t *room, size_t index, size_t item)
{
    if (index >= *room)
        pf_run_grow(run, array, room, index, item, true);
}

/*
 * A few bytes of a compressed file can make many items. The memory of the run's lists, and of what is reported to pf_run_use, is
 * bounded by memory_most, which the owner of the run may set.
 *
 * Returns true once the bound is exceeded: the driver should then end its pass with what it has. A driver that goes on fails with
 * EFBIG at twice as much.
 */
static inline bool pf_run_is_full(const struct pf_run *run)
{
    return run->memory > run->memory_most;
}

/* Adds bytes to run->memory. */
void pf_run_use(struct pf_run *run, uint64_t bytes);
#define PF_RUN_FULL "what is read of the file takes more memory than one of its size may"

/* ---- warnings ----------------------------------------------------------------------------------- */

/*
 * Adds a row of warnings.csv, as pf_note does: kind (pf_run_note), or severity and code (pf_run_warn); line (0: unknown), offset in bytes
 * (-1: unknown), a printf format and its arguments.
 */
#define pf_run_note(run, kind, line, offset, ...)                                                            \
    pf_note(&(run)->notes, (kind), (int64_t)(line), (int64_t)(offset), __VA_ARGS__)
#define pf_run_warn(run, severity, code, line, offset, ...)                                                  \
    pf_run_note((run), (&(const struct pf_note_kind){(severity), (code), NULL}), (line), (offset),           \
                __VA_ARGS__)

#endif
