/*
 * System V tables: see watch_ipc.h. Runs in cloche-init.
 */
#include "runtime/init/watch_ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/fd.h"

/* Kernel: struct msg_msg; struct sem, which has a line of the cache for itself; and what there is of each queue and set. */
enum { BYTES_PER_MESSAGE = 64, BYTES_PER_SEMAPHORE = 64, BYTES_PER_OBJECT = 512 };

static int open_own(int proc_fd)
{
	char path[32];

	(void) snprintf(path, sizeof(path), "%d/ns/ipc", (int) getpid());
	int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int watch_ipc_open_home(int *ret_home_fd, int proc_fd)
{
	*ret_home_fd = open_own(proc_fd);
	return MIN(*ret_home_fd, 0);
}

int watch_ipc_enter(struct watch_ipc *ipc, int proc_fd)
{
	if (unshare(CLONE_NEWIPC) < 0)
		return -errno;
	*ipc = (struct watch_ipc) { .ns_fd = open_own(proc_fd) };
	return 0;
}

int watch_ipc_leave(int home_fd)
{
	return setns(home_fd, CLONE_NEWIPC) < 0 ? -errno : 0;
}

/* Of the namespace that the process is in. */
static void measure(struct watch_ipc *ipc)
{
	union { /* struct shm_info and the others are what these calls want where a smaller structure is declared */
		struct shm_info info;
		struct shmid_ds declared;
	} memory;
	union {
		struct msginfo info;
		struct msqid_ds declared;
	} messages;
	struct seminfo semaphores;

	if (shmctl(0, SHM_INFO, &memory.declared) >= 0)
		ipc->shared = (uint64_t) (memory.info.shm_rss + memory.info.shm_swp) * (uint64_t) sysconf(_SC_PAGESIZE);
	if (msgctl(0, MSG_INFO, &messages.declared) >= 0)
		ipc->others += (uint64_t) messages.info.msgpool * BYTES_PER_OBJECT +
			       (uint64_t) messages.info.msgmap * BYTES_PER_MESSAGE + (uint64_t) messages.info.msgtql;
	if (semctl(0, 0, SEM_INFO, &semaphores) >= 0)
		ipc->others += (uint64_t) semaphores.semusz * BYTES_PER_OBJECT + (uint64_t) semaphores.semaem * BYTES_PER_SEMAPHORE;
}

void watch_ipc_look(struct watch_ipc *ipc, int home_fd)
{
	ipc->shared = ipc->others = 0;
	if (ipc->is_own) {
		measure(ipc);
	} else if (ipc->ns_fd >= 0 && setns(ipc->ns_fd, CLONE_NEWIPC) == 0) {
		measure(ipc);
		IGNORE_RESULT(watch_ipc_leave(home_fd)); /* staying there does no harm: every command gets one of its own */
	}
}

void watch_ipc_close(struct watch_ipc *ipc)
{
	ipc->ns_fd = fd_close(ipc->ns_fd);
	ipc->is_own = false;
}
