/* SPDX-License-Identifier: MIT */
/* Tests the content of valid Nsight Systems exports. */
#include "formats/probe.h"
#include "tests/unit/cpu_limit.h"
#include "tests/unit/nsight_export.h"

static void test_ranges(void)
{
    struct open_export *export = export_of(SMALL);
    if (!ok(!export->failed, "an export opens"))
        printf("# %s\n", export->error.what);
    is(paths(export),
       "main function\n"
       "main/solve function\n"
       "main/solve/cudaLaunchKernel api\n"
       "main/solve/cudaMemcpy api\n"
       "main/solve/cudaMemset api\n"
       "main/solve/cudaDeviceSynchronize api\n"
       "cudaDeviceSynchronize api\n"
       "main/solve/cudaLaunchKernel/stencil kernel\n"
       "main/solve/cudaMemcpy/memcpy HOST_TO_DEVICE memcpy\n"
       "main/solve/cudaMemset/memset memset\n",
       "contexts are ranges, the calls in them, and the GPU operations of these");
    is(values_of(export, "time (inc)"),
       "thread-7,main,time (inc),900\n"
       "thread-7,main/solve,time (inc),500\n"
       "thread-7,main/solve/cudaLaunchKernel,time (inc),20\n"
       "thread-7,main/solve/cudaMemcpy,time (inc),60\n"
       "thread-7,main/solve/cudaMemset,time (inc),10\n"
       "thread-7,main/solve/cudaDeviceSynchronize,time (inc),200\n"
       "thread-7,cudaDeviceSynchronize,time (inc),10\n",
       "inclusive times are those of ranges and calls");
    is(values_of(export, "time"),
       "thread-7,main,time,400\n"
       "thread-7,main/solve,time,210\n"
       "thread-7,main/solve/cudaLaunchKernel,time,20\n"
       "thread-7,main/solve/cudaMemcpy,time,60\n"
       "thread-7,main/solve/cudaMemset,time,10\n"
       "thread-7,main/solve/cudaDeviceSynchronize,time,200\n"
       "thread-7,cudaDeviceSynchronize,time,10\n",
       "exclusive times are inclusive times without those of the callees");
    is(values_of(export, "gpu time"),
       "gpu-0.stream-7,main/solve/cudaLaunchKernel/stencil,gpu time,165\n"
       "gpu-0.stream-7,main/solve/cudaMemset/memset,gpu time,4\n"
       "gpu-0.stream-8,main/solve/cudaMemcpy/memcpy HOST_TO_DEVICE,gpu time,40\n",
       "times of a GPU are those of its streams");
    is(values_of(export, "bytes"),
       "gpu-0.stream-7,main/solve/cudaMemset/memset,bytes,512\n"
       "gpu-0.stream-8,main/solve/cudaMemcpy/memcpy HOST_TO_DEVICE,bytes,4096\n",
       "bytes are those that were copied or set");
    is(codes(export), "", "a valid export has no warnings");
    close_export(export);
}

static void test_metrics(void)
{
    struct open_export *export = export_of(SMALL);
    export_size = 0;
    for (size_t m = 0; m < export->model.n_metrics; m++) {
        const struct pf_metric *metric = &export->model.metrics[m];
        append("%s,%s,%s,%s\n", metric->name, metric->unit, metric->scope, metric->type);
    }
    is(export_text,
       "calls,,exclusive,int\n"
       "time,ns,exclusive,int\n"
       "time (inc),ns,inclusive,int\n"
       "gpu time,ns,exclusive,int\n"
       "bytes,bytes,exclusive,int\n"
       "api calls,,exclusive,int\n"
       "gpu activities,,exclusive,int\n",
       "metrics have their unit, scope and type");
    close_export(export);
}

/* The first of 100,001 threads calls 100,000 functions, each other thread calls only the last one. */
#define MANY_THREADS                                                                                         \
    TABLES NVTX_TABLE NAMES DOMAIN_ROW                                                                       \
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199999)"                   \
        "INSERT INTO NVTX_EVENTS SELECT 100 + 10 * i, 105 + 10 * i, 59, 'f' || min(i, 99999)," THREAD_7      \
        " + max(0, i - 99999), NULL, 1, 0 FROM n;"

static void open_and_close(void *name)
{
    struct open_export *export = open_export(name);
    if (export->failed || export->model.contexts->count != 100000 ||
        pf_rows_count(export->model.partitions.items) != 100001)
        abort();
    close_export(export);
}

static void test_many_threads(void)
{
    static char name[] = "threads.sqlite";
    write_export(name, MANY_THREADS);
    ok(returns_within(5, open_and_close, name),
       "the time for a thread does not depend on other threads' contexts");
    remove_export(name);
}

static void test_tables(void)
{
    struct open_export *export = export_of(SMALL);
    is(threads(export),
       "thread-7,thread,7,7,,,,\n"
       "gpu-0.stream-7,stream,7,,0,1,7,\n"
       "gpu-0.stream-8,stream,7,,0,1,8,\n"
       "gpu-0.no-stream,stream,7,,0,1,4294967295,\n",
       "threads come first, then streams by device and number");
    is(rows(export, "api"),
       ",1,10,10,10,cudaDeviceSynchronize\n"
       "main/solve,1,200,200,200,cudaDeviceSynchronize\n"
       "main/solve,1,20,20,20,cudaLaunchKernel\n"
       "main/solve,1,60,60,60,cudaMemcpy\n"
       "main/solve,1,10,10,10,cudaMemset\n",
       "API calls are added by call path and name; calls without a path come first");
    is(rows(export, "kernels"), "main/solve,1,165,165,165,stencil\n",
       "kernels are added by call path and name");
    is(rows(export, "memcpy"), "main/solve,HOST_TO_DEVICE,1,4096,40,40,40\n",
       "copies are added by call path and kind");
    is(rows(export, "memset"), "main/solve,1,512,4,4,4\n", "memory settings are added by call path");
    is(rows(export, "sync"), "main/solve,CONTEXT_SYNCHRONIZE,1,180,180,180\n",
       "synchronisations are added by call path and type");
    is(rows(export, "events"),
       "gpu-0.stream-7,kernel,235,400,0,7,1,main/solve,,stencil\n"
       "gpu-0.stream-8,memcpy,250,290,0,8,2,main/solve,4096,HOST_TO_DEVICE\n"
       "gpu-0.stream-7,memset,315,319,0,7,3,main/solve,512,\n"
       "gpu-0.no-stream,sync,410,590,0,4294967295,4,main/solve,,CONTEXT_SYNCHRONIZE\n",
       "events are listed one by one");
    close_export(export);
}

static void test_innermost(void)
{
    struct open_export *export =
        export_of(TABLES NVTX_TABLE NAMES DOMAIN_ROW RANGE(100, 900, "a") RANGE(200, 800, "a->b")
                      RANGE(200, 500, "a->b->c") CALL(200, 210, 1, 1) CALL(300, 310, 2, 1)
                          CALL(490, 500, 3, 1) CALL(499, 501, 4, 1) CALL(850, 950, 5, 1));
    is(rows(export, "api"),
       ",1,100,100,100,cudaLaunchKernel\n"
       "a,1,10,10,10,cudaLaunchKernel\n"
       "a/b,2,12,2,10,cudaLaunchKernel\n"
       "a/b/c,1,10,10,10,cudaLaunchKernel\n",
       "a call belongs to the innermost range that begins before it and ends after it");
    close_export(export);
}

static void test_inner_calls(void)
{
    struct open_export *export = export_of(TABLES NVTX_TABLE NAMES DOMAIN_ROW RANGE(100, 900, "a") CALL(
        200, 300, 1, 1) CALL(210, 290, 1, 2) CALL(400, 500, 2, 2) KERNEL(205, 215, 7, 1, 3));
    is(values_of(export, "time"),
       "thread-7,a,time,600\n"
       "thread-7,a/cudaLaunchKernel,time,20\n"
       "thread-7,a/cudaLaunchKernel/cudaMemcpy,time,80\n"
       "thread-7,a/cudaMemcpy,time,100\n",
       "a call within a call is its child, and its time is not counted twice");
    is(values_of(export, "calls"), "thread-7,a,calls,1\n", "calls of functions are counted");
    is(values_of(export, "api calls"),
       "thread-7,a/cudaLaunchKernel,api calls,1\n"
       "thread-7,a/cudaLaunchKernel/cudaMemcpy,api calls,1\n"
       "thread-7,a/cudaMemcpy,api calls,1\n",
       "calls of the API are counted");
    is(values_of(export, "gpu activities"), "gpu-0.stream-7,a/cudaLaunchKernel/stencil,gpu activities,1\n",
       "GPU operations are counted, and the first of two calls with one correlation has the kernel");
    close_export(export);
}

static void test_symbols(void)
{
    struct open_export *export =
        export_of(TABLES NVTX_TABLE NAMES DOMAIN_ROW
                  "INSERT INTO StringIds VALUES (10,'EP'||char(31)||'40a0'||char(31)||'not "
                  "yet'),(11,'EXTRA_PROF_SYMBOLS'),"
                  "(12,'EP'||char(31)||'40a0'||char(31)||'main'),(13,'EP'||char(31)||'40b0'||char(31)||'It::"
                  "operator->go'),"
                  "(14,'EXTRA_PROF_SYMBOLS_END'),(15,'EP'||char(31)||'40b0'||char(31)||'no more');"
                  "INSERT INTO NVTX_EVENTS VALUES "
                  "(100,900,59,char(31)||'40a0'||char(31)||'40b0'||char(31)||'40c0'," THREAD_7 ",NULL,1,2);");
    is(paths(export),
       "main function\nmain/It::operator- >go function\nmain/It::operator- >go/40c0 function\n",
       "paths of pointers get the names of symbols, and an arrow within a name splits it");
    close_export(export);
}

static void test_text_ids(void)
{
    struct open_export *export =
        export_of(TABLES NVTX_TABLE NAMES
                  "INSERT INTO StringIds VALUES (20,'de.tu-darmstadt.parallel.extra_prof'),(21,'main->run');"
                  "INSERT INTO NVTX_EVENTS VALUES (0,NULL,75,NULL," THREAD_7 ",20,3,NULL);"
                  "INSERT INTO NVTX_EVENTS VALUES (5,95,59,NULL," THREAD_7 ",21,3,1);"
                  "INSERT INTO NVTX_EVENTS VALUES (6,7,59,'user range'," THREAD_7 ",NULL,0,1);");
    is(values_of(export, "time (inc)"), "thread-7,main,time (inc),90\nthread-7,main/run,time (inc),90\n",
       "texts of ranges may be references to strings, and ranges of other domains are ignored");
    close_export(export);
}

static void test_sampled(void)
{
    struct open_export *export =
        export_of(TABLES CHAINS_TABLE NAMES
                  "INSERT INTO StringIds VALUES (10,'main'),(11,'run'),(12,'0x1234');"
                  "INSERT INTO CUDA_CALLCHAINS VALUES "
                  "(1,1,0,NULL,0,0),(1,12,0,1,0,1),(1,11,0,NULL,0,2),(1,10,0,NULL,0,3);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,200,67," THREAD_7 ",5,1,0,0);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (110,190,0," THREAD_7
                  ",5,2,0,NULL);" KERNEL(120, 150, 7, 5, 3));
    is(rows(export, "kernels"), "main/run/cudaLaunchKernel,1,30,30,30,stencil\n",
       "sampled chains are paths from the outermost frame, without unresolved frames");
    is(rows(export, "api"),
       ",1,80,80,80,cudaMemcpy\nmain/run/cudaLaunchKernel,1,100,100,100,cudaLaunchKernel\n",
       "a call without a chain has no path");
    is(values_of(export, "time"),
       "thread-7,main,time,0\n"
       "thread-7,main/run,time,0\n"
       "thread-7,main/run/cudaLaunchKernel,time,20\n"
       "thread-7,main/run/cudaLaunchKernel/cudaMemcpy,time,80\n",
       "the time of a call without a chain is part of the call around it, which ends the chain");
    close_export(export);
}

static void test_imported(void)
{
    struct open_export *export = export_of(
        TABLES NAMES
        "CREATE TABLE EXTRAP_RESOLVED_CALLPATHS (correlationId INTEGER, callpath, stackDepth, duration);"
        "INSERT INTO EXTRAP_RESOLVED_CALLPATHS VALUES (1,'main->run->cudaLaunchKernel',3,9),"
        "(NULL,'main',1,500),(NULL,'main->run',2,40),(0,'[Uncorrelated]',1,0),"
        "(9,'main->cudaLaunchKernel',2,1);" CALL(100, 110, 1, 1) KERNEL(120, 150, 7, 1, 3)
            KERNEL(160, 170, 7, 9, 4));
    is(rows(export, "kernels"), "main,1,10,10,10,reduce\nmain/run,1,30,30,30,stencil\n",
       "paths of an earlier import are used, even for a kernel whose call is missing");
    is(values_of(export, "time"),
       "thread-7,main,time,0\n"
       "thread-7,main/run,time,0\n"
       "thread-7,main/run/cudaLaunchKernel,time,10\n"
       "unknown-thread,main,time,500\n"
       "unknown-thread,main/run,time,40\n",
       "times of functions without a thread are separate");
    close_export(export);
}

static void test_pathless(void)
{
    struct open_export *export =
        export_of(TABLES NAMES CALL(100, 110, 1, 1) KERNEL(120, 150, 7, 1, 3) KERNEL(160, 170, 7, 9, 99));
    is(paths(export), "cudaLaunchKernel api\ncudaLaunchKernel/stencil kernel\n#99 kernel\n",
       "calls without paths are roots, and missing names are shown as numbers");
    is(rows(export, "kernels"), ",1,10,10,10,#99\n,1,30,30,30,stencil\n",
       "kernels of calls without paths have no path");
    close_export(export);
}

static void test_processes(void)
{
    struct open_export *export = export_of(TABLES NAMES CALL(
        100, 110, 1,
        1) "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,130,0,(1<<56)|(9<<24)|9,1,2,0,NULL);"
           "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1,2,0,1,7,1,(1<<56)|(9<<24),3,3);" KERNEL(
               120, 150, 7, 1, 3));
    is(values_of(export, "gpu activities"),
       "process-7.gpu-0.stream-7,cudaLaunchKernel/stencil,gpu activities,1\n"
       "process-9.gpu-0.stream-7,cudaMemcpy/stencil,gpu activities,1\n",
       "correlations and thread names of two processes are kept separate");
    close_export(export);
}

static void test_unknown_process(void)
{
    struct open_export *export = export_of(TABLES NAMES CALL(100, 110, 1, 1) KERNEL(
        120, 150, 7, 1, 3) "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (160,170,0,1,7,99,NULL,3,3);");
    is(rows(export, "events"),
       "process-7.gpu-0.stream-7,kernel,120,150,0,7,1,,,stencil\n"
       "gpu-0.stream-7,kernel,160,170,0,7,99,,,stencil\n",
       "a stream of an unknown process has a name without a process");
    close_export(export);
}

static void test_other_versions(void)
{
    struct open_export *export =
        export_of("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);" NAMES
                  "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (end INTEGER, start INTEGER, streamId INTEGER, "
                  "mangledName INTEGER);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (20,10,3,4),(NULL,30,3,4);"
                  "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, bytes INTEGER);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1,1);"
                  "CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);");
    is(rows(export, "events"),
       "gpu-0.stream-3,kernel,10,20,,3,,,,reduce\ngpu-0.stream-3,kernel,30,,,3,,,,reduce\n",
       "columns are found by name, in any order, and missing columns are empty");
    is(codes(export), "bad-times", "an event without an end is reported, and has no duration");
    close_export(export);
}

static void test_untimed(void)
{
    struct open_export *export = export_of(
        TABLES NAMES CALL(10, 20, 1, 1) CALL(0, 0, 2, 1) KERNEL(0, 0, 7, 1, 3) KERNEL(30, 34, 7, 1,
                                                                                      3) KERNEL(0, 0, 7, 2, 4)
            KERNEL(40, 46, 7, 2,
                   4) "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0,0,0,1,7,1," PID_7 ",100,1);"
                      "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (0,0,0,1,7,1," PID_7 ",3,0);");
    is(rows(export, "kernels"), ",1,6,6,6,reduce\n,1,4,4,4,stencil\n",
       "kernels without times are not counted as 0 ns");
    is(rows(export, "memcpy"), "", "copies without times are not counted");
    is(rows(export, "sync"), "", "synchronisations without times are not counted");
    is(rows(export, "api"), ",1,10,10,10,cudaLaunchKernel\n", "calls without times are not counted");
    is(values_of(export, "gpu activities"),
       "gpu-0.stream-7,cudaLaunchKernel/stencil,gpu activities,1\ngpu-0.stream-7,cudaLaunchKernel/reduce,gpu "
       "activities,1\n",
       "values omit operations without times, and calls without times have their kernels");
    is(codes(export), "untimed", "operations without times are reported");
    close_export(export);
}

/* True if a database created by this SQL is recognised as an export. */
static bool is_probed(const char *sql)
{
    static unsigned char head[PF_HEAD_MAX];
    struct pf_probe_result result = {0};
    struct stat st;
    unlink(path_in(export_folder, "probe.sqlite"));
    write_export("probe.sqlite", sql);
    struct pf_probe probe = {.name = "probe.sqlite", .bytes = head};
    probe.fd = open(path_in(export_folder, "probe.sqlite"), O_RDONLY);
    if (probe.fd < 0 || fstat(probe.fd, &st))
        abort();
    probe.size = (uint64_t)st.st_size;
    pf_nsight_driver.probe(&probe, &result);
    close(probe.fd);
    return result.confidence > 0;
}

static void test_probe(void)
{
    ok(is_probed(TABLES), "a database with strings and events of CUDA is an export");
    ok(!is_probed("CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT);"),
       "a database of something else is rejected");
    ok(!is_probed("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"),
       "a database with strings and without events is rejected");
    /* Each table takes a page, so that the pages of the schema are not adjacent. */
    char sql[64 * 1024] = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);";
    size_t size = strlen(sql);
    for (unsigned i = 0; i < 150; i++)
        size += (size_t)snprintf(sql + size, sizeof sql - size,
                                 "CREATE TABLE ENUM_%u (id INTEGER, name TEXT, label TEXT);", i);
    ok(!is_probed(sql), "a database without events and with a long schema is rejected");
    snprintf(sql + size, sizeof sql - size,
             "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER);");
    ok(is_probed(sql), "all pages of a long schema are examined");
    struct open_export *export = open_export("probe.sqlite");
    ok(!export->failed, "a database with a long schema opens");
    close_export(export);
}

static void test_info(void)
{
    struct open_export *export = export_of(
        SMALL "CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT);"
              "INSERT INTO EXPORT_META_DATA VALUES "
              "('EXPORT_PRODUCT_VERSION','2022.1'),('EXPORT_SCHEMA_VERSION','2.9.1');"
              "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT);"
              "INSERT INTO TARGET_INFO_GPU VALUES (0,0,'Imagined GPU');"
              "CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);"
              "INSERT INTO StringIds VALUES (30,'worker, 1'); INSERT INTO ThreadNames VALUES (30,0," THREAD_7
              ");");
    is(export->model.version, "2.9.1", "the version is that of the schema");
    ok(pf_rows_count(export->model.info) == 2, "info.txt shows product and GPUs");
    ok(strstr(threads(export), "thread-7,thread,7,7,,,,worker, 1\n") != NULL,
       "threads have their assigned names");
    close_export(export);
}

/* The metadata tables of exports of schema 3 and of 2020. */
static void test_info_of_other_versions(void)
{
    struct open_export *export =
        export_of(SMALL "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
                        "INSERT INTO META_DATA_EXPORT VALUES "
                        "('EXPORT_PRODUCT_VERSION','2024.7'),('EXPORT_SCHEMA_VERSION','3.15.1');"
                        "CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT);"
                        "INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_SCHEMA_VERSION','2.0.0');"
                        "CREATE TABLE TARGET_INFO_CUDA_GPU (vmId INTEGER, name TEXT, deviceId INTEGER);"
                        "INSERT INTO TARGET_INFO_CUDA_GPU VALUES (0,'Imagined GPU',0);");
    is(export->model.version, "3.15.1", "the version in the newer metadata table takes precedence");
    is(info_of(export), "Product version: 2024.7\nGPU: Imagined GPU\n", "GPUs are read from the older table");
    close_export(export);
}

int main(void)
{
    test_ranges();
    test_metrics();
    test_many_threads();
    test_tables();
    test_innermost();
    test_inner_calls();
    test_symbols();
    test_text_ids();
    test_sampled();
    test_imported();
    test_pathless();
    test_processes();
    test_unknown_process();
    test_other_versions();
    test_untimed();
    test_info();
    test_info_of_other_versions();
    test_probe();
    temp_dir_remove(export_folder);
    return done();
}
