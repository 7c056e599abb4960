/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/hpctoolkit/xml.h"
#include "tests/unit/tap.h"

/* The reader of XML that is not always well-formed. */

/* What was told: `name(a=value b=value)` for a start, `/name` for an end, `!line` for what is broken. */
struct story {
    char text[4000];
    size_t size;
};

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

static int on_start(void *arg, const char *name, const struct hpc_attributes *attributes,
                    struct pf_error *error)
{
    static const char *const names[] = {"i", "n", "l"};
    (void)error;
    tell_string(arg, name);
    tell_string(arg, "(");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct pf_cell value = hpc_attribute(attributes, names[i]);
        if (value.type == PF_ABSENT)
            continue;
        tell_string(arg, names[i]);
        tell_string(arg, "=");
        tell(arg, value.text, value.size);
        tell_string(arg, " ");
    }
    tell_string(arg, ")");
    return 0;
}

static int on_end(void *arg, const char *name, struct pf_error *error)
{
    (void)error;
    tell_string(arg, "/");
    tell_string(arg, name);
    tell_string(arg, " ");
    return 0;
}

static int on_broken(void *arg, int64_t line, struct pf_error *error)
{
    char text[24];
    (void)error;
    snprintf(text, sizeof text, "!%d ", (int)line);
    tell_string(arg, text);
    return 0;
}

/* Reads the text in pieces of `piece` bytes. */
static void read_text(struct story *story, const char *text, size_t size, size_t piece)
{
    static const struct hpc_xml_events events = {on_start, on_end, on_broken};
    struct pf_error error;
    *story = (struct story){0};
    struct hpc_xml *xml = hpc_xml_new(&events, story);
    for (size_t at = 0; at < size; at += piece)
        hpc_xml_feed(xml, text + at, size - at < piece ? size - at : piece, &error);
    hpc_xml_free(xml);
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
    reads("<P n=\"x\\\" l=\"3\" >", "P(n=x\\ l=3 )", "nor where another attribute follows");
    reads("<P n=\"a\\\" b\"/>", "P(n=a\" b )/P ", "a word behind it is no attribute");
    reads("<P n=\"C:\\dir\"/>", "P(n=C:\\dir )/P ", "a backslash alone is one");
    reads("<P n=\"a &lt;b&gt; &amp;&quot;&#65;\"/>", "P(n=a <b> &\"A )/P ", "references are resolved");
    reads("<P n=\"R&D &x; &#0; <\"/>", "P(n=R&D &x; &#0; < )/P ", "what is no reference is text");
    reads("<P n=\"a\nb\tc\"/>", "P(n=a\nb\tc )/P ", "line breaks in values stay");
    reads("<P n=\"\xff\x01\xc3\xa9\xed\xa0\x80\"/>",
          "P(n=\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd )/P ",
          "bytes that are no characters are replaced");
    reads("<P n='it\"s'/>", "P(n=it\"s )/P ", "single quotes work too");
    reads("<P n=\"a > b\"/>", "P(n=a > b )/P ", "a > in a value does not end the tag");
    reads("<a/><!-- a -- b <x> --><b/>", "a()/a b()/b ", "comments are left out whatever they hold");
    reads("<?xml version=\"1.0\"?><!DOCTYPE a [<!-- [x), [y -->\n<!ELEMENT a (b)>]><a/>", "a()/a ",
          "so is a DTD");
    reads("<![CDATA[<x>]]><a/>text<b/>", "a()/a b()/b ", "so are CDATA sections and text");
    reads("<a/>\n<b i=\"1\" i=\"2\"/>\n<c/>", "a()/a !2 /b c()/c ",
          "an element that can't be read does not end all");
    reads("<a i=1/><b/>", "!1 /a b()/b ", "nor does one with a value without quotes");
    reads("<><b/>", "!1 b()/b ", "nor one without a name");
    reads("<a i=\"1", "", "an end inside a tag is an end");
    return done();
}
