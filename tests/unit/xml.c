/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/resource.h>

#include "formats/xml/xml.h"
#include "tests/unit/tap.h"

/* The reader of XML that may not be well-formed. */

/* A text to read, and what was read: `name(a=value b=value )` for a start tag, `[text]/name` for an end tag, `!line` for a truncation. */
struct story {
    struct pf_run *run;
    struct pf_xml *xml;
    const char *whole; /* the text to read, in pieces of `piece` bytes */
    size_t piece;
    char text[4000];
    size_t size;
    char faults[16];
};

/* If true, damaged tags are repaired. At the end, each repair is printed as `?`, or as `??` if elements may be missing after it. */
static bool forgiving;

static void tell(struct story *story, const char *text, size_t size)
{
    if (story->size + size < sizeof story->text) {
        memcpy(story->text + story->size, text, size);
        story->size += size;
        story->text[story->size] = 0;
    }
}

static void tell_string(struct story *story, const char *text)
{
    tell(story, text, strlen(text));
}

static void on_start(void *arg, const char *name)
{
    static const char *const names[] = {"i", "n", "l"};
    struct story *story = arg;
    if (!strcmp(name, "fail"))
        pf_run_refuse(story->run, pf_xml_line(story->xml), "a handler fails");
    tell_string(arg, name);
    tell_string(arg, "(");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = pf_xml_attribute(story->xml, names[i]);
        if (!value)
            continue;
        tell_string(arg, names[i]);
        tell_string(arg, "=");
        tell_string(arg, value);
        tell_string(arg, " ");
    }
    tell_string(arg, ")");
    if (!strcmp(name, "stop"))
        pf_xml_stop(story->xml);
}

static void on_end(void *arg, const char *name, const char *text, size_t size)
{
    if (size) {
        tell_string(arg, "[");
        tell(arg, text, size);
        tell_string(arg, "]");
    }
    tell_string(arg, "/");
    tell_string(arg, name);
    tell_string(arg, " ");
}

static void on_fault(void *arg, bool lost)
{
    struct story *story = arg;
    strcat(story->faults, lost ? "??" : "?");
}

static struct pf_model model;
static struct pf_error error;

/* Feeds a text in pieces until the reader stops. Returns true if the reader found no truncation. */
static bool feed(struct pf_xml *xml, const char *text, size_t piece)
{
    size_t size = strlen(text);
    bool more = true;
    for (size_t at = 0; at < size && more; at += piece)
        more = pf_xml_feed(xml, text + at, size - at < piece ? size - at : piece);
    pf_xml_end(xml);
    return !pf_xml_is_cut(xml);
}

static void read_story(struct pf_run *run, void *arg)
{
    const struct pf_xml_events events = {on_start, on_end, forgiving ? on_fault : NULL};
    struct story *story = arg;
    char fault[24];
    story->run = run;
    story->xml = pf_xml_new(run, &events, story);
    bool whole = feed(story->xml, story->whole, story->piece);
    tell_string(story, story->faults);
    snprintf(fault, sizeof fault, "!%d", (int)pf_xml_line(story->xml));
    if (!whole)
        tell_string(story, fault);
}

static void reads(const char *text, const char *want, const char *name)
{
    struct story whole = {.whole = text, .piece = strlen(text)}, torn = {.whole = text, .piece = 1};
    if (pf_run(&model, read_story, &whole, &error) || pf_run(&model, read_story, &torn, &error))
        ok(false, "%s: %s", name, error.what);
    else if (is(whole.text, want, name) && strcmp(torn.text, want) != 0)
        ok(false, "%s, read byte by byte", name);
}

/* ---- large inputs -------------------------------------------------------------------------------- */

struct tally {
    struct pf_xml *xml;
    const char *text;
    size_t piece;
    bool whole; /* no truncation found */
    size_t starts, faults;
    const char *wanted; /* an attribute's name */
    bool found;
};

static void count_start(void *arg, const char *name)
{
    struct tally *tally = arg;
    (void)name;
    tally->starts++;
    tally->found |= tally->wanted && pf_xml_attribute(tally->xml, tally->wanted);
}

static void count_end(void *arg, const char *name, const char *text, size_t size)
{
    (void)arg, (void)name, (void)text, (void)size;
}

static void count_fault(void *arg, bool lost)
{
    struct tally *tally = arg;
    tally->faults += lost;
}

/* Returns <r>, `begin`, `n` copies of `text`, `end`, </r>; %zu in `text` becomes the number of the copy. */
static char *repeat(const char *begin, const char *text, const char *end, size_t n)
{
    char *all = NULL;
    size_t size;
    FILE *out = open_memstream(&all, &size);
    fprintf(out, "<r>%s", begin);
    for (size_t i = 0; i < n; i++)
        fprintf(out, text, i);
    fprintf(out, "%s</r>", end);
    if (fclose(out))
        abort();
    return all;
}

static void read_tally(struct pf_run *run, void *arg)
{
    static const struct pf_xml_events events = {count_start, count_end, count_fault};
    struct tally *tally = arg;
    tally->xml = pf_xml_new(run, &events, tally);
    tally->whole = feed(tally->xml, tally->text, tally->piece);
}

/* Reads the text and frees it. True if the reader found no truncation. */
static bool reads_large(struct tally *tally, char *text, size_t piece)
{
    tally->text = text;
    tally->piece = piece;
    if (pf_run(&model, read_tally, tally, &error))
        abort();
    free(text);
    return tally->whole;
}

/* Each input would exceed the limit of processor time if the reader took quadratic time. */
static void test_linear_time(void)
{
    enum { N = 400000, PIECE = 64 << 10 };
    struct tally tally = {0};
    ok(reads_large(&tally, repeat("", "<", ">", N), PIECE) && tally.faults == N && tally.starts == 1,
       "a long run of `<` takes linear time");
    tally = (struct tally){0};
    ok(reads_large(&tally, repeat("", "<(", "", N), PIECE) && tally.faults == N,
       "many `<` without any `>` take linear time");
    tally = (struct tally){0};
    ok(reads_large(&tally, repeat("", "<a i=\"\\\"\\\" l=\"&&lt;\"/>&", "", N), PIECE) &&
           tally.starts == N + 1,
       "many tags that need repair take linear time");
    tally = (struct tally){.wanted = "a255"};
    ok(reads_large(&tally, repeat("<a", " a%zu=\"\"", "/>", N / 8), PIECE) && tally.faults == 1 &&
           tally.found,
       "the first 256 attributes of a tag are read, and the tag counts as damaged");
    tally = (struct tally){.wanted = "a256"};
    ok(reads_large(&tally, repeat("<a", " a%zu=\"\"", "/>", N / 8), PIECE) && !tally.found,
       "attributes beyond the first 256 are skipped");
    tally = (struct tally){0};
    ok(reads_large(&tally, repeat("<a n=\"", "\\\"  ", "\"/>", N / 2), 1) && tally.starts == 2,
       "a long tag that arrives byte by byte takes linear time");
    tally = (struct tally){0};
    ok(!reads_large(&tally, repeat("", "<a>", "", N), PIECE) && tally.starts == N + 1,
       "deep nesting takes linear time");
}

static void test_limits(void)
{
    enum { N = 300000, PIECE = 64 << 10 };
    struct tally tally = {0};
    ok(!reads_large(&tally, repeat("<a n=\"", "....", "\"/>", N), PIECE) && tally.starts == 1,
       "a tag of more than 1 MB ends reading");
    tally = (struct tally){0};
    ok(!reads_large(&tally, repeat("<!-- ", "....", "--><a/>", N), PIECE) && tally.starts == 1,
       "a comment of more than 1 MB ends reading");
    tally = (struct tally){0};
    ok(!reads_large(&tally, repeat("", "<name%zu/>", "", N), PIECE) && tally.starts > 10000 &&
           tally.starts < N,
       "more than 1 MB of different names end reading");
}

static void a_handler_may_fail(void)
{
    struct story story = {.whole = "<a>\n<fail/><b/></a>", .piece = 20};
    ok(pf_run(&model, read_story, &story, &error) == -1 && error.line == 2 && !strcmp(story.text, "a()"),
       "a handler can fail the run");
}

int main(void)
{
    struct rlimit limit = {30, RLIM_INFINITY};
    setrlimit(RLIMIT_CPU, &limit);
    model.warnings = pf_rows_new(5);
    reads("<PF i=\"1\"><S i=\"-2\"/></PF>", "PF(i=1 )S(i=-2 )/S /PF ", "elements nest");
    reads("<P n=\"operator\\\"\\\" _km\" l=\"3\"/>", "P(n=operator\"\" _km l=3 )/P ",
          "a quote after a backslash is text");
    reads("<P n=\"ends in \\\"/>", "P(n=ends in \\ )/P ",
          "a quote after a backslash at the end of the tag ends the value");
    reads("<P n=\"x\\\" l=\"3\" ></P>", "P(n=x\\ l=3 )/P ",
          "a quote after a backslash before another attribute ends the value");
    reads("<P n=\"a\\\" b\"/>", "P(n=a\" b )/P ", "a word after an escaped quote is not an attribute");
    reads("<P n=\"C:\\dir\"/>", "P(n=C:\\dir )/P ", "a backslash without a quote is text");
    reads("<P n=\"a &lt;b&gt; &amp;&quot;&#65;\"/>", "P(n=a <b> &\"A )/P ", "references are resolved");
    reads("<P n=\"R&D &x; &#0; <\"/>", "P(n=R&D &x; &#0; < )/P ", "an invalid reference is text");
    reads("<P n=\"a\nb\tc\"/>", "P(n=a\nb\tc )/P ", "line breaks in values are kept");
    reads("<P n=\"\xff\x01\xc3\xa9\xed\xa0\x80\"/>",
          "P(n=\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd )/P ",
          "invalid bytes are replaced");
    reads("<P n='it\"s'/>", "P(n=it\"s )/P ", "values may have single quotes");
    reads("<P n=plus l=a/b/>", "P(n=plus l=a/b )/P ", "values may have no quotes");
    reads("<P n=\"a > b\"/>", "P(n=a > b )/P ", "a > in a value does not end the tag");
    reads("<a/><!-- a -- b <x> --><b/>", "a()/a b()/b ", "comments are skipped, whatever they contain");
    reads("<?xml version=\"1.0\"?><!DOCTYPE a [<!-- [x), [y -->\n<!ELEMENT a (b)>]><a/>", "a()/a ",
          "a DTD is skipped");
    reads("<a><![CDATA[<x> & ]]]></a><b/>", "a()[<x> & ]]/a b()/b ", "CDATA sections are text");
    reads("<a>x &lt; \xc3\xa9 & y < z\xff</a>", "a()[x < \xc3\xa9 & y < z\xef\xbf\xbd]/a ",
          "text is repaired like values");
    reads("<a>\nb<c>d</c>e</a>", "a()c()[d]/c [e]/a ", "text is what directly precedes an end tag");
    reads("<a><b>x</c>&lt;</a>", "a()b()[x]/b [<]/a ",
          "an end tag with another name closes the innermost element");
    reads("<a>\n</a>\n</a><b/>", "a()[\n]/a !3", "an end tag without an open element ends reading, with its line");
    reads("<a/>\n<b i=\"1\" i=\"2\"/>\n<c/>", "a()/a !2", "a duplicate attribute ends reading");
    reads("<><b/>", "!1", "a tag without a name ends reading");
    reads("<a i=\"1", "!1", "a truncated tag is a fault");
    reads("<a>", "a()!1", "a truncated element is a fault");
    reads("", "", "an empty text has no events, but a line");
    reads("<a><stop/><b></a>", "a()stop()", "an event can end the reading");

    reads("<a>\r\nb\rc</a\n><b/>", "a()[\nb\nc]/a b()/b ",
          "lines may have any ending, and line ends within end tags are not text");
    reads("<a>\n<b i=\"1", "a()!2", "the line of an unterminated tag is the line where it begins");

    reads("<a>\n<b i\"1\"\n/></a>", "a()!2", "damage ends reading in the line where the tag begins");

    forgiving = true;
    reads("<a><b>x<-b></a>", "a()b()[x]/b /a ?", "an end tag without its slash closes its element");
    reads("<a><b>x<(y)</b></a>", "a()b()[x<(y)]/b /a ??", "a `<` that begins no tag is text");
    reads("<a><b i\"1\" n=\"x\"/></a>", "a()b(n=x )/b /a ??", "an invalid attribute is skipped");
    reads("<a 1=\"2\" n=\"x\"/>", "a(n=x )/a ??", "an attribute with an invalid name is skipped");
    reads("<a/>\n</a><b/>", "a()/a b()/b ?", "an end tag without an open element is ignored");
    reads("<a><b i=\"1\" i=\"2\"/></a>", "a()!1",
          "a duplicate attribute ends reading even if damaged tags are repaired");
    reads(
        "<!DOCTYPE a [<!ENTITY e SYSTEM \"file:///etc/passwd\"><!ATTLIST b n CDATA \"x\">]><a>&e;<b/>&e;</a>",
        "a()b()/b [&e;]/a ", "entities and defaults of a DTD have no effect");
    reads("<a><<b/></a>", "a()b()/b /a ??", "a `<` before a tag is text");

    test_linear_time();
    test_limits();
    a_handler_may_fail();
    pf_rows_free(model.warnings);
    return done();
}
