/*
 * The built-in filters in the kernel: loaded for real, each in a process of its own. As root and as an ordinary user.
 *
 * Every denied call is made twice, with the filter and without: when the kernel answers the same without it (this
 * user may not do it anyway, or this kernel lacks the call), that is a skip and not a success.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/kern/seccomp.h"
#include "tests/harness/tap.h"
#include "tests/helpers/syscall_cases.h"

enum { THREADS = 8, ROUNDS = 60, CALLS = 3000 };

static int no_new_privs(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static int enter_workload(void)
{
	int r = no_new_privs();

	return r < 0 ? r : seccomp_load_workload(seccomp_builtin(SECCOMP_DEFAULT), NULL);
}

static int enter_server(void)
{
	int r = no_new_privs();

	return r < 0 ? r : seccomp_load_server();
}

static void test_cases(struct tap *t)
{
	for (size_t i = 0; i < syscall_cases_count; i++) {
		const struct syscall_case *c = &syscall_cases[i];
		int with = syscall_case_run(c, enter_workload);
		int without = c->never_bare ? -1 : syscall_case_run(c, NULL);

		if (syscall_case_has_no_entry(c, with) && with == without) {
			tap_skip(t, c->name, "this machine has no entry for such calls, with or without the filter");
			continue;
		}
		if (with == c->expect && !c->kernel_too && with == without)
			tap_skip(t, c->name, "this kernel answers %s to this user without the filter too",
				 syscall_case_result(with));
		else
			tap_ok(t, with == c->expect && (!c->kernel_too || with == without), "%s: %s with the filter",
			       c->name, syscall_case_result(with));
		if (with != c->expect)
			printf("# expected %s; without the filter: %s\n", syscall_case_result(c->expect),
			       syscall_case_result(without));
	}
}

/* Runs @fn in a process of its own: its exit status, or CASE_SIGNAL + a signal. */
static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid;

	(void) fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(fn());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSIGNALED(status) ? CASE_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Without no_new_privs a filter needs CAP_SYS_ADMIN; root gives its privileges away first. */
static int load_without_nnp(void)
{
	if (geteuid() == 0 && (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
		return 1;
	return seccomp_load_workload(seccomp_builtin(SECCOMP_DEFAULT), NULL) == -EACCES && seccomp_load_server() == -EACCES &&
			       seccomp_load_init() == -EACCES && seccomp_probe() == 0
		       ? 0
		       : 2;
}

static int twice(void)
{
	/* A filter on top of a filter: the stricter verdict counts, and the probe still works. */
	if (enter_workload() < 0 || seccomp_probe() < 0 || seccomp_load_workload(seccomp_builtin(SECCOMP_DEFAULT), NULL) < 0)
		return 1;
	return unshare(0) < 0 && errno == EPERM ? 0 : 2;
}

static void *thread_work(void *arg)
{
	size_t size = 64 * 1024 + (size_t) (uintptr_t) arg * 300000; /* below and above malloc's threshold for mmap */
	char *p = malloc(size);

	if (!p)
		return NULL;
	memset(p, 1, size);
	p = realloc(p, size * 2);
	free(p);
	return (void *) (uintptr_t) (p != NULL);
}

static bool threads_work(void)
{
	pthread_t thread[THREADS];
	bool ok = true;

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, thread_work, (void *) i) != 0)
			return false;
	for (size_t i = 0; i < THREADS; i++) {
		void *ret = NULL;

		ok &= pthread_join(thread[i], &ret) == 0 && ret != NULL;
	}
	return ok;
}

static bool loop_works(void)
{
	struct itimerspec soon = { .it_value = { .tv_nsec = 1000000 } };
	struct epoll_event event = { .events = EPOLLIN };
	sigset_t mask;
	int loop = epoll_create1(EPOLL_CLOEXEC);
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	int wake = eventfd(0, EFD_CLOEXEC);

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
		return false;
	return loop >= 0 && timer >= 0 && wake >= 0 && signalfd(-1, &mask, SFD_CLOEXEC) >= 0 &&
	       timerfd_settime(timer, 0, &soon, NULL) == 0 && epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event) == 0 &&
	       epoll_ctl(loop, EPOLL_CTL_ADD, wake, &event) == 0 && epoll_wait(loop, &event, 1, 5000) == 1;
}

static bool files_work(const char *folder)
{
	_cleanup_fd_ int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = sysx_openat2(dir, "a", O_CREAT | O_RDWR | O_CLOEXEC, 0600, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	bool ok = fd >= 0 && fd_write_all(fd, "text", 4) == 0 && ftruncate(fd, 2) == 0 && fchmod(fd, 0644) == 0 &&
		  fsync(fd) == 0 && renameat2(dir, "a", dir, "b", RENAME_NOREPLACE) == 0 &&
		  mkdirat(dir, "c", 0755) == 0 && linkat(dir, "b", dir, "c/d", 0) == 0 &&
		  unlinkat(dir, "c/d", 0) == 0 && unlinkat(dir, "c", AT_REMOVEDIR) == 0;
	DIR *list = opendir(folder);
	bool seen = false;

	while (list) {
		const struct dirent *entry = readdir(list);

		if (!entry)
			break;
		seen |= strcmp(entry->d_name, "b") == 0;
	}
	if (list)
		(void) closedir(list);
	fd_close(fd);
	return ok && seen && unlinkat(dir, "b", 0) == 0;
}

static bool talk_works(void)
{
	int sv[2];
	int fds[3] = { -EBADF, -EBADF, -EBADF };
	char byte;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		return false;

	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(fds))];
	} control = { .room = { 0 } };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(sizeof(int)),
	};

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));

	byte = 'x';
	memcpy(CMSG_DATA(&control.head), &sv[0], sizeof(int));
	return sendmsg(sv[0], &msg, MSG_NOSIGNAL) == 1 && recvmsg(sv[1], &msg, MSG_CMSG_CLOEXEC) == 1 && byte == 'x' &&
	       shutdown(sv[0], SHUT_RDWR) == 0;
}

static char scratch[] = "/tmp/filter-live-XXXXXX";

/* A day in the life of the server, with the C library's own needs: threads, memory, stdio, time zones, abort. */
static int server_day(void)
{
	char text[64];
	time_t now = time(NULL);
	struct tm tm;

	if (enter_server() < 0)
		return 1;
	if (!threads_work())
		return 2;
	if (!loop_works())
		return 3;
	if (!files_work(scratch))
		return 4;
	if (!talk_works())
		return 5;
	if (memfd_create("x", MFD_CLOEXEC) < 0 || prctl(PR_SET_NAME, "name") < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		return 6;
	if (!localtime_r(&now, &tm) || strftime(text, sizeof(text), "%F %T", &tm) == 0)
		return 7;
	if (fprintf(stdout, "# written under the server's filter\n") < 0 || fflush(stdout) != 0)
		return 8;
	return 0;
}

static int server_denied(void)
{
	if (enter_server() < 0)
		return 1;
	if (fork() >= 0 || errno != EPERM) /* glibc's fork is clone(2) without the flags of a thread */
		return 2;
	if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EPERM)
		return 3;
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED || errno != EPERM)
		return 4;
	if (kill(getpid(), 0) == 0 || errno != ENOSYS)
		return 5;
	return 0;
}

static int server_aborts(void)
{
	if (enter_server() < 0)
		return 1;
	abort();
}

static int server_execs(void)
{
	char name[] = "/bin/true";
	char *argv[] = { name, NULL };

	if (enter_server() < 0)
		return 1;
	(void) execv(name, argv);
	return 2;
}

static int server_unshares(void)
{
	if (enter_server() < 0)
		return 1;
	(void) unshare(0);
	return 2;
}

static int server_mounts(void)
{
	if (enter_server() < 0)
		return 1;
	(void) syscall(SYS_mount, 0, 0, 0, 0, 0);
	return 2;
}

static double now_us(void)
{
	struct timespec ts;

	(void) clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double) ts.tv_sec * 1e6 + (double) ts.tv_nsec / 1e3;
}

/* What is measured: the filters that a process of each kind has. */
static int enter_init(void)
{
	int r = no_new_privs();

	return r < 0 ? r : seccomp_load_init();
}

static int enter_debug(void)
{
	int r = no_new_privs();

	return r < 0 ? r : seccomp_load_workload(seccomp_builtin(SECCOMP_DEBUG), NULL);
}

static int enter_command(void)
{
	int r = enter_init();

	return r < 0 ? r : seccomp_load_workload(seccomp_builtin(SECCOMP_DEFAULT), NULL);
}

static int enter_listened(void)
{
	int listener = -EBADF;
	int r = enter_init();

	r = r < 0 ? r : seccomp_load_workload(seccomp_builtin(SECCOMP_DEFAULT), &listener);
	return r < 0 ? r : listener;
}

static const struct {
	const char *name;
	int (*enter)(void);
} kinds[] = {
	{ "no filter", no_new_privs }, { "init", enter_init },
	{ "default", enter_workload }, { "debug", enter_debug },
	{ "server", enter_server },    { "init and default, as commands have", enter_command },
	{ "the same with a listener", enter_listened },
};

static void do_call(unsigned int which)
{
	switch (which) {
	case 0:
		(void) syscall(SYS_getppid);
		break;
	case 1:
		(void) syscall(SYS_fcntl, STDOUT_FILENO, F_GETFL, 0);
		break;
	case 2:
		(void) syscall(SYS_ioctl, -1, 0x5401, 0); /* TCGETS */
		break;
	default:
		(void) syscall(SYS_openat, -1, "x", O_RDONLY, 0);
	}
}

/* Nanoseconds of one call: the best of many, since others use the machine too. */
static double cost(unsigned int which)
{
	double best = 1e9;

	for (size_t round = 0; round < ROUNDS; round++) {
		double begin = now_us();

		for (size_t i = 0; i < CALLS; i++)
			do_call(which);
		double took = (now_us() - begin) * 1e3 / CALLS;
		best = took < best ? took : best;
	}
	return best;
}

static double load_time(int (*enter)(void))
{
	double *best = mmap(NULL, sizeof(*best), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (best == MAP_FAILED)
		return 0;
	*best = 1e9;
	for (size_t i = 0; i < ROUNDS; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			double begin = now_us();

			if (enter() < 0)
				_exit(1);
			double took = now_us() - begin;
			*best = took < *best ? took : *best;
			_exit(0);
		}
		(void) waitpid(pid, NULL, 0);
	}
	return *best;
}

/* For people, but for a load that takes a tenth of a second, or no time: then something is very wrong. */
static int measure(void)
{
	printf("# nanoseconds of getppid, fcntl, ioctl, openat (failing), and microseconds to load:\n");
	(void) fflush(stdout);
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		double load = load_time(kinds[k].enter);
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			if (kinds[k].enter() < 0)
				_exit(1);
			double took[] = { cost(0), cost(1), cost(2), cost(3) };
			printf("# %6.0f %6.0f %6.0f %6.0f %6.0f us  %s\n", took[0], took[1], took[2], took[3], load, kinds[k].name);
			(void) fflush(stdout);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0 || load <= 0 || load > 100000)
			return 2;
	}
	return 0;
}

static const struct {
	const char *what;
	int (*fn)(void);
	int expect;
} tests[] = {
	{ "no filter without no_new_privs", load_without_nnp, 0 },
	{ "a filter can be loaded on top", twice, 0 },
	{ "the server lives: threads, memory, events, files, messages", server_day, 0 },
	{ "the server starts no process, opens no socket, makes no code", server_denied, 0 },
	{ "abort works in the server", server_aborts, CASE_SIGNAL + SIGABRT },
	{ "execve kills the server", server_execs, CASE_SIGNAL + SIGSYS },
	{ "unshare kills the server", server_unshares, CASE_SIGNAL + SIGSYS },
	{ "mount kills the server", server_mounts, CASE_SIGNAL + SIGSYS },
	{ "filters are loaded and measured", measure, 0 },
};

int main(void)
{
	struct tap t = { 0 };
	int r = seccomp_probe();

	if (r < 0) {
		printf("1..0 # SKIP this kernel has no system-call filters: %s\n", strerror(-r));
		return 0;
	}
	if (!mkdtemp(scratch)) {
		printf("Bail out! no scratch folder: %s\n", strerror(errno));
		return 1;
	}
	test_cases(&t);
	for (size_t i = 0; i < ARRAY_LEN(tests); i++) {
		r = in_child(tests[i].fn);
		tap_ok(&t, r == tests[i].expect, "%s", tests[i].what);
		if (r != tests[i].expect)
			printf("# it ended with %d instead of %d\n", r, tests[i].expect);
	}
	(void) rmdir(scratch);
	return tap_end(&t);
}
