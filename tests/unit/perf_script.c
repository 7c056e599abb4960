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
    char about[256];
    table_is(&file, "values", want, name);
    snprintf(about, sizeof about, "%s: the warnings are those expected", name);
    warnings_are(&file, warnings, about);
    file_close(&file);
}

#define A "\t  14f38 a+0x158 (/lib/a.so)\n"
#define B "\t  24f38 b+0x8 (/lib/b.so)\n"

/* Checks the thread and the event of a header line. */
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
    header_is(":-1 -1  1.5: 2 cycles: ", ":-1 -1", "cycles,2", "a command that has exited");
    header_is("kworker/0:1-events 77  1.5: 2 cycles: ", "kworker/0:1-events 77", "cycles,2",
              "a kernel's thread");
    header_is("w 19010  1.5: 2 cycles: ", "w 19010", "cycles,2", "a command of one letter");
    header_is("w 9/9     [001]  1.5: cycles: ", "w 9", "cycles,1",
              "process and thread, processor, no period");
    header_is("w 9 [001] K 1.5:   7 cycles: ", "w 9", "cycles,7", "the processor and its state");
    header_is("w 9 cpu-clock: ", "w 9", "cpu-clock,1", "no time");
    header_is("w 9 18446744073709551615 cycles:u: ", "w 9", "cycles:u,18446744073709551615",
              "a period of 64 bits");
    header_is("w 9 [000] 1.5: sched:sched_switch: prev_comm=w prev_pid=9 ==> next_pid=0: ", "w 9",
              "sched:sched_switch,1", "text of a tracepoint");
    struct file file = text_of("w x 12/13 [001] 1.5: cycles:\n" A "\nw 7 1.5: cycles:\n" A);
    const struct pf_cell *fields = pf_rows_at(file.model.partitions.fields, 0);
    ok(fields[0].i == 12 && fields[1].i == 13 && fields[2].size == 3 &&
           pf_rows_at(file.model.partitions.fields, 1)[0].type == PF_ABSENT,
       "threads have process, thread and command");
    file_close(&file);
}

static void frames(void)
{
    reads_as("w 9 1.5: 2 cycles:\n" A B "\nw 9 1.6: 3 cycles:\n" A B, "w 9,b>a,samples,2|w 9,b>a,cycles,5|",
             "", "frames are innermost first, and the last blank line may be missing");
    reads_as(
        "w 9 1.5: 2 cycles:\n\t 1 f<int>(a, (x)y) const+0x10 (/tmp/a b (deleted))\n\t 1 g(int) ([vdso])\n",
        "w 9,g(int)>f<int>(a, (x)y) const,samples,1|w 9,g(int)>f<int>(a, (x)y) const,cycles,2|", "",
        "the last parentheses of a frame are the file");
    reads_as("w 9 1.5: 2 cycles:\n\t 1 f(int)\n\t 1 [unknown]\n",
             "w 9,[unknown]>f(int),samples,1|w 9,[unknown]>f(int),cycles,2|", "", "frames may lack a file");
    reads_as("   w 9 1.5: 2 cycles:   7f63d8340f38 a+0x158 (/lib/a.so)\n   w 9 1.6: 2 cycles:  7f6 b "
             "(/lib/b.so)\n",
             "w 9,a,samples,1|w 9,a,cycles,2|w 9,b,samples,1|w 9,b,cycles,2|", "",
             "a frame may be on the sample's line");
    reads_as("w 9 1.5: 2 cycles:\n\nw 9 1.5: 3 cycles:\n",
             "w 9,[no stack],samples,2|w 9,[no stack],cycles,5|", "", "a sample without frames is kept");
    reads_as("w 9 1.5: 2 cycles:\n" A "  a.c:12\n" B
             "  b.so[27b25]\n\t 1 c (inlined)\n  c.c:1 (discriminator 2)\n",
             "w 9,c>b>a,samples,1|w 9,c>b>a,cycles,2|", "", "source lines are not frames");
    reads_as("# hostname : x\n#\nw 9 1.5: 2 cycles:\r\n   1 a (/a.so)\r\n\r\n",
             "w 9,a,samples,1|w 9,a,cycles,2|", "", "frames may have blanks instead of tabs");
}

static void has_lines(const char *text, const char *want, const char *name)
{
    struct file file = text_of(text);
    table_is(&file, "lines", want, name);
    file_close(&file);
}

/* Samples as printed by `perf script -F +srcline`. */
static void lines_of_sources(void)
{
    has_lines("w 9 1.5: 2 cycles:\n" A "  a.c:12\n" B "  b.c:7\n\nw 9 1.6: 3 cycles:\n" A
              "  a.c:12 (discriminator 2)\n\n"
              "w 8 1.7: 5 cycles:\n\t 1 in (inlined)\n  /x:y/in.h:3 (inlined)\n" A "  a.c:13\n\n"
              "w 9 1.8: 4 cycles:\n" A "  :0\n" B "  b.c:7\n\nw 9 1.9: 6 cycles:\n\n",
              "samples,2,12,a,a.c|samples,1,3,in,/x:y/in.h|samples,2,,,|"
              "cycles,5,12,a,a.c|cycles,5,3,in,/x:y/in.h|cycles,10,,,|",
              "a sample has the line of its innermost frame, and samples without a line share a row");
    has_lines("w 9 1.5: 2 cycles: 1 a+0x1 (/a.so)\n  a.c:1\n", "samples,1,1,a,a.c|cycles,2,1,a,a.c|",
              "a frame on the sample's line has its source line");
    has_lines("w 9 1.5: 2 cycles:\n" A "\n", "", "lines.csv has no rows without source lines");
}

/* Header lines of any list of `perf script -F` fields, each followed by a call chain. */
static void field_lists(void)
{
    header_is(" 4711   812.908419:    1000000 cycles: ", "4711", "cycles,1000000", "no command");
    header_is("47110   812.908419:    1000000 cycles: ", "47110", "cycles,1000000", "no command, a wide tid");
    header_is("heat   812.908419:    1000000 cycles: ", "heat", "cycles,1000000", "no tid");
    header_is("as   812.908419:    1000000 cycles: ", "as", "cycles,1000000",
              "a command that looks like flags");
    header_is("  812.908419:    1000000 cycles: ", "all", "cycles,1000000", "neither command nor tid");
    header_is("   1000000 cycles: ", "all", "cycles,1000000", "a period and an event only");
    header_is("cycles:u: ", "all", "cycles:u,1", "an event only");
    header_is("heat cycles: ", "heat", "cycles,1", "a command and an event");
    header_is("w 9 1.5: 2 raw 0x1a8: ", "w 9", "raw 0x1a8,2", "an event without a name");
    header_is("w 9 [001] U     2026-04-02 10:11:12.123456     1.5: 2 cycles: ", "w 9", "cycles,2",
              "a time of day");
    header_is("VM: 1234 VCPU:003 w 9 1.5: 2 cycles: ", "w 9", "cycles,2", "a guest");
    header_is("     w     9   3     1.5: 2 cycles: ", "w 9", "cycles,2", "a processor without brackets");
    header_is("pool 1 471 1.5: 2 cycles: ", "pool 1 471", "cycles,2", "a command that ends in a number");
    header_is("w 9 1.5: 2 cycles:     55a3a874c146", "w 9", "cycles,2",
              "an address of data before a call chain");
    header_is("w 9 1.5: 2 page-faults:     7f5a1c000010 [unknown] ([heap])", "w 9", "page-faults,2",
              "an address of data with a symbol before a call chain");
    static const char *const no_event[][2] = {{"heat 4711   812.908419: ", "heat 4711"},
                                              {"heat 4711   812.908419:    1000000 ", "heat 4711"},
                                              {"heat 4711   812.908419:                0", "heat 4711"},
                                              {"heat 4711 [002] ", "heat 4711"},
                                              {"my prog 2    4711    1000000 ", "my prog 2 4711"},
                                              {"heat 4711 ", "heat 4711"},
                                              {"4711/4712 ", "4712"},
                                              {" 4711 ", "4711"},
                                              {"heat x (1) ", "heat x (1)"},
                                              {"  812.908419: ", "all"}};
    for (size_t i = 0; i < sizeof no_event / sizeof *no_event; i++) {
        char text[400], want[200];
        snprintf(text, sizeof text, "%s\n" A B "\n%s\n" A, no_event[i][0], no_event[i][0]);
        snprintf(want, sizeof want, "%s,b>a,samples,1|%s,a,samples,1|", no_event[i][1], no_event[i][1]);
        reads_as(text, want, "", "a header without an event is read");
        ok(sureness(&pf_perf_script_driver, "x", text, strlen(text)), "a header without an event is recognised: %s",
           no_event[i][0]);
    }
    reads_as("w 9 \n\t          401a40\n\t          401100\n", "w 9,[unknown]>[unknown],samples,1|", "",
             "a call chain may have addresses only");
}

/* Checks the frame that is read from `rest`, the end of a sample's only line. */
static void rest_is(const char *rest, const char *symbol, const char *module, const char *name)
{
    char text[1000], want[400];
    snprintf(text, sizeof text, "w 9 1.5: 2 cycles: %s\n", rest);
    snprintf(want, sizeof want, "w 9,%s,samples,1|w 9,%s,cycles,2|", symbol, symbol);
    struct file file = text_of(text);
    const struct pf_tree *tree = file.model.contexts;
    char about[256];
    table_is(&file, "values", want, name);
    snprintf(about, sizeof about, "%s: a frame on the sample's line has no warnings", name);
    warnings_are(&file, "", about);
    struct pf_cell cell = tree->module ? pf_interned(tree->strings, tree->module[0]) : pf_absent();
    ok(cell.type == PF_TEXT ? cell.size == strlen(module) && !memcmp(cell.text, module, cell.size) : !*module,
       "%s: a frame on the sample's line has its file", name);
    file_close(&file);
}

static void further_fields(void)
{
#define FRAME "          401a40 sweep(int)+0x10 (/opt/a b/heat (deleted))"
#define IS    "sweep(int)", "/opt/a b/heat (deleted)"
    rest_is("    55a3a874c146" FRAME, IS, "an address of data");
    rest_is("ffffffff81001234 ffffffff8157a541 sweep+0x1 ([kernel.kallsyms])               0", "sweep",
            "[kernel.kallsyms]", "addresses of 16 digits, a physical address");
    rest_is("           1f00a0 [unknown] ([heap])" FRAME, IS, "an address of data that has a symbol");
    rest_is(
        "    55a3a874c146      1e05080021 |OP LOAD|LVL L3 or L3 hit|SNP None|TLB N/A|LCK No|BLK  N/A       "
        "       37" FRAME "       10f8c1a40 4K",
        IS, "data source, weight, physical address and size of the page");
    rest_is("  call                 " FRAME " =>           401220 f+0x0 (/opt/f)", IS,
            "a branch and its target");
    rest_is("  tr end  async        " FRAME " =>                0 [unknown] ([unknown])", IS,
            "the end of a trace");
    rest_is("  tr strt                             0 [unknown] ([unknown]) =>           401160 main+0x0 (/m)",
            "[unknown]", "[unknown]", "the start of a trace");
    rest_is("  jcc                            401a40 sweep+0x1 =>           401220 f+0x0", "sweep", "",
            "a branch without files");
    rest_is(FRAME " ABI:2    AX:0x1    BX:0x0   R15:0x0 ", IS, "registers");
    rest_is("          401a40 sweep ABI:2    AX:0x1 ", "sweep", "", "registers without files");
    rest_is(FRAME " ilen: 3 insn: 48 89 e5 ", IS, "an instruction");
    rest_is(FRAME "\t\tmovq (%rax), %rbx", IS, "an instruction in words");
    rest_is(FRAME " \t IPC: 0.50 (10/20) ", IS, "instructions per cycle");
    rest_is(
        "          401a40 sweep+0x1 (/h) 0x401b00/0x401a00/P/-/-/1/CALL/-  0x401100/0x401a00/M/-/-/0/JCC/- ",
        "sweep", "/h", "a branch stack");
    rest_is("          401a40 sweep+0x1 (/h) 0x401b00(/h)/0x401a00([vdso])/P/-/-/1/  "
            "0x0([unknown])/0x0(/h)/-/-/-/0/ ",
            "sweep", "/h", "a branch stack with files");
    rest_is("          401a40 sweep+0x1 ([kernel.kallsyms])f+0x1 (/h)/[unknown] ([vdso])/P/-/-/4 ", "sweep",
            "[kernel.kallsyms]", "a branch stack with symbols and files");
    rest_is("          401a40 [unknown][unknown]/[unknown]/P/-/-/4/ ", "[unknown]", "",
            "a branch stack with symbols");
    rest_is("          401a40 add (/h+0x1a40)", "add", "/h", "an offset in the file; a symbol of hex digits");
    rest_is("prev_comm=w prev_prio=120 ==> next_comm=x    add up", "[no stack]", "", "text of a tracepoint");
    rest_is("a b c", "[no stack]", "", "short text of a tracepoint");
    rest_is("            117b sweep", "sweep", "", "a short address");
    reads_as("w 9 1.5: 2 cycles:\n" A " ABI:2    AX:0x1    BX:0x0                0\nw 9 1.5: 2 cycles:\n" B
             " insn: 48 89 e5 \nw 9 1.5: 2 cycles:\n" A "               0\nw 9 1.5: 2 cycles:\n" B
             " =>           401220 f+0x0 (/opt/f)\n",
             "w 9,a,samples,2|w 9,a,cycles,4|w 9,b,samples,2|w 9,b,cycles,4|", "",
             "fields after a call chain are skipped");
    reads_as("w 9 1.5: 2 cycles:\n" A "  a.c:1\n\t 1 c\n  c.c:3 (inlined)\n" B "\n",
             "w 9,b>c>a,samples,1|w 9,b>c>a,cycles,2|", "", "source lines of inlined functions are skipped");
    reads_as(
        "w 9 1.5: 2 cycles: " FRAME "\n  heat.c:7 ABI:2    AX:0x1\n|7        x++;\nw 9 1.5: 2 cycles: " FRAME
        " 0x1/0x2/P/-/-/1 \n\tmain+12:\n\t0000000000401a40\tinsn: 55 48 89\t# PRED 3 cycles [3]\n\t... not "
        "reaching "
        "sample ...\n",
        "w 9,sweep(int),samples,2|w 9,sweep(int),cycles,4|", "",
        "a source line and a listing of branches are skipped");
#undef FRAME
#undef IS
    reads_as("            heat  4711           401a40 sweep\n            heat  4711           401100 main\n",
             "heat 4711,sweep,samples,1|heat 4711,main,samples,1|", "",
             "frames may be on headers' lines without an event");
}

static void records(void)
{
#define RECORDS                                                                                              \
    "heat     0     0.000000: PERF_RECORD_COMM: heat:4711/4711\n"                                            \
    "heat  4711 [001]  812.1: PERF_RECORD_MMAP2 4711/4711: [0x7f(0x2) @ 0 fd:00 3 0]: r-xp /usr/lib/x "      \
    "1.so\n"                                                                                                 \
    "heat 4711 812.1: PERF_RECORD_NAMESPACES 4711/4711 - nr_namespaces: 7\n\t\t[0/net: 3/0xf0, 1/uts: "      \
    "3/0xf1]\n"                                                                                              \
    "PERF_RECORD_LOST lost 5\nheat PERF_RECORD_SWITCH OUT preempt\n"
    const char *text = RECORDS "w 9 1.5: 2 cycles:\n" A "\n" RECORDS "w 9 1.5: 3 cycles: 1 a (/a)\n" RECORDS;
    struct file file = text_of(text);
    ok(file.model.n_metrics == 2, "side-band records are not events");
    ok(pf_rows_count(file.model.partitions.items) == 1, "side-band records are not threads");
    table_is(&file, "values", "w 9,a,samples,1|w 9,a,cycles,2|w 9,a,samples,1|w 9,a,cycles,3|",
             "side-band records are not samples");
    warnings_are(&file, "", "side-band records are not damage");
    file_close(&file);
    ok(sureness(&pf_perf_script_driver, "x", text, strlen(text)), "a text with side-band records is recognised");
    ok(sureness(&pf_perf_script_driver, "x", RECORDS, strlen(RECORDS)), "a text with only side-band records is recognised");
    static const char untimed[] =
        "heat 4711 PERF_RECORD_COMM: heat:4711/4711\nheat 4711 PERF_RECORD_EXIT(4711:4711)\n";
    ok(sureness(&pf_perf_script_driver, "x", untimed, strlen(untimed)),
       "a text with only side-band records without times is recognised");
    reads_as(RECORDS "heat \n" A "\n" RECORDS "heat \n" B, "heat,a,samples,1|heat,b,samples,1|", "",
             "side-band records are not short headers");
    reads_as("w 9 1.5: 2 cycles:\n" A "w 9 1.5: \tmetric: 0.5 insn per cycle\n" RECORDS,
             "w 9,a,samples,1|w 9,a,cycles,2|", "", "lines of metrics are not samples");
    reads_as("w 9 1.5: 2 cycles:\n" A "Warning: PERF_RECORD_LOST\n", "w 9,a,samples,1|w 9,a,cycles,2|",
             "error bad-line|", "a message is reported");
}

/* Checks symbol and module of a line of a call chain. */
static void frame_is(const char *line, const char *symbol, const char *module)
{
    char text[400], want[200];
    snprintf(text, sizeof text, "w 9 1.5: 2 cycles:\n\t  %s\n" B, line);
    snprintf(want, sizeof want, "w 9,b>%s,samples,1|w 9,b>%s,cycles,2|", symbol, symbol);
    struct file file = text_of(text);
    const struct pf_tree *tree = file.model.contexts;
    char about[256];
    table_is(&file, "values", want, line);
    snprintf(about, sizeof about, "%s: the frame has no warnings", line);
    warnings_are(&file, "", about);
    struct pf_cell cell = tree->module ? pf_interned(tree->strings, tree->module[1]) : pf_absent();
    ok(cell.type == PF_TEXT ? cell.size == strlen(module) && !memcmp(cell.text, module, cell.size) : !*module,
       "%s: the frame has its file", line);
    file_close(&file);
}

static void files_of_frames(void)
{
    frame_is("1 sym ([kernel.kallsyms])/rest)", "sym", "[kernel.kallsyms]");
    frame_is("1 sym+0x1 ([vdso]))", "sym", "[vdso]");
    frame_is("1 sym ([guest.kernel.kallsyms]_text)", "sym", "[guest.kernel.kallsyms]_text");
    frame_is("1 sym+0x1 (/a) b/x)", "sym", "/a) b/x");
    frame_is("1 sym+0x1 (/a (b/x)", "sym", "/a (b/x");
    frame_is("1 f(int) (/usr/my lib (x)/l.so (deleted))", "f(int)", "/usr/my lib (x)/l.so (deleted)");
    frame_is("1 sym+0x1 (/memfd:jit (deleted))", "sym", "/memfd:jit (deleted)");
    frame_is("1 [unknown] (//anon)", "[unknown]", "//anon");
    frame_is("1 [unknown] ([unknown])", "[unknown]", "[unknown]");
    frame_is("1 [unknown] (app (1).dex)", "[unknown]", "app (1).dex");
    frame_is("1 bpf_prog_6d+0x2 (bpf_prog_6d)", "bpf_prog_6d", "bpf_prog_6d");
    frame_is("1 operator()(int) (inlined)", "operator()(int)", "");
    frame_is("1 f+0x8 (inlined)", "f", "");
    frame_is("1  (/lib/libc-2.15.so)", "[unknown]", "/lib/libc-2.15.so");
}

static void events(void)
{
    struct file file =
        text_of("w 9 1.5: 2 cpu-clock:u:\n" A "\nw 9 1.5: 3 faults:\n" A "\nw 9 1.5: task-clock:\n" A);
    ok(file.model.n_metrics == 4 && !strcmp(file.model.metrics[1].unit, "ns") &&
           !file.model.metrics[2].unit[0] && !file.model.metrics[3].unit[0],
       "periods of clocks are nanoseconds");
    table_is(&file, "values", "w 9,a,samples,3|w 9,a,cpu-clock:u,2|w 9,a,faults,3|w 9,a,task-clock,1|",
             "each event has its own metric");
    file_close(&file);
}

static void times(void)
{
    struct file file = text_of("w 9 1.5: 2 cycles:\n" A B "\nw 8 1.123456: 2 cycles:\n" A
                               "\nw 9 0.000000001: 2 cycles:\n" B "\nw 9 cycles:\n" A);
    table_is(&file, "trace", "w 9,1500000000,0,1,1,a|w 9,1,0,0,0,b|w 8,1123456000,0,0,2,a|",
             "trace.csv has samples with a time, thread by thread, in the order of the file");
    file_close(&file);
}

static void damage(void)
{
    reads_as("w 9 1.5: 2 cycles:\n" A "Warning: lost\n" B "\n" B, "w 9,b>a,samples,1|w 9,b>a,cycles,2|",
             "error bad-line|error bad-frame|",
             "other lines do not end a sample, and invalid frames are skipped");
    reads_as("w 9 1.5: 2 cycles:\n" A "\t  24f38 b+0", "w 9,a,samples,1|w 9,a,cycles,2|",
             "error bad-frame|fatal cut-line|", "a truncated frame is skipped");
    reads_as("w 9 1.5: 2 cycles:\n\t 7f1e2215d058  (/lib/libc-2.15.so)\n" A,
             "w 9,a>[unknown],samples,1|w 9,a>[unknown],cycles,2|", "", "a frame may have no symbol");
    reads_as("w 9 1.5: 2 cycles:\n" A "\nw 9 1.5: 2", "w 9,a,samples,1|w 9,a,cycles,2|",
             "error bad-line|fatal cut-line|", "a truncated header is skipped");
    reads_as("w 9 1.5: 2 cycles:\n" A "\nheat\n" B "\n", "w 9,a,samples,1|w 9,a,cycles,2|",
             "error bad-line|error bad-frame|", "a short line is not a header in a file with longer ones");
}

static void many_events(void)
{
    enum { EVENTS = 5000, MOST = 4096 };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < EVENTS; i++)
        fprintf(out, "w 9 1.5: 2 event-%d:\n" A "\n", i);
    fclose(out);
    struct file file = text_of(text);
    ok(file.loaded && file.model.n_metrics == MOST, "a profile has at most %d events", MOST - 1);
    warnings_are(&file, "error many-metrics|", "    and further ones are warned of once");
    file_close(&file);
    free(text);
}

/* The flags before the time of a sample are letters, not NULs. */
static void nul(void)
{
    static const char text[] =
        "w 9 1.5: 2 cycles:\n" A "\nw 9 U 1.6: 3 cycles:\n" A "\nw 9 \000 1.7: 5 cycles:\n" A;
    struct file file;
    file_open(&file, &pf_perf_script_driver, "perf.script", text, sizeof text - 1, 1 << 20);
    table_is(&file, "values", "w 9,a,samples,2|w 9,a,cycles,5|", "a NUL is not a flag");
    file_close(&file);
}

static void probing(void)
{
    static const char *const others[] = {
        ("bash-1234  [002] d...  123.456: sched_switch: prev\nbash-1234  "
         "[002] d...  123.457: sched_switch: prev\n"),
        "line 12 error: no such file\nline 14 error: no such file\n",
        "main;f 12\nmain 13: x\n",
        "\tdead beef (x)\n",
        "Title\n\nSome text\n\tface it\n\nMore: text\n",
        "1.5: a\n1.6: b: c\n12 1.7: x: y\n",
        "EAST     36000    # East (not there)\nCST      34200    # Central\n",
        "PERF_RECORD_MMAP\nPERF_RECORD_LOST\n",
        "     0.000 ( 0.004 ms): heat/4711 brk()   = 0x55\n",
        ""};
    static const char *const accepted[] = {
        /* a header without time and event, with the maximum number of words before its address */
        "VM: 7 VCPU:001 a b c d e f g h  11/  12 [001] K          7 ffffffff8104f45a main (/bin/a)\n",
        "w 9 PERF_RECORD_COMM: w:9/9\n\t  14f38 a+0x158 (/lib/a.so)\n",
        "w 9 1.5: \tmetric:  0.5  insn per cycle\n",
    };
    const char *text = "# x\nw 9 1.5: 2 cycles:\n" A "\n";
    ok(sureness(&pf_perf_script_driver, "x.txt", text, strlen(text)),
       "a sample and its frames are recognised");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ok(!sureness(&pf_perf_script_driver, "perf.script", others[i], strlen(others[i])),
           "other text is rejected: %zu", i);
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++)
        ok(sureness(&pf_perf_script_driver, "x", accepted[i], strlen(accepted[i])),
           "a line with few fields is recognised: %zu", i);
}

int main(void)
{
    headers();
    field_lists();
    frames();
    lines_of_sources();
    further_fields();
    records();
    files_of_frames();
    events();
    times();
    damage();
    many_events();
    nul();
    probing();
    return done();
}
