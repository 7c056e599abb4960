/* SPDX-License-Identifier: MIT */
#ifndef PF_JSON_PROBE_H
#define PF_JSON_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/driver.h"
#include "formats/json/json.h"
#include "formats/probe.h"

/* JSON has no magic number, so files are recognised by the members of the top-level object. */

/* The part of a file that is examined: its head, and the file itself up to `end`. */
struct pf_json_look {
    const unsigned char *head;
    size_t have;
    struct pf_probe *probe; /* NULL: only the head is examined */
    uint64_t end;
    unsigned char *inflated; /* owned: the decompressed head of a gzip file */
    struct pf_json *json;    /* owned */
};

/*
 * Creates a reader of a file's head if the file begins with an object or array; otherwise returns NULL. If `scan` is
 * not 0, the reader covers up to that many bytes of the file instead of the head. With PF_JSON_PACKED in `flags` (enum
 * pf_json_flags), the reader reads the decompressed head of a gzip file. If `names`, a list that ends in NULL, is
 * given, the function also returns NULL if the file certainly begins with an object that has none of these members.
 * Even after NULL, the caller must call pf_json_look_end; its `error` is that of the last read.
 */
struct pf_json *pf_json_look(struct pf_probe *probe, struct pf_json_look *look, unsigned flags, uint64_t scan,
                             const char *const *names);
void pf_json_look_end(struct pf_probe *probe, struct pf_json_look *look, const struct pf_error *error);

/*
 * Returns a value for `scan` of pf_json_look: PF_PROBE_SCAN if the file is called *.json, otherwise 0 (only the head is
 * examined).
 */
uint64_t pf_probe_scan(const struct pf_probe *probe);

/* Maximum number of bytes to examine of a file whose name suggests a profile. */
#define PF_PROBE_SCAN ((uint64_t)16 << 20)

/* True if the file's name ends with `ending`, ignoring case. */
bool pf_probe_is_called(const struct pf_probe *probe, const char *ending);

#endif
