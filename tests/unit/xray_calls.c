/* SPDX-License-Identifier: MIT */
/* Tests how events of XRay logs are matched to calls, and the tables of contexts, threads and functions. */
#include <stdatomic.h>

#include "formats/kit/pass.h"
#include "tests/unit/xray_log.h"

static void begin(struct log *log, uint64_t frequency)
{
    put_header(log, 5, frequency, 4096);
    open_buffer(log, 1, 0, 1000);
}

/* Checks values as thread,context,metric,value, of all metrics. */
static void values_are(const struct log *log, const char *want, const char *name)
{
    struct opened opened;
    if (ok(!open_log(&opened, log, PF_DERIVED), "%s: the log opens", name))
        rows_are(&opened, "values", want, name);
    close_log(&opened);
}

static void adds_up_calls(struct log *log)
{
    begin(log, 0);
    put_function(log, ENTER, 5, 0);
    for (int i = 0; i < 2; i++) {
        put_function(log, ENTER_ARG, 6, 10);
        put_argument(log, 1);
        put_event(log, CUSTOM, 0, 0, "x");
        put_function(log, TAIL_EXIT, 6, 20);
    }
    put_function(log, EXIT, 5, 5);
    close_buffer(log);
    values_are(log,
               "0,0,calls,1\n0,0,ticks,25\n0,0,ticks (inc),65\n"
               "0,1,calls,2\n0,1,ticks,40\n0,1,ticks (inc),40\n",
               "a call's exclusive ticks exclude those of the calls inside it");
    patch(log, 8, 500000000, 8);
    values_are(log,
               "0,0,calls,1\n0,0,time,50\n0,0,time (inc),130\n0,0,ticks,25\n0,0,ticks (inc),65\n"
               "0,1,calls,2\n0,1,time,80\n0,1,time (inc),80\n0,1,ticks,40\n0,1,ticks (inc),40\n",
               "a log with a known frequency has nanoseconds in addition to ticks");
}

static void begins_with_exits(struct log *log)
{
    begin(log, 0);
    put_function(log, EXIT, 7, 0);
    put_function(log, ENTER, 1, 1);
    put_function(log, EXIT, 1, 1);
    close_buffer(log);
    values_are(log, "0,0,calls,1\n0,0,ticks,1\n0,0,ticks (inc),1\n",
               "a log may begin with the exit of a call that was entered before it");
}

static void closes_calls(struct log *log)
{
    begin(log, 0);
    put_function(log, ENTER, 1, 0);
    put_function(log, ENTER, 2, 1);
    put_function(log, ENTER, 3, 1);
    put_function(log, EXIT, 1, 1);
    put_function(log, EXIT, 2, 1);
    close_buffer(log);
    values_are(log,
               "0,0,calls,1\n0,0,ticks,1\n0,0,ticks (inc),3\n0,1,calls,1\n0,1,ticks,1\n0,1,ticks (inc),2\n"
               "0,2,calls,1\n0,2,ticks,1\n0,2,ticks (inc),1\n",
               "an exit closes the calls inside its call, and an exit without an entry is ignored");
    struct opened opened;
    open_log(&opened, log, PF_MODELLED);
    columns_are(opened.model.partitions.fields, "0123456789", "7,1,1,5,1,2,0,3,1000,1004\n",
                "calls that were closed by another exit and exits without an entry are counted");
    close_log(&opened);
    begin(log, 0);
    for (uint32_t i = 0; i < 3; i++)
        put_function(log, ENTER, 4, 2);
    put_function(log, EXIT, 4, 2);
    close_buffer(log);
    values_are(log,
               "0,0,ticks (inc),2\n0,0,open,1\n0,1,ticks "
               "(inc),2\n0,1,open,1\n0,2,calls,1\n0,2,ticks,2\n0,2,ticks (inc),2\n",
               "an exit closes the innermost recursive call, and calls that stay open include its ticks");
    begin(log, 0);
    put_function(log, ENTER, 6, 0);
    put_function(log, EXIT, 6, 10);
    put_function(log, ENTER, 6, 0);
    put_function(log, ENTER, 7, 0);
    put_function(log, EXIT, 7, 3);
    put_function(log, ENTER, 7, 0);
    put_function(log, EXIT, 7, 4);
    close_buffer(log);
    values_are(log,
               "0,0,calls,1\n0,0,ticks,10\n0,0,ticks (inc),17\n0,0,open,1\n"
               "0,1,calls,2\n0,1,ticks,7\n0,1,ticks (inc),7\n",
               "inclusive ticks of a context with an open call are its own and those of the contexts below");
    open_log(&opened, log, PF_DERIVED);
    rows_are(&opened, "durations", "6,1,10,10,10,10,10,10,#6\n7,2,3,4,4,4,4,7,#7\n",
             "durations are those of completed calls");
    close_log(&opened);
    begin(log, 0);
    put_function(log, ENTER, 1, 0);
    put_wrap(log, 900);
    put_function(log, EXIT, 1, 0);
    close_buffer(log);
    values_are(log, "0,0,calls,1\n0,0,ticks,100\n0,0,ticks (inc),100\n",
               "durations are positive where the clock steps back");
}

static void tells_of_clocks(struct log *log)
{
    struct opened opened;
    begin(log, 0);
    put_function(log, ENTER, 1, 0);
    put_function(log, ENTER, 2, 0);
    put_wrap(log, 3000);
    put_function(log, EXIT, 2, 0);
    put_wrap(log, 1500);
    put_function(log, EXIT, 1, 0);
    close_buffer(log);
    open_log(&opened, log, PF_MODELLED);
    warnings_are(&opened, ",warning,negative-time\n", "negative times of clocks that step back are reported");
    close_log(&opened);
}

/* Damage can produce the longest possible call, from the lowest TSC to the highest. */
static void adds_up_the_longest(struct log *log)
{
    struct opened opened;
    begin(log, 0);
    for (int i = 0; i < 3; i++) {
        put_wrap(log, 0);
        put_function(log, ENTER, 1, 0);
        put_wrap(log, UINT64_MAX);
        put_function(log, EXIT, 1, 0);
    }
    close_buffer(log);
    open_log(&opened, log, PF_DERIVED);
    rows_are(&opened, "durations",
             "1,3,18446744073709551615,18446744073709551615,18446744073709551615,18446744073709551615,"
             "18446744073709551615,55340232221128654845,#1\n",
             "a function's sum may exceed 64 bits");
    close_log(&opened);
}

static void keeps_threads_apart(struct log *log)
{
    begin(log, 0);
    put_function(log, ENTER, 1, 0);
    close_buffer(log);
    open_buffer(log, 2, 0, 1000);
    put_function(log, EXIT, 1, 0);
    put_function(log, ENTER, 1, 0);
    close_buffer(log);
    open_buffer(log, 1, 5, 1500);
    put_function(log, EXIT, 1, 7);
    close_buffer(log);
    struct opened opened;
    open_log(&opened, log, PF_DERIVED);
    rows_are(&opened, "values", "0,0,calls,1\n0,0,ticks,507\n0,0,ticks (inc),507\n1,0,open,1\n",
             "a call continues in the thread's next buffer, but not in another thread");
    struct pf_tree *tree = opened.model.contexts;
    ok(tree->count == 1 && tree->flags[0] == (PF_FRAME | PF_ROOT) && !strcmp(tree->kinds[0], "function"),
       "contexts of all threads are merged");
    struct pf_cell name = pf_interned(tree->strings, tree->name[0]), cell;
    opened.model.context_cells(&opened.model, 0, &cell);
    ok(name.size == 2 && !memcmp(name.text, "#1", 2) && name.plain && cell.u == 1,
       "a context has its function's name and id");
    close_log(&opened);
}

static void ranks_durations(struct log *log)
{
    begin(log, 0);
    for (uint32_t i = 0; i < 100; i++) {
        put_function(log, ENTER, 300, 0);
        put_function(log, EXIT, 300, 1 + (i * 37) % 100);
    }
    put_function(log, ENTER, 20, 0);
    put_function(log, EXIT, 20, 5);
    put_function(log, ENTER, 10, 0);
    close_buffer(log);
    struct opened opened;
    open_log(&opened, log, PF_DERIVED);
    rows_are(&opened, "durations", "20,1,5,5,5,5,5,5,#20\n300,100,1,51,91,100,100,5050,#300\n",
             "functions are ordered by id, ranks count from 0, and functions without a completed call are "
             "omitted");
    close_log(&opened);
}

/* Returns the table "durations" that is shown in threads' folders; an earlier table has the same name. */
static const struct pf_table *thread_durations(const struct opened *opened)
{
    const struct pf_table *table = table_of(opened, "durations");
    while (!(table->flags & PF_ONLY_IN_PARTITIONS))
        table++;
    return table;
}

static char *durations_of_thread(struct opened *opened, int64_t thread)
{
    const struct pf_table *table = thread_durations(opened);
    struct pf_cursor cursor = {.model = &opened->model, .table = table, .only = {thread, -1, -1, -1}};
    struct pf_buf text = {0};
    if (!table->ops->open(&cursor, &opened->error))
        add_rows(&text, opened, &cursor);
    table->ops->close(&cursor);
    pf_buf_char(&text, '\0');
    return text.data;
}

static void ranks_durations_of_threads(struct log *log)
{
    put_header(log, 5, 1000, 4096);
    for (int32_t tid = 1; tid <= 3; tid++) {
        open_buffer(log, tid, (uint32_t)tid, 1000);
        for (uint32_t i = 0; i < 3 && tid != 2; i++) {
            put_function(log, ENTER, 8, 0);
            put_function(log, ENTER, (uint32_t)tid, 0);
            put_function(log, EXIT, (uint32_t)tid, i + 1);
            put_function(log, EXIT, 8, 10);
        }
        close_buffer(log);
    }
    struct opened opened;
    open_log(&opened, log, PF_DERIVED);
    static const char first[] = "0,1,3,1,2,3,3,3,6,#1\n"
                                "0,8,3,11,12,13,13,13,36,#8\n",
                      third[] = "2,3,3,1,2,3,3,3,6,#3\n"
                                "2,8,3,11,12,13,13,13,36,#8\n";
    char both[sizeof first + sizeof third];
    strcpy(both, first);
    strcat(both, third);
    static const char *const names[] = {"the first thread has its own functions",
                                        "a thread without calls has no functions",
                                        "the third thread has its own functions"};
    const char *const want[] = {first, "", third};
    for (int64_t thread = -1; thread < 3; thread++) {
        char *have = durations_of_thread(&opened, thread);
        is(have, thread < 0 ? both : want[thread],
           thread < 0 ? "functions of all threads are listed thread by thread" : names[thread]);
        free(have);
    }
    const struct pf_table *table = thread_durations(&opened);
    ok(table->stage == PF_DERIVED && table->flags & PF_SEEKS_PARTITION,
       "durations of threads are computed in a pass, and can be read for one thread");
    rows_are(&opened, "durations",
             "1,3,1,2,3,3,3,6,#1\n"
             "3,3,1,2,3,3,3,6,#3\n"
             "8,6,11,12,13,13,13,72,#8\n",
             "durations of the log are over all threads");
    close_log(&opened);
}

/* A cancelled pass. */
static void stops(struct log *log)
{
    struct opened opened;
    begin(log, 0);
    put_function(log, ENTER, 1, 0);
    log->bytes[log->size++] = 0xff; /* a byte that causes a warning */
    close_buffer(log);
    open_log(&opened, log, PF_OPENED);
    struct pf_pass stopped = {.stop = true};
    static const enum pf_stage passes[] = {PF_PARTITIONED, PF_MODELLED, PF_DERIVED};
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        enum pf_stage stage = passes[i];
        struct pf_pass *before = pf_pass_begin(&stopped);
        int result = pf_xray_driver.load(&opened.model, stage, &opened.error);
        pf_pass_end(before);
        ok(result == -1 && opened.error.code == ECANCELED, "a pass to stage %d can be stopped", (int)stage);
        ok(!pf_rows_count(opened.model.warnings) || stage > PF_MODELLED, "a stopped pass leaves no warnings");
        ok(!load(&opened, stage), "a stopped pass can be repeated");
    }
    warnings_are(&opened, "120,fatal,cut-record\n", "a problem is reported once after stopped passes");
    close_log(&opened);
}

int main(void)
{
    static struct log log;
    adds_up_calls(&log);
    begins_with_exits(&log);
    closes_calls(&log);
    tells_of_clocks(&log);
    adds_up_the_longest(&log);
    keeps_threads_apart(&log);
    ranks_durations_of_threads(&log);
    ranks_durations(&log);
    stops(&log);
    return done();
}
