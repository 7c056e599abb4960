/* SPDX-License-Identifier: MIT */
#ifndef PF_CELL_H
#define PF_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(sizeof(void *) == 8, "profilefs needs a 64-bit machine");
__extension__ typedef __int128 pf_int128;

enum pf_cell_type { PF_ABSENT, PF_INT, PF_UINT, PF_WIDE, PF_DOUBLE, PF_TEXT };

/*
 * One value of one row. Text and wide integers are borrowed: they belong to whoever filled the cell (a
 * cursor, the rows of a model) and stay valid until that cursor's next call, or as long as the model lives.
 */
struct pf_cell {
    uint8_t type;  /* enum pf_cell_type */
    bool plain;    /* text only: known to need neither CSV quotes nor escapes (digits, fixed words) */
    bool quoted;   /* text only: known to need quotes around it, but no byte of it a change (a comma) */
    uint32_t size; /* text only: bytes */
    union {
        int64_t i;
        uint64_t u;
        double d;
        const char *text; /* not terminated; any bytes */
        const pf_int128 *wide;
    };
};

/* True if text is ASCII and needs no quoting: no comma, quote, backslash or control character. */
bool pf_text_is_plain(const char *text, size_t size);

/* Finds out, once for text that is printed often, whether it is plain or quoted. */
void pf_cell_mark(struct pf_cell *cell);

static inline struct pf_cell pf_absent(void)
{
    return (struct pf_cell){.type = PF_ABSENT};
}

static inline struct pf_cell pf_int(int64_t value)
{
    return (struct pf_cell){.type = PF_INT, .i = value};
}

static inline struct pf_cell pf_uint(uint64_t value)
{
    return (struct pf_cell){.type = PF_UINT, .u = value};
}

static inline struct pf_cell pf_wide(const pf_int128 *value)
{
    return (struct pf_cell){.type = PF_WIDE, .wide = value};
}

/* The same, or PF_INT where that holds it. */
static inline struct pf_cell pf_whole(const pf_int128 *value)
{
    return *value >= INT64_MIN && *value <= INT64_MAX ? pf_int((int64_t)*value) : pf_wide(value);
}

static inline struct pf_cell pf_double(double value)
{
    return (struct pf_cell){.type = PF_DOUBLE, .d = value};
}

static inline struct pf_cell pf_text(const char *text, size_t size)
{
    return (struct pf_cell){.type = PF_TEXT, .size = (uint32_t)size, .text = text};
}

/* Text that is known to need no quoting: a literal word, digits, hex. */
static inline struct pf_cell pf_plain(const char *text, size_t size)
{
    return (struct pf_cell){.type = PF_TEXT, .plain = true, .size = (uint32_t)size, .text = text};
}

static inline struct pf_cell pf_string(const char *text)
{
    return text ? pf_text(text, strlen(text)) : pf_absent();
}

/*
 * A 128-bit integer in two words of a record: the low word first, whatever the machine's byte order, so that the first word alone
 * is a value that fits 64 bits.
 */
static inline void pf_wide_split(pf_int128 value, uint64_t words[2])
{
    words[0] = (uint64_t)value;
    words[1] = (uint64_t)(value >> 64);
}

static inline pf_int128 pf_wide_join(const uint64_t words[2])
{
    return (pf_int128)(int64_t)words[1] * ((pf_int128)1 << 64) + words[0];
}

/*
 * What a column means. The core prints PARTITION, CONTEXT and METRIC cells from the model (the partition's
 * name, the context's id, the metric's name), fills PARTITION_FIELD and CONTEXT_NAME columns itself from the
 * row's partition and context, and leaves out of a folder's file the columns that the folder fixes.
 */
enum pf_role {
    PF_PLAIN,           /* printed as it is */
    PF_PARTITION,       /* cell: PF_INT, index of a partition */
    PF_PARTITION_FIELD, /* no cell: column `field` of the partition's fields (a parameter of a point, ...) */
    PF_CONTEXT,         /* cell: PF_INT, index of a context; absent where the row has none */
    PF_CONTEXT_NAME,    /* no cell: the name of the row's context */
    PF_METRIC,          /* cell: PF_INT, index of a metric */
    PF_GROUP,           /* plain, of a partition's field: partitions that share its value belong together (process, rank, node) */
    PF_KEY,             /* cell: PF_INT, index of one of the profile's keys */
};

struct pf_column {
    const char *name; /* header of the column; borrowed for the life of the profile */
    enum pf_role role;
    unsigned field; /* PF_PARTITION_FIELD only */
};

#endif
