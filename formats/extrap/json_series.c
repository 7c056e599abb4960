/* SPDX-License-Identifier: MIT */
#include "formats/extrap/json_values.h"

static uint32_t add_series(struct pf_json_study *reader, const struct pf_json_token *start, uint32_t context,
                           uint32_t metric, bool anew, struct pf_error *error)
{
    struct pf_experiment *experiment = reader->experiment;
    size_t before = experiment->n_series;
    uint32_t series = anew ? pf_experiment_series_anew(experiment, context, metric, error)
                           : pf_experiment_series(experiment, context, metric, error);
    if (experiment->n_series > before) {
        experiment->series[series].line = start->line;
        experiment->series[series].offset = (int64_t)start->offset;
    }
    return series;
}

/* The array of a metric's measurements. */
static int read_series(struct pf_json_study *reader, const struct pf_json_token *start, uint32_t context,
                       uint32_t metric, const struct pf_json_measurements *kind, struct pf_error *error)
{
    struct pf_json_token token;
    int event;
    if (start->event != PF_JSON_ARRAY) {
        if (pf_json_study_note(reader, PF_BAD_MEMBER, start, "the measurements of a metric are no array",
                               error) < 0)
            return -1;
        return pf_json_study_ignore(reader, start, error);
    }
    uint32_t series = add_series(reader, start, context, metric, kind->last_wins, error);
    if (series == PF_NO_SERIES)
        return -1;
    while ((event = pf_json_study_next(reader, &token, error)) > 0 && event != PF_JSON_ARRAY_END) {
        if (event == PF_JSON_OBJECT) {
            if (kind->read(reader, &token, series, kind->arg, error) < 0)
                return -1;
        } else if (pf_json_study_note(reader, PF_BAD_MEMBER, &token, "a measurement is no object", error) <
                       0 ||
                   pf_json_study_ignore(reader, &token, error) < 0) {
            return -1;
        }
    }
    return event < 0 ? -1 : 0;
}

/* The metrics of a call path; `start` is the token of its value. */
static int read_callpath(struct pf_json_study *reader, const struct pf_json_token *start, uint32_t context,
                         const struct pf_json_measurements *kind, struct pf_error *error)
{
    struct pf_json_token token;
    int event;
    if (start->event != PF_JSON_OBJECT) {
        if (pf_json_study_note(reader, PF_BAD_MEMBER, start, "what a call path has is no object", error) < 0)
            return -1;
        return pf_json_study_ignore(reader, start, error);
    }
    while ((event = pf_json_study_next(reader, &token, error)) == PF_JSON_NAME) {
        if (pf_study_check_text(reader->study, &token, error) < 0)
            return -1;
        uint32_t metric = pf_experiment_metric(reader->experiment, token.text, token.size, error);
        if (metric == PF_NO_STRING || pf_json_study_next(reader, &token, error) < 0 ||
            read_series(reader, &token, context, metric, kind, error) < 0)
            return -1;
    }
    return event < 0 ? -1 : 0;
}

/* What a call path of this name had before is dropped. */
static int drop_earlier(struct pf_json_study *reader, uint32_t context, const struct pf_json_token *name,
                        struct pf_error *error)
{
    struct pf_experiment *experiment = reader->experiment;
    uint32_t series = pf_experiment_data_of(experiment, context)->first_series;
    if (series == PF_NO_SERIES)
        return 0;
    for (; series != PF_NO_SERIES; series = experiment->series[series].next)
        experiment->series[series].dropped = true;
    return pf_json_study_note(reader, PF_REPEATED_NAME, name,
                              "a call path for a second time: only what comes last is kept", error);
}

int pf_json_study_measurements(struct pf_json_study *reader, const struct pf_json_token *start,
                               const struct pf_json_measurements *kind, struct pf_error *error)
{
    struct pf_json_token token;
    int event;
    if (start->event != PF_JSON_OBJECT) {
        if (pf_json_study_note(reader, PF_BAD_MEMBER, start, "the measurements are no object", error) < 0)
            return -1;
        return pf_json_study_ignore(reader, start, error);
    }
    while ((event = pf_json_study_next(reader, &token, error)) == PF_JSON_NAME) {
        uint32_t context = pf_json_study_callpath(reader, &token, error);
        if (context == PF_NO_CONTEXT ||
            (kind->last_wins && drop_earlier(reader, context, &token, error) < 0) ||
            pf_json_study_next(reader, &token, error) < 0 ||
            read_callpath(reader, &token, context, kind, error) < 0)
            return -1;
    }
    return event < 0 ? -1 : 0;
}
