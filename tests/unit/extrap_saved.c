/* SPDX-License-Identifier: MIT */
/* Tests experiments saved by Extra-P, which are archives of JSON, stored values and models. */
#include <endian.h>

#include "tests/unit/extrap_study.h"
#include "tests/unit/extrap_zip.h"

extern const struct pf_driver pf_extrap_saved_driver;

static struct archive archive;

/* Opens an archive that holds only experiment.json. */
static void open_json(struct study *study, const char *json)
{
    archive = (struct archive){.size = 0};
    add_member(&archive, "experiment.json", json, strlen(json), 1, strlen(json));
    finish_archive(&archive);
    open_study(study, &pf_extrap_saved_driver, archive.bytes, archive.size);
}

#define POINT(x, mean)                                                                                       \
    "{\"coordinate\":[" x "],\"mean\":" mean ",\"median\":2,\"minimum\":1,\"maximum\":\"inf\",\"std\":0.5}"

static void figures_only(void)
{
    struct study study;
    open_json(&study, "{\"Extra-P\":\"4.0.3\",\"scaling\":\"weak\",\"parameters\":[\"p\"],\"measurements\":{"
                      "\"main->WAIT\\u0003{\\\"tag\\\":1}\":{\"time\":[" POINT("1", "2.5") "," POINT(
                          "\"3/2\"", "3") "]}}}");
    has_rows(&study, "values",
             "p=1,,main->WAIT,time.mean,2.5\np=1,,main->WAIT,time.median,2\np=1,,main->WAIT,time.min,1\n"
             "p=1,,main->WAIT,time.max,inf\np=1,,main->WAIT,time.std,0.5\n"
             "p=1.5,,main->WAIT,time.mean,3\np=1.5,,main->WAIT,time.median,2\np=1.5,,main->WAIT,time.min,1\n"
             "p=1.5,,main->WAIT,time.max,inf\np=1.5,,main->WAIT,time.std,0.5\n",
             "figures without values are metrics of their own, and call paths have no tags");
    has_rows(&study, "statistics",
             "p=1,main->WAIT,time,,2.5,2,1,inf,0.5\np=1.5,main->WAIT,time,,3,2,1,inf,0.5\n",
             "statistics are those of the file");
    struct pf_restriction only = {-1, -1, 1, -1};
    has_rows_only(&study, "scaling", only, "main->WAIT,2,2\n",
                  "scaling restricted to a figure shows that figure");
    is(study.model.version, "4.0.3", "the version is that of Extra-P");
    close_study(&study);
}

/* ---- stored values ------------------------------------------------------------------------------ */

/* Appends a little-endian array of 8-byte numbers in NumPy's format. Returns its offset. */
static size_t put_array(unsigned char *to, size_t *size, const char *dictionary, const void *numbers,
                        size_t count)
{
    size_t start = *size, length = strlen(dictionary);
    memcpy(to + *size, "\x93NUMPY\1\0", 8);
    *size += 8;
    put(to, size, length, 2);
    memcpy(to + *size, dictionary, length);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, (const char *)numbers + i * 8, 8);
        bits = htole64(bits);
        memcpy(to + *size + length + i * 8, &bits, 8);
    }
    *size += length + count * 8;
    return start;
}

#define VALUES(point, index)                                                                                 \
    "{\"coordinate\":[" point "],\"mean\":9,\"median\":9,\"minimum\":9,\"maximum\":9,\"std\":9,"             \
    "\"repetitions\":2,\"values\":[0," index "]}"

static void open_values(struct study *study, const char *indices[3], int deflated)
{
    static const double doubles[] = {1.5, 2.5};
    static const int64_t integers[] = {1, 2, 3, -4};
    unsigned char values[1024] = "Extra-P VALUES", index[128] = "Extra-P INDEX";
    size_t values_size = 16, index_size = 16, offsets[3];
    offsets[0] = put_array(values, &values_size,
                           "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", doubles, 2);
    offsets[1] = put_array(values, &values_size,
                           "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }\n", integers, 4);
    offsets[2] = 1 << 20;
    put(index, &index_size, 3, 8);
    for (int i = 0; i < 3; i++)
        put(index, &index_size, offsets[i], 8);
    char json[2048];
    snprintf(json, sizeof json, "{\"parameters\":[\"p\"],\"measurements\":{\"f\":{\"t\":[%s,%s,%s]}}}",
             indices[0], indices[1], indices[2]);
    archive = (struct archive){.size = 0};
    add_member(&archive, "values/0.vals", values, values_size, deflated, values_size);
    add_member(&archive, "values/0.indx", index, index_size, deflated, index_size);
    add_member(&archive, "experiment.json", json, strlen(json), 1, strlen(json));
    finish_archive(&archive);
    open_study(study, &pf_extrap_saved_driver, archive.bytes, archive.size);
}

static void kept_values(void)
{
    const char *good[] = {VALUES("1", "0"), VALUES("2", "1"), VALUES("3", "0")};
    for (int deflated = 0; deflated < 2; deflated++) {
        struct study study;
        open_values(&study, good, deflated);
        has_rows(&study, "values",
                 "p=1,0,f,t,1.5\np=1,1,f,t,2.5\np=2,0,f,t,1\np=2,1,f,t,2\np=2,2,f,t,3\np=2,3,f,t,-4\n"
                 "p=3,0,f,t,1.5\np=3,1,f,t,2.5\n",
                 deflated ? "stored values are read from compressed members"
                          : "stored values are read from uncompressed members");
        has_rows(&study, "statistics", "p=1,f,t,2,9,9,9,9,9\np=2,f,t,2,9,9,9,9,9\np=3,f,t,2,9,9,9,9,9\n",
                 "statistics of stored values are those of the file");
        close_study(&study);
    }
}

static void bad_values(void)
{
    const char *bad[] = {VALUES("1", "0"), VALUES("2", "2"), VALUES("3", "3")};
    struct study study;
    open_values(&study, bad, 0);
    has_rows(&study, "values", "p=1,0,f,t,1.5\np=1,1,f,t,2.5\n",
             "values at an offset beyond a member are omitted");
    has_warnings(&study, "1 bad-values\n1 bad-values\n", "offsets beyond a member are reported");
    close_study(&study);
}

static void values_told_again(void)
{
    char json[65536] = "{\"parameters\":[\"p\"],\"measurements\":{\"f\":{\"t\":[null";
    size_t size = strlen(json);
    for (int i = 0; i < 400; i++)
        size += (size_t)snprintf(json + size, sizeof json - size,
                                 ",{\"coordinate\":[%d],\"mean\":9,\"values\":[0,0]}", i);
    snprintf(json + size, sizeof json - size, "]}}}");
    for (int deflated = 0; deflated < 2; deflated++) {
        static const double numbers[256] = {1.5};
        unsigned char values[4096] = "Extra-P VALUES", index[128] = "Extra-P INDEX";
        size_t values_size = 16, index_size = 16;
        put(index, &index_size, 1, 8);
        put(index, &index_size, 16, 8);
        put_array(values, &values_size, "{'descr': '<f8', 'shape': (256,), }\n", numbers, 256);
        archive = (struct archive){.size = 0};
        add_member(&archive, "values/0.vals", values, values_size, deflated, values_size);
        add_member(&archive, "values/0.indx", index, index_size, deflated, index_size);
        add_member(&archive, "experiment.json", json, strlen(json), 1, strlen(json));
        finish_archive(&archive);
        struct study study;
        open_study(&study, &pf_extrap_saved_driver, archive.bytes, archive.size);
        char *have = rows_of(&study, table_named(&study, "values"), PF_UNRESTRICTED, false);
        size_t rows = 0;
        for (const char *at = have; (at = strchr(at, '\n')); at++)
            rows++;
        ok(rows >= 256 && rows * 8 <= (deflated ? values_size : archive.size),
           "values that many measurements refer to are read at most as often as the chunk has room for");
        ok(pf_rows_count(study.model.warnings) > 50, "further references to values are reported");
        free(have);
        close_study(&study);
    }
}

/* ---- models ------------------------------------------------------------------------------------- */

#define MODEL(function)           "{\"hypothesis\":{\"RSS\":1.5,\"SMAPE\":\"nan\",\"AR2\":1,\"function\":" function "}}"
#define TERM(coefficient, simple) "{\"coefficient\":" coefficient ",\"simple_terms\":[" simple "]}"
#define SIMPLE(kind, exponent)    "{\"term_type\":\"" kind "\",\"exponent\":" exponent "}"
#define SINGLE(constant, terms)   "{\"constant_coefficient\":" constant ",\"compound_terms\":[" terms "]}"

/* Checks that a function, given as JSON, is printed as `want`. */
static void prints(const char *function, const char *want, const char *name)
{
    char json[4096];
    struct study study;
    snprintf(json, sizeof json,
             "{\"modelers\":[{\"models\":{\"f\":{\"t\":" MODEL(
                 "%s") "}},\"name\":\"M\"}],\"parameters\":[\"x\",\"y\"]}",
             function);
    open_json(&study, json);
    char *have = rows_of(&study, table_named(&study, "models"), PF_UNRESTRICTED, true);
    const char *text = strstr(have, want);
    ok(text && !strcmp(text + strlen(want), "\n") && !strncmp(have, "M,f,t,1.5,,nan,1,,", 18), "%s: %s", name,
       want);
    if (!text)
        printf("# have: %s", have);
    free(have);
    close_study(&study);
}

static void models(void)
{
    prints(SINGLE("5.2", TERM("1.3", SIMPLE("polynomial", "\"3/2\"") "," SIMPLE("logarithm", "2"))),
           "5.2 + 1.3 * x^(3/2) * log2(x)^(2.0)", "a function has a constant and a term");
    prints(SINGLE("0", TERM("1", SIMPLE("polynomial", "\"2\""))), "x^(2.0)",
           "a constant of 0 and a coefficient of 1 are omitted");
    prints(SINGLE("0", ""), "0.0", "a constant of 0 is shown if the function has no terms");
    prints(SINGLE("1e-5", TERM("-0.5", SIMPLE("polynomial", "\"6/4\""))), "1e-05 + -0.5 * x^(3/2)",
           "numbers are printed as Python prints them, and fractions in lowest terms");
    prints(SINGLE("1e16", TERM("12345678901234567", "")), "1e+16 + 1.2345678901234568e+16",
           "large numbers are printed as Python prints them");
    prints(
        "{\"compound_terms\":[{\"parameter_term_pairs\":{\"1\":" TERM(
            "1", SIMPLE("polynomial",
                        "1")) ",\"0\":" TERM("2",
                                             SIMPLE("logarithm",
                                                    "1")) "},\"coefficient\":3}],\"constant_coefficient\":1}",
        "1.0 + 3.0 * y^(1.0) * 2.0 * log2(x)^(1.0)", "a term names each parameter by its number");
    prints(
        "{\"segments\":[" SINGLE("1", "") "," SINGLE("2", "") "],\"intervals\":[[\"-inf\",4],[8,\"inf\"]]}",
        "1.0 for x<=4.0; 2.0 for x>=8.0", "segments have their bounds");
    prints(SINGLE("7", "{\"coefficient\":1,\"parameter_term_pairs\":{}}"), "7.0 + 1.0",
           "a term without parameters is its coefficient");
}

/* PAIRS: a term, the product of 3 and the members of `pairs`, each a function of one parameter. PARTED: a function with two segments. */
#define PAIRS(pairs) "{\"coefficient\":3,\"parameter_term_pairs\":{" pairs "}}"
#define PARTED(first, second)                                                                                \
    "{\"coefficient\":1,\"$variant\":\"SegmentedTerm\",\"segments\":[" first "," second                      \
    "],\"intervals\":[[\"-inf\",4],[8,\"inf\"]]}"

static void segmented_terms(void)
{
    const char *parts = "{1.0 + 2.0 * y^(1.0) + log2(y)^(1.0) for y<=4.0; 5.0 for y>=8.0}";
    char want[256];
    snprintf(want, sizeof want, "9.0 + 3.0 * %s * x^(1.0) + 3.0 * x^(1.0)", parts);
    prints(
        SINGLE("9",
               PAIRS("\"1\":" PARTED(
                   SINGLE("1", TERM("2", SIMPLE("polynomial", "1")) "," TERM("1", SIMPLE("logarithm", "1"))),
                   SINGLE("5", "")) ",\"0\":" TERM("1",
                                                   SIMPLE("polynomial",
                                                          "1"))) "," PAIRS("\"0\":" TERM("1",
                                                                                         SIMPLE("polynomial",
                                                                                                "1")))),
        want, "a factor with segments is in braces, and each segment is a function");
    prints(SINGLE("0", "{\"coefficient\":1,\"parameter_term_pairs\":{\"0\":" PARTED(SINGLE("1", ""),
                                                                                    SINGLE("2", "")) "}}"),
           "{1.0 for x<=4.0; 2.0 for x>=8.0}", "a factor with segments may be the first of a term");
}

static void repeated_models(void)
{
    struct study study;
    open_json(
        &study,
        "{\"parameters\":[\"x\"],\"modelers\":["
        "{\"name\":\"M\",\"models\":{\"f\":{\"t\":" MODEL(SINGLE("1", "")) ",\"u\":" MODEL(SINGLE(
            "2", "")) ",\"t\":" MODEL(SINGLE("3", "")) "}}},"
                                                       "{\"name\":\"N\",\"models\":{\"f\":{\"t\":" MODEL(
                                                           SINGLE("4", "")) "}}}]}");
    char *have = rows_of(&study, table_named(&study, "models"), PF_UNRESTRICTED, false);
    is(have, "M,f,t,1.5,,nan,1,,3.0\nM,f,u,1.5,,nan,1,,2.0\nN,f,t,1.5,,nan,1,,4.0\n",
       "the last of two models of one modeler, call path and metric is used");
    free(have);
    close_study(&study);
}

static void long_function(void)
{
    char json[100000] = "{\"parameters\":[\"";
    size_t size = strlen(json);
    memset(json + size, 'n', 60000);
    size += 60000;
    size += (size_t)snprintf(json + size, sizeof json - size,
                             "\"],\"modelers\":[{\"name\":\"M\",\"models\":{\"f\":{\"t\":{\"hypothesis\":{"
                             "\"function\":{\"constant_coefficient\":1,\"compound_terms\":[");
    for (int i = 0; i < 5; i++)
        size += (size_t)snprintf(json + size, sizeof json - size, "%s" TERM("2", SIMPLE("polynomial", "1")),
                                 i ? "," : "");
    snprintf(json + size, sizeof json - size, "]}}}}}}]}");
    struct study study;
    open_json(&study, json);
    has_warnings(&study, "1 bad-model\n empty\n",
                 "a function that a long name makes longer than its JSON is omitted");
    close_study(&study);
}

static void bad_models(void)
{
    struct study study;
    open_json(
        &study,
        "{\"parameters\":[\"x\"],\"modelers\":[{\"name\":\"M\",\"models\":{\"f\":{\"t\":{},\"u\":" MODEL(
            SINGLE("1", TERM("1", SIMPLE("sine", "1")))) ",\"v\":" MODEL(SINGLE("7", "")) "}}}]}");
    char *have = rows_of(&study, table_named(&study, "models"), PF_UNRESTRICTED, false);
    is(have, "M,f,v,1.5,,nan,1,,7.0\n", "models that cannot be read are omitted");
    free(have);
    has_warnings(&study, "1 bad-model\n1 bad-model\n empty\n", "models that cannot be read are reported");
    close_study(&study);
}

/* ---- malformed archives ------------------------------------------------------------------------- */

#define JSON "{\"parameters\":[\"p\"],\"measurements\":{\"f\":{\"t\":[" POINT("1", "2.5") "]}}}"

static void lying_sizes(void)
{
    struct study study;
    archive = (struct archive){.size = 0};
    add_member(&archive, "experiment.json", JSON, strlen(JSON), 1, strlen(JSON) - 30);
    finish_archive(&archive);
    open_study(&study, &pf_extrap_saved_driver, archive.bytes, archive.size);
    has_warnings(&study, "1 damaged\n damaged\n empty\n",
                 "a member longer than its declared size is not read further");
    close_study(&study);
    archive = (struct archive){.size = 0};
    add_member(&archive, "experiment.json", JSON, strlen(JSON), 1, strlen(JSON) + 30);
    finish_archive(&archive);
    open_study(&study, &pf_extrap_saved_driver, archive.bytes, archive.size);
    has_warnings(&study, " damaged\n", "a member shorter than its declared size is reported");
    close_study(&study);
}

static void no_object(void)
{
    struct study study;
    open_json(&study, " \"parameters\":[\"p\"],\"measurements\":{}}");
    has_warnings(&study, "1 damaged\n empty\n", "text that is not an object is damaged");
    close_study(&study);
}

static void bomb(void)
{
    size_t size = (size_t)128 << 20;
    char *blanks = malloc(size);
    memset(blanks, ' ', size);
    memcpy(blanks, "{\"parameters\":[\"p\"],", 20);
    archive = (struct archive){.size = 0};
    add_member(&archive, "experiment.json", blanks, size, 1, size);
    free(blanks);
    finish_archive(&archive);
    struct study study;
    open_study(&study, &pf_extrap_saved_driver, archive.bytes, archive.size);
    ok(!study.result && pf_rows_count(study.model.warnings) > 0,
       "a member that expands too far is not read further");
    close_study(&study);
}

/* Four members with two numbers and then zeros, 40 MB each. All four together exceed what the driver unpacks of an archive of this size. */
static void bomb_of_values(void)
{
    enum { CHUNKS = 4, SIZE = 40 << 20 };
    static const double numbers[] = {1.5, 2.5};
    unsigned char *values = calloc(1, SIZE), index[128] = "Extra-P INDEX";
    size_t size = 16, index_size = 16;
    memcpy(values, "Extra-P VALUES", 14);
    put_array(values, &size, "{'descr': '<f8', 'shape': (2,), }\n", numbers, 2);
    put(index, &index_size, 1, 8);
    put(index, &index_size, 16, 8);
    char json[1024] = "{\"parameters\":[\"p\"],\"measurements\":{\"f\":{\"t\":[null", name[32];
    archive = (struct archive){.size = 0};
    for (int i = 0; i < CHUNKS; i++) {
        snprintf(json + strlen(json), sizeof json - strlen(json),
                 ",{\"coordinate\":[%d],\"mean\":9,\"values\":[%d,0]}", i, i);
        snprintf(name, sizeof name, "values/%d.vals", i);
        add_member(&archive, name, values, SIZE, 1, SIZE);
        snprintf(name, sizeof name, "values/%d.indx", i);
        add_member(&archive, name, index, index_size, 0, index_size);
    }
    free(values);
    strcat(json, "]}}}");
    add_member(&archive, "experiment.json", json, strlen(json), 1, strlen(json));
    finish_archive(&archive);
    struct study study;
    open_study(&study, &pf_extrap_saved_driver, archive.bytes, archive.size);
    has_rows(&study, "values",
             "p=0,0,f,t,1.5\np=0,1,f,t,2.5\np=1,0,f,t,1.5\np=1,1,f,t,2.5\np=2,0,f,t,1.5\np=2,1,f,t,2.5\n",
             "members that expand too far together are not read further");
    has_warnings(&study, "1 bad-member\n1 bad-values\n", "members that expand too far together are reported");
    close_study(&study);
}

static void cut_archive(void)
{
    struct study study;
    char json[8192];
    size_t size =
        (size_t)snprintf(json, sizeof json, "{\"parameters\":[\"p\"],\"measurements\":{\"f\":{\"t\":[");
    for (int i = 0; i < 60; i++)
        size += (size_t)snprintf(json + size, sizeof json - size, "{\"coordinate\":[%d],\"mean\":%d},", i,
                                 i * 7919 % 1000);
    archive = (struct archive){.size = 0};
    add_member(&archive, "experiment.json", json, size, 1, size);
    open_study(&study, &pf_extrap_saved_driver, archive.bytes, archive.size / 2);
    ok(!study.result && pf_rows_count(study.model.partitions.items) > 5,
       "a truncated archive is read up to its end");
    close_study(&study);
    ok(confidence(&pf_extrap_saved_driver, archive.bytes, archive.size / 2) > 0,
       "a truncated archive is recognised");
}

static void other_archives(void)
{
    archive = (struct archive){.size = 0};
    add_member(&archive, "word/document.xml", "<x/>", 4, 0, 4);
    finish_archive(&archive);
    ok(!confidence(&pf_extrap_saved_driver, archive.bytes, archive.size), "other archives are rejected");
}

int main(void)
{
    figures_only();
    kept_values();
    bad_values();
    values_told_again();
    models();
    segmented_terms();
    bad_models();
    repeated_models();
    long_function();
    lying_sizes();
    no_object();
    bomb();
    bomb_of_values();
    cut_archive();
    other_archives();
    return done();
}
