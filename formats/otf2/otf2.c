/* SPDX-License-Identifier: MIT */
#include "formats/otf2/otf2.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"

extern const struct pf_driver pf_otf2_driver;

/* ---- recognising -------------------------------------------------------------------------------- */

static bool is_anchor(const char *name)
{
    size_t size = strlen(name);
    return size > 5 && size < 256 && !strcmp(name + size - 5, ".otf2");
}

/* Of several anchors in a folder the first by name counts. */
static void take_first(char best[256], const char *name)
{
    if (is_anchor(name) && (!*best || strcmp(name, best) < 0))
        strcpy(best, name);
}

struct look {
    char name[256];
    unsigned entries;
};

static int look_at(void *arg, const char *name, unsigned char type)
{
    enum { ENTRIES_MAX = 4096 };
    struct look *look = arg;
    (void)type;
    take_first(look->name, name);
    return ++look->entries == ENTRIES_MAX;
}

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    struct look look = {{0}, 0};
    char magic[6];
    pf_probe_list(probe, ".", look_at, &look);
    if (*look.name && pf_probe_head_of(probe, look.name, magic, sizeof magic) == sizeof magic &&
        magic[0] == OTF2_CHUNK && (magic[1] == 'B' || magic[1] == '#') && !memcmp(magic + 2, "OTF2", 4))
        verdict->confidence = 32;
}

/* ---- opening ------------------------------------------------------------------------------------ */

static int list_entry(void *arg, const char *name, unsigned char type)
{
    (void)type;
    take_first(arg, name);
    return 0;
}

static int add_info(struct pf_profile *profile, const char *key, const char *value, struct pf_error *error)
{
    struct pf_cell cells[] = {pf_string(key), pf_string(value)};
    return *value ? pf_rows_add(profile->info, cells, error) : 0;
}

static int read_anchor(struct pf_profile *profile, const char *name, struct pf_error *error)
{
    struct otf2_state *state = otf2_state(profile);
    struct otf2_anchor *anchor = &state->anchor;
    struct pf_input *input;
    char locations[32];
    if (pf_source_open(profile->source, name, &input, error) || otf2_anchor_read(anchor, input, error) ||
        pf_input_done(input, error))
        return -1;
    snprintf(profile->version, sizeof profile->version, "%u.%u.%u", anchor->version[0], anchor->version[1],
             anchor->version[2]);
    snprintf(locations, sizeof locations, "%" PRIu64, anchor->locations);
    return add_info(profile, "Creator", anchor->creator, error) ||
                   add_info(profile, "Machine", anchor->machine, error) ||
                   add_info(profile, "Description", anchor->description, error) ||
                   add_info(profile, "Locations", locations, error) ||
                   add_info(profile, "Time unit", "ns", error)
               ? -1
               : 0;
}

/* The definitions are read later: but without any there is no profile. */
static int open_definitions(struct pf_profile *profile, struct pf_error *error)
{
    struct otf2_state *state = otf2_state(profile);
    struct otf2_reader reader = {0};
    char name[512];
    snprintf(name, sizeof name, "%s.def", state->archive);
    if (pf_source_open(profile->source, name, &state->global, error))
        return error->code == ENOENT
                   ? pf_fail(error, EINVAL, "no file %.100s: the definitions are missing", name)
                   : -1;
    int failed = otf2_reader_open(&reader, state->global, 0, false, error);
    otf2_reader_close(&reader);
    return failed;
}

static const struct pf_column value_columns[PF_SUMS_COLUMNS] = {
    [PF_SUMS_PARTITION] = {"thread", PF_PARTITION, 0}, [PF_SUMS_CONTEXT] = {"context", PF_CONTEXT, 0},
    [PF_SUMS_METRIC] = {"metric", PF_METRIC, 0},       [PF_SUMS_VALUE] = {"value", PF_PLAIN, 0},
    [PF_SUMS_NAME] = {"name", PF_CONTEXT_NAME, 0},
};

static const struct pf_table tables[] = {
    {.name = "values",
     .columns = value_columns,
     .n_columns = PF_SUMS_COLUMNS,
     .stage = PF_MODELLED,
     .flags = PF_SUMS_FLAGS,
     .ops = &pf_sums_cursor},
    {.name = "trace",
     .columns = pf_spans_columns,
     .n_columns = PF_SPANS_COLUMNS,
     .stage = PF_DERIVED,
     .flags = PF_SPANS_FLAGS,
     .ops = &pf_spans_cursor,
     .user = offsetof(struct otf2_state, spans)},
    {.name = "messages",
     .columns = otf2_message_columns,
     .n_columns = OTF2_MESSAGE_COLUMNS,
     .stage = PF_PARTITIONED,
     .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION,
     .ops = &otf2_events_cursor,
     .user = OTF2_MESSAGES},
    {.name = "readings",
     .columns = otf2_reading_columns,
     .n_columns = OTF2_READING_COLUMNS,
     .stage = PF_PARTITIONED,
     .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION,
     .ops = &otf2_events_cursor,
     .user = OTF2_READINGS},
};

static const struct pf_column field_columns[] = {
    {"location", PF_PLAIN, 0}, {"type", PF_PLAIN, 0},       {"group", PF_PLAIN, 0},
    {"events", PF_PLAIN, 0},   {"group_name", PF_PLAIN, 0},
};
enum { FIELDS = sizeof field_columns / sizeof *field_columns };

static const struct pf_column context_columns[] = {{"region", PF_PLAIN, 0}, {"paradigm", PF_PLAIN, 0}};

static struct pf_cell word(const char *const *words, size_t n, uint8_t number)
{
    return number < n ? pf_string(words[number]) : pf_uint(number);
}

static void context_cells(const struct pf_profile *profile, uint32_t context, struct pf_cell *cells)
{
    static const char *const paradigms[] = {"unknown", "user", "compiler",           "OpenMP",
                                            "MPI",     "CUDA", "measurement system", "Pthread"};
    const struct otf2_state *state = otf2_state(profile);
    uint32_t region = profile->contexts->key[context],
             regions = state->definitions.things[OTF2_REGIONS].count;
    bool defined = region < regions;
    cells[0] =
        pf_uint(defined ? otf2_regions(&state->definitions)[region].id : state->unknown[region - regions]);
    cells[1] = defined ? word(paradigms, sizeof paradigms / sizeof *paradigms,
                              otf2_regions(&state->definitions)[region].paradigm)
                       : pf_absent();
}

static int open_archive(struct pf_profile *profile, struct pf_error *error)
{
    char name[256] = "";
    struct otf2_state *state = profile->state = calloc(1, sizeof *state);
    if (!state)
        return pf_fail_memory(error);
    if (pf_source_list(profile->source, list_entry, name, error))
        return -1;
    if (!*name)
        return pf_fail(error, EINVAL, "no file *.otf2");
    state->archive = strndup(name, strlen(name) - 5);
    if (!state->archive)
        return pf_fail_memory(error);
    profile->time_unit = "ns";
    profile->partitions.singular = "thread";
    profile->partitions.plural = "threads";
    profile->partitions.field_columns = field_columns;
    profile->partitions.n_fields = FIELDS;
    profile->partitions.fields_stage = PF_PARTITIONED;
    profile->context_columns = context_columns;
    profile->n_context_columns = sizeof context_columns / sizeof *context_columns;
    profile->context_cells = context_cells;
    profile->metrics_stage = PF_MODELLED;
    profile->tables = profile->cells = tables;
    profile->n_tables = sizeof tables / sizeof *tables;
    profile->cells_value = PF_SUMS_VALUE;
    return read_anchor(profile, name, error) || open_definitions(profile, error) ? -1 : 0;
}

/* ---- partitions and metrics --------------------------------------------------------------------- */

static int add_location(struct pf_profile *profile, uint32_t i, struct pf_error *error)
{
    static const char *const types[] = {"UNKNOWN", "CPU_THREAD", "ACCELERATOR_STREAM", "METRIC"};
    const struct otf2_definitions *definitions = &otf2_state(profile)->definitions;
    const struct otf2_location *location = &otf2_locations(definitions)[i];
    const struct otf2_location_group *groups = definitions->things[OTF2_LOCATION_GROUPS].items;
    uint32_t group = otf2_find(definitions, OTF2_LOCATION_GROUPS, location->group);
    char name[32];
    int size = snprintf(name, sizeof name, "%" PRIu64, location->id);
    struct pf_cell item[] = {pf_uint(location->id), pf_plain(name, (size_t)size)};
    struct pf_cell fields[FIELDS] = {
        otf2_string(definitions, location->name), word(types, sizeof types / sizeof *types, location->type),
        pf_uint(location->group), pf_uint(location->announced),
        group == OTF2_NONE ? pf_absent() : otf2_string(definitions, groups[group].name)};
    return pf_rows_add(profile->partitions.items, item, error) ||
                   pf_rows_add(profile->partitions.fields, fields, error)
               ? -1
               : 0;
}

static int add_locations(struct pf_profile *profile, struct pf_error *error)
{
    profile->partitions.items = pf_rows_new(2);
    profile->partitions.fields = pf_rows_new(FIELDS);
    if (!profile->partitions.items || !profile->partitions.fields)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < otf2_state(profile)->definitions.things[OTF2_LOCATIONS].count; i++)
        if (add_location(profile, i, error))
            return -1;
    return 0;
}

static int add_metric(struct otf2_state *state, const char *name, const char *unit, const char *type,
                      const char *description, struct pf_error *error)
{
    if (pf_array_room(&state->metrics, &state->metrics_room, state->n_metrics, sizeof *state->metrics, error))
        return -1;
    state->metrics[state->n_metrics] = (struct pf_metric){.id = (int64_t)state->n_metrics,
                                                          .name = name,
                                                          .unit = unit,
                                                          .scope = "exclusive",
                                                          .type = type,
                                                          .description = description,
                                                          .partner = PF_NO_PARTNER};
    state->n_metrics++;
    return 0;
}

/* Counters of one name are one metric. Their names and units are borrowed from the definitions. */
static int add_counter(struct otf2_state *state, uint32_t member, struct pf_error *error)
{
    enum { REAL = 10 };
    const struct otf2_member *about = &otf2_members(&state->definitions)[member];
    struct pf_cell name = otf2_string(&state->definitions, about->name),
                   unit = otf2_string(&state->definitions, about->unit);
    if (name.type == PF_ABSENT || memchr(name.text, 0, name.size))
        return 0;
    for (size_t i = 0; i < state->n_metrics && state->counter[member] < 0; i++)
        if (!strcmp(state->metrics[i].name, name.text))
            state->counter[member] = i < OTF2_COUNTERS ? -2 : (int)i;
    if (state->counter[member] != -1)
        return 0;
    state->counter[member] = (int)state->n_metrics;
    return add_metric(state, name.text, unit.type == PF_TEXT ? unit.text : "",
                      about->type == REAL ? "double" : "int",
                      "what the counter counts meanwhile, callees left out", error);
}

/* Counters that are read at each enter and leave and only grow tell what calls cost; others stand in readings.csv alone. */
static int add_metrics(struct otf2_state *state, struct pf_error *error)
{
    enum { VALUES = 15 }; /* of the mode: whether they accumulate (0), are absolute or relative */
    const struct otf2_definitions *definitions = &state->definitions;
    const struct otf2_class *classes = definitions->things[OTF2_CLASSES].items;
    uint32_t members = definitions->things[OTF2_MEMBERS].count;
    state->counter = malloc(((size_t)members + 1) * sizeof *state->counter);
    if (!state->counter)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < members; i++)
        state->counter[i] = -1;
    if (add_metric(state, "calls", "#", "int", "how often a region was entered", error) ||
        add_metric(state, "calls (inc)", "#", "int", "the same with what it calls of the same region",
                   error) ||
        add_metric(state, "time", "ns", "int", "time in a region, callees left out", error))
        return -1;
    state->metrics[OTF2_HELD_CALLS].scope = "inclusive";
    state->metrics[OTF2_HELD_CALLS].over_contexts = PF_OVER_ROOTS;
    state->metrics[OTF2_HELD_CALLS].partner = OTF2_CALLS;
    state->metrics[OTF2_CALLS].partner = OTF2_HELD_CALLS;
    for (uint32_t i = 0; i < definitions->things[OTF2_CLASSES].count; i++)
        for (uint32_t m = 0; m < classes[i].count && classes[i].strict; m++) {
            uint32_t member =
                otf2_find(definitions, OTF2_MEMBERS, definitions->class_members[classes[i].first + m]);
            if (member != OTF2_NONE && !(otf2_members(definitions)[member].mode & VALUES) &&
                add_counter(state, member, error))
                return -1;
        }
    return 0;
}

static int load_partitions(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct otf2_state *state = otf2_state(profile);
    size_t warnings = pf_rows_count(profile->warnings);
    if (!otf2_definitions_read(&state->definitions, profile, state->global, &state->anchor, pass, error) &&
        !otf2_files_open(&state->files, profile->source, state->archive, &state->anchor,
                         state->definitions.things[OTF2_LOCATIONS].count, error) &&
        !add_metrics(state, error) && !add_locations(profile, error)) {
        profile->metrics = state->metrics;
        profile->n_metrics = state->n_metrics;
        return 0;
    }
    /* As it was before this load. */
    otf2_definitions_free(&state->definitions);
    otf2_files_close(&state->files);
    free(state->metrics);
    free(state->counter);
    state->metrics = NULL;
    state->counter = NULL;
    state->n_metrics = state->metrics_room = 0;
    pf_rows_free(profile->partitions.items);
    pf_rows_free(profile->partitions.fields);
    profile->partitions.items = profile->partitions.fields = NULL;
    pf_rows_cut(profile->warnings, warnings);
    return -1;
}

/* ---- the model ---------------------------------------------------------------------------------- */

/* Where the regions stand. */
static int add_places(struct pf_profile *profile, struct pf_error *error)
{
    const struct otf2_definitions *definitions = &otf2_state(profile)->definitions;
    struct pf_tree *tree = profile->contexts;
    if (pf_array_resize(&tree->file, tree->count, sizeof *tree->file, error) ||
        pf_array_resize(&tree->line, tree->count, sizeof *tree->line, error))
        return -1;
    for (uint32_t i = 0; i < tree->count; i++) {
        bool defined = tree->key[i] < definitions->things[OTF2_REGIONS].count;
        const struct otf2_region *region = defined ? &otf2_regions(definitions)[tree->key[i]] : NULL;
        struct pf_cell file = region ? otf2_string(definitions, region->file) : pf_absent();
        tree->line[i] = region ? region->line : 0;
        tree->file[i] = file.type == PF_TEXT && file.size
                            ? pf_intern(tree->strings, file.text, file.size, error)
                            : PF_NO_STRING;
        if (file.type == PF_TEXT && file.size && tree->file[i] == PF_NO_STRING)
            return -1;
    }
    return 0;
}

static int load_model(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    static const char *const kinds[] = {"region"};
    struct otf2_state *state = otf2_state(profile);
    size_t warnings = pf_rows_count(profile->warnings);
    profile->contexts = pf_tree_new(kinds);
    state->sums.sums = pf_sums_new(profile->options->cache, false);
    if (!profile->contexts || !state->sums.sums)
        pf_fail_memory(error);
    else if (!otf2_follow(profile, NULL, pass, error) && !add_places(profile, error) &&
             !pf_tree_finish(profile->contexts, error) &&
             !pf_sums_finish(state->sums.sums, state->definitions.things[OTF2_LOCATIONS].count,
                             profile->contexts->count, error))
        return 0;
    pf_tree_free(profile->contexts);
    pf_sums_free(state->sums.sums);
    free(state->unknown);
    profile->contexts = NULL;
    state->sums.sums = NULL;
    state->unknown = NULL;
    state->n_unknown = state->unknown_room = 0;
    pf_rows_cut(profile->warnings, warnings);
    return -1;
}

static int load_trace(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct otf2_state *state = otf2_state(profile);
    state->spans = pf_spans_new(profile->options->cache / 4);
    if (!state->spans)
        return pf_fail_memory(error);
    if (!otf2_follow(profile, state->spans, pass, error))
        return 0;
    pf_spans_free(state->spans);
    state->spans = NULL;
    return -1;
}

static int load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass, struct pf_error *error)
{
    switch (stage) {
    case PF_PARTITIONED:
        return load_partitions(profile, pass, error);
    case PF_MODELLED:
        return load_model(profile, pass, error);
    case PF_DERIVED:
        return load_trace(profile, pass, error);
    default:
        return 0;
    }
}

static void close_archive(struct pf_profile *profile)
{
    struct otf2_state *state = profile->state;
    if (!state)
        return;
    pf_sums_free(state->sums.sums);
    pf_spans_free(state->spans);
    otf2_definitions_free(&state->definitions);
    otf2_files_close(&state->files);
    free(state->metrics);
    free(state->counter);
    free(state->unknown);
    free(state->archive);
    free(state);
}

const struct pf_driver pf_otf2_driver = {
    .name = "otf2",
    .title = "OTF2 archives (Score-P)",
    .version = 1,
    .matters = is_anchor,
    .directories = true,
    .probe = probe,
    .open = open_archive,
    .load = load,
    .close = close_archive,
};
