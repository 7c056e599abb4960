/* SPDX-License-Identifier: MIT */
#include "fs/profile/known.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "fs/profile/names.h"

enum { FOLDERS_MAX = 128, FILES_MAX = 512, BYTES_MAX = 128 * 1024, NO_TEXT = -1 };

struct pf_known_folder {
    uint64_t node;
    uint32_t first, count; /* of its entries */
};

struct pf_known_entry {
    uint64_t node;
    uint64_t name; /* where it stands in bytes */
};

struct pf_known_file {
    uint64_t node, size;
    int64_t text; /* where it stands in bytes, or NO_TEXT */
};

static uint64_t key_of(struct pf_node node)
{
    return (uint64_t)node.kind << 32 | node.item;
}

static struct pf_node node_of(uint64_t key)
{
    return (struct pf_node){(unsigned)(key >> 32), (uint32_t)key};
}

void pf_known_free(struct pf_known *known)
{
    free(known->folders);
    free(known->entries);
    free(known->files);
    pf_buf_free(&known->bytes);
    *known = (struct pf_known){0};
}

/* ---- asking ------------------------------------------------------------------------------------- */

static const struct pf_known_folder *folder_of(const struct pf_known *known, struct pf_node folder)
{
    uint64_t key = key_of(folder);
    for (size_t i = 0; i < known->n_folders; i++)
        if (known->folders[i].node == key)
            return &known->folders[i];
    return NULL;
}

static struct pf_known_file *file_of(const struct pf_known *known, struct pf_node file)
{
    uint64_t key = key_of(file);
    for (size_t i = 0; i < known->n_files; i++)
        if (known->files[i].node == key)
            return &known->files[i];
    return NULL;
}

bool pf_known_lists(const struct pf_known *known, struct pf_node folder)
{
    return folder_of(known, folder) != NULL;
}

static const char *name_of(const struct pf_known *known, const struct pf_known_entry *entry)
{
    return known->bytes.data + entry->name;
}

bool pf_known_entry(const struct pf_known *known, struct pf_node folder, uint64_t number, char *name,
                    struct pf_node *entry)
{
    const struct pf_known_folder *listing = folder_of(known, folder);
    if (!listing || number >= listing->count)
        return false;
    const struct pf_known_entry *at = &known->entries[listing->first + number];
    strcpy(name, name_of(known, at));
    *entry = node_of(at->node);
    return true;
}

bool pf_known_find(const struct pf_known *known, struct pf_node folder, const char *name,
                   struct pf_node *entry)
{
    const struct pf_known_folder *listing = folder_of(known, folder);
    for (uint32_t i = 0; listing && i < listing->count; i++) {
        const struct pf_known_entry *at = &known->entries[listing->first + i];
        if (!strcmp(name_of(known, at), name)) {
            *entry = node_of(at->node);
            return true;
        }
    }
    return false;
}

bool pf_known_parent(const struct pf_known *known, struct pf_node node, struct pf_node *parent, char *name)
{
    uint64_t key = key_of(node);
    for (size_t f = 0; f < known->n_folders; f++) {
        const struct pf_known_folder *folder = &known->folders[f];
        for (uint32_t i = folder->first; i < folder->first + folder->count; i++)
            if (known->entries[i].node == key) {
                *parent = node_of(folder->node);
                strcpy(name, name_of(known, &known->entries[i]));
                return true;
            }
    }
    return false;
}

bool pf_known_file(const struct pf_known *known, struct pf_node file, uint64_t *size, const char **text)
{
    const struct pf_known_file *found = file_of(known, file);
    if (!found)
        return false;
    *size = found->size;
    *text = found->text == NO_TEXT ? NULL : known->bytes.data + found->text;
    return true;
}

/* ---- learning ----------------------------------------------------------------------------------- */

void pf_known_list(struct pf_buf *entries, struct pf_node entry, const char *name)
{
    uint64_t key = key_of(entry);
    pf_buf_add(entries, (const char *)&key, sizeof key);
    pf_buf_add(entries, name, strlen(name) + 1);
}

void pf_known_add_folder(struct pf_known *known, struct pf_node folder, uint32_t count,
                         const struct pf_buf *entries)
{
    struct pf_error error;
    if (known->n_folders >= FOLDERS_MAX || entries->failed || known->bytes.size + entries->size > BYTES_MAX ||
        folder_of(known, folder) || !pf_buf_reserve(&known->bytes, entries->size + 1) ||
        pf_array_room(&known->folders, &known->folders_room, known->n_folders, sizeof *known->folders,
                      &error)) {
        known->bytes.failed = false;
        return;
    }
    const char *at = entries->data;
    uint32_t first = (uint32_t)known->n_entries;
    for (uint32_t i = 0; i < count; i++) {
        struct pf_known_entry entry = {0, known->bytes.size};
        if (pf_array_room(&known->entries, &known->entries_room, known->n_entries, sizeof entry, &error)) {
            known->n_entries = first;
            return;
        }
        memcpy(&entry.node, at, sizeof entry.node);
        at += sizeof entry.node;
        pf_buf_add(&known->bytes, at, strlen(at) + 1);
        at += strlen(at) + 1;
        known->entries[known->n_entries++] = entry;
    }
    known->folders[known->n_folders++] = (struct pf_known_folder){key_of(folder), first, count};
    known->changed = true;
}

void pf_known_add_file(struct pf_known *known, struct pf_node node, uint64_t size, const char *text)
{
    struct pf_error error;
    struct pf_known_file *file = file_of(known, node);
    if (!file) {
        if (known->n_files >= FILES_MAX ||
            pf_array_room(&known->files, &known->files_room, known->n_files, sizeof *known->files, &error))
            return;
        file = &known->files[known->n_files++];
        *file = (struct pf_known_file){key_of(node), size, NO_TEXT};
        known->changed = true;
    }
    if (!text || size > PF_KNOWN_TEXT_MAX || file->text != NO_TEXT || known->bytes.size + size > BYTES_MAX)
        return;
    size_t at = known->bytes.size;
    pf_buf_add(&known->bytes, text, size);
    if (known->bytes.failed) {
        known->bytes.failed = false;
        return;
    }
    file->text = (int64_t)at;
    known->changed = true;
}

/* ---- as bytes ----------------------------------------------------------------------------------- */

void pf_known_pack(const struct pf_known *known, struct pf_buf *out)
{
    pf_pack_u64(out, known->n_folders);
    pf_buf_add(out, (const char *)known->folders, known->n_folders * sizeof *known->folders);
    pf_pack_u64(out, known->n_entries);
    pf_buf_add(out, (const char *)known->entries, known->n_entries * sizeof *known->entries);
    pf_pack_u64(out, known->n_files);
    pf_buf_add(out, (const char *)known->files, known->n_files * sizeof *known->files);
    pf_pack_u64(out, known->bytes.size);
    pf_buf_add(out, known->bytes.data, known->bytes.size);
}

/* Nothing in it points to where nothing is. */
static bool is_sound(const struct pf_known *known)
{
    size_t size = known->bytes.size;
    for (size_t i = 0; i < known->n_folders; i++)
        if (known->folders[i].first > known->n_entries ||
            known->folders[i].count > known->n_entries - known->folders[i].first)
            return false;
    for (size_t i = 0; i < known->n_entries; i++)
        if (known->entries[i].name >= size ||
            strnlen(name_of(known, &known->entries[i]), size - known->entries[i].name) >
                (size - known->entries[i].name - 1 < PF_NAME_MAX ? size - known->entries[i].name - 1
                                                                 : PF_NAME_MAX))
            return false;
    for (size_t i = 0; i < known->n_files; i++) {
        const struct pf_known_file *file = &known->files[i];
        if (file->text != NO_TEXT &&
            (file->text < 0 || (uint64_t)file->text > size || file->size > size - (uint64_t)file->text))
            return false;
    }
    return true;
}

bool pf_known_unpack(struct pf_known *known, struct pf_unpack *in)
{
    *known = (struct pf_known){0};
    known->n_folders = known->folders_room = pf_unpack_u64(in);
    known->folders = pf_unpack_array(in, known->n_folders, sizeof *known->folders);
    known->n_entries = known->entries_room = pf_unpack_u64(in);
    known->entries = pf_unpack_array(in, known->n_entries, sizeof *known->entries);
    known->n_files = known->files_room = pf_unpack_u64(in);
    known->files = pf_unpack_array(in, known->n_files, sizeof *known->files);
    known->bytes.size = pf_unpack_u64(in);
    known->bytes.data = pf_unpack_array(in, known->bytes.size, 1);
    known->bytes.room = known->bytes.size;
    if (!in->failed && is_sound(known))
        return true;
    if (!known->bytes.data)
        known->bytes = (struct pf_buf){0};
    pf_known_free(known);
    return false;
}

size_t pf_known_bytes(const struct pf_known *known)
{
    return known->folders_room * sizeof *known->folders + known->entries_room * sizeof *known->entries +
           known->files_room * sizeof *known->files + known->bytes.room;
}
