/* SPDX-License-Identifier: MIT */
#ifndef PF_JSON_WALK_H
#define PF_JSON_WALK_H

#include "formats/driver.h"
#include "formats/json/json.h"
#include "formats/probe.h"
#include "formats/runtime/run.h"

/*
 * Parses objects by tables of their members, for files whose members come in any order. A table maps member names to
 * handlers (takers); other members are skipped. Nothing is stored except by the takers.
 */
struct pf_json_walk {
    struct pf_json *json;
    struct pf_model *model; /* pf_json_take_name interns names in its contexts->strings; NULL: unused */
    struct pf_error *error;
    /* Arguments of a taker (below): */
    void *into;                        /* the struct to fill */
    void *place;                       /* the member's field in it */
    const struct pf_json_token *token; /* the first token of the value, already consumed */
};

/*
 * Stores a value at walk->place. The taker may read part of an object or array; the caller skips the rest. Returns 0; 1
 * to stop the walk; -1 with *walk->error filled.
 */
typedef int pf_json_taker(const struct pf_json_walk *walk);

/* A member of a table. A value whose first token is not `event` is skipped. */
struct pf_json_member {
    const char *name; /* NULL: end of the table */
    size_t size;      /* of the name in bytes; 0: matches any name */
    int event; /* first token of the value; PF_JSON_END: any; PF_JSON_NAME: `take` gets the name as token and reads the value */
    pf_json_taker *take;
    size_t place; /* offset in the struct to fill */
};

/* Entries of a table. The name is a literal. The taker of PF_MEMBER gets a field of the struct as its place, the
 * taker of PF_MEMBER_OF_ALL the whole struct. */
#define PF_MEMBER(name, event, take, type, field)                                                            \
    {                                                                                                        \
        (name), sizeof(name) - 1, (event), (take), offsetof(type, field)                                     \
    }
#define PF_MEMBER_OF_ALL(name, event, take)                                                                  \
    {                                                                                                        \
        (name), sizeof(name) - 1, (event), (take), 0                                                         \
    }
/* Matches every member. The taker gets the name as token and reads the value. */
#define PF_EACH_MEMBER(take)                                                                                 \
    {                                                                                                        \
        "", 0, PF_JSON_NAME, (take), 0                                                                       \
    }
#define PF_MEMBERS_END                                                                                       \
    {                                                                                                        \
        NULL, 0, 0, NULL, 0                                                                                  \
    }

/* Handles the member whose name was read, and its value. Returns 0, 1 or -1 like a taker. */
int pf_json_member(const struct pf_json_walk *walk, void *into, const struct pf_json_member *members,
                   const struct pf_json_token *name);

/* Handles the members of the object whose bracket was read, up to its end. Returns 0, 1 or -1 like a taker. */
int pf_json_object(const struct pf_json_walk *walk, void *into, const struct pf_json_member *members);

/*
 * Handles the members of the object that is the whole text, from its start. A text that is another value, and text after
 * the object, are errors; members before the error are handled. Returns 0, 1 or -1 like a taker.
 */
int pf_json_whole_object(const struct pf_json_walk *walk, void *into, const struct pf_json_member *members);

/*
 * Passes the elements of an array to `take`, except those that do not begin with `event` (PF_JSON_END: all elements).
 * The opening bracket of the array must have been read. Returns 0, 1 or -1 like a taker.
 */
int pf_json_array(const struct pf_json_walk *walk, void *into, int event, pf_json_taker *take);

/* The position of a value, to read it later. line 0: the value is missing. */
struct pf_json_place {
    uint64_t offset, line;
};

/*
 * Moves to the first element of the array at a place. Returns false if no array is there or the text is damaged.
 * Other errors end the pass.
 */
bool pf_json_enter_array(struct pf_run *run, struct pf_json *json, const struct pf_json_place *place);

/* Takers for walk->place. A value of another type leaves *place unchanged. */
pf_json_taker pf_json_take_place;  /* any value; place: struct pf_json_place */
pf_json_taker pf_json_take_name;   /* text; place: uint32_t, the index of an interned name */
pf_json_taker pf_json_take_whole;  /* an integer of at most 18 digits; place: int64_t */
pf_json_taker pf_json_take_line;   /* an integer from 0 to UINT32_MAX - 1; place: uint32_t */
pf_json_taker pf_json_take_notice; /* any value; place: bool, set to true */

/* Stores the number if it is an integer of at most 18 digits. Returns false otherwise. */
bool pf_json_whole(const struct pf_json_token *token, int64_t *value);

/*
 * For probing: true if the file begins with an object in which a taker returns 1. Examines the head of the file, or
 * with scan > 0 up to that many bytes if necessary. flags: enum pf_json_flags.
 */
bool pf_probe_object(struct pf_probe *probe, unsigned flags, uint64_t scan, void *into,
                     const struct pf_json_member *members);

/*
 * For probing, as the taker of several members: decrements the unsigned at walk->into, which at first is the number of
 * members that an object must have. At 0, returns 1, which stops the walk.
 */
pf_json_taker pf_json_count_down;

/* True if the error means malformed or truncated text, after which the data read so far are kept. */
bool pf_json_is_damage(const struct pf_error *error);

/*
 * Checks `got`, the result of a read that fills *run->error on failure. Returns `got` on success and for damage
 * (pf_json_is_damage). Other failures end the pass.
 */
int pf_json_got(struct pf_run *run, int got);

/* Returns 0, or -1 as for damage if the pass has reached its limit (pf_run_is_full). */
int pf_json_check_full(struct pf_run *run);

/* Adds a warning about a token (NULL: no position). */
void pf_json_warn(struct pf_run *run, const struct pf_json_token *at, const char *code, const char *what);

/* Adds a fatal warning for the damage in *run->error. */
void pf_json_warn_of_damage(struct pf_run *run);

#endif
