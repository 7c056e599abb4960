/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"
#include "formats/input/inflate.h"
#include "formats/kit/slice.h"
#include "formats/probe.h"

/* Gives drivers access to the file or directory that is being recognised. */

/* Most formats are recognised by the first bytes, so a larger head is read only on demand. */
enum { FIRST_READ = 8192, TEXT_BEGINNING = 256 };

ssize_t pf_probe_read(struct pf_probe *probe, void *buffer, size_t size, uint64_t offset)
{
    struct pf_opened opened = {.fd = probe->fd, .start = probe->start, .unpacked = probe->unpacked};
    struct pf_error error = {0};
    /* Bytes after a member of an archive are not part of the member. */
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
    /*
     * Deflate may store text uncompressed. Then `want` bytes of text take as many bytes of the file, plus headers. Read
     * these and retry.
     */
    if (probe->plain_have < want && packed < probe->size && packed < want + FIRST_READ) {
        head = pf_probe_head(probe, want + FIRST_READ, &packed);
        inflate_head(probe, head, packed, want);
    }
    *have = probe->plain_have < want ? probe->plain_have : want;
    return probe->plain;
}

const unsigned char *pf_probe_unpacked_head(struct pf_probe *probe, size_t want, size_t *have)
{
    const unsigned char *head = pf_probe_head(probe, want, have);
    return pf_inflate_is_gzip(head, *have) ? pf_probe_plain_head(probe, want, have) : head;
}

bool pf_probe_begins_text(struct pf_probe *probe)
{
    size_t have;
    const unsigned char *head = pf_probe_unpacked_head(probe, TEXT_BEGINNING, &have);
    return !have || !memchr(head, 0, have < TEXT_BEGINNING ? have : TEXT_BEGINNING);
}

const unsigned char *pf_probe_text_head(struct pf_probe *probe, size_t want, size_t *have)
{
    size_t size = strlen(PF_BYTE_ORDER_MARK);
    const unsigned char *head = pf_probe_unpacked_head(probe, want, have);
    if (!pf_begins(pf_slice((const char *)head, *have), PF_BYTE_ORDER_MARK))
        return head;
    head = pf_probe_unpacked_head(probe, want + size, have);
    *have -= size;
    return head + size;
}

bool pf_probe_is_text(struct pf_probe *probe)
{
    size_t have, nuls = 0;
    const unsigned char *head = pf_probe_unpacked_head(probe, PF_HEAD_MAX, &have);
    for (size_t i = 0; i < have; i++)
        nuls += !head[i];
    return pf_probe_begins_text(probe) && 1024 * nuls <= have;
}

void pf_probe_failed(struct pf_probe *probe, int code)
{
    if (pf_is_transient(code))
        probe->failure = code;
}

/* Opens the directory at a path relative to the probed one. NULL with errno set. */
static struct pf_folder *open_probed_folder(const struct pf_probe *probe, const char *path)
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
    probe->looked_inside |= result != ENOENT || strchr(name, '/');
    return !result;
}

size_t pf_probe_head_of(struct pf_probe *probe, const char *name, void *bytes, size_t size)
{
    struct pf_opened opened = {.fd = -1};
    struct pf_folder *own = probe->folder ? NULL : open_probed_folder(probe, ".");
    const struct pf_folder *folder = probe->folder ? probe->folder : own;
    int result = folder ? pf_folder_file(folder, name, &opened) : errno;
    ssize_t got = 0;
    pf_probe_failed(probe, result);
    probe->looked_inside = true;
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
    struct pf_folder *own = itself ? NULL : open_probed_folder(probe, path);
    const struct pf_folder *folder = itself ? probe->folder : own;
    int result = folder ? pf_folder_list(folder, each, arg) : errno;
    pf_folder_free(own);
    pf_probe_failed(probe, result);
    probe->looked_inside |= result || strcmp(path, ".") != 0;
    return result;
}

void pf_probe_ask(struct pf_probe *probe, const struct pf_driver *driver, struct pf_probe_result *result)
{
    driver->probe(probe, result);
    if (result->confidence && driver->text && !pf_probe_is_text(probe))
        *result = (struct pf_probe_result){0};
}
