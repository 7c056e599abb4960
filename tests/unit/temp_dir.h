/* SPDX-License-Identifier: MIT */
#ifndef TEMP_DIR_H
#define TEMP_DIR_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A temporary folder for a test, and files in it. Any failure aborts the test. */

#define TEMP_DIR __attribute__((unused)) static

/* Makes the folder and writes its path to `path`. */
TEMP_DIR void temp_dir_make(char path[64])
{
    const char *folder = getenv("TMPDIR");
    int n = snprintf(path, 64, "%s/pf-test.XXXXXX", folder && strlen(folder) < 40 ? folder : "/tmp");
    if (n >= 64 || !mkdtemp(path))
        abort();
}

TEMP_DIR int temp_dir_remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

TEMP_DIR void temp_dir_remove(const char *path)
{
    nftw(path, temp_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Runs each test of a NULL-terminated list in a temporary folder of its own. */
TEMP_DIR void run_in_temp_dirs(void (*const tests[])(const char *folder))
{
    for (size_t i = 0; tests[i]; i++) {
        char folder[64];
        temp_dir_make(folder);
        tests[i](folder);
        temp_dir_remove(folder);
    }
}

/* Returns FOLDER/NAME in one of four static buffers, valid for the next three calls; `folder` may be such a buffer. */
TEMP_DIR const char *path_in(const char *folder, const char *name)
{
    static char paths[4][4200];
    static unsigned next;
    char *path = paths[next++ % 4];
    size_t size = strlen(folder);
    if (size >= sizeof paths[0])
        abort();
    memmove(path, folder, size);
    snprintf(path + size, sizeof paths[0] - size, "/%s", name);
    return path;
}

/* Writes a file in place. An existing file keeps its inode. */
TEMP_DIR void write_bytes(const char *folder, const char *name, const void *bytes, size_t size)
{
    int fd = open(path_in(folder, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd))
        abort();
}

TEMP_DIR void write_text(const char *folder, const char *name, const char *text)
{
    write_bytes(folder, name, text, strlen(text));
}

/* Replaces a file by a new one with another inode, as editors do. */
TEMP_DIR void replace_text(const char *folder, const char *name, const char *text)
{
    write_text(folder, "replacement.tmp", text);
    if (rename(path_in(folder, "replacement.tmp"), path_in(folder, name)))
        abort();
}

TEMP_DIR void make_folder(const char *folder, const char *name)
{
    if (mkdir(path_in(folder, name), 0755))
        abort();
}

#endif
