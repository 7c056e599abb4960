/* SPDX-License-Identifier: MIT */
#include "fs/profile/names.h"

#include "tests/unit/tap.h"

static char made[PF_NAME_MAX + 1];

/* The default id of items in these tests. */
enum { ID = 7 };

static const char *name_of(const char *text, size_t size, bool suffix)
{
    size_t length = pf_name(made, text, size, ID, suffix);
    return length <= PF_NAME_MAX && length == strlen(made) ? made : "(wrong length)";
}

static void named(const char *text, const char *want, const char *rule)
{
    is(name_of(text, strlen(text), false), want, rule);
}

static void what_stays(void)
{
    named("main", "main", "a word stays");
    named("std::vector<int, a b>::size() const", "std::vector<int, a b>::size() const", "punctuation stays");
    named("a\\b", "a\\b", "a backslash stays");
    named("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\x80", "UTF-8 stays");
    named("\xc2\xa0", "\xc2\xa0", "U+00A0, the first character after the C1 controls, is kept");
    named("\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80", "the neighbours of the surrogates are kept");
    named("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", "the last code point is kept");
    named("a.b.", "a.b.", "a dot that is not the first character is kept");
}

static void what_is_escaped(void)
{
    named("a/b", "a%2Fb", "a slash is escaped");
    is(name_of("a\0b", 3, false), "a%00b", "a NUL is escaped");
    named("\x01\n\x1f\x7f", "%01%0A%1F%7F", "control characters are escaped");
    named("\xc2\x80\xc2\x9f", "%C2%80%C2%9F", "C1 control characters are escaped");
    named(".", "%2E", "a single dot is escaped");
    named("..", "%2E.", "the first of two dots is escaped");
    named(".omp_outlined.", "%2Eomp_outlined.", "a leading dot is escaped");
}

static void percent_signs(void)
{
    named("%41", "%2541", "a percent sign before two hex digits is escaped");
    named("%aF", "%25aF", "a percent sign before lower-case hex digits is escaped");
    named("%zz", "%zz", "a percent sign before other characters is kept");
    named("%4", "%4", "a percent sign before one hex digit is kept");
    named("100%", "100%", "a percent sign at the end is kept");
    named("%%41", "%%2541", "only the percent sign before the digits is escaped");
    named("%4/1", "%4%2F1", "a percent sign before a hex digit and an escaped character is kept");
}

static void invalid_utf_8(void)
{
    named("\x80", "%80", "a continuation byte alone is escaped");
    named("\xff\xfe", "%FF%FE", "bytes that occur in no character are escaped");
    named("\xc3", "%C3", "a character truncated after one byte is escaped");
    named("\xe2\x82", "%E2%82", "a character truncated after two bytes is escaped");
    named("\xe2\x82z", "%E2%82z", "a character truncated by another one is escaped");
    named("\xc0\xaf", "%C0%AF", "an overlong slash of two bytes is escaped");
    named("\xe0\x80\xaf", "%E0%80%AF", "an overlong slash of three bytes is escaped");
    named("\xf0\x80\x80\xaf", "%F0%80%80%AF", "an overlong slash of four bytes is escaped");
    named("\xed\xa0\x80", "%ED%A0%80", "a surrogate is escaped");
    named("\xf4\x90\x80\x80", "%F4%90%80%80", "a code point above U+10FFFF is escaped");
    named("\xf5\x80\x80\x80", "%F5%80%80%80", "a lead byte above F4 is escaped");
    named("\xc3\xc3\xa4", "%C3\xc3\xa4", "a character after an invalid one is kept");
}

static void suffixes(void)
{
    named("", "~7", "an empty name becomes its id");
    named("x~12", "x~12~7", "a name that ends like a suffix gets a suffix");
    named("~5", "~5~7", "a name that is only a suffix gets a suffix");
    named("x~012", "x~012~7", "a name that ends like a suffix with leading zeros gets a suffix");
    named("x~99999999999999999999999", "x~99999999999999999999999~7",
          "a name that ends like a suffix with a huge number gets a suffix");
    named("x~", "x~", "a tilde by itself is not a suffix");
    named("x~a1", "x~a1", "a tilde before other characters is not a suffix");
    named("12", "12", "digits without a tilde are not a suffix");
    is(name_of("main", 4, true), "main~7", "a suffix can be requested");
    is(name_of("", 0, true), "~7", "a suffix can be requested for an empty name");
    pf_name(made, "f", 1, UINT64_MAX, true);
    is(made, "f~18446744073709551615", "the largest id is a suffix");
}

/* Checks that an item with the id ID and the text `unit` times `count` has the name `shown` times `want`, then `end`. */
static void repeated(const char *unit, size_t count, const char *shown, size_t want, const char *end,
                     const char *rule)
{
    char text[4096], expected[4096] = "";
    size_t n = strlen(unit);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * n, unit, n);
    for (size_t i = 0; i < want; i++)
        strcat(expected, shown);
    strcat(expected, end);
    is(name_of(text, n * count, false), expected, rule);
}

static void long_names(void)
{
    repeated("a", 255, "a", 255, "", "255 bytes fit");
    repeated("a", 256, "a", 253, "~7", "256 bytes are cut to 255 with the suffix");
    repeated("a", 4000, "a", 253, "~7", "4000 bytes are cut to 255 with the suffix");
    repeated("\xc3\xa4", 128, "\xc3\xa4", 126, "~7", "a name is not cut inside a character of two bytes");
    repeated("\xf0\x9f\x9a\x80", 64, "\xf0\x9f\x9a\x80", 63, "~7",
             "a name is not cut inside a character of four bytes");
    repeated("/", 85, "%2F", 85, "", "85 escaped characters fit");
    repeated("/", 86, "%2F", 84, "~7", "a name is not cut inside %XX");
    repeated("\xc2\x85", 43, "%C2%85", 42, "~7", "a name is not cut between the %XX of one character");
    char text[255];
    memset(text, 'a', sizeof text);
    memcpy(text + 253, "~1", 2);
    name_of(text, sizeof text, false);
    ok(strlen(made) == 255 && !strcmp(made + 250, "aaa~7"),
       "255 bytes that end like a suffix are cut for a suffix");
    pf_name(made, text, 254, UINT64_MAX, true);
    ok(strlen(made) == 255 && !strcmp(made + 233, "a~18446744073709551615"),
       "a longer id leaves less room for the name");
}

static void id_in(const char *name, bool has, uint64_t want)
{
    uint64_t id = 0;
    bool found = pf_name_id(name, strlen(name), &id);
    ok(found == has && id == want, "%s: %s", name, has ? "has an id" : "has no id");
}

static void ids_are_found_again(void)
{
    id_in("main~7", true, 7);
    id_in("~0", true, 0);
    id_in("x~12~34", true, 34);
    id_in("f~18446744073709551615", true, UINT64_MAX);
    id_in("f~18446744073709551616", false, 0);
    id_in("f~99999999999999999999", false, 0);
    id_in("f~100000000000000000000000", false, 0);
    id_in("f~007", false, 0);
    id_in("f~00", false, 0);
    id_in("f~", false, 0);
    id_in("f7", false, 0);
    id_in("7", false, 0);
    id_in("", false, 0);
    id_in("f~7 ", false, 0);
    id_in("f~-7", false, 0);
}

int main(void)
{
    what_stays();
    what_is_escaped();
    percent_signs();
    invalid_utf_8();
    suffixes();
    long_names();
    ids_are_found_again();
    return done();
}
