/* SPDX-License-Identifier: MIT */
#include "formats/kit/bytes.h"
#include "tests/unit/hpctoolkit_db.h"

/* Later minor versions of the meta.db layout, and parts that writers may omit: all readable data is shown. */

/* Sections of meta.db, by their number in its header. */
enum { METRICS = 2, CONTEXTS = 3 };

static uint64_t u64_at(const unsigned char *bytes, uint64_t at)
{
    return pf_u64(bytes + at, false);
}

static uint64_t section(const unsigned char *bytes, unsigned number)
{
    return u64_at(bytes, 16 + 16 * (uint64_t)number + 8);
}

/* Applies `change` to a file of the sample, and loads the resulting database. */
static void load_changed(struct copy *copy, struct database *db, const char *file,
                         void (*change)(unsigned char *bytes))
{
    size_t size;
    copy_database(copy, SAMPLES "/solver-2023");
    unsigned char *bytes = get_file(SAMPLES "/solver-2023", file, &size);
    change(bytes);
    put_file(copy, file, bytes, size);
    free(bytes);
    load_database(db, copy->folder, "db");
}

static void unload(const struct copy *copy, struct database *db)
{
    close_database(db);
    remove_copy(copy);
}

static struct pf_cell name_of(const struct pf_model *model, uint32_t context)
{
    return pf_interned(model->contexts->strings, model->contexts->name[context]);
}

static bool cell_is(struct pf_cell cell, const char *want)
{
    return cell.type == PF_TEXT && cell.size == strlen(want) && !memcmp(cell.text, want, cell.size);
}

/* Changes the first entry point to the unknown kind 7 without a name, its first child to the unknown lexical type 9 and relation 6. */
static void unknown_kinds(unsigned char *bytes)
{
    uint64_t entry = u64_at(bytes, section(bytes, CONTEXTS)), child = u64_at(bytes, entry + 8);
    memset(bytes + entry + 0x18, 0, 8);
    bytes[entry + 0x14] = 7;
    bytes[child + 0x14] = 0;
    bytes[child + 0x15] = 6;
    bytes[child + 0x16] = 9;
}

static void numbers_without_a_word(void)
{
    struct copy copy;
    struct database db;
    struct pf_cell cells[8];
    load_changed(&copy, &db, "meta.db", unknown_kinds);
    ok(!db.result && cell_is(name_of(&db.model, 1), "entry of type 7"),
       "an entry of an unknown kind is named by the number of the kind");
    ok(!db.result && cell_is(name_of(&db.model, 2), "context of type 9"),
       "a context of an unknown type is named by the number of the type");
    db.model.context_cells(&db.model, 2, cells);
    ok(cells[0].type == PF_UINT && cells[0].u == 6, "an unknown relation is a number in its column");
    unload(&copy, &db);
}

static void unknown_combination(unsigned char *bytes)
{
    uint64_t metric = u64_at(bytes, section(bytes, METRICS)), summary = u64_at(bytes, metric + 16);
    bytes[summary + 0x10] = 5;
}

static void combined_in_a_new_way(void)
{
    struct copy copy;
    struct database db;
    load_changed(&copy, &db, "meta.db", unknown_combination);
    bool found = false;
    const struct pf_rows *rows = pf_table_rows(table_named(&db.model, "summary_metrics"));
    for (size_t i = 0; i < pf_rows_count(rows); i++)
        found = found || cell_is(pf_rows_at(rows, i)[5], "5");
    ok(found, "a summary combined in an unknown way has its number in the column `combine`");
    unload(&copy, &db);
}

static void nameless_metric(unsigned char *bytes)
{
    memset(bytes + u64_at(bytes, section(bytes, METRICS)), 0, 8);
}

static void metric_without_a_name(void)
{
    struct copy copy;
    struct database db;
    unsigned named = 0;
    load_changed(&copy, &db, "meta.db", nameless_metric);
    for (size_t i = 0; i < db.model.n_metrics; i++)
        named += !strncmp(db.model.metrics[i].name, "metric ", 7);
    ok(named == 3, "a metric without a name is named by its number, in all its scopes");
    unload(&copy, &db);
}

/* Changes record 0 to a thread's record and record 1 to the summary; the flags are at offset 0x28 of a record. */
static void later_summary(unsigned char *bytes)
{
    bytes[0x40 + 0x28] = 0;
    bytes[0x40 + 48 + 0x28] = 1;
}

static void summary_that_is_not_first(void)
{
    struct copy copy;
    struct database db;
    load_changed(&copy, &db, "profile.db", later_summary);
    char *rows = db.result ? NULL : all_rows(&db.model, "summary");
    const struct pf_cell *first = db.result ? NULL : pf_rows_at(db.model.partitions.items, 0);
    ok(first && first[0].u == 0 && !warned(&db.model, "summary"),
       "the first profile is a thread if it is not marked as a summary");
    ok(rows && *rows, "a profile that is marked as a summary is the summary, wherever it is");
    free(rows);
    unload(&copy, &db);
}

static void coefficient_of_variation(void)
{
    static const char text[] =
        "<HPCToolkitExperiment version=\"4.0\"><SecCallPathProfile n=\"x\"><SecHeader>"
        "<MetricTable><Metric i=\"1\" n=\"CPUTIME (sec):CfVar (I)\" t=\"inclusive\"/>"
        "<Metric i=\"2\" n=\"CPUTIME (sec):StdDev (I)\" t=\"inclusive\"/></MetricTable>"
        "<LoadModuleTable/></SecHeader></SecCallPathProfile></HPCToolkitExperiment>";
    struct copy copy;
    struct database db;
    make_folder(&copy);
    put_file(&copy, "experiment.xml", text, sizeof text - 1);
    load_database(&db, copy.folder, "db");
    const struct pf_rows *rows = db.result ? NULL : pf_table_rows(table_named(&db.model, "summary_metrics"));
    ok(rows && cell_is(pf_rows_at(rows, 0)[2], "") && cell_is(pf_rows_at(rows, 1)[2], "sec"),
       "a standard deviation has a unit, and a coefficient of variation has none");
    unload(&copy, &db);
}

static void long_name_of_an_identifier(void)
{
    static const char old[] = "n=\"RANK\"", new[] = "n=\"Läääääääääääääää\"";
    struct copy copy;
    struct database db;
    size_t size;
    copy_database(&copy, SAMPLES "/solver-2021");
    char *xml = (char *)get_file(SAMPLES "/solver-2021", "experiment.xml", &size), *at = strstr(xml, old);
    char *changed = at ? malloc(size + sizeof new) : NULL;
    int length = changed ? sprintf(changed, "%.*s%s%s", (int)(at - xml), xml, new, at + sizeof old - 1) : 0;
    put_file(&copy, "experiment.xml", changed, (size_t)length);
    load_database(&db, copy.folder, "db");
    const struct pf_cell *thread = db.result ? NULL : pf_rows_at(db.model.partitions.items, 0);
    ok(thread && cell_is(thread[1], "läääääääääää1.thread0"),
       "the name of an identifier is truncated between characters");
    free(changed);
    free(xml);
    unload(&copy, &db);
}

int main(void)
{
    numbers_without_a_word();
    combined_in_a_new_way();
    metric_without_a_name();
    summary_that_is_not_first();
    coefficient_of_variation();
    long_name_of_an_identifier();
    return done();
}
