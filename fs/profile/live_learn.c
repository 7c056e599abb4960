/* SPDX-License-Identifier: MIT */
#include "fs/profile/live_private.h"
#include "fs/profile/names.h"

/* Looks at what people look at, so that it is known the next time: sizes, and the texts of small files. */

/* Larger folders of items are listed, and that is all. */
enum { ITEMS_MAX = 64, DEPTH_MAX = 3 };

struct learning {
    struct pf_live *live;
    void (*progress)(const struct pf_pass *pass, void *arg);
    void *arg;
};

#define WAIT_FOR(result, learning, call)                                                                     \
    for (struct pf_job *job = NULL; ((result) = (call)) == PF_WAIT; pf_job_release(job))                     \
    pf_job_block(job, (learning)->progress, (learning)->arg)

static int read_file(const struct learning *learning, struct pf_node node, struct pf_error *error)
{
    struct pf_file *file;
    struct pf_piece pieces[PF_PIECES];
    int result, n = 0;
    WAIT_FOR(result, learning, pf_file_open(learning->live, node.kind, node.item, &file, &job, error));
    if (result)
        return result;
    const char *bytes;
    size_t size;
    if (!pf_file_bytes(file, &bytes, &size))
        WAIT_FOR(result, learning, pf_file_read(file, 0, PF_KNOWN_TEXT_MAX, pieces, &n, &job, error));
    while (n > 0)
        pf_blocks_release(learning->live->core->blocks, pieces[--n].block);
    pf_file_close(file);
    return result;
}

/* Files that have a pass of their own, or tell of one of very many, are left to who asks for them. */
static bool is_left_out(const struct pf_live *live, struct pf_node node)
{
    if (node.kind == PF_BLOB || node.kind == PF_SOURCE_FOLDER)
        return true;
    if (pf_table_of(node.kind) < 0)
        return false;
    unsigned base = pf_table_base(node.kind);
    const struct pf_table *table = &live->profile.tables[pf_table_of(node.kind)];
    return table->ops && (base == PF_TABLE_OF_METRIC || base == PF_TABLE_OF_KEY);
}

static int learn_file(const struct learning *learning, struct pf_node node, struct pf_error *error)
{
    uint64_t size;
    int result;
    if (is_left_out(learning->live, node))
        return 0;
    WAIT_FOR(result, learning, pf_live_size(learning->live, node.kind, node.item, &size, &job, error));
    return result || size > PF_KNOWN_TEXT_MAX ? result : read_file(learning, node, error);
}

static int learn_folder(const struct learning *learning, struct pf_node folder, unsigned depth,
                        struct pf_error *error)
{
    struct pf_live *live = learning->live;
    struct pf_node entry;
    char name[PF_NAME_MAX + 1];
    int result;
    if (folder.kind == PF_CONTEXTS || folder.kind == PF_EXPORT || depth > DEPTH_MAX)
        return 0;
    WAIT_FOR(result, learning, pf_live_ready(live, folder.kind, folder.item, &job, error));
    bool many = !result && pf_folder_entry(live, folder, ITEMS_MAX, name, &entry);
    for (uint64_t i = 0; !result && !many && pf_folder_entry(live, folder, i, name, &entry); i++)
        result = pf_is_folder(entry.kind) ? learn_folder(learning, entry, depth + 1, error)
                                          : learn_file(learning, entry, error);
    return result;
}

int pf_live_learn(struct pf_live *live, void (*progress)(const struct pf_pass *pass, void *arg), void *arg,
                  struct pf_error *error)
{
    struct learning learning = {live, progress, arg};
    if (!live->path || !live->core->cachedb)
        return 0;
    return learn_folder(&learning, (struct pf_node){PF_TOP, 0}, 0, error);
}
