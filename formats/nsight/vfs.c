/* SPDX-License-Identifier: MIT */
#include "formats/nsight/db.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/kit/bytes.h"

struct file {
    sqlite3_file base;
    struct nsight_vfs *vfs;
};

/* ---- the file ----------------------------------------------------------------------------------- */

static int close_file(sqlite3_file *file)
{
    (void)file;
    return SQLITE_OK;
}

/* Where the input has nothing, zeros are read: SQLite asks for this, and finds no page there. */
static int read_file(sqlite3_file *file, void *buffer, int size, sqlite3_int64 offset)
{
    struct nsight_vfs *vfs = ((struct file *)file)->vfs;
    if (size < 0 || offset < 0)
        return SQLITE_IOERR_READ;
    ssize_t n = pf_input_read(vfs->input, buffer, (size_t)size, (uint64_t)offset, &vfs->failure);
    if (n < 0) {
        vfs->failed = true;
        return SQLITE_IOERR_READ;
    }
    vfs->bytes += (uint64_t)n;
    memset((char *)buffer + n, 0, (size_t)(size - n));
    return n < size ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int write_nothing(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset)
{
    (void)file, (void)bytes, (void)size, (void)offset;
    return SQLITE_READONLY;
}

static int truncate_nothing(sqlite3_file *file, sqlite3_int64 size)
{
    (void)file, (void)size;
    return SQLITE_READONLY;
}

/* Locks and sync: there is nothing to be done. */
static int do_nothing(sqlite3_file *file, int how)
{
    (void)file, (void)how;
    return SQLITE_OK;
}

static int size_of_file(sqlite3_file *file, sqlite3_int64 *size)
{
    *size = (sqlite3_int64)((struct file *)file)->vfs->size;
    return SQLITE_OK;
}

static int is_reserved(sqlite3_file *file, int *reserved)
{
    (void)file;
    *reserved = 0;
    return SQLITE_OK;
}

static int control_file(sqlite3_file *file, int operation, void *arg)
{
    (void)file, (void)operation, (void)arg;
    return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *file)
{
    (void)file;
    return 4096;
}

/* Immutable: SQLite then looks for no journal and no write-ahead log, whatever the header says. */
static int characteristics(sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 1,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_nothing,
    .xTruncate = truncate_nothing,
    .xSync = do_nothing,
    .xFileSize = size_of_file,
    .xLock = do_nothing,
    .xUnlock = do_nothing,
    .xCheckReservedLock = is_reserved,
    .xFileControl = control_file,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
};

/* ---- the file system: what differs from the system's own ---------------------------------------- */

/* There is the one file; temporary ones are held in memory. */
static int open_file(sqlite3_vfs *methods, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    file->pMethods = NULL;
    if (!name || strcmp(name, NSIGHT_VFS_FILE) != 0 || !(flags & SQLITE_OPEN_MAIN_DB))
        return SQLITE_CANTOPEN;
    ((struct file *)file)->vfs = methods->pAppData;
    file->pMethods = &file_methods;
    if (out_flags)
        *out_flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
    return SQLITE_OK;
}

static int delete_nothing(sqlite3_vfs *methods, const char *name, int sync)
{
    (void)methods, (void)name, (void)sync;
    return SQLITE_READONLY;
}

static int has_access(sqlite3_vfs *methods, const char *name, int flags, int *result)
{
    (void)methods, (void)name, (void)flags;
    *result = 0;
    return SQLITE_OK;
}

static int full_name(sqlite3_vfs *methods, const char *name, int size, char *out)
{
    (void)methods;
    snprintf(out, (size_t)size, "%s", name);
    return SQLITE_OK;
}

/*
 * The length that the header tells: the page size at 16 (1 stands for 65536) times the pages at 28, which hold if
 * the change counter at 24 is the one they were written with, at 92. 0: it tells none. All numbers are big-endian.
 */
static uint64_t told_size(const unsigned char header[100])
{
    uint32_t page = pf_u16(header + 16, true);
    if (page == 1)
        page = 65536;
    bool page_ok = page >= 512 && !(page & (page - 1));
    return page_ok && pf_u32(header + 24, true) == pf_u32(header + 92, true)
               ? (uint64_t)pf_u32(header + 28, true) * page
               : 0;
}

int nsight_vfs_register(struct nsight_vfs *vfs, struct pf_input *input, struct pf_error *error)
{
    unsigned char header[100] = {0};
    ssize_t have = pf_input_read(input, header, sizeof header, 0, error);
    if (have < 0)
        return -1;
    *vfs = (struct nsight_vfs){.input = input, .have = pf_input_size(input)};
    uint64_t told = have == sizeof header ? told_size(header) : 0;
    vfs->size = told > vfs->have ? told : vfs->have;
    snprintf(vfs->name, sizeof vfs->name, "profilefs-%" PRIxPTR, (uintptr_t)vfs);
    const sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    if (!system)
        return pf_fail_memory(error);
    vfs->methods = *system; /* for time, sleep and chance, which have no say in what is read */
    vfs->methods.iVersion = 1;
    vfs->methods.szOsFile = sizeof(struct file);
    vfs->methods.mxPathname = 64;
    vfs->methods.pNext = NULL;
    vfs->methods.zName = vfs->name;
    vfs->methods.pAppData = vfs;
    vfs->methods.xOpen = open_file;
    vfs->methods.xDelete = delete_nothing;
    vfs->methods.xAccess = has_access;
    vfs->methods.xFullPathname = full_name;
    return sqlite3_vfs_register(&vfs->methods, 0) == SQLITE_OK ? 0 : pf_fail_memory(error);
}

void nsight_vfs_unregister(struct nsight_vfs *vfs)
{
    sqlite3_vfs_unregister(&vfs->methods);
}
