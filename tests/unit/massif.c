/* SPDX-License-Identifier: MIT */

#include "tests/unit/profile_file.h"

extern const struct pf_driver pf_massif_driver;

#define HEAD "desc: --depth=30\ncmd: ./a 1\ntime_unit: i\n"
#define AT(name, time, heap)                                                                                 \
    "#-----------\nsnapshot=" name "\n#-----------\ntime=" time "\nmem_heap_B=" heap "\n"
#define REST "mem_heap_extra_B=8\nmem_stacks_B=0\n"
#define ROOT "(heap allocation functions) malloc/new/new[], --alloc-fns, etc."

static struct file massif(const char *text)
{
    struct file file;
    file_open(&file, &pf_massif_driver, "massif.out.1", text, strlen(text), 1 << 20);
    return file;
}

static void values_are(const char *text, const char *want, const char *warnings, const char *name)
{
    struct file file = massif(text);
    char about[256];
    table_is(&file, "values", want, name);
    snprintf(about, sizeof about, "%s: the warnings are those expected", name);
    warnings_are(&file, warnings, about);
    file_close(&file);
}

/* Checks the fields of all snapshots. */
static void snapshots_are(const char *text, const char *want, const char *name)
{
    char *have = NULL;
    size_t size;
    struct file file = massif(text);
    FILE *out = open_memstream(&have, &size);
    for (size_t i = 0; i < pf_rows_count(file.model.partitions.items); i++) {
        print_cell(out, &pf_rows_at(file.model.partitions.items, i)[1]);
        for (size_t f = 0; f < file.model.partitions.n_fields; f++) {
            fputc(',', out);
            print_cell(out, &pf_rows_at(file.model.partitions.fields, i)[f]);
        }
        fputc('|', out);
    }
    fclose(out);
    is(have, want, name);
    free(have);
    file_close(&file);
}

static void snapshots(void)
{
    snapshots_are(HEAD AT("0", "0", "0") REST "heap_tree=empty\n" AT("3", "72", "100") REST
                  "heap_tree=empty\n",
                  "0,0,0,8,0,empty|3,72,100,8,0,empty|", "a snapshot is named by its number");
    snapshots_are(AT("0", "0.013", "5") REST "heap_tree=empty\ndesc: heaptrack\ncmd: a\ntime_unit: s\n",
                  "0,0.013,5,8,0,empty|", "heaptrack's times are in seconds, and its header is at the end");
    snapshots_are(HEAD AT("0", "1", "2") "mem_stacks_B=x\nheap_tree=empty\n" AT("1", "2", "3"),
                  "0,1,2,,,empty|1,2,3,,,|", "missing fields are absent");
}

static void trees(void)
{
    values_are(HEAD AT("0", "1", "100") REST "heap_tree=detailed\n"
                                             "n2: 100 " ROOT "\n"
                                             " n1: 70 0x1091CD: mid(int) (w.c:5)\n"
                                             "  n0: 60 0x1092BA: main (in /bin/w)\n"
                                             " n0: 30 in 2 places, all below massif's threshold (1.00%)\n",
               "0,main>mid(int),mem_heap_B,60|0,mid(int),mem_heap_B,10|"
               "0,in 2 places, all below massif's threshold (1.00%),mem_heap_B,30|",
               "", "callers are parents of their callees, and the allocating function has the bytes");
    values_are(HEAD AT("0", "1", "3") REST "heap_tree=peak\n"
                                           "n2: 3 " ROOT "\n n0: 1 0x1: f (a.c:1)\n n0: 2 0x2: f (a.c:2)\n",
               "0,f,mem_heap_B,1|0,f,mem_heap_B,2|", "", "locations in one function are separate");
    values_are(
        HEAD AT("0", "1", "9") REST "heap_tree=detailed\n"
                                    "n2: 9 " ROOT "\n"
                                    " n2: 5 0x1: make (a.c:1)\n"
                                    "  n1: 3 0x2: run (a.c:2)\n   n0: 3 0x3: main (a.c:3)\n"
                                    "  n0: 2 in 4 places, all below massif's threshold (1.00%)\n"
                                    " n1: 4 0x4: grow (a.c:4)\n  n1: 4 0x2: run (a.c:2)\n"
                                    "   n0: 4 0x3: main (a.c:3)\n",
        "0,main>run>make,mem_heap_B,3|0,in 4 places, all below massif's threshold (1.00%)>make,mem_heap_B,2|"
        "0,main>run>grow,mem_heap_B,4|",
        "", "the caller of several allocations is one context, and unknown callers are outermost");
    values_are(HEAD AT("0", "1", "9") REST "heap_tree=detailed\nn0: 9 " ROOT "\n", "0," ROOT ",mem_heap_B,9|",
               "", "bytes of the root itself are a context with its name");
    struct file file = massif(HEAD AT("0", "1", "2") REST "heap_tree=detailed\nn1: 2 " ROOT
                                                          "\n n0: 2 0x1F: a::b(char (*)[2]) (a (1).c:12)\n");
    const struct pf_tree *tree = file.model.contexts;
    struct pf_cell name = pf_interned(tree->strings, tree->name[0]),
                   at = pf_interned(tree->strings, tree->file[0]);
    ok(tree->count == 1 && name.size == 17 && !memcmp(name.text, "a::b(char (*)[2])", 17) && at.size == 7 &&
           !memcmp(at.text, "a (1).c", 7) && tree->line[0] == 12,
       "a name may contain brackets, and the last pair is the location");
    file_close(&file);
}

static void peak(void)
{
    const char *text = HEAD AT("0", "1", "9") REST "heap_tree=detailed\nn0: 9 " ROOT "\n" AT("1", "1", "8")
        REST "heap_tree=peak\nn0: 8 " ROOT "\n";
    struct file file = massif(text);
    ok(file.model.metrics[0].over_partitions == PF_AT && file.model.metrics[0].at == 1,
       "the metric shows the peak snapshot");
    ok(file.model.metrics[1].empty && file.model.metrics[2].empty,
       "metrics of kinds of bytes without trees are empty");
    file_close(&file);
    file = massif(HEAD AT("0", "1", "1") REST "heap_tree=detailed\nn0: 1 " ROOT "\n" AT("1", "1", "9") REST
                  "heap_tree=detailed\nn0: 9 " ROOT "\n");
    ok(file.model.metrics[0].at == 1,
       "the metric shows the largest snapshot with a tree if there is no peak");
    file_close(&file);
    file = massif(HEAD AT("0", "1", "1") REST "heap_tree=empty\n");
    ok(file.model.metrics[0].over_partitions == PF_OVER_NO_PARTITIONS,
       "the metric shows no snapshot if none has a tree");
    file_close(&file);
}

static void damage(void)
{
    values_are(HEAD AT("0", "1", "9") REST "heap_tree=detailed\nn2: 9 " ROOT
                                           "\n n0: 4 0x1: f (a.c:1)\n n0: 12345",
               "0,f,mem_heap_B,4|0," ROOT ",mem_heap_B,5|", "fatal cut|warning fewer-callers|",
               "nodes before a truncation are kept");
    values_are(HEAD AT("0", "1", "9") REST "heap_tree=detailed\nn1: 9 " ROOT
                                           "\n  n0: 4 0x1: f (a.c:1)\n n0: 12 0x1: g (a.c:1)\n",
               "0,g,mem_heap_B,12|0," ROOT ",mem_heap_B,-3|", "error depth|warning sum|",
               "nodes that are too deep and callers with too many bytes are reported");
    values_are(HEAD AT("0", "1", "9") "mem_heap_extra_Q=1\nmem_stacks_B=0\nheap_tree=empty\nn0: 1 " ROOT
                                      "\n\001\n",
               "", "warning bad-line|warning missing|warning bad-line|warning bad-line|",
               "invalid lines and a tree that was not declared are reported");
    values_are(HEAD AT("0", "1", "9") REST "heap_tree=empty\n" AT("0", "1", "9") REST "heap_tree=empty\n", "",
               "error again|", "two snapshots with one number are reported");
}

#define MARK "\xef\xbb\xbf"

static void ends(void)
{
    static const struct {
        const char *what, *last;
    } whole[] = {
        {"a place", " n0: 9 0x1: f (a.c:1)"},
        {"an object", " n0: 9 0x1: f(int) (in /lib/a.so)"},
        {"an unknown function", " n0: 9 0x1: ???"},
        {"many callers", " n0: 9 in 2 places, all below massif's threshold (1.00%)"},
    };
    char text[1024];
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        snprintf(text, sizeof text, HEAD AT("0", "1", "9") REST "heap_tree=peak\nn1: 9 " ROOT "\n%s",
                 whole[i].last);
        struct file file = massif(text);
        warnings_are(&file, "warning no-newline|", "a last line without a newline is reported");
        ok(file.model.contexts->count == 1, "a last line without a newline counts: %s", whole[i].what);
        file_close(&file);
    }
    values_are(HEAD AT("0", "1", "9") REST "heap_tree=empty", "", "warning no-newline|",
               "a last snapshot without a tree and a newline is reported");
    values_are(HEAD AT("0", "1", "9") REST "heap_tree=empty\n#----", "", "fatal cut|",
               "a comment without a newline is truncated");
    snapshots_are(HEAD AT("0", "1", "9") "mem_heap_extra_B=12", "0,1,9,,,|",
                  "a number without a newline is truncated");
    struct file file =
        massif(AT("0", "0.5", "5") REST "heap_tree=empty\ndesc: heaptrack\ncmd: a\ntime_unit: s");
    ok(pf_rows_count(file.model.info) == 3, "a header at the end may have no newline");
    file_close(&file);
    file = massif(MARK HEAD AT("0", "1", "9") REST "heap_tree=empty\n");
    ok(file.loaded && pf_rows_count(file.model.info) == 3, "a byte order mark does not hide a line of the header");
    warnings_are(&file, "", "a byte order mark is not damage");
    file_close(&file);
}

/* Each of many nested nodes holds bytes of its own, so the total length of all paths is quadratic in the depth. */
static void deep_tree(void)
{
    enum { DEPTH = 3000 };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, HEAD AT("0", "1", "%d") REST "heap_tree=peak\nn1: %d " ROOT "\n", DEPTH, DEPTH);
    for (int i = 1; i < DEPTH; i++)
        fprintf(out, "%*sn%d: %d 0x1: f (a.c:%d)\n", i, "", i + 1 < DEPTH, DEPTH - i, i);
    fclose(out);
    struct file file = massif(text);
    warnings_are(&file, "fatal too-large|",
                 "a deep tree has at most as many contexts as the file's size allows");
    ok(file.loaded && file.model.contexts->count > 1000 * 1000, "the contexts before the limit are kept");
    file_close(&file);
    free(text);
}

static void probing(void)
{
    static const struct {
        const char *what, *text;
        bool is;
    } cases[] = {
        {"valgrind's header is recognised", HEAD AT("0", "1", "2"), true},
        {"valgrind's header after a byte order mark is recognised", MARK HEAD AT("0", "1", "2"), true},
        {"heaptrack's file is recognised", AT("0", "1", "2"), true},
        {"Cachegrind's header is rejected", "desc: a\ncmd: b\nevents: Ir\nfl=a\n", false},
        {"a snapshot with another first line is rejected", "snapshot=1\nname=2\n", false},
        {"a header without snapshots is rejected", HEAD, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ok(!sureness(&pf_massif_driver, "x", cases[i].text, strlen(cases[i].text)) == !cases[i].is, "%s",
           cases[i].what);
}

int main(void)
{
    snapshots();
    trees();
    peak();
    damage();
    ends();
    deep_tree();
    probing();
    return done();
}
