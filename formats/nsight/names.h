/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_NAMES_H
#define PF_NSIGHT_NAMES_H

#include "formats/kit/strings.h"
#include "formats/nsight/db.h"
#include "formats/nsight/keys.h"

/*
 * What numbers of StringIds stand for: looked up in the export once, then known. Adding is for one thread; what has
 * been added is there for all.
 */
struct nsight_names {
    struct pf_strings *strings; /* borrowed: where the names are */
    struct nsight_keys ids;
    uint32_t *string; /* of an id, by its number in `ids` */
    size_t room;
    uint64_t left; /* bytes of further names: to be set to what all together may have */
};

/* The number in `strings` of the name of this id, "#ID" if it has none. PF_NO_STRING with *error filled. */
uint32_t nsight_name(struct nsight_names *names, struct nsight_db *db, int64_t id, struct pf_error *error);

/* A name that has been asked for before, as a cell; absent for any other. */
struct pf_cell nsight_name_cell(const struct nsight_names *names, int64_t id);

void nsight_names_free(struct nsight_names *names);

#endif
