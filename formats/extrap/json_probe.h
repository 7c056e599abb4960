/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_JSON_PROBE_H
#define PF_EXTRAP_JSON_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/driver.h"
#include "formats/json/json.h"

/* A member that an object must have, of this type (PF_JSON_END: any). */
struct pf_member {
    const char *name; /* NULL: the end of a list */
    enum pf_json_event event;
};

/*
 * True if the file begins with a JSON object that has all these members, whatever else. Looked at is the head of the
 * file, or with scan > 0 so many bytes of it, where they are needed. flags: enum pf_json_flags.
 */
bool pf_probe_members(struct pf_probe *probe, const struct pf_member *members, unsigned flags, uint64_t scan);

/* How much of the file may be looked at: of one called *.json more than its head. For `scan` above. */
uint64_t pf_probe_scan(const struct pf_probe *probe);

#endif
