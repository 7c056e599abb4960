/* SPDX-License-Identifier: MIT */
/* Tests the tables made from AFPerf files: runs, regions, sections, times, measurements, and references between records. */
#include <errno.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "formats/kit/pass.h"
#include "formats/probe.h"
#include "formats/runtime/notes.h"
#include "tests/unit/afperf_profile.h"
#include "tests/unit/tap.h"

#define RUN  "RunInfo,0,nanoseconds,1,1.0.0,1,app,2.9,\n"
#define TYPE "MeasurementType,0,1,9,Load,double,count,,\n"

/* ---- checks of one table of a text -------------------------------------------------------------- */

static void serves(const char *text, const char *table, const char *columns, const char *want,
                   const char *name)
{
    struct afperf_profile p;
    set_up(&p, text, strlen(text));
    char *have = p.result ? NULL : dump(&p.model, table, PF_UNRESTRICTED, columns, 0);
    is(have, want, name);
    free(have);
    tear_down(&p);
}

static void runs_are(const char *text, const char *columns, const char *want, const char *name)
{
    struct afperf_profile p;
    set_up(&p, text, strlen(text));
    char *have = p.result ? NULL : dump_runs(&p.model, columns);
    is(have, want, name);
    free(have);
    tear_down(&p);
}

static void warns(const char *text, const char *want, const char *name)
{
    struct afperf_profile p;
    set_up(&p, text, strlen(text));
    char *have = p.result ? NULL : dump_warnings(&p.model);
    is(have, want, name);
    free(have);
    tear_down(&p);
}

/* ---- recognising and opening -------------------------------------------------------------------- */

static unsigned confidence(const char *text, struct pf_probe_result *result)
{
    unsigned char head[64] = {0};
    memcpy(head, text, strlen(text));
    /* The probe's head already holds the whole text. */
    struct pf_probe probe = {
        .name = "x", .size = strlen(text), .fd = -1, .bytes = head, .have = strlen(text)};
    *result = (struct pf_probe_result){0};
    pf_afperf_driver.probe(&probe, result);
    return result->confidence;
}

static void test_recognising(void)
{
    struct pf_probe_result result;
    ok(confidence(HEADER, &result) == 32 && !*result.message,
       "a file is recognised by 16 bytes of header, whatever its name");
    ok(confidence("# AFPerf v1     \r\n", &result) == 32 && !*result.message,
       "a header that ends with CR LF is recognised");
    ok(confidence("# AFPerf v2     \n", &result) && *result.message, "another version is recognised");
    ok(confidence("# AFPerf v1\n", &result) && *result.message, "a header without padding is recognised");
    ok(confidence("\xef\xbb\xbf# AFPerf v1     \n", &result) && *result.message,
       "a header after a byte order mark is recognised");
    ok(!confidence("# AFPerf notes\n", &result) && !confidence("", &result), "other texts are rejected");
    ok(!confidence("# AFPerf v1 corpus\n", &result) &&
           !confidence("\xef\xbb\xbf# AFPerf v2 is new\n", &result),
       "a heading that continues after the version is rejected");
}

static void test_opening(void)
{
    struct afperf_profile p;
    set_up(&p, "# AFPerf v2     \n", 17);
    ok(p.result < 0 && p.error.code == EINVAL && p.error.line == 1,
       "another version is refused with a reason");
    tear_down(&p);
    set_up(&p, HEADER, 16);
    ok(!p.result && !pf_rows_count(p.model.partitions.items) && !p.model.contexts->count,
       "a file with only a header is an empty profile");
    tear_down(&p);
    warns(HEADER RUN "# AFPerf v2     \nRunInfo,x\n", "3 fatal other-version-header\n",
          "reading ends at a header of another version");
    warns(HEADER RUN "# AFPerf v1\n", "3 warning header-not-16-bytes\n",
          "a later header without padding is reported");
}

static void test_stopping(void)
{
    struct afperf_profile p;
    make_folder(&p);
    char *text = malloc(4 << 20);
    size_t size = (size_t)sprintf(text, HEADER RUN);
    while (size < (3 << 20))
        size += (size_t)sprintf(text + size, "RegionStart,1,1,1,a,\n");
    write_profile(p.directory, text, size);
    struct pf_pass pass = {.stop = true};
    struct pf_pass *before = pf_pass_begin(&pass);
    load_profile(&p);
    pf_pass_end(before);
    ok(p.result < 0 && p.error.code == ECANCELED && !p.model.contexts && !p.model.partitions.items &&
           !pf_rows_count(p.model.warnings),
       "a cancelled pass leaves no trace");
    unload_profile(&p);
    load_profile(&p);
    ok(!p.result && p.model.contexts, "a pass after a cancelled one succeeds");
    tear_down(&p);
    free(text);
}

/* ---- regions ------------------------------------------------------------------------------------ */

static void test_nesting(void)
{
    const char *text = HEADER RUN "RegionStart,10,1,1,main,\nRegionStart,20,1,2,solve,k=v\nRegionStop,50,2\n"
                                  "RegionStart,50,1,3,solve,\nRegionStop,60,3\nRegionStop,100,1\n";
    serves(text, "regions", "region,parent,depth,start,stop,inclusive,exclusive,state,line,tags,label",
           "0,,0,10,100,90,50,closed,3,,main\n1,0,1,20,50,30,30,closed,4,k=v,solve\n"
           "2,0,1,50,60,10,10,closed,6,,solve\n",
           "regions nest by their starts and stops");
    serves(
        text, "values", NULL,
        "0,main,calls,1\n0,main,time,50\n0,main,time (inc),90\n0,main,time net,50\n0,main,time net (inc),90\n"
        "0,solve,calls,2\n0,solve,time,40\n0,solve,time (inc),40\n0,solve,time net,40\n0,solve,time net "
        "(inc),40\n",
        "regions with the same path of labels are one context");
    serves(HEADER "RunInfo,0,milliseconds,1,1.0.0,1,,,\nRegionStart,1,1,1,,\nRegionStop,3,1\n"
                  "RegionStart,4,1,,,\nRegionStop,5,\n",
           "values", "context,metric,value",
           "0x1,calls,1\n0x1,time,2000000\n0x1,time (inc),2000000\n0x1,time net,2000000\n"
           "0x1,time net (inc),2000000\n(blank),calls,1\n(blank),time,1000000\n(blank),time (inc),1000000\n"
           "(blank),time net,1000000\n(blank),time net (inc),1000000\n",
           "times are nanoseconds; a region without a label is named by its id");
    serves(
        HEADER RUN "RegionStart,0,1,1,,\nRegionStop,18446744073709551615,1\nRegionStart,0,1,2,0x1,\n"
                   "RegionStop,18446744073709551615,2\n",
        "values", "metric,value",
        "calls,1\ntime,0\ntime (inc),18446744073709551615\ntime net,0\ntime net (inc),18446744073709551615\n"
        "calls,1\ntime,18446744073709551615\ntime (inc),18446744073709551615\ntime net,18446744073709551615\n"
        "time net (inc),18446744073709551615\n",
        "64-bit times are exact");
}

static void test_pauses(void)
{
    const char *text = HEADER RUN "PauseResume,50,40,1\nPauseResume,70,50,1\nPauseResume,15,5,1\n"
                                  "RegionStart,10,1,1,main,\nRegionStart,45,1,2,inner,\nRegionStop,60,2\n"
                                  "RegionStop,100,1\n";
    serves(text, "pauses", NULL, "0,5,15\n0,40,70\n", "adjacent pauses are merged");
    serves(text, "regions", "label,inclusive_net,exclusive_net", "55,55,main\n0,0,inner\n",
           "net times exclude pauses");
    serves(text, "trace", "time,event",
           "5,pause\n10,region-start\n15,resume\n40,pause\n45,region-start\n"
           "60,region-stop\n70,resume\n100,region-stop\n",
           "pauses are in the trace in time order");
}

static void test_damaged_nesting(void)
{
    const char *overlapping = HEADER RUN "RegionStart,0,1,1,a,\nRegionStart,10,1,2,b,\nRegionStop,20,1\n"
                                         "RegionStop,30,2\nRegionStart,12,1,3,c,\nRegionStop,15,3\n";
    serves(overlapping, "regions", "region,parent,exclusive", "0,,20\n1,,17\n2,1,3\n",
           "overlapping regions are nested by time");
    warns(overlapping, "4 warning overlapping-regions\n", "overlapping regions are reported");
    runs_are(overlapping, "nesting", "geometry\n", "overlaps are reported in the whole run");
    const char *open = HEADER RUN "RegionStart,10,1,1,a,\nRegionStart,20,1,2,b,\nRegionStop,50,1\n"
                                  "RegionStart,60,1,3,c,\nRegionStop,40,4\nRegionStop,30,3\n";
    serves(open, "regions", "label,stop,state", "50,closed,a\n50,unclosed,b\n60,closed,c\n",
           "a region without a stop ends with its parent");
    warns(open, "4 warning unclosed-region\n6 warning negative-duration\n7 warning stop-without-start\n",
          "each problem is reported with its line");
    warns(HEADER RUN "RegionStart,10,1,1,a,\nRegionStop,20,1\nRegionStop,30,1\n",
          "5 warning duplicate-stop\n", "a second stop and a stop without a start are different problems");
}

static void test_ids(void)
{
    serves(HEADER "RegionStop,150,0xb1\nRegionStart,110,1,0xb1,late,\n" RUN, "regions",
           "run,start,stop,line,label", "0,110,150,3,late\n", "a stop may precede its start");
    serves(HEADER "RegionStop,20,1\nRegionStop,30,1\n" RUN "RegionStart,10,1,1,a,\nRegionStart,25,1,1,b,\n",
           "regions", "label,stop", "20,a\n30,b\n", "stops of one id are paired in file order");
    serves(HEADER RUN "RegionStart,1,1,1,a,\n" HEADER "RegionStop,9,1\nRegionStart,5,1,1,b,\n", "regions",
           "label,stop,state", "9,unclosed,a\n9,closed,b\n", "a record is resolved in its own segment first");
    serves(HEADER RUN "RegionStart,1,1,1,a,\n" HEADER "RegionStop,9,1\n", "regions", "label,stop,state",
           "9,closed,a\n", "a record that its own segment does not resolve is resolved in the other segments");
    serves(HEADER RUN "RegionStart,5,1,1,a,\nRegionStop,5,1\nRegionStop,5,2\nRegionStart,5,1,2,b,\n", "trace",
           "time,event,context", "5,region-start,a\n5,region-stop,a\n5,region-start,b\n5,region-stop,b\n",
           "a region of zero length stops at its start, not before it");
    runs_are(HEADER "RunInfo, 7 , ns ,\t1.5 , 1.0.0 , 0x1 , app , 2 ,\n",
             "start,units,wallclock,version,run_id,application", "0x1,7,ns,1.5,1.0.0, app \n",
             "blanks around numbers are removed, blanks around texts are kept");
    runs_are(HEADER "RegionStart,1,0xdead,1,a,\n" RUN "RunPoint,5,0xbeef,1,3\n", "run,run_id,implicit,line",
             "0,2,0xdead,1\n1,3,0x1,0\n2,4,0xbeef,1\n", "a run that is only referenced is a run");
    runs_are(HEADER "RegionPoint,5,1,9,3\nRunInfo,0,s,1,1.0.0,1,,,\nRunInfo,0,s,1,1.0.0,2,,,\n"
                    "RegionStart,1,1,1,a,\n",
             "run,run_id", "0,0x1\n1,0x2\n",
             "data that can be assigned to a declared run create no other run");
    runs_are(HEADER "RegionPoint,5,7,9,3\nRunInfo,0,s,1,1.0.0,1,,,\nRunInfo,0,s,1,1.0.0,2,,,\n",
             "run,run_id,line", "0,2,\n1,3,0x1\n2,4,0x2\n", "data without a run create one");
}

static void test_no_ids(void)
{
    serves(HEADER RUN "RegionStart,10,1,,a,\nRegionStart,20,1,,b,\nRegionStop,30,\nRegionStop,40,\n",
           "regions", "label,start,stop", "10,40,a\n20,30,b\n",
           "a stop without an id closes the innermost region");
    const char *shuffled = HEADER RUN TYPE "RegionStart,20,1,,b,\nRegionStop,30,\nRegionPoint,30,,9,1\n"
                                           "RegionStart,10,1,,a,\nRegionStop,40,\nRegionPoint,40,,9,2\n"
                                           "RegionStop,5,\n";
    serves(shuffled, "regions", "label,start,stop", "20,30,b\n10,40,a\n", "blocks may come in any order");
    serves(shuffled, "measurements", "object,value", "0,1\n1,2\n", "data belong to the enclosing block");
    warns(shuffled, "10 warning stop-without-start\n",
          "a stop that closes nothing is reported in pairing by time too");
    const char *crossed =
        HEADER RUN TYPE "RegionStart,50,1,,late,\nRegionStart,10,1,,early,\nRegionStop,60,\n"
                        "RegionPoint,60,,9,1\nRegionStop,20,\nRegionPoint,20,,9,2\n";
    serves(crossed, "regions", "label,start,stop", "50,60,late\n10,20,early\n",
           "pairs that conflict in file order are paired by time");
    serves(crossed, "measurements", "object,value", "0,1\n1,2\n",
           "data in their blocks are assigned by time too");
    warns(HEADER RUN "RegionStart,50,1,,a,\nRegionStop,10,\nRegionStop,60,\n",
          "4 warning stop-without-start\n", "a stop that pairing by time leaves unused is reported");
    warns(HEADER RUN TYPE "RegionStart,50,1,,a,\nRegionStop,10,\nRegionPoint,10,,9,1\n",
          "4 warning unclosed-region\n5 warning stop-without-start\n6 warning unresolved-region\n",
          "data in its block then belong to no region");
}

/* ---- sections ----------------------------------------------------------------------------------- */

static void test_sections(void)
{
    const char *text =
        HEADER RUN TYPE "SectionInfo,,1,5,io,k=v\nSectionStart,10,5,1\nSectionStart,15,5,2\n"
                        "SectionPoint,16,5,2,9,1\nSectionStop,20,5,1\nSectionStop,30,5,2\n"
                        "SectionStart,40,5,1\nSectionPoint,41,5,1,9,2\nSectionPoint,41,5,8,9,3\n";
    serves(text, "sections", "label,intervals,total,covered", "3,26,21,io\n",
           "intervals of a section may overlap: total counts them twice, covered once");
    serves(text, "intervals", "interval,interval_id,start,stop,state",
           "0,0x1,10,20,closed\n1,0x2,15,30,closed\n2,0x1,40,41,unclosed\n", "an id may be reused");
    serves(text, "measurements", "scope,object,interval,value",
           "section,0,1,1\nsection,0,2,2\nsection,0,,3\n",
           "data belong to the last interval of the id before them");
    warns(text, "10 warning unclosed-interval\n12 warning unresolved-interval\n",
          "unknown intervals are reported");
    serves(HEADER RUN "SectionInfo,,1,,s,\nSectionStart,15,,\nSectionStart,18,,\nSectionStop,25,,\n"
                      "SectionStop,40,,\n",
           "intervals", "start,stop", "15,25\n18,40\n",
           "intervals without an id are closed in first-in, first-out order");
    serves(HEADER RUN "SectionStart,1,7,1\nSectionStop,2,7,1\n", "sections", "section_id,implicit,intervals",
           "0x7,1,1\n", "a section without SectionInfo is a section");
    const char *lost = HEADER RUN TYPE
        "SectionPoint,1,,,9,0\nSectionStop,2,5,1\nSectionPoint,2,,,9,1\nSectionInfo,,1,5,io,\n"
        "SectionStop,3,,\nSectionPoint,3,,,9,2\nSectionAggregate,3,2,,1,,9,3\n"
        "SectionStop,4,6,1\nSectionPoint,4,,,9,4\n";
    serves(lost, "measurements", "scope,object,value",
           "orphan,,0\nsection,0,1\nsection,0,2\nsection,0,3\norphan,,4\n",
           "data after a stop without a start belong to its section if there is one");
    warns(lost,
          "4 warning unresolved-section\n5 warning stop-without-start\n8 warning stop-without-start\n"
          "10 warning unresolved-interval\n11 warning unresolved-section\n12 warning unresolved-section\n",
          "each of these problems is reported");
    serves(text, "values", "context,metric,value", "io,calls,3\nio,time (inc),26\nio,time net (inc),26\n",
           "sections have no exclusive time");
    struct afperf_profile p;
    set_up(&p, text, strlen(text));
    ok(p.model.contexts->flags[0] == 0 && p.model.metrics[0].over_contexts == PF_OVER_FRAMES,
       "sections are not part of totals");
    tear_down(&p);
}

/* ---- measurements ------------------------------------------------------------------------------- */

static void test_measurements(void)
{
    serves(HEADER RUN "RunPoint,1,1,9,10\nMeasurementType,0,1,9,Old,int64,s,sum,text\nRunPoint,2,1,9,2.5\n"
                      "MeasurementType,0,1,9,New,double,,,\n",
           "measurements", "value,name", "10,New\n2.5,New\n", "the last definition applies to the whole run");
    serves(HEADER RUN "MeasurementType,0,1,9,Old,int64,s,sum,text\nMeasurementType,0,1,9,New,double,,,\n",
           "types", NULL, "0,0x9,4,2,double,s,sum,New,text\n",
           "fields that the last definition leaves blank keep their values");
    warns(HEADER RUN
          "MeasurementType,0,1,9,T,double,,,\nRunPoint,2,1,9,2.5\nMeasurementType,0,1,9,T,int64,,,\n",
          "4 warning bad-value\n", "values are checked against the last datatype");
    serves(HEADER RUN TYPE
           "RegionStart,1,1,3,a,\nRegionStop,5,3\nRegionPoint,1,3,9,1\nRegionAggregate,5,1,3,,9,2\n"
           "RegionAggregate,5,1,,sum,9,3\nRegionAggregate,5,1,1,,9,4\nRegionAggregate,5,1,7,,9,5\n"
           "RunAggregate,5,1,,mean,9,6\n",
           "measurements", "scope,object,kind,aggregation,value",
           "region,0,point,,1\nregion,0,raw,,2\nrun-regions,,processed,sum,3\nrun-regions,,raw,,4\n"
           "orphan,,raw,,5\nrun,,processed,mean,6\n",
           "an id refers to a region, otherwise to a run, otherwise to nothing; a blank id with an "
           "aggregation means the run");
    serves(HEADER RUN "RunPoint,1,1,7,0x10,8,1.5,6,text\n", "measurements", "type_id,value",
           "0x7,16\n0x8,1.5\n0x6,text\n", "a value without a type has the type that it looks like");
}

static void test_tags(void)
{
    serves(HEADER
           "RunInfo,0,s,1,1.0.0,1,,,a=b;;c\nRegionStart,1,1,1,r,x=y=z; p = q \nSectionInfo,,1,5,s,k=\n",
           "tags", NULL, "run,0,b,a\nrun,0,,c\nregion,0,y=z,x\nregion,0, q , p \nsection,0,,k\n",
           "tags are split at semicolons and at their first equals sign");
}

/* ---- walks -------------------------------------------------------------------------------------- */

/* Two interleaved runs with regions, sections, pauses, tags and data. */
static char *busy_text(size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    fputs(HEADER "RunInfo,0,ns,1,1.0.0,1,one,1,a=b\nRunInfo,0,us,1,1.0.0,2,two,1,c=d;e=f\n", out);
    for (unsigned run = 1; run <= 2; run++)
        fprintf(out, "MeasurementType,0,%u,9,T,int64,ns,,\nSectionInfo,,%u,%u,\"se,c\",s=%u\n", run, run,
                run + 50, run);
    for (unsigned i = 1; i <= 60; i++) {
        unsigned run = 1 + i % 2, id = 1000 * run + i, t = 20 * i;
        fprintf(out, "RegionStart,%u,%u,%u,\"r\n%u\",n=%u\nRegionStart,%u,%u,%u,in,\n", t, run, id, i % 3, i,
                t + 2, run, id + 500);
        fprintf(out, "SectionStart,%u,%u,%u\nSectionPoint,%u,%u,%u,9,%u\n", t + 3, run + 50, i, t + 4,
                run + 50, i, i);
        fprintf(out, "RegionStop,%u,%u\nRegionPoint,%u,%u,9,%u,9,%u\n", t + 5, id + 500, t + 5, id + 500, i,
                t);
        fprintf(out, "SectionStop,%u,%u,%u\nRegionStop,%u,%u\n", t + 7, run + 50, i, t + 9, id);
        if (i % 7 == 0)
            fprintf(out, "PauseResume,%u,%u,%u\n", t + 4, t + 1, run);
    }
    fclose(out);
    return text;
}

/* True if a walk that resumes after every `hop` rows gives the same text as an uninterrupted walk. */
static bool agree(struct pf_model *model, const char *table, struct pf_restriction only, unsigned hop)
{
    char *whole = dump(model, table, only, NULL, 0), *parts = dump(model, table, only, NULL, hop);
    bool same = !strcmp(whole, parts) && !strstr(whole, "error:");
    free(whole);
    free(parts);
    return same;
}

static size_t lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static size_t count(struct pf_model *model, const char *table, struct pf_restriction only)
{
    char *text = dump(model, table, only, "line,time,metric,start", 0);
    size_t n = lines(text);
    free(text);
    return n;
}

static void test_walks(void)
{
    static const char *const tables[] = {"values", "trace", "measurements", "regions", "intervals", "tags"};
    struct afperf_profile p;
    size_t size;
    char *text = busy_text(&size);
    set_up(&p, text, size);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        bool same = true;
        for (unsigned hop = 1; hop < 6; hop += 2)
            same &= agree(&p.model, tables[i], PF_UNRESTRICTED, hop);
        ok(same, "%s: a walk resumes at a saved position", tables[i]);
        if (!strcmp(tables[i], "tags"))
            continue;
        size_t whole = count(&p.model, tables[i], PF_UNRESTRICTED), runs = 0, contexts = 0;
        same = true;
        for (int64_t run = 0; run < 2; run++) {
            struct pf_restriction only = {run, -1, -1, -1};
            runs += count(&p.model, tables[i], only);
            same &= agree(&p.model, tables[i], only, 2);
        }
        for (int64_t context = 0; context < p.model.contexts->count; context++) {
            struct pf_restriction only = {-1, context, -1, -1};
            contexts += count(&p.model, tables[i], only);
            same &= agree(&p.model, tables[i], only, 2);
        }
        ok(runs == whole && same, "%s: the rows of all runs together are the table", tables[i]);
        size_t without = strcmp(tables[i], "trace") ? 0 : count(&p.model, "pauses", PF_UNRESTRICTED) * 2;
        ok(contexts + without == whole, "%s: the rows of all contexts together are the table without rows that lack a context",
           tables[i]);
    }
    struct pf_restriction only = {1, 0, 2, -1};
    ok(count(&p.model, "values", only) == 1, "values can be restricted to a metric");
    tear_down(&p);
    free(text);
}

/* Returns the text with a long comment after each line, so that records are far apart; the caller frees it. */
static char *spread(const char *text, size_t size, size_t *spread_size)
{
    static char comment[9000];
    char *far = NULL;
    FILE *out = open_memstream(&far, spread_size);
    memset(comment, '#', sizeof comment - 1);
    comment[sizeof comment - 1] = '\n';
    for (const char *at = text, *end; at < text + size; at = end) {
        end = (const char *)memchr(at, '\n', (size_t)(text + size - at)) + 1;
        fwrite(at, 1, (size_t)(end - at), out);
        fwrite(comment, 1, sizeof comment, out);
    }
    fclose(out);
    return far;
}

/* A walk restricted to a run or context reads only the part of the file with the matching records, but must yield all of them. */
static void test_parts_of_the_file(const char *text, size_t size, const char *what)
{
    const struct sound_limits limits = {.rows = 100000, .hop = 1000};
    struct afperf_profile p;
    size_t far_size;
    char *far = spread(text, size, &far_size);
    set_up(&p, far, far_size);
    for (size_t t = 0; t < p.model.n_tables; t++) {
        const struct pf_table *table = &p.model.tables[t];
        bool same = true;
        for (int64_t run = 0; table->ops && run < (int64_t)pf_rows_count(p.model.partitions.items); run++)
            same &= !sound_table(&p.model, table, (struct pf_restriction){run, -1, -1, -1}, limits);
        for (int64_t context = 0; table->ops && context < p.model.contexts->count; context++)
            same &= !sound_table(&p.model, table, (struct pf_restriction){-1, context, -1, -1}, limits);
        ok(same, "%s: %s of a run or context has all of its rows", what, table->name);
    }
    tear_down(&p);
    free(far);
}

static void test_far_apart(void)
{
    static const char apart[] = HEADER
        "RunInfo,0,ns,1,1.0.0,1,a\nMeasurementType,,1,9,T,int64\nRunPoint,1,1,9,1\nRegionStart,1,1,5,x,\n"
        "RegionPoint,1,5,9,1\nRegionStop,2,5\nSectionInfo,,1,7,s,\nSectionStart,2,7,1\nSectionStop,3,7,1\n"
        "SectionPoint,3,7,1,9,1\nRegionStart,3,1,6,y,\nRegionStop,4,6\nRegionPoint,4,5,9,2\n"
        "RunInfo,0,ns,1,1.0.0,2,b\nMeasurementType,,2,9,T,int64\nRegionPoint,9,8,9,1\nRegionStart,9,2,8,x,\n"
        "RegionStop,12,8\nRunPoint,13,2,9,3\nRunAggregate,13,0,1,sum,9,3\n";
    static const char nameless[] = HEADER
        "RunInfo,0,ns,1,1.0.0,1,a\nMeasurementType,,1,9,T,int64\nRegionStart,1,,,x,\nRegionStart,5,,,y,\n"
        "RegionStop,3,\nRegionPoint,3,,9,1\nRegionStop,7,\nRegionPoint,7,,9,2\n";
    static const char again[] = HEADER
        "RunInfo,0,ns,1,1.0.0,1,a\nMeasurementType,,1,9,T,int64\nRegionStart,1,1,5,x,\nRegionStart,2,1,5,y,\n"
        "RegionStop,3,5\nRegionStop,4,5\nRegionPoint,4,5,9,1\nRegionStart,5,1,5,z,\nRegionPoint,6,5,9,1\n"
        "RegionStop,6,5\nRegionPoint,6,5,9,2\n";
    size_t size;
    char *busy = busy_text(&size);
    test_parts_of_the_file(busy, size, "busy");
    free(busy);
    test_parts_of_the_file(apart, sizeof apart - 1, "consecutive runs");
    test_parts_of_the_file(nameless, sizeof nameless - 1, "regions without ids in arbitrary order");
    test_parts_of_the_file(again, sizeof again - 1, "reused ids");
}

static void test_positions_are_checked(void)
{
    static const char *const tables[] = {"values", "trace", "measurements", "tags"};
    struct afperf_profile p;
    size_t size;
    char *text = busy_text(&size), wrong[64];
    set_up(&p, text, size);
    memset(wrong, 0x7f, sizeof wrong);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct pf_cursor cursor = {
            .model = &p.model, .table = table_of(&p.model, tables[i]), .only = PF_UNRESTRICTED};
        const struct pf_cursor_ops *ops = cursor.table->ops;
        int failed = ops->open(&cursor, &p.error);
        size_t saved = ops->save(&cursor, NULL, 0);
        ok(!failed && ops->restore(&cursor, wrong, saved, &p.error) < 0 &&
               ops->restore(&cursor, wrong, saved - 1, &p.error) < 0,
           "%s: invalid positions are refused", tables[i]);
        ops->close(&cursor);
    }
    tear_down(&p);
    free(text);
}

/* ---- values, warnings, large files -------------------------------------------------------------- */

static void test_order_of_values(void)
{
    serves(HEADER "RunInfo,0,ns,1,1.0.0,1,,,\nRegionStart,0,1,1,a,\nRegionStart,1,1,2,b,\nRegionStop,2,2\n"
                  "RegionStop,3,1\nRunInfo,0,ns,1,1.0.0,2,,,\nRegionStart,5,2,3,b,\nRegionStop,6,3\n"
                  "RegionStart,7,2,4,a,\nRegionStart,8,2,5,b,\nRegionStop,9,5\nRegionStop,9,4\n",
           "values", "run,context,metric",
           "0,a,calls\n0,a,time\n0,a,time (inc)\n0,a,time net\n0,a,time net (inc)\n"
           "0,b,calls\n0,b,time\n0,b,time (inc)\n0,b,time net\n0,b,time net (inc)\n"
           "1,a,calls\n1,a,time\n1,a,time (inc)\n1,a,time net\n1,a,time net (inc)\n"
           "1,b,calls\n1,b,time\n1,b,time (inc)\n1,b,time net\n1,b,time net (inc)\n"
           "1,b,calls\n1,b,time\n1,b,time (inc)\n1,b,time net\n1,b,time net (inc)\n",
           "values are sorted by run, context and metric, whatever a run begins with");
}

static void test_many_warnings(void)
{
    enum { STOPS = PF_NOTES_ALIKE + 7 };
    struct afperf_profile p;
    char *text = malloc(100 + 20 * STOPS);
    size_t size = (size_t)sprintf(text, HEADER RUN);
    for (int i = 0; i < STOPS; i++)
        size += (size_t)sprintf(text + size, "RegionStop,1,%d\n", i % 2);
    set_up(&p, text, size);
    const struct pf_cell *last = pf_rows_at(p.model.warnings, PF_NOTES_ALIKE - 1);
    const struct pf_cell *more = pf_rows_at(p.model.warnings, PF_NOTES_ALIKE);
    ok(pf_rows_count(p.model.warnings) == PF_NOTES_ALIKE + 1 && last[0].i == 2 + PF_NOTES_ALIKE &&
           more[4].size == 33 && !memcmp(more[4].text, "7 further problems are not listed", 33),
       "the first ones of many equal problems are listed, and the others are counted");
    tear_down(&p);
    free(text);
}

static uint64_t count_rows(struct pf_model *model, const char *name)
{
    char *text = dump(model, name, PF_UNRESTRICTED, NULL, 0);
    uint64_t rows = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        rows++;
    free(text);
    return rows;
}

/* More events than the driver holds in memory. In the second half of the file, the stop of each region precedes its start. */
static void test_large_file(void)
{
    enum { REGIONS = 40000 };
    struct afperf_profile p;
    char *text = malloc(150 * REGIONS);
    size_t size = (size_t)sprintf(text, HEADER RUN TYPE);
    for (int i = 0; i < REGIONS; i++) {
        char start[80], stop[40];
        snprintf(start, sizeof start, "RegionStart,%d,1,%d,r,%s\n", 10 * i, i + 1,
                 i % 2 ? "" : "part=even half");
        snprintf(stop, sizeof stop, "RegionStop,%d,%d\n", 10 * i + 3, i + 1);
        bool swapped = i >= REGIONS / 2;
        size += (size_t)sprintf(text + size, "%s%sRegionPoint,%d,%d,9,%d\n", swapped ? stop : start,
                                swapped ? start : stop, 10 * i + 3, i + 1, i);
    }
    set_up(&p, text, size);
    ok(!p.result && count_rows(&p.model, "regions") == REGIONS &&
           count_rows(&p.model, "trace") == 2 * REGIONS && count_rows(&p.model, "measurements") == REGIONS &&
           count_rows(&p.model, "tags") == REGIONS / 2,
       "a file that exceeds memory has all rows");
    ok(!p.result && sum_of(&p.model, 0, 0, PF_FRAME) == REGIONS &&
           sum_of(&p.model, 0, 1, PF_FRAME) == 3 * REGIONS && !pf_rows_count(p.model.warnings),
       "all stops in a file that exceeds memory find their starts");
    tear_down(&p);
    free(text);
}

/* Returns the most memory in KB that a process takes to load a file of `n` short regions; -1 if it fails. */
static long memory_for(unsigned n)
{
    struct rusage usage;
    int status;
    pid_t child = fork();
    if (!child) {
        struct afperf_profile p;
        make_folder(&p);
        FILE *out = fdopen(openat(p.directory, "run.afperf", O_WRONLY | O_CREAT, 0600), "w");
        if (!out)
            abort();
        fputs(HEADER RUN, out);
        for (unsigned i = 0; i < n; i++)
            fprintf(out, "RegionStart,%u,1,%u,a,\nRegionStop,%u,%u\n", 2 * i, i + 1, 2 * i + 1, i + 1);
        fclose(out);
        load_profile(&p);
        int failed = p.result;
        tear_down(&p);
        _exit(failed != 0);
    }
    return child > 0 && wait4(child, &status, 0, &usage) == child && !status ? usage.ru_maxrss : -1;
}

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { GROWTH_MAX = INT_MAX }; /* AddressSanitizer keeps freed memory for a while */
#else
enum { GROWTH_MAX = 10000 };
#endif

/* Ended regions take no memory: only their records are kept, in a temporary file. */
static void test_memory(void)
{
    long few = memory_for(100000), many = memory_for(400000);
    ok(few > 0 && many > 0 && many - few < GROWTH_MAX,
       "memory does not grow with regions that have ended: %ld KB, %ld KB", few, many);
}

int main(void)
{
    test_memory(); /* first, since a child inherits the memory of this process */
    test_recognising();
    test_opening();
    test_stopping();
    test_nesting();
    test_pauses();
    test_damaged_nesting();
    test_ids();
    test_no_ids();
    test_sections();
    test_measurements();
    test_tags();
    test_walks();
    test_far_apart();
    test_positions_are_checked();
    test_order_of_values();
    test_many_warnings();
    test_large_file();
    return done();
}
