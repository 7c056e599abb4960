/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cli/commands.h"
#include "fs/exit.h"
#include "fs/profile/cache.h"

static void print_bytes(const char *key, uint64_t bytes)
{
    printf("%s: %.1f MB\n", key, (double)bytes / 1e6);
}

static void show(const struct pf_fs_options *options, struct pf_cachedb *db)
{
    struct pf_cache_usage usage;
    pf_cache_usage(options->cache_folder, db, &usage);
    printf("Folder: %s\n", options->cache_folder);
    if (options->db_folder && strcmp(options->db_folder, options->cache_folder) != 0)
        printf("Database: %s\n", options->db_folder);
    print_bytes("Limit", options->cache_limit);
    printf("Entries: %llu\n", (unsigned long long)usage.entries);
    print_bytes("Size", usage.entry_bytes);
    printf("Files: %llu\n", (unsigned long long)usage.files);
    print_bytes("Size of files", usage.file_bytes);
}

int pf_command_cache(const struct pf_fs_options *options, int argc, char **argv)
{
    bool clear = argc == 1 && !strcmp(argv[0], "clear");
    if (argc && !clear) {
        fprintf(stderr, "profilefs: usage: profilefs cache [clear]\n");
        return PF_EXIT_USAGE;
    }
    if (!options->cache_folder) {
        fprintf(stderr, "profilefs: no cache: neither XDG_CACHE_HOME nor HOME is set\n");
        return PF_EXIT_SYSTEM;
    }
    struct pf_cachedb *db = options->db_folder ? pf_cachedb_new(options->db_folder) : NULL;
    if (clear)
        pf_cache_clear(options->cache_folder, db);
    else
        show(options, db);
    pf_cachedb_free(db);
    return fflush(stdout) ? PF_EXIT_SYSTEM : PF_EXIT_OK;
}
