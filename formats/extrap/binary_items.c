/* SPDX-License-Identifier: MIT */
#include "formats/extrap/binary_items.h"

#include <errno.h>

#include "formats/kit/bytes.h"

void pf_items_damage(struct pf_items *items, int code, uint64_t at, const char *word, const char *what)
{
    if (!items->broken && !items->study->failed)
        pf_fail_at(items->study->error, code, (int64_t)at, "%s%s", word, what);
    items->broken = true;
}

static void cut(struct pf_items *items)
{
    pf_items_damage(items, ENODATA, items->at, "", "the file ends inside a record");
}

uint64_t pf_items_left(const struct pf_items *items)
{
    return items->end - items->at;
}

/* The next bytes, at most PF_ITEMS_HELD of them; NULL: they are not there. */
static const unsigned char *take(struct pf_items *items, size_t size)
{
    if (items->broken || size > pf_items_left(items)) {
        cut(items);
        return NULL;
    }
    if (items->at < items->base || items->at - items->base + size > items->have) {
        size_t want = pf_items_left(items) < PF_ITEMS_HELD ? (size_t)pf_items_left(items) : PF_ITEMS_HELD;
        ssize_t got = pf_input_read(items->study->input, items->buffer, want, items->at, items->study->error);
        items->broken = got < 0;
        items->base = items->at;
        items->have = got < 0 ? 0 : (size_t)got;
        if (items->have < size) {
            cut(items);
            return NULL;
        }
    }
    const unsigned char *bytes = items->buffer + (items->at - items->base);
    items->at += size;
    return bytes;
}

int64_t pf_item_int(struct pf_items *items)
{
    const unsigned char *bytes = take(items, sizeof(int64_t));
    return bytes ? (int64_t)pf_u64(bytes, items->big_endian) : 0;
}

double pf_item_real(struct pf_items *items)
{
    uint64_t word = (uint64_t)pf_item_int(items);
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

int64_t pf_item_count(struct pf_items *items)
{
    uint64_t start = items->at;
    int64_t n = pf_item_int(items);
    if (n < 0)
        pf_items_damage(items, EBADMSG, start, "", "a count below zero");
    return n;
}

struct pf_cell pf_item_string(struct pf_items *items)
{
    uint64_t start = items->at;
    const unsigned char *bytes = take(items, sizeof(uint32_t));
    uint32_t size = bytes ? pf_u32(bytes, items->big_endian) : 0;
    if (size > PF_ITEM_MAX) {
        items->at = start;
        pf_items_damage(items, size > pf_items_left(items) ? ENODATA : EBADMSG, start, "",
                        "a string that is too long");
        return pf_text("", 0);
    }
    bytes = take(items, size);
    return bytes ? pf_text((const char *)bytes, size) : pf_text("", 0);
}

void pf_item_expect(struct pf_items *items, const char *word)
{
    uint64_t start = items->at;
    if (!pf_item_is(pf_item_string(items), word))
        pf_items_damage(items, EBADMSG, start, word, " is missing");
}

void pf_item_skip(struct pf_items *items, int64_t n, size_t size)
{
    if (n > 0 && (uint64_t)n > pf_items_left(items) / size)
        cut(items);
    else if (n > 0)
        items->at += (uint64_t)n * size;
}

void pf_items_open(struct pf_items *items, struct pf_study *study)
{
    uint64_t size = pf_input_size(study->input);
    items->study = study;
    items->end = study->end < size ? study->end : size;
    const unsigned char *order = take(items, sizeof(uint16_t));
    items->big_endian = order && pf_u16(order, false) != 1;
}
