/* SPDX-License-Identifier: MIT */
#ifndef PF_RUN_H
#define PF_RUN_H

#include <setjmp.h>

#include "formats/kit/array.h"
#include "formats/kit/strings.h"
#include "formats/runtime/notes.h"

/*
 * A run executes a driver's code, such as a pass over a file, and cleans up after it:
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
 * - Failure: functions that take a run do not return errors. If memory runs out, a read fails or the pass is cancelled, they longjmp to
 *   pf_run, which returns -1. So a function that calls them must not own memory in a local variable: the jump would leak it.
 * - Ownership: the end of the run frees everything the run owns, in reverse order, whether the body succeeded or not.
 * - Warnings: if the body succeeds, its warnings become rows of warnings.csv. Damage in a file is a warning, not a failure.
 *
 * A run belongs to one thread and is valid only until its body ends.
 */
struct pf_run {
    struct pf_model *model;
    struct pf_error *error; /* filled before the run fails */
    struct pf_notes notes;
    uint64_t memory, memory_most; /* bytes, see pf_run_is_full */
    struct pf_owned *owned;
    size_t n_owned, owned_room;
    jmp_buf *edge;      /* target of the longjmp on failure */
    unsigned libraries; /* number of library calls on the stack above `edge`, see pf_run_enter_library */
};

/* Runs body(run, arg). Returns 0, or -1 with *error filled if the body failed; model->warnings is then unchanged. */
int pf_run(struct pf_model *model, void (*body)(struct pf_run *run, void *arg), void *arg,
           struct pf_error *error);

/* ---- failing ------------------------------------------------------------------------------------ */

/* Ends the body with a failure. The caller has filled *run->error. */
_Noreturn void pf_run_fail(struct pf_run *run);

/* Ends the body with EINVAL: the file is not in this format, or in an unsupported variant of it. line 0: unknown. */
_Noreturn void pf_run_refuse(struct pf_run *run, int64_t line, const char *what);

/* Checks the result `got` of a function that fills *run->error: ends the body if it is negative. Returns `got`. */
static inline int pf_run_check(struct pf_run *run, int got)
{
    if (got < 0)
        pf_run_fail(run);
    return got;
}

/* Returns `thing`, which the caller owns. Ends the body with ENOMEM if it is NULL. */
static inline void *pf_run_memory(struct pf_run *run, void *thing)
{
    if (!thing) {
        pf_fail_memory(run->error);
        pf_run_fail(run);
    }
    return thing;
}

/* Like pf_pass_step. Ends the body if the pass was cancelled. */
static inline void pf_run_step(struct pf_run *run, uint64_t done, uint64_t total)
{
    pf_run_check(run, pf_pass_step(done, total, run->error));
}

/*
 * Like pf_input_read, but ends the body on failure. Returns the number of bytes read, fewer than `size` only at the end
 * of the input.
 */
size_t pf_run_read(struct pf_run *run, struct pf_input *input, void *buffer, size_t size, uint64_t offset);

/* Like pf_intern, but ends the body on failure. Returns the number of the string. */
uint32_t pf_run_intern(struct pf_run *run, struct pf_strings *strings, const char *text, size_t size);

/*
 * A failure must not longjmp across stack frames of a library (SQLite, libxml2, json-c, libarchive, qsort): the library's state would be
 * left inconsistent. So if a library function takes a callback, pf_run_enter_library is called before the library function, and
 * pf_run_leave_library after it. The callback runs the driver's code with pf_run_call. If pf_run_call returns -1, the callback makes the
 * library stop, and pf_run_fail is called after pf_run_leave_library.
 *
 * In builds without NDEBUG, a failure between enter and leave but outside pf_run_call aborts.
 */
static inline void pf_run_enter_library(struct pf_run *run)
{
    run->libraries++;
}
static inline void pf_run_leave_library(struct pf_run *run)
{
    run->libraries--;
}
/*
 * Calls function(run, arg). Returns 0, or -1 with *run->error filled if the function failed. A pass that keeps the data read before damage
 * may call this and continue after -1. Memory that the function passed to the run is freed at the end of the run.
 */
int pf_run_call(struct pf_run *run, void (*function)(struct pf_run *run, void *arg), void *arg);

/* ---- memory ------------------------------------------------------------------------------------- */

/* Transfers a thing to the run, whose end calls free_thing(thing). If the thing is NULL, the run fails with ENOMEM. Returns the thing. */
void *pf_own(struct pf_run *run, void *thing, void (*free_thing)(void *));
#define PF_OWN(run, thing, free_thing) pf_own((run), (thing), (void (*)(void *))(free_thing))

/* Takes back a thing from the run, whose end then does not free it. Returns the thing. */
void *pf_disown(struct pf_run *run, void *thing);

/*
 * Like pf_own, for an array from malloc that may be reallocated: `array` is the address of the pointer to it. The end of the run frees
 * the array (NULL: no-op) and sets the pointer to NULL.
 */
void pf_own_items(struct pf_run *run, void *array);

/* A growing list, zero-initialised, in a struct that outlives the run. The end of the run frees its items and empties the list. */
#define PF_LIST(type)                                                                                        \
    struct {                                                                                                 \
        type *at;                                                                                            \
        size_t n, room;                                                                                      \
    }

/* Adds an uninitialised item to a list. Yields its address, which is valid until the list grows. */
#define PF_PUSH(run, list)                                                                                   \
    (pf_run_room((run), &(list).at, &(list).room, (list).n, sizeof *(list).at), &(list).at[(list).n++])

/*
 * Yields the address of the item at `index` of a list. If needed, makes room for it with zero-filled items. Does not
 * change the list's n.
 */
#define PF_ITEM(run, list, index)                                                                            \
    (pf_run_reach((run), &(list).at, &(list).room, (index), sizeof *(list).at), &(list).at[index])

/* Grows the list at address `list`, whose room is *room, to more than `index` items of `item` bytes. The run owns the items. */
void pf_run_grow(struct pf_run *run, void *list, size_t *room, size_t index, size_t item, bool zeroed);

static inline void pf_run_room(struct pf_run *run, void *list, size_t *room, size_t count, size_t item)
{
    if (count >= *room)
        pf_run_grow(run, list, room, count, item, false);
}

static inline void pf_run_reach(struct pf_run *run, void *list, size_t *room, size_t index, size_t item)
{
    if (index >= *room)
        pf_run_grow(run, list, room, index, item, true);
}

/*
 * A few bytes of a compressed file can expand to many items, so the memory of a run is bounded by memory_most, which the owner of the
 * run may set. run->memory counts the run's lists and the bytes reported to pf_run_use.
 *
 * Returns true once the bound is exceeded: the driver should then end its pass and keep the data read so far. At twice the bound the
 * run fails with EFBIG.
 */
static inline bool pf_run_is_full(const struct pf_run *run)
{
    return run->memory > run->memory_most;
}

/* Adds bytes to run->memory. The run fails with EFBIG at twice memory_most. */
void pf_run_use(struct pf_run *run, uint64_t bytes);
#define PF_RUN_FULL "the profile needs more memory than the limit for a file of this size"

/* ---- warnings ----------------------------------------------------------------------------------- */

/*
 * Add a row to warnings.csv, like pf_note. pf_run_note takes a kind, pf_run_warn a severity and a code. Both take a line (0: unknown), an
 * offset in bytes (-1: unknown), a printf format and its arguments.
 */
#define pf_run_note(run, kind, line, offset, ...)                                                            \
    pf_note(&(run)->notes, (kind), (int64_t)(line), (int64_t)(offset), __VA_ARGS__)
#define pf_run_warn(run, severity, code, line, offset, ...)                                                  \
    pf_run_note((run), (&(const struct pf_note_kind){(severity), (code), NULL}), (line), (offset),           \
                __VA_ARGS__)

#endif
