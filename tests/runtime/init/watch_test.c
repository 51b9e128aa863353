/*
 * What each part of init's watch over memory finds: open files, System V tables, sockets, folders in memory, sizes of processes. Real
 * objects of this test, read through its own /proc.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/fd.h"
#include "runtime/init/watch_files.h"
#include "runtime/init/watch_ipc.h"
#include "runtime/init/watch_maps.h"
#include "runtime/init/watch_processes.h"
#include "runtime/init/watch_read.h"
#include "runtime/init/watch_sockets.h"
#include "runtime/init/watch_tmpfs.h"
#include "tests/harness/unit.h"

#define MIB ((uint64_t) 1 << 20)

enum { SIZE = 8 << 20, BUDGET_US = 1000000, THREAD_STACK = 1 << 16 };

static struct watch_table table;
static char zeros[SIZE];

static int open_proc(void)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static struct watch_process *only_row(pid_t pid, uint32_t tasks)
{
	table.count = 1;
	table.rows[0] = (struct watch_process) { .pid = pid, .thread = pid, .tasks = tasks };
	return &table.rows[0];
}

static uint64_t files_of_this_process(uint32_t tasks)
{
	struct watch_process *p = only_row(getpid(), tasks);

	_cleanup_fd_ int proc_fd = open_proc();
	watch_files_read(&table, proc_fd, BUDGET_US, false);
	return p->files;
}

static int filled_memfd(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, zeros, SIZE), SIZE);
	return fd;
}

START_TEST(a_memfd_counts_once_mapped_or_not)
{
	uint64_t before = files_of_this_process(1);
	_cleanup_fd_ int fd = filled_memfd();
	_cleanup_fd_ int copy = dup(fd);

	ck_assert_int_ge(copy, 0);
	ck_assert_uint_eq(files_of_this_process(1) - before, SIZE);
	ck_assert_uint_eq(watch_files_memory(), SIZE);
	ck_assert_uint_eq(watch_files_count(WATCH_MEMORY), 1);
}
END_TEST

START_TEST(a_memfd_of_two_processes_counts_in_the_first)
{
	_cleanup_fd_ int fd = filled_memfd();
	_cleanup_fd_ int proc_fd = open_proc();
	pid_t child = fork();

	if (child == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void) pause();
	}
	(void) only_row(getpid(), 1);
	table.rows[table.count++] = (struct watch_process) { .pid = child, .thread = child, .tasks = 1 };
	watch_files_read(&table, proc_fd, BUDGET_US, false);
	ck_assert_uint_ge(table.rows[0].files, SIZE);
	ck_assert_uint_lt(table.rows[1].files, SIZE);
	struct stat st;
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(watch_files_holder(WATCH_MEMORY, st.st_ino), getpid());
	ck_assert(st.st_dev == watch_files_device());
	(void) kill(child, SIGKILL);
}
END_TEST

static int ready[2];

static int hold_memfd(_unused_ void *unused)
{
	(void) filled_memfd();
	ck_assert_int_eq(write(ready[1], "", 1), 1);
	for (;;)
		(void) pause();
}

/* A thread can have descriptors that its process has not. */
START_TEST(a_memfd_of_a_thread_is_found)
{
	char *stack = mmap(NULL, THREAD_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	int thread = clone(hold_memfd, stack + THREAD_STACK, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_FS, NULL);
	ck_assert_int_ge(thread, 0);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	ck_assert_uint_ge(files_of_this_process(2), SIZE);
}
END_TEST

START_TEST(pipes_count_what_they_can_hold)
{
	uint64_t before = files_of_this_process(1);
	int pipes[2];

	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(pipe(pipes), 0);
	ck_assert_uint_eq(files_of_this_process(1) - before, 10 * 65536);
}
END_TEST

START_TEST(watches_count)
{
	int list = epoll_create1(EPOLL_CLOEXEC);
	uint64_t before = files_of_this_process(1);

	for (int i = 0; i < 200; i++) {
		struct epoll_event event = { .events = EPOLLIN };
		ck_assert_int_eq(epoll_ctl(list, EPOLL_CTL_ADD, eventfd(0, EFD_CLOEXEC), &event), 0);
	}
	uint64_t grown = files_of_this_process(1) - before;
	ck_assert_uint_ge(grown, 200 * 128);
	ck_assert_uint_le(grown, 200 * 512);
	/* The same in many lists, of which only some are read. */
	for (int i = 0; i < 50; i++)
		ck_assert_int_ge(epoll_create1(EPOLL_CLOEXEC), 0);
	ck_assert_uint_le(files_of_this_process(1) - before, 50 * grown);
}
END_TEST

START_TEST(the_rest_is_looked_at_the_next_time)
{
	_cleanup_fd_ int proc_fd = open_proc();
	_cleanup_fd_ int fd = filled_memfd();

	(void) only_row(getppid(), 1);
	table.rows[table.count++] = (struct watch_process) { .pid = getpid(), .thread = getpid(), .tasks = 1 };
	uint64_t found = 0;
	for (int looks = 0; looks < 2; looks++) {
		watch_files_read(&table, proc_fd, 0, false);
		found = table.rows[1].files;
	}
	ck_assert_uint_ge(found, SIZE);
	/* And what was found before is not forgotten. */
	watch_files_read(&table, proc_fd, 0, false);
	ck_assert_uint_ge(table.rows[1].files, SIZE);
}
END_TEST

START_TEST(descriptors_in_the_queue_of_a_socket_are_noticed)
{
	_cleanup_fd_ int proc_fd = open_proc();
	_cleanup_fd_ int fd = filled_memfd();
	int pair[2];
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec data = { .iov_base = zeros, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	(void) only_row(getpid(), 1);
	watch_files_read(&table, proc_fd, BUDGET_US, true);
	ck_assert_int_eq(watch_files_suspect(), 0);
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	*head = (struct cmsghdr) { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	ck_assert_int_eq(sendmsg(pair[0], &message, 0), 1);
	watch_files_read(&table, proc_fd, BUDGET_US, true);
	ck_assert_int_eq(watch_files_suspect(), getpid());
}
END_TEST

/* Fills the queue of a stream, returns the bytes. */
static uint64_t fill(int fd)
{
	uint64_t bytes = 0;
	ssize_t n;

	ck_assert_int_eq(fd_set_nonblock(fd, true), 0);
	while ((n = write(fd, zeros, 16384)) > 0)
		bytes += (uint64_t) n;
	return bytes;
}

START_TEST(socket_buffers_count_in_who_has_them_open)
{
	_cleanup_fd_ int proc_fd = open_proc();
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	struct watch_process *p = only_row(getpid(), 1);
	watch_files_read(&table, proc_fd, BUDGET_US, false);
	(void) watch_sockets_read(proc_fd, &table);
	uint64_t before = p->files, bytes = fill(pair[0]);
	watch_files_read(&table, proc_fd, BUDGET_US, false);
	(void) watch_sockets_read(proc_fd, &table);
	ck_assert_uint_ge(p->files - before, bytes);
	ck_assert_uint_le(p->files - before, 2 * bytes);
	/* What was sent stays when the sender is gone. */
	(void) fd_close(pair[0]);
	watch_files_read(&table, proc_fd, BUDGET_US, false);
	(void) watch_sockets_read(proc_fd, &table);
	ck_assert_uint_ge(p->files - before, bytes / 2);
}
END_TEST

/* The user that this process is, in its new user namespace as well. */
static void map_user(uid_t uid, gid_t gid)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	_cleanup_fd_ int users = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(write(users, text, (size_t) n), n);
	_cleanup_fd_ int deny = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(write(deny, "deny", 4), 4);
	n = snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	_cleanup_fd_ int groups = open("/proc/self/gid_map", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(write(groups, text, (size_t) n), n);
}

/* Runs @body where this process may do as init may: in a user namespace of its own. False when this machine gives none. */
static bool in_namespaces(int flags, void (*body)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		uid_t uid = getuid();
		gid_t gid = getgid();
		if (unshare(CLONE_NEWUSER | flags) < 0)
			_exit(77);
		map_user(uid, gid);
		body();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		return false;
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	return true;
}

static void fill_tables(void)
{
	struct watch_ipc ipc = WATCH_IPC_NONE;
	struct {
		long type;
		char text[4096];
	} message = { .type = 1 };
	int home_fd = -EBADF;

	_cleanup_fd_ int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(watch_ipc_open_home(&home_fd, proc_fd), 0);
	ck_assert_int_eq(watch_ipc_enter(&ipc, proc_fd), 0);
	int id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600);
	void *memory = shmat(id, NULL, 0);
	ck_assert(memory != (void *) -1);
	memset(memory, 1, SIZE);
	ck_assert_int_eq(shmdt(memory), 0);
	ck_assert_int_eq(msgsnd(msgget(IPC_PRIVATE, IPC_CREAT | 0600), &message, sizeof(message.text), 0), 0);
	ck_assert_int_ge(semget(IPC_PRIVATE, 1000, IPC_CREAT | 0600), 0);
	ck_assert_int_eq(watch_ipc_leave(home_fd), 0);
	ck_assert_int_lt(shmctl(id, IPC_STAT, &(struct shmid_ds) { 0 }), 0);
	watch_ipc_look(&ipc, home_fd);
	ck_assert_uint_eq(ipc.shared, SIZE);
	ck_assert_uint_ge(ipc.others, 4096 + 1000 * 64);
	ck_assert_uint_le(ipc.others, 2 * (4096 + 1000 * 64));
	watch_ipc_close(&ipc);
	watch_ipc_look(&ipc, home_fd);
	ck_assert_uint_eq(ipc.shared + ipc.others, 0);
}

START_TEST(tables_of_another_namespace_count)
{
	if (!in_namespaces(CLONE_NEWIPC, fill_tables))
		ck_abort_msg("this test needs user namespaces, as cloche does");
}
END_TEST

static void fill_folder(void)
{
	struct watch_tmpfs folders;
	uint64_t contents = 0;

	_cleanup_fd_ int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	watch_tmpfs_open(&folders);
	ck_assert_uint_eq(folders.count, 0); /* those of the machine are not ours */
	watch_tmpfs_add(&folders, "/mnt");
	ck_assert_uint_eq(folders.count, 0); /* nor is what is no tmpfs */
	ck_assert_int_eq(mount("tmpfs", "/mnt", "tmpfs", 0, "size=16m,nr_inodes=1000"), 0);
	watch_tmpfs_add(&folders, "/mnt");
	watch_tmpfs_add(&folders, "/mnt");
	ck_assert_uint_eq(folders.count, 1);
	uint64_t before = watch_tmpfs_bytes(&folders, &contents);
	ck_assert_uint_eq(contents, 0);
	int fd = open("/mnt/file", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	ck_assert_int_eq(write(fd, zeros, SIZE), SIZE);
	ck_assert_int_eq(unlink("/mnt/file"), 0);
	ck_assert_uint_ge(watch_tmpfs_bytes(&folders, &contents) - before, SIZE);
	ck_assert_uint_eq(contents, SIZE);
	/* Mapped, its pages are counted already. */
	void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memset(memory, 1, SIZE);
	watch_files_read(&table, proc_fd, BUDGET_US, false);
	ck_assert_uint_eq(watch_maps_shared(proc_fd, only_row(getpid(), 1)), 0);
	void *anonymous = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(anonymous, 1, SIZE);
	ck_assert_uint_eq(watch_maps_shared(proc_fd, only_row(getpid(), 1)), SIZE);
	(void) munmap(memory, SIZE);
	(void) fd_close(fd);
	ck_assert_uint_eq(watch_tmpfs_bytes(&folders, &contents), before);
}

START_TEST(folders_in_memory_count_and_those_of_the_host_do_not)
{
	if (!in_namespaces(CLONE_NEWNS, fill_folder))
		ck_abort_msg("this test needs user namespaces, as cloche does");
}
END_TEST

START_TEST(masses_of_descriptors_count)
{
	_cleanup_fd_ int proc_fd = open_proc();

	watch_processes_read(&table, proc_fd, UINT64_MAX);
	struct watch_process *p = watch_process_find(&table, getpid());
	ck_assert_ptr_nonnull(p);
	uint64_t before = p->kernel;
	struct rlimit most;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &most), 0);
	ck_assert_uint_ge(most.rlim_max, 2000);
	most.rlim_cur = most.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &most), 0);
	for (int i = 0; i < 1500; i++)
		ck_assert_int_ge(dup(proc_fd), 0);
	watch_processes_read(&table, proc_fd, UINT64_MAX);
	p = watch_process_find(&table, getpid());
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_ge(p->kernel - before, (1500 - 256) * 256);
	ck_assert_uint_le(p->kernel - before, MIB);
}
END_TEST

START_TEST(lines_are_cut_and_the_last_one_needs_no_end)
{
	struct watch_lines lines = { .fd = memfd_create("lines", MFD_CLOEXEC) };

	for (int i = 0; i < 9000; i++)
		ck_assert_int_eq(write(lines.fd, "x", 1), 1);
	ck_assert_int_eq(write(lines.fd, "\n\nlast 12", 9), 9);
	ck_assert_int_eq(lseek(lines.fd, 0, SEEK_SET), 0);
	ck_assert_uint_eq(strlen(watch_line(&lines)), sizeof(lines.line) - 1);
	ck_assert_str_eq(watch_line(&lines), "");
	const char *last = watch_line(&lines);
	ck_assert_str_eq(last, "last 12");
	ck_assert_uint_eq(watch_number(last, "last"), 12);
	ck_assert_uint_eq(watch_number(last, "first"), 0);
	ck_assert_ptr_null(watch_line(&lines));
	(void) fd_close(lines.fd);
}
END_TEST

UNIT_MAIN("watch", a_memfd_counts_once_mapped_or_not, a_memfd_of_two_processes_counts_in_the_first, a_memfd_of_a_thread_is_found,
	  pipes_count_what_they_can_hold, watches_count, the_rest_is_looked_at_the_next_time,
	  descriptors_in_the_queue_of_a_socket_are_noticed, socket_buffers_count_in_who_has_them_open, tables_of_another_namespace_count,
	  folders_in_memory_count_and_those_of_the_host_do_not, masses_of_descriptors_count, lines_are_cut_and_the_last_one_needs_no_end)
