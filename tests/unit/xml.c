/* SPDX-License-Identifier: MIT */
#include "formats/xml.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/tap.h"

/* The reader of XML that is not always well-formed. */

/* As the reader's window. */
enum { WINDOW = 64 * 1024 };

/* A text behind so many blanks. */
struct source {
    const char *text;
    size_t size, blanks;
};

static ssize_t read_source(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct source *source = arg;
    size_t all = source->blanks + source->size, at = (size_t)offset;
    (void)error;
    size = size < all - at ? size : all - at;
    for (size_t i = 0; i < size; i++, at++)
        ((char *)buffer)[i] = at < source->blanks ? ' ' : source->text[at - source->blanks];
    return (ssize_t)size;
}

static void tell_start(FILE *out, const struct pf_xml *xml)
{
    static const char *const names[] = {"i", "n", "l"};
    fprintf(out, "%s(", pf_xml_name(xml));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (pf_xml_attribute(xml, names[i]))
            fprintf(out, "%s=%s ", names[i], pf_xml_attribute(xml, names[i]));
    fputc(')', out);
}

static void tell_close(FILE *out, const struct pf_xml *xml)
{
    size_t size;
    const char *text = pf_xml_text(xml, &size);
    size_t blanks = strspn(text, " ");
    fprintf(out, "%s/%s ", blanks < size ? text + blanks : "", pf_xml_name(xml));
}

/* `name(a=value b=value )` for a start, `text/name ` for a close, `CUT` for an end inside of something. To be freed. */
static char *story_of(struct source *source)
{
    char *story = NULL;
    size_t size;
    struct pf_error error;
    enum pf_xml_event event;
    FILE *out = open_memstream(&story, &size);
    struct pf_xml *xml = pf_xml_new(read_source, source);
    while ((event = pf_xml_next(xml, &error)) > PF_XML_END)
        (event == PF_XML_START ? tell_start : tell_close)(out, xml);
    fputs(event == PF_XML_FAILED ? "FAILED" : pf_xml_cut(xml) ? "CUT" : "", out);
    pf_xml_free(xml);
    fclose(out);
    return story;
}

/* Also where the window ends before each of the text's bytes. */
static void reads(const char *text, const char *want, const char *name)
{
    struct source source = {text, strlen(text), 0};
    char *story = story_of(&source);
    is(story, want, name);
    free(story);
    bool same = true;
    for (size_t i = 0; i < source.size; i++) {
        source.blanks = WINDOW - i;
        story = story_of(&source);
        same &= !strcmp(story, want);
        free(story);
    }
    ok(same, "%s: wherever the window ends", name);
}

static void tags(void)
{
    reads("<PF i=\"1\"><S i=\"-2\"/></PF>", "PF(i=1 )S(i=-2 )/S /PF ", "elements nest");
    reads("<a n = 'it\"s' i\n=\n\"2\"></a >", "a(i=2 n=it\"s )/a ",
          "quotes may be single, and blanks stand anywhere");
    reads("<a i=plus n=x/><b i=a/b>", "a(i=plus n=x )/a b(i=a/b )", "values may have no quotes");
    reads("<a i n=\"1\"/>", "a(i= n=1 )/a ", "an attribute may have no value");
    reads("<a i=\"1\" i=\"2\"/>", "a(i=1 )/a ", "of two attributes of one name the first counts");
    reads("<a n=\"x > y\"/>", "a(n=x > y )/a ", "a > in a value does not end the tag");
    reads("<> < b <c/>", "c()/c ", "a sign that nobody has escaped is text");
    reads("<a i=\"1", "CUT", "an end inside a tag is told of");
    reads("<a><!-- b", "a()CUT", "so is one inside a comment");
}

static void values(void)
{
    reads("<P n=\"operator\\\"\\\" _km\" l=\"3\"/>", "P(n=operator\"\" _km l=3 )/P ",
          "a quote behind a backslash is text");
    reads("<P n=\"ends in \\\"/>", "P(n=ends in \\ )/P ", "but not where the tag ends");
    reads("<P n=\"x\\\" l=\"3\" >", "P(n=x\\ l=3 )", "nor where another attribute follows");
    reads("<P n=\"a\\\" b\"/>", "P(n=a\" b )/P ", "a word behind it is no attribute");
    reads("<P n='a\\'/>", "P(n=a\\ )/P ", "nor where quotes are single");
    reads("<P n=\"C:\\dir\"/>", "P(n=C:\\dir )/P ", "a backslash alone is one");
    reads("<P n=\"a &lt;b&gt; &amp;&quot;&#65;&#x20ac;\"/>", "P(n=a <b> &\"A\xe2\x82\xac )/P ",
          "references are resolved");
    reads("<P n=\"R&D &x; &#; <\"/>", "P(n=R&D &x; &#; < )/P ", "what is no reference is text");
    reads("<P n=\"a\nb\tc\"/>", "P(n=a\nb\tc )/P ", "line breaks in values stay");
    reads("<P n=\"\xff\x01\xc3\"/>", "P(n=\xff\x01\xc3 )/P ", "so do bytes that are no characters");
}

static void texts(void)
{
    reads("<a>one &amp; two\\\n</a>", "a()one & two\\\n/a ", "text is told where its element ends");
    reads("<a>x<b>y</b></a>", "a()b()y/b /a ", "if nothing stands inside of it");
    reads("<a><![CDATA[<x> & ]] ]]></a>", "a()<x> & ]] /a ", "CDATA sections are text");
}

static void what_is_left_out(void)
{
    reads("<a/><!-- a -- b <x> --><b/>", "a()/a b()/b ", "comments are left out whatever they hold");
    reads("<a/><!-- x ---><b/>", "a()/a b()/b ", "and however they end");
    reads("<?xml version=\"1.0\"?><!DOCTYPE a [<!-- [x), it's \"y -->\n<!ATTLIST a b CDATA \"]>'\">]><a/>",
          "a()/a ", "so is a DTD");
    reads("<!x><a/>", "a()/a ", "and any declaration");
}

static void lines_are_those_of_tags(void)
{
    struct source source = {"<a>\n\n<b i='1'\nn='2'>x\n</b>\n", 27, 0};
    uint64_t want[] = {1, 3, 5, 6};
    struct pf_error error;
    bool same = true;
    struct pf_xml *xml = pf_xml_new(read_source, &source);
    for (size_t i = 0; i < 4; i++)
        same &= pf_xml_next(xml, &error) >= PF_XML_END && pf_xml_line(xml) == want[i];
    ok(same && pf_xml_offset(xml) == 27, "a line is that where the tag began, at the end the last one");
    pf_xml_free(xml);
}

/* A value, text or name that has no end must not fill the memory. */
static void long_pieces(void)
{
    enum { LONG = 1 << 20 };
    static char text[LONG + 100];
    struct pf_error error;
    size_t size;
    memset(text, 'x', LONG);
    memcpy(text, "<a i=\"1\" n=\"", 12);
    memcpy(text + LONG, "\" l=\"3\"/>", 10);
    struct source source = {text, strlen(text), 0};
    struct pf_xml *xml = pf_xml_new(read_source, &source);
    ok(pf_xml_next(xml, &error) == PF_XML_START && !pf_xml_attribute(xml, "n") &&
           !strcmp(pf_xml_attribute(xml, "i"), "1") && !strcmp(pf_xml_attribute(xml, "l"), "3"),
       "an attribute of 1 MB is left out, the others are there");
    pf_xml_free(xml);
    memset(text, 'x', LONG);
    memcpy(text, "<a>", 3);
    memcpy(text + LONG, "</a>", 5);
    source.size = strlen(text);
    xml = pf_xml_new(read_source, &source);
    ok(pf_xml_next(xml, &error) == PF_XML_START && pf_xml_next(xml, &error) == PF_XML_CLOSE &&
           strlen(pf_xml_text(xml, &size)) == size && size > 200000 && size < 256 * 1024,
       "a text of 1 MB is cut");
    pf_xml_free(xml);
}

static void many_attributes(void)
{
    char text[2000] = "<a", name[8];
    for (int i = 0; i < 100; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " a%d=\"%d\"", i, i);
    strcat(text, "/><b/>");
    struct source source = {text, strlen(text), 0};
    struct pf_error error;
    struct pf_xml *xml = pf_xml_new(read_source, &source);
    bool there = pf_xml_next(xml, &error) == PF_XML_START;
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "a%d", i);
        there = there && pf_xml_attribute(xml, name) && atoi(pf_xml_attribute(xml, name)) == i;
    }
    ok(there && !pf_xml_attribute(xml, "a64"), "of very many attributes the first ones are there");
    ok(pf_xml_next(xml, &error) == PF_XML_CLOSE && pf_xml_next(xml, &error) == PF_XML_START &&
           !pf_xml_attribute(xml, "a1"),
       "and the next element has its own");
    pf_xml_free(xml);
}

static ssize_t fail(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    (void)arg, (void)buffer, (void)size;
    return offset ? pf_fail(error, 5, "no") : (memcpy(buffer, "<a/><b", 6), 6);
}

static void errors_of_reading(void)
{
    struct pf_error error = {0};
    struct pf_xml *xml = pf_xml_new(fail, NULL);
    int events = 0;
    while (pf_xml_next(xml, &error) > PF_XML_END)
        events++;
    ok(events <= 2 && error.code == 5, "an error of reading is passed on");
    pf_xml_free(xml);
}

int main(void)
{
    tags();
    values();
    texts();
    what_is_left_out();
    lines_are_those_of_tags();
    long_pieces();
    many_attributes();
    errors_of_reading();
    return done();
}
