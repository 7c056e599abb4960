/* SPDX-License-Identifier: MIT */
#include "formats/json/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "formats/input/inflate.h"
#include "formats/kit/digest.h"
#include "formats/probe.h"

/* Maximum decompressed size of a gzip file's head, in bytes: four times PF_HEAD_MAX. */
enum { INFLATED_MAX = 256 * 1024 };

/* Reads bytes of the examined part: from the head if possible, otherwise from the file. */
static ssize_t read_look(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct pf_json_look *look = arg;
    if (offset >= look->end)
        return 0;
    if (size > look->end - offset)
        size = (size_t)(look->end - offset);
    if (offset + size <= look->have) {
        memcpy(buffer, look->head + offset, size);
        return (ssize_t)size;
    }
    ssize_t got = look->probe ? pf_probe_read(look->probe, buffer, size, offset) : 0;
    return got < 0 ? pf_fail(error, errno, "%s", strerror(errno)) : got;
}

/*
 * Returns the first byte after a byte order mark and whitespace; 0 if there is none. This is a cheap check, since most
 * files are not JSON.
 */
static unsigned char first_of(const unsigned char *head, size_t size)
{
    size_t at = size >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
    while (at < size && (head[at] == ' ' || head[at] == '\t' || head[at] == '\r' || head[at] == '\n'))
        at++;
    return at < size ? head[at] : 0;
}

/* Replaces the head by its decompressed text. */
static void json_probe_inflate_head(struct pf_json_look *look, struct pf_error *error)
{
    look->inflated = malloc(INFLATED_MAX);
    ssize_t got = look->inflated
                      ? pf_inflate_head(look->head, look->have, look->inflated, INFLATED_MAX, error)
                      : pf_fail_memory(error);
    look->head = look->inflated;
    look->have = got > 0 ? (size_t)got : 0;
    look->probe = NULL;
}

/* ---- members that the drivers share -------------------------------------------------------------- */

static uint64_t *member_word(struct pf_probe *probe, const char *name, size_t size, uint64_t *bit)
{
    uint64_t hash = pf_digest(0, name, size);
    *bit = (uint64_t)1 << hash % 64;
    return &probe->members.names[hash / 64 % (sizeof probe->members.names / sizeof *probe->members.names)];
}

/*
 * Records the member names of the top-level object. After this one pass over the text, most drivers need no pass of
 * their own. Malformed text is left to the drivers, since some accept it.
 */
static void learn_members(struct pf_probe *probe)
{
    struct pf_json_look look;
    struct pf_json_token name, value;
    struct pf_error error = {0};
    struct pf_json *json = pf_json_look(probe, &look, PF_JSON_PACKED, pf_probe_scan(probe), NULL);
    bool object = json && pf_json_next(json, &name, &error) == PF_JSON_OBJECT;
    int event = 0;
    while (object && (event = pf_json_next(json, &name, &error)) == PF_JSON_NAME) {
        uint64_t bit, *word = member_word(probe, name.text, name.size, &bit);
        *word |= bit;
        if ((event = pf_json_skip(json, &value, &error)) < 0)
            break;
    }
    bool whole = !json || event == PF_JSON_OBJECT_END;
    probe->members.end = whole ? UINT64_MAX : event < 0 && error.code == ENODATA ? look.end : 0;
    pf_json_look_end(probe, &look, &error);
}

/* False if the first `end` bytes of the file certainly hold an object without any of the members. */
static bool may_have_member(struct pf_probe *probe, uint64_t end, const char *const *names)
{
    if (!probe->members.learnt) {
        probe->members.learnt = true;
        learn_members(probe);
    }
    bool may = end > probe->members.end;
    for (; *names && !may; names++) {
        uint64_t bit;
        may = *member_word(probe, *names, strlen(*names), &bit) & bit;
    }
    return may;
}

/* ---- looks --------------------------------------------------------------------------------------- */

struct pf_json *pf_json_look(struct pf_probe *probe, struct pf_json_look *look, unsigned flags, uint64_t scan,
                             const char *const *names)
{
    struct pf_error error = {0};
    size_t have;
    *look = (struct pf_json_look){.probe = probe};
    if (probe->directory)
        return NULL;
    look->head = pf_probe_head(probe, 512, &look->have);
    bool packed = pf_inflate_is_gzip(look->head, look->have);
    unsigned char first = packed ? '{' : first_of(look->head, look->have);
    if ((packed && !(flags & PF_JSON_PACKED)) || (first != '{' && first != '['))
        return NULL;
    look->head = pf_probe_head(probe, PF_HEAD_MAX, &have);
    look->have = have;
    uint64_t end = !scan ? have : scan < probe->size ? scan : probe->size;
    if (names && !may_have_member(probe, packed ? 1 : end, names))
        return NULL;
    if (packed)
        json_probe_inflate_head(look, &error);
    first = first_of(look->head, look->have);
    if (first == '{' || first == '[') {
        look->end = packed ? look->have : end;
        look->json = pf_json_new_reading(read_look, look, flags, 0);
        if (!look->json)
            pf_fail_memory(&error);
    }
    pf_probe_failed(probe, error.code);
    return look->json;
}

void pf_json_look_end(struct pf_probe *probe, struct pf_json_look *look, const struct pf_error *error)
{
    pf_probe_failed(probe, error->code);
    pf_json_free(look->json);
    free(look->inflated);
}

bool pf_probe_is_called(const struct pf_probe *probe, const char *ending)
{
    size_t size = strlen(probe->name), end = strlen(ending);
    return size >= end && !strcasecmp(probe->name + size - end, ending);
}

uint64_t pf_probe_scan(const struct pf_probe *probe)
{
    return pf_probe_is_called(probe, ".json") ? PF_PROBE_SCAN : 0;
}
