/* SPDX-License-Identifier: MIT */
#include "formats/cube/cubex.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- recognising -------------------------------------------------------------------------------- */

/* Offsets in a tar header, and how much of the first member is looked at. */
enum { TAR_MAGIC_AT = 257, TAR_BLOCK = 512, LOOK = 8192 };

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* ID.index, ID.data, with ghost_ before it or not. */
static bool names_data(const char *name)
{
    if (!strncmp(name, "ghost_", 6))
        name += 6;
    size_t digits = strspn(name, "0123456789");
    return digits && (!strcmp(name + digits, ".index") || !strcmp(name + digits, ".data"));
}

/* A tar archive is a Cube file if its first member can only be one of its; in doubt the file's name decides. */
static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    size_t have;
    const unsigned char *head = probe->directory ? NULL : pf_probe_head(probe, LOOK, &have);
    if (!head || have < TAR_BLOCK || memcmp(head + TAR_MAGIC_AT, "ustar", 5) != 0)
        return;
    char name[101] = {0};
    memcpy(name, head, 100);
    const char *member = strncmp(name, "./", 2) ? name : name + 2;
    const char *text = (const char *)head + TAR_BLOCK;
    bool anchor = !strcmp(member, "anchor.xml") && have > TAR_BLOCK &&
                  (memmem(text, have - TAR_BLOCK, "<cube ", 6) || !memcmp(text, "\x1f\x8b", 2));
    if (names_data(member) || anchor || !strcmp(member, "remapping.spec"))
        verdict->confidence = 48;
    else if (ends_with(probe->name, ".cubex"))
        verdict->confidence = 40;
}

/* ---- tables ------------------------------------------------------------------------------------- */

enum { VALUES, COMPONENTS, REGIONS, SYSTEM, ATTRIBUTES, TABLES };

static const struct pf_column value_columns[PF_CUBEX_COLUMNS] = {
    [PF_CUBEX_THREAD] = {"thread", PF_PARTITION, 0}, [PF_CUBEX_CONTEXT] = {"context", PF_CONTEXT, 0},
    [PF_CUBEX_METRIC] = {"metric", PF_METRIC, 0},    [PF_CUBEX_VALUE] = {"value", PF_PLAIN, 0},
    [PF_CUBEX_NAME] = {"name", PF_CONTEXT_NAME, 0},
};
static const struct pf_column component_columns[PF_CUBEX_PART_COLUMNS] = {
    [PF_CUBEX_PART_THREAD] = {"thread", PF_PARTITION, 0},
    [PF_CUBEX_PART_CONTEXT] = {"context", PF_CONTEXT, 0},
    [PF_CUBEX_PART_METRIC] = {"metric", PF_METRIC, 0},
    [PF_CUBEX_PART_COMPONENT] = {"component", PF_PLAIN, 0},
    [PF_CUBEX_PART_VALUE] = {"value", PF_PLAIN, 0},
    [PF_CUBEX_PART_NAME] = {"name", PF_CONTEXT_NAME, 0},
};
static const struct pf_column attribute_columns[] = {{"key", PF_PLAIN, 0}, {"value", PF_PLAIN, 0}};
static const struct pf_column context_columns[] = {{"region", PF_PLAIN, 0},
                                                   {"call_line", PF_PLAIN, 0},
                                                   {"call_file", PF_PLAIN, 0},
                                                   {"parameters", PF_PLAIN, 0}};

struct state {
    struct pf_cubex cubex; /* first: the state that cursors know */
    struct pf_table tables[TABLES];
};

static struct pf_cubex *cubex_of(const struct pf_profile *profile)
{
    return profile->state;
}

static void context_cells(const struct pf_profile *profile, uint32_t context, struct pf_cell *cells)
{
    const struct pf_cube *cube = &cubex_of(profile)->cube;
    const struct pf_cube_path *path = &cube->paths[context];
    cells[0] = path->region != PF_CUBE_NONE ? pf_uint(cube->regions[path->region].id) : pf_absent();
    cells[1] = path->line ? pf_uint(path->line) : pf_absent();
    cells[2] = pf_interned(cube->tree->strings, path->file);
    cells[3] = pf_interned(cube->tree->strings, path->parameters);
}

static void set_tables(struct pf_profile *profile)
{
    struct state *state = profile->state;
    state->tables[VALUES] =
        (struct pf_table){.name = "values",
                          .columns = value_columns,
                          .n_columns = PF_CUBEX_COLUMNS,
                          .stage = PF_MODELLED,
                          .partition_stage = PF_DERIVED,
                          .flags = PF_SEEKS_CONTEXT | PF_SEEKS_PARTITION | PF_SEEKS_METRIC,
                          .ops = &pf_cubex_values};
    state->tables[COMPONENTS] = (struct pf_table){.name = "components",
                                                  .columns = component_columns,
                                                  .n_columns = PF_CUBEX_PART_COLUMNS,
                                                  .stage = PF_MODELLED,
                                                  .flags = PF_SEEKS_CONTEXT,
                                                  .ops = &pf_cubex_components};
    state->tables[REGIONS] = (struct pf_table){.name = "regions",
                                               .columns = pf_cubex_region_columns,
                                               .n_columns = PF_CUBEX_REGION_COLUMNS,
                                               .stage = PF_MODELLED,
                                               .rows = &state->cubex.regions};
    state->tables[SYSTEM] = (struct pf_table){.name = "system",
                                              .columns = pf_cubex_system_columns,
                                              .n_columns = PF_CUBEX_SYSTEM_COLUMNS,
                                              .stage = PF_MODELLED,
                                              .rows = &state->cubex.system};
    state->tables[ATTRIBUTES] = (struct pf_table){.name = "attributes",
                                                  .columns = attribute_columns,
                                                  .n_columns = 2,
                                                  .stage = PF_OPENED,
                                                  .rows = &state->cubex.cube.attributes};
    profile->tables = state->tables;
    profile->n_tables = TABLES;
    profile->cells = &state->tables[VALUES];
    profile->cells_value = PF_CUBEX_VALUE;
    profile->context_columns = context_columns;
    profile->n_context_columns = sizeof context_columns / sizeof *context_columns;
    profile->context_cells = context_cells;
    profile->partitions.singular = "thread";
    profile->partitions.plural = "threads";
    profile->partitions.fields_stage = PF_PARTITIONED;
}

/* ---- carried files ------------------------------------------------------------------------------ */

/* Everything but the numbers; these too if nothing says what they are. */
static int set_blobs(struct pf_profile *profile, struct pf_error *error)
{
    struct pf_cubex *cubex = cubex_of(profile);
    const struct pf_cube_archive *archive = &cubex->cube.archive;
    cubex->blobs = calloc(archive->count + 1, sizeof *cubex->blobs);
    cubex->members = calloc(archive->count + 1, sizeof *cubex->members);
    if (!cubex->blobs || !cubex->members)
        return pf_fail_memory(error);
    for (size_t i = 0; i < archive->count; i++) {
        const struct pf_cube_member *member = &archive->members[i];
        if (cubex->cube.has_anchor && names_data(member->name))
            continue;
        cubex->members[profile->n_blobs] = member;
        cubex->blobs[profile->n_blobs++].name = member->name;
    }
    profile->blobs = cubex->blobs;
    return 0;
}

static ssize_t blob_read(struct pf_profile *profile, size_t blob, void *buffer, size_t size, uint64_t offset,
                         struct pf_error *error)
{
    const struct pf_cubex *cubex = cubex_of(profile);
    const struct pf_cube_member *member = cubex->members[blob];
    struct pf_cube_bytes bytes = {.input = cubex->cube.input, .offset = member->offset, .size = member->size};
    if (!strcmp(member->name, "anchor.xml"))
        bytes = cubex->cube.anchor; /* inflated */
    return pf_cube_bytes_read(&bytes, buffer, size, offset, error);
}

/* ---- opening ------------------------------------------------------------------------------------ */

static int add_info(struct pf_profile *profile, const char *key, struct pf_cell value, struct pf_error *error)
{
    struct pf_cell cells[] = {pf_string(key), value};
    return pf_rows_add(profile->info, cells, error);
}

/* The attributes that say where the file comes from. */
static int set_info(struct pf_profile *profile, struct pf_error *error)
{
    static const char *const keys[] = {"Creator", "Cube Version", "CUBE Library version"};
    const struct pf_rows *attributes = cubex_of(profile)->cube.attributes;
    snprintf(profile->version, sizeof profile->version, "%s", cubex_of(profile)->cube.version);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (size_t i = 0; i < pf_rows_count(attributes); i++) {
            const struct pf_cell *row = pf_rows_at(attributes, i);
            if (row[0].size == strlen(keys[k]) && !memcmp(row[0].text, keys[k], row[0].size) &&
                add_info(profile, keys[k], row[1], error))
                return -1;
        }
    return 0;
}

static int open_file(struct pf_profile *profile, struct pf_error *error)
{
    struct state *state = calloc(1, sizeof *state);
    struct pf_input *input;
    if (!state)
        return pf_fail_memory(error);
    profile->state = state;
    set_tables(profile);
    if (pf_source_open(profile->source, NULL, &input, error) ||
        pf_cube_open(&state->cubex.cube, input, error) || pf_cubex_set_metrics(profile, error) ||
        set_blobs(profile, error))
        return -1;
    return set_info(profile, error);
}

/* ---- loading ------------------------------------------------------------------------------------ */

static int load_threads(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    if (pf_cube_load(&cubex_of(profile)->cube, pass, error))
        return -1;
    return pf_cubex_set_threads(profile, error);
}

static void forget_model(struct pf_cubex *cubex)
{
    pf_cube_forget_data(&cubex->cube);
    pf_rows_free(cubex->regions);
    pf_rows_free(cubex->system);
    cubex->regions = cubex->system = NULL;
}

static int load_model(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_cubex *cubex = cubex_of(profile);
    struct pf_cube *cube = &cubex->cube;
    if (pf_cube_find_data(cube, pass, error) || pf_cubex_fill_regions(cubex, error) ||
        pf_cubex_fill_system(cubex, error) || pf_notes_publish(&cube->notes, profile, error) ||
        pf_notes_publish(&cube->load_notes, profile, error) ||
        pf_notes_publish(&cube->data_notes, profile, error)) {
        forget_model(cubex);
        return -1;
    }
    profile->contexts = cube->tree;
    cube->tree_taken = true;
    return 0;
}

/* What of the transposed copy stays in memory. */
static uint64_t columns_limit(const struct pf_profile *profile)
{
    const uint64_t most = (uint64_t)16 << 20;
    return profile->options && profile->options->cache / 4 < most ? profile->options->cache / 4 : most;
}

static int load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_cubex *cubex = cubex_of(profile);
    switch (stage) {
    case PF_PARTITIONED:
        return load_threads(profile, pass, error);
    case PF_MODELLED:
        return load_model(profile, pass, error);
    case PF_DERIVED:
        return pf_cube_columns_make(&cubex->columns, &cubex->cube, columns_limit(profile), pass, error);
    default:
        return 0;
    }
}

static void close_file(struct pf_profile *profile)
{
    struct pf_cubex *cubex = cubex_of(profile);
    if (!cubex)
        return;
    pf_cube_columns_free(&cubex->columns);
    pf_rows_free(cubex->regions);
    pf_rows_free(cubex->system);
    free(cubex->metrics);
    free(cubex->metric_of);
    free(cubex->sides);
    pf_strings_free(cubex->names);
    free(cubex->blobs);
    free(cubex->members);
    pf_cube_close(&cubex->cube);
    free(cubex);
    profile->state = NULL;
}

/* It looks for no other files. */
static bool matters(const char *name)
{
    (void)name;
    return false;
}

const struct pf_driver pf_cube_driver = {
    .name = "cube",
    .title = "Cube 4 profile (.cubex) of Score-P and Scalasca",
    .version = 7,
    .matters = matters,
    .probe = probe,
    .open = open_file,
    .load = load,
    .close = close_file,
    .blob_read = blob_read,
};
