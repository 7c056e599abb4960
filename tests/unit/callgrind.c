/* SPDX-License-Identifier: MIT */
#include "formats/kit/pass.h"
#include "tests/unit/profile_file.h"

extern const struct pf_driver pf_callgrind_driver, pf_cachegrind_driver;

static struct file read_by(const struct pf_driver *driver, const char *text)
{
    struct file file;
    file_open(&file, driver, "callgrind.out.1", text, strlen(text), 1 << 20);
    return file;
}

static void tells(const struct pf_driver *driver, const char *text, const char *table, const char *want,
                  const char *warnings, const char *name)
{
    struct file file = read_by(driver, text);
    char about[256];
    table_is(&file, table, want, name);
    snprintf(about, sizeof about, "%s: the warnings are those expected", name);
    warnings_are(&file, warnings, about);
    file_close(&file);
}

static void values_are(const char *text, const char *want, const char *warnings, const char *name)
{
    tells(&pf_callgrind_driver, text, "values", want, warnings, name);
}

static void calls_are(const char *text, const char *want, const char *name)
{
    struct file file = read_by(&pf_callgrind_driver, text);
    table_is(&file, "calls", want, name);
    file_close(&file);
}

static void contexts_are(const char *text, const char *want, const char *name)
{
    char *have = NULL;
    size_t size;
    struct file file = read_by(&pf_callgrind_driver, text);
    FILE *out = open_memstream(&have, &size);
    for (uint32_t i = 0; i < file.model.contexts->count; i++) {
        print_path(out, file.model.contexts, i);
        fputc('|', out);
    }
    fclose(out);
    is(have, want, name);
    free(have);
    file_close(&file);
}

static void refused(const char *text, const char *name)
{
    struct file file = read_by(&pf_callgrind_driver, text);
    ok(!file.opened && file.error.code == EINVAL, "%s", name);
    file_close(&file);
}

#define IR   "events: Ir\n"
#define MARK "\xef\xbb\xbf"

static void costs(void)
{
    values_are(IR "fl=a.c\nfn=f\n1 2\n+3 4\n* 8\n-1 0x10\n0x20 32\n", "all,f,Ir,62|all,f,Ir (inc),62|", "",
               "costs are added, wherever they are in the file");
    values_are(IR "fn=f\n1 170141183460469231731687303715884105727\n2 1\n",
               "all,f,Ir,170141183460469231731687303715884105727|"
               "all,f,Ir (inc),170141183460469231731687303715884105727|",
               "error overflow|", "a count that exceeds all sums is skipped with a warning");
    values_are(IR "fn=f\n1 170141183460469231731687303715884105727\nfn=g\n1 1\n",
               "all,f,Ir,170141183460469231731687303715884105727|"
               "all,f,Ir (inc),170141183460469231731687303715884105727|",
               "error overflow|", "a count that exceeds the sum of all functions is in no sum");
    values_are("positions: instr line\nevents: Ir Dr\nfn=f\n0x10 5 1 2\n+3 * 4\n* +1 . 8\n",
               "all,f,Ir,5|all,f,Ir (inc),5|all,f,Dr,10|all,f,Dr (inc),10|", "",
               "a cost line may have two positions, points for zeros and missing counts");
    values_are(IR "fn=f\n1 -5\n2\n3:4 1\n5+2 1\n", "all,f,Ir,-3|all,f,Ir (inc),-3|", "",
               "counts may be negative or missing, and positions may be ranges");
    values_are(IR "fn=f\n1 9223372036854775807\n1 9223372036854775807\n",
               "all,f,Ir,18446744073709551614|all,f,Ir (inc),18446744073709551614|", "",
               "sums may exceed 64 bits");
    values_are(IR "fn=f\n1 2\njump=3 5\n*\njcnd=1/2 +4\n+1\n2 1\n", "all,f,Ir,3|all,f,Ir (inc),3|", "",
               "the line of a jump has no cost");
    values_are("\n" IR "# a comment\r\n\r\nfn=f\r\n1 2\r\n", "all,f,Ir,2|all,f,Ir (inc),2|", "",
               "lines may have any line ending");
}

static void names(void)
{
    values_are(IR "fl=(1) a.c\nfn=(1) f\n1 1\nfn=(2) (below main)\n1 2\nfn=(below main)\n1 4\nfn=(1)\n1 8\n",
               "all,f,Ir,9|all,f,Ir (inc),9|all,(below main),Ir,6|all,(below main),Ir (inc),6|", "",
               "numbers abbreviate names, and a name may begin with a bracket");
    values_are(IR "fn=operator=(A<b=c>::d const&)\n1 1\n",
               "all,operator=(A<b=c>::d const&),Ir,1|all,operator=(A<b=c>::d const&),Ir (inc),1|", "",
               "only the first = is a separator");
    values_are(IR "fn=(7)\n1 1\n", "all,???,Ir,1|all,???,Ir (inc),1|", "error undefined|",
               "an undefined number is reported");
    values_are(IR "fn=(7) a\n1 1\nfn=(7) b\n1 2\n",
               "all,a,Ir,1|all,a,Ir (inc),1|all,b,Ir,2|all,b,Ir (inc),2|", "warning redefined|",
               "a redefined number is reported");
    values_are(IR "fl=a.c\nfn=f\n1 1\nfl=b.c\nfn=f\n1 2\nfn=g\n1 4\n",
               "all,f,Ir,1|all,f,Ir,2|all,g,Ir,4|all,g,Ir (inc),4|", "",
               "functions of one name in two files are separate");
    values_are(IR "fl=a.c\nfn=f\n1 1\nfi=b.h\n2 2\nfe=a.c\n3 4\nfn=g\n1 8\n",
               "all,f,Ir,7|all,f,Ir (inc),7|all,g,Ir,8|all,g,Ir (inc),8|", "",
               "inlined lines belong to the function");
}

static void calls(void)
{
    const char *text = IR "fl=a.c\nfn=main\n1 1\ncfi=b.c\ncfn=f\ncalls=2 7\n1 10\n2 "
                          "1\ncfi=b.c\ncfn=f\ncalls=1 7\n2 5\nfl=b.c\nfn=f\n7 12\ncfn=f\ncalls=3 7\n8 100\n";
    calls_are(text, "all,main,Ir,3,15,main,f|all,f,Ir,3,100,f,f|", "calls are added up by caller and callee");
    values_are(text, "all,main,Ir,2|all,main,Ir (inc),17|all,f,Ir,12|all,f,Ir (inc),12|", "warning shares|",
               "a function's inclusive cost includes the calls of others");
    calls_are("events: A B\nfn=f\ncfn=g\ncalls=0 1\n1 0 0\ncfn=h\ncalls=1 1\n1 0 5\ncfn=h\ncalls=1 1\n1 3\n",
              "all,f,A,0,0,f,g|all,f,A,2,3,f,h|all,f,B,2,5,f,h|",
              "calls may lack a count, and a metric that is 0 has a row if it is the first");
    values_are(IR
               "fl=(1) a.py\nfl=(2) b.py\nfn=(1) main\nfn=(2) step\n\nfl=(1)\nfn=(1)\n3 1\ncfl=(2)\ncfn=(2)\n"
               "calls=1 0\n3 9\n\nfl=(2)\nfn=(2)\n90 9\n",
               "all,step,Ir,9|all,step,Ir (inc),9|all,main,Ir,1|all,main,Ir (inc),10|", "",
               "a name that is only defined is not a second function");
    contexts_are(IR "fl=a.c\nfn=f\nfn=g\n1\nfn=h\ncfn=i\ncalls=1 0\n1 2\n", "g|h|i|",
                 "a function has a cost line, calls or callers");
    calls_are(IR "fl=a.php\nfn=main\ncfn=f\ncalls=1 0 0\n3 5\nfl=b.php\nfn=f\n1 5\n",
              "all,main,Ir,1,5,main,f|", "a name without a file means the only function of that name");
    values_are(IR "fl=a.php\nfn=main\n1 1\ncfn=main\ncalls=1 0\n3 5\nfl=b.php\nfn=f\n1 5\n",
               "all,main,Ir,1|all,main,Ir (inc),1|all,f,Ir,5|all,f,Ir (inc),5|", "",
               "recursive calls add nothing to inclusive costs");
    tells(&pf_callgrind_driver, IR "fn=f\ncalls=\n5 7\n", "calls", "all,f,Ir,0,7,f,???|",
          "error bad-calls|error no-callee|",
          "a call outside of functions with an invalid count is reported");
}

static void lines_are(const char *text, const char *want, const char *warnings, const char *name)
{
    tells(&pf_callgrind_driver, text, "lines", want, warnings, name);
}

static void lines(void)
{
    lines_are(IR "fl=a.c\nfn=f\n3 2\n+1 4\n-1 8\n* 16\n0x10 32\nfn=g\n3 1\n",
              "Ir,26,3,f,a.c|Ir,4,4,f,a.c|Ir,32,16,f,a.c|Ir,1,3,g,a.c|", "",
              "lines.csv: positions are absolute or relative to the last one");
    lines_are(IR "fl=a.c\nfn=f\n3 2\nfi=b.h\n3 4\nfe=a.c\n3 8\nfn=g\n+2 1\n",
              "Ir,10,3,f,a.c|Ir,4,3,f,b.h|Ir,1,5,g,a.c|", "",
              "lines.csv: an inlined line is in its own file");
    lines_are("positions: instr line\nevents: Ir Dr\nfl=a.c\nfn=f\n0x10 5 1 2\n+3 * 4\n-100 +1 . 8\n",
              "Ir,5,5,f,a.c|Dr,2,5,f,a.c|Dr,8,6,f,a.c|", "",
              "lines.csv: the second position is the line if the first is an address");
    lines_are("positions: instr\nevents: Ir\nfl=a.c\nfn=f\n0x10 5\n+3 6\n", "Ir,11,,,|", "",
              "lines.csv: a file with addresses only has no lines");
    lines_are(IR "fl=a.c\nfn=f\n0 1\n2 2\n-9 4\nfn=g\n0 8\n", "Ir,2,2,f,a.c|Ir,13,,,|", "",
              "lines.csv: costs without a line share one row");
    lines_are(IR
              "fl=a.c\nfn=f\n5 1\ncfn=g\ncalls=2 90\n+1 100\n+1 2\njump=1 20\n+1\n+1 4\njcnd=1/2 3\n*\n* 8\n",
              "Ir,1,5,f,a.c|Ir,2,7,f,a.c|Ir,12,9,f,a.c|", "warning shares|",
              "lines.csv: calls and jumps move the line without adding cost, and a call's target does not");
    lines_are("version: 1\npart: 1\nthread: 1\nevents: A B\nfl=(1) a.c\nfn=(1) f\n1 1 2\npart: 2\nthread: 2\n"
              "events: B\nfl=(1)\nfn=(1)\n1 4\n",
              "A,1,1,f,a.c|B,6,1,f,a.c|", "", "lines.csv: lines of all threads and parts are added");
    lines_are(
        IR "ob=x\nfl=a.c\nfn=f\n1 1\nob=y\nfl=a.c\nfn=f\n1 2\n1 -3\n2 5\n2 -5\nfn=g\nfl=\nfn=g\n4 7\n",
        "Ir,7,4,g,|", "",
        "lines.csv: a line of several objects is one row, a sum of 0 has none, and a file may be unknown");
    lines_are(
        IR "fl=a.c\nfn=f\n1 170141183460469231731687303715884105727\n2 "
           "-170141183460469231731687303715884105727\n1 1\n4294967296 2\n+0x7fffffffffffffffffffffffffffffff "
           "1\n",
        "Ir,1.7014118346046923e+38,1,f,a.c|Ir,-170141183460469231731687303715884105727,2,f,a.c|Ir,2,,,|",
        "error bad-position|", "lines.csv: sums and positions may have any size");
    lines_are(IR "fl=a.c\nfn=f\n7 x\n+1 2\n", "Ir,2,8,f,a.c|", "error bad-count|",
              "lines.csv: a line with invalid counts moves the position");
}

/* More source lines than the driver sums in memory. */
static void many_lines(void)
{
    enum { LINES = 30000 };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs(IR "fl=a.c\nfn=f\n", out);
    for (int round = 0; round < 3; round++)
        for (unsigned i = 0; i < LINES; i++)
            fprintf(out, "%u 1\n", i * 7919 % LINES + 1);
    fclose(out);
    struct file file = read_by(&pf_callgrind_driver, text);
    char *have = table_text(&file.model, "lines", PF_UNRESTRICTED, 1000), *at = have;
    unsigned right = 0;
    for (char row[64]; right < LINES; right++) {
        int length = snprintf(row, sizeof row, "Ir,3,%u,f,a.c|", right + 1);
        if (strncmp(at, row, (size_t)length) != 0)
            break;
        at += length;
    }
    ok(right == LINES && !*at, "lines.csv: lines that exceed memory are added and sorted");
    free(have);
    free(text);
    file_close(&file);
}

static void parts(void)
{
    const char *text = "version: 1\npart: 1\nthread: 2\nevents: A B\nfn=(1) f\n1 1 2\ntotals: 1 2\npart: "
                       "2\nthread: 1\nevents: B C\nfn=(1)\n1 4 8\ntotals: 4 9\npart: 2\nthread: 2\nevents: "
                       "A\nfn=(1)\n1 16\ntotals: 16\n";
    values_are(
        text, "2,f,A,17|2,f,A (inc),17|2,f,B,2|2,f,B (inc),2|1,f,B,4|1,f,B (inc),4|1,f,C,8|1,f,C (inc),8|",
        "warning totals|", "threads and events are matched by name, and names of earlier parts are known");
    values_are("version: 0.9.6\nevents: T\nfn={main}\n\nsummary: 5\n\n1 5\n",
               "all,{main},T,5|all,{main},T (inc),5|", "", "a summary inside a function does not end it");
    values_are("version: 1\ncmd: unknown\nevents: T\n\nfl=\nfn=root\n1 5\n\ntotal: 5\n",
               "all,root,T,5|all,root,T (inc),5|", "", "a total of php-memprof is accepted");
    struct file file = read_by(&pf_callgrind_driver, "version: 1\nthread: 3\nevents: Ir\n");
    is(file.loaded ? (const char *)pf_rows_at(file.model.partitions.items, 0)[1].text : "", "3",
       "a thread without costs is a thread");
    file_close(&file);
}

static void units(void)
{
    static const struct {
        const char *header, *unit;
    } cases[] = {
        {"events: Time_(10ns)\n", "10ns"},
        {"events: cpu(ms)\n", "ms"},
        {"event: ns : Nanoseconds\nevents: ns\n", "ns"},
        {"event: curB : currently allocated Bytes\nevents: curB\n", "bytes"},
        {"event: sysTime : sysTime (elapsed us)\nevents: sysTime\n", "us"},
        {"event: curBk : currently allocated Blocks\nevents: curBk\n", "#"},
        {"events: Ir\n", "#"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct file file = read_by(&pf_callgrind_driver, cases[i].header);
        is(file.loaded && file.model.n_metrics ? file.model.metrics[0].unit : "none", cases[i].unit,
           "the unit of an event is found in its name or title");
        file_close(&file);
    }
    struct file file = read_by(&pf_callgrind_driver, "creator: x\ncmd: ./a b\nevents: A\n");
    ok(file.model.metrics[1].partner == 0 && file.model.metrics[1].over_contexts == PF_OVER_NO_CONTEXTS,
       "inclusive costs are not additive");
    ok(pf_rows_count(file.model.info) == 2, "info.txt shows the program and the writer");
    file_close(&file);
}

/* Two events whose long names differ only in the last character. */
static void long_events(void)
{
    char text[1024], name[301];
    memset(name, 'x', 300);
    name[300] = 0;
    snprintf(text, sizeof text, "events: %s1 %s2\nfn=f\n1 1 2\n", name, name);
    struct file file = read_by(&pf_callgrind_driver, text);
    ok(file.loaded && file.model.n_metrics == 4 && file.model.metrics[2].partner == 3,
       "long events have inclusive metrics of their own");
    file_close(&file);
}

static void damage(void)
{
    values_are(IR "fn=f\n1 2\n* 35", "all,f,Ir,37|all,f,Ir (inc),37|", "warning no-newline|",
               "costs in a last line without a newline count, since a complete file may end so");
    values_are(IR "fn=f\n1 2\ntotals: 2", "all,f,Ir,2|all,f,Ir (inc),2|", "warning no-newline|",
               "totals in a last line without a newline are accepted");
    values_are(IR "fn=f\n1 2\ntotals: 3", "all,f,Ir,2|all,f,Ir (inc),2|",
               "warning no-newline|warning totals|", "totals in a last line without a newline are compared with the sums");
    values_are(IR "fn=f\n1 2\ntot", "all,f,Ir,2|all,f,Ir (inc),2|", "fatal cut|",
               "a last line with half a keyword is a truncation");
    values_are(IR "fn=f\n1 2\nfn=mai", "all,f,Ir,2|all,f,Ir (inc),2|", "fatal cut|", "a last line with half a name is a truncation");
    values_are("creator: yappi\n" IR "fn=f\n1 2", "all,f,Ir,2|all,f,Ir (inc),2|", "",
               "a last line of yappi without a newline is accepted");
    values_are(IR "fn=f\n\001garbage\nqq=1\n12 abc\n+x 5\n3 1 2\n4 8\n", "all,f,Ir,9|all,f,Ir (inc),9|",
               "warning bad-line|warning bad-line|error bad-count|error bad-position|warning excess-counts|",
               "invalid lines are skipped");
    values_are(IR "1 2\n", "all,???,Ir,2|all,???,Ir (inc),2|", "error no-function|",
               "costs outside of functions are reported");
    values_are(IR "fn=f\ncfn=g\ncalls=1 1\nfn=h\n1 1\n", "all,h,Ir,1|all,h,Ir (inc),1|", "error no-costs|",
               "a call without costs is reported");
    values_are(MARK IR "fn=f\n1 2\n", "all,f,Ir,2|all,f,Ir (inc),2|", "", "a byte order mark is skipped");
    tells(&pf_callgrind_driver,
          IR "fn=f\ncfn=g\ncalls=999999999999999999999999999999999999999999 1\n1 5\ncfn=g\ncalls=12abc 1\n1 "
             "2\ncfn=g\ncalls=3 1\n1 0\n",
          "calls", "all,f,Ir,3,7,f,g|", "error bad-calls|error bad-calls|",
          "calls whose number is invalid are not counted");
    tells(&pf_callgrind_driver, IR "fn=f\n1 9\ncfn=g\ncalls=1 1\ncfn=h\ncalls=2 1\n1 5\ncfn=i\ncalls=4 1\n",
          "calls", "all,f,Ir,2,5,f,h|", "error no-costs|error no-costs|warning shares|",
          "a call without costs before another call or at the end is reported");
    tells(&pf_callgrind_driver,
          IR "fn=f\n1 85070591730234615865843651857942052864\ncfn=g\ncalls=1 1\n"
             "1 85070591730234615865843651857942052864\n",
          "calls", "all,f,Ir,1,85070591730234615865843651857942052864,f,g|", "warning shares|",
          "an inclusive cost that exceeds 128 bits still exceeds the total");
    refused("version: 2\nevents: Ir\nfn=f\n1 1\n", "a later version is refused");
    refused("version: 1\nfn=f\n1 1\n", "a file with costs and without events is refused");
    refused("version: 1\n", "a file without events is refused");
}

/* Costs of 0 add no lines. The sort of no lines reports its progress, too, so it can be cancelled. */
static void cancelling(void)
{
    struct pf_pass pass = {0}, *before = pf_pass_begin(&pass);
    struct file file = read_by(&pf_callgrind_driver, IR "fn=f\n1 0\ncfn=g\ncalls=1 1\n1 0\n");
    pf_pass_end(before);
    ok(file.loaded && atomic_load(&pass.done) == 1 && atomic_load(&pass.total) == 1,
       "the work after the last line can be cancelled");
    file_close(&file);
}

static void cachegrind(void)
{
    const char *head = "desc: I1 cache: 1 B\ncmd: ./a\nevents: Ir Dr \n";
    char text[512];
    snprintf(text, sizeof text, "%sfl=a.c\nfn=f\n1 2 3\n0 4  . \nfi=a.h\n3 8\nfn=g\n1 16\nsummary: 30 3\n",
             head);
    tells(&pf_cachegrind_driver, text, "values", "all,f,Ir,6|all,f,Dr,3|all,f,Ir,8|all,g,Ir,16|", "",
          "Cachegrind: a function may be listed in two files");
    tells(&pf_cachegrind_driver, text, "lines",
          "Ir,2,1,f,a.c|Ir,8,3,f,a.h|Ir,16,1,g,a.c|Ir,4,,,|Dr,3,1,f,a.c|", "",
          "Cachegrind: lines.csv has the costs by line");
    snprintf(text, sizeof text, "%sfl=a.c\nfn=f\n1 -2\n-7 4\nzz\nsummary: 5 0\n", head);
    tells(&pf_cachegrind_driver, text, "values", "all,f,Ir,-2|",
          "warning bad-line|warning bad-line|warning totals|", "Cachegrind: counts may be negative, and invalid lines and a wrong summary are reported");
    snprintf(text, sizeof text, "%sfl=a.c\nfn=f\n1 2\n2 3", head);
    tells(&pf_cachegrind_driver, text, "values", "all,f,Ir,5|", "warning no-newline|warning no-summary|",
          "Cachegrind: a truncated file is reported");
    snprintf(text, sizeof text, "%sfl=a.c\nfn=f\n1 2\nsummary: 2 0", head);
    tells(&pf_cachegrind_driver, text, "values", "all,f,Ir,2|", "warning no-newline|",
          "Cachegrind: a complete file may lack the newline at its end");
    snprintf(text, sizeof text, MARK "%sfl=a.c\nfn=f\n1 2\nsummary: 2 0\n", head);
    tells(&pf_cachegrind_driver, text, "values", "all,f,Ir,2|", "",
          "Cachegrind: a byte order mark is skipped");
    snprintf(text, sizeof text,
             "%sfl=a.c\nfn=f\n1 2 3\ncfn=g\ncalls=1 1\n1 5\nthread: 2\ntotals: 1\nsummary: 7 3\n", head);
    tells(&pf_cachegrind_driver, text, "values", "all,f,Ir,7|all,f,Dr,3|",
          "warning bad-line|warning bad-line|warning bad-line|warning bad-line|",
          "Cachegrind: calls and threads are skipped");
}

static void probing(void)
{
    static const struct {
        const char *what, *text;
        bool callgrind, cachegrind;
    } cases[] = {
        {"the first line of Callgrind is recognised", "# callgrind format\nversion: 1\n", true, false},
        {"a file of Callgrind before 3.15 is recognised",
         "version: 1\ncreator: x\n\nevents: Ir\n\nfl=(1) a\n", true, false},
        {"a file of gperftools without a header is recognised", "events: Hits\n\nfl=(1) a\nfn=(1) f\n", true,
         false},
        {"a header after a byte order mark is recognised",
         MARK "version: 1\ncreator: x\nevents: Ir\n\nfl=(1) a\n", true, false},
        {"the first line of Callgrind after a byte order mark is recognised",
         MARK "# callgrind format\nversion: 1\n", true, false},
        {"a header of Cachegrind after a byte order mark is recognised",
         MARK "desc: a\ncmd: b\nevents: Ir\nfl=a\nfn=f\n", false, true},
        {"a file to which xdebug appends is recognised",
         "\n==== NEW PROFILING FILE ====\nversion: 0.9.6\ncmd: a\nevents: Time\n\nfl=a\n", true, false},
        {"a call identifies Callgrind if the header does not",
         "cmd: a\nevents: Time\nfl=a\nfn=f\n1 2\ncfn=g\ncalls=1 0\n1 2\n", true, false},
        {"a file of Cachegrind with descriptions is recognised", "desc: a\ncmd: b\nevents: Ir\nfl=a\nfn=f\n",
         false, true},
        {"a file of Cachegrind with a command is recognised",
         "cmd: b\nevents: Ir\nfl=a\nfn=f\n1 2\nsummary: 2\n", false, true},
        {"a YAML key `events` is rejected", "events:\n  - push\n", false, false},
        {"a version without events is rejected", "version: 1\nname: x\n", false, false},
        {"assignments are rejected", "cmd: make\nfn=x\n", false, false},
        {"Massif's format is rejected", "desc: a\ncmd: b\ntime_unit: i\n#-----------\nsnapshot=0\n", false,
         false},
        {"an empty file is rejected", "", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = strlen(cases[i].text);
        unsigned callgrind = sureness(&pf_callgrind_driver, "x", cases[i].text, size);
        unsigned cachegrind = sureness(&pf_cachegrind_driver, "x", cases[i].text, size);
        ok(!callgrind == !cases[i].callgrind && !cachegrind == !cases[i].cachegrind, "%s", cases[i].what);
    }
}

int main(void)
{
    costs();
    names();
    calls();
    lines();
    many_lines();
    parts();
    units();
    long_events();
    damage();
    cancelling();
    cachegrind();
    probing();
    return done();
}
