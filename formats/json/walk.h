/* SPDX-License-Identifier: MIT */
#ifndef PF_JSON_WALK_H
#define PF_JSON_WALK_H

#include "formats/driver.h"
#include "formats/json/json.h"
#include "formats/runtime/build.h"

/*
 * Objects by tables of their members, for drivers of files whose members come in any order: a table says what becomes of the
 * value of each name that counts, all else is passed over. Nothing is held but what the driver holds.
 */
struct pf_json_walk {
    struct pf_json *json;
    struct pf_model *model; /* whose names texts become; NULL: none do */
    struct pf_error *error;
    /* What a taker (below) is given beside. */
    void *into;                        /* the struct that is filled */
    void *place;                       /* what of it */
    const struct pf_json_token *token; /* the value's first one, which was read */
};

/*
 * Takes a value to its place. Of an object or array it may read on; what is left of that is passed over. 0; 1: nothing further is
 * to be read; -1 with *walk->error filled.
 */
typedef int pf_json_taker(const struct pf_json_walk *walk);

/* A member: one whose value begins otherwise is passed over. */
struct pf_json_member {
    const char *name; /* NULL: the table's end */
    size_t size;      /* of the name; 0: any name */
    int event; /* what the value begins with; PF_JSON_END: anything; PF_JSON_NAME: `take` reads it, the token is the name */
    pf_json_taker *take;
    size_t place; /* offset in what is filled */
};

/* A line of a table: the name is a literal, the place a field of a struct, or all of it. */
#define PF_MEMBER(name, event, take, type, field)                                                            \
    {                                                                                                        \
        (name), sizeof(name) - 1, (event), (take), offsetof(type, field)                                     \
    }
#define PF_MEMBER_OF_ALL(name, event, take)                                                                  \
    {                                                                                                        \
        (name), sizeof(name) - 1, (event), (take), 0                                                         \
    }
/* Every member whatever its name, which the taker gets: it reads the value. */
#define PF_EACH_MEMBER(take)                                                                                 \
    {                                                                                                        \
        "", 0, PF_JSON_NAME, (take), 0                                                                       \
    }
#define PF_MEMBERS_END                                                                                       \
    {                                                                                                        \
        NULL, 0, 0, NULL, 0                                                                                  \
    }

/* One member, whose name was read, and its value. What the taker gives; so do the following. */
int pf_json_member(const struct pf_json_walk *walk, void *into, const struct pf_json_member *members,
                   const struct pf_json_token *name);

/* The object whose bracket was read, to its end. */
int pf_json_object(const struct pf_json_walk *walk, void *into, const struct pf_json_member *members);

/* The array whose bracket was read, to its end: `take` gets each element that begins with `event` (PF_JSON_END: each). */
int pf_json_array(const struct pf_json_walk *walk, void *into, int event, pf_json_taker *take);

/* A value to come back to. line 0: it is not there. */
struct pf_json_place {
    uint64_t offset, line;
};

/* Moves to before the first element of the array at a place. False if there is none; an error that is no damage ends the pass. */
struct pf_build;
bool pf_json_enter_array(struct pf_build *build, struct pf_json *json, const struct pf_json_place *place);

/* Takers. A place is what they name; a value of another sort leaves it as it is. */
pf_json_taker pf_json_take_place;  /* any value: a struct pf_json_place */
pf_json_taker pf_json_take_name;   /* text: a uint32_t, the number of a name of the profile */
pf_json_taker pf_json_take_whole;  /* an integer of few digits: an int64_t */
pf_json_taker pf_json_take_line;   /* one from 0 on: a uint32_t */
pf_json_taker pf_json_take_notice; /* any value: a bool, that there is one */

/* The number, if it is an integer of few digits. */
bool pf_json_whole(const struct pf_json_token *token, int64_t *value);

/*
 * For probing: whether the file begins with an object in which a taker stops with 1. Looked at is the head of the file, or with
 * scan > 0 so many bytes of it, where they are needed. flags: enum pf_json_flags.
 */
bool pf_probe_object(struct pf_probe *probe, unsigned flags, uint64_t scan, void *into,
                     const struct pf_json_member *members);

/* For probing: an object with so many members of those that are told counts, as soon as the last of their values begins. */
pf_json_taker pf_json_count_down; /* into: an unsigned, how many are missing */

/* True if reading failed because of the text: what came before counts. */
bool pf_json_is_damage(const struct pf_error *error);

/* What reading has returned: -1 for damage, which *build->run->error tells of; another failure ends the pass. */
int pf_json_got(struct pf_build *build, int got);

/* 0, or -1 as for damage if pf_build_is_full. */
int pf_json_check_full(struct pf_build *build);

/* A row of warnings about what is at a token (NULL: nowhere). */
void pf_json_warn(struct pf_build *build, const struct pf_json_token *at, const char *code, const char *what);

/* Makes a fatal warning of the damage that *build->run->error tells of. */
void pf_json_warn_of_damage(struct pf_build *build);

#endif
