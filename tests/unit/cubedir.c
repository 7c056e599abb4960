/* SPDX-License-Identifier: MIT */
#include "formats/model.h"
#include "formats/probe.h"
#include "tests/profile.h"
#include "tests/unit/cpu_limit.h"
#include "tests/unit/cube_fixture.h"

/* Tests experiments: a folder with subfolders of Cube files, one per measurement point, is read as one profile. */

extern const struct pf_driver pf_cubedir_driver;

/* ---- folders ------------------------------------------------------------------------------------ */

/* Writes a Cube file in which main calls f twice, by two call paths of one region. With `with_g`, main also calls g. */
static void add_cube(const char *folder, const char *point, const char *file, const double *values,
                     bool with_g)
{
    static const char head[] = "<cube version='4.4'><metrics>" METRIC(0, "EXCLUSIVE", "time", "DOUBLE")
        METRIC(1, "EXCLUSIVE", "unused",
               "DOUBLE") "</metrics><program>"
                         "<region id='0'><name>main</name></region><region id='1'><name>f</name></region>"
                         "<region id='2'><name>g</name></region><cnode id='0' calleeId='0'><cnode id='1' "
                         "calleeId='1'/>"
                         "<cnode id='2' calleeId='1'/>";
    struct bytes tar = {0}, rows = {0}, anchor = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, point);
    mkdir(path, 0755);
    put(&anchor, head, sizeof head - 1);
    if (with_g)
        put(&anchor, "<cnode id='3' calleeId='2'/>", 28);
    put(&anchor, "</cnode></program>" SYSTEM "</cube>", strlen("</cnode></program>" SYSTEM "</cube>"));
    put_doubles(&rows, values, with_g ? 8 : 6, false);
    put_index(&tar, "0.index", NULL, -1, false);
    put_data(&tar, "0.data", &rows);
    put_member(&tar, "anchor.xml", anchor.at, anchor.size);
    snprintf(path, sizeof path, "%s/%s", point, file);
    write_bytes(folder, path, tar.at, tar.size);
    forget(&tar), forget(&rows), forget(&anchor);
}

/* Writes a Cube file in which main calls f and f calls itself, with `depth` call paths below main. All values are 1. */
static void add_recursion(const char *folder, const char *point, unsigned depth)
{
    static const char head[] = "<cube version='4.4'><metrics>" METRIC(0, "EXCLUSIVE", "time", "DOUBLE")
        "</metrics><program><region id='0'><name>main</name></region><region id='1'><name>f</name></region>"
        "<cnode id='0' calleeId='0'>";
    static const char tail[] = "</program>" SYSTEM "</cube>";
    struct bytes tar = {0}, rows = {0}, anchor = {0};
    char text[256];
    put(&anchor, head, sizeof head - 1);
    for (unsigned i = 1; i <= depth; i++)
        put(&anchor, text, (size_t)snprintf(text, sizeof text, "<cnode id='%u' calleeId='1'>", i));
    for (unsigned i = 0; i <= depth; i++) {
        put(&anchor, "</cnode>", 8);
        put_doubles(&rows, (double[]){1, 1}, 2, false);
    }
    put(&anchor, tail, sizeof tail - 1);
    put_index(&tar, "0.index", NULL, -1, false);
    put_data(&tar, "0.data", &rows);
    put_member(&tar, "anchor.xml", anchor.at, anchor.size);
    snprintf(text, sizeof text, "%s/%s", folder, point);
    mkdir(text, 0755);
    snprintf(text, sizeof text, "%s/a.cubex", point);
    write_bytes(folder, text, tar.at, tar.size);
    forget(&tar), forget(&rows), forget(&anchor);
}

/* Sets a future mtime, because sources wait up to 20 ms before they open a file or folder that was just written. */
static int age(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    struct timespec times[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = INT32_MAX}};
    (void)st, (void)kind, (void)at;
    return utimensat(AT_FDCWD, path, times, 0);
}

struct study {
    char folder[64], root[80];
    int directory;
    struct pf_options options;
    struct pf_model model;
    int result;
    struct pf_error error;
};

static void make_root(struct study *study)
{
    *study = (struct study){.options = {.cache = 1 << 20}};
    temp_dir_make(study->folder);
    snprintf(study->root, sizeof study->root, "%s/study", study->folder);
    mkdir(study->root, 0755);
}

static void open_study(struct study *study)
{
    nftw(study->root, age, 16, FTW_DEPTH | FTW_PHYS);
    study->directory = open(study->folder, O_RDONLY | O_DIRECTORY);
    study->result = profile_open(&study->model, &pf_cubedir_driver, study->directory, "study",
                                 &study->options, &study->error);
    if (!study->result)
        study->result = pf_model_load(&study->model, PF_DERIVED, &study->error);
    if (study->result)
        printf("# %s\n", study->error.what);
}

static void close_study(struct study *study)
{
    profile_close(&study->model);
    close(study->directory);
    temp_dir_remove(study->folder);
}

/* ---- tables as text ----------------------------------------------------------------------------- */

static const struct pf_table *find_table(const struct study *study, const char *name)
{
    for (size_t i = 0; i < study->model.n_tables; i++)
        if (!strcmp(study->model.tables[i].name, name))
            return &study->model.tables[i];
    abort();
}

static void print_row(FILE *out, const struct pf_model *model, const struct pf_table *table,
                      const struct pf_cell *cells)
{
    for (size_t c = 0; c < table->n_columns; c++) {
        if (table->columns[c].role == PF_CONTEXT) {
            struct pf_cell name = pf_interned(model->contexts->strings, model->contexts->name[cells[c].i]);
            print_cell(out, &name);
        } else if (table->columns[c].role == PF_METRIC) {
            fputs(model->metrics[cells[c].i].name, out);
        } else if (table->columns[c].role == PF_PLAIN || table->columns[c].role == PF_PARTITION) {
            print_cell(out, &cells[c]);
        } else {
            continue;
        }
        fputc(' ', out);
    }
    fputs("| ", out);
}

/* Returns all rows as text, valid until the next call. With `resume`, a new cursor resumes before each row. */
static const char *table_text(struct study *study, const char *name, struct pf_restriction only, bool resume)
{
    static char text[16384];
    const struct pf_table *table = find_table(study, name);
    struct pf_cell cells[32] = {{0}};
    char position[128];
    size_t saved = 0;
    FILE *out = fmemopen(text, sizeof text, "w");
    text[0] = 0;
    for (int more = 1; more > 0;) {
        struct pf_cursor cursor = {.model = &study->model, .table = table, .only = only};
        if (table->ops->open(&cursor, &study->error) ||
            (saved && table->ops->restore(&cursor, position, saved, &study->error)))
            abort();
        do {
            more = table->ops->next(&cursor, cells, &study->error);
            if (more > 0)
                print_row(out, &study->model, table, cells);
        } while (more > 0 && !resume);
        saved = table->ops->save(&cursor, position, sizeof position);
        table->ops->close(&cursor);
    }
    fclose(out);
    return text;
}

static bool study_warns(const struct study *study, const char *code)
{
    const struct pf_rows *warnings = study->model.warnings;
    for (size_t i = 0; i < pf_rows_count(warnings); i++)
        if (pf_rows_at(warnings, i)[3].size == strlen(code) &&
            !memcmp(pf_rows_at(warnings, i)[3].text, code, strlen(code)))
            return true;
    printf("#   warnings: %s\n", rows_text(warnings, 5));
    return false;
}

/* ---- behaviour ---------------------------------------------------------------------------------- */

static void values_are_pooled(void)
{
    struct study study;
    make_root(&study);
    add_cube(study.root, "run.p2.n7.r1", "profile.cubex", (double[]){1, 3, 10, 0, 20, 30}, false);
    add_cube(study.root, "run.p1.n7.r1", "profile.cubex", (double[]){5, 7, 0, 0, 1, 2}, false);
    add_cube(study.root, "run.p1.n7.r2", "profile.cubex", (double[]){6, 8, 0, 0, 3, 4}, false);
    mkdir(path_in(study.root, "notes"), 0755);
    open_study(&study);
    is(rows_text(study.model.partitions.items, 2), "0 p=1|1 p=2|",
       "points are sorted, a constant is not a parameter, and folders without Cube files are not points");
    is(table_text(&study, "values", (struct pf_restriction){-1, 0, 0, -1}, false),
       "0 0 main time 5 0 | 0 1 main time 7 1 | 0 2 main time 6 0 | 0 3 main time 8 1 | 1 0 main time 1 0 | "
       "1 1 main time 3 1 | ",
       "each location of each file is a repetition, identified by its columns");
    is(table_text(&study, "statistics", (struct pf_restriction){0, 1, 0, -1}, false),
       "weak 0 f time 4 1.25 0.5 0 4 1.479019945774904 | weak_threaded 0 f time 4 1.25 0.5 0 4 "
       "1.479019945774904 | "
       "strong 0 f time 4 2.5 1.5 0 7 2.8722813232690143 | ",
       "call paths of one region are repetitions, and zeros are measurements if all values are zero");
    is(table_text(&study, "statistics", (struct pf_restriction){1, 1, 0, -1}, false),
       "weak 1 f time 2 15 15 0 30 11.180339887498949 | weak_threaded 1 f time 2 20 20 10 30 "
       "8.16496580927726 | "
       "strong 1 f time 2 30 30 10 50 20 | ",
       "locations are repetitions, with or without zeros, or are added");
    is(table_text(&study, "statistics", (struct pf_restriction){1, 0, 1, -1}, false),
       "weak 1 main time (inc) 1 32 32 31 33 1 | weak_threaded 1 main time (inc) 1 32 32 31 33 1 | "
       "strong 1 main time (inc) 1 64 64 64 64 0 | ",
       "inclusive values are a metric of their own");
    is(table_text(&study, "scaling", (struct pf_restriction){-1, -1, 0, -1}, true),
       "main 6.5 2 | f 1.25 15 | ", "scaling shows the mean over locations");
    is(table_text(&study, "scaling_total", (struct pf_restriction){-1, -1, 0, -1}, true),
       "main 13 4 | f 2.5 30 | ",
       "scaling_total shows the sum over locations, averaged over files and call paths");
    ok(strstr(study.model.metrics[0].description, "mean over all locations"),
       "the description of a metric states that scaling shows means");
    ok(study.model.n_metrics == 2 && study.model.metrics[0].partner == 1 &&
           !strcmp(study.model.metrics[1].scope, "inclusive"),
       "partners are linked, and a metric without data is omitted");
    ok(!pf_rows_count(study.model.warnings), "a valid folder of Cube files has no warnings");
    char *values = strdup(table_text(&study, "values", PF_UNRESTRICTED, false));
    is(table_text(&study, "values", PF_UNRESTRICTED, true), values,
       "a walk over values resumes at any saved position");
    free(values);
    char *whole = strdup(table_text(&study, "statistics", PF_UNRESTRICTED, false));
    is(table_text(&study, "statistics", PF_UNRESTRICTED, true), whole,
       "a walk resumes at any saved position");
    free(whole);
    close_study(&study);
}

static void what_a_point_lacks_is_merged(void)
{
    struct study study;
    make_root(&study);
    add_cube(study.root, "x1", "a.cubex", (double[]){1, 3, 1, 1, 1, 1, 10, 30}, true);
    add_cube(study.root, "x2", "a.cubex", (double[]){1, 3, 1, 1, 1, 1}, false);
    open_study(&study);
    is(table_text(&study, "statistics", (struct pf_restriction){-1, 2, -1, -1}, false), "",
       "a call path that is missing in a point has no statistics there");
    is(table_text(&study, "statistics", (struct pf_restriction){0, 0, 0, -1}, false),
       "weak 0 main time 1 22 22 11 33 10.04987562112089 | weak_threaded 0 main time 1 22 22 11 33 "
       "10.04987562112089 | "
       "strong 0 main time 1 44 44 44 44 0 | ",
       "exclusive values of a call path that is missing in a point are added to its parent's");
    is(table_text(&study, "values", (struct pf_restriction){-1, 2, 0, -1}, false),
       "0 0 g time 10 0 | 0 1 g time 30 1 | ",
       "a call path that is missing in a point has values in the others");
    ok(study_warns(&study, "incomplete-series"), "a call path that is missing in a point is reported");
    close_study(&study);
}

static void load_study(void *study)
{
    open_study(study);
    if (((struct study *)study)->result)
        abort();
}

static void what_a_point_lacks_is_merged_over_many_levels(void)
{
    struct study study;
    make_root(&study);
    add_recursion(study.root, "x1", 3);
    add_recursion(study.root, "x2", 0);
    open_study(&study);
    ok(strstr(table_text(&study, "statistics", (struct pf_restriction){0, 0, 0, -1}, false),
              "strong 0 main time 1 8 8 8 8 0"),
       "exclusive values are added to the nearest ancestor that has values at all points");
    close_study(&study);
    make_root(&study);
    add_recursion(study.root, "x1", 100000);
    add_recursion(study.root, "x2", 0);
    ok(returns_within(5, load_study, &study), "deep call paths are loaded in linear time");
    temp_dir_remove(study.folder);
}

static void what_is_no_point_is_told(void)
{
    struct study study;
    make_root(&study);
    add_cube(study.root, "x1", "a.cubex", (double[]){1, 3, 1, 1, 1, 1}, false);
    add_cube(study.root, "x2", "a.cubex", (double[]){1, 3, 1, 1, 1, 1}, false);
    add_cube(study.root, "y2", "a.cubex", (double[]){1, 3, 1, 1, 1, 1}, false);
    write_text(study.root, "x2/b.cubex", "this is no Cube file, but it is called so");
    open_study(&study);
    ok(!study.result && pf_rows_count(study.model.partitions.items) == 2,
       "folders with other parameters are skipped");
    ok(study_warns(&study, "bad-member"), "damaged files are reported");
    is(table_text(&study, "values", (struct pf_restriction){1, 0, 0, -1}, false),
       "1 0 main time 1 0 | 1 1 main time 3 1 | ", "the other files of the point are read");
    close_study(&study);
}

static bool is_recognised(const char *root)
{
    struct pf_probe probe = {.name = "study", .directory = true, .fd = open(root, O_RDONLY | O_DIRECTORY)};
    struct pf_probe_result result = {0};
    pf_cubedir_driver.probe(&probe, &result);
    close(probe.fd);
    return result.confidence > 0;
}

static void folders_are_recognised(void)
{
    struct study study;
    make_root(&study);
    add_cube(study.root, "x1", "a.cubex", (double[]){1, 3, 1, 1, 1, 1}, false);
    mkdir(path_in(study.root, "x2"), 0755);
    ok(!is_recognised(study.root), "a folder with one point and an empty folder is rejected");
    add_cube(study.root, "x2", "a.cubex", (double[]){1, 3, 1, 1, 1, 1}, false);
    ok(is_recognised(study.root), "a folder with two points is recognised");
    temp_dir_remove(study.folder);
}

int main(void)
{
    values_are_pooled();
    what_a_point_lacks_is_merged();
    what_a_point_lacks_is_merged_over_many_levels();
    what_is_no_point_is_told();
    folders_are_recognised();
    return done();
}
