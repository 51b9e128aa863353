/*
 * The table of harmless calls: see syscall_cases.h. Bad pointers, bad descriptors, unknown commands and paths that
 * do not exist make each denied call fail in the kernel with something else than the filter's answer, so that the
 * two can be told apart.
 */
#include "tests/helpers/syscall_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/attr.h"

#define BAD ((uintptr_t) 1)                   /* no pointer */
#define NOWHERE ((uintptr_t) "/nonexistent/x") /* no path */
#define ROOT ((uintptr_t) "/")
#define ALL UINTPTR_MAX

#define CWD ((uintptr_t) AT_FDCWD)
#define HIGH (1UL << 32)

enum { NR_FCHMODAT2 = 452, SIGSYS_RESULT = CASE_SIGNAL + SIGSYS };

/* A call that works, and one that is denied with @e. */
#define YES(name, e, nr, ...) { name, nr, { __VA_ARGS__ }, e, true, false }
#define NO(name, e, nr, ...) { name, nr, { __VA_ARGS__ }, e, false, false }

const struct syscall_case syscall_cases[] = {
	YES("read", EBADF, SYS_read, ALL),
	YES("getpid", 0, SYS_getpid, 0),
	YES("getrandom", 0, SYS_getrandom, 0, 0, 0),
	YES("memfd_create", 0, SYS_memfd_create, ROOT, 0),
	YES("inotify_init1", 0, SYS_inotify_init1, 0),
	YES("futex_waitv", EINVAL, SYS_futex_waitv, BAD, 0, ALL),
	YES("prctl", 0, SYS_prctl, PR_GET_DUMPABLE),
	YES("execve", EFAULT, SYS_execve, BAD, 0, 0),
	YES("kill", ESRCH, SYS_kill, 0x7ffffff0, 0),

	YES("clone:fork", 0, SYS_clone, SIGCHLD),
	NO("clone:newuser", EPERM, SYS_clone, SIGCHLD | CLONE_NEWUSER),
	NO("clone:newuser-high", EPERM, SYS_clone, SIGCHLD | CLONE_NEWUSER | HIGH),
	NO("clone3", ENOSYS, SYS_clone3, BAD, 0),
	NO("unshare", EPERM, SYS_unshare, CLONE_NEWUSER),
	NO("unshare:nothing", EPERM, SYS_unshare, 0),
	NO("setns", EPERM, SYS_setns, ALL, 0),

	YES("openat:read", 0, SYS_openat, CWD, ROOT, O_RDONLY, 0xffffffff),
	YES("openat:create", ENOENT, SYS_openat, CWD, NOWHERE, O_CREAT | O_WRONLY, 0755),
	NO("openat:setuid", EPERM, SYS_openat, CWD, NOWHERE, O_CREAT | O_WRONLY, 04755),
	NO("openat:setgid", EPERM, SYS_openat, CWD, NOWHERE, O_CREAT | O_WRONLY, 02755),
	NO("openat:tmpfile-setuid", EPERM, SYS_openat, CWD, NOWHERE, O_TMPFILE | O_WRONLY, 04755),
	NO("openat2", ENOSYS, SYS_openat2, CWD, BAD, BAD, 0),
	YES("fchmodat", ENOENT, SYS_fchmodat, CWD, NOWHERE, 0755),
	NO("fchmodat:setuid", EPERM, SYS_fchmodat, CWD, NOWHERE, 04755),
	NO("fchmodat:setgid", EPERM, SYS_fchmodat, CWD, NOWHERE, 02755),
	YES("fchmod", EBADF, SYS_fchmod, ALL, 0755),
	NO("fchmod:setuid", EPERM, SYS_fchmod, ALL, 04755),
	NO("fchmodat2:setuid", EPERM, NR_FCHMODAT2, CWD, NOWHERE, 04755, 0),
	YES("mknodat:pipe", ENOENT, SYS_mknodat, CWD, NOWHERE, S_IFIFO | 0600, 0),
	NO("mknodat:char", EPERM, SYS_mknodat, CWD, NOWHERE, S_IFCHR | 0600, 0),
	NO("mknodat:block", EPERM, SYS_mknodat, CWD, NOWHERE, S_IFBLK | 0600, 0),
	NO("mknodat:setuid", EPERM, SYS_mknodat, CWD, NOWHERE, S_IFREG | 04755, 0),
	YES("renameat2", ENOENT, SYS_renameat2, CWD, NOWHERE, CWD, NOWHERE, 0),
	NO("renameat2:whiteout", EPERM, SYS_renameat2, CWD, NOWHERE, CWD, NOWHERE, 4),
#ifdef SYS_open
	NO("open:setuid", EPERM, SYS_open, NOWHERE, O_CREAT | O_WRONLY, 04755),
	NO("creat:setuid", EPERM, SYS_creat, NOWHERE, 04755),
	NO("chmod:setuid", EPERM, SYS_chmod, NOWHERE, 04755),
	NO("mknod:char", EPERM, SYS_mknod, NOWHERE, S_IFCHR | 0600, 0),
#endif

	YES("socket:unix", 0, SYS_socket, AF_UNIX, SOCK_STREAM, 0),
	YES("socket:inet", 0, SYS_socket, AF_INET, SOCK_STREAM, 0),
	YES("socket:netlink-route", 0, SYS_socket, AF_NETLINK, SOCK_RAW, 0),
	YES("socketpair:unix", EFAULT, SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, BAD),
	NO("socket:netlink-audit", EAFNOSUPPORT, SYS_socket, AF_NETLINK, SOCK_RAW, 9),
	NO("socket:netlink-generic", EAFNOSUPPORT, SYS_socket, AF_NETLINK, SOCK_RAW, 16),
	NO("socket:alg", EAFNOSUPPORT, SYS_socket, AF_ALG, SOCK_SEQPACKET, 0),
	NO("socket:vsock", EAFNOSUPPORT, SYS_socket, AF_VSOCK, SOCK_STREAM, 0),
	NO("socket:packet", EAFNOSUPPORT, SYS_socket, AF_PACKET, SOCK_RAW, 0),
	NO("socket:inet-packet", EAFNOSUPPORT, SYS_socket, AF_INET, SOCK_PACKET, 0),
	NO("socket:mptcp", EPROTONOSUPPORT, SYS_socket, AF_INET, SOCK_STREAM, 262),
	NO("socket:sctp", EPROTONOSUPPORT, SYS_socket, AF_INET, SOCK_STREAM, 132),
	NO("socketpair:inet", EAFNOSUPPORT, SYS_socketpair, AF_INET, SOCK_STREAM, 0, BAD),
	NO("socketpair:tipc", EAFNOSUPPORT, SYS_socketpair, AF_TIPC, SOCK_STREAM, 0, BAD),

	YES("ioctl:tcgets", EBADF, SYS_ioctl, ALL, 0x5401, 0),
	NO("ioctl:tiocsti", EPERM, SYS_ioctl, ALL, 0x5412, BAD),
	NO("ioctl:tiocsti-high", EPERM, SYS_ioctl, ALL, 0x5412 + HIGH, BAD),
	NO("ioctl:tioclinux", EPERM, SYS_ioctl, ALL, 0x541c, BAD),
	NO("ioctl:tioccons", EPERM, SYS_ioctl, ALL, 0x541d, 0),
	NO("ioctl:tiocsetd", EPERM, SYS_ioctl, ALL, 0x5423, BAD),
	YES("personality:ask", 0, SYS_personality, 0xffffffff),
	NO("personality:no-randomize", EPERM, SYS_personality, 0x40000),
	NO("personality:read-implies-exec", EPERM, SYS_personality, 0x400000),
	NO("personality:svr4", EPERM, SYS_personality, 1),

	NO("mount", EPERM, SYS_mount, BAD, BAD, BAD, 0, 0),
	NO("umount2", EPERM, SYS_umount2, BAD, 0),
	NO("pivot_root", EPERM, SYS_pivot_root, BAD, BAD),
	NO("chroot", EPERM, SYS_chroot, BAD),
	NO("open_tree", ENOSYS, SYS_open_tree, ALL, BAD, ALL),
	NO("move_mount", ENOSYS, SYS_move_mount, ALL, BAD, ALL, BAD, ALL),
	NO("fsopen", ENOSYS, SYS_fsopen, BAD, ALL),
	NO("fsconfig", ENOSYS, SYS_fsconfig, ALL, ALL, 0, 0, 0),
	NO("fsmount", ENOSYS, SYS_fsmount, ALL, ALL, 0),
	NO("fspick", ENOSYS, SYS_fspick, ALL, BAD, ALL),
	NO("mount_setattr", ENOSYS, SYS_mount_setattr, ALL, BAD, ALL, BAD, 0),
	NO("name_to_handle_at", EPERM, SYS_name_to_handle_at, ALL, BAD, BAD, BAD, ALL),
	NO("open_by_handle_at", EPERM, SYS_open_by_handle_at, ALL, BAD, 0),

	NO("io_uring_setup", ENOSYS, SYS_io_uring_setup, 0, BAD),
	NO("io_uring_enter", ENOSYS, SYS_io_uring_enter, ALL, 0, 0, 0, 0, 0),
	NO("io_uring_register", ENOSYS, SYS_io_uring_register, ALL, ALL, 0, 0),
	NO("bpf", EPERM, SYS_bpf, 9999, 0, 0),
	NO("perf_event_open", EPERM, SYS_perf_event_open, BAD, 0, 0, 0, ALL),
	NO("userfaultfd", EPERM, SYS_userfaultfd, ALL),
	NO("add_key", EPERM, SYS_add_key, BAD, BAD, 0, 0, 0),
	NO("request_key", EPERM, SYS_request_key, BAD, BAD, 0, 0),
	NO("keyctl", EPERM, SYS_keyctl, 9999),
	NO("ptrace", EPERM, SYS_ptrace, 9999, 0x7ffffff0, 0, 0),
	NO("process_vm_readv", EPERM, SYS_process_vm_readv, 0x7ffffff0, 0, 0, 0, 0, 1),
	NO("process_vm_writev", EPERM, SYS_process_vm_writev, 0x7ffffff0, 0, 0, 0, 0, 1),
	NO("process_madvise", EPERM, SYS_process_madvise, ALL, 0, 0, 0, 1),
	NO("process_mrelease", EPERM, SYS_process_mrelease, ALL, 1),
	NO("pidfd_getfd", EPERM, SYS_pidfd_getfd, ALL, 0, 0),
	NO("kcmp", EPERM, SYS_kcmp, 0x7ffffff0, 0x7ffffff0, 0, 0, 0),
	NO("init_module", EPERM, SYS_init_module, BAD, 0, BAD),
	NO("finit_module", EPERM, SYS_finit_module, ALL, BAD, 0),
	NO("delete_module", EPERM, SYS_delete_module, BAD, 0),
	NO("kexec_load", EPERM, SYS_kexec_load, 0, ALL, BAD, ALL),
	NO("kexec_file_load", EPERM, SYS_kexec_file_load, ALL, ALL, 0, BAD, ALL),
	NO("reboot", EPERM, SYS_reboot, 0, 0, 0, 0),
	NO("swapon", EPERM, SYS_swapon, BAD, ALL),
	NO("swapoff", EPERM, SYS_swapoff, BAD),
	NO("acct", EPERM, SYS_acct, BAD),
	NO("quotactl", EPERM, SYS_quotactl, ALL, BAD, 0, 0),
	NO("quotactl_fd", EPERM, SYS_quotactl_fd, ALL, ALL, 0, 0),
	NO("syslog", EPERM, SYS_syslog, ALL, 0, 0),
	NO("sethostname", EPERM, SYS_sethostname, BAD, ALL),
	NO("setdomainname", EPERM, SYS_setdomainname, BAD, ALL),
	{ "vhangup", SYS_vhangup, { 0 }, EPERM, false, true },
	NO("settimeofday", EPERM, SYS_settimeofday, BAD, BAD),
	NO("clock_settime", EPERM, SYS_clock_settime, 9999, BAD),
	NO("clock_adjtime", EPERM, SYS_clock_adjtime, 9999, BAD),
	NO("adjtimex", EPERM, SYS_adjtimex, BAD),
	NO("fanotify_init", EPERM, SYS_fanotify_init, ALL, 0),
	NO("fanotify_mark", EPERM, SYS_fanotify_mark, ALL, 0, 0, ALL, 0),
	NO("lookup_dcookie", EPERM, SYS_lookup_dcookie, 0, BAD, 0),
	NO("move_pages", EPERM, SYS_move_pages, 0, 0, 0, 0, 0, ALL),
	NO("migrate_pages", EPERM, SYS_migrate_pages, 0x7ffffff0, 0, 0, 0),
	NO("mbind", ENOSYS, SYS_mbind, 0, 0, ALL, 0, 0, ALL),
	NO("get_mempolicy", ENOSYS, SYS_get_mempolicy, 0, 0, 0, 0, ALL),
	NO("set_mempolicy", ENOSYS, SYS_set_mempolicy, 0x7fffffff, 0, 0),
	NO("vmsplice", EPERM, SYS_vmsplice, ALL, 0, 0, 0),
	NO("memfd_secret", EPERM, SYS_memfd_secret, ALL),
	YES("unknown", ENOSYS, 600, 0),
#ifdef __x86_64__
	NO("iopl", EPERM, SYS_iopl, 99),
	NO("ioperm", EPERM, SYS_ioperm, ALL, 1, 1),
	NO("modify_ldt", EPERM, SYS_modify_ldt, 99, 0, 0),
	NO("uselib", EPERM, SYS_uselib, BAD),
	NO("x32", SIGSYS_RESULT, 0x40000000 | SYS_getpid, 0),
	NO("i386", SIGSYS_RESULT, CASE_NR_I386, 20), /* getpid */
#endif
};

const size_t syscall_cases_count = ARRAY_LEN(syscall_cases);

/* A call through the 32-bit entry, as a 64-bit program can make it. Its result, or -errno. */
static long call_i386(uintptr_t nr)
{
#ifdef __x86_64__
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(nr), "b"(0L), "c"(0L), "d"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int) r;
#else
	(void) nr;
	return -ENOSYS;
#endif
}

static int call_here(const struct syscall_case *c)
{
	if (c->nr == CASE_NR_I386) {
		long r = call_i386(c->args[0]);

		return r < 0 ? (int) -r : 0;
	}
	errno = 0;
	return syscall(c->nr, c->args[0], c->args[1], c->args[2], c->args[3], c->args[4], c->args[5]) < 0 ? errno : 0;
}

int syscall_case_run(const struct syscall_case *c, int (*prepare)(void))
{
	enum { NOT_PREPARED = 255 };
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		(void) setsid(); /* no terminal to lose */
		if (prepare && prepare() < 0)
			_exit(NOT_PREPARED);
		_exit(call_here(c)); /* errno fits: the largest is 133. A process that clone made ends here as well. */
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFSIGNALED(status))
		return CASE_SIGNAL + WTERMSIG(status);
	return WEXITSTATUS(status) == NOT_PREPARED ? -ECANCELED : WEXITSTATUS(status);
}

bool syscall_case_has_no_entry(const struct syscall_case *c, int result)
{
	return c->nr == CASE_NR_I386 && result == CASE_SIGNAL + SIGSEGV;
}

const char *syscall_case_result(int result)
{
	const char *name;

	if (result == 0)
		return "ok";
	name = result >= CASE_SIGNAL ? sigabbrev_np(result - CASE_SIGNAL)
				     : strerrorname_np(result < 0 ? -result : result);
	return name ? name : "?";
}
