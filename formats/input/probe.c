/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"
#include "formats/input/archive.h"
#include "formats/input/inflate.h"
#include "formats/input/unpacked.h"

/* Most files are told by their first bytes: heads grow only for drivers that ask for more. */
enum {
    FIRST_READ = 4096,
    TAR_HEADER = 512,
    TEXT_BEGINNING = 256,
    MAGIC = 32 /* bits that a magic number is worth */
};

ssize_t pf_probe_read(struct pf_probe *probe, void *buffer, size_t size, uint64_t offset)
{
    struct pf_opened opened = {.fd = probe->fd, .start = probe->start, .unpacked = probe->unpacked};
    struct pf_error error = {0};
    /* What lies behind a member of an archive is none of its bytes. */
    if (offset >= probe->size)
        return 0;
    if (size > probe->size - offset)
        size = (size_t)(probe->size - offset);
    ssize_t got = pf_opened_read(&opened, buffer, size, offset, &error);
    if (got < 0) {
        pf_probe_failed(probe, error.code);
        errno = error.code;
    }
    return got;
}

ssize_t pf_probe_source(void *probe, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    ssize_t got = pf_probe_read(probe, buffer, size, offset);
    return got < 0 ? pf_fail(error, errno, "%s", strerror(errno)) : got;
}

const unsigned char *pf_probe_head(struct pf_probe *probe, size_t want, size_t *have)
{
    if (probe->directory || want > PF_HEAD_MAX)
        want = probe->directory ? 0 : PF_HEAD_MAX;
    if (want < FIRST_READ)
        want = FIRST_READ;
    while (!probe->directory && probe->have < want && probe->have < probe->size) {
        ssize_t n = pf_probe_read(probe, probe->bytes + probe->have, want - probe->have, probe->have);
        if (n <= 0)
            break;
        probe->have += (size_t)n;
    }
    *have = probe->have;
    return probe->bytes;
}

static void inflate_head(struct pf_probe *probe, const unsigned char *head, size_t packed, size_t want)
{
    struct pf_error error;
    ssize_t got = pf_inflate_head(head, packed, probe->plain, want, &error);
    if (got < 0)
        pf_probe_failed(probe, error.code);
    probe->plain_have = got < 0 ? 0 : (size_t)got;
}

const unsigned char *pf_probe_plain_head(struct pf_probe *probe, size_t want, size_t *have)
{
    size_t packed;
    const unsigned char *head = pf_probe_head(probe, FIRST_READ, &packed);
    if (want > PF_PLAIN_HEAD_MAX)
        want = PF_PLAIN_HEAD_MAX;
    if (probe->plain_have < want)
        inflate_head(probe, head, packed, want);
    /* Stored without compression, that much text takes that many bytes of the file, and a little for headers. */
    if (probe->plain_have < want && packed < probe->size && packed < want + FIRST_READ) {
        head = pf_probe_head(probe, want + FIRST_READ, &packed);
        inflate_head(probe, head, packed, want);
    }
    *have = probe->plain_have < want ? probe->plain_have : want;
    return probe->plain;
}

/* The head of the file, or of what it inflates to if it is gzip data. */
static const unsigned char *unpacked_head(struct pf_probe *probe, size_t want, size_t *have)
{
    const unsigned char *head = pf_probe_head(probe, want, have);
    return pf_inflate_is_gzip(head, *have) ? pf_probe_plain_head(probe, want, have) : head;
}

bool pf_probe_is_text(struct pf_probe *probe)
{
    size_t have, nuls = 0;
    const unsigned char *head = unpacked_head(probe, PF_HEAD_MAX, &have);
    for (size_t i = 0; i < have; i++)
        nuls += !head[i];
    return !memchr(head, 0, have < TEXT_BEGINNING ? have : TEXT_BEGINNING) && 1024 * nuls <= have;
}

void pf_probe_failed(struct pf_probe *probe, int code)
{
    if (pf_is_transient(code))
        probe->lack = code;
}

/* The directory at a path in the one that is looked at. NULL with errno. */
static struct pf_folder *open_folder(const struct pf_probe *probe, const char *path)
{
    if (probe->folder)
        return pf_folder_open(probe->folder, path);
    int fd = pf_open_beneath(probe->fd, path, O_RDONLY | O_DIRECTORY);
    return fd < 0 ? NULL : pf_folder_new(fd, NULL);
}

bool pf_probe_has(struct pf_probe *probe, const char *name)
{
    struct stat st;
    if (!probe->directory)
        return false;
    int result = probe->folder ? pf_folder_stat(probe->folder, name, &st)
                 : fstatat(probe->fd, name, &st, AT_SYMLINK_NOFOLLOW) ? errno
                                                                      : 0;
    pf_probe_failed(probe, result);
    return !result;
}

size_t pf_probe_head_of(struct pf_probe *probe, const char *name, void *bytes, size_t size)
{
    struct pf_opened opened = {.fd = -1};
    struct pf_folder *own = probe->folder ? NULL : open_folder(probe, ".");
    const struct pf_folder *folder = probe->folder ? probe->folder : own;
    int result = folder ? pf_folder_file(folder, name, &opened) : errno;
    ssize_t got = 0;
    pf_probe_failed(probe, result);
    if (!result) {
        if (opened.within && size > (uint64_t)opened.st.st_size)
            size = (size_t)opened.st.st_size;
        struct pf_error error = {0};
        got = pf_opened_read(&opened, bytes, size, 0, &error);
        pf_probe_failed(probe, got < 0 ? error.code : 0);
        pf_opened_close(&opened);
    }
    pf_folder_free(own);
    return got > 0 ? (size_t)got : 0;
}

int pf_probe_list(struct pf_probe *probe, const char *path, pf_folder_visit *each, void *arg)
{
    bool itself = probe->folder && !strcmp(path, ".");
    struct pf_folder *own = itself ? NULL : open_folder(probe, path);
    const struct pf_folder *folder = itself ? probe->folder : own;
    int result = folder ? pf_folder_list(folder, each, arg) : errno;
    pf_folder_free(own);
    pf_probe_failed(probe, result);
    return result;
}

/* A tar or zip archive, also a tar that is compressed by gzip, as far as its first bytes show. */
static bool is_archive(struct pf_probe *probe)
{
    size_t have;
    const unsigned char *head = unpacked_head(probe, TAR_HEADER, &have);
    return pf_archive_begins(head, have);
}

void pf_probe_ask(struct pf_probe *probe, const struct pf_driver *driver, struct pf_verdict *verdict)
{
    driver->probe(probe, verdict);
    if (verdict->confidence && driver->text && !pf_probe_is_text(probe))
        *verdict = (struct pf_verdict){0};
}

static const struct pf_driver *surest(struct pf_probe *probe, bool beside, struct pf_verdict *verdict)
{
    const struct pf_driver *best = NULL;
    bool archive = is_archive(probe);
    *verdict = (struct pf_verdict){0};
    for (size_t i = 0; pf_drivers[i]; i++) {
        struct pf_verdict mine = {0};
        if (pf_drivers[i]->directories != probe->directory || pf_drivers[i]->beside != beside ||
            (archive && !pf_drivers[i]->archives))
            continue;
        pf_probe_ask(probe, pf_drivers[i], &mine);
        if (mine.confidence > verdict->confidence) {
            *verdict = mine;
            best = pf_drivers[i];
        }
        if (verdict->confidence >= MAGIC) /* no two formats have the same */
            break;
    }
    return best;
}

/*
 * How far a compressed file is unpacked to be looked at: if it ends before, its size is known; nobody looks at what lies behind.
 */
enum { LOOK_MAX = 16 << 20 };

static const struct pf_driver *surest_within(struct pf_probe *packed, enum pf_packing_kind kind,
                                             struct pf_verdict *verdict)
{
    const struct pf_driver *best = NULL;
    struct pf_unpacked *unpacked =
        pf_unpacked_new(NULL, kind, pf_probe_source, packed, 0, packed->size, LOOK_MAX);
    struct pf_probe *inner = calloc(1, sizeof *inner);
    unsigned char *head = malloc(PF_HEAD_MAX);
    char *name = strndup(packed->name, pf_packing_stem(packed->name));
    if (!unpacked || !inner || !head || !name) {
        packed->lack = ENOMEM;
    } else {
        *inner = (struct pf_probe){
            .name = name, .fd = -1, .unpacked = unpacked, .size = UINT64_MAX, .bytes = head};
        pf_probe_head(inner, PF_HEAD_MAX, &(size_t){0});
        inner->size = pf_unpacked_size(unpacked);
        best = surest(inner, false, verdict);
        if (inner->lack)
            packed->lack = inner->lack;
    }
    free(name);
    free(head);
    free(inner);
    pf_unpacked_release(unpacked);
    return best;
}

const struct pf_driver *pf_recognise(struct pf_probe *probe, struct pf_verdict *verdict)
{
    const struct pf_driver *best = surest(probe, false, verdict);
    size_t have = 0;
    const unsigned char *head = best || probe->directory ? NULL : pf_probe_head(probe, FIRST_READ, &have);
    enum pf_packing_kind kind = pf_packing_kind_of(head, have);
    return kind == PF_UNPACKED ? best : surest_within(probe, kind, verdict);
}

const struct pf_driver *pf_recognise_beside(struct pf_probe *probe, struct pf_verdict *verdict)
{
    return surest(probe, true, verdict);
}
