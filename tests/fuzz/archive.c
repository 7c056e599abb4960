/* SPDX-License-Identifier: MIT */
/* Reads any bytes as an archive: its index and its members. The first byte chooses the kind of archive. */
#include <dirent.h>
#include <errno.h>

#include "formats/input/archive.h"
#include "tests/fuzz/profile.h"

/* Maximum depth of folders that are entered, and number of bytes read per file. */
enum { DEPTH_MAX = 8, READ = 64 };

struct look {
    const struct pf_folder *folder;
    unsigned depth;
};

static int look_at(void *arg, const char *name, unsigned char type)
{
    const struct look *look = arg;
    char target[4096], bytes[READ];
    struct pf_opened opened;
    struct stat st;
    if (!*name || strchr(name, '/') || pf_folder_stat(look->folder, name, &st))
        abort();
    if (type == DT_LNK)
        pf_folder_link(look->folder, name, target, sizeof target);
    if (type == DT_REG && !pf_folder_file(look->folder, name, &opened)) {
        struct pf_error error;
        (void)!pf_opened_read(&opened, bytes, sizeof bytes, 0, &error);
        pf_opened_close(&opened);
    }
    struct pf_folder *below =
        look->depth < DEPTH_MAX && type == DT_DIR ? pf_folder_open(look->folder, name) : NULL;
    if (type == DT_DIR && look->depth < DEPTH_MAX && !below)
        abort();
    if (below)
        pf_folder_list(below, look_at, &(struct look){below, look->depth + 1});
    pf_folder_free(below);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a.tar", "a.tar.gz", "a.zip", "a.tar.zst"};
    const char *name = names[fuzz_choice(&data, &size) & 3];
    struct pf_archives *archives = pf_archives_new(1 << 20, true);
    int fd = fcntl(fuzz_folder(), F_DUPFD_CLOEXEC, 3);
    struct pf_folder *top = archives && fd >= 0 ? pf_folder_new(fd, archives) : NULL;
    if (!top)
        abort();
    fuzz_write(fuzz_folder(), name, data, size);
    struct pf_folder *archive = pf_folder_open(top, name);
    if (archive)
        pf_folder_list(archive, look_at, &(struct look){archive, 0});
    pf_folder_free(archive);
    pf_folder_free(top);
    pf_archives_free(archives);
    return 0;
}
