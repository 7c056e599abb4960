/* SPDX-License-Identifier: MIT */
#include "formats/kit/bytes.h"
#include "tests/unit/hpctoolkit_db.h"

/* Readable data of damaged databases is kept, and unreadable data causes a warning. Every number in a file is validated. */

/* Walks all tables to their ends. False if a walk fails. */
static bool readable(struct database *db)
{
    bool read = true;
    for (size_t i = 0; i < db->model.n_tables; i++) {
        const struct pf_table *table = &db->model.tables[i];
        char *rows = table->ops ? all_rows(&db->model, table->name) : NULL;
        read = read && (rows || !table->ops);
        free(rows);
    }
    return read;
}

static bool has_fatal(const struct pf_model *model)
{
    for (size_t i = 0; i < pf_rows_count(model->warnings); i++) {
        const struct pf_cell *severity = pf_rows_at(model->warnings, i) + 2;
        if (severity->size == 5 && !memcmp(severity->text, "fatal", 5))
            return true;
    }
    return false;
}

/* Loads a database in which one file has these bytes. Returns 1 if all tables can be read, 2 if there is also a fatal warning, 0 if it
 * cannot be opened (the error is in *what), otherwise -1. */
static int fares(const struct copy *copy, const char *file, const unsigned char *bytes, size_t size,
                 char *what, size_t room)
{
    struct database db;
    put_file(copy, file, bytes, size);
    load_database(&db, copy->folder, "db");
    int result = !db.result ? (readable(&db) ? 1 + has_fatal(&db.model) : -1) : *db.error.what ? 0 : -1;
    snprintf(what, room, "%s", db.result ? db.error.what : "");
    close_database(&db);
    return result;
}

static void is_cut(const char *layout, const char *file)
{
    struct copy copy;
    char from[100], what[200];
    size_t size, harmed = 0, untold = 0;
    snprintf(from, sizeof from, "%s/%s", SAMPLES, layout);
    copy_database(&copy, from);
    unsigned char *bytes = get_file(from, file, &size);
    for (size_t cut = 0; cut < size; cut += 1 + size / 40) {
        int fared = fares(&copy, file, bytes, cut, what, sizeof what);
        harmed += fared < 0;
        untold += fared == 1;
    }
    ok(!harmed, "%s/%s: a file truncated at any byte is readable", layout, file);
    bool padded = !strcmp(layout, "solver-2021") && !strcmp(file, "trace.db"); /* at its end */
    ok(untold <= padded, "%s/%s: a file truncated inside a structure causes a fatal warning", layout, file);
    free(bytes);
    remove_copy(&copy);
}

static void is_flipped(const char *layout, const char *file)
{
    struct copy copy;
    char from[100], what[200];
    size_t size, harmed = 0;
    snprintf(from, sizeof from, "%s/%s", SAMPLES, layout);
    copy_database(&copy, from);
    unsigned char *bytes = get_file(from, file, &size);
    static const unsigned char masks[] = {0xff, 0x01, 0x80};
    for (size_t at = 0; at < size; at += 1 + size / 120) {
        bytes[at] ^= masks[at % sizeof masks];
        harmed += fares(&copy, file, bytes, size, what, sizeof what) < 0;
        bytes[at] ^= masks[at % sizeof masks];
    }
    ok(!harmed, "%s/%s: a file with any byte changed is readable", layout, file);
    free(bytes);
    remove_copy(&copy);
}

/* ---- wrong values --------------------------------------------------------------------------------- */

struct lie {
    const char *layout, *file, *name;
    const char *code;  /* code of the expected warning; NULL: the database cannot be opened */
    size_t at, size;   /* offset and number of the bytes to overwrite */
    const char *bytes; /* the wrong bytes */
    size_t section;    /* if not 0: `at` is relative to the number that the file has at this offset */
    const char *mark;  /* if not NULL: `at` is relative to the first occurrence of these four bytes */
};

#define HUGE_NUMBER "\xff\xff\xff\xff\xff\xff\xff\x7f"

static const struct lie lies[] = {
    {"solver-2023", "meta.db", "a later major version is refused", NULL, 14, 1, "\5", 0, NULL},
    {"solver-2023", "meta.db", "a later minor version is read", "unlisted-contexts", 15, 1, "\7", 0, NULL},
    {"solver-2023", "meta.db", "contexts beyond the end are reported", "section-beyond-end", 16 + 16 * 3 + 8,
     8, HUGE_NUMBER, 0, NULL},
    {"solver-2023", "meta.db", "more functions than fit are reported", "beyond-end", 8, 4, HUGE_NUMBER,
     16 + 16 * 7 + 8, NULL},
    {"solver-2023", "profile.db", "more profiles than fit are reported", "beyond-end", 0x38, 4, HUGE_NUMBER,
     0, NULL},
    {"solver-2023", "profile.db", "a table beyond the end is reported", "section-beyond-end", 24, 8,
     HUGE_NUMBER, 0, NULL},
    {"solver-2023", "profile.db", "records without a length are reported", "beyond-end", 0x3c, 1, "\0", 0,
     NULL},
    {"solver-2023", "profile.db", "values beyond the end are reported", "block-beyond-end", 0x40 + 48 + 8, 8,
     HUGE_NUMBER, 0, NULL},
    {"solver-2023", "profile.db", "more values than fit are reported", "block-beyond-end", 0x40 + 48, 8,
     HUGE_NUMBER, 0, NULL},
    {"solver-2023", "profile.db", "a metric that is not declared is kept", "unknown-metric", 0, 1, "\x63",
     0x40 + 48 + 8, NULL},
    {"solver-2023", "profile.db", "a missing name at the end is reported", "footer", 0, 4, "????", 0, "_pro"},
    {"solver-2023", "meta.db", "a missing name at the end is reported", "footer", 0, 4, "????", 0, "_met"},
    {"solver-2023", "trace.db", "a missing name at the end is reported", "footer", 0, 4, "????", 0, "trac"},
    {"solver-2023", "profile.db", "a file of another format is reported", "header", 0, 10, "HPCTOOLBOX", 0,
     NULL},
    {"solver-2023", "trace.db", "a trace beyond the end is reported", "trace-beyond-end", 0x40 + 16, 8,
     HUGE_NUMBER, 0, NULL},
    {"solver-2023", "trace.db", "a trace that ends before it begins is reported", "stray-trace", 0x40 + 16, 8,
     "\1\0\0\0\0\0\0\0", 0, NULL},
    {"solver-2023", "trace.db", "a trace without a profile is reported", "stray-trace", 0x40, 4, "\x99\0\0\0",
     0, NULL},
    {"solver-2021", "profile.db", "values without their end mark are reported", "broken-block", 0, 4, "BAD!",
     0, "end!"},
    {"solver-2019", "1.solver-000000-000-7f0101-4711-0.metric-db", "more rows than the file has are reported",
     "part", 24, 4, HUGE_NUMBER, 0, NULL},
    {"solver-2019", "1.solver-000000-000-7f0101-4711-0.metric-db", "a file of another format is reported",
     "part", 0, 4, "ABCD", 0, NULL},
    {"solver-2019", "1.solver-000000-000-7f0101-4711-0.hpctrace", "a file that is not a trace is reported",
     "part", 0, 4, "ABCD", 0, NULL},
};

static size_t place_of(const struct lie *lie, const unsigned char *bytes, size_t size)
{
    uint64_t offset = 0;
    if (lie->section)
        offset = pf_u64(bytes + lie->section, false);
    if (lie->mark)
        offset = (uint64_t)((const unsigned char *)memmem(bytes, size, lie->mark, 4) - bytes);
    return (size_t)offset + lie->at;
}

static void lies_are_told(const struct lie *lie)
{
    struct copy copy;
    struct database db;
    char from[100];
    size_t size;
    snprintf(from, sizeof from, "%s/%s", SAMPLES, lie->layout);
    copy_database(&copy, from);
    unsigned char *bytes = get_file(from, lie->file, &size);
    memcpy(bytes + place_of(lie, bytes, size), lie->bytes, lie->size);
    put_file(&copy, lie->file, bytes, size);
    free(bytes);
    load_database(&db, copy.folder, "db");
    bool told = lie->code ? !db.result && warned(&db.model, lie->code) && readable(&db) : db.result < 0;
    ok(told, "%s/%s: %s", lie->layout, lie->file, lie->name);
    if (!told)
        printf("# result %d: %s\n", db.result, db.error.what);
    close_database(&db);
    remove_copy(&copy);
}

/* The children of the first entry are also declared as children of its first child. */
static void cycles(void)
{
    struct copy copy;
    struct database db;
    size_t size;
    copy_database(&copy, SAMPLES "/solver-2023");
    unsigned char *bytes = get_file(SAMPLES "/solver-2023", "meta.db", &size);
    uint64_t section = pf_u64(bytes + 16 + 16 * 3 + 8, false), entry = pf_u64(bytes + section, false);
    uint64_t children = pf_u64(bytes + entry + 8, false);
    memcpy(bytes + children, bytes + entry, 16);
    put_file(&copy, "meta.db", bytes, size);
    free(bytes);
    load_database(&db, copy.folder, "db");
    ok(!db.result && warned(&db.model, "context-twice") == 1 && readable(&db),
       "a tree with a cycle is walked once");
    close_database(&db);
    remove_copy(&copy);
}

/* A chain of many nested frames. */
static void deep_xml(void)
{
    enum { DEPTH = 300000 };
    static const char head[] =
        "<HPCToolkitExperiment version=\"4.0\"><SecCallPathProfile n=\"deep\"><SecHeader>"
        "<LoadModuleTable/></SecHeader><SecCallPathProfileData>";
    struct copy copy;
    struct database db;
    size_t size = 0;
    char *text = malloc(sizeof head + (size_t)DEPTH * 20);
    if (!text)
        die("malloc");
    size = (size_t)sprintf(text, "%s", head);
    for (int i = 1; i <= DEPTH; i++)
        size += (size_t)sprintf(text + size, "<PF i=\"%d\">", i);
    make_folder(&copy);
    put_file(&copy, "experiment.xml", text, size);
    free(text);
    load_database(&db, copy.folder, "db");
    ok(!db.result && db.model.contexts->count == DEPTH + 1 && db.model.contexts->depth[DEPTH] == DEPTH,
       "elements may nest 300000 levels deep");
    ok(warned(&db.model, "cut-xml") == 1, "an experiment.xml that ends inside its elements is reported");
    close_database(&db);
    remove_copy(&copy);
}

static void foreign_xml(const char *text, const char *name)
{
    struct copy copy;
    struct database db;
    make_folder(&copy);
    put_file(&copy, "experiment.xml", text, strlen(text));
    load_database(&db, copy.folder, "db");
    ok(db.result < 0 && *db.error.what, "%s is refused with a reason", name);
    close_database(&db);
    remove_copy(&copy);
}

int main(void)
{
    static const char *const files[][2] = {
        {"solver-2023", "meta.db"},
        {"solver-2023", "profile.db"},
        {"solver-2023", "trace.db"},
        {"solver-2022-draft", "meta.db"},
        {"solver-2022-draft", "profile.db"},
        {"solver-2021", "experiment.xml"},
        {"solver-2021", "profile.db"},
        {"solver-2021", "trace.db"},
        {"solver-2019", "experiment.xml"},
        {"solver-2019", "1.solver-000000-000-7f0101-4711-0.metric-db"},
        {"solver-2019", "1.solver-000000-000-7f0101-4711-0.hpctrace"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        is_cut(files[i][0], files[i][1]);
        is_flipped(files[i][0], files[i][1]);
    }
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        lies_are_told(&lies[i]);
    cycles();
    deep_xml();
    foreign_xml("<html/>", "other XML");
    foreign_xml("<HPCToolkitExperiment version=\"3.0\">", "version 3.0 of experiment.xml");
    foreign_xml("", "an empty file");
    return done();
}
