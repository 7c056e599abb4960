/* SPDX-License-Identifier: MIT */
#ifndef NSIGHT_EXPORT_H
#define NSIGHT_EXPORT_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "formats/driver.h"
#include "formats/model.h"
#include "tests/profile.h"
#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

/* Creates exports of Nsight Systems by SQL, and prints their content as the driver reads it. */

extern const struct pf_driver pf_nsight_driver;

#define EXPORT __attribute__((unused)) static

/* ---- writing ------------------------------------------------------------------------------------- */

/* The tables of an export, as `nsys export` of 2022 makes them, without the columns that the driver does not read. */
#define TABLES                                                                                               \
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"                         \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass "    \
    "INTEGER NOT NULL,"                                                                                      \
    " globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER, callchainId "  \
    "INTEGER);"                                                                                              \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId "       \
    "INTEGER NOT NULL,"                                                                                      \
    " contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"      \
    " demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);"                                          \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId "       \
    "INTEGER NOT NULL,"                                                                                      \
    " contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"      \
    " bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);"                                                   \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId "       \
    "INTEGER NOT NULL,"                                                                                      \
    " contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"      \
    " value INTEGER NOT NULL, bytes INTEGER NOT NULL);"                                                      \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL,"        \
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId "      \
    "INTEGER,"                                                                                               \
    " globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL);"
#define NVTX_TABLE                                                                                           \
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,"  \
    " globalTid INTEGER, textId INTEGER, domainId INTEGER, uint32Value INTEGER);"
#define CHAINS_TABLE                                                                                         \
    "CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER, "           \
    "unresolved INTEGER,"                                                                                    \
    " originalIP INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));"

/* Process 7 and its threads 7 and 8, as global ids: machine << 56 | process << 24 | thread. */
#define PID_7    "72057594155368448"
#define THREAD_7 "72057594155368455"
#define THREAD_8 "72057594155368456"

/* Declares Extra-Prof's NVTX domain as domain 1. */
#define DOMAIN_ROW                                                                                           \
    "INSERT INTO NVTX_EVENTS VALUES (0,NULL,75,'de.tu-darmstadt.parallel.extra_prof'," THREAD_7              \
    ",NULL,1,NULL);"

#define RANGE(start, end, text)                                                                              \
    "INSERT INTO NVTX_EVENTS VALUES (" #start "," #end ",59,'" text "'," THREAD_7 ",NULL,1,0);"
#define CALL(start, end, correlation, name)                                                                  \
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" #start "," #end ",0," THREAD_7 "," #correlation       \
    "," #name ",0,NULL);"
#define KERNEL(start, end, stream, correlation, name)                                                        \
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" #start "," #end ",0,1," #stream "," #correlation       \
    "," PID_7 "," #name "," #name ");"

/* String ids of names: 1 launch, 2 copy, 3 stencil, 4 reduce, 5 wait, 6 set. */
#define NAMES                                                                                                \
    "INSERT INTO StringIds VALUES (1,'cudaLaunchKernel'),(2,'cudaMemcpy'),(3,'stencil'),(4,'reduce'),"       \
    "(5,'cudaDeviceSynchronize'),(6,'cudaMemset');"

/* main calls solve, which launches, copies, sets and waits; one CUDA call is outside of both. */
#define SMALL                                                                                                \
    TABLES NVTX_TABLE NAMES DOMAIN_ROW RANGE(100, 1000, "main") RANGE(200, 700, "main->solve")               \
        CALL(210, 230, 1, 1) CALL(240, 300, 2, 2) CALL(310, 320, 3, 6) CALL(400, 600, 4, 5)                  \
            CALL(1500, 1510, 5, 5) KERNEL(                                                                   \
                235, 400, 7, 1,                                                                              \
                3) "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (250,290,0,1,8,2," PID_7 ",4096,1);"       \
                   "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (315,319,0,1,7,3," PID_7 ",0,512);"        \
                   "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (410,590,0,1,4294967295,4," PID_7 \
                   ",4,0);"

static char export_folder[64];

/* Executes SQL on the database `name` in export_folder; creates the folder and the file if needed. Aborts on an error. */
EXPORT void write_export(const char *name, const char *sql)
{
    sqlite3 *db;
    char *message = NULL;
    if (!*export_folder)
        temp_dir_make(export_folder);
    if (sqlite3_open(path_in(export_folder, name), &db) != SQLITE_OK)
        abort();
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fprintf(stderr, "%s\n", message);
        abort();
    }
    sqlite3_close(db);
    /* Sources wait up to 20 ms before they open a file that was just written; a future mtime avoids this. */
    struct timespec times[2] = {{.tv_sec = 4102444800}, {.tv_sec = 4102444800}};
    utimensat(AT_FDCWD, path_in(export_folder, name), times, 0);
}

EXPORT void remove_export(const char *name)
{
    if (unlink(path_in(export_folder, name)))
        abort();
}

/* ---- reading ------------------------------------------------------------------------------------- */

struct open_export {
    struct pf_options options;
    struct pf_model model;
    struct pf_error error;
    bool failed;
};

/* Opens the export with the driver and loads all stages. */
EXPORT struct open_export *open_export(const char *name)
{
    struct open_export *open_one = calloc(1, sizeof *open_one);
    int folder = open(export_folder, O_RDONLY | O_DIRECTORY);
    if (!open_one || folder < 0)
        abort();
    open_one->options.cache = 1 << 20;
    open_one->failed = profile_open(&open_one->model, &pf_nsight_driver, folder, name, &open_one->options,
                                    &open_one->error) ||
                       pf_model_load(&open_one->model, PF_DERIVED, &open_one->error);
    close(folder);
    return open_one;
}

EXPORT void close_export(struct open_export *open_one)
{
    profile_close(&open_one->model);
    free(open_one);
}

/* Creates an export by SQL and opens it. */
EXPORT struct open_export *export_of(const char *sql)
{
    if (*export_folder)
        unlink(path_in(export_folder, "export.sqlite"));
    write_export("export.sqlite", sql);
    return open_export("export.sqlite");
}

/* ---- tables as text ------------------------------------------------------------------------------ */

static char export_text[1 << 20];
static size_t export_size;

/* Appends to export_text; aborts if the text does not fit. */
__attribute__((format(printf, 1, 2), unused)) static void append(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(export_text + export_size, sizeof export_text - export_size, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof export_text - export_size)
        abort();
    export_size += (size_t)n;
}

EXPORT void append_cell(const struct pf_cell *cell)
{
    if (cell->type == PF_TEXT)
        append("%.*s", (int)cell->size, cell->text);
    else if (cell->type == PF_INT)
        append("%" PRId64, cell->i);
    else if (cell->type == PF_UINT)
        append("%" PRIu64, cell->u);
    else if (cell->type == PF_DOUBLE)
        append("%g", cell->d);
}

/* Returns the lines that the driver adds to info.txt. */
EXPORT const char *info_of(const struct open_export *export)
{
    export_size = 0;
    append("%s", "");
    for (size_t i = 0; i < pf_rows_count(export->model.info); i++) {
        const struct pf_cell *row = pf_rows_at(export->model.info, i);
        append_cell(&row[0]);
        append(": ");
        append_cell(&row[1]);
        append("\n");
    }
    return export_text;
}

/* Appends a context as its path. */
EXPORT void append_path(const struct pf_tree *tree, uint32_t context)
{
    if (tree->parent[context] != PF_NO_CONTEXT) {
        append_path(tree, tree->parent[context]);
        append("/");
    }
    struct pf_cell name = pf_interned(tree->strings, tree->name[context]);
    append_cell(&name);
}

/* Appends a row as the core prints it, except that contexts are printed as paths and context names are left out. */
EXPORT void append_row(const struct pf_model *model, const struct pf_table *table,
                       const struct pf_cell *cells)
{
    for (size_t c = 0; c < table->n_columns; c++) {
        const struct pf_column *column = &table->columns[c];
        if (column->role == PF_CONTEXT_NAME)
            continue;
        append(c ? "," : "");
        if (column->role == PF_CONTEXT && cells[c].type != PF_ABSENT)
            append_path(model->contexts, (uint32_t)cells[c].i);
        else if (column->role == PF_PARTITION)
            append_cell(&pf_rows_at(model->partitions.items, (size_t)cells[c].i)[1]);
        else if (column->role == PF_METRIC)
            append("%s", model->metrics[cells[c].i].name);
        else
            append_cell(&cells[c]);
    }
    append("\n");
}

EXPORT const struct pf_table *table_named(const struct pf_model *model, const char *name)
{
    for (size_t i = 0; i < model->n_tables; i++)
        if (!strcmp(model->tables[i].name, name))
            return &model->tables[i];
    abort();
}

EXPORT void append_table(struct open_export *export, const struct pf_table *table, struct pf_restriction only)
{
    struct pf_cursor cursor = {.model = &export->model, .table = table, .only = only};
    struct pf_cell cells[16] = {0};
    int more = table->ops->open(&cursor, &export->error) ? -1 : 1;
    while (more > 0 && (more = table->ops->next(&cursor, cells, &export->error)) > 0)
        append_row(&export->model, table, cells);
    table->ops->close(&cursor);
    if (more < 0)
        append("FAILED: %s\n", export->error.what);
}

/* Returns the rows of a table that match a restriction, in export_text: valid until the next call that writes there. */
EXPORT const char *rows_only(struct open_export *export, const char *name, struct pf_restriction only)
{
    const struct pf_table *table = table_named(&export->model, name);
    export_size = 0;
    *export_text = 0;
    if (table->ops)
        append_table(export, table, only);
    else
        for (size_t i = 0; i < pf_rows_count(pf_table_rows(table)); i++)
            append_row(&export->model, table, pf_rows_at(pf_table_rows(table), i));
    return export_text;
}

EXPORT const char *rows(struct open_export *export, const char *name)
{
    return rows_only(export, name, PF_UNRESTRICTED);
}

/* Returns the events that match a restriction, each read by a new cursor that resumes at the saved position. */
EXPORT const char *rows_resumed(struct open_export *export, struct pf_restriction only)
{
    const struct pf_table *table = table_named(&export->model, "events");
    struct pf_cell cells[16] = {0};
    char position[64];
    size_t saved = 0;
    export_size = 0;
    *export_text = 0;
    for (int more = 1; more > 0;) {
        struct pf_cursor cursor = {.model = &export->model, .table = table, .only = only};
        if (table->ops->open(&cursor, &export->error) ||
            (saved && table->ops->restore(&cursor, position, saved, &export->error)))
            abort();
        more = table->ops->next(&cursor, cells, &export->error);
        if (more > 0)
            append_row(&export->model, table, cells);
        saved = table->ops->save(&cursor, position, sizeof position);
        table->ops->close(&cursor);
    }
    return export_text;
}

/* Returns the rows of the table `values` of one metric. */
EXPORT const char *values_of(struct open_export *export, const char *metric)
{
    const struct pf_model *model = &export->model;
    struct pf_restriction only = PF_UNRESTRICTED;
    for (size_t i = 0; i < model->n_metrics; i++)
        if (!strcmp(model->metrics[i].name, metric))
            only.metric = (int64_t)i;
    return rows_only(export, "values", only);
}

/* Returns the name and the fields of each partition, one partition per line. */
EXPORT const char *threads(struct open_export *export)
{
    const struct pf_partitions *partitions = &export->model.partitions;
    export_size = 0;
    *export_text = 0;
    for (size_t i = 0; i < pf_rows_count(partitions->items); i++) {
        append_cell(&pf_rows_at(partitions->items, i)[1]);
        for (size_t c = 0; c < partitions->n_fields; c++) {
            append(",");
            append_cell(&pf_rows_at(partitions->fields, i)[c]);
        }
        append("\n");
    }
    return export_text;
}

EXPORT const char *codes(struct open_export *export)
{
    const struct pf_rows *warnings = export->model.warnings;
    export_size = 0;
    *export_text = 0;
    for (size_t i = 0; i < pf_rows_count(warnings); i++) {
        append(i ? " " : "");
        append_cell(&pf_rows_at(warnings, i)[3]);
    }
    return export_text;
}

EXPORT const char *paths(struct open_export *export)
{
    const struct pf_tree *tree = export->model.contexts;
    export_size = 0;
    *export_text = 0;
    for (uint32_t c = 0; c < tree->count; c++) {
        append_path(tree, c);
        append(" %s\n", tree->kinds[tree->kind[c]]);
    }
    return export_text;
}

#endif
