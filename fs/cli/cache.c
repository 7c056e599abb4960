/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cache/cache.h"
#include "fs/cli/commands.h"
#include "fs/exit.h"

static void print_bytes(const char *key, uint64_t bytes)
{
    printf("%s: %.1f MB\n", key, (double)bytes / 1e6);
}

static void show(const struct pf_fs_options *options, struct pf_cache *cache)
{
    uint64_t sources, bytes;
    pf_cache_usage(cache, &sources, &bytes);
    printf("Folder: %s\n", options->cache_folder);
    print_bytes("Limit", options->cache_limit);
    printf("Entries: %llu\n", (unsigned long long)sources);
    print_bytes("Size", bytes);
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
    struct pf_cache *cache = pf_cache_new(options->cache_folder);
    if (!cache)
        return PF_EXIT_SYSTEM;
    if (clear)
        pf_cache_clear(cache);
    else
        show(options, cache);
    pf_cache_free(cache);
    return fflush(stdout) ? PF_EXIT_SYSTEM : PF_EXIT_OK;
}
