/* SPDX-License-Identifier: MIT */
/*
 * A cancelled load has no effect. For every sample profile and stage, the load is cancelled at its k-th check for k = 1, 2, 4, 8, ... and
 * repeated. The profile must then equal one that was loaded without cancelling.
 */
#include "formats/driver_extra.h"
#include "formats/kit/pass.h"
#include "tests/profile.h"
#include "tests/sound.h"
#include "tests/unit/each_profile.h"
#include "tests/unit/tap.h"

/* ---- a replacement of kit/pass.c that counts checks ----------------------------------------------------- */

static struct pf_pass *now;
static uint64_t checks, cancelled_at; /* cancelled_at == 0: never */

struct pf_pass *pf_pass_begin(struct pf_pass *pass)
{
    struct pf_pass *before = now;
    now = pass;
    return before;
}

void pf_pass_end(struct pf_pass *before)
{
    now = before;
}

struct pf_pass *pf_pass_now(void)
{
    return now;
}

int pf_pass_check(struct pf_error *error)
{
    if (now && ++checks == cancelled_at)
        atomic_store(&now->stop, true);
    return now && atomic_load(&now->stop) ? pf_fail(error, ECANCELED, "cancelled by the test") : 0;
}

int pf_pass_step(uint64_t done, uint64_t total, struct pf_error *error)
{
    (void)done, (void)total;
    return pf_pass_check(error);
}

/* ---- hashes of a profile's content -------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    const struct pf_cell cell = pf_string(text ? text : "");
    return sound_cell(hash, &cell);
}

static uint64_t hash_rows(uint64_t hash, const struct pf_rows *rows, size_t columns)
{
    hash = sound_mix(hash, rows ? pf_rows_count(rows) : UINT64_MAX);
    for (size_t i = 0; rows && i < pf_rows_count(rows); i++)
        for (size_t c = 0; c < columns; c++)
            hash = sound_cell(hash, &pf_rows_at(rows, i)[c]);
    return hash;
}

/* Hashes the rows of a table. A walk that fails is repeated up to two times. */
static uint64_t hash_table(uint64_t before, struct pf_model *model, const struct pf_table *table)
{
    static struct pf_cell cells[SOUND_COLUMNS];
    struct pf_error error = {0};
    uint64_t hash = before;
    int got = -1;
    if (!table->ops)
        return hash_rows(hash, pf_table_rows(table), table->n_columns);
    for (int trial = 0; got < 0 && trial < 3; trial++) {
        struct pf_cursor cursor = {.model = model, .table = table, .only = PF_UNRESTRICTED};
        got = table->ops->open(&cursor, &error);
        for (hash = before; !got && (got = table->ops->next(&cursor, cells, &error)) > 0; got = 0)
            for (size_t c = 0; c < table->n_columns; c++)
                if (!sound_is_filled_by_core(&table->columns[c]))
                    hash = sound_cell(hash, &cells[c]);
        table->ops->close(&cursor);
    }
    return got ? hash_text(before, error.what) : hash;
}

static uint64_t hash_profile(struct pf_model *model)
{
    uint64_t hash = hash_rows(1, model->info, 2);
    hash = hash_rows(hash, model->partitions.items, 2);
    hash = hash_rows(hash, model->partitions.fields, model->partitions.n_fields);
    hash = hash_rows(hash, pf_extra_of(model)->keys.items, 2);
    hash = sound_mix(hash, model->contexts ? model->contexts->count : UINT64_MAX);
    for (uint32_t i = 0; model->contexts && i < model->contexts->count; i++) {
        const struct pf_cell name = pf_interned(model->contexts->strings, model->contexts->name[i]);
        hash = sound_mix(sound_cell(hash, &name), model->contexts->parent[i]);
    }
    for (size_t i = 0; i < model->n_metrics; i++)
        hash = hash_text(hash_text(hash, model->metrics[i].name), model->metrics[i].unit);
    for (size_t i = 0; i < model->n_tables; i++)
        hash = hash_table(hash, model, &model->tables[i]);
    return hash_rows(hash, model->warnings, 5); /* last, because walks over tables may add warnings */
}

/* ---- cancelling --------------------------------------------------------------------------------- */

struct sample {
    const struct pf_driver *driver;
    int folder;
    const char *name;
    const char *wrong; /* the first fault, or NULL */
    uint64_t k;        /* the cancelled check after which `wrong` was found */
    int stage;
};

/* Opening counts as the load of stage PF_OPENED. It is cancelled too, and repeated with a new profile. */
static int open_sample(struct sample *sample, struct pf_model *model, struct pf_error *error)
{
    static const struct pf_options options = {.cache = 1 << 20};
    return profile_open(model, sample->driver, sample->folder, sample->name, &options, error);
}

/* Loads the stage, cancelled at its k-th check (0: never). True if the stage ended before that check. */
static bool load_cancelled(struct sample *sample, struct pf_model *model, int stage, uint64_t k)
{
    struct pf_pass pass = {0};
    struct pf_error error = {0};
    struct pf_pass *before = pf_pass_begin(&pass);
    checks = 0;
    cancelled_at = k;
    int result = stage == PF_OPENED ? open_sample(sample, model, &error)
                                    : sample->driver->load(model, (enum pf_stage)stage, &error);
    pf_pass_end(before);
    bool reached = k && checks >= k;
    if (reached && !result)
        sample->wrong = "was not cancelled";
    else if (reached && error.code != ECANCELED)
        sample->wrong = "failed with an error other than the cancellation";
    else if (!reached && result)
        sample->wrong = "failed";
    return !reached;
}

/* Hashes the profile after its stage was cancelled at the k-th check and repeated. False if the stage has fewer checks. */
static bool look(struct sample *sample, int stage, uint64_t k, uint64_t *hash)
{
    struct pf_model model;
    struct pf_error error = {0};
    bool whole = true;
    if (stage == PF_OPENED && !(whole = load_cancelled(sample, &model, stage, k)))
        profile_close(&model);
    if (stage != PF_OPENED || !whole)
        if (open_sample(sample, &model, &error))
            sample->wrong = "cannot be opened";
    for (int at = PF_PARTITIONED; at <= PF_DERIVED && !sample->wrong; at++) {
        if (at == stage && (whole = load_cancelled(sample, &model, at, k)))
            continue;
        if (!sample->wrong && sample->driver->load(&model, (enum pf_stage)at, &error))
            sample->wrong = "cannot be loaded after it was cancelled";
    }
    if (!sample->wrong && (!k || !whole))
        *hash = hash_profile(&model);
    profile_close(&model);
    return !whole;
}

static void check_profile(const struct pf_driver *driver, int folder, const char *name, const char *path)
{
    struct sample sample = {.driver = driver, .folder = folder, .name = name};
    uint64_t undisturbed = 0;
    look(&sample, PF_DERIVED, 0, &undisturbed);
    for (int stage = PF_OPENED; stage <= PF_DERIVED && !sample.wrong; stage++) {
        uint64_t hash = 0;
        for (uint64_t k = 1; !sample.wrong && look(&sample, stage, k, &hash); k *= 2) {
            if (!sample.wrong && hash != undisturbed)
                sample.wrong = "differs after it was cancelled";
            sample.k = k;
            sample.stage = stage;
        }
    }
    if (!ok(!sample.wrong, "%s is unchanged by cancelled loads", path))
        printf("#   %s: stage %d, last check %llu\n", sample.wrong, sample.stage,
               (unsigned long long)sample.k);
}

int main(void)
{
    each_profile("tests/samples/archive", check_profile);
    return done();
}
