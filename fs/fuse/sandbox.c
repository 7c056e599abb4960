/* SPDX-License-Identifier: MIT */
#include "fs/fuse/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/profile/cache.h"
#include "fs/tree/vfs.h"

/* ---- Landlock: newer than the C library, and its header here than the kernel ---------------------- */

enum {
    RULE_PATH_BENEATH = 1,
    ASK_VERSION = 1,
    ABI_REFER = 2,
    ABI_TRUNCATE = 3,
    ABI_NET = 4,
    ABI_IOCTL = 5,
    ABI_SCOPE = 6,
};

/* Rights to files, by bit, as the kernel numbers them. */
#define EXECUTE                   UINT64_C(0x0001)
#define WRITE_FILE                UINT64_C(0x0002)
#define READ_FILE                 UINT64_C(0x0004)
#define READ_DIR                  UINT64_C(0x0008)
#define REMOVE_DIR                UINT64_C(0x0010)
#define REMOVE_FILE               UINT64_C(0x0020)
#define MAKE_DIR                  UINT64_C(0x0080)
#define MAKE_REG                  UINT64_C(0x0100)
#define FIRST_RIGHTS              UINT64_C(0x1fff) /* of the first version */
#define REFER                     UINT64_C(0x2000)
#define TRUNCATE                  UINT64_C(0x4000)
#define IOCTL_DEV                 UINT64_C(0x8000)
#define NET_BIND_AND_CONNECT      UINT64_C(3)
#define SCOPE_SOCKETS_AND_SIGNALS UINT64_C(3)

#define MAY_READ  (READ_FILE | READ_DIR)
#define MAY_WRITE (MAY_READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE)
#define OF_A_FILE (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV)

struct ruleset {
    uint64_t files, net, scope;
};

struct path_rule {
    uint64_t rights;
    int32_t parent;
} __attribute__((packed));

struct pf_sandbox {
    int abi;         /* of Landlock; 0: none */
    int rules;       /* its descriptor, or -1 */
    uint64_t rights; /* that it handles */
    const char *why; /* there is none */
    char text[160];
};

static uint64_t rights_of(int abi)
{
    return FIRST_RIGHTS | (abi >= ABI_REFER ? REFER : 0) | (abi >= ABI_TRUNCATE ? TRUNCATE : 0) |
           (abi >= ABI_IOCTL ? IOCTL_DEV : 0);
}

static void make_rules(struct pf_sandbox *sandbox)
{
    struct ruleset ruleset = {0};
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);
    if (abi > 0) {
        ruleset.files = sandbox->rights = rights_of((int)abi);
        ruleset.net = abi >= ABI_NET ? NET_BIND_AND_CONNECT : 0;
        ruleset.scope = abi >= ABI_SCOPE ? SCOPE_SOCKETS_AND_SIGNALS : 0;
        size_t size = abi >= ABI_SCOPE ? sizeof ruleset
                      : abi >= ABI_NET ? 2 * sizeof(uint64_t)
                                       : sizeof(uint64_t);
        sandbox->rules = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
    }
    sandbox->abi = sandbox->rules >= 0 ? (int)abi : 0;
    if (sandbox->rules < 0)
        sandbox->why = strerror(errno);
}

void pf_sandbox_free(struct pf_sandbox *sandbox)
{
    if (!sandbox)
        return;
    if (sandbox->rules >= 0)
        close(sandbox->rules);
    free(sandbox);
}

/* A path that does not exist, or NULL, is not allowed; that is no error. */
static void allow(struct pf_sandbox *sandbox, const char *path, uint64_t rights)
{
    struct stat st;
    int fd = path && sandbox->abi ? open(path, O_PATH | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    struct path_rule rule = {.rights = sandbox->rights & rights, .parent = fd};
    if (!fstat(fd, &st) && !S_ISDIR(st.st_mode))
        rule.rights &= OF_A_FILE;
    if (syscall(SYS_landlock_add_rule, sandbox->rules, RULE_PATH_BENEATH, &rule, 0))
        sandbox->why =
            strerror(errno); /* what is not allowed is missed later; nothing is allowed that must not be */
    close(fd);
}

/* ---- places ------------------------------------------------------------------------------------------ */

/*
 * A folder of the user's own in that for temporary files: to allow all of /var/tmp would allow everybody's files there. It stays:
 * whoever comes next finds it. Whatever else stands at that name is not trusted.
 */
static void choose_spill_folder(struct pf_sandbox *sandbox)
{
    const char *above = getenv("TMPDIR");
    char *path;
    if (asprintf(&path, "%s/profilefs-%u", above && *above == '/' ? above : "/var/tmp", (unsigned)geteuid()) <
        0)
        return;
    if (pf_cache_is_private(path)) {
        setenv("TMPDIR", path, 1);
        allow(sandbox, path, MAY_WRITE);
    }
    free(path);
}

static void allow_source(struct pf_sandbox *sandbox, const char *source)
{
    struct stat st;
    char *path = realpath(source, NULL);
    if (path && !stat(path, &st) && !S_ISDIR(st.st_mode)) {
        char *slash = strrchr(path, '/');
        slash[slash == path] = 0;
    }
    allow(sandbox, path, MAY_READ);
    free(path);
}

struct pf_sandbox *pf_sandbox_new(char *const *sources, size_t n, const struct pf_fs_options *options,
                                  struct pf_error *error)
{
    struct pf_sandbox *sandbox = calloc(1, sizeof *sandbox);
    if (!sandbox) {
        pf_fail_memory(error);
        return NULL;
    }
    sandbox->rules = -1;
    make_rules(sandbox);
    for (size_t i = 0; i < n; i++)
        allow_source(sandbox, sources[i]);
    allow(sandbox, "/proc", MAY_READ);
    if (options->cache_folder)
        pf_cachefile_make_folder(options->cache_folder);
    allow(sandbox, options->cache_folder, MAY_WRITE);
    allow(sandbox, options->db_folder, MAY_WRITE);
    allow(sandbox, options->profile.instr_map, MAY_READ);
    choose_spill_folder(sandbox);
    return sandbox;
}

/* ---- system calls ----------------------------------------------------------------------------------- */

/* What nothing here ever calls. Not what Landlock sees to, but what it does not see: times, owners and modes of files, other
 * processes, and the doors to what a kernel can do besides. */
static const int denied[] = {
    /* programs, processes */
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(process_madvise),
    SCMP_SYS(kcmp),
    SCMP_SYS(pidfd_open),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(tkill),
    /* other ways to talk */
    SCMP_SYS(socket),
    SCMP_SYS(socketpair),
    SCMP_SYS(socketcall),
    SCMP_SYS(connect),
    SCMP_SYS(bind),
    SCMP_SYS(listen),
    SCMP_SYS(accept),
    SCMP_SYS(accept4),
    SCMP_SYS(shmget),
    SCMP_SYS(shmat),
    SCMP_SYS(semget),
    SCMP_SYS(msgget),
    SCMP_SYS(mq_open),
    SCMP_SYS(keyctl),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    /* ways to files that go by no path, or change more than their bytes */
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(truncate),
    SCMP_SYS(truncate64),
    SCMP_SYS(chmod),
    SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat),
    SCMP_SYS(chown),
    SCMP_SYS(fchown),
    SCMP_SYS(lchown),
    SCMP_SYS(fchownat),
    SCMP_SYS(setxattr),
    SCMP_SYS(lsetxattr),
    SCMP_SYS(fsetxattr),
    SCMP_SYS(removexattr),
    SCMP_SYS(lremovexattr),
    SCMP_SYS(fremovexattr),
    SCMP_SYS(utime),
    SCMP_SYS(utimes),
    SCMP_SYS(futimesat),
    /* mounts and namespaces */
    SCMP_SYS(mount),
    SCMP_SYS(umount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(setns),
    SCMP_SYS(unshare),
    SCMP_SYS(open_tree),
    SCMP_SYS(move_mount),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount),
    SCMP_SYS(fspick),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(quotactl),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(fanotify_init),
    SCMP_SYS(fanotify_mark),
    /* the kernel itself */
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(reboot),
    SCMP_SYS(acct),
    SCMP_SYS(syslog),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(adjtimex),
    SCMP_SYS(iopl),
    SCMP_SYS(ioperm),
    SCMP_SYS(modify_ldt),
    SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname),
    SCMP_SYS(vhangup),
    SCMP_SYS(personality),
    /* younger than the library's list: fchmodat2, setxattrat, removexattrat, open_tree_attr, file_setattr */
    452,
    463,
    466,
    467,
    469,
};

static int deny(scmp_filter_ctx filter, int call)
{
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
}

/* Denies a call if its argument says so. */
static int deny_if(scmp_filter_ctx filter, int call, struct scmp_arg_cmp condition)
{
    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 1, &condition);
}

static struct scmp_arg_cmp when(unsigned argument, enum scmp_compare how, scmp_datum_t a, scmp_datum_t b)
{
    return (struct scmp_arg_cmp){.arg = argument, .op = how, .datum_a = a, .datum_b = b};
}

static int add_denials(scmp_filter_ctx filter)
{
    const scmp_datum_t self = (scmp_datum_t)getpid();
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
        if (deny(filter, denied[i]) == -ENOMEM)
            return -ENOMEM;
    /* Threads are made by clone; its newer form hides its arguments, so the C library is told that there is none. */
    int result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    const struct {
        int call;
        struct scmp_arg_cmp condition;
    } some[] = {
        {SCMP_SYS(clone), when(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)},
        {SCMP_SYS(kill), when(0, SCMP_CMP_NE, self, 0)},
        {SCMP_SYS(tgkill), when(0, SCMP_CMP_NE, self, 0)},
        {SCMP_SYS(rt_sigqueueinfo), when(0, SCMP_CMP_NE, self, 0)},
        {SCMP_SYS(rt_tgsigqueueinfo), when(0, SCMP_CMP_NE, self, 0)},
        {SCMP_SYS(utimensat), when(1, SCMP_CMP_NE, 0, 0)},                   /* by name */
        {SCMP_SYS(ioctl), when(1, SCMP_CMP_MASKED_EQ, UINT32_MAX, TIOCSTI)}, /* types into the terminal */
    };
    for (size_t i = 0; i < sizeof some / sizeof *some && !result; i++)
        result = deny_if(filter, some[i].call, some[i].condition);
    return result;
}

/* 0, or an errno value negated. */
static int filter_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return -ENOMEM;
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree, not a list: it runs with each call */
    int result = add_denials(filter);
    if (!result)
        result = seccomp_load(filter);
    seccomp_release(filter);
    return result;
}

/* ---- privileges ------------------------------------------------------------------------------------- */

/* All go but that to read what the mounter may read. 0 or -1 with errno. */
static int drop_capabilities(bool *reads_all)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}},
                                  less[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &head, data))
        return -1;
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (cap != CAP_DAC_READ_SEARCH)
            prctl(PR_CAPBSET_DROP, cap, 0, 0,
                  0); /* as far as one may: it matters to programs, and none can be started */
    less[0].effective = less[0].permitted = data[0].permitted & CAP_TO_MASK(CAP_DAC_READ_SEARCH);
    *reads_all = less[0].effective != 0;
    return (int)syscall(SYS_capset, &head, less);
}

/* ---- entering --------------------------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

static void tell(struct pf_sandbox *sandbox, int landlock, int seccomp, bool reads_all)
{
    char first[64];
    if (sandbox->abi && !landlock)
        snprintf(first, sizeof first, "Landlock %d", sandbox->abi);
    else
        snprintf(first, sizeof first, "no Landlock (%s)", sandbox->why ? sandbox->why : strerror(landlock));
    snprintf(sandbox->text, sizeof sandbox->text, "%s, %s%s%s, no new privileges, %s", first,
             seccomp ? "no seccomp (" : "seccomp", seccomp ? strerror(seccomp) : "", seccomp ? ")" : "",
             reads_all ? "no capability but DAC_READ_SEARCH" : "no capabilities");
}

int pf_sandbox_enter(struct pf_sandbox *sandbox, struct pf_error *error)
{
#ifdef HAS_SANITIZER
    (void)error, (void)drop_capabilities, (void)filter_calls, (void)tell;
    strcpy(sandbox->text, "none: a sanitizer writes its reports");
    return 0;
#else
    bool reads_all = false;
    /* The C library loads it when a thread is cancelled, which libfuse does at the end; no file can be loaded then. */
    dlopen("libgcc_s.so.1", RTLD_NOW);
    if (drop_capabilities(&reads_all))
        return pf_fail(error, errno, "privileges cannot be dropped: %s", strerror(errno));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return pf_fail(error, errno, "new privileges cannot be forbidden: %s", strerror(errno));
    int landlock = sandbox->abi && syscall(SYS_landlock_restrict_self, sandbox->rules, 0) ? errno : 0;
    int seccomp = -filter_calls();
    if (seccomp == ENOMEM)
        return pf_fail_memory(error);
    tell(sandbox, landlock, seccomp, reads_all);
    return 0;
#endif
}

const char *pf_sandbox_text(const struct pf_sandbox *sandbox)
{
    return sandbox->text;
}
