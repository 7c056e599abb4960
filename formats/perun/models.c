/* SPDX-License-Identifier: MIT */
/* Models: rows of models.csv, and what is needed to compute a model's value anywhere. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/print.h"
#include "formats/perun/read.h"

/*
 * The texts of lists and of other members in models.csv are cut here, and are short once there are many of them; the values
 * themselves are all kept.
 */
#define LONG_TEXT  ((size_t)64 * 1024)
#define SHORT_TEXT ((size_t)100)
#define TEXTS_MAX  ((size_t)16 << 20)

enum { COEFFS_MAX = 16, MODELS_MAX = 100000 };

static const char *const kinds[] = {
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
enum { KINDS = sizeof kinds / sizeof *kinds };

struct coefficient {
    char name[16], value[PF_NUMBER_MAX + 3];
    size_t size; /* of value */
    double number;
};

/* A model while it is read. Texts stand in one buffer, as places. */
struct draft {
    struct pf_cell cells[PERUN_MODEL_COLUMNS];
    size_t text[PERUN_MODEL_COLUMNS];
    struct perun_text texts, other; /* other: key=value, with blanks between */
    struct coefficient coefficients[COEFFS_MAX];
    size_t n_coefficients;
    struct perun_model model;
};

/* ---- numbers as Python prints them -------------------------------------------------------------- */

/* Integers stay integers, and what is none shows it: 0.0. Returns the size. */
static size_t print_number(char out[PF_NUMBER_MAX + 3], const struct pf_json_token *token)
{
    pf_int128 wide;
    struct pf_cell cell = pf_json_number(token, &wide);
    if (cell.type != PF_DOUBLE)
        return (size_t)((cell.type == PF_INT    ? pf_print_int(out, cell.i)
                         : cell.type == PF_UINT ? pf_print_uint(out, cell.u)
                                                : pf_print_wide(out, wide)) -
                        out);
    size_t size = (size_t)(pf_print_double(out, cell.d) - out);
    bool marked = !isfinite(cell.d);
    for (size_t i = 0; i < size; i++)
        marked |= out[i] == '.' || out[i] == 'e';
    if (!marked) {
        memcpy(out + size, ".0", 2);
        size += 2;
    }
    return size;
}

static size_t text_limit(const struct perun_reading *reading)
{
    return reading->data->models_text < TEXTS_MAX ? LONG_TEXT : SHORT_TEXT;
}

/* ---- parts of a model --------------------------------------------------------------------------- */

static int set_text(struct draft *draft, int column, const char *text, size_t size, struct pf_error *error)
{
    draft->text[column] = draft->texts.size;
    draft->cells[column] = pf_text(NULL, size);
    return perun_text_add(&draft->texts, text, size, error);
}

static int read_text(struct perun_reading *reading, struct draft *draft, int column, struct pf_error *error)
{
    struct pf_json_token token;
    if (pf_json_skip(reading->json, &token, error) < 0)
        return -1;
    return token.event == PF_JSON_STRING ? set_text(draft, column, token.text, token.size, error) : 0;
}

static int read_number(struct perun_reading *reading, struct draft *draft, int column, double *number,
                       struct pf_error *error)
{
    struct pf_json_token token;
    pf_int128 wide;
    if (pf_json_skip(reading->json, &token, error) < 0)
        return -1;
    if (token.event != PF_JSON_NUMBER)
        return 0;
    draft->cells[column] = pf_json_number(&token, &wide);
    *number = pf_json_double(&token);
    if (draft->cells[column].type == PF_WIDE)
        draft->cells[column] = pf_double(*number);
    return 0;
}

/* The uid may be an object, as those of resources. */
static int read_uid(struct perun_reading *reading, struct draft *draft, struct pf_error *error)
{
    struct pf_json_token token;
    struct perun_text flat = {0};
    int event = pf_json_next(reading->json, &token, error);
    if (event < 0 || event == PF_JSON_NULL)
        return event < 0 ? -1 : 0;
    int failed = perun_flatten(reading->json, &token, &flat, NULL, error);
    if (!failed) {
        draft->model.uid = pf_intern(reading->data->tree->strings, flat.at ? flat.at : "", flat.size, error);
        failed = draft->model.uid == PF_NO_STRING ||
                 set_text(draft, PERUN_MODEL_UID, flat.at ? flat.at : "", flat.size, error);
    }
    perun_text_free(&flat);
    return failed ? -1 : 0;
}

static int read_coefficient(struct perun_reading *reading, struct coefficient *coefficient,
                            struct pf_error *error)
{
    struct pf_json_token name, value;
    int event;
    *coefficient = (struct coefficient){.name = ""};
    while ((event = pf_json_next(reading->json, &name, error)) == PF_JSON_NAME) {
        bool is_name = pf_json_is(&name, "name"), is_value = pf_json_is(&name, "value");
        if (pf_json_skip(reading->json, &value, error) < 0)
            return -1;
        if (is_name && value.event == PF_JSON_STRING && value.size < sizeof coefficient->name) {
            memcpy(coefficient->name, value.text, value.size);
            coefficient->name[value.size] = 0;
        }
        if (is_value && value.event == PF_JSON_NUMBER) {
            coefficient->size = print_number(coefficient->value, &value);
            coefficient->number = pf_json_double(&value);
        }
    }
    return event < 0 ? -1 : 0;
}

static int read_coefficients(struct perun_reading *reading, struct draft *draft, struct pf_error *error)
{
    struct pf_json_token token;
    struct coefficient ignored;
    int event = pf_json_next(reading->json, &token, error);
    draft->n_coefficients = 0;
    if (event == PF_JSON_OBJECT)
        return pf_json_leave(reading->json, error);
    if (event != PF_JSON_ARRAY)
        return event < 0 ? -1 : 0;
    while ((event = pf_json_next(reading->json, &token, error)) > 0 && event != PF_JSON_ARRAY_END) {
        bool room = draft->n_coefficients < COEFFS_MAX;
        struct coefficient *next = room ? &draft->coefficients[draft->n_coefficients] : &ignored;
        if (event == PF_JSON_ARRAY ? pf_json_leave(reading->json, error)
                                   : event == PF_JSON_OBJECT && read_coefficient(reading, next, error))
            return -1;
        draft->n_coefficients += room && event == PF_JSON_OBJECT;
    }
    return event < 0 ? -1 : 0;
}

/* One value a bucket or point: kept as numbers, and as one text. */
static int read_values(struct perun_reading *reading, struct draft *draft, struct pf_error *error)
{
    struct pf_json_token token;
    struct perun_data *data = reading->data;
    int event = pf_json_next(reading->json, &token, error);
    if (event == PF_JSON_OBJECT)
        return pf_json_leave(reading->json, error);
    if (event != PF_JSON_ARRAY)
        return event < 0 ? -1 : 0;
    draft->model.values = pf_store_size(data->model_values);
    draft->text[PERUN_MODEL_STATS] = draft->texts.size;
    for (draft->model.n_values = 0; (event = pf_json_skip(reading->json, &token, error)) > 0;
         draft->model.n_values++) {
        char number[PF_NUMBER_MAX + 4] = " nan";
        double value = NAN;
        size_t size = 4, used = draft->texts.size - draft->text[PERUN_MODEL_STATS];
        if (event == PF_JSON_ARRAY_END)
            break;
        if (event == PF_JSON_NUMBER) {
            value = pf_json_double(&token);
            size = 1 + print_number(number + 1, &token);
        }
        bool first = draft->model.n_values == 0;
        if (pf_store_append(data->model_values, &value, sizeof value, error) || perun_step(reading, error) ||
            (used < text_limit(reading) &&
             perun_text_add(&draft->texts, number + first, size - first, error)))
            return -1;
    }
    draft->cells[PERUN_MODEL_STATS] = pf_text(NULL, draft->texts.size - draft->text[PERUN_MODEL_STATS]);
    draft->cells[PERUN_MODEL_POINTS] = pf_uint(draft->model.n_values);
    return event < 0 ? -1 : 0;
}

/* Nested values of other members are shown up to this size. */
enum { NESTED_MAX = 1024 };

/* A value as text: nested ones as JSON, if they are short. */
static struct pf_cell text_of(const struct pf_json_token *token)
{
    switch (token->event) {
    case PF_JSON_TRUE:
        return pf_string("true");
    case PF_JSON_FALSE:
        return pf_string("false");
    case PF_JSON_NULL:
        return pf_string("null");
    case PF_JSON_OBJECT:
    case PF_JSON_ARRAY:
        if (token->cut)
            return pf_string("(too long)");
        break;
    default:
        break;
    }
    return pf_text(token->text, token->size);
}

/* Notes a member that has no column, and reads its value: *token is that. */
static int read_other(struct perun_reading *reading, struct draft *draft, const struct pf_json_token *name,
                      struct pf_json_token *token, struct pf_error *error)
{
    char nested[NESTED_MAX];
    struct perun_text *other = &draft->other;
    bool shown = other->size < text_limit(reading);
    if (shown &&
        ((other->size && perun_text_add(other, " ", 1, error)) ||
         perun_text_add(other, name->text, name->size, error) || perun_text_add(other, "=", 1, error)))
        return -1;
    if (pf_json_take(reading->json, token, nested, sizeof nested, error) < 0 || perun_step(reading, error))
        return -1;
    struct pf_cell text = text_of(token);
    return shown ? perun_text_add(other, text.text, text.size, error) : 0;
}

static int read_field(struct perun_reading *reading, struct draft *draft, const struct pf_json_token *name,
                      uint32_t *field, struct pf_error *error)
{
    struct pf_json_token token;
    if (read_other(reading, draft, name, &token, error))
        return -1;
    if (token.event != PF_JSON_STRING)
        return 0;
    return perun_field_of(&reading->data->fields, reading->data->tree->strings, token.text, token.size, field,
                          error);
}

static int read_member(struct perun_reading *reading, struct draft *draft, const struct pf_json_token *name,
                       struct pf_error *error)
{
    struct pf_json_token token;
    double r_square;
    if (pf_json_is(name, "uid"))
        return read_uid(reading, draft, error);
    if (pf_json_is(name, "model"))
        return read_text(reading, draft, PERUN_MODEL_KIND, error);
    if (pf_json_is(name, "method"))
        return read_text(reading, draft, PERUN_MODEL_METHOD, error);
    if (pf_json_is(name, "r_square"))
        return read_number(reading, draft, PERUN_MODEL_R_SQUARE, &r_square, error);
    if (pf_json_is(name, "x_start") || pf_json_is(name, "x_interval_start"))
        return read_number(reading, draft, PERUN_MODEL_X_START, &draft->model.x_start, error);
    if (pf_json_is(name, "x_end") || pf_json_is(name, "x_interval_end"))
        return read_number(reading, draft, PERUN_MODEL_X_END, &draft->model.x_end, error);
    if (pf_json_is(name, "coeffs"))
        return read_coefficients(reading, draft, error);
    if (pf_json_is(name, "bucket_stats") || pf_json_is(name, "kernel_stats"))
        return read_values(reading, draft, error);
    if (pf_json_is(name, "per_key"))
        return read_field(reading, draft, name, &draft->model.x_field, error);
    if (pf_json_is(name, "of_key"))
        return read_field(reading, draft, name, &draft->model.y_field, error);
    return read_other(reading, draft, name, &token, error);
}

/* ---- the whole ---------------------------------------------------------------------------------- */

/* Files of release 0.16 name the kinds without coefficients as methods, and no model. */
static void find_kind(struct draft *draft)
{
    struct pf_cell *kind = &draft->cells[PERUN_MODEL_KIND], *method = &draft->cells[PERUN_MODEL_METHOD];
    if (kind->type == PF_ABSENT) {
        *kind = *method;
        draft->text[PERUN_MODEL_KIND] = draft->text[PERUN_MODEL_METHOD];
        *method = pf_absent();
    }
    for (unsigned i = 1; i < KINDS; i++)
        if (kind->type == PF_TEXT && kind->size == strlen(kinds[i]) &&
            !memcmp(draft->texts.at + draft->text[PERUN_MODEL_KIND], kinds[i], kind->size))
            draft->model.kind = (uint8_t)i;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct coefficient *)a)->name, ((const struct coefficient *)b)->name);
}

static bool number_named(const struct draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->n_coefficients; i++)
        if (!strcmp(draft->coefficients[i].name, name) && draft->coefficients[i].size)
            return true;
    return false;
}

/* b0=1.5;b1=0.0 */
static int set_coefficients(struct draft *draft, struct pf_error *error)
{
    size_t start = draft->texts.size;
    if (!draft->n_coefficients)
        return 0;
    qsort(draft->coefficients, draft->n_coefficients, sizeof *draft->coefficients, by_name);
    for (size_t i = 0; i < draft->n_coefficients; i++) {
        const struct coefficient *one = &draft->coefficients[i];
        if ((i && perun_text_add(&draft->texts, ";", 1, error)) ||
            perun_text_add(&draft->texts, one->name, strlen(one->name), error) ||
            perun_text_add(&draft->texts, "=", 1, error) ||
            perun_text_add(&draft->texts, one->value, one->size, error))
            return -1;
        if (one->name[0] == 'b' && one->name[1] >= '0' && one->name[1] <= '2' && !one->name[2])
            draft->model.b[one->name[1] - '0'] = one->number;
        draft->model.has_b2 |= !strcmp(one->name, "b2");
    }
    draft->model.has_b = number_named(draft, "b0") && number_named(draft, "b1");
    draft->text[PERUN_MODEL_COEFFS] = start;
    draft->cells[PERUN_MODEL_COEFFS] = pf_text(NULL, draft->texts.size - start);
    return 0;
}

/* As people write it: 0.505 + 9.94e-06 * x, of the coefficients to three digits. */
static int set_formula(struct draft *draft, struct pf_error *error)
{
    char out[160];
    const struct perun_model *model = &draft->model;
    const double *b = model->b;
    int size = 0;
    if (!model->has_b)
        return 0;
    char sign1 = signbit(b[1]) ? '-' : '+', sign2 = signbit(b[2]) ? '-' : '+';
    double b1 = fabs(b[1]), b2 = fabs(b[2]);
    switch (model->kind) {
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
        break;
    }
    for (int i = 0; i < size && i < (int)sizeof out; i++)
        if (out[i] == ',') /* the decimal point of another locale */
            out[i] = '.';
    return size > 0 ? set_text(draft, PERUN_MODEL_FORMULA, out, (size_t)size, error) : 0;
}

static int add_model(struct perun_data *data, struct draft *draft, struct pf_error *error)
{
    if (data->n_models == data->model_room) {
        size_t room = data->model_room ? 2 * data->model_room : 16;
        struct perun_model *list = realloc(data->model_list, room * sizeof *list);
        if (!list)
            return pf_fail_memory(error);
        data->model_list = list;
        data->model_room = room;
    }
    draft->cells[PERUN_MODEL_ID] = pf_uint(data->n_models);
    for (size_t i = 0; i < PERUN_MODEL_COLUMNS; i++)
        if (draft->cells[i].type == PF_TEXT)
            draft->cells[i].text = draft->texts.at ? draft->texts.at + draft->text[i] : "";
    if (pf_rows_add(data->models, draft->cells, error))
        return -1;
    data->models_text += draft->cells[PERUN_MODEL_STATS].size + draft->other.size;
    data->model_list[data->n_models++] = draft->model;
    return 0;
}

int perun_read_model(struct perun_reading *reading, struct pf_error *error)
{
    struct perun_data *data = reading->data;
    struct pf_json_token name;
    struct draft draft = {.model = {.uid = PF_NO_STRING,
                                    .x_field = PERUN_SIZE,
                                    .y_field = PERUN_AMOUNT,
                                    .x_start = NAN,
                                    .x_end = NAN}};
    int event, failed = 0;
    while (!failed && (event = pf_json_next(reading->json, &name, error)) != PF_JSON_OBJECT_END)
        failed = event < 0 || read_member(reading, &draft, &name, error);
    if (!failed && data->n_models == MODELS_MAX)
        PERUN_NOTE_AT(reading, &name, "warning", "many-models", "further models are left out");
    else if (!failed) {
        find_kind(&draft);
        failed = set_coefficients(&draft, error) || set_formula(&draft, error) ||
                 (draft.other.size &&
                  set_text(&draft, PERUN_MODEL_OTHER, draft.other.at, draft.other.size, error)) ||
                 add_model(data, &draft, error);
    }
    perun_text_free(&draft.texts);
    perun_text_free(&draft.other);
    return failed ? -1 : 0;
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

static int name_model(struct perun_data *data, const uint8_t *count, struct pf_strings *taken, size_t i,
                      struct pf_error *error)
{
    const struct pf_cell *row = pf_rows_at(data->models, i);
    const struct pf_cell *uid = &row[PERUN_MODEL_UID], *kind = &row[PERUN_MODEL_KIND],
                         *method = &row[PERUN_MODEL_METHOD];
    uint32_t string = data->model_list[i].uid;
    struct perun_text name = {0};
    int failed = perun_text_add(&name, uid->type == PF_TEXT ? uid->text : "",
                                uid->type == PF_TEXT ? uid->size : 0, error);
    if (!failed && (string == PF_NO_STRING || count[string] > 1) && kind->type == PF_TEXT)
        failed = perun_text_add(&name, " ", 1, error) || perun_text_add(&name, kind->text, kind->size, error);
    uint32_t before = pf_strings_count(taken);
    if (!failed && pf_intern(taken, name.at, name.size, error) == PF_NO_STRING)
        failed = -1;
    if (!failed && pf_strings_count(taken) == before) {
        char number[32];
        if (method->type == PF_TEXT)
            failed = perun_text_add(&name, " ", 1, error) ||
                     perun_text_add(&name, method->text, method->size, error);
        size_t size = (size_t)snprintf(number, sizeof number, " %zu", i);
        failed = failed || perun_text_add(&name, number, size, error);
    }
    struct pf_cell cells[] = {pf_uint(i), pf_text(name.at, name.size)};
    if (!failed)
        failed = pf_rows_add(data->model_names, cells, error);
    perun_text_free(&name);
    return failed ? -1 : 0;
}

int perun_name_models(struct perun_data *data, struct pf_error *error)
{
    uint8_t *count = count_uids(data);
    struct pf_strings *taken = pf_strings_new();
    int failed = count && taken ? 0 : pf_fail_memory(error);
    for (size_t i = 0; i < data->n_models && !failed; i++)
        failed = name_model(data, count, taken, i, error);
    free(count);
    pf_strings_free(taken);
    return failed ? -1 : 0;
}
