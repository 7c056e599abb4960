/* SPDX-License-Identifier: MIT */
/* Detection of profiles and stored objects. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/json/probe.h"
#include "formats/perun/perun.h"
#include "formats/probe.h"

/*
 * Confidences, in bits of evidence. JSON has no magic number, so a profile is recognised by one key of its own, or by a
 * common key and a second sign.
 */
enum { MAGIC = 32, BROKEN_MAGIC = 24, OWN_KEY = 16, COMMON_KEY = 8, NAME_ALONE = 4 };

/* Names of regions with resources. keys[0] occurs in no other format. The others are common words, so they need a second sign. */
static const char *const keys[] = {"resource_type_map", "resources", "snapshots", "global", NULL};
/* Other keys of profiles, each of which is a second sign. */
static const char *const signs[] = {"collector_info", "postprocessors", "collector",
                                    "header",         "origin",         "models"};

static bool is_one_of(const struct pf_json_token *name, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pf_json_is(name, words[i]))
            return true;
    return false;
}

struct found {
    bool map, region; /* keys[0] was seen; another of `keys` was seen */
    unsigned signs;   /* how many of `signs` were seen */
    bool any;         /* the object has at least one key */
    bool broken;      /* the JSON is malformed or truncated */
};

static bool is_enough(const struct found *found)
{
    return found->map || (found->region && found->signs);
}

/* Scans the top-level keys until there is enough evidence, or the text ends or is invalid. */
static void scan(struct pf_json *json, struct found *found, struct pf_error *error)
{
    struct pf_json_token name, value;
    if (pf_json_next(json, &name, error) != PF_JSON_OBJECT)
        return;
    int event = 0;
    while (!is_enough(found) && (event = pf_json_next(json, &name, error)) == PF_JSON_NAME) {
        found->any = true;
        found->map |= pf_json_is(&name, keys[0]);
        found->region |= is_one_of(&name, keys + 1, 3);
        found->signs += is_one_of(&name, signs, sizeof signs / sizeof *signs);
        if (!is_enough(found) && (event = pf_json_skip(json, &value, error)) < 0)
            break;
    }
    found->broken = event < 0;
}

/* Probes for JSON text. `json` is NULL for other files. */
static void probe_json(struct pf_probe *probe, struct pf_probe_result *result)
{
    bool perf = pf_probe_is_called(probe, ".perf");
    struct pf_json_look look;
    struct pf_error error = {0};
    struct found found = {0};
    struct pf_json *json =
        pf_json_look(probe, &look, 0, perf ? PF_PROBE_SCAN : pf_probe_scan(probe), perf ? NULL : keys);
    if (json)
        scan(json, &found, &error);
    pf_json_look_end(probe, &look, &error);
    /*
     * `cut` means that the file's name ends in .perf, and that its text ends or is damaged before there is enough evidence. Old releases
     * write arbitrary keys before the resources, so other keys do not rule the format out.
     */
    bool ended = error.code == ENODATA && probe->size <= PF_PROBE_SCAN;
    bool cut = perf && found.broken && (found.signs || ended);
    bool common = found.region && (found.signs || perf);
    result->confidence = found.map                                        ? OWN_KEY
                         : common || (cut && (found.signs || !found.any)) ? COMMON_KEY
                         : cut                                            ? NAME_ALONE
                                                                          : 0;
    if (result->confidence && !pf_probe_is_text(probe))
        result->confidence = 0;
    if (cut && !found.map && !common)
        snprintf(result->message, sizeof result->message, "the text ends or is damaged before any resources");
}

/* ---- stored objects ------------------------------------------------------------------------------ */

bool perun_parse_stored(const unsigned char *bytes, size_t size, struct perun_stored_header *header)
{
    char text[PERUN_STORED_HEADER_MAX + 1] = "";
    int end = 0;
    memcpy(text, bytes, size < PERUN_STORED_HEADER_MAX ? size : PERUN_STORED_HEADER_MAX);
    *header = (struct perun_stored_header){.size = strlen(text) + 1};
    if (header->size <= PERUN_STORED_HEADER_MAX && header->size <= size &&
        sscanf(text, "profile %31s %19" SCNu64 "%n", header->type, &header->length, &end) == 2 && !text[end])
        return true;
    header->size = 0;
    return false;
}

/* Probes for the header of a stored object. If "profile " is followed by something invalid, the object is damaged. */
static void probe_stored(struct pf_probe *probe, struct pf_probe_result *result)
{
    static const char word[] = "profile ";
    size_t have;
    struct perun_stored_header header;
    const unsigned char *plain = pf_probe_plain_head(probe, PERUN_STORED_HEADER_MAX, &have);
    if (have < strlen(word) || memcmp(plain, word, strlen(word)) != 0)
        return;
    bool whole = perun_parse_stored(plain, have, &header);
    result->confidence = whole ? MAGIC : BROKEN_MAGIC;
    snprintf(result->version, sizeof result->version, "stored");
    if (!whole)
        snprintf(result->message, sizeof result->message, "the header of the stored object is damaged");
}

void perun_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    probe_json(probe, result);
    if (!result->confidence)
        probe_stored(probe, result);
}
