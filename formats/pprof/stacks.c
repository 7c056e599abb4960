/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof.h"

#include <stdlib.h>

#include "formats/kit/print.h"

enum {
    /*
     * Limit of frames and label records per byte of the file read so far. Inlined lines, and labels of samples with
     * many values, can produce many of them from few bytes; real files stay below the limit.
     */
    MADE_PER_BYTE = 16,
    MADE_FREE = 1000 * 1000, /* always allowed, so that small files are not limited */
};

/* Keys of labels that identify threads, in order of preference. */
enum { ID_KEYS = 3, NAME_KEYS = 4, KEYS = ID_KEYS + NAME_KEYS };
static const char *const keys[KEYS] = {"thread id",   "thread_id", "tid",        "thread name",
                                       "thread_name", "thread",    "thread_comm"};

/* A label with a text or a number. Strings are interned; PF_NO_STRING: none. */
struct label {
    uint32_t key, text, unit;
    int64_t number;
};

/*
 * Words of a sorter record. There is a record per label, metric and sample. It has the keys that values are summed by
 * (thread and label key; unit and text; number; metric), a running number (RUN) that keeps the order of the file, and
 * the value.
 */
enum { THREAD_KEY, UNIT_TEXT, NUMBER, METRIC, RUN, SUM, WORDS, SORTED = SUM };

struct pprof_stacks {
    struct pprof *pprof;
    struct pf_build *build;
    uint32_t keys[KEYS]; /* interned */
    uint32_t no_stack;   /* frame of samples without locations */
    struct pf_line_sums *lines;
    /* The current sample. */
    struct pprof_numbers locations, values;
    PF_LIST(struct label) labels;
    uint64_t offset;
    struct pf_source_line leaf; /* source line of the sample's innermost frame */
    struct pf_cell id, name;    /* of the sample's thread */
    char id_text[PF_NUMBER_MAX], name_text[PF_NUMBER_MAX];
    uint64_t thread[4];        /* the thread's identity: text and number of its id, then of its name */
    struct pf_strings *keyed;  /* interned identities, so that samples do not compare long names */
    PF_LIST(uint32_t) threads; /* identity -> partition */
    PF_LIST(char) text;        /* buffer for composing a name */
    uint64_t made;             /* number of frames and label records made by all samples so far */
    bool too_many;
    /*
     * Some writers give each sample a label with its time, so there may be as many labels as samples; the sorter spills
     * to disk.
     */
    struct pf_sorter *sorter;
    uint64_t labelled; /* number of records in the sorter */
};

struct pprof_stacks *pprof_stacks_new(struct pprof *pprof)
{
    struct pf_build *build = pprof->build;
    struct pprof_stacks *stacks = PF_OWN(build->run, calloc(1, sizeof *stacks), free);
    stacks->pprof = pprof;
    stacks->build = build;
    stacks->lines = pf_line_sums_new(build);
    stacks->sorter =
        PF_OWN(build->run, pf_sorter_new(WORDS, SORTED, build->model->options->cache / 8), pf_sorter_free);
    for (size_t i = 0; i < KEYS; i++)
        stacks->keys[i] = pf_build_name(build, keys[i], strlen(keys[i]));
    stacks->keyed = PF_OWN(build->run, pf_strings_new(), pf_strings_free);
    stacks->no_stack = pf_build_named_frame(build, "(no stack)", strlen("(no stack)"));
    return stacks;
}

/* ---- labels ------------------------------------------------------------------------------------- */

/* Returns the text of a label, or its number formatted into `digits`. */
static struct pf_cell pprof_value_of(const struct pf_model *model, const struct label *label, char *digits)
{
    if (label->text != PF_NO_STRING)
        return pf_interned(model->contexts->strings, label->text);
    return pf_plain(digits, (size_t)(pf_print_int(digits, label->number) - digits));
}

/* Records a label that holds the thread's id or name. The most preferred key of each wins; among labels with one key, the first one. */
static void pprof_keep_identity(struct pprof_stacks *stacks, const struct label *label, unsigned best[2])
{
    for (unsigned i = 0; i < KEYS; i++) {
        bool named = i >= ID_KEYS;
        if (label->key != stacks->keys[i] || best[named] <= i)
            continue;
        best[named] = i;
        stacks->thread[2 * named] = (uint64_t)1 << 32 | label->text;
        stacks->thread[2 * named + 1] = (uint64_t)label->number;
        if (named)
            stacks->name = pprof_value_of(stacks->build->model, label, stacks->name_text);
        else
            stacks->id = pprof_value_of(stacks->build->model, label, stacks->id_text);
    }
}

/* Reads a label of the current sample. Returns false, with *wrong set, if the label is damaged. */
static bool take_label(struct pprof_stacks *stacks, const struct pprof_form *form,
                       const struct pprof_field *whole, unsigned best[2], const char **wrong)
{
    struct pprof_message message = pprof_in(whole);
    struct pprof_field field;
    uint64_t numbers[5] = {0};
    int more;
    while ((more = pprof_take_field(stacks->pprof, &message, form, whole->offset, &field, wrong)) > 0)
        numbers[field.number] = field.value;
    if (more < 0)
        return false;
    struct label label = {.number = (int64_t)numbers[3]};
    label.key = pprof_string(stacks->pprof, numbers[1], "a label's key");
    label.text = pprof_string(stacks->pprof, numbers[2], "a label's text");
    label.unit = pprof_string(stacks->pprof, numbers[4], "a label's unit");
    if (label.text == PF_NO_STRING && !numbers[3] && !numbers[4])
        return true; /* pprof ignores empty labels, too */
    if (label.text != PF_NO_STRING) {
        label.number = 0;
        label.unit = PF_NO_STRING;
    }
    pprof_keep_identity(stacks, &label, best);
    *PF_PUSH(stacks->build->run, stacks->labels) = label;
    return true;
}

/* ---- one sample --------------------------------------------------------------------------------- */

/* Reads a sample. Returns false, with *wrong set, if the sample is damaged. */
static bool take_sample(struct pprof_stacks *stacks, const struct pprof_field *whole, const char **wrong)
{
    const struct pprof_form *form = pprof_file_form.of[PPROF_SAMPLE];
    struct pprof_message message = pprof_in(whole);
    struct pprof_field field;
    unsigned best[2] = {KEYS, KEYS};
    int more;
    stacks->locations.n = stacks->values.n = stacks->labels.n = 0;
    stacks->id = stacks->name = pf_absent();
    memset(stacks->thread, 0, sizeof stacks->thread);
    while ((more = pprof_take_field(stacks->pprof, &message, form, whole->offset, &field, wrong)) > 0) {
        *wrong = "unterminated number";
        if (field.number == 3
                ? !take_label(stacks, form->of[3], &field, best, wrong)
                : !pprof_numbers(stacks->build, field.number == 1 ? &stacks->locations : &stacks->values,
                                 &field))
            return false;
    }
    return more == 0;
}

/*
 * Returns the source line of the innermost remaining frame of a location. The file is the function's own, even if
 * functions of this name are in several files.
 */
static struct pf_source_line source_line_of(const struct pprof *pprof, const struct pprof_location *location)
{
    const struct pprof_line *line = &pprof->lines.at[location->first + location->cut];
    const struct pprof_function *function = pprof_function(pprof, line->function);
    return (struct pf_source_line){.name = pf_build_frame_at(pprof->build, line->frame).name,
                                   .file = function ? function->filed : PF_NO_STRING,
                                   .line = line->line <= UINT32_MAX ? (uint32_t)line->line : 0};
}

static uint32_t pprof_add_thread(struct pprof_stacks *stacks)
{
    bool has_id = stacks->id.type == PF_TEXT, has_name = stacks->name.type == PF_TEXT;
    if (!has_id && !has_name)
        return pf_build_partition(stacks->build, "all", 3, NULL);
    if (!has_id)
        return pf_build_partition(stacks->build, stacks->name.text, stacks->name.size, NULL);
    const struct pf_cell parts[] = {has_name ? stacks->name : pf_string("thread-"),
                                    pf_string(has_name ? " (" : ""), stacks->id,
                                    pf_string(has_name ? ")" : "")};
    stacks->text.n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t end = stacks->text.n + parts[i].size;
        (void)PF_ITEM(stacks->build->run, stacks->text, end);
        memcpy(stacks->text.at + stacks->text.n, parts[i].text, parts[i].size);
        stacks->text.n = end;
    }
    return pf_build_partition(stacks->build, stacks->text.at, stacks->text.n, &stacks->id);
}

/* Returns the partition of the current sample, adding it if it is new. */
static uint32_t pprof_thread_of(struct pprof_stacks *stacks)
{
    uint32_t key = pf_build_intern(stacks->build, stacks->keyed, stacks->thread, sizeof stacks->thread);
    if (key == stacks->threads.n)
        *PF_PUSH(stacks->build->run, stacks->threads) = pprof_add_thread(stacks);
    return stacks->threads.at[key];
}

/*
 * Adds `count` to the number of frames and records made. Returns false if it exceeds the limit for the bytes read so far, or if memory is
 * full.
 */
static bool count_made(struct pprof_stacks *stacks, uint64_t count)
{
    enum { STEP = 1 << 16 };
    uint64_t before = stacks->made;
    stacks->made += count;
    if (before / STEP != stacks->made / STEP)
        pprof_step(stacks->pprof, 1, stacks->offset);
    stacks->too_many = stacks->made > MADE_FREE && stacks->made / MADE_PER_BYTE > stacks->offset;
    return !stacks->too_many && !pf_run_is_full(stacks->build->run);
}

/* Enters the remaining lines of a location, outermost first. Returns the innermost context. */
static uint32_t enter_location(struct pprof_stacks *stacks, const struct pprof_location *location,
                               uint32_t context)
{
    for (uint32_t k = location->lines; k-- > location->cut;)
        context = pf_build_enter(stacks->build, context, stacks->pprof->lines.at[location->first + k].frame);
    stacks->leaf = source_line_of(stacks->pprof, location);
    return context;
}

/*
 * Returns the context of the current sample, entered from the root. A dropped location ends the stack: it and its callees
 * are left out. A cut location ends the stack after its remaining lines. Both apply only once the stack has a whole
 * location, neither dropped nor cut; otherwise a dropped root would remove everything. Sets stacks->too_many if the limit
 * is exceeded.
 */
static uint32_t pprof_context_of(struct pprof_stacks *stacks)
{
    const struct pprof *pprof = stacks->pprof;
    stacks->leaf = (struct pf_source_line){.line = 0};
    uint32_t context = PF_NO_CONTEXT;
    bool whole_above = false, over = false;
    if (!stacks->locations.n)
        return pf_build_enter(stacks->build, context, stacks->no_stack);
    for (size_t i = stacks->locations.n; i-- > 0 && !over;) {
        uint64_t id = stacks->locations.at[i];
        const struct pprof_location *location = pprof_location(pprof, id);
        bool whole = !location || (!location->dropped && !location->cut);
        if (whole_above && location && location->dropped)
            break;
        over = whole_above && !whole;
        whole_above = whole_above || whole;
        if (!count_made(stacks, location ? location->lines - location->cut : 1))
            break;
        if (location) {
            context = enter_location(stacks, location, context);
        } else {
            context = pf_build_enter(stacks->build, context, pprof->unknown_frame);
            stacks->leaf = (struct pf_source_line){.line = 0};
            pprof_warn(stacks->pprof, stacks->offset, "no-location", "undefined location %ju in a sample",
                       (uintmax_t)id);
        }
    }
    return context;
}

static void add_label(struct pprof_stacks *stacks, const struct label *label, uint32_t thread,
                      uint32_t metric, int64_t value)
{
    uint64_t record[WORDS] = {[THREAD_KEY] = (uint64_t)thread << 32 | label->key,
                              [UNIT_TEXT] = (uint64_t)label->unit << 32 | label->text,
                              [NUMBER] = pf_ordered(label->number),
                              [METRIC] = metric,
                              [RUN] = stacks->labelled++,
                              [SUM] = (uint64_t)value};
    pf_run_check(stacks->build->run, pf_sorter_add(stacks->sorter, record, stacks->build->run->error));
}

static void pprof_add_values(struct pprof_stacks *stacks)
{
    struct pprof *pprof = stacks->pprof;
    struct pf_build *build = stacks->build;
    if (stacks->values.n != pprof->types.n)
        pprof_warn(pprof, stacks->offset, "values", "sample with %zu values instead of %zu", stacks->values.n,
                   pprof->types.n);
    uint32_t context = pprof_context_of(stacks);
    if (stacks->too_many || pf_run_is_full(build->run) ||
        !count_made(stacks, (uint64_t)stacks->labels.n * pprof->types.n))
        return;
    uint32_t thread = pprof_thread_of(stacks);
    for (size_t i = 0; i < stacks->values.n && i < pprof->types.n; i++) {
        uint32_t metric = pprof->types.at[i].metric;
        int64_t value = (int64_t)stacks->values.at[i];
        if (metric == PF_NO_METRIC)
            continue;
        pf_build_add(build, thread, context, metric, pf_int(value));
        pf_line_sums_add(stacks->lines, &stacks->leaf, metric, value);
        for (size_t k = 0; k < stacks->labels.n; k++)
            add_label(stacks, &stacks->labels.at[k], thread, metric, value);
    }
}

bool pprof_stacks_take(struct pprof_stacks *stacks, const struct pprof_field *field)
{
    const char *wrong = NULL;
    stacks->offset = field->offset;
    if (field->wire != WIRE_BYTES)
        return true; /* already warned of */
    if (!take_sample(stacks, field, &wrong)) {
        pprof_warn(stacks->pprof, field->offset, "bad-message", "sample skipped: %s", wrong);
        return true;
    }
    pprof_add_values(stacks);
    if (!stacks->too_many)
        return true;
    pf_build_warn(stacks->build, 0, field->offset, "fatal", "many-frames",
                  "too many frames or labels for a file of this size: reading ends here");
    return false;
}

/* ---- labels.csv --------------------------------------------------------------------------------- */

static void pprof_add_row(struct pprof_stacks *stacks, const uint64_t *record, pf_int128 sum)
{
    char digits[PF_NUMBER_MAX];
    struct label label = {.text = (uint32_t)record[UNIT_TEXT], .number = pf_signed(record[NUMBER])};
    struct pf_cell value = label.text != PF_NO_STRING ? pf_name(label.text)
                                                      : pprof_value_of(stacks->build->model, &label, digits);
    struct pf_cell cells[PPROF_LABEL_COLUMNS] = {pf_int((int64_t)(record[THREAD_KEY] >> 32)),
                                                 pf_int((int64_t)record[METRIC]),
                                                 pf_whole(&sum),
                                                 pf_name((uint32_t)(record[UNIT_TEXT] >> 32)),
                                                 value,
                                                 pf_name((uint32_t)record[THREAD_KEY])};
    if (sum)
        pf_build_row(stacks->build, PPROF_LABELS, cells);
}

void pprof_stacks_end(struct pprof_stacks *stacks)
{
    struct pf_build *build = stacks->build;
    uint64_t last[WORDS] = {0};
    pf_int128 sum = 0;
    const uint64_t *record;
    pf_run_check(build->run, pf_sorter_finish(stacks->sorter, build->run->error));
    for (uint64_t i = 0; pf_run_check(build->run, pf_sorter_next(stacks->sorter, &record, build->run->error));
         i++) {
        if (i && memcmp(last, record, RUN * sizeof *record) != 0) {
            pprof_add_row(stacks, last, sum);
            sum = 0;
        }
        memcpy(last, record, sizeof last);
        sum += (int64_t)record[SUM];
    }
    if (stacks->labelled)
        pprof_add_row(stacks, last, sum);
    pf_line_sums_end(stacks->lines, PPROF_LINES);
}
