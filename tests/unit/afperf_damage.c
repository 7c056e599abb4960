/* SPDX-License-Identifier: MIT */
/*
 * The readable part of a damaged AFPerf file is a valid profile. If PROFILEFS_SHARED names a folder, its corpus/afperf is tested too. With
 * PROFILEFS_STRIDE=N, files are truncated and overwritten at every N-th byte, otherwise at about 20 to 150 offsets.
 */
#include <dirent.h>
#include <errno.h>
#include <zlib.h>

#include "formats/driver_extra.h"
#include "tests/unit/afperf_profile.h"
#include "tests/unit/tap.h"

/* Returns the first broken invariant of the profile that is read from an AFPerf text, or NULL. */
static const char *trouble_with(struct afperf_profile *p, const char *text, size_t size, unsigned hop)
{
    unlinkat(p->directory, "run.afperf", 0);
    write_profile(p->directory, text, size);
    load_profile(p);
    const char *trouble = p->result ? "not opened" : unsound(&p->model, hop);
    unload_profile(p);
    return trouble;
}

static bool begins_well(const char *text, size_t size)
{
    return size >= 16 && !memcmp(text, HEADER, 16) &&
           (size == 16 || text[16] == '\n' || (text[16] == '\r' && (size == 17 || text[17] == '\n')));
}

static size_t stride(size_t otherwise)
{
    const char *set = getenv("PROFILEFS_STRIDE");
    return set && atoi(set) > 0 ? (size_t)atoi(set) : otherwise;
}

static void test_cuts(const char *name, const char *text, size_t size, size_t step)
{
    struct afperf_profile p;
    const char *trouble = NULL;
    size_t cut = 16;
    make_folder(&p);
    for (; cut < size && !trouble; cut += step)
        if (begins_well(text, cut))
            trouble = trouble_with(&p, text, cut, 1 + (unsigned)cut % 5);
    ok(!trouble, "%s: a file truncated at any byte is a valid profile", name);
    if (trouble)
        printf("# cut at %zu: %s\n", cut - step, trouble);
    remove_folder(&p);
}

/* Overwrites bytes at many offsets with characters that the format's syntax uses. */
static void test_changes(const char *name, char *text, size_t size, size_t step)
{
    static const char bytes[] = "\n,\"0x#\xff\0;-9";
    struct afperf_profile p;
    const char *trouble = NULL;
    size_t at = 17;
    make_folder(&p);
    for (size_t i = 0; at < size && !trouble; at += step, i++) {
        char before = text[at];
        text[at] = bytes[i % (sizeof bytes - 1)];
        trouble = begins_well(text, size) ? trouble_with(&p, text, size, 3) : NULL;
        text[at] = before;
    }
    ok(!trouble, "%s: a file with any byte changed is a valid profile", name);
    if (trouble)
        printf("# changed at %zu: %s\n", at - step, trouble);
    remove_folder(&p);
}

/* All record types but SectionAggregate, with and without ids, with repeated version headers. */
static char *mixed_text(size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    fputs(HEADER "RegionPoint,30,7,9,1\nRunInfo,0,ns,1,1.0.0,1,one,1,a=b\nRunInfo,5,us,2,2,two,1,\n"
                 "MeasurementType,0,1,9,\"T,\"\"x\"\"\",int64,ns,,\nSectionInfo,,1,51,sec,s=1\n",
          out);
    for (unsigned i = 1; i <= 8; i++) {
        unsigned t = 10 * i;
        fprintf(out, "RegionStart,%u,1,%u,\"r\n%u\",n=%u\nSectionStart,%u,51,%u\n", t, i, i % 3, i, t + 1, i);
        fprintf(out, "RegionStart,%u,,,in,\nRegionPoint,%u,,9,%u\nRegionStop,%u,\n", t + 2, t + 2, i, t + 3);
        fprintf(out, "PauseResume,%u,%u,1\nSectionPoint,%u,51,%u,9,%u,8,1.5\nSectionStop,%u,51,%u\n", t + 5,
                t + 4, t + 5, i, i, t + 6, i);
        if (i % 4 == 0)
            fputs(HEADER, out);
        fprintf(out, "RegionStop,%u,%u\nRegionAggregate,%u,%u,%u,,9,2\nRunAggregate,%u,0,,sum,9,%u\n", t + 7,
                i, t + 7, t, i, t, i);
    }
    fputs("5,200,1,99,open,\n13,1,51,\n14,2,51,\nRunPoint,1,3,9,1\n", out);
    fclose(out);
    return text;
}

static void test_text(const char *name, char *text, size_t size)
{
    test_cuts(name, text, size, stride(1 + size / 150));
    test_changes(name, text, size, stride(1 + size / 100));
}

/* ---- compressed files --------------------------------------------------------------------------- */

/* Returns the text compressed by gzip; the caller frees it. */
static char *gzipped(const char *text, size_t size, size_t *packed_size)
{
    z_stream z = {0};
    size_t room = size + 1024;
    char *packed = malloc(room);
    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        exit(1);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (unsigned)size;
    z.next_out = (unsigned char *)packed;
    z.avail_out = (unsigned)room;
    deflate(&z, Z_FINISH);
    *packed_size = room - z.avail_out;
    deflateEnd(&z);
    return packed;
}

static void test_compressed(const char *text, size_t size)
{
    static const char *const tables[] = {"values", "measurements", "regions", "intervals", "trace", "tags"};
    struct afperf_profile plain, packed;
    size_t packed_size;
    char *bytes = gzipped(text, size, &packed_size);
    set_up(&plain, text, size);
    set_up(&packed, bytes, packed_size);
    ok(!packed.result && !unsound(&packed.model, 3), "a gzip file is a valid profile");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char *want = dump(&plain.model, tables[i], PF_UNRESTRICTED, NULL, 0);
        char *have = dump(&packed.model, tables[i], PF_UNRESTRICTED, NULL, 2);
        ok(*want && !strcmp(have, want), "the table %s of a gzip file is the same as the uncompressed file's",
           tables[i]);
        free(want);
        free(have);
    }
    char *original = malloc(size + 1);
    ssize_t got = pf_afperf_driver.extra->blob_read(&packed.model, 0, original, size + 1, 0, &packed.error);
    ok(pf_extra_of(&packed.model)->n_blobs == 1 && got == (ssize_t)size && !memcmp(original, text, size),
       "a gzip file carries its uncompressed text");
    ok(!pf_extra_of(&plain.model)->n_blobs, "an uncompressed file carries no text");
    tear_down(&packed);
    set_up(&packed, bytes, packed_size / 2);
    char *warnings = dump_warnings(&packed.model);
    ok(!packed.result && strstr(warnings, "fatal damaged-compression") && packed.model.contexts->count &&
           !unsound(&packed.model, 3),
       "a truncated gzip file is read up to its end, with a warning");
    free(warnings);
    free(original);
    free(bytes);
    tear_down(&packed);
    tear_down(&plain);
}

/* ---- a file that changes ------------------------------------------------------------------------ */

/* Overwrites the file between opening and loading, so that the records have no header in front of them. */
static void test_lost_header(void)
{
    static const char before[] = HEADER "RegionStart,1,,7,a,\nRegionStop,2,7\n";
    static const char after[] = "RegionStart,1,,7,a,\nRegionStop,2,7\nRegionPoint,2,7,9,1\n";
    struct afperf_profile p;
    make_folder(&p);
    write_profile(p.directory, before, sizeof before - 1);
    p.options = (struct pf_options){.cache = 1 << 20};
    p.result = profile_open(&p.model, &pf_afperf_driver, p.directory, "run.afperf", &p.options, &p.error);
    ok(!p.result, "a file with a header opens");
    write_profile(p.directory, after, sizeof after - 1);
    ok(pf_model_load(&p.model, PF_DERIVED, &p.error) == -1 && p.error.code == ESTALE,
       "loading fails with ESTALE if the header was overwritten after the file was opened");
    tear_down(&p);
}

/* ---- a corpus, if there is one ------------------------------------------------------------------ */

static char *read_file(const char *path, size_t *size)
{
    FILE *in = fopen(path, "rb");
    char *text = malloc(1 << 20);
    *size = in ? fread(text, 1, 1 << 20, in) : 0;
    if (in)
        fclose(in);
    return text;
}

static void test_case(const char *corpus, const char *name)
{
    char path[2048];
    size_t size;
    snprintf(path, sizeof path, "%.500s/%.255s/%.255s.afperf", corpus, name, name);
    char *text = read_file(path, &size);
    if (begins_well(text, size))
        test_cuts(name, text, size, stride(1 + size / 20));
    free(text);
}

static void test_corpus(void)
{
    const char *shared = getenv("PROFILEFS_SHARED");
    char corpus[512];
    snprintf(corpus, sizeof corpus, "%s/corpus/afperf", shared ? shared : "");
    DIR *directory = shared ? opendir(corpus) : NULL;
    if (!directory) {
        ok(true, "files of the corpus are valid # SKIP PROFILEFS_SHARED names none");
        return;
    }
    for (const struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.' && !strchr(entry->d_name, '.'))
            test_case(corpus, entry->d_name);
    closedir(directory);
}

int main(void)
{
    size_t size;
    char *text = mixed_text(&size);
    test_text("a file with all kinds of records", text, size);
    test_compressed(text, size);
    free(text);
    test_lost_header();
    test_corpus();
    return done();
}
