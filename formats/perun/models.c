/* SPDX-License-Identifier: MIT */
/* Models: rows of models.csv, and what is needed to compute a model's value anywhere. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/print.h"
#include "formats/perun/perun.h"

/*
 * The texts of lists and of other members in models.csv are cut here, and are short once there are many of them; the values
 * themselves are all kept.
 */
#define LONG_TEXT  ((size_t)64 * 1024)
#define SHORT_TEXT ((size_t)100)
#define TEXTS_MAX  ((size_t)16 << 20)

enum { COEFFS_MAX = 16, MODELS_MAX = 100000, NESTED_MAX = 1024 };

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

/* A model while its row is made. */
struct draft {
    struct json_object *json;
    struct perun_model model;
    struct pf_cell cells[PERUN_MODEL_COLUMNS];
    struct perun_text uid, stats, coeffs, formula, other; /* texts of cells */
    size_t limit;                                         /* of stats and other */
};

/* A number as Python prints it: integers stay integers, and what is none shows it: 0.0. */
static int add_number(struct perun_text *text, struct json_object *value, struct pf_error *error)
{
    char out[PF_NUMBER_MAX + 3];
    struct pf_cell cell = pf_tree_number(value);
    if (cell.type != PF_DOUBLE)
        return perun_add_cell(text, &cell, error);
    size_t size = (size_t)(pf_print_double(out, cell.d) - out);
    if (isfinite(cell.d) && !memchr(out, '.', size) && !memchr(out, 'e', size)) {
        memcpy(out + size, ".0", 2);
        size += 2;
    }
    return perun_add(text, out, size, error);
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

static bool is_text(struct json_object *value, const char *text)
{
    return json_object_is_type(value, json_type_string) && !strcmp(json_object_get_string(value), text);
}

/* Files of release 0.16 name the kinds without coefficients as methods, and no model. */
static void read_kind(struct draft *draft)
{
    struct json_object *kind = pf_tree_get(draft->json, "model"),
                       *method = pf_tree_get(draft->json, "method");
    if (!json_object_is_type(kind, json_type_string)) {
        kind = method;
        method = NULL;
    }
    draft->cells[PERUN_MODEL_KIND] = pf_tree_text(kind);
    draft->cells[PERUN_MODEL_METHOD] = pf_tree_text(method);
    for (unsigned i = 1; i < PERUN_MODEL_KINDS; i++)
        if (is_text(kind, kinds[i]))
            draft->model.kind = (uint8_t)i;
}

/* The uid may be an object, as those of resources. */
static int read_uid(struct perun_data *data, struct draft *draft, struct pf_error *error)
{
    struct perun_frame frame;
    struct json_object *uid = pf_tree_get(draft->json, "uid");
    draft->model.uid = PF_NO_STRING;
    if (!uid)
        return 0;
    if (perun_flatten(uid, &draft->uid, &frame, error) || perun_add(&draft->uid, "", 0, error))
        return -1;
    draft->cells[PERUN_MODEL_UID] = pf_text(draft->uid.at, draft->uid.size);
    draft->model.uid = perun_string(data, draft->uid.at, draft->uid.size, error);
    return draft->model.uid == PF_NO_STRING ? -1 : 0;
}

/* A bound of x, which has had another name before. */
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
    struct json_object *a = pf_tree_get(*(struct json_object *const *)left, "name"),
                       *b = pf_tree_get(*(struct json_object *const *)right, "name");
    bool named_a = json_object_is_type(a, json_type_string),
         named_b = json_object_is_type(b, json_type_string);
    return strcmp(named_a ? json_object_get_string(a) : "", named_b ? json_object_get_string(b) : "");
}

/* {name, value}: a known one is one of the model's. */
static int add_coefficient(struct draft *draft, struct json_object *coefficient, unsigned *known,
                           struct pf_error *error)
{
    struct pf_cell name = pf_tree_text(pf_tree_get(coefficient, "name"));
    struct json_object *value = pf_tree_get(coefficient, "value");
    struct perun_text *out = &draft->coeffs;
    if ((out->size && perun_add(out, ";", 1, error)) || perun_add_cell(out, &name, error) ||
        perun_add(out, "=", 1, error) || (is_number(value) && add_number(out, value, error)))
        return -1;
    if (name.size == 2 && name.text[0] == 'b' && name.text[1] >= '0' && name.text[1] <= '2') {
        draft->model.b[name.text[1] - '0'] = is_number(value) ? json_object_get_double(value) : 0;
        *known |= (is_number(value) || name.text[1] == '2' ? 1u : 0u) << (name.text[1] - '0');
    }
    return 0;
}

/* b0=1.5;b1=0.0 */
static int read_coefficients(struct draft *draft, struct pf_error *error)
{
    struct json_object *list = pf_tree_get(draft->json, "coeffs"), *found[COEFFS_MAX];
    size_t n = 0;
    unsigned known = 0;
    for (size_t i = 0; i < pf_tree_length(list) && n < COEFFS_MAX; i++)
        if (pf_tree_is_object(json_object_array_get_idx(list, i)))
            found[n++] = json_object_array_get_idx(list, i);
    if (n)
        qsort(found, n, sizeof *found, by_name);
    for (size_t i = 0; i < n; i++)
        if (add_coefficient(draft, found[i], &known, error))
            return -1;
    draft->model.has_b = (known & 3) == 3;
    draft->model.has_b2 = known & 4;
    if (n)
        draft->cells[PERUN_MODEL_COEFFS] = pf_text(draft->coeffs.at, draft->coeffs.size);
    return 0;
}

/* One value a bucket or point: kept as numbers, and as one text. */
static int read_values(struct perun_reading *reading, struct draft *draft, struct pf_error *error)
{
    struct pf_store *values = reading->data->model_values;
    struct json_object *list = pf_tree_get(draft->json, "bucket_stats");
    if (!pf_tree_is_list(list))
        list = pf_tree_get(draft->json, "kernel_stats");
    if (!pf_tree_is_list(list))
        return 0;
    draft->model.values = pf_store_size(values);
    draft->model.n_values = pf_tree_length(list);
    for (size_t i = 0; i < draft->model.n_values; i++) {
        struct json_object *value = json_object_array_get_idx(list, i);
        double number = double_of(value);
        if (pf_store_append(values, &number, sizeof number, error))
            return -1;
        if (draft->stats.size < draft->limit &&
            ((i && perun_add(&draft->stats, " ", 1, error)) ||
             (is_number(value) ? add_number(&draft->stats, value, error)
                               : perun_add(&draft->stats, "nan", 3, error))))
            return -1;
    }
    draft->cells[PERUN_MODEL_STATS] = pf_text(draft->stats.at, draft->stats.size);
    draft->cells[PERUN_MODEL_POINTS] = pf_uint(draft->model.n_values);
    return 0;
}

/* The field that a member names; the usual one if there is none. */
static uint32_t read_field(struct perun_data *data, const struct draft *draft, const char *name,
                           uint32_t usual, struct pf_error *error)
{
    struct pf_cell text = pf_tree_text(pf_tree_get(draft->json, name));
    return text.type == PF_TEXT ? perun_field(data, text.text, text.size, error) : usual;
}

/* Members that have no column: key=value, with blanks between; nested ones as JSON, if they are short. */
static int read_others(struct draft *draft, struct pf_error *error)
{
    static const char *const known[] = {
        "uid",   "model",          "method", "r_square",     "x_start",     "x_interval_start",
        "x_end", "x_interval_end", "coeffs", "bucket_stats", "kernel_stats"};
    struct perun_text *other = &draft->other;
    json_object_object_foreach(draft->json, key, value)
    {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(key, known[i]) != 0)
            i++;
        if (i < sizeof known / sizeof *known || other->size >= draft->limit)
            continue;
        const char *text = json_object_is_type(value, json_type_string)
                               ? json_object_get_string(value)
                               : json_object_to_json_string_ext(value, JSON_C_TO_STRING_NOSLASHESCAPE);
        bool nested = pf_tree_is_object(value) || pf_tree_is_list(value);
        if (!text)
            return pf_fail_memory(error);
        if (nested && strlen(text) >= NESTED_MAX)
            text = "(too long)";
        if ((other->size && perun_add(other, " ", 1, error)) || perun_add(other, key, strlen(key), error) ||
            perun_add(other, "=", 1, error) || perun_add(other, text, strlen(text), error))
            return -1;
    }
    draft->cells[PERUN_MODEL_OTHER] = other->size ? pf_text(other->at, other->size) : pf_absent();
    return 0;
}

/* As people write it: 0.505 + 9.94e-06 * x, of the coefficients to three digits. */
static int write_formula(struct draft *draft, struct pf_error *error)
{
    char out[160];
    const struct perun_model *model = &draft->model;
    const double *b = model->b;
    int size = 0;
    char sign1 = signbit(b[1]) ? '-' : '+', sign2 = signbit(b[2]) ? '-' : '+';
    double b1 = fabs(b[1]), b2 = fabs(b[2]);
    switch (model->has_b ? model->kind : PERUN_UNKNOWN_MODEL) {
    case PERUN_CONSTANT:
        size = snprintf(out, sizeof out, "%.3g", b[0]);
        break;
    case PERUN_LINEAR:
        size = snprintf(out, sizeof out, "%.3g %c %.3g * x", b[0], sign1, b1);
        break;
    case PERUN_LOGARITHMIC:
        size = snprintf(out, sizeof out, "%.3g %c %.3g * log(x)", b[0], sign1, b1);
        break;
    case PERUN_QUADRATIC:
        size = model->has_b2
                   ? snprintf(out, sizeof out, "%.3g %c %.3g * x %c %.3g * x^2", b[0], sign1, b1, sign2, b2)
                   : snprintf(out, sizeof out, "%.3g %c %.3g * x^2", b[0], sign1, b1);
        break;
    case PERUN_POWER:
        size = snprintf(out, sizeof out, "%.3g * x^%.3g", b[0], b[1]);
        break;
    case PERUN_EXPONENTIAL:
        size = snprintf(out, sizeof out, b[1] < 0 ? "%.3g * (%.3g)^x" : "%.3g * %.3g^x", b[0], b[1]);
        break;
    default:
        return 0;
    }
    for (int i = 0; i < size && i < (int)sizeof out; i++)
        if (out[i] == ',') /* the decimal point of another locale */
            out[i] = '.';
    if (perun_add(&draft->formula, out, (size_t)size, error))
        return -1;
    draft->cells[PERUN_MODEL_FORMULA] = pf_text(draft->formula.at, draft->formula.size);
    return 0;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static int add_model(struct perun_reading *reading, struct draft *draft, struct pf_error *error)
{
    struct perun_data *data = reading->data;
    struct perun_model *model = &draft->model;
    draft->limit = data->models_text < TEXTS_MAX ? LONG_TEXT : SHORT_TEXT;
    draft->cells[PERUN_MODEL_ID] = pf_uint(data->n_models);
    draft->cells[PERUN_MODEL_R_SQUARE] = pf_tree_number(pf_tree_get(draft->json, "r_square"));
    read_kind(draft);
    model->x_start = read_bound(draft, "x_start", "x_interval_start", PERUN_MODEL_X_START);
    model->x_end = read_bound(draft, "x_end", "x_interval_end", PERUN_MODEL_X_END);
    model->x_field = read_field(data, draft, "per_key", PERUN_SIZE, error);
    model->y_field = read_field(data, draft, "of_key", PERUN_AMOUNT, error);
    if (model->x_field == PERUN_NONE || model->y_field == PERUN_NONE || read_uid(data, draft, error) ||
        read_coefficients(draft, error) || read_values(reading, draft, error) || read_others(draft, error) ||
        write_formula(draft, error) ||
        pf_array_room(&data->model_list, &data->models_room, data->n_models, sizeof *data->model_list,
                      error) ||
        pf_rows_add(data->models, draft->cells, error))
        return -1;
    data->models_text += draft->stats.size + draft->other.size;
    data->model_list[data->n_models++] = *model;
    return 0;
}

/* The next element of a list of models. 1; 0: the list's end; -1: *error filled. */
int perun_read_model(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token token;
    struct draft draft = {.json = NULL};
    int event = pf_json_tree(reading->trees, reading->json, &token, &draft.json, error), failed = 0;
    if (event <= 0 || event == PF_JSON_ARRAY_END)
        return event < 0 ? -1 : 0;
    if (event != PF_JSON_OBJECT)
        PERUN_NOTE(reading, &token, PERUN_WRONG_KIND, "a model");
    else if (token.cut)
        PERUN_NOTE(reading, &token, PERUN_TOO_LONG, NULL);
    else if (reading->data->n_models == MODELS_MAX)
        PERUN_NOTE(reading, &token, PERUN_MANY_MODELS, NULL);
    else
        failed = add_model(reading, &draft, error);
    struct perun_text *texts[] = {&draft.uid, &draft.stats, &draft.coeffs, &draft.formula, &draft.other};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        perun_text_free(texts[i]);
    json_object_put(draft.json);
    return failed ? -1 : 1;
}

/* ---- folders ------------------------------------------------------------------------------------ */

/* How many models each uid has, up to 2: by uid's string. */
static uint8_t *count_uids(const struct perun_data *data)
{
    uint8_t *count = calloc(pf_strings_count(data->tree->strings) + 1, 1);
    for (size_t i = 0; count && i < data->n_models; i++) {
        uint32_t uid = data->model_list[i].uid;
        if (uid != PF_NO_STRING && count[uid] < 2)
            count[uid]++;
    }
    return count;
}

/* Called as its uid, with its kind behind it where the uid has several, with its method and number where that is taken. */
static int name_model(struct perun_data *data, const uint8_t *count, struct pf_strings *taken,
                      struct perun_text *name, size_t i, struct pf_error *error)
{
    const struct pf_cell *row = pf_rows_at(data->models, i), *kind = &row[PERUN_MODEL_KIND],
                         *method = &row[PERUN_MODEL_METHOD];
    uint32_t uid = data->model_list[i].uid, before = pf_strings_count(taken);
    bool alone = uid != PF_NO_STRING && count[uid] == 1;
    struct pf_cell number = pf_uint(i);
    name->size = 0;
    if (perun_add_cell(name, &row[PERUN_MODEL_UID], error) ||
        (!alone && kind->type == PF_TEXT &&
         (perun_add(name, " ", 1, error) || perun_add_cell(name, kind, error))) ||
        pf_intern(taken, name->at, name->size, error) == PF_NO_STRING)
        return -1;
    if (pf_strings_count(taken) == before &&
        ((method->type == PF_TEXT &&
          (perun_add(name, " ", 1, error) || perun_add_cell(name, method, error))) ||
         perun_add(name, " ", 1, error) || perun_add_cell(name, &number, error)))
        return -1;
    struct pf_cell cells[] = {number, pf_text(name->at, name->size)};
    return pf_rows_add(data->model_names, cells, error);
}

int perun_name_models(struct perun_data *data, struct pf_error *error)
{
    uint8_t *count = count_uids(data);
    struct pf_strings *taken = pf_strings_new();
    struct perun_text name = {0};
    int failed = count && taken ? 0 : pf_fail_memory(error);
    for (size_t i = 0; i < data->n_models && !failed; i++)
        failed = name_model(data, count, taken, &name, i, error);
    perun_text_free(&name);
    free(count);
    pf_strings_free(taken);
    return failed ? -1 : 0;
}
