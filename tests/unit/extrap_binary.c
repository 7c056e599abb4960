/* SPDX-License-Identifier: MIT */
/* Tests the format of Extra-P 3.0, a binary stream of records in either byte order. */
#include "tests/unit/extrap_study.h"

extern const struct pf_driver pf_extrap_binary_driver;

/* A file that is being written. */
struct file {
    unsigned char bytes[8192];
    size_t size;
    bool big;
};

static void put(struct file *file, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        file->bytes[file->size++] = (unsigned char)(value >> 8 * (file->big ? bytes - 1 - i : i));
}

static void put_string(struct file *file, const char *text)
{
    put(file, strlen(text), 4);
    memcpy(file->bytes + file->size, text, strlen(text));
    file->size += strlen(text);
}

static void put_int(struct file *file, int64_t value)
{
    put(file, (uint64_t)value, 8);
}

static void put_real(struct file *file, double value)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    put(file, word, 8);
}

/* Writes the file up to and including the call paths main and main->f and the points x=1 and x=2. */
static void put_start(struct file *file, bool big)
{
    *file = (struct file){.big = big};
    put(file, 1, 2);
    put_string(file, "EXTRAP_EXPERIMENT");
    put_string(file, "1.0");
    put_string(file, "Parameter");
    put_int(file, 0);
    put_string(file, "x");
    put_string(file, "Metric");
    put_int(file, 0);
    put_string(file, "time");
    put_string(file, "s");
    for (int i = 0; i < 2; i++) {
        put_string(file, "Region");
        put_int(file, i);
        put_string(file, "main"); /* the second one becomes "main #1" */
        put_string(file, i ? "" : "main.c");
        put_int(file, 7 - 7 * i);
        put_string(file, "Callpath");
        put_int(file, i);
        put_int(file, i);
        put_int(file, i - 1);
        put_string(file, "Coordinate");
        put_int(file, i);
        put_int(file, 1);
        put_string(file, "x");
        put_real(file, i + 1);
    }
}

static void put_measurement(struct file *file, int point, int callpath, double mean)
{
    put_string(file, "ExperimentPoint");
    put_int(file, point);
    put_int(file, 3);
    put_real(file, mean);
    put_real(file, 0);
    put_real(file, 0);
    put_real(file, 0.5); /* deviation */
    put_real(file, mean + 1);
    put_real(file, 0);
    put_real(file, 0);
    put_real(file, 1);
    put_real(file, 9);
    put_int(file, 0);
    put_int(file, callpath);
}

static void put_generator(struct file *file, bool options)
{
    put_string(file, "MultiParameterSimpleModelGenerator");
    put_string(file, "Default Model");
    put_string(file, "GENERATE_MODEL_MEAN");
    if (!options)
        return;
    put_int(file, 1);
    put_string(file, "CHEAPEST_POINTS");
    put_int(file, 1);
    put_int(file, 1);
    put_string(file, "INCREASING_COST");
}

static void put_function(struct file *file)
{
    put_string(file, "SingleParameterFunction");
    put_real(file, 5.25);
    put_int(file, 1);
    put_string(file, "CompoundTerm");
    put_real(file, 1);
    put_int(file, 2);
    put_string(file, "SimpleTerm");
    put_string(file, "polynomial");
    put_real(file, 1.5);
    put_string(file, "SimpleTerm");
    put_string(file, "logarithm");
    put_real(file, 2);
}

static void put_model(struct file *file, bool options)
{
    put_string(file, "Model");
    put_int(file, 0);
    put_int(file, 1);
    put_int(file, 0);
    put_function(file);
    for (int i = 0; i < 6; i++)
        put_string(file, "Function");
    for (int i = 0; i < 3 + options; i++)
        put_real(file, i + 0.5);
    put_int(file, 0);
    put_int(file, 1);
    put_string(file, "x");
    put_int(file, 1);
    put_real(file, 0);
    put_real(file, 9);
}

static void all_of_it(bool big, bool options)
{
    struct file file;
    struct study study;
    put_start(&file, big);
    put_measurement(&file, 0, 1, 2.5);
    put_measurement(&file, 1, 1, 3.5);
    put_generator(&file, options);
    put_model(&file, options);
    open_study(&study, &pf_extrap_binary_driver, file.bytes, file.size);
    has_rows(&study, "statistics",
             "x=1,main->main #1,time,3,2.5,3.5,1,9,0.5\nx=2,main->main #1,time,3,3.5,4.5,1,9,0.5\n",
             big ? "a big-endian file has its statistics" : "a little-endian file has its statistics");
    has_rows(&study, "models",
             options ? "Default Model,main->main #1,time,0.5,,2.5,1.5,3.5,5.25 + x^(1.5) * log2(x)^(2.0)\n"
                     : "Default Model,main->main #1,time,0.5,,2.5,1.5,,5.25 + x^(1.5) * log2(x)^(2.0)\n",
             options ? "models have RE if the generator has options"
                     : "models have no RE if the generator has no options");
    has_warnings(&study, "", "a valid file has no warnings");
    is(study.model.metrics[0].unit, "s", "a metric has its unit");
    ok(study.model.contexts->line[0] == 7 && study.model.contexts->file[0] != PF_NO_STRING &&
           study.model.contexts->file[1] == PF_NO_STRING,
       "a call path has the file and line of its region");
    close_study(&study);
    ok(confidence(&pf_extrap_binary_driver, file.bytes, file.size) >= 32, "a binary file is recognised");
}

/* If the file is truncated at any byte, the records before it are kept, and a warning reports the truncation. */
static void cut_anywhere(void)
{
    struct file file;
    put_start(&file, false);
    put_measurement(&file, 0, 1, 2.5);
    size_t kept = file.size;
    put_measurement(&file, 1, 1, 3.5);
    put_generator(&file, true);
    put_model(&file, true);
    bool well = true;
    for (size_t size = 30; size < file.size; size++) {
        struct study study;
        open_study(&study, &pf_extrap_binary_driver, file.bytes, size);
        well &= !study.result;
        if (!study.result && size >= kept) {
            char *rows = rows_of(&study, study.model.values, PF_UNRESTRICTED, false);
            well &= !strncmp(rows, "x=1,,main->main #1,time.mean,2.5\n", 33);
            free(rows);
        }
        close_study(&study);
    }
    ok(well, "a file truncated anywhere has the records before the cut");
}

static void bad_references(void)
{
    struct file file;
    struct study study;
    put_start(&file, false);
    put_measurement(&file, 5, 1, 1);
    put_measurement(&file, 0, 1, 2.5);
    put_string(&file, "Nonsense");
    open_study(&study, &pf_extrap_binary_driver, file.bytes, file.size);
    has_rows(&study, "statistics", "x=1,main->main #1,time,3,2.5,3.5,1,9,0.5\n",
             "a measurement of an unknown point is omitted, and an unknown record ends the file");
    has_warnings(&study, " bad-reference\n damaged\n incomplete-series\n",
                 "an unknown point and an unknown record are reported");
    close_study(&study);
}

int main(void)
{
    all_of_it(false, false);
    all_of_it(true, true);
    cut_anywhere();
    bad_references();
    return done();
}
