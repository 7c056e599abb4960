/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "formats/json/json.h"
#include "formats/kit/print.h"
#include "tests/unit/tap.h"

/* ---- tokens as text ----------------------------------------------------------------------------- */

/* A text that is read in parts, as a file is. */
struct text {
    const char *bytes;
    size_t size;
};

static ssize_t read_text(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct text *text = arg;
    (void)error;
    size_t left = offset < text->size ? text->size - offset : 0, got = left < size ? left : size;
    memcpy(buffer, text->bytes + (got ? offset : 0), got);
    return (ssize_t)got;
}

/* Prints a token: { } [ ] .name "string 'number true false null. `~`: replaced bytes; `...`: cut. Over 200 bytes: the size. */
static void describe(FILE *out, const struct pf_json_token *token)
{
    static const char *const words[] = {"", "{", "}", "[", "]", ".", "\"", "'", "true", "false", "null"};
    bool text = token->event >= PF_JSON_NAME && token->event <= PF_JSON_NUMBER;
    fprintf(out, " %s", words[token->event]);
    if (!text)
        return;
    if (token->size > 200)
        fprintf(out, "%zu bytes", token->size);
    else
        fwrite(token->text, 1, token->size, out);
    fprintf(out, "%s%s", token->replaced ? "~" : "", token->cut ? "..." : "");
}

static void describe_error(FILE *out, const struct pf_error *error)
{
    const char *code = error->code == EBADMSG   ? "bad"
                       : error->code == ENODATA ? "cut"
                       : error->code == E2BIG   ? "big"
                                                : strerror(error->code);
    fprintf(out, " %s at %jd, line %jd: %s", code, (intmax_t)error->offset, (intmax_t)error->line,
            error->what);
}

/* Returns all remaining tokens as text, up to an error; the caller frees it. */
static char *walk(struct pf_json *json)
{
    char *all = NULL;
    size_t size;
    FILE *out = open_memstream(&all, &size);
    struct pf_json_token token;
    struct pf_error error;
    int event;
    while ((event = pf_json_next(json, &token, &error)) > 0)
        describe(out, &token);
    if (event < 0)
        describe_error(out, &error);
    fclose(out);
    return all;
}

static struct pf_json *open_text(struct text *text, unsigned flags)
{
    return pf_json_new_reading(read_text, text, flags, 0);
}

static char *tokens_of(const char *bytes, size_t size, unsigned flags)
{
    struct text text = {bytes, size};
    struct pf_json *json = open_text(&text, flags);
    char *all = walk(json);
    pf_json_free(json);
    return all;
}

static void reads_with(unsigned flags, const char *text, const char *want, const char *name)
{
    char *have = tokens_of(text, strlen(text), flags);
    is(have, want, name);
    free(have);
}

static void reads(const char *text, const char *want, const char *name)
{
    reads_with(0, text, want, name);
}

/* ---- tokens ------------------------------------------------------------------------------------ */

static void values(void)
{
    reads("{\"a\": [1, -2.5e+3, true], \"b\":{}, \"c\" : null}\n",
          " { .a [ '1 '-2.5e+3 true ] .b { } .c null }", "tokens come in the order of the text");
    reads("[]", " [ ]", "an empty array has two tokens");
    reads(" 7 ", " '7", "a number alone is a text");
    reads("[NaN, Infinity, -Infinity]", " [ 'NaN 'Infinity '-Infinity ]", "Python's words for non-finite numbers are accepted");
    reads("[nan,-nan,+NAN,inf ,-inf,+Inf,\n-INF,INFINITY,+Infinity,infinity]",
          " [ 'nan '-nan '+NAN 'inf '-inf '+Inf '-INF 'INFINITY '+Infinity 'infinity ]",
          "other spellings of non-finite numbers are accepted");
    reads("{\"a\":-nan(ind),\"b\":nan(snan),\"c\":nan}", " { .a '-nan .b 'nan .c 'nan }",
          "the payload of a NaN is skipped");
    reads("inf", " 'inf", "a non-finite number alone is a text");
    reads("\xef\xbb\xbf[1]", " [ '1 ]", "a byte order mark is skipped");
    reads("[0, -0, 0.5, 1E5, 10]", " [ '0 '-0 '0.5 '1E5 '10 ]", "numbers are returned as they are written");
    reads("[[[[]]],{\"a\":{\"b\":[]}}]", " [ [ [ [ ] ] ] { .a { .b [ ] } } ]", "containers nest");
}

static void strings(void)
{
    reads("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", " [ \"\"\\/\b\f\n\r\t ]", "escapes become their characters");
    reads("[\"\\u0041\\u00e4\\u20AC\"]", " [ \"A\xc3\xa4\xe2\x82\xac ]",
          "escaped numbers become their characters");
    reads("[\"\\ud83d\\uDE00\"]", " [ \"\xf0\x9f\x98\x80 ]", "two surrogates are one character");
    reads("[\"a\\ud83d\", \"\\ude00b\", \"\\ud83d\\u0041\"]",
          " [ \"a\xef\xbf\xbd~ \"\xef\xbf\xbd"
          "b~ \"\xef\xbf\xbd"
          "A~ ]",
          "a lone surrogate is replaced");
    reads("[\"a\\u0000b\"]",
          " [ \"a\xef\xbf\xbd"
          "b~ ]",
          "a NUL is replaced");
    reads("[\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"]", " [ \"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 ]",
          "UTF-8 is unchanged");
    reads("[\"a\xff"
          "b\", \"\xe2\x82\", \"\xed\xa0\x80\", \"\xc0\x80\"]",
          " [ \"a\xef\xbf\xbd"
          "b~ \"\xef\xbf\xbd~ \"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd~ \"\xef\xbf\xbd\xef\xbf\xbd~ ]",
          "invalid UTF-8 is replaced");
    reads_with(PF_JSON_STRICT_UTF8, "[\"ab\xff\"]", " [ bad at 4, line 1: invalid UTF-8, column 5",
               "invalid UTF-8 is an error if requested");
    reads("{\"\\u0061\":1}", " { .a '1 }", "names are unescaped too");
}

static void errors(void)
{
    reads_with(PF_JSON_LAST_COMMAS, "[1,{\"a\":2,},]", " [ '1 { .a '2 } ]",
               "commas before closing brackets are accepted if requested");
    reads_with(PF_JSON_LAST_COMMAS, "[{\"a\":}]", " [ { .a bad at 6, line 1: invalid value, column 7",
               "a name without a value is refused");
    reads("[1,]", " [ '1 bad at 3, line 1: invalid value, column 4",
          "a comma before the end of an array is refused");
    reads("{\"a\":1,}", " { .a '1 bad at 7, line 1: expected a name in quotes, column 8",
          "a comma before the end of an object is refused");
    reads("[1 2]", " [ '1 bad at 3, line 1: expected a comma or a closing bracket, column 4",
          "elements need commas");
    reads("{\"a\" 1}", " { .a bad at 5, line 1: expected a colon after the name, column 6",
          "names need colons");
    reads("[1\n,\n  2}", " [ '1 '2 bad at 8, line 3: '}' closes an array, column 4",
          "an error has its line and column");
    reads("[1] 2", " [ '1 ] bad at 4, line 1: text after the value, column 5",
          "there is one value in a text");
    reads("[01]", " [ '0 bad at 2, line 1: expected a comma or a closing bracket, column 3",
          "numbers have no leading zeros");
    reads("[1.]", " [ bad at 3, line 1: expected a digit, column 4", "a point needs digits");
    reads("[+1]", " [ bad at 1, line 1: invalid value, column 2",
          "numbers have no plus");
    reads("['a']", " [ bad at 1, line 1: invalid value, column 2",
          "strings have double quotes");
    reads("[\"a\tb\"]", " [ bad at 3, line 1: control character in a string, column 4",
          "control characters must be escaped");
    reads("[\"\\x\"]", " [ bad at 2, line 1: invalid escape, column 3",
          "there are no other escapes");
    reads("// [1]", " bad at 0, line 1: invalid value, column 1",
          "there are no comments");
    char nul[] = "[1\0]", *have = tokens_of(nul, 4, 0);
    is(have, " [ '1 bad at 2, line 1: expected a comma or a closing bracket, column 3",
       "a NUL does not end the text");
    free(have);
}

static void cut_texts(void)
{
    reads("", " cut at 0, line 1: truncated before a value, column 1", "an empty text has no value");
    reads("{\"a\":[1", " { .a [ '1 cut at 7, line 1: truncated within a value, column 8",
          "the error of a truncated text differs from that of a malformed one");
    reads("[\"ab", " [ cut at 4, line 1: truncated within a string, column 5",
          "a text truncated in a string is reported as such");
    reads("[\"ab\\", " [ cut at 5, line 1: truncated within a string, column 6",
          "a text truncated in an escape is reported as such");
    reads("[tru", " [ cut at 4, line 1: truncated within a word, column 5",
          "a text truncated in a word is reported as such");
    reads("[-infin", " [ cut at 7, line 1: truncated within a word, column 8",
          "a text truncated in an infinity is reported as such");
    reads("[nano]", " [ 'nan bad at 4, line 1: expected a comma or a closing bracket, column 5",
          "a word that begins with nan is refused");
    reads("[-true]", " [ bad at 2, line 1: expected a digit, column 3", "a word with a sign is refused");
    reads("[-", " [ cut at 2, line 1: expected a digit, column 3",
          "a text truncated in a number is reported as such");
}

static void limits(void)
{
    size_t size = 3 * PF_JSON_TEXT_MAX;
    char *text = malloc(size + 4);
    memset(text, 'x', size + 4);
    text[0] = '[';
    text[1] = '"';
    memcpy(text + size, "\",1]", 4);
    char *have = tokens_of(text, size + 4, 0);
    is(have, " [ \"65536 bytes... '1 ]", "a long string is truncated, and the next token is read");
    free(have);
    memset(text + 1, '7', size - 1);
    memcpy(text + size, ",\"\"]", 4);
    have = tokens_of(text, size + 4, 0);
    is(have, " [ big at 1, line 1: the number has too many digits, column 2", "a long number is refused");
    free(have);
    memset(text, '[', size);
    have = tokens_of(text, size, 0);
    ok(strstr(have, "big at 512, line 1: nested too deeply, column 513") != NULL, "nesting has a limit");
    free(have);
    free(text);
}

/* ---- tokens that cross the window's end --------------------------------------------------------- */

#define STUDY                                                                                                \
    "{\"na\\u00e4me\":[1.25e-3,\"\xf0\x9f\x98\x80 text "                                                     \
    "\\ud83d\\ude00\",true,-Infinity,null],\"b\":{\"c\":12345678}}"

static void window_ends(void)
{
    char *want = tokens_of(STUDY, strlen(STUDY), 0);
    size_t room = 3 * PF_JSON_TEXT_MAX * 2;
    char *text = malloc(room + sizeof STUDY);
    size_t ends[] = {4096, 4096 + 8192, PF_JSON_TEXT_MAX * 4 - 4096};
    bool same = true, skipped = true;
    for (size_t i = 0; i < 3; i++)
        for (size_t before = ends[i] - sizeof STUDY; before < ends[i] + 2; before++) {
            memset(text, ' ', before);
            strcpy(text + before, STUDY);
            char *have = tokens_of(text, before + strlen(STUDY), 0);
            same &= !strcmp(have, want);
            free(have);
            struct text all = {text, before + strlen(STUDY)};
            struct pf_json *json = open_text(&all, 0);
            struct pf_json_token token;
            struct pf_error error;
            struct pf_json_buffer taken = {.limit = 200};
            skipped &= pf_json_take(json, &token, &taken, &error) == PF_JSON_OBJECT &&
                       token.offset == before && !strcmp(token.text, STUDY) &&
                       pf_json_next(json, &token, &error) == PF_JSON_END;
            pf_json_free(json);
            free(taken.bytes);
        }
    ok(same, "tokens do not depend on where the window ends");
    ok(skipped, "values taken as text do not depend on where the window ends");
    free(text);
    free(want);
}

/* ---- skipping, seeking -------------------------------------------------------------------------- */

static void passing_over(void)
{
    struct text text = {"{\"a\":{\"x\":[1,\"]}\\\"\",{}]},\"b\":[1,[2,3],4],\"c\":5}", 47};
    struct pf_json *json = open_text(&text, 0);
    struct pf_json_token token;
    struct pf_error error;
    pf_json_next(json, &token, &error);
    pf_json_next(json, &token, &error);
    ok(pf_json_skip(json, &token, &error) == PF_JSON_OBJECT && token.offset == 5,
       "a member's value is skipped");
    ok(pf_json_next(json, &token, &error) == PF_JSON_NAME && pf_json_is(&token, "b"),
       "the name after a skipped value is read");
    pf_json_next(json, &token, &error);
    pf_json_next(json, &token, &error);
    ok(pf_json_skip(json, &token, &error) == PF_JSON_ARRAY &&
           pf_json_skip(json, &token, &error) == PF_JSON_NUMBER &&
           pf_json_skip(json, &token, &error) == PF_JSON_ARRAY_END,
       "elements are skipped one by one");
    pf_json_next(json, &token, &error);
    ok(pf_json_leave(json, &error) == 0 && pf_json_depth(json) == 0 &&
           pf_json_next(json, &token, &error) == PF_JSON_END,
       "the rest of a container is skipped");
    pf_json_free(json);
}

static void skipping_is_careful(void)
{
    struct text text = {"{\"a\":[1,{]}", 11};
    struct pf_json *json = open_text(&text, 0);
    struct pf_json_token token;
    struct pf_error error;
    ok(pf_json_skip(json, &token, &error) < 0 && error.code == EBADMSG && error.offset == 9,
       "skipping detects brackets that do not match");
    struct pf_error again;
    ok(pf_json_next(json, &token, &again) < 0 && again.offset == 9, "an error persists");
    pf_json_free(json);
    struct text cut = {"[[1,\"a", 6};
    json = open_text(&cut, 0);
    ok(pf_json_skip(json, &token, &error) < 0 && error.code == ENODATA, "skipping detects the end of the text");
    pf_json_free(json);
}

static void taking(void)
{
    char text[6100] = "[{\"a\": [1, 2]}, 7, [";
    for (size_t i = strlen(text); i < 6000; i += 2)
        memcpy(text + i, "1,", 2);
    strcat(text, "1], \"x\", null]");
    struct pf_json_buffer buffer = {.limit = 10};
    struct pf_json *json = pf_json_new(NULL, 0, 0);
    struct pf_json_token token;
    struct pf_error error;
    pf_json_text(json, text, strlen(text));
    pf_json_next(json, &token, &error);
    ok(pf_json_take(json, &token, &buffer, &error) == PF_JSON_OBJECT && !token.cut &&
           !strcmp(token.text, "{\"a\": [1, 2]}"),
       "a value is returned as it is written");
    ok(pf_json_take(json, &token, &buffer, &error) == PF_JSON_NUMBER && pf_json_is(&token, "7") &&
           token.text == buffer.bytes,
       "a value that is not a container is returned as it is written");
    ok(pf_json_take(json, &token, &buffer, &error) == PF_JSON_ARRAY && token.cut && !token.size,
       "a value that is too long is reported");
    ok(pf_json_take(json, &token, &buffer, &error) == PF_JSON_STRING && pf_json_is(&token, "x"),
       "a value that is too long is skipped");
    ok(pf_json_take(json, &token, &buffer, &error) == PF_JSON_NULL &&
           pf_json_take(json, &token, &buffer, &error) == PF_JSON_ARRAY_END && !token.size,
       "the end of a container has no text");
    pf_json_free(json);
    buffer.limit = 10000;
    json = pf_json_new(NULL, 0, 0);
    pf_json_text(json, text, strlen(text));
    ok(pf_json_take(json, &token, &buffer, &error) == PF_JSON_ARRAY && token.size == strlen(text) &&
           !strcmp(token.text, text),
       "a value longer than the buffer is returned as it is written");
    pf_json_free(json);
    free(buffer.bytes);
}

static void seeking(void)
{
    struct text text = {"{\"a\": [1, 2],\n \"b\": 3}", 22};
    struct pf_json *json = open_text(&text, 0);
    pf_json_seek(json, 6, 1);
    char *have = walk(json);
    is(have, " [ '1 '2 ]", "a value at a known offset is read by itself");
    free(have);
    pf_json_seek(json, 20, 2);
    have = walk(json);
    is(have, " '3", "a number at a known offset is read by itself");
    free(have);
    pf_json_free(json);
}

/* ---- lines -------------------------------------------------------------------------------------- */

static void lines(void)
{
    const unsigned flags = PF_JSON_LINES;
    reads_with(flags, "{\"a\":1}\n\n  [2]\r\n3", " { .a '1 } [ '2 ] '3", "every line has a value or none");
    reads_with(flags, "", "", "an empty line is valid");
    reads_with(flags, "1 2\n", " '1 bad at 2, line 1: second value in the line, column 3",
               "two values in a line are refused");
    reads_with(flags, "{\"a\":\n1}", " { .a bad at 5, line 1: line truncated within a value, column 6",
               "a value does not continue on the next line");
    reads_with(PF_JSON_SEMICOLONS, "{\"a;b\":1;\"c\":[2;3]}", " { .a,b '1 .c [ '2 '3 ] }",
               "semicolons are commas, in strings too");
}

static void damaged_lines(void)
{
    struct text text = {"[1\n[2]\nx y\n[3", 13};
    struct pf_json *json = open_text(&text, PF_JSON_LINES);
    struct pf_error error;
    char *first = walk(json);
    pf_json_next_line(json, &error);
    char *second = walk(json);
    pf_json_next_line(json, &error);
    char *third = walk(json);
    ok(pf_json_next_line(json, &error) == 0, "no line follows the last one");
    char *fourth = walk(json);
    is(first, " [ '1 bad at 2, line 1: line truncated within a value, column 3",
       "a truncated line is reported");
    is(second, " [ '2 ] bad at 7, line 3: invalid value, column 1",
       "reading continues with the next line");
    is(third, " [ '3 cut at 13, line 4: truncated within a value, column 3", "the last line is read");
    is(fourth, "", "nothing is read after the last line");
    free(first);
    free(second);
    free(third);
    free(fourth);
    pf_json_free(json);
}

/* ---- numbers ------------------------------------------------------------------------------------ */

static void number_is(const char *text, int type, const char *want)
{
    struct pf_json_token token;
    struct pf_json *json = pf_json_new(NULL, 0, 0);
    struct pf_error error;
    pf_int128 wide;
    char have[PF_NUMBER_MAX + 1] = "", *copy = strdup(text);
    pf_json_text(json, copy, strlen(copy));
    pf_json_next(json, &token, &error);
    struct pf_cell cell = pf_json_number(&token, &wide);
    char *end = cell.type == PF_INT      ? pf_print_int(have, cell.i)
                : cell.type == PF_UINT   ? pf_print_uint(have, cell.u)
                : cell.type == PF_DOUBLE ? pf_print_double(have, cell.d)
                                         : pf_print_wide(have, *cell.wide);
    *end = 0;
    ok(cell.type == type && !strcmp(have, want), "%s is %s", text, want);
    pf_json_free(json);
    free(copy);
}

static void numbers(void)
{
    number_is("-0", PF_INT, "0");
    number_is("9223372036854775807", PF_INT, "9223372036854775807");
    number_is("-9223372036854775808", PF_INT, "-9223372036854775808");
    number_is("9223372036854775808", PF_UINT, "9223372036854775808");
    number_is("-9223372036854775809", PF_WIDE, "-9223372036854775809");
    number_is("18446744073709551616", PF_WIDE, "18446744073709551616");
    number_is("170141183460469231731687303715884105727", PF_WIDE, "170141183460469231731687303715884105727");
    number_is("170141183460469231731687303715884105728", PF_DOUBLE, "1.7014118346046923e+38");
    number_is("1e2", PF_DOUBLE, "100");
    number_is("0.1", PF_DOUBLE, "0.1");
    number_is("NaN", PF_DOUBLE, "nan");
    number_is("-Infinity", PF_DOUBLE, "-inf");
    number_is("-nan", PF_DOUBLE, "nan");
    number_is("+inf", PF_DOUBLE, "inf");
}

int main(void)
{
    values();
    strings();
    errors();
    cut_texts();
    limits();
    window_ends();
    passing_over();
    skipping_is_careful();
    taking();
    seeking();
    lines();
    damaged_lines();
    numbers();
    return done();
}
