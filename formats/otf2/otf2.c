/* SPDX-License-Identifier: MIT */
#include "formats/otf2/otf2.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/probe.h"

extern const struct pf_driver pf_otf2_driver;

/* ---- recognising -------------------------------------------------------------------------------- */

static bool is_anchor(const char *name)
{
    size_t size = strlen(name);
    return size > 5 && size < 256 && !strcmp(name + size - 5, ".otf2");
}

/* A search of a folder for its anchor; the first one by name wins. */
struct otf2_anchor_search {
    char name[256];
    unsigned entries, most; /* number of entries seen; the search ends at `most` of them; 0: no limit */
};

static int otf2_examine(void *arg, const char *name, unsigned char type)
{
    struct otf2_anchor_search *look = arg;
    (void)type;
    if (is_anchor(name) && (!*look->name || strcmp(name, look->name) < 0))
        strcpy(look->name, name);
    return ++look->entries == look->most;
}

static void otf2_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    struct otf2_anchor_search look = {.most = 4096};
    char magic[6];
    pf_probe_list(probe, ".", otf2_examine, &look);
    if (*look.name && pf_probe_head_of(probe, look.name, magic, sizeof magic) == sizeof magic &&
        magic[0] == OTF2_CHUNK && (magic[1] == 'B' || magic[1] == '#') && !memcmp(magic + 2, "OTF2", 4))
        result->confidence = 32;
}

/* ---- opening ------------------------------------------------------------------------------------ */

static void otf2_add_info(struct pf_build *build, const char *key, const char *value)
{
    pf_build_info(build, key, pf_slice(value, strlen(value)));
}

static void otf2_read_anchor(struct otf2_state *state, const char *name)
{
    struct pf_build *build = state->build;
    struct pf_model *model = build->model;
    struct otf2_anchor *anchor = &state->anchor;
    struct pf_input *input;
    char locations[32];
    if (pf_source_open(model->source, name, PF_RAW, &input, build->run->error) ||
        otf2_anchor_read(anchor, input, build->run->error) || pf_input_done(input, build->run->error))
        pf_run_fail(build->run);
    snprintf(model->version, sizeof model->version, "%u.%u.%u", anchor->version[0], anchor->version[1],
             anchor->version[2]);
    snprintf(locations, sizeof locations, "%" PRIu64, anchor->locations);
    otf2_add_info(build, "Creator", anchor->creator);
    otf2_add_info(build, "Machine", anchor->machine);
    otf2_add_info(build, "Description", anchor->description);
    otf2_add_info(build, "Locations", locations);
}

/* Opens the file of definitions, so that a folder without it is rejected. The definitions are read later. */
static void open_definitions(struct otf2_state *state)
{
    struct pf_build *build = state->build;
    struct otf2_reader reader = {0};
    char name[512];
    snprintf(name, sizeof name, "%s.def", state->archive);
    if (pf_source_open(build->model->source, name, PF_RAW, &state->global, build->run->error)) {
        if (build->run->error->code == ENOENT)
            pf_fail(build->run->error, EINVAL, "no file %.100s: definitions missing", name);
        pf_run_fail(build->run);
    }
    int failed = otf2_reader_open(&reader, state->global, 0, false, build->run->error);
    otf2_reader_close(&reader);
    pf_run_check(build->run, failed);
}

static const struct pf_column message_columns[OTF2_MESSAGE_COLUMNS] = {
    {"thread", PF_PARTITION, 0}, {"time", PF_PLAIN, 0},    {"event", PF_PLAIN, 0},
    {"rank", PF_PLAIN, 0},       {"peer", PF_PLAIN, 0},    {"tag", PF_PLAIN, 0},
    {"bytes", PF_PLAIN, 0},      {"request", PF_PLAIN, 0}, {"communicator", PF_PLAIN, 0},
};

static const struct pf_column reading_columns[OTF2_READING_COLUMNS] = {
    {"thread", PF_PARTITION, 0}, {"time", PF_PLAIN, 0}, {"value", PF_PLAIN, 0},
    {"unit", PF_PLAIN, 0},       {"name", PF_PLAIN, 0},
};

static const struct pf_table tables[] = {
    [OTF2_MESSAGES] = {.name = "messages",
                       .columns = message_columns,
                       .n_columns = OTF2_MESSAGE_COLUMNS,
                       .stage = PF_MODELLED,
                       .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION,
                       .ops = &pf_stored_cursor.ops},
    [OTF2_READINGS] = {.name = "readings",
                       .columns = reading_columns,
                       .n_columns = OTF2_READING_COLUMNS,
                       .stage = PF_MODELLED,
                       .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION,
                       .ops = &pf_stored_cursor.ops},
};

static const struct pf_column field_columns[] = {
    {"location", PF_PLAIN, 0}, {"type", PF_PLAIN, 0},       {"group", PF_PLAIN, 0},
    {"events", PF_PLAIN, 0},   {"group_name", PF_GROUP, 0},
};
enum { FIELDS = sizeof field_columns / sizeof *field_columns };

static const struct pf_column context_columns[] = {{"region", PF_PLAIN, 0}, {"paradigm", PF_PLAIN, 0}};

/* Returns the word for a number, or the number itself if there is no word. */
static struct pf_cell otf2_word_of(const char *const *words, size_t n, uint64_t number)
{
    return number < n ? pf_string(words[number]) : pf_uint(number);
}

static void otf2_context_cells(const struct pf_model *model, uint32_t context, struct pf_cell *cells)
{
    static const char *const paradigms[] = {"unknown", "user", "compiler",           "OpenMP",
                                            "MPI",     "CUDA", "measurement system", "Pthread"};
    const struct otf2_state *state = pf_build_state(model);
    uint32_t number = model->contexts->key[context];
    const uint64_t *region = otf2_at(&state->definitions, OTF2_REGIONS, number);
    cells[0] = pf_uint(region ? region[OTF2_ID]
                              : state->unknown[number - otf2_count(&state->definitions, OTF2_REGIONS)]);
    cells[1] =
        region ? otf2_word_of(paradigms, sizeof paradigms / sizeof *paradigms, region[OTF2_REGION_PARADIGM])
               : pf_absent();
}

static void open_archive(struct pf_build *build)
{
    struct otf2_anchor_search look = {.most = 0};
    struct otf2_state *state = build->state;
    struct pf_model *model = build->model;
    state->build = build;
    pf_run_check(build->run, pf_source_list(model->source, otf2_examine, &look, build->run->error) ? -1 : 0);
    if (!*look.name)
        pf_run_refuse(build->run, 0, "no file *.otf2");
    memcpy(state->archive, look.name, strlen(look.name) - 5);
    model->context_columns = context_columns;
    model->n_context_columns = sizeof context_columns / sizeof *context_columns;
    model->context_cells = otf2_context_cells;
    otf2_read_anchor(state, look.name);
    open_definitions(state);
}

/* ---- partitions and metrics --------------------------------------------------------------------- */

/* Adds the partition of a location. The location's id is the partition's name. */
static void add_location(struct otf2_state *state, const uint64_t *location)
{
    static const char *const types[] = {"UNKNOWN", "CPU_THREAD", "ACCELERATOR_STREAM", "METRIC"};
    struct pf_build *build = state->build;
    const struct otf2_definitions *definitions = &state->definitions;
    const uint64_t *group = otf2_find(definitions, OTF2_LOCATION_GROUPS, location[OTF2_LOCATION_GROUP]);
    char name[32];
    int size = snprintf(name, sizeof name, "%" PRIu64, location[OTF2_ID]);
    struct pf_cell item[] = {pf_uint(location[OTF2_ID]), pf_plain(name, (size_t)size)};
    struct pf_cell fields[FIELDS] = {
        otf2_text_of(definitions, location, OTF2_NAME),
        otf2_word_of(types, sizeof types / sizeof *types, location[OTF2_LOCATION_TYPE]),
        pf_uint(location[OTF2_LOCATION_GROUP]), pf_uint(location[OTF2_LOCATION_EVENTS]),
        otf2_text_of(definitions, group, OTF2_NAME)};
    pf_run_check(build->run, pf_rows_add(build->model->partitions.items, item, build->run->error));
    pf_run_check(build->run, pf_rows_add(build->model->partitions.fields, fields, build->run->error));
}

static struct pf_metric *otf2_add_metric(struct otf2_state *state, const char *name, const char *unit,
                                         const char *description)
{
    uint32_t index = pf_build_metric(state->build, name, strlen(name), unit);
    struct pf_metric *metric = &state->build->metrics[index];
    metric->description = description;
    return metric;
}

/* Adds a counter. Counters with the same name are one metric. Units are borrowed from the definitions. */
static void otf2_add_counter(struct otf2_state *state, uint32_t member)
{
    enum { REAL = 10 };
    const uint64_t *about = otf2_at(&state->definitions, OTF2_MEMBERS, member);
    struct pf_cell name = otf2_text_of(&state->definitions, about, OTF2_NAME),
                   unit = otf2_text_of(&state->definitions, about, OTF2_MEMBER_UNIT);
    if (name.type == PF_ABSENT || memchr(name.text, 0, name.size))
        return;
    uint32_t known = pf_build_find_metric(state->build, name.text, name.size);
    if (known != PF_NO_METRIC)
        state->counter[member] = known < OTF2_COUNTERS ? -2 : (int)known;
    if (state->counter[member] != -1)
        return;
    state->counter[member] = (int)state->build->n_metrics; /* PF_NO_METRIC if there are too many metrics */
    otf2_add_metric(state, name.text, unit.type == PF_TEXT ? unit.text : "",
                    "increase of the counter, without callees")
        ->type = about[OTF2_MEMBER_TYPE] == REAL ? "double" : "int";
}

/*
 * Adds a metric for each counter that accumulates and is read at each enter and leave, so that its increase can be
 * attributed to calls. Other counters are in readings.csv only.
 */
static void otf2_add_metrics(struct otf2_state *state)
{
    enum { VALUES = 15 }; /* mask of the bits of a mode for accumulated (0), absolute or relative values */
    const struct otf2_definitions *definitions = &state->definitions;
    uint32_t members = otf2_count(definitions, OTF2_MEMBERS);
    const uint64_t *class;
    state->counter = PF_OWN(state->build->run, malloc(((size_t)members + 1) * sizeof *state->counter), free);
    for (uint32_t i = 0; i < members; i++)
        state->counter[i] = -1;
    otf2_add_metric(state, "calls", "#", "number of times a region was entered")->partner = OTF2_HELD_CALLS;
    struct pf_metric *inclusive =
        otf2_add_metric(state, "calls (inc)", "#", "the same, with nested calls of the same function");
    inclusive->scope = "inclusive";
    inclusive->over_contexts = PF_OVER_ROOTS;
    inclusive->partner = OTF2_CALLS;
    otf2_add_metric(state, "time", "ns", "time in a region, without callees");
    for (uint32_t i = 0; (class = otf2_at(definitions, OTF2_CLASSES, i)); i++)
        for (uint32_t m = 0; m < class[OTF2_CLASS_COUNT] && !class[OTF2_CLASS_OCCURRENCE]; m++) {
            uint64_t id = definitions->class_members.at[class[OTF2_CLASS_FIRST] + m];
            uint32_t member = otf2_place(definitions, OTF2_MEMBERS, id);
            if (member != OTF2_NONE &&
                !(otf2_at(definitions, OTF2_MEMBERS, member)[OTF2_MEMBER_MODE] & VALUES))
                otf2_add_counter(state, member);
        }
}

static void otf2_list_locations(struct pf_build *build)
{
    struct otf2_state *state = build->state;
    const uint64_t *location;
    otf2_read_definitions(state);
    for (uint32_t i = 0; (location = otf2_at(&state->definitions, OTF2_LOCATIONS, i)); i++)
        add_location(state, location);
}

/* ---- the driver --------------------------------------------------------------------------------- */

static void read_archive(struct pf_build *build)
{
    struct otf2_state *state = build->state;
    state->n_unknown = 0; /* a failed earlier pass may have added some */
    otf2_add_metrics(state);
    otf2_follow(state);
}

static void otf2_clear(struct pf_build *build)
{
    struct otf2_state *state = build->state;
    otf2_free_definitions(&state->definitions);
    free(state->unknown);
}

static const char *const kinds[] = {"region"};

static const struct pf_build_format format = {.state = sizeof(struct otf2_state),
                                              .folder = true,
                                              .kinds = kinds,
                                              .fields = field_columns,
                                              .n_fields = FIELDS,
                                              .partitioned = true,
                                              .tables = tables,
                                              .n_tables = sizeof tables / sizeof *tables,
                                              .time_unit = "ns",
                                              .open = open_archive,
                                              .list = otf2_list_locations,
                                              .read = read_archive,
                                              .clear = otf2_clear};

const struct pf_driver pf_otf2_driver = {
    .name = "otf2",
    .title = "OTF2 archives (Score-P)",
    .version = 11,
    .matters = is_anchor,
    .directories = true,
    .kit = &format,
    .probe = otf2_probe,
    PF_BUILD_OPERATIONS,
};
