/* SPDX-License-Identifier: MIT */
#include "formats/perun/data.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/perun/paths.h"

/* ---- problems ----------------------------------------------------------------------------------- */

/* As many notes of one kind in a row as are listed. */
enum { ALIKE_MAX = 20 };

void perun_note(struct perun_notes *notes, int64_t line, int64_t offset, const char *severity,
                const char *code, const char *format, ...)
{
    bool fatal = !strcmp(severity, "fatal");
    size_t alike = 0;
    if (code == notes->full) {
        notes->more++;
        return;
    }
    for (size_t i = 0; i < notes->count; i++)
        alike += !strcmp(notes->list[i].code, code);
    if (!fatal && (alike >= ALIKE_MAX || notes->count >= PERUN_NOTES_MAX - 1)) {
        notes->full = code;
        notes->more++;
        return;
    }
    if (notes->count == PERUN_NOTES_MAX)
        return;
    struct perun_note *note = &notes->list[notes->count++];
    *note = (struct perun_note){.line = line, .offset = offset, .severity = severity, .code = code};
    va_list args;
    va_start(args, format);
    vsnprintf(note->text, sizeof note->text, format, args);
    va_end(args);
}

int perun_notes_publish(const struct perun_notes *notes, struct pf_profile *profile, struct pf_error *error)
{
    for (size_t i = 0; i < notes->count; i++) {
        const struct perun_note *note = &notes->list[i];
        if (pf_warn(profile, note->line, note->offset, note->severity, note->code, error, "%s", note->text))
            return -1;
    }
    return notes->more ? pf_warn(profile, 0, -1, "warning", "more", error,
                                 "%llu further problems are not listed", (unsigned long long)notes->more)
                       : 0;
}

/* ---- fields ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool identity, reserved;
} known_fields[] = {
    [PERUN_TIME] = {"time", true, true},
    [PERUN_TID] = {"tid", true, false},
    [PERUN_THREAD] = {"thread", true, true},
    [PERUN_AMOUNT] = {"amount", false, false},
    [PERUN_EXCLUSIVE] = {"exclusive", false, false},
    [PERUN_NCALLS] = {"ncalls", false, false},
    [PERUN_SIZE] = {"structure-unit-size", true, false},
    {"order", true, false},
    {"call-order", true, false},
    {"address", true, false},
    {"timestamp", true, false},
    {"pid", true, false},
    {"ppid", true, false},
    {"allocation_order", true, false},
    {"cluster", true, false},
    {"row", true, true},
    {"snapshot", true, true},
    {"type", true, true},
    {"subtype", true, true},
    {"uid", true, true},
    {"context", true, true},
    {"other", true, true},
};

static uint32_t *field_slot(const struct perun_fields *fields, uint32_t name)
{
    for (uint32_t i = name * 0x9e3779b1u;; i++) {
        uint32_t *slot = &fields->slots[i & fields->mask];
        if (!*slot || fields->list[*slot - 1].name == name)
            return slot;
    }
}

static int grow_fields(struct perun_fields *fields, struct pf_error *error)
{
    uint32_t room = fields->room ? 2 * fields->room : 64;
    struct perun_field *list = realloc(fields->list, room * sizeof *list);
    if (list)
        fields->list = list;
    uint32_t *slots = calloc(4 * (size_t)room, sizeof *slots);
    if (!list || !slots) {
        free(slots);
        return pf_fail_memory(error);
    }
    free(fields->slots);
    fields->slots = slots;
    fields->mask = 4 * room - 1;
    fields->room = room;
    for (uint32_t i = 0; i < fields->count; i++)
        *field_slot(fields, list[i].name) = i + 1;
    return 0;
}

int perun_field_of(struct perun_fields *fields, struct pf_strings *strings, const char *name, size_t size,
                   uint32_t *field, struct pf_error *error)
{
    uint32_t string = pf_intern(strings, name, size, error);
    if (string == PF_NO_STRING)
        return -1;
    *field = PERUN_NONE;
    if (fields->count == fields->room && grow_fields(fields, error))
        return -1;
    if (!fields->slots)
        return -1;
    uint32_t *slot = field_slot(fields, string);
    if (!*slot && fields->count == PERUN_FIELDS_MAX)
        return 0;
    if (!*slot) {
        fields->list[fields->count] = (struct perun_field){.name = string, .column = -1};
        *slot = ++fields->count;
    }
    *field = *slot - 1;
    return 0;
}

int perun_fields_init(struct perun_fields *fields, struct pf_strings *strings, struct pf_error *error)
{
    *fields = (struct perun_fields){0};
    for (size_t i = 0; i < sizeof known_fields / sizeof *known_fields; i++) {
        uint32_t field;
        if (perun_field_of(fields, strings, known_fields[i].name, strlen(known_fields[i].name), &field,
                           error))
            return -1;
        fields->list[field].identity = known_fields[i].identity;
        fields->list[field].reserved = known_fields[i].reserved;
    }
    return 0;
}

void perun_fields_free(struct perun_fields *fields)
{
    free(fields->list);
    free(fields->slots);
    *fields = (struct perun_fields){0};
}

/* ---- snapshots ---------------------------------------------------------------------------------- */

static uint32_t *snapshot_slot(const struct perun_data *data, int64_t number)
{
    for (uint32_t i = (uint32_t)((uint64_t)number * 0x9e3779b97f4a7c15u >> 32);; i++) {
        uint32_t *slot = &data->snapshot_slots[i & data->snapshot_mask];
        if (!*slot || data->snapshots[*slot - 1].number == number)
            return slot;
    }
}

static int grow_snapshots(struct perun_data *data, struct pf_error *error)
{
    uint32_t room = data->snapshot_room ? 2 * data->snapshot_room : 64;
    struct perun_snapshot *snapshots =
        room < UINT32_MAX / 8 ? realloc(data->snapshots, room * sizeof *snapshots) : NULL;
    if (snapshots)
        data->snapshots = snapshots;
    uint32_t *slots = snapshots ? calloc(2 * (size_t)room, sizeof *slots) : NULL;
    if (!slots)
        return pf_fail_memory(error);
    free(data->snapshot_slots);
    data->snapshot_slots = slots;
    data->snapshot_mask = 2 * room - 1;
    data->snapshot_room = room;
    for (uint32_t i = 0; i < data->n_snapshots; i++)
        *snapshot_slot(data, data->snapshots[i].number) = i + 1;
    return 0;
}

uint32_t perun_data_snapshot(struct perun_data *data, int64_t number, struct pf_error *error)
{
    if (data->n_snapshots == data->snapshot_room && grow_snapshots(data, error))
        return PERUN_NONE;
    uint32_t *slot = snapshot_slot(data, number);
    if (!*slot) {
        data->snapshots[data->n_snapshots] = (struct perun_snapshot){.number = number, .group = PERUN_NONE};
        *slot = ++data->n_snapshots;
    }
    return *slot - 1;
}

uint32_t perun_data_group(struct perun_data *data, struct pf_error *error)
{
    if (data->n_groups == data->group_room) {
        uint32_t room = data->group_room ? 2 * data->group_room : 64;
        uint32_t *groups = room < UINT32_MAX / 4 ? realloc(data->groups, room * sizeof *groups) : NULL;
        if (!groups) {
            pf_fail_memory(error);
            return PERUN_NONE;
        }
        data->groups = groups;
        data->group_room = room;
    }
    data->groups[data->n_groups] = PERUN_NONE;
    return data->n_groups++;
}

int perun_data_set_time(struct perun_data *data, uint32_t group, const struct pf_cell *time,
                        struct pf_error *error)
{
    size_t row = pf_rows_count(data->times);
    if (row >= PERUN_NONE)
        return pf_fail_memory(error);
    struct pf_cell cell = *time;
    cell.plain = cell.type == PF_TEXT && pf_text_is_plain(cell.text, cell.size);
    data->groups[group] = (uint32_t)row;
    return pf_rows_add(data->times, &cell, error);
}

struct pf_cell perun_data_time(const struct perun_data *data, uint32_t group)
{
    bool known = group < data->n_groups && data->groups[group] != PERUN_NONE;
    return known ? *pf_rows_at(data->times, data->groups[group]) : pf_absent();
}

/* ---- all ---------------------------------------------------------------------------------------- */

struct perun_data *perun_data_new(uint64_t limit, struct pf_error *error)
{
    struct perun_data *data = calloc(1, sizeof *data);
    if (!data) {
        pf_fail_memory(error);
        return NULL;
    }
    data->none_group = PERUN_NONE;
    data->tree = pf_tree_new(perun_kinds);
    data->times = pf_rows_new(1);
    data->properties = pf_rows_new(2);
    data->models = pf_rows_new(PERUN_MODEL_COLUMNS);
    data->model_names = pf_rows_new(2);
    data->model_values = pf_store_new(limit / 8);
    bool made = data->tree && data->times && data->properties && data->models && data->model_names &&
                data->model_values;
    if (!made)
        pf_fail_memory(error);
    if (made && !perun_fields_init(&data->fields, data->tree->strings, error) &&
        !perun_tape_open(&data->items, limit / 4, error) &&
        !perun_tape_open(&data->entries, limit / 4, error) &&
        !perun_tape_open(&data->shapes, limit / 8, error) &&
        !perun_tape_open(&data->keys, limit / 8, error) && !perun_tape_open(&data->types, limit / 8, error) &&
        !perun_tape_open(&data->links, limit / 8, error) &&
        !perun_tape_open(&data->columns, limit / 2, error))
        return data;
    perun_data_free(data);
    return NULL;
}

void perun_data_free(struct perun_data *data)
{
    if (!data)
        return;
    pf_tree_free(data->tree);
    perun_fields_free(&data->fields);
    struct perun_tape *tapes[] = {&data->items, &data->entries, &data->shapes, &data->keys,
                                  &data->types, &data->links,   &data->columns};
    for (size_t i = 0; i < sizeof tapes / sizeof *tapes; i++)
        perun_tape_close(tapes[i]);
    struct pf_rows *rows[] = {data->times, data->properties, data->models, data->model_names};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        pf_rows_free(rows[i]);
    pf_store_free(data->model_values);
    free(data->model_list);
    free(data->groups);
    free(data->snapshots);
    free(data->snapshot_slots);
    free(data);
}
