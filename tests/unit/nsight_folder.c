/* SPDX-License-Identifier: MIT */
/* Tests experiments: a folder with subfolders of exports, one per measurement point, is read as one profile. */
#include "formats/model.h"
#include "formats/probe.h"
#include "tests/profile.h"
#include "tests/unit/nsight_export.h"

extern const struct pf_driver pf_nsight_folder_driver;

/* An export in which main takes this number of ns and launches a kernel of the same duration. */
#define RUN(ns)                                                                                              \
    TABLES NVTX_TABLE NAMES DOMAIN_ROW RANGE(100, 100 + ns, "main") CALL(101, 102, 1, 1)                     \
        KERNEL(110, 110 + ns, 7, 1, 3)

static void write_point(const char *dir, const char *file, const char *sql)
{
    char path[256];
    snprintf(path, sizeof path, "study/%s", dir);
    mkdir(path_in(export_folder, path), 0755);
    snprintf(path, sizeof path, "study/%s/%s", dir, file);
    write_export(path, sql);
}

static struct open_export *open_study(void)
{
    struct open_export *study = calloc(1, sizeof *study);
    int folder = open(export_folder, O_RDONLY | O_DIRECTORY);
    if (!study || folder < 0)
        abort();
    study->options.cache = 1 << 20;
    study->failed = profile_open(&study->model, &pf_nsight_folder_driver, folder, "study", &study->options,
                                 &study->error) ||
                    pf_model_load(&study->model, PF_DERIVED, &study->error);
    close(folder);
    return study;
}

static void close_study(struct open_export *study)
{
    profile_close(&study->model);
    free(study);
}

static bool is_probed(void)
{
    struct pf_probe probe = {.directory = true};
    struct pf_probe_result result = {0};
    probe.fd = open(path_in(export_folder, "study"), O_RDONLY | O_DIRECTORY);
    pf_nsight_folder_driver.probe(&probe, &result);
    close(probe.fd);
    return result.confidence > 0;
}

/* Returns the rows of the table `values` of one metric as text. */
static const char *measured(struct open_export *study, const char *metric)
{
    const struct pf_model *model = &study->model;
    struct pf_restriction only = PF_UNRESTRICTED;
    for (size_t i = 0; i < model->n_metrics; i++)
        if (!strcmp(model->metrics[i].name, metric))
            only.metric = (int64_t)i;
    return rows_only(study, "values", only);
}

static void test_study(void)
{
    write_point("run.n20.r1", "rank0.sqlite", RUN(2000));
    ok(!is_probed(), "a folder with one point is rejected");
    write_point("run.n3.r1", "rank0.sqlite", RUN(300));
    write_point("run.n3.r1", "rank1.sqlite", RUN(310));
    write_point("run.n3.r2", "rank0.sqlite", RUN(320));
    write_point("notes", "copy.sqlite", RUN(5));
    make_folder(path_in(export_folder, "study"), "run.n4.r1");
    ok(is_probed(), "a folder with two points is recognised");
    struct open_export *study = open_study();
    if (!ok(!study->failed, "a folder with two points opens"))
        printf("# %s\n", study->error.what);
    is(measured(study, "time (inc)"),
       "n=3,,0,main,time (inc),300\n"
       "n=3,,1,main,time (inc),310\n"
       "n=3,,2,main,time (inc),320\n"
       "n=20,,0,main,time (inc),2000\n"
       "n=3,,0,main/cudaLaunchKernel,time (inc),1\n"
       "n=3,,1,main/cudaLaunchKernel,time (inc),1\n"
       "n=3,,2,main/cudaLaunchKernel,time (inc),1\n"
       "n=20,,0,main/cudaLaunchKernel,time (inc),1\n",
       "exports of one point are repetitions, whatever folder they are in");
    is(codes(study), "bad-point", "a folder that is not a point is reported");
    ok(!pf_source_check(study->model.source, &study->error), "an unchanged experiment has not changed");
    write_point("run.n20.r1", "rank1.sqlite", RUN(7));
    ok(pf_source_check(study->model.source, &study->error) && study->error.code == ESTALE,
       "an export that appears in a point's folder is a change");
    close_study(study);
}

static void test_damaged(void)
{
    write_text(path_in(export_folder, "study/run.n20.r1"), "rank2.sqlite", "no database");
    struct open_export *study = open_study();
    ok(!study->failed, "an experiment with an export that cannot be read opens");
    ok(strstr(codes(study), "bad-member") != NULL, "an export that cannot be read is reported");
    ok(strstr(measured(study, "gpu time"), "n=20,,1,main/cudaLaunchKernel/stencil,gpu time,7\n") != NULL,
       "the other exports of an experiment are read");
    close_study(study);
}

int main(void)
{
    temp_dir_make(export_folder);
    make_folder(export_folder, "study");
    test_study();
    test_damaged();
    temp_dir_remove(export_folder);
    return done();
}
