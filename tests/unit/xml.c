/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/xml/xml.h"
#include "tests/unit/tap.h"

/* The reader of XML that is not always well-formed. */

/* What was told: `name(a=value b=value)` for a start, `/name` for an end, with its text in brackets; `!line` for a fault. */
struct story {
    struct pf_xml *xml;
    char text[4000];
    size_t size;
    char faults[16];
};

/* Whether damaged tags are forgiven: at the end, `?` is told for each, `??` where elements may be missing. */
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

static int on_start(void *arg, const char *name, struct pf_error *error)
{
    static const char *const names[] = {"i", "n", "l"};
    const struct story *story = arg;
    (void)error;
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
    return !strcmp(name, "stop");
}

static int on_end(void *arg, const char *name, const char *text, size_t size, struct pf_error *error)
{
    (void)error;
    if (size) {
        tell_string(arg, "[");
        tell(arg, text, size);
        tell_string(arg, "]");
    }
    tell_string(arg, "/");
    tell_string(arg, name);
    tell_string(arg, " ");
    return 0;
}

static void on_fault(void *arg, bool lost)
{
    struct story *story = arg;
    strcat(story->faults, lost ? "??" : "?");
}

/* Reads the text in pieces of `piece` bytes. */
static void read_text(struct story *story, const char *text, size_t size, size_t piece)
{
    const struct pf_xml_events events = {on_start, on_end, forgiving ? on_fault : NULL};
    struct pf_error error;
    char fault[24];
    int told = 0;
    *story = (struct story){0};
    story->xml = pf_xml_new(&events, story);
    for (size_t at = 0; at < size && !told; at += piece)
        told = pf_xml_feed(story->xml, text + at, size - at < piece ? size - at : piece, &error);
    tell_string(story, story->faults);
    snprintf(fault, sizeof fault, "!%d", (int)pf_xml_line(story->xml));
    if (pf_xml_is_cut(story->xml))
        tell_string(story, fault);
    pf_xml_free(story->xml);
}

static void reads(const char *text, const char *want, const char *name)
{
    struct story whole, torn;
    read_text(&whole, text, strlen(text), strlen(text));
    read_text(&torn, text, strlen(text), 1);
    if (is(whole.text, want, name) && strcmp(torn.text, want) != 0)
        ok(false, "%s, read byte by byte", name);
}

int main(void)
{
    reads("<PF i=\"1\"><S i=\"-2\"/></PF>", "PF(i=1 )S(i=-2 )/S /PF ", "elements nest");
    reads("<P n=\"operator\\\"\\\" _km\" l=\"3\"/>", "P(n=operator\"\" _km l=3 )/P ",
          "a quote behind a backslash is text");
    reads("<P n=\"ends in \\\"/>", "P(n=ends in \\ )/P ", "but not where the tag ends");
    reads("<P n=\"x\\\" l=\"3\" ></P>", "P(n=x\\ l=3 )/P ", "nor where another attribute follows");
    reads("<P n=\"a\\\" b\"/>", "P(n=a\" b )/P ", "a word behind it is no attribute");
    reads("<P n=\"C:\\dir\"/>", "P(n=C:\\dir )/P ", "a backslash alone is one");
    reads("<P n=\"a &lt;b&gt; &amp;&quot;&#65;\"/>", "P(n=a <b> &\"A )/P ", "references are resolved");
    reads("<P n=\"R&D &x; &#0; <\"/>", "P(n=R&D &x; &#0; < )/P ", "what is no reference is text");
    reads("<P n=\"a\nb\tc\"/>", "P(n=a\nb\tc )/P ", "line breaks in values stay");
    reads("<P n=\"\xff\x01\xc3\xa9\xed\xa0\x80\"/>",
          "P(n=\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd )/P ",
          "bytes that are no characters are replaced");
    reads("<P n='it\"s'/>", "P(n=it\"s )/P ", "single quotes work too");
    reads("<P n=plus l=a/b/>", "P(n=plus l=a/b )/P ", "and so do values without quotes");
    reads("<P n=\"a > b\"/>", "P(n=a > b )/P ", "a > in a value does not end the tag");
    reads("<a/><!-- a -- b <x> --><b/>", "a()/a b()/b ", "comments are left out whatever they hold");
    reads("<?xml version=\"1.0\"?><!DOCTYPE a [<!-- [x), [y -->\n<!ELEMENT a (b)>]><a/>", "a()/a ",
          "so is a DTD");
    reads("<a><![CDATA[<x> & ]]]></a><b/>", "a()[<x> & ]]/a b()/b ", "CDATA sections are text");
    reads("<a>x &lt; \xc3\xa9 & y < z\xff</a>", "a()[x < \xc3\xa9 & y < z\xef\xbf\xbd]/a ",
          "text is mended as values are");
    reads("<a>\nb<c>d</c>e</a>", "a()c()[d]/c [e]/a ", "text is what stands right before an end");
    reads("<a><b>x</c>&lt;</a>", "a()b()[x]/b [<]/a ",
          "what closes another element closes the innermost one");
    reads("<a>\n</a>\n</a><b/>", "a()[\n]/a !3", "what closes none ends the reading, in its line");
    reads("<a/>\n<b i=\"1\" i=\"2\"/>\n<c/>", "a()/a !2", "so does an attribute that is there twice");
    reads("<><b/>", "!1", "and a tag without a name");
    reads("<a i=\"1", "!1", "an end inside a tag is a fault");
    reads("<a>", "a()!1", "or one inside an element");
    reads("", "", "of no bytes there is nothing to tell, though their line can be asked for");
    reads("<a><stop/><b></a>", "a()stop()", "an event can end the reading");

    reads("<a>\r\nb\rc</a\n><b/>", "a()[\nb\nc]/a b()/b ",
          "lines end as they may; those in closing tags are no text");
    reads("<a>\n<b i=\"1", "a()!2", "the line is that in which a tag begins that has no end");

    forgiving = true;
    reads("<a><b>x<-b></a>", "a()b()[x]/b /a ?", "a closing tag that has lost its slash closes its element");
    reads("<a><b>x<(y)</b></a>", "a()b()[x<(y)]/b /a ??", "what does not begin as a tag is text");
    reads("<a><b i\"1\" n=\"x\"/></a>", "a()b(n=x )/b /a ??", "what is no attribute is passed over");
    reads("<a 1=\"2\" n=\"x\"/>", "a(n=x )/a ??", "and so is what has no name of an attribute");
    reads("<a/>\n</a><b/>", "a()/a b()/b ?", "what closes none does nothing");
    reads("<a><b i=\"1\" i=\"2\"/></a>", "a()!1", "an attribute that is there twice still ends the reading");
    return done();
}
