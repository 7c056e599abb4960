/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "fs/cli/commands.h"
#include "fs/exit.h"
#include "fs/fuse/sandbox.h"

int pf_enter_sandbox(const struct pf_fs_options *options, char *const *sources, size_t n)
{
    struct pf_error error = {0};
    struct pf_sandbox *sandbox = pf_sandbox_new(sources, n, options, &error);
    bool failed = !sandbox || pf_sandbox_enter(sandbox, &error);
    pf_sandbox_free(sandbox);
    if (failed)
        fprintf(stderr, "profilefs: %s\n", error.what);
    return failed ? PF_EXIT_SYSTEM : PF_EXIT_OK;
}
