/*
 * Shared memory that no process shows: see watch_hidden.h. Runs in cloche-init.
 */
#include "runtime/init/watch_hidden.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/init/watch_files.h"
#include "runtime/init/watch_read.h"

enum {
	MEMINFO_MAX = 4096,
	TEXT_MAX = 1 << 20,
	BUDGET_US = 20000,
	LITTLE = 64,             /* what is less than this part of the limit is not looked for … */
	LITTLE_BYTES = 16 << 20, /* … nor what is less than this */
	MUCH = 2,                /* what is more than this part of it may also be where there is hardly a place */
	MUCH_BYTES = 64 << 20,
};

/* All shared memory of this machine, that in folders too. */
static uint64_t of_machine(struct watch_hidden *h, int proc_fd)
{
	char text[MEMINFO_MAX];

	if (!watch_read(proc_fd, "meminfo", text, sizeof(text))) {
		h->most = UINT64_MAX;
		return 0;
	}
	uint64_t shared = watch_bytes(text, "\nShmem:"), swap = watch_bytes(text, "\nSwapTotal:");
	h->most = shared + swap - MIN(swap, watch_bytes(text, "\nSwapFree:"));
	return shared;
}

void watch_hidden_begin(struct watch_hidden *h, int proc_fd, uint64_t ours)
{
	uint64_t all = of_machine(h, proc_fd);

	h->others = all - MIN(all, ours);
	h->is_sought = false;
}

/*
 * How much may hide behind one mapping: "7f00-7f20 rw-s 00000000 00:01 12    /dev/zero (deleted)". A file in memory that nobody has open can be
 * larger than what is mapped of it (*@ret_more), though it hardly ever is.
 */
static uint64_t room_behind(const char *line, bool *ret_more)
{
	unsigned long long start, end, inode;
	unsigned int major, minor;
	int at = 0;

	if (sscanf(line, "%llx-%llx %*s %*x %x:%x %llu %n", &start, &end, &major, &minor, &inode, &at) != 5 || at == 0 ||
	    makedev(major, minor) != watch_files_device() || strncmp(line + at, "/SYSV", strlen("/SYSV")) == 0 ||
	    watch_files_holder(WATCH_MEMORY, inode) != 0)
		return 0;
	if (strncmp(line + at, "/memfd:", strlen("/memfd:")) == 0)
		*ret_more = true;
	return end - start;
}

static uint64_t room_in(int proc_fd, const struct watch_process *p, bool *ret_more)
{
	char path[WATCH_NAME_MAX + 16], name[WATCH_NAME_MAX];
	uint64_t room = 0;
	const char *line;

	watch_process_name(p, name);
	(void) snprintf(path, sizeof(path), "%s/maps", name);
	_cleanup_fd_ int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	struct watch_lines lines = { .fd = fd };
	while (fd >= 0 && lines.read < TEXT_MAX && (line = watch_line(&lines)))
		room += room_behind(line, ret_more);
	return room - MIN(room, p->shared); /* what it has in its tables is known */
}

/*
 * The process with the most room, at most @wanted bytes of all together in @ret_room; without the first @much of them where there is only a
 * place that hardly ever hides anything. NULL when there is none.
 */
static struct watch_process *find_suspect(int proc_fd, struct watch_table *t, uint64_t wanted, uint64_t much, uint64_t *ret_room)
{
	static pid_t next_pid; /* where the next search begins, when this one takes too long */
	struct timespec start = clock_now();
	struct watch_process *suspect = NULL, *other = NULL;
	uint64_t largest = 0;
	size_t first = 0;

	while (first < t->count && t->rows[first].pid < next_pid)
		first++;
	for (size_t i = 0; i < t->count && *ret_room < wanted && clock_us_since(&start) < BUDGET_US; i++) {
		struct watch_process *p = &t->rows[(first + i) % t->count];
		bool more = false;
		uint64_t room = p->trusted ? 0 : room_in(proc_fd, p, &more);
		next_pid = p->pid + 1;
		*ret_room = MIN(*ret_room + room, wanted);
		if (room > largest)
			suspect = p;
		largest = MAX(largest, room);
		other = more ? p : other;
	}
	if (!other || wanted <= much || *ret_room >= wanted - much)
		return suspect;
	*ret_room = wanted - much;
	return other;
}

void watch_hidden_add(struct watch_hidden *h, int proc_fd, struct watch_table *t, uint64_t ours, uint64_t limit, bool exact)
{
	struct watch_process *suspect = watch_process_find(t, watch_files_suspect());
	uint64_t all = of_machine(h, proc_fd);
	uint64_t others = all - MIN(all, ours);

	for (size_t i = 0; i < t->count; i++)
		t->rows[i].hidden = 0;
	if (exact)
		h->others = MIN(h->others, others);
	uint64_t unexplained = others - MIN(others, h->others), room = suspect ? unexplained : 0;
	h->is_sought = unexplained >= MAX(limit / LITTLE, (uint64_t) LITTLE_BYTES);
	if (!h->is_sought)
		return;
	if (!suspect)
		suspect = find_suspect(proc_fd, t, unexplained, MAX(limit / MUCH, (uint64_t) MUCH_BYTES), &room);
	if (suspect)
		suspect->hidden = room;
}
