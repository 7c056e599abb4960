/* SPDX-License-Identifier: MIT */
#include "formats/driver.h"

/*
 * Tests what a profile may have besides its measurements: folders of its keys, files that it carries, links and a folder of source files. One
 * profile has no measurements, and one is shown beside the entries of its folder.
 */
extern const struct pf_driver catalogue_driver, database_driver, study_driver;
#define FURTHER_DRIVERS &catalogue_driver, &database_driver, &study_driver,

#include "formats/driver_extra.h"
#include "formats/probe.h"
#include "tests/unit/vfs_fixture.h"

/* ---- "catalogue": a file without measurements, with models, a carried file and links -------------- */

enum { ORIGINAL_SIZE = 700001, MODELS = 3, POINTS = 4 };

struct catalogue {
    struct pf_rows *keys, *models, *points;
    struct pf_table tables[2];
    struct pf_model_extra extra;
};

static const struct pf_column model_columns[] = {{.name = "uid"}, {.name = "formula"}};
static const struct pf_column point_columns[] = {
    {.name = "model", .role = PF_KEY}, {.name = "x"}, {.name = "y"}};
static const struct pf_blob originals[] = {{.name = "original.txt"}, {.name = "a/b"}};
static const struct pf_link links[] = {{.name = "run 1", .target = "runs/one"},
                                       {.name = "info.txt", .target = "notes"}};

static void probe_catalogue(struct pf_probe *probe, struct pf_probe_result *result)
{
    size_t have;
    const unsigned char *bytes = pf_probe_head(probe, 9, &have);
    if (have >= 9 && !memcmp(bytes, "catalogue", 9))
        result->confidence = 32;
}

static int fill_catalogue(struct catalogue *catalogue, struct pf_error *error)
{
    static const char *const uids[MODELS] = {"sort", "a/b", ""};
    for (int m = 0; m < MODELS; m++) {
        struct pf_cell key[] = {pf_int(m), pf_string(uids[m])},
                       model[] = {pf_string(uids[m]), pf_string("1 + x")};
        if (pf_rows_add(catalogue->keys, key, error) || pf_rows_add(catalogue->models, model, error))
            return -1;
        for (int i = 0; i < POINTS + m; i++) {
            struct pf_cell point[] = {pf_int(m), pf_int(i), pf_int(i * 10 + m)};
            if (pf_rows_add(catalogue->points, point, error))
                return -1;
        }
    }
    return 0;
}

static int open_catalogue(struct pf_model *model, struct pf_error *error)
{
    struct pf_input *input;
    struct catalogue *catalogue = calloc(1, sizeof *catalogue);
    if (!catalogue)
        return pf_fail_memory(error);
    model->state = catalogue;
    catalogue->keys = pf_rows_new(2);
    catalogue->models = pf_rows_new(2);
    catalogue->points = pf_rows_new(3);
    catalogue->tables[0] = (struct pf_table){.name = "models",
                                             .columns = model_columns,
                                             .n_columns = 2,
                                             .stage = PF_MODELLED,
                                             .data = &catalogue->models};
    catalogue->tables[1] = (struct pf_table){.name = "points",
                                             .columns = point_columns,
                                             .n_columns = 3,
                                             .stage = PF_MODELLED,
                                             .flags = PF_ONLY_IN_KEYS,
                                             .data = &catalogue->points};
    model->tables = catalogue->tables;
    model->n_tables = 2;
    catalogue->extra =
        (struct pf_model_extra){.keys = {.plural = "models", .items = catalogue->keys, .about = 0},
                                .blobs = originals,
                                .n_blobs = 2,
                                .links = links,
                                .n_links = 2};
    model->extra = &catalogue->extra;
    return pf_source_open(model->source, NULL, PF_RAW, &input, error);
}

static int load_catalogue(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    return stage == PF_MODELLED ? fill_catalogue(model->state, error) : 0;
}

static void close_catalogue(struct pf_model *model)
{
    struct catalogue *catalogue = model->state;
    if (!catalogue)
        return;
    pf_rows_free(catalogue->keys);
    pf_rows_free(catalogue->models);
    pf_rows_free(catalogue->points);
    free(catalogue);
}

static char original_byte(uint64_t offset)
{
    return (char)('a' + offset * 7919 % 26);
}

static ssize_t read_original(struct pf_model *model, size_t blob, void *buffer, size_t size, uint64_t offset,
                             struct pf_error *error)
{
    uint64_t end = blob ? 3 : ORIGINAL_SIZE;
    (void)model, (void)error;
    if (offset >= end)
        return 0;
    if (size > end - offset)
        size = (size_t)(end - offset);
    for (size_t i = 0; i < size; i++)
        ((char *)buffer)[i] = original_byte(offset + i);
    return (ssize_t)size;
}

const struct pf_driver catalogue_driver = {.name = "catalogue",
                                           .title = "catalogues",
                                           .version = 1,
                                           .probe = probe_catalogue,
                                           .open = open_catalogue,
                                           .load = load_catalogue,
                                           .close = close_catalogue,
                                           .extra = &(const struct pf_driver_extra){.blob_read = read_original}};

/* ---- "database": a directory that is a profile, with a folder of sources; "study": a profile within its folder ------- */

static void probe_database(struct pf_probe *probe, struct pf_probe_result *result)
{
    result->confidence = pf_probe_has(probe, "made.db") ? 32 : 0;
}

static int open_bare(struct pf_model *model, const char *input_name, struct pf_error *error)
{
    static struct pf_table none;
    struct pf_input *input;
    model->tables = &none;
    return input_name ? pf_source_open(model->source, input_name, PF_RAW, &input, error) : 0;
}

static int open_database(struct pf_model *model, struct pf_error *error)
{
    struct pf_model_extra *extra = calloc(1, sizeof *extra);
    if (!extra)
        return pf_fail_memory(error);
    extra->src = "src";
    model->extra = extra;
    return open_bare(model, "made.db", error);
}

static void probe_study(struct pf_probe *probe, struct pf_probe_result *result)
{
    result->confidence = pf_probe_has(probe, "p1") && pf_probe_has(probe, "p2") ? 32 : 0;
}

static int count_folder(void *arg, const char *name, unsigned char type)
{
    (void)name, (void)type;
    ++*(int64_t *)arg;
    return 0;
}

static int open_study(struct pf_model *model, struct pf_error *error)
{
    int64_t folders = 0;
    if (pf_source_list_folders(model->source, count_folder, &folders, error) || open_bare(model, NULL, error))
        return -1;
    struct pf_cell line[] = {pf_string("Points"), pf_int(folders)};
    return pf_rows_add(model->info, line, error);
}

static int load_nothing(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    (void)model, (void)stage, (void)error;
    return 0;
}

static void close_database(struct pf_model *model)
{
    free(model->extra);
}

static void close_nothing(struct pf_model *model)
{
    (void)model;
}

const struct pf_driver database_driver = {.name = "database",
                                          .title = "databases",
                                          .version = 1,
                                          .directories = true,
                                          .probe = probe_database,
                                          .open = open_database,
                                          .load = load_nothing,
                                          .close = close_database};
const struct pf_driver study_driver = {.name = "study",
                                       .title = "studies",
                                       .version = 1,
                                       .directories = true,
                                       .extra = &(const struct pf_driver_extra){.beside = true},
                                       .probe = probe_study,
                                       .open = open_study,
                                       .load = load_nothing,
                                       .close = close_nothing};

/* ---- the tests ---------------------------------------------------------------------------------- */

static char *names_at(struct pf_fs *fs, const char *path)
{
    struct pf_dir *dir;
    if (open_dir(fs, *path ? ino_of(fs, path) : PF_ROOT_INO, &dir))
        return strdup("(none)");
    char *names = names_in(dir);
    pf_fs_closedir(dir);
    return names;
}

static void holds(struct pf_fs *fs, const char *path, const char *want, const char *name)
{
    char *have = names_at(fs, path);
    is(have, want, name);
    free(have);
}

static void reads(struct pf_fs *fs, const char *path, const char *want, const char *name)
{
    struct pf_attr attr = {0};
    char *have = text_at(fs, path);
    is(have, want, name);
    ok(find_path(fs, path, &attr) == 0 && (size_t)attr.st.st_size == strlen(want), "the size of %s is exact",
       path);
    free(have);
}

static void a_profile_without_measurements(struct pf_fs *fs)
{
    holds(fs, "list", ".\n..\ninfo.txt\ntables\nmodels\nsrc\nrun 1\ninfo.txt~1\n",
          "a profile without measurements has tables, the folder of its keys, src and links; a link with the "
          "name of a file has a suffix");
    holds(fs, "list/tables", ".\n..\nwarnings.csv\nmodels.csv\n",
          "the folder tables/ has the tables of a profile without measurements");
    reads(fs, "list/info.txt", "Format: catalogue\nTitle: catalogues\n",
          "info.txt of a profile without measurements has no partitions");
    reads(fs, "list/tables/models.csv", "uid,formula\nsort,1 + x\na/b,1 + x\n,1 + x\n",
          "a table of keys is one of the tables");
}

static void folders_of_keys(struct pf_fs *fs)
{
    holds(fs, "list/models", ".\n..\nsort\na%2Fb\n~2\n", "each key has a folder, named by the key");
    holds(fs, "list/models/sort", ".\n..\ninfo.txt\npoints.csv\n",
          "the folder of a key has info.txt and the tables with a column for keys");
    reads(fs, "list/models/a%2Fb/info.txt", "Name: a/b\nuid: a/b\nformula: 1 + x\n",
          "info.txt of a key shows the key's row of the table of keys");
    reads(fs, "list/models/a%2Fb/points.csv", "x,y\n0,1\n1,11\n2,21\n3,31\n4,41\n",
          "a table in the folder of a key has the key's rows, without the key's column");
}

static void carried_files(struct pf_fs *fs)
{
    holds(fs, "list/src", ".\n..\noriginal.txt\na%2Fb\n", "src/ has the files that a profile carries");
    char *want = malloc(ORIGINAL_SIZE + 1);
    for (uint64_t i = 0; i < ORIGINAL_SIZE; i++)
        want[i] = original_byte(i);
    want[ORIGINAL_SIZE] = 0;
    struct pf_attr attr = {0};
    ok(find_path(fs, "list/src/original.txt", &attr) == 0 && attr.st.st_size == ORIGINAL_SIZE,
       "the sizes of carried files are exact");
    char *have = text_at(fs, "list/src/original.txt");
    ok(!strcmp(have, want), "the bytes of carried files are exact");
    struct pf_handle *handle;
    struct pf_buf tail = {0};
    size_t got;
    ok(open_file(fs, attr.st.st_ino, &handle) == 0 &&
           read_handle(fs, handle, ORIGINAL_SIZE - 100, 4096, &tail, &got) == 0 && got == 100 &&
           !memcmp(tail.data, want + ORIGINAL_SIZE - 100, 100),
       "carried files can be read from the middle");
    pf_fs_close(handle);
    pf_buf_free(&tail);
    free(have);
    free(want);
}

static void links_of_a_profile(struct pf_fs *fs)
{
    struct pf_attr attr = {0};
    char *target = NULL;
    struct pf_op op = PF_OP;
    ok(find_path(fs, "list/run 1", &attr) == 0 && S_ISLNK(attr.st.st_mode),
       "a link of a profile is a symbolic link");
    ok(pf_fs_readlink(fs, attr.st.st_ino, &target, &op) == 0, "a link of a profile can be read");
    is(target, "../runs/one", "the target of a link starts at the folder of the profile");
    ok(target && attr.st.st_size == (off_t)strlen(target), "the size of a link is the length of its target");
    free(target);
    target = NULL;
    ok(pf_fs_readlink(fs, ino_of(fs, "list/info.txt"), &target, &op) == EINVAL, "other nodes are not links");
}

static void a_folder_of_the_source(struct pf_fs *fs, const char *folder)
{
    holds(fs, "db", ".\n..\ninfo.txt\ntables\nsrc\n", "a directory that is a profile hides its files");
    holds(fs, "db/src", ".\n..\nmain.c\n",
          "src/ of a directory that is a profile has the files of the source folder");
    reads(fs, "db/src/main.c", "int main;\n", "files in the source folder are passed through");
    write_text(folder, "db/src/main.c", "int main(void);\n");
    char *now = text_at(fs, "db/src/main.c");
    is(now, "int main(void);\n", "changes of files in the source folder are passed through");
    free(now);
}

static void no_such_folder(struct pf_fs *fs, const char *folder)
{
    holds(fs, "bare", ".\n..\ninfo.txt\ntables\n", "a directory without a source folder has no src/");
    make_folder(folder, "bare/src");
    holds(fs, "bare", ".\n..\ninfo.txt\ntables\nsrc\n",
          "a source folder that is created later is shown as src/");
}

static void a_profile_beside(struct pf_fs *fs, const char *folder)
{
    holds(fs, "scaling", ".\n..\np1\np2\nexperiment\n",
          "a profile that is shown next to its folder's entries is one more entry");
    reads(fs, "scaling/experiment/info.txt", "Format: study\nTitle: studies\nPoints: 2\n",
          "the profile next to the entries is made from the folder");
    holds(fs, "other", ".\n..\np1\n", "a folder that is not a profile has no entry for one");
    ok(!ino_of(fs, "other/experiment"),
       "a look-up of the profile's entry in a folder that is not a profile fails");
    holds(fs, "taken", ".\n..\nexperiment\np1\np2\n",
          "an entry of SOURCE with the name of the profile's entry is listed instead of it");
    reads(fs, "taken/experiment", "mine\n",
          "an entry of SOURCE with the name of the profile's entry is read instead of it");
    mkdir(path_in(folder, "scaling/p3"), 0755);
    char *now = text_at(fs, "scaling/experiment/info.txt");
    is(now, "Format: study\nTitle: studies\nPoints: 3\n",
       "the profile next to the entries reflects a new folder");
    free(now);
}

static void one_profile_as_source(const char *folder)
{
    struct pf_fs *fs = fs_of(path_in(folder, "db"), false);
    holds(fs, "", ".\n..\ninfo.txt\ntables\nsrc\n.profilefs\n",
          "SOURCE may be a directory that is a profile");
    reads(fs, "src/main.c", "int main(void);\n",
          "src/ of a directory that is SOURCE has the files of the source folder");
    pf_fs_free(fs);
    fs = fs_of(path_in(folder, "scaling"), false);
    reads(fs, "experiment/info.txt", "Format: study\nTitle: studies\nPoints: 3\n",
          "SOURCE may be a folder with a profile next to its entries");
    pf_fs_free(fs);
}

int main(void)
{
    char folder[64];
    static const char *const folders[] = {"db",         "bare",       "db/src",  "scaling",
                                          "scaling/p1", "scaling/p2", "other",   "other/p1",
                                          "taken",      "taken/p1",   "taken/p2"};
    temp_dir_make(folder);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(path_in(folder, folders[i]), 0755);
    write_text(folder, "list", "catalogue\n");
    write_text(folder, "db/made.db", "db\n");
    write_text(folder, "bare/made.db", "db\n");
    write_text(folder, "db/src/main.c", "int main;\n");
    write_text(folder, "taken/experiment", "mine\n");
    struct pf_fs *fs = fs_of(folder, false);
    a_profile_without_measurements(fs);
    folders_of_keys(fs);
    carried_files(fs);
    links_of_a_profile(fs);
    a_folder_of_the_source(fs, folder);
    no_such_folder(fs, folder);
    a_profile_beside(fs, folder);
    pf_fs_free(fs);
    one_profile_as_source(folder);
    temp_dir_remove(folder);
    return done();
}
