/* SPDX-License-Identifier: MIT */
/* Taking locks against the order of their ranks aborts the process, and correct uses do not. docs/locking.md lists the ranks. */
#include "formats/kit/lock.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/tap.h"

static struct pf_lock low = PF_LOCK_INITIALIZER(PF_RANK_ARCHIVES),
                      high = PF_LOCK_INITIALIZER(PF_RANK_POOL),
                      member = PF_LOCK_INITIALIZER(PF_RANK_UNPACKED),
                      archive = PF_LOCK_INITIALIZER(PF_RANK_UNPACKED),
                      other_pool = PF_LOCK_INITIALIZER(PF_RANK_POOL);
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* ---- the checks --------------------------------------------------------------------------------- */

/* True if the function ends its process by SIGABRT. */
static bool aborts(void (*run)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        fclose(stderr); /* suppresses the expected message */
        run();
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGABRT;
}

static void take_ascending(void)
{
    pf_lock_take(&low);
    pf_lock_take(&high);
    pf_lock_drop(&low);
    pf_lock_drop(&high);
    pf_lock_take(&low);
    pf_lock_drop(&low);
}

static void take_descending(void)
{
    pf_lock_take(&high);
    pf_lock_take(&low);
}

static void take_descending_after_drop(void)
{
    pf_lock_take(&low);
    pf_lock_take(&high);
    pf_lock_drop(&low);
    pf_lock_take(&low);
}

static void take_equal_ranks(void)
{
    pf_lock_take(&high);
    pf_lock_take(&other_pool);
}

static void take_twice(void)
{
    pf_lock_take(&member);
    pf_lock_take(&member);
}

static void take_member_and_archive(void)
{
    pf_lock_take(&member);
    pf_lock_take(&archive);
}

static void try_descending(void)
{
    pf_lock_take(&high);
    if (pf_lock_try(&low))
        pf_lock_drop(&low);
}

static void drop_without_take(void)
{
    pf_lock_take(&low);
    pf_lock_drop(&high);
}

static void assert_held(void)
{
    pf_lock_take(&low);
    pf_assert_held(&low);
}

static void assert_held_without_take(void)
{
    pf_lock_take(&low);
    pf_assert_held(&high);
}

static void block_under_archives(void)
{
    pf_lock_take(&low);
    pf_may_block();
}

static void block_under_pool(void)
{
    pf_lock_take(&high);
    pf_may_block();
}

static const struct timespec past = {0, 1};

static void wait_under_own_lock(void)
{
    pf_lock_take(&low);
    pf_lock_take(&high);
    pf_lock_wait_until(&high, &changed, &past);
    pf_assert_held(&high);
}

static void wait_under_other_lock(void)
{
    struct pf_lock profile = PF_LOCK_INITIALIZER(PF_RANK_PROFILE);
    pf_lock_take(&profile);
    pf_lock_take(&high);
    pf_lock_wait_until(&high, &changed, &past);
}

static void test_checks(void)
{
    ok(!aborts(take_ascending), "locks are taken in ascending rank and dropped in any order");
    ok(aborts(take_descending), "a take in descending rank aborts");
    ok(aborts(take_descending_after_drop),
       "a take below a held lock aborts although a third lock was dropped");
    ok(aborts(take_equal_ranks), "two locks of one rank abort");
    ok(!aborts(take_member_and_archive), "the locks of a packed member and its archive may have one rank");
    ok(aborts(take_twice), "a lock that the thread holds already aborts");
    ok(!aborts(try_descending), "a try-lock is exempt from the order");
    ok(aborts(drop_without_take), "a drop of a lock that the thread does not hold aborts");
    ok(!aborts(assert_held) && aborts(assert_held_without_take),
       "an assertion aborts unless its lock is held");
    ok(!aborts(block_under_archives) && aborts(block_under_pool), "waiting for SOURCE aborts from rank 30 on");
    ok(!aborts(wait_under_own_lock), "a wait releases its own lock and takes it again");
    ok(aborts(wait_under_other_lock), "a wait under another lock from rank 30 on aborts");
}

/* ---- docs/locking.md ---------------------------------------------------------------------------- */

static const struct {
    int rank;
    const char *name;
} locks[] = {
#define ROW(id, rank, name) {(rank), (name)},
    PF_LOCKS(ROW)
#undef ROW
};
enum { LOCKS = sizeof locks / sizeof *locks };

static void test_page(void)
{
    char line[512], name[64];
    int rank;
    size_t n = 0, differing = 0;
    FILE *page = fopen("docs/locking.md", "r");
    if (!ok(page != NULL, "docs/locking.md can be read"))
        return;
    while (fgets(line, sizeof line, page))
        if (sscanf(line, "| %d | %63[^|]|", &rank, name) == 2) {
            name[strlen(name) - 1] = 0; /* the space before the next column */
            bool same = n < LOCKS && rank == locks[n].rank && !strcmp(name, locks[n].name);
            if (!same)
                printf("# row %zu of docs/locking.md: %d %s\n", n + 1, rank, name);
            differing += !same;
            n++;
        }
    fclose(page);
    ok(n == LOCKS && !differing, "docs/locking.md lists all locks by rank and name");
    for (size_t i = 1; i < LOCKS; i++)
        differing += locks[i].rank <= locks[i - 1].rank;
    ok(!differing, "each rank belongs to one lock, and exceeds the previous one");
}

int main(void)
{
    test_checks();
    test_page();
    return done();
}
