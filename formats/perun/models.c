/* SPDX-License-Identifier: MIT */
/* Models: rows of models.csv, and the names of the models' folders. */
#include <math.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/print.h"
#include "formats/perun/perun.h"

/*
 * The columns `stats` and `other` of models.csv are held in memory. Once their texts have TEXTS_MAX bytes, further texts are cut at
 * SHORT_TEXT bytes. data->model_values has all values in any case.
 */
enum { TEXTS_MAX = 64 << 20, SHORT_TEXT = 100 };

enum { COEFFS_MAX = 16, MODELS_MAX = 100000, NESTED_MAX = 1024 };

/* Columns of models.csv. */
enum {
    COLUMN_ID,
    COLUMN_R_SQUARE,
    COLUMN_X_START,
    COLUMN_X_END,
    COLUMN_POINTS,
    COLUMN_STATS,
    COLUMN_FORMULA,
    COLUMN_COEFFS,
    COLUMN_KIND,
    COLUMN_METHOD,
    COLUMN_UID,
    COLUMN_OTHER
};

const struct pf_column perun_model_columns[PERUN_MODEL_COLUMNS] = {
    {.name = "id"},     {.name = "r_square"}, {.name = "x_start"}, {.name = "x_end"},
    {.name = "points"}, {.name = "stats"},    {.name = "formula"}, {.name = "coeffs"},
    {.name = "model"},  {.name = "method"},   {.name = "uid"},     {.name = "other"}};

static const char *const kinds[PERUN_MODEL_KINDS] = {
    [PERUN_CONSTANT] = "constant",
    [PERUN_LINEAR] = "linear",
    [PERUN_LOGARITHMIC] = "logarithmic",
    [PERUN_QUADRATIC] = "quadratic",
    [PERUN_POWER] = "power",
    [PERUN_EXPONENTIAL] = "exponential",
    [PERUN_REGRESSOGRAM] = "regressogram",
    [PERUN_MOVING_AVERAGE] = "moving_average",
    [PERUN_KERNEL_REGRESSION] = "kernel_regression",
};

/* A model while its row is made. Generated texts are appended to the memory stream `out`, whose fclose fails if memory ran out. */
struct draft {
    struct json_object *json;
    char *texts; /* the contents of `out`, once it is closed */
    size_t texts_size;
    struct perun_model model;
    struct pf_cell cells[PERUN_MODEL_COLUMNS];
    FILE *out;
    size_t start[PERUN_MODEL_COLUMNS]; /* offset in `out` of a generated cell's text */
    size_t limit;                      /* maximum bytes of `stats`, and of `other` */
    bool cut;                          /* `stats` or `other` exceeded the limit */
};

static void begin_text(struct draft *draft, int column)
{
    draft->start[column] = (size_t)ftello(draft->out);
}

static size_t model_text_size(const struct draft *draft, int column)
{
    return (size_t)ftello(draft->out) - draft->start[column];
}

/* If the text of the column has reached the limit, appends " ..." and returns true. */
static bool is_full(struct draft *draft, int column)
{
    if (model_text_size(draft, column) < draft->limit)
        return false;
    fputs(" ...", draft->out);
    draft->cut = true;
    return true;
}

static void end_text(struct draft *draft, int column)
{
    draft->cells[column] = pf_text(NULL, model_text_size(draft, column));
}

/* Prints a number as Python does: 0 for an integer, 0.0 for a float. Prints nothing for other values. */
static void print_number(FILE *out, struct json_object *value)
{
    char text[PF_NUMBER_MAX], *end = text;
    struct pf_cell cell = pf_tree_number(value);
    if (cell.type == PF_INT)
        end = pf_print_int(text, cell.i);
    else if (cell.type == PF_UINT)
        end = pf_print_uint(text, cell.u);
    else if (cell.type == PF_DOUBLE)
        end = pf_print_double(text, cell.d);
    size_t size = (size_t)(end - text);
    bool whole =
        cell.type == PF_DOUBLE && isfinite(cell.d) && !memchr(text, '.', size) && !memchr(text, 'e', size);
    fprintf(out, "%.*s%s", (int)size, text, whole ? ".0" : "");
}

static bool is_number(struct json_object *value)
{
    return json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
}

static double double_of(struct json_object *value)
{
    return is_number(value) ? json_object_get_double(value) : (double)NAN;
}

/* ---- parts of a model --------------------------------------------------------------------------- */

/*
 * Reads the members `model` (the kind) and `method`. In files of release 0.16, a model without coefficients has its kind in `method`, and
 * no `model`.
 */
static void read_kind(struct draft *draft)
{
    struct json_object *kind = pf_tree_get(draft->json, "model"),
                       *method = pf_tree_get(draft->json, "method");
    if (!json_object_is_type(kind, json_type_string)) {
        kind = method;
        method = NULL;
    }
    draft->cells[COLUMN_KIND] = pf_tree_text(kind);
    draft->cells[COLUMN_METHOD] = pf_tree_text(method);
    for (unsigned i = 1; i < PERUN_MODEL_KINDS; i++)
        if (json_object_is_type(kind, json_type_string) && !strcmp(json_object_get_string(kind), kinds[i]))
            draft->model.kind = i;
}

/* Reads a bound of x; `before` is the member's name in older releases. */
static double read_bound(struct draft *draft, const char *name, const char *before, int column)
{
    struct json_object *value = pf_tree_get(draft->json, name);
    if (!is_number(value))
        value = pf_tree_get(draft->json, before);
    draft->cells[column] = pf_tree_number(value);
    return double_of(value);
}

static int by_name(const void *left, const void *right)
{
    struct pf_cell a = pf_tree_text(pf_tree_get(*(struct json_object *const *)left, "name")),
                   b = pf_tree_text(pf_tree_get(*(struct json_object *const *)right, "name"));
    return strcmp(a.size ? a.text : "", b.size ? b.text : "");
}

/* Prints the list of {name, value} as b0=1.5;b1=0.0, sorted by name, and stores b0, b1 and b2 in the model. */
static void read_coefficients(struct draft *draft)
{
    struct json_object *list = pf_tree_get(draft->json, "coeffs"), *found[COEFFS_MAX];
    size_t n = 0;
    unsigned known = 0;
    for (size_t i = 0; i < pf_tree_length(list) && n < COEFFS_MAX; i++)
        if (pf_tree_is_object(json_object_array_get_idx(list, i)))
            found[n++] = json_object_array_get_idx(list, i);
    if (!n)
        return;
    qsort(found, n, sizeof *found, by_name);
    begin_text(draft, COLUMN_COEFFS);
    for (size_t i = 0; i < n; i++) {
        struct pf_cell name = pf_tree_text(pf_tree_get(found[i], "name"));
        struct json_object *value = pf_tree_get(found[i], "value");
        fputs(i ? ";" : "", draft->out);
        fwrite(name.text, 1, name.size, draft->out);
        fputc('=', draft->out);
        print_number(draft->out, value);
        unsigned b = name.size == 2 && name.text[0] == 'b' ? (unsigned)name.text[1] - '0' : 3;
        if (b > 2)
            continue;
        draft->model.b[b] = is_number(value) ? json_object_get_double(value) : 0;
        known |= (is_number(value) || b == 2) << b;
    }
    draft->model.has_b = (known & 3) == 3;
    draft->model.has_b2 = known & 4;
    end_text(draft, COLUMN_COEFFS);
}

/* Reads one value per bucket or point. Appends the numbers to data->model_values, and their text to the column stats. */
static void read_values(struct perun_data *data, struct draft *draft)
{
    struct json_object *list = pf_tree_get(draft->json, "bucket_stats");
    if (!pf_tree_is_list(list))
        list = pf_tree_get(draft->json, "kernel_stats");
    if (!pf_tree_is_list(list))
        return;
    bool full = false;
    begin_text(draft, COLUMN_STATS);
    draft->model.values = pf_store_size(data->model_values) / sizeof(double);
    draft->model.n_values = pf_tree_length(list);
    for (size_t i = 0; i < draft->model.n_values; i++) {
        struct json_object *value = json_object_array_get_idx(list, i);
        double number = double_of(value);
        perun_append(data, data->model_values, &number, sizeof number);
        if (full || (full = is_full(draft, COLUMN_STATS)))
            continue;
        fputs(i ? " " : "", draft->out);
        if (is_number(value))
            print_number(draft->out, value);
        else
            fputs("nan", draft->out);
    }
    end_text(draft, COLUMN_STATS);
    draft->cells[COLUMN_POINTS] = pf_uint(draft->model.n_values);
}

/* Returns the number of the field whose name is the value of the member `name`; `usual` if the member is missing or not a text. */
static uint32_t field_named(struct perun_data *data, const struct draft *draft, const char *name,
                            uint32_t usual)
{
    struct pf_cell text = pf_tree_text(pf_tree_get(draft->json, name));
    return text.type == PF_TEXT ? perun_field(data, text.text, text.size) : usual;
}

/*
 * Prints the members that have no column as key=value, separated by blanks. Objects and lists are printed as JSON if that has less than
 * NESTED_MAX bytes.
 */
static void read_others(struct draft *draft)
{
    static const char *const known[] = {
        "uid",   "model",          "method", "r_square",     "x_start",     "x_interval_start",
        "x_end", "x_interval_end", "coeffs", "bucket_stats", "kernel_stats"};
    bool full = false;
    begin_text(draft, COLUMN_OTHER);
    json_object_object_foreach(draft->json, key, value)
    {
        size_t i = 0, size = model_text_size(draft, COLUMN_OTHER);
        while (i < sizeof known / sizeof *known && strcmp(key, known[i]) != 0)
            i++;
        if (i < sizeof known / sizeof *known || full || (full = is_full(draft, COLUMN_OTHER)))
            continue;
        const char *text = json_object_is_type(value, json_type_string)
                               ? json_object_get_string(value)
                               : json_object_to_json_string_ext(value, JSON_C_TO_STRING_NOSLASHESCAPE);
        bool nested = pf_tree_is_object(value) || pf_tree_is_list(value);
        if (!text || (nested && strlen(text) >= NESTED_MAX))
            text = "(too long)";
        fprintf(draft->out, "%s%s=%s", size ? " " : "", key, text);
    }
    if (model_text_size(draft, COLUMN_OTHER))
        end_text(draft, COLUMN_OTHER);
}

/* Prints a number with three significant digits. */
static void print_short(FILE *out, const char *before, double value, const char *behind)
{
    fprintf(out, "%s%.3g%s", before, value, behind);
}

/* Prints a term after the first one of a formula: " + 2 * x". */
static void print_term(FILE *out, double factor, const char *of)
{
    print_short(out, signbit(factor) ? " - " : " + ", fabs(factor), of);
}

/* Prints the formula with coefficients of three digits: 0.505 + 9.94e-06 * x. */
static void write_formula(struct draft *draft)
{
    static const char *const terms[PERUN_MODEL_KINDS] = {
        [PERUN_LINEAR] = " * x", [PERUN_LOGARITHMIC] = " * log(x)", [PERUN_QUADRATIC] = " * x^2"};
    const struct perun_model *model = &draft->model;
    if (!model->has_b || model->kind == PERUN_UNKNOWN || model->kind > PERUN_EXPONENTIAL)
        return;
    begin_text(draft, COLUMN_FORMULA);
    print_short(draft->out, "", model->b[0], "");
    if (model->kind == PERUN_POWER)
        print_short(draft->out, " * x^", model->b[1], "");
    else if (model->kind == PERUN_EXPONENTIAL)
        print_short(draft->out, model->b[1] < 0 ? " * (" : " * ", model->b[1],
                    model->b[1] < 0 ? ")^x" : "^x");
    else if (model->kind == PERUN_QUADRATIC && model->has_b2) {
        print_term(draft->out, model->b[1], " * x");
        print_term(draft->out, model->b[2], " * x^2");
    } else if (model->kind != PERUN_CONSTANT)
        print_term(draft->out, model->b[1], terms[model->kind]);
    end_text(draft, COLUMN_FORMULA);
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static void read_parts(struct perun_reading *reading, struct draft *draft)
{
    struct perun_data *data = reading->data;
    struct perun_model *model = &draft->model;
    struct json_object *uid = pf_tree_get(draft->json, "uid");
    draft->limit = data->models_text < TEXTS_MAX ? SIZE_MAX : SHORT_TEXT;
    draft->cells[COLUMN_ID] = pf_uint(data->n_models);
    draft->cells[COLUMN_R_SQUARE] = pf_tree_number(pf_tree_get(draft->json, "r_square"));
    read_kind(draft);
    model->x_start = read_bound(draft, "x_start", "x_interval_start", COLUMN_X_START);
    model->x_end = read_bound(draft, "x_end", "x_interval_end", COLUMN_X_END);
    model->x_field = field_named(data, draft, "per_key", PERUN_SIZE);
    model->y_field = field_named(data, draft, "of_key", PERUN_AMOUNT);
    model->uid = uid ? perun_name_of(reading->paths, uid) : PERUN_NONE;
    draft->cells[COLUMN_UID] = perun_string_cell(data, model->uid);
    read_coefficients(draft);
    write_formula(draft);
    read_others(draft);
    read_values(data, draft);
}

static void add_model_row(struct perun_data *data, struct draft *draft)
{
    static const int made_up[] = {COLUMN_COEFFS, COLUMN_FORMULA, COLUMN_OTHER, COLUMN_STATS};
    struct pf_run *run = data->run;
    for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++)
        if (draft->cells[made_up[i]].type == PF_TEXT)
            draft->cells[made_up[i]].text = draft->texts + draft->start[made_up[i]];
    pf_run_check(run, pf_array_room(&data->model_list, &data->models_room, data->n_models,
                                    sizeof *data->model_list, run->error));
    pf_run_check(run, pf_rows_add(data->models, draft->cells, run->error));
    data->models_text += draft->cells[COLUMN_STATS].size + draft->cells[COLUMN_OTHER].size;
    data->model_list[data->n_models++] = draft->model;
}

static void free_draft(struct draft *draft)
{
    json_object_put(draft->json);
    if (draft->out)
        fclose(draft->out);
    free(draft->texts);
    free(draft);
}

static void add_model(struct perun_reading *reading, struct draft *draft)
{
    struct perun_data *data = reading->data;
    draft->out = pf_run_memory(data->run, open_memstream(&draft->texts, &draft->texts_size));
    read_parts(reading, draft);
    int failed = fclose(draft->out);
    draft->out = NULL;
    if (failed)
        pf_run_memory(data->run, NULL);
    add_model_row(data, draft);
    if (draft->cut && !data->models_cut)
        pf_run_note(data->run, &perun_problems[PERUN_TOO_MANY], 0, -1,
                    "texts of models (further ones are cut at %d bytes)", SHORT_TEXT);
    data->models_cut |= draft->cut;
}

bool perun_read_model(struct perun_reading *reading)
{
    struct pf_run *run = reading->data->run;
    struct pf_json_token token;
    struct draft *draft = PF_OWN(run, calloc(1, sizeof *draft), free_draft);
    int event =
        pf_run_check(run, pf_json_tree(reading->trees, reading->json, &token, &draft->json, run->error));
    bool more = event && event != PF_JSON_ARRAY_END;
    if (!more)
        ;
    else if (event != PF_JSON_OBJECT)
        PERUN_NOTE(reading, &token, PERUN_WRONG_KIND, "a model");
    else if (token.cut)
        PERUN_NOTE(reading, &token, PERUN_TOO_LONG, NULL);
    else if (reading->data->n_models == MODELS_MAX)
        PERUN_NOTE(reading, &token, PERUN_TOO_MANY, "models");
    else
        add_model(reading, draft);
    free_draft(pf_disown(run, draft));
    return more;
}

/* ---- folders ------------------------------------------------------------------------------------ */

/* Counts the models of each uid, up to 2. Returns the counts by number of the uid's string, owned by the run. */
static uint8_t *count_uids(const struct perun_data *data)
{
    uint8_t *count = PF_OWN(data->run, calloc((size_t)pf_strings_count(data->tree->strings) + 1, 1), free);
    for (size_t i = 0; i < data->n_models; i++) {
        uint32_t uid = data->model_list[i].uid;
        if (uid != PERUN_NONE && count[uid] < 2)
            count[uid]++;
    }
    return count;
}

/*
 * Names a model after its uid, followed by its kind unless the uid has only this model (`alone`). Appends the method and the number if the
 * name is taken.
 */
static void name_model(struct perun_data *data, bool alone, struct pf_strings *taken, size_t i)
{
    const struct pf_cell *row = pf_rows_at(data->models, i), *uid = &row[COLUMN_UID],
                         *kind = &row[COLUMN_KIND], *method = &row[COLUMN_METHOD];
    struct pf_run *run = data->run;
    uint32_t before = pf_strings_count(taken);
    char *name, *longer;
    int size = asprintf(&name, "%.*s%s%.*s", (int)uid->size, uid->size ? uid->text : "",
                        !alone && kind->type == PF_TEXT ? " " : "", alone ? 0 : (int)kind->size,
                        kind->size ? kind->text : "");
    PF_OWN(run, size < 0 ? NULL : name, free);
    pf_run_intern(run, taken, name, (size_t)size);
    if (pf_strings_count(taken) == before) {
        size = asprintf(&longer, "%s%s%.*s %zu", name, method->type == PF_TEXT ? " " : "", (int)method->size,
                        method->size ? method->text : "", i);
        name = PF_OWN(run, size < 0 ? NULL : longer, free);
    }
    struct pf_cell cells[] = {pf_uint(i), pf_text(name, (size_t)size)};
    pf_run_check(run, pf_rows_add(data->model_names, cells, run->error));
}

void perun_name_models(struct perun_data *data)
{
    const uint8_t *count = count_uids(data);
    struct pf_strings *taken = PF_OWN(data->run, pf_strings_new(), pf_strings_free);
    for (size_t i = 0; i < data->n_models; i++) {
        uint32_t uid = data->model_list[i].uid;
        name_model(data, uid != PERUN_NONE && count[uid] == 1, taken, i);
    }
}
