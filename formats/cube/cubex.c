/* SPDX-License-Identifier: MIT */
#include "formats/cube/cubex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "formats/probe.h"

/* ---- probing ------------------------------------------------------------------------------------ */

/* Offset of the magic in a tar header, size of a tar block, and number of bytes that are examined. */
enum { TAR_MAGIC_AT = 257, TAR_BLOCK = 512, LOOK = 8192 };

static bool has_ending(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* True for ID.index and ID.data, optionally prefixed with ghost_. */
static bool names_data(const char *name)
{
    if (!strncmp(name, "ghost_", 6))
        name += 6;
    size_t digits = strspn(name, "0123456789");
    return digits && (!strcmp(name + digits, ".index") || !strcmp(name + digits, ".data"));
}

/* Recognises a tar archive as a Cube file by its first member, otherwise by the suffix .cubex of the archive's name. */
static void probe_cubex(struct pf_probe *probe, struct pf_probe_result *result)
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
        result->confidence = 48;
    else if (has_ending(probe->name, ".cubex"))
        result->confidence = 40;
}

/* ---- tables ------------------------------------------------------------------------------------- */

static const struct pf_column value_columns[] = {{"thread", PF_PARTITION, 0},
                                                 {"context", PF_CONTEXT, 0},
                                                 {"metric", PF_METRIC, 0},
                                                 {"value", PF_PLAIN, 0},
                                                 {"name", PF_CONTEXT_NAME, 0}},
                              component_columns[] = {{"thread", PF_PARTITION, 0},
                                                     {"context", PF_CONTEXT, 0},
                                                     {"metric", PF_METRIC, 0},
                                                     {"component", PF_PLAIN, 0},
                                                     {"value", PF_PLAIN, 0},
                                                     {"name", PF_CONTEXT_NAME, 0}},
                              region_columns[] = {{"id", PF_PLAIN, 0},   {"begin", PF_PLAIN, 0},
                                                  {"end", PF_PLAIN, 0},  {"paradigm", PF_PLAIN, 0},
                                                  {"role", PF_PLAIN, 0}, {"mangled_name", PF_PLAIN, 0},
                                                  {"url", PF_PLAIN, 0},  {"name", PF_PLAIN, 0},
                                                  {"file", PF_PLAIN, 0}, {"description", PF_PLAIN, 0}},
                              system_columns[] = {{"id", PF_PLAIN, 0},     {"parent", PF_PLAIN, 0},
                                                  {"depth", PF_PLAIN, 0},  {"class", PF_PLAIN, 0},
                                                  {"number", PF_PLAIN, 0}, {"rank", PF_PLAIN, 0},
                                                  {"name", PF_PLAIN, 0}},
                              attribute_columns[] = {{"key", PF_PLAIN, 0}, {"value", PF_PLAIN, 0}},
                              context_columns[] = {{"region", PF_PLAIN, 0},
                                                   {"call_line", PF_PLAIN, 0},
                                                   {"call_file", PF_PLAIN, 0},
                                                   {"parameters", PF_PLAIN, 0}};

#define COLUMNS(of) .columns = (of), .n_columns = sizeof(of) / sizeof *(of)

static const struct pf_table tables[PF_CUBEX_TABLES] = {
    [PF_CUBEX_VALUES] = {"values", COLUMNS(value_columns), .stage = PF_MODELLED,
                         .flags = PF_SEEKS_CONTEXT | PF_SEEKS_PARTITION | PF_SEEKS_METRIC |
                                  PF_DERIVED_BY_PARTITION,
                         .ops = &pf_cubex_values.ops},
    [PF_CUBEX_COMPONENTS] = {"components", COLUMNS(component_columns), .stage = PF_MODELLED,
                             .flags = PF_SEEKS_CONTEXT, .ops = &pf_cubex_components.ops},
    [PF_CUBEX_REGIONS] = {"regions", COLUMNS(region_columns), .stage = PF_MODELLED},
    [PF_CUBEX_SYSTEM] = {"system", COLUMNS(system_columns), .stage = PF_MODELLED},
    [PF_CUBEX_ATTRIBUTES] = {"attributes", COLUMNS(attribute_columns), .stage = PF_OPENED},
};

static struct pf_cubex *cubex_of(const struct pf_model *model)
{
    return model->state;
}

static void path_cells(const struct pf_model *model, uint32_t context, struct pf_cell *cells)
{
    const struct pf_cube *cube = &cubex_of(model)->cube;
    const struct pf_cube_path *path = &cube->paths[context];
    cells[0] = pf_absent();
    if (path->region != PF_CUBE_NONE)
        cells[0] = pf_rows_at(cube->regions, path->region)[PF_CUBE_REGION_ID];
    cells[1] = path->line ? pf_uint(path->line) : pf_absent();
    cells[2] = pf_interned(cube->tree->strings, path->file);
    cells[3] = pf_interned(cube->tree->strings, path->parameters);
}

static void set_cube_tables(struct pf_model *model)
{
    struct pf_cubex *cubex = cubex_of(model);
    memcpy(cubex->tables, tables, sizeof tables);
    cubex->tables[PF_CUBEX_REGIONS].data = &cubex->cube.regions;
    cubex->tables[PF_CUBEX_SYSTEM].data = &cubex->cube.system;
    cubex->tables[PF_CUBEX_ATTRIBUTES].data = &cubex->cube.attributes;
    model->tables = cubex->tables;
    model->n_tables = PF_CUBEX_TABLES;
    model->values = &cubex->tables[PF_CUBEX_VALUES];
    model->value_column = PF_CUBEX_VALUE;
    model->context_columns = context_columns;
    model->n_context_columns = sizeof context_columns / sizeof *context_columns;
    model->context_cells = path_cells;
    pf_cubex_declare_threads(model);
}

/* ---- members in src/ ---------------------------------------------------------------------------- */

/* Makes the members readable as blobs. Leaves out the metrics' indexes and data, unless anchor.xml is missing. */
static void set_member_blobs(struct pf_run *run)
{
    struct pf_cubex *cubex = cubex_of(run->model);
    const struct pf_cube_archive *archive = &cubex->cube.archive;
    cubex->blobs = pf_run_memory(run, calloc(archive->count + 1, sizeof *cubex->blobs));
    cubex->members = pf_run_memory(run, calloc(archive->count + 1, sizeof *cubex->members));
    for (size_t i = 0; i < archive->count; i++) {
        const struct pf_cube_member *member = &archive->members[i];
        if (cubex->cube.anchor && names_data(member->name))
            continue;
        cubex->members[cubex->extra.n_blobs] = member;
        cubex->blobs[cubex->extra.n_blobs++].name = member->name;
    }
    cubex->extra.blobs = cubex->blobs;
    run->model->extra = &cubex->extra;
}

static ssize_t read_member_blob(struct pf_model *model, size_t blob, void *buffer, size_t size,
                                uint64_t offset, struct pf_error *error)
{
    const struct pf_cubex *cubex = cubex_of(model);
    return pf_cube_read(&cubex->cube, cubex->members[blob], buffer, size, offset, error);
}

/* ---- opening ------------------------------------------------------------------------------------ */

/* Sets the format's version, and adds the attributes that identify the writer to info.txt. */
static void add_writer_info(struct pf_run *run)
{
    static const char *const keys[] = {"Creator", "Cube Version", "CUBE Library version"};
    struct pf_model *model = run->model;
    const struct pf_rows *attributes = cubex_of(model)->cube.attributes;
    snprintf(model->version, sizeof model->version, "%s", cubex_of(model)->cube.version);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (size_t i = 0; i < pf_rows_count(attributes); i++) {
            const struct pf_cell *row = pf_rows_at(attributes, i);
            if (row[0].size == strlen(keys[k]) && !memcmp(row[0].text, keys[k], row[0].size))
                pf_run_check(run, pf_rows_add(model->info, row, run->error));
        }
}

static void read_cube_head(struct pf_run *run, void *arg)
{
    struct pf_model *model = run->model;
    struct pf_cubex *cubex = model->state = pf_run_memory(run, calloc(1, sizeof *cubex));
    struct pf_input *input;
    (void)arg;
    set_cube_tables(model);
    pf_run_check(run, pf_source_open(model->source, NULL, PF_UNPACK | PF_SIZED, &input, run->error));
    pf_cube_open(run, &cubex->cube, input);
    pf_cubex_set_metrics(run);
    set_member_blobs(run);
    add_writer_info(run);
}

static int open_cubex(struct pf_model *model, struct pf_error *error)
{
    return pf_run(model, read_cube_head, NULL, error);
}

/* ---- loading ------------------------------------------------------------------------------------ */

/* Returns the maximum number of bytes of the transposed copy in memory. */
static uint64_t columns_limit(const struct pf_model *model)
{
    const uint64_t most = (uint64_t)16 << 20;
    return model->options && model->options->cache / 4 < most ? model->options->cache / 4 : most;
}

static void load_cube_stage(struct pf_run *run, void *arg)
{
    struct pf_cubex *cubex = cubex_of(run->model);
    struct pf_cube *cube = &cubex->cube;
    switch (*(const enum pf_stage *)arg) {
    case PF_PARTITIONED:
        pf_cube_load(run, cube);
        pf_cubex_set_threads(run);
        break;
    case PF_MODELLED:
        pf_cube_find_data(run, cube);
        run->model->contexts = cube->tree;
        cube->tree_taken = true;
        break;
    case PF_CHECKED:
        pf_cube_check(run, cube);
        break;
    case PF_DERIVED:
        pf_cube_columns_make(run, &cubex->columns, cube, columns_limit(run->model));
        break;
    default:
        break;
    }
}

static int load_cube(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    return pf_run(model, load_cube_stage, &stage, error);
}

static void close_cube(struct pf_model *model)
{
    struct pf_cubex *cubex = cubex_of(model);
    if (!cubex)
        return;
    pf_cube_columns_free(&cubex->columns);
    free(cubex->metrics);
    free(cubex->metric_of);
    free(cubex->sides);
    pf_strings_free(cubex->names);
    free(cubex->blobs);
    free(cubex->members);
    pf_cube_close(&cubex->cube);
    free(cubex);
    model->state = NULL;
}

/* The driver opens no other files. */
static bool matters(const char *name)
{
    (void)name;
    return false;
}

const struct pf_driver pf_cube_driver = {
    .name = "cube",
    .title = "Cube 4 profile (.cubex) of Score-P and Scalasca",
    .version = 14,
    .matters = matters,
    .archives = true,
    .probe = probe_cubex,
    .open = open_cubex,
    .load = load_cube,
    .close = close_cube,
    .extra = &(const struct pf_driver_extra){.blob_read = read_member_blob},
};
