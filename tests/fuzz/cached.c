/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include "tests/unit/profile_fixture.h"
#include "tests/unit/stored.h"

/*
 * Opens a profile with cached data that has a matching head and a correct checksum, but arbitrary fields. Then requests sizes and bytes of
 * the profile's files.
 */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fuzzed {
    char folder[64], cache[80];
    uint64_t origin;
    struct pf_buf head;
    struct pf_env env;
} fuzzed;

static void clean_up(void)
{
    temp_dir_remove(fuzzed.folder);
}

static void read_back(struct pf_profile *profile, struct pf_node node)
{
    struct pf_error error;
    struct pf_buf out = {0};
    uint64_t size;
    size_of(profile, node, &size, &error);
    read_file(&fuzzed.env, profile, node, 50000, &out, &error);
    pf_buf_free(&out);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct pf_error error;
    (void)argc, (void)argv;
    temp_dir_make(fuzzed.folder);
    atexit(clean_up);
    snprintf(fuzzed.cache, sizeof fuzzed.cache, "%s/cache", fuzzed.folder);
    write_text(fuzzed.folder, "log", "3 8 400");
    env_init(&fuzzed.env, fuzzed.cache);
    struct pf_profile *profile = profile_in(&fuzzed.env, fuzzed.folder, &error);
    read_back(profile, (struct pf_node){PF_TABLE_WHOLE, 0});
    save_results(profile);
    pf_profile_release(profile);
    pf_cache_flush(fuzzed.env.cache);
    fuzzed.origin = stored_origin(fuzzed.cache, PF_DATUM_PASSES);
    size_t size;
    free(pf_cache_get(fuzzed.env.cache, fuzzed.origin, PF_DATUM_PASSES, 0, &size, &fuzzed.head));
    if (!fuzzed.head.size)
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pf_error error;
    struct pf_buf payload = {0};
    const struct pf_cache_head head = {fuzzed.head.data, fuzzed.head.size, NULL};
    pf_buf_add(&payload, (const char *)data, size);
    pf_cache_clear(fuzzed.env.cache); /* otherwise fields would be merged with those of the previous input */
    pf_cache_put(fuzzed.env.cache, &head, fuzzed.origin, PF_DATUM_PASSES, 0, &payload);
    pf_cache_put(fuzzed.env.cache, &head, fuzzed.origin, PF_DATUM_SUMS, 0, &payload);
    pf_buf_free(&payload);
    struct pf_profile *profile = profile_in(&fuzzed.env, fuzzed.folder, &error);
    static const struct pf_node nodes[] = {{PF_TABLE_WHOLE, 0},
                                           {PF_TABLE_WHOLE + FAKE_EVENTS, 0},
                                           {PF_TABLE_OF_PARTITION, 1},
                                           {PF_TABLE_OF_CONTEXT + FAKE_EVENTS, 2},
                                           {PF_CONTEXTS_CSV, 0}};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        read_back(profile, nodes[i]);
    pf_profile_release(profile);
    return 0;
}
