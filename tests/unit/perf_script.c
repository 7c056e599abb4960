/* SPDX-License-Identifier: MIT */
#include "tests/unit/profile_file.h"

extern const struct pf_driver pf_perf_script_driver;

static struct file text_of(const char *text)
{
    struct file file;
    file_open(&file, &pf_perf_script_driver, "perf.script", text, strlen(text), 1 << 20);
    return file;
}

static void reads_as(const char *text, const char *want, const char *warnings, const char *name)
{
    struct file file = text_of(text);
    table_is(&file, "values", want, name);
    warnings_are(&file, warnings, "    and tells what is wrong");
    file_close(&file);
}

#define A "\t  14f38 a+0x158 (/lib/a.so)\n"
#define B "\t  24f38 b+0x8 (/lib/b.so)\n"

/* A header line, and what thread and event it is. */
static void header_is(const char *header, const char *thread, const char *event, const char *name)
{
    char text[400], want[400];
    snprintf(text, sizeof text, "%s\n" A "\n", header);
    snprintf(want, sizeof want, "%s,a,samples,1|%s,a,%s|", thread, thread, event);
    reads_as(text, want, "", name);
}

static void headers(void)
{
    header_is("prog 14007  4332.596867:     200000 cpu-clock: ", "prog 14007", "cpu-clock,200000",
              "a header");
    header_is("my prog 14007  4332.5968:     3 cycles:ppp: ", "my prog 14007", "cycles:ppp,3",
              "a command with a blank");
    header_is("a b 9 c 4711  1.5: 2 cycles: ", "a b 9 c 4711", "cycles,2", "a command with a number");
    header_is(":-1 -1  1.5: 2 cycles: ", ":-1 -1", "cycles,2", "a command that is gone");
    header_is("kworker/0:1-events 77  1.5: 2 cycles: ", "kworker/0:1-events 77", "cycles,2",
              "a kernel's thread");
    header_is("w 19010  1.5: 2 cycles: ", "w 19010", "cycles,2", "a command of one letter");
    header_is("w 9/9     [001]  1.5: cycles: ", "w 9", "cycles,1",
              "process and thread, processor, no period");
    header_is("w 9 [001] K 1.5:   7 cycles: ", "w 9", "cycles,7", "what the processor did");
    header_is("w 9 cpu-clock: ", "w 9", "cpu-clock,1", "no time");
    header_is("w 9 18446744073709551615 cycles:u: ", "w 9", "cycles:u,18446744073709551615",
              "a period of 64 bits");
    header_is("w 9 [000] 1.5: sched:sched_switch: prev_comm=w prev_pid=9 ==> next_pid=0: ", "w 9",
              "sched:sched_switch,1", "text of a tracepoint");
    struct file file = text_of("w x 12/13 [001] 1.5: cycles:\n" A "\nw 7 1.5: cycles:\n" A);
    const struct pf_cell *fields = pf_rows_at(file.profile.partitions.fields, 0);
    ok(fields[0].i == 12 && fields[1].i == 13 && fields[2].size == 3 &&
           pf_rows_at(file.profile.partitions.fields, 1)[0].type == PF_ABSENT,
       "threads tell process, thread and command");
    file_close(&file);
}

static void frames(void)
{
    reads_as("w 9 1.5: 2 cycles:\n" A B "\nw 9 1.6: 3 cycles:\n" A B, "w 9,b>a,samples,2|w 9,b>a,cycles,5|",
             "", "frames stand innermost first, the last blank line may lack");
    reads_as(
        "w 9 1.5: 2 cycles:\n\t 1 f<int>(a, (x)y) const+0x10 (/tmp/a b (deleted))\n\t 1 g(int) ([vdso])\n",
        "w 9,g(int)>f<int>(a, (x)y) const,samples,1|w 9,g(int)>f<int>(a, (x)y) const,cycles,2|", "",
        "the last parentheses are the file");
    reads_as("w 9 1.5: 2 cycles:\n\t 1 f(int)\n\t 1 [unknown]\n",
             "w 9,[unknown]>f(int),samples,1|w 9,[unknown]>f(int),cycles,2|", "", "files need not be told");
    reads_as("   w 9 1.5: 2 cycles:   7f63d8340f38 a+0x158 (/lib/a.so)\n   w 9 1.6: 2 cycles:  7f6 b "
             "(/lib/b.so)\n",
             "w 9,a,samples,1|w 9,a,cycles,2|w 9,b,samples,1|w 9,b,cycles,2|", "",
             "a frame may stand on the sample's line");
    reads_as("w 9 1.5: 2 cycles:\n\nw 9 1.5: 3 cycles:\n",
             "w 9,[no stack],samples,2|w 9,[no stack],cycles,5|", "", "a sample without frames");
    reads_as("w 9 1.5: 2 cycles:\n" A "  a.c:12\n" B
             "  b.so[27b25]\n\t 1 c (inlined)\n  c.c:1 (discriminator 2)\n",
             "w 9,c>b>a,samples,1|w 9,c>b>a,cycles,2|", "", "lines of sources are left out");
    reads_as("# hostname : x\n#\nw 9 1.5: 2 cycles:\r\n   1 a (/a.so)\r\n\r\n",
             "w 9,a,samples,1|w 9,a,cycles,2|", "", "copied text may have lost its tabs");
}

static void events(void)
{
    struct file file =
        text_of("w 9 1.5: 2 cpu-clock:u:\n" A "\nw 9 1.5: 3 faults:\n" A "\nw 9 1.5: task-clock:\n" A);
    ok(file.profile.n_metrics == 4 && !strcmp(file.profile.metrics[1].unit, "ns") &&
           !file.profile.metrics[2].unit[0] && !file.profile.metrics[3].unit[0],
       "periods of clocks are nanoseconds");
    table_is(&file, "values", "w 9,a,samples,3|w 9,a,cpu-clock:u,2|w 9,a,faults,3|w 9,a,task-clock,1|",
             "each event is a metric");
    file_close(&file);
}

static void times(void)
{
    struct file file = text_of("w 9 1.5: 2 cycles:\n" A B "\nw 8 1.123456: 2 cycles:\n" A
                               "\nw 9 0.000000001: 2 cycles:\n" B "\nw 9 cycles:\n" A);
    table_is(&file, "trace", "w 9,1500000000,0,1,1,a|w 9,1,0,0,0,b|w 8,1123456000,0,0,2,a|",
             "samples with a time are in trace.csv, thread by thread, in the order of the file");
    file_close(&file);
}

static void damage(void)
{
    reads_as("w 9 1.5: 2 cycles:\n" A "Warning: lost\n" B "\n" B, "w 9,b>a,samples,1|w 9,b>a,cycles,2|",
             "error bad-line|error bad-frame|",
             "other lines do not end a sample, frames without one are left out");
    reads_as("w 9 1.5: 2 cycles:\n" A "\t  24f38 b+0", "w 9,a,samples,1|w 9,a,cycles,2|",
             "error bad-frame|fatal cut-line|", "a frame may be cut off");
    reads_as("w 9 1.5: 2 cycles:\n\t 7f1e2215d058  (/lib/libc-2.15.so)\n" A,
             "w 9,a>[unknown],samples,1|w 9,a>[unknown],cycles,2|", "", "a frame may have no symbol");
}

static void probing(void)
{
    static const char *const others[] = {("bash-1234  [002] d...  123.456: sched_switch: prev\nbash-1234  "
                                         "[002] d...  123.457: sched_switch: prev\n"),
                                         "line 12 error: no such file\nline 14 error: no such file\n",
                                         "main;f 12\nmain 13: x\n", "\tdead beef (x)\n", ""};
    const char *text = "# x\nw 9 1.5: 2 cycles:\n" A "\n";
    ok(sureness(&pf_perf_script_driver, "x.txt", text, strlen(text)), "a sample and its frames are known");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ok(!sureness(&pf_perf_script_driver, "perf.script", others[i], strlen(others[i])),
           "but not other text: %zu", i);
}

int main(void)
{
    headers();
    frames();
    events();
    times();
    damage();
    probing();
    return done();
}
