/* SPDX-License-Identifier: MIT */
/* Recognising profiles and stored objects. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "formats/perun/perun.h"

/* Bits of evidence. Plain JSON has no magic number: one key that nobody else has, or a common one and a second sign. */
enum { MAGIC = 32, BROKEN_MAGIC = 24, OWN_KEY = 16, COMMON_KEY = 8 };

/* How far a file is looked through whose name says that it may be a profile. */
#define SCAN_MAX ((uint64_t)16 << 20)

/* The keys of regions of resources: common words, all but one. */
static const char *const regions[] = {"resources", "snapshots", "global"};
/* Other keys of profiles. */
static const char *const signs[] = {"collector_info", "postprocessors", "collector",
                                    "header",         "origin",         "models"};

struct text {
    struct pf_probe *probe;
    const unsigned char *head;
    size_t have;
    uint64_t limit;
};

/* The head from memory, what follows from the file. */
static ssize_t read_text(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct text *text = arg;
    (void)error;
    if (offset >= text->limit)
        return 0;
    if (size > text->limit - offset)
        size = (size_t)(text->limit - offset);
    size_t from_head = offset < text->have ? text->have - (size_t)offset : 0;
    if (from_head > size)
        from_head = size;
    if (from_head)
        memcpy(buffer, text->head + offset, from_head);
    ssize_t got = 0;
    while (from_head < size && (got = pf_probe_read(text->probe, (char *)buffer + from_head, size - from_head,
                                                    offset + from_head)) > 0)
        from_head += (size_t)got;
    return (ssize_t)from_head;
}

static bool is_one_of(const struct pf_json_token *name, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pf_json_is(name, words[i]))
            return true;
    return false;
}

struct found {
    bool map, region;
    unsigned signs;
    bool any;    /* name at all */
    bool broken; /* the text is no JSON, as far as it was looked at */
};

static bool is_enough(const struct found *found)
{
    return found->map || (found->region && found->signs);
}

/* Goes through the keys of the top level as far as there is text, or until it knows. */
static void scan(struct pf_json *json, struct found *found, struct pf_error *error)
{
    struct pf_json_token name, value;
    if (pf_json_next(json, &name, error) != PF_JSON_OBJECT)
        return;
    int event = 0;
    while (!is_enough(found) && (event = pf_json_next(json, &name, error)) == PF_JSON_NAME) {
        found->any = true;
        found->map |= pf_json_is(&name, "resource_type_map");
        found->region |= is_one_of(&name, regions, sizeof regions / sizeof *regions);
        found->signs += is_one_of(&name, signs, sizeof signs / sizeof *signs);
        if (!is_enough(found) && (event = pf_json_skip(json, &value, error)) < 0)
            break;
    }
    found->broken = event < 0;
}

static bool has_ending(const char *name, const char *ending)
{
    size_t size = strlen(name), end = strlen(ending);
    return size >= end && !strcasecmp(name + size - end, ending);
}

static void probe_json(struct pf_probe *probe, struct pf_verdict *verdict)
{
    bool perf = has_ending(probe->name, ".perf"), json = perf || has_ending(probe->name, ".json");
    struct text text = {.probe = probe};
    struct found found = {0};
    text.head = pf_probe_head(probe, PF_HEAD_MAX, &text.have);
    text.limit = json ? SCAN_MAX : text.have;
    struct pf_json *reader = pf_json_new_reading(read_text, &text, 0, 0);
    struct pf_error error = {.code = reader ? 0 : ENOMEM};
    if (reader)
        scan(reader, &found, &error);
    pf_json_free(reader);
    pf_probe_failed(probe, error.code);
    /* One that was cut off before its resources shows at least whose it is; before its first name, there is nothing else. */
    bool cut = perf && found.broken && (found.signs > 1 || (!found.any && error.code == ENODATA));
    bool common = found.region && (found.signs || perf);
    verdict->confidence = found.map ? OWN_KEY : common || cut ? COMMON_KEY : 0;
    if (cut && !found.map && !common)
        snprintf(verdict->message, sizeof verdict->message,
                 "the text ends or is damaged before any resources");
}

/* ---- stored objects ------------------------------------------------------------------------------ */

static const char word[] = "profile ";

bool perun_is_stored(const unsigned char *bytes, size_t size)
{
    return size >= sizeof word - 1 && !memcmp(bytes, word, sizeof word - 1);
}

bool perun_parse_stored(const unsigned char *bytes, size_t size, struct perun_stored_header *header)
{
    size_t limit = size < PERUN_STORED_HEADER_MAX ? size : PERUN_STORED_HEADER_MAX;
    const unsigned char *end = perun_is_stored(bytes, size) ? memchr(bytes, 0, limit) : NULL;
    if (!end)
        return false;
    const unsigned char *type = bytes + sizeof word - 1;
    const unsigned char *blank = memrchr(type, ' ', (size_t)(end - type));
    if (!blank || blank == type || blank + 1 == end || (size_t)(blank - type) >= sizeof header->type)
        return false;
    memcpy(header->type, type, (size_t)(blank - type));
    header->type[blank - type] = 0;
    header->length = 0;
    for (const unsigned char *digit = blank + 1; digit < end; digit++) {
        if (*digit < '0' || *digit > '9' || header->length > (UINT64_MAX - 9) / 10)
            return false;
        header->length = header->length * 10 + (uint64_t)(*digit - '0');
    }
    header->size = (size_t)(end - bytes) + 1;
    return true;
}

/* An object by its header; one that is called so and goes on otherwise is one too, but broken. */
static void probe_stored(struct pf_probe *probe, struct pf_verdict *verdict)
{
    size_t have;
    struct perun_stored_header header;
    const unsigned char *plain = pf_probe_plain_head(probe, PERUN_STORED_HEADER_MAX, &have);
    if (!perun_is_stored(plain, have))
        return;
    bool whole = perun_parse_stored(plain, have, &header);
    verdict->confidence = whole ? MAGIC : BROKEN_MAGIC;
    snprintf(verdict->version, sizeof verdict->version, "stored");
    if (!whole)
        snprintf(verdict->message, sizeof verdict->message, "the header of the stored object is damaged");
}

/* The first byte that is no blank, behind a byte order mark. */
static unsigned char first_of(const unsigned char *head, size_t have)
{
    size_t at = have >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
    while (at < have && strchr(" \t\r\n", head[at]) && head[at])
        at++;
    return at < have ? head[at] : 0;
}

void perun_probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    size_t have;
    const unsigned char *head = pf_probe_head(probe, 4096, &have);
    if (first_of(head, have) == '{')
        probe_json(probe, verdict);
    else
        probe_stored(probe, verdict);
}
