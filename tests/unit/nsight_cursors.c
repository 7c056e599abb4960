/* SPDX-License-Identifier: MIT */
/* Tests resumed, restricted and concurrent walks over the events of an export. */
#include <pthread.h>

#include "tests/unit/nsight_export.h"

/* Kernels of two functions on three streams, with copies in between. */
#define BUSY                                                                                                 \
    TABLES NVTX_TABLE NAMES DOMAIN_ROW RANGE(0, 100000, "main") RANGE(                                       \
        5, 50000,                                                                                            \
        "main->solve") "WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM i WHERE x<900)"           \
                       "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT x*100,x*100+50,0," THREAD_7           \
                       ",x,1+(x%5=0),0,NULL FROM i;"                                                         \
                       "WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM i WHERE x<900)"           \
                       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT x*100,x*100+70,0,1,x%3,x," PID_7       \
                       ",3,3+x%2 FROM i WHERE x%5;"                                                          \
                       "WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM i WHERE x<180)"           \
                       "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT x*500,x*500+30,0,1,x%3,x*5," PID_7     \
                       ",64,x%15 FROM i;"

static char *copy_of(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        abort();
    return copy;
}

static void test_resuming(struct open_export *export)
{
    char *whole = copy_of(rows(export, "events"));
    ok(!strcmp(rows_resumed(export, PF_UNRESTRICTED), whole), "a walk resumes at any saved position");
    struct pf_restriction only = {.partition = 2, .context = -1, .metric = -1, .key = -1};
    char *part = copy_of(rows_only(export, "events", only));
    ok(!strcmp(rows_resumed(export, only), part), "a restricted walk resumes at any saved position");
    free(whole);
    free(part);
}

/* Returns the lines of the text that contain this word. */
static char *lines_with(const char *text, const char *word)
{
    char *found = calloc(1, strlen(text) + 1);
    size_t size = 0;
    while (found && *text) {
        size_t line = strcspn(text, "\n") + 1;
        char *copy = strndup(text, line);
        if (copy && strstr(copy, word)) {
            memcpy(found + size, text, line);
            size += line;
        }
        free(copy);
        text += line;
    }
    return found;
}

static void test_restrictions(struct open_export *export)
{
    char *whole = copy_of(rows(export, "events"));
    char *want = lines_with(whole, "gpu-0.stream-1,");
    struct pf_restriction only = {.partition = 2, .context = -1, .metric = -1, .key = -1};
    ok(strlen(want) > 0 && !strcmp(rows_only(export, "events", only), want),
       "a walk restricted to a stream yields the stream's events");
    free(want);
    want = lines_with(whole, ",main/solve,");
    only = (struct pf_restriction){.partition = -1, .context = 1, .metric = -1, .key = -1};
    ok(strlen(want) > 0 && !strcmp(rows_only(export, "events", only), want),
       "a walk restricted to a context yields the context's events");
    free(want);
    free(whole);
}

static void test_positions(struct open_export *export)
{
    const struct pf_table *table = table_named(&export->model, "events");
    struct pf_cursor cursor = {.model = &export->model, .table = table, .only = PF_UNRESTRICTED};
    unsigned char rubbish[16];
    struct pf_error error;
    memset(rubbish, 0xee, sizeof rubbish);
    if (table->ops->open(&cursor, &error))
        abort();
    ok(table->ops->restore(&cursor, rubbish, sizeof rubbish, &error) && error.code == EINVAL,
       "an invalid position is refused");
    ok(table->ops->restore(&cursor, rubbish, 3, &error) && error.code == EINVAL,
       "a position that is too short is refused");
    table->ops->close(&cursor);
}

/* Counts the consistent rows: those with a stream and an end after the start. */
static void *walk(void *arg)
{
    struct open_export *export = arg;
    const struct pf_table *table = table_named(&export->model, "events");
    struct pf_cursor cursor = {.model = &export->model, .table = table, .only = PF_UNRESTRICTED};
    struct pf_cell cells[16] = {0};
    struct pf_error error;
    uintptr_t n = 0;
    for (unsigned round = 0; round < 5; round++) {
        if (table->ops->open(&cursor, &error))
            return NULL;
        while (table->ops->next(&cursor, cells, &error) > 0)
            n += cells[0].i > 0 && cells[3].i > cells[2].i;
        table->ops->close(&cursor);
    }
    return (void *)n; /* NOLINT(performance-no-int-to-ptr): the thread's result is a number */
}

static void test_side_by_side(struct open_export *export)
{
    enum { THREADS = 6 };
    pthread_t ids[THREADS];
    unsigned right = 0;
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&ids[i], NULL, walk, export))
            abort();
    for (unsigned i = 0; i < THREADS; i++) {
        void *n = NULL;
        pthread_join(ids[i], &n);
        right += (uintptr_t)n == (uintptr_t)5 * (720 + 180);
    }
    ok(right == THREADS, "concurrent walks each see all events");
}

int main(void)
{
    struct open_export *export = export_of(BUSY);
    test_resuming(export);
    test_restrictions(export);
    test_positions(export);
    test_side_by_side(export);
    close_export(export);
    temp_dir_remove(export_folder);
    return done();
}
