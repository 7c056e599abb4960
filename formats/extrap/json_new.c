/* SPDX-License-Identifier: MIT */
#include "formats/extrap/json_study.h"
#include "formats/extrap/stored.h"
#include "formats/json/probe.h"
#include "formats/probe.h"

/*
 * Reader of the newer JSON form, which is {"parameters": [names], "measurements": {call path: {metric: [{"point": [...],
 * "values": [...]}, ...]}}}. `values` has a number per repetition, or an array per repetition, which has a number per
 * process. If a call path or metric appears twice, the second replaces the first, as in Python.
 */
struct newer {
    struct pf_json_study reader; /* must be first */
    struct pf_json_point point;  /* of the current measurement */
    bool has_values;
};

static int take_newer_values(const struct pf_json_walk *walk)
{
    struct newer *newer = walk->into;
    newer->has_values = true;
    return pf_json_take_values(walk);
}

static const struct pf_json_member measurement_members[] = {
    PF_MEMBER("point", PF_JSON_END, pf_json_take_point, struct newer, point),
    PF_MEMBER_OF_ALL("values", PF_JSON_END, take_newer_values),
    PF_MEMBERS_END,
};

/* Reads a measurement. If it is truncated, keeps the values before the cut. */
static int take_newer_measurement(const struct pf_json_walk *walk)
{
    struct newer *newer = walk->into;
    struct pf_json_study *reader = &newer->reader;
    const struct pf_json_token *start = walk->token;
    newer->point.known = newer->has_values = false;
    int got = pf_json_object(walk, newer, measurement_members);
    uint32_t point = PF_NO_POINT;
    if (newer->point.known)
        point = pf_study_point_at(reader->study, &newer->point.of, start->line, (int64_t)start->offset);
    if (newer->point.known && newer->has_values)
        pf_json_study_add(reader, reader->series, point, true);
    else if (!got)
        pf_json_study_note(reader, PF_BAD_MEMBER, start, "a measurement without a point or values");
    return got;
}

static int take_newer_measurements(const struct pf_json_walk *walk)
{
    return pf_json_measurements(walk, true, take_newer_measurement);
}

static void read_newer(struct pf_study *study)
{
    static const struct pf_json_member members[] = {
        PF_MEMBER_OF_ALL("parameters", PF_JSON_END, pf_json_take_parameters),
        PF_MEMBER_OF_ALL("measurements", PF_JSON_OBJECT, take_newer_measurements),
        PF_MEMBERS_END,
    };
    pf_json_study_read(pf_json_study_open(study, sizeof(struct newer), NULL, 0), members);
}

/* ---- the driver --------------------------------------------------------------------------------- */

static void json_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    static const struct pf_json_member members[] = {
        PF_MEMBER_OF_ALL("parameters", PF_JSON_ARRAY, pf_json_count_down),
        PF_MEMBER_OF_ALL("measurements", PF_JSON_OBJECT, pf_json_count_down),
        PF_MEMBERS_END,
    };
    unsigned missing = 2;
    if (pf_probe_object(probe, 0, pf_probe_scan(probe), &missing, members))
        result->confidence = 16;
}

const struct pf_driver pf_extrap_json_driver = {
    .name = "extrap-json",
    .title = "Extra-P JSON file",
    .version = 7,
    .text = true,
    .probe = json_probe,
    .kit = &(const struct pf_study_format){read_newer, PF_STUDY_HEAD, false},
    PF_STUDY_OPERATIONS,
};
