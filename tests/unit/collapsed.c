/* SPDX-License-Identifier: MIT */
#include "formats/kit/pass.h"
#include "formats/model.h"
#include "formats/runtime/build.h"
#include "tests/unit/profile_file.h"

extern const struct pf_driver pf_collapsed_driver;

static struct file stacks(const char *text)
{
    struct file file;
    file_open(&file, &pf_collapsed_driver, "a.folded", text, strlen(text), 1 << 20);
    return file;
}

static void reads_as(const char *text, const char *want, const char *warnings, const char *name)
{
    struct file file = stacks(text);
    char about[256];
    table_is(&file, "values", want, name);
    snprintf(about, sizeof about, "%s: the warnings are those expected", name);
    warnings_are(&file, warnings, about);
    file_close(&file);
}

#define BAD "error bad-line|"

static void counts(void)
{
    reads_as("main;f 2\nmain;g 3\nmain;f 5\n", "all,main>f,samples,7|all,main>g,samples,3|", "",
             "equal stacks are added");
    reads_as("f 1\r\n\r\nf 2", "all,f,samples,3|", "",
             "lines may have any line ending, and the last one needs none");
    reads_as("f;fork 2 3\n# f 2 1\nmain 1\n", "all,f>fork 2,samples,3|all,main,samples,1|", "",
             "a frame may end in a number");
    reads_as("a 0.5\na 1.25\nb 2.\nc 0\n", "all,a,samples,1.75|all,b,samples,2|", "",
             "counts may be fractions, and zeros have no rows");
    reads_as("a 18446744073709551615\na 1\n", "all,a,samples,18446744073709551616|", "",
             "counts may exceed 64 bits");
    reads_as("a;b -5\na +4\nb 1e3\nc 0x10\nd .5\n12\ne\na 1\n", "all,a,samples,1|",
             BAD BAD BAD BAD BAD BAD BAD, "invalid counts are skipped");
}

static void frames(void)
{
    reads_as("a;;b 1\n;c 2\nd;; 3\n", "all,a>>b,samples,1|all,>c,samples,2|all,d,samples,3|", "",
             "empty frames count, except at the end");
    reads_as("a  1\n", "all,a ,samples,1|", "",
             "one blank precedes the count, and further blanks belong to the frame");
    reads_as("a,b (c);d \"e\"\t4 \n", "all,a,b (c)>d \"e\",samples,4|", "",
             "frames may contain any character, and a tab is a blank");
    reads_as(" 5\n", "all,,samples,5|", "warning no-stack|", "a count without a stack is kept");
    reads_as("\xef\xbb\xbf"
             "a 1\n",
             "all,a,samples,1|", "", "a byte order mark is not part of a name");
    reads_as("#<Class:A>#b 1\n# a 2\n#!x 3\n#\n#\ta 4\n", "all,#<Class:A>#b,samples,1|", "",
             "comments are distinguished from methods");
}

static void differences(void)
{
    reads_as("a;b 10 12\n# c 1\na;n 0 3\na;g 7 0\n",
             "all,a>b,samples,12|all,a>b,samples (before),10|all,a>n,samples,3|all,a>g,samples (before),7|",
             "", "two counts on all lines are a difference");
    reads_as("a 1 2\nb 3\n", "all,a 1,samples,2|all,b,samples,3|", "",
             "two counts on some lines only are not a difference");
}

/* A line longer than the reader's window. */
static void long_lines(void)
{
    enum { FRAMES = 200000 };
    char *text = malloc(2 * FRAMES + 8);
    for (int i = 0; i < FRAMES; i++)
        memcpy(text + (size_t)2 * i, i % 1000 ? "a;" : " ;", 2);
    strcpy(text + (size_t)2 * FRAMES - 1, " 3\nb 4");
    struct file file = stacks(text);
    ok(file.loaded && file.model.contexts->count == FRAMES + 1, "a stack may have 200000 frames");
    ok(!pf_rows_count(file.model.warnings), "a deep stack has no warnings");
    file_close(&file);
    free(text);
}

static void probing(void)
{
    const char *stack = "a;b 1\n", *plain = "total 12\nlines 3\n";
    ok(sureness(&pf_collapsed_driver, "x", stack, strlen(stack)), "stacks are recognised by their form");
    ok(!sureness(&pf_collapsed_driver, "x.txt", plain, strlen(plain)),
       "lines that merely end in numbers are rejected");
    ok(sureness(&pf_collapsed_driver, "x.folded", plain, strlen(plain)),
       "lines that end in numbers are recognised if the file name identifies the format");
    ok(!sureness(&pf_collapsed_driver, "x.folded", "a;b\n", 4),
       "a file name that identifies the format is not sufficient without a number");
    ok(!sureness(&pf_collapsed_driver, "x.folded", "a;b 1\n\0\n", 8), "binary data is rejected");
    ok(!sureness(&pf_collapsed_driver, "x.txt", "a;b 1\nc\nd\ne\n", 12),
       "a text of which less than half of the lines are stacks is rejected");
    static const char *const others[] = {
        "\t<I120> = 120;\t// KEY_MACRO 112\n",                       /* X11 keycodes */
        "<U4E00> <U4E00>;IGNORE;IGNORE;IGNORE # 1\n",                /* locales of the C library */
        "LRE; 7\nLRO; 7\n",                                          /* Unicode's BidiTest.txt */
        "F951;96FB;964B;3.2.0 # Corrigendum 3\n",                    /* NormalizationCorrections.txt */
        "05D0 05D1;0;x 1;1 0 12\n",                                  /* BidiCharacterTest.txt */
        "region 3 still open at the end; closed at 7397467383324\n", /* messages */
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ok(!sureness(&pf_collapsed_driver, "x.txt", others[i], strlen(others[i])),
           "other lines with `;` and a number are rejected: %zu", i);
}

/* A cancelled load leaves the profile unchanged. */
static void stopping(void)
{
    enum { LINES = 5000 };
    char *text = malloc(LINES * 6 + 8);
    strcpy(text, "wrong\n");
    for (size_t i = 0; i < LINES; i++)
        strcpy(text + 6 + 6 * i, "a;b 1\n");
    struct file file = {0};
    struct pf_pass pass = {.stop = true};
    temp_dir_make(file.folder);
    write_text(file.folder, "a.folded", text);
    file.directory = open(file.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    file.opened = !profile_open(&file.model, &pf_collapsed_driver, file.directory, "a.folded", &file.options,
                                &file.error);
    struct pf_pass *before = pf_pass_begin(&pass);
    ok(pf_model_load(&file.model, PF_MODELLED, &file.error) && file.error.code == ECANCELED &&
           !file.model.contexts && !pf_rows_count(file.model.warnings),
       "a cancelled load leaves no data");
    pf_pass_end(before);
    file.loaded = !pf_build_load(&file.model, PF_MODELLED, &file.error);
    table_is(&file, "values", "all,a>b,samples,5000|", "a cancelled load can be repeated");
    file_close(&file);
    free(text);
}

static void much_memory(void)
{
    struct file file;
    char *text = repeated("a;b 1\n", "f;", 5000000, "g 2\nc 3\n");
    file_open(&file, &pf_collapsed_driver, "a.folded", text, strlen(text), 1 << 20);
    table_is(&file, "values", "all,a>b,samples,1|", "the stacks before the memory limit are kept");
    warnings_are(&file, "fatal too-large|", "the stacks beyond the memory limit are reported");
    file_close(&file);
    free(text);
}

int main(void)
{
    counts();
    frames();
    differences();
    long_lines();
    probing();
    stopping();
    much_memory();
    return done();
}
