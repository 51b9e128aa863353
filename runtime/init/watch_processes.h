/*
 * The processes of a PID namespace, and the memory that each has mapped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { WATCH_PROCESSES_MAX = 4096, WATCH_NAME_MAX = 32 /* "1234567890/task/1234567890" */ };

struct watch_process {
	pid_t pid, parent;
	pid_t thread;   /* whose files tell of the memory: the process's own, unless its first thread has ended */
	uint32_t tasks; /* threads */
	int tree;        /* the caller's */
	bool trusted;    /* the same: its open files are not looked at */
	uint64_t kernel; /* bytes of page tables, stacks and so on */
	uint64_t own;    /* anonymous memory, swapped out or not */
	uint64_t shared; /* mapped shared memory */
	uint64_t seen;   /* own and shared, also where that is another process's */
	uint64_t files;  /* what its open files hold: watch_files.h, watch_sockets.h */
	uint64_t hidden; /* what it may hide: watch_hidden.h */
};

struct watch_table {
	struct watch_process rows[WATCH_PROCESSES_MAX]; /* ascending, as the kernel lists them */
	size_t count;
	uint64_t beyond; /* bytes of processes for which there was no row */
};

/*
 * Reads every process of the procfs @proc_fd but the first one. The figures count a page in every process that maps it, so they are
 * never too small. What a child of vfork(2) borrows from its parent until its exec counts once, where it is at least @worth bytes.
 */
void watch_processes_read(struct watch_table *t, int proc_fd, uint64_t worth);

/*
 * In place of that the exact figures of one process, in which the kernel divides a page among its users: takes 10 ms for each gigabyte.
 */
void watch_process_read_exact(struct watch_process *p, int proc_fd);

/* NULL when there is none. */
struct watch_process *watch_process_find(const struct watch_table *t, pid_t pid);

/* "12" or "12/task/14" */
void watch_process_name(const struct watch_process *p, char ret[static WATCH_NAME_MAX]);
