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

/* One value of one row. Text and wide integers are borrowed from the owner that filled the cell: from a cursor, until
 * its next call; from a model's rows, as long as the model lives. */
struct pf_cell {
    uint8_t type;  /* enum pf_cell_type */
    bool plain;    /* text only: needs neither CSV quotes nor escapes (digits, fixed words) */
    bool quoted;   /* text only: needs quotes, but no escapes (contains a comma) */
    uint32_t size; /* text only: bytes */
    union {
        int64_t i;
        uint64_t u;
        double d;
        const char *text; /* not terminated; arbitrary bytes */
        const pf_int128 *wide;
    };
};

/* True if text is ASCII and needs no quoting: no comma, quote, backslash or control character. */
bool pf_text_is_plain(const char *text, size_t size);

/* Scans a text and sets its `plain` and `quoted`, so that printing the text, however often, need not scan it. */
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

/* Like pf_wide, but PF_INT if the value fits. */
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

/* Text that needs no quoting: a literal word, digits, hex. */
static inline struct pf_cell pf_plain(const char *text, size_t size)
{
    return (struct pf_cell){.type = PF_TEXT, .plain = true, .size = (uint32_t)size, .text = text};
}

static inline struct pf_cell pf_string(const char *text)
{
    return text ? pf_text(text, strlen(text)) : pf_absent();
}

/* Splits a 128-bit integer into two words, the low one first on any host, so that a value that fits 64 bits can be read
 * from the first word. */
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
 * The meaning of a column. The core prints PARTITION, CONTEXT and METRIC cells from the model (the partition's name,
 * the context's id, the metric's name), fills PARTITION_FIELD and CONTEXT_NAME columns from the row's partition and
 * context, and omits the columns that a folder's location determines.
 */
enum pf_role {
    PF_PLAIN,           /* printed unchanged */
    PF_PARTITION,       /* cell: PF_INT, index of a partition */
    PF_PARTITION_FIELD, /* no cell: column `field` of the partition's fields (a parameter of a point, ...) */
    PF_CONTEXT,         /* cell: PF_INT, index of a context; absent if the row has none */
    PF_CONTEXT_NAME,    /* no cell: the name of the row's context */
    PF_METRIC,          /* cell: PF_INT, index of a metric */
    PF_GROUP,           /* like PF_PLAIN, for a partition field: equal values form a group (process, node) */
    PF_KEY,             /* cell: PF_INT, index of one of the profile's keys */
};

struct pf_column {
    const char *name; /* header of the column; borrowed for the life of the profile */
    enum pf_role role;
    unsigned field; /* PF_PARTITION_FIELD only */
};

#endif
