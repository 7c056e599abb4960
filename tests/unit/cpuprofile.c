/* SPDX-License-Identifier: MIT */
#include "tests/unit/profile_file.h"

extern const struct pf_driver pf_cpuprofile_driver;

#define FRAME(name, line)                                                                                    \
    "\"callFrame\":{\"functionName\":\"" name "\",\"url\":\"u.js\",\"lineNumber\":" #line "}"
#define NODE(id, name, more) "{\"id\":" #id "," FRAME(name, id) more "}"
#define NODES                                                                                                \
    "\"nodes\":[" NODE(1, "(root)",                                                                          \
                       ",\"children\":[2,3]") "," NODE(2, "f", "") "," NODE(3, "", ",\"hitCount\":4") "]"
#define TIMES(samples, deltas)                                                                               \
    ",\"startTime\":10,\"endTime\":100,\"samples\":[" samples "],\"timeDeltas\":[" deltas "]"

static void file_reads(const char *text, const char *table, const char *want, const char *warnings,
                       const char *name)
{
    struct file file;
    char about[256];
    file_open(&file, &pf_cpuprofile_driver, "a.json", text, strlen(text), 1 << 20);
    table_is(&file, table, want, name);
    snprintf(about, sizeof about, "%s: the warnings are those expected", name);
    warnings_are(&file, warnings, about);
    file_close(&file);
}

static void samples(void)
{
    const char *text = "{" NODES TIMES("2,3,2", "5,10,20") "}";
    file_reads(text, "values",
               "all,(root)>f,samples,2|all,(root)>f,time,65000|all,(root)>(anonymous),samples,1|all,(root)>("
               "anonymous),time,20000|",
               "", "a sample lasts until the next one, and the last one until the end");
    file_reads(text, "trace", "all,15000,10000,1,1,f|all,25000,20000,1,2,(anonymous)|all,45000,55000,1,1,f|",
               "", "trace.csv has one row per sample");
    file_reads("{" NODES TIMES("2,3", "20,-5") "}", "trace",
               "all,25000,5000,1,2,(anonymous)|all,30000,70000,1,1,f|", "warning backwards|",
               "samples are sorted by time");
    file_reads("{" NODES TIMES("2,9,3", "5,5,5") "}", "trace",
               "all,15000,5000,1,1,f|all,25000,75000,1,2,(anonymous)|", "warning no-node|",
               "a sample of an unknown node ends the previous sample");
    file_reads("{" NODES TIMES("2,3", "5") "}", "values",
               "all,(root)>f,samples,1|all,(root)>f,time,85000|all,(root)>(anonymous),samples,1|",
               "warning counts|", "missing times are reported");
    file_reads("{" NODES "}", "values", "all,(root)>(anonymous),samples,4|", "warning no-samples|",
               "a profile without samples shows the hit counts");
    file_reads("{\"timeDeltas\":[1],\"samples\":[2],\"endTime\":3,\"startTime\":1," NODES "}", "values",
               "all,(root)>f,samples,1|all,(root)>f,time,1000|", "", "members may be in any order");
    file_reads("{\"id\":1,\"result\":{\"profile\":{" NODES TIMES("2", "90") "}}}", "values",
               "all,(root)>f,samples,1|", "", "a profile within a reply of the inspector is found");
    file_reads("{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"r\"}},{\"id\":2,\"parent\":1," FRAME(
                   "f", 2) "}],\"samples\":[2]}",
               "values", "all,r>f,samples,1|", "warning counts|",
               "nodes may list their parents instead of children");
}

static void files(void)
{
    static const char *const texts[] = {
        "{" NODES "}",
        "{\"head\":{\"functionName\":\"f\",\"url\":\"u.js\",\"lineNumber\":3,\"hitCount\":1,\"id\":1}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct file file;
        file_open(&file, &pf_cpuprofile_driver, "a.json", texts[i], strlen(texts[i]), 1 << 20);
        const struct pf_tree *tree = file.model.contexts;
        struct pf_cell name = tree->file ? pf_interned(tree->strings, tree->file[0]) : pf_absent();
        ok(name.size == 4 && !memcmp(name.text, "u.js", 4) && !tree->module,
           "a script is a file, not a module: %zu", i);
        file_close(&file);
    }
}

static void trees(void)
{
    file_reads(
        "{\"nodes\":[" NODE(1, "r", ",\"children\":[2,3,9]") "," NODE(2, "f", ",\"children\":[3,1]") "," NODE(
            3, "g", "") "," NODE(3, "again", "") "],\"samples\":[3]}",
        "values", "all,r>g,samples,1|",
        "warning repeated-id|warning no-node|warning two-parents|warning cycle|warning counts|",
        "the first of duplicate nodes and parents is used, and cycles are cut");
    file_reads("{\"nodes\":[" NODE(2, "f", ",\"children\":[3]") "," NODE(
                   3, "g", ",\"children\":[2]") "],\"samples\":[3]}",
               "values", "all,f>g,samples,1|", "warning cycle|warning counts|",
               "a cycle is cut if no node is a root");
    file_reads(
        "{\"head\":{" FRAME("(root)", 0) ",\"selfSize\":0,\"id\":1,\"children\":[{\"children\":[{" FRAME(
            "g", 1) ",\"selfSize\":5}],\"selfSize\":7," FRAME("f", 2) "}]}}",
        "values", "all,(root)>f,bytes,7|all,(root)>f>g,bytes,5|", "",
        "a heap profile is a tree of nested nodes");
    file_reads("{\"head\":{\"functionName\":\"(root)\",\"url\":\"\",\"lineNumber\":0,\"id\":1,\"hitCount\":0,"
               "\"children\":["
               "{\"functionName\":\"f\",\"lineNumber\":4,\"id\":2,\"hitCount\":1,\"children\":[]}]},"
               "\"startTime\":1,\"endTime\":2,\"samples\":[2,2],\"timestamps\":[1000,1500,1900]}",
               "trace", "all,1000000,500000,1,1,f|all,1500000,400000,1,1,f|", "",
               "old files have time stamps, including one for the end");
    file_reads("{\"head\":{\"functionName\":\"f\",\"lineNumber\":0,\"id\":2,\"hitCount\":2,\"children\":[]},"
               "\"startTime\":1.0000005,\"endTime\":2,\"samples\":[2,2]}",
               "trace", "all,1000000500,499999750,0,0,f|all,1500000250,499999750,0,0,f|", "",
               "samples of old files without time stamps are evenly spaced");
    file_reads("{\"head\":{\"functionName\":\"f\",\"lineNumber\":0,\"id\":2,\"hitCount\":2,\"children\":[]},"
               "\"startTime\":1,\"endTime\":2,\"samples\":[2,2],\"timestamps\":[1000000,1500000,17#00000]}",
               "values", "all,f,samples,2|all,f,time,500000000|", "fatal damaged|",
               "a malformed last time stamp is reported");
    file_reads("{\"head\":{\"functionName\":\"f\",\"lineNumber\":0,\"id\":2,\"hitCount\":2,\"children\":[]},"
               "\"startTime\":\"1.5\",\"endTime\":\"2\",\"samples\":[2,2]}",
               "trace", "all,1500000000,250000000,0,0,f|all,1750000000,250000000,0,0,f|", "",
               "start and end of old files may be texts");
}

static void damage(void)
{
    file_reads("{\"nodes\":[" NODE(1, "r", ",\"hitCount\":2,\"children\":[2]") ","
                                                                               "{\"id\":2,\"hitCount\":3,",
               "values", "all,r,samples,2|", "fatal damaged|warning no-node|warning no-samples|",
               "complete nodes of a truncated list are kept");
    file_reads("{" NODES ",\"startTime\":0,\"endTime\":9,\"samples\":[2,3],\"timeDeltas\":[1,", "values",
               "all,(root)>f,samples,1|all,(root)>f,time,8000|all,(root)>(anonymous),samples,1|",
               "fatal damaged|warning counts|", "times before a truncation are kept");
    file_reads("{" NODES ",\"startTime\":0,\"endTime\":9,\"samples\":[2,3,x,2],\"timeDeltas\":[1,2,1,1]}",
               "values",
               "all,(root)>f,samples,1|all,(root)>f,time,2000|all,(root)>(anonymous),samples,1|all,(root)>("
               "anonymous),time,6000|",
               "fatal damaged|", "a malformed sample ends the samples");
    file_reads("{" NODES ",\"startTime\":0,\"endTime\":9,\"samples\":[2,3],\"timeDeltas\":[1,x]}", "values",
               "all,(root)>f,samples,1|all,(root)>f,time,8000|all,(root)>(anonymous),samples,1|",
               "fatal damaged|warning counts|", "a malformed time ends the times");
    file_reads("{" NODES ",\"startTime\":0,\"endTime\":9,\"samples\":[2,3],\"timeDeltas\":[1,2x]}", "values",
               "all,(root)>f,samples,1|all,(root)>f,time,2000|all,(root)>(anonymous),samples,1|all,(root)>("
               "anonymous),time,6000|",
               "fatal damaged|", "a malformed last time is reported");
    file_reads("{" NODES "} \"samples\":[2]}", "values", "all,(root)>(anonymous),samples,4|",
               "fatal damaged|warning no-samples|", "text after the profile is reported");
    file_reads("{\"head\":{" FRAME("(root)",
                                   0) ",\"selfSize\":3,\"children\":[{" FRAME("f", 1) ",\"selfSize\":4,\"chi",
               "values", "all,(root),bytes,3|all,(root)>f,bytes,4|", "fatal damaged|",
               "nodes of a truncated heap profile are kept");
}

static void invalid_times(void)
{
    static const char *const invalid[] = {"null", "\"20\"", "[20]", "{\"a\":20}", "true", "1e30", "-1e30"};
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        char text[1000];
        snprintf(text, sizeof text, "{" NODES TIMES("2,3,2", "5,%s,20") "}", invalid[i]);
        file_reads(text, "trace", "all,15000,20000,1,1,f|all,35000,65000,1,1,f|", "warning bad-number|",
                   "a sample with an invalid delta is skipped");
        file_reads(text, "values", "all,(root)>f,samples,2|all,(root)>f,time,85000|", "warning bad-number|",
                   "a sample with an invalid delta is not counted");
        snprintf(
            text, sizeof text,
            "{\"head\":{" FRAME("f", 1) ",\"id\":2,\"hitCount\":1,\"children\":[]},\"startTime\":1,"
                                        "\"endTime\":2,\"samples\":[2,2,2],\"timestamps\":[1000,%s,1900,%s]}",
            invalid[i], invalid[i]);
        file_reads(text, "trace", "all,1000000,900000,0,0,f|all,1900000,1998100000,0,0,f|",
                   "warning bad-number|warning bad-number|",
                   "a sample with an invalid time stamp is skipped");
    }
}

static void deep(void)
{
    enum { DEPTH = 1500 };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs("{\"head\":", out);
    for (int i = 0; i < DEPTH; i++)
        fputs("{" FRAME("f", 1) ",\"selfSize\":1,\"children\":[", out);
    for (int i = 0; i < DEPTH; i++)
        fputs("]}", out);
    fputc('}', out);
    fclose(out);
    struct file file;
    file_open(&file, &pf_cpuprofile_driver, "a.json", text, size, 1 << 20);
    ok(file.loaded && file.model.contexts->count == DEPTH && !pf_rows_count(file.model.warnings),
       "a heap profile may have 1500 levels");
    file_close(&file);
    free(text);
}

static unsigned sure(const char *name, const char *text)
{
    return sureness(&pf_cpuprofile_driver, name, text, strlen(text));
}

static void probing(void)
{
    ok(sure("x", "{" NODES) > 0, "nodes with a callFrame are recognised");
    ok(sure("x", "{\"head\":{\"callFrame\":{},\"selfSize\":0") > 0, "a head with a selfSize is recognised");
    ok(sure("x", "{\"typeId\":\"CPU\",\"head\":{\"functionName\":\"\",\"hitCount\":0") > 0,
       "a function with hits is recognised");
    ok(!sure("x.json", "{\"nodes\":[{\"id\":1}]}"), "other nodes are rejected");
    ok(!sure("x.json", "{\"nodes\":[1,2],\"snapshot\":{}}"), "heap snapshots are rejected");
    ok(!sure("x.json", "{\"head\":{\"ref\":\"main\"}}") && !sure("x.json", "{}"), "other heads are rejected");
}

static void much_memory(void)
{
    struct file file;
    char *text = repeated("{\"nodes\":[" NODE(1, "f", ""), ",{}", 5000000, "],\"samples\":[1]}");
    file_open(&file, &pf_cpuprofile_driver, "a.json", text, strlen(text), 1 << 20);
    warnings_are(&file, "fatal damaged|warning no-samples|", "nodes that take too much memory are reported");
    ok(file.loaded && file.model.contexts->count, "the nodes before the memory limit are kept");
    file_close(&file);
    free(text);
}

int main(void)
{
    samples();
    files();
    trees();
    damage();
    invalid_times();
    deep();
    probing();
    much_memory();
    return done();
}
