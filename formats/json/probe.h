/* SPDX-License-Identifier: MIT */
#ifndef PF_JSON_PROBE_H
#define PF_JSON_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/driver.h"
#include "formats/json/json.h"

/* JSON has no magic number: what a file is, the members of the object that it is tell. */

/* What is looked at of a file: its head, and what follows that up to `end`. */
struct pf_json_look {
    const unsigned char *head;
    size_t have;
    struct pf_probe *probe; /* NULL: the head is all */
    uint64_t end;
    unsigned char *inflated; /* owned: the head of a compressed file as text */
    struct pf_json *json;    /* owned: the reader */
};

/*
 * A reader of what is looked at of a file, if that begins as an object or array does: of its head, or with scan > 0 of so many
 * bytes; of a gzip file what the head inflates to, with PF_JSON_PACKED alone. flags: enum pf_json_flags. NULL: it does not
 * begin so. pf_json_look_end is due in either case; an error tells it what reading failed with.
 */
struct pf_json *pf_json_look(struct pf_probe *probe, struct pf_json_look *look, unsigned flags,
                             uint64_t scan);
void pf_json_look_end(struct pf_probe *probe, struct pf_json_look *look, const struct pf_error *error);

/* How much of the file may be looked at: of one called *.json more than its head. For `scan` above. */
uint64_t pf_probe_scan(const struct pf_probe *probe);

/* What may be looked at of a file whose name says that it may be a profile. */
#define PF_PROBE_SCAN ((uint64_t)16 << 20)

/* True if the name ends so, in upper or lower case. */
bool pf_probe_is_called(const struct pf_probe *probe, const char *ending);

#endif
