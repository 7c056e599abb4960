/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/print.h"

/* Longer names are cut. */
enum { NAME_MAX_BYTES = 64 * 1024 };

static uint32_t look_up(struct nsight_names *names, struct nsight_db *db, int64_t id, struct pf_error *error)
{
    size_t size;
    const char *text;
    if (nsight_string(db, id, &text, &size, error))
        return PF_NO_STRING;
    size = size < NAME_MAX_BYTES ? size : NAME_MAX_BYTES;
    if (text && size <= names->left) {
        names->left -= size;
        return pf_intern(names->strings, text, size, error);
    }
    char number[1 + PF_NUMBER_MAX] = "#";
    return pf_intern(names->strings, number, (size_t)(pf_print_int(number + 1, id) - number), error);
}

uint32_t nsight_name(struct nsight_names *names, struct nsight_db *db, int64_t id, struct pf_error *error)
{
    struct nsight_key key = {{(uint64_t)id}};
    uint32_t number = nsight_keys_find(&names->ids, &key);
    if (number != NSIGHT_NONE)
        return names->string[number];
    if (pf_array_room(&names->string, &names->room, names->ids.count, sizeof *names->string, error))
        return PF_NO_STRING;
    uint32_t string = look_up(names, db, id, error);
    if (string == PF_NO_STRING || (number = nsight_keys_add(&names->ids, &key, error)) == NSIGHT_NONE)
        return PF_NO_STRING;
    names->string[number] = string;
    return string;
}

struct pf_cell nsight_name_cell(const struct nsight_names *names, int64_t id)
{
    struct nsight_key key = {{(uint64_t)id}};
    uint32_t number = nsight_keys_find(&names->ids, &key);
    return number == NSIGHT_NONE ? pf_absent() : pf_interned(names->strings, names->string[number]);
}

void nsight_names_free(struct nsight_names *names)
{
    nsight_keys_free(&names->ids);
    free(names->string);
    *names = (struct nsight_names){0};
}
