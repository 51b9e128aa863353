/*
 * Reads what the kernel prints in /proc: see watch_read.h. Runs in cloche-init.
 */
#include "runtime/init/watch_read.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/fd.h"

bool watch_read(int dir_fd, const char *path, char *ret, size_t size)
{
	ssize_t n = fd_read_text(dir_fd, path, ret, size);

	errno = n < 0 ? (int) -n : 0;
	return n > 0;
}

uint64_t watch_number(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	uint64_t value = 0;

	if (!at)
		return 0;
	for (at += strlen(name); *at == ' ' || *at == '\t';)
		at++;
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t) (*at - '0');
	return value;
}

uint64_t watch_bytes(const char *text, const char *name)
{
	return watch_number(text, name) * 1024;
}

struct entry { /* struct linux_dirent64 of getdents64(2) */
	uint64_t inode;
	int64_t offset;
	unsigned short length;
	unsigned char type;
	char name[];
};

bool watch_next(struct watch_dir *d, unsigned int *ret)
{
	for (;;) {
		if (d->at >= d->len) {
			d->at = 0;
			d->len = syscall(SYS_getdents64, d->fd, d->list, sizeof(d->list));
			if (d->len <= 0)
				return false;
		}
		const struct entry *e = (const struct entry *) (const void *) (d->list + d->at);
		d->at += e->length;
		if (e->name[0] < '0' || e->name[0] > '9')
			continue;
		*ret = (unsigned int) watch_number(e->name, "");
		return true;
	}
}

static bool fill(struct watch_lines *l)
{
	ssize_t n;

	do
		n = read(l->fd, l->buffer, sizeof(l->buffer));
	while (n < 0 && errno == EINTR);
	l->at = 0;
	l->len = n > 0 ? (size_t) n : 0;
	l->read += l->len;
	return n > 0;
}

char *watch_line(struct watch_lines *l)
{
	size_t len = 0;

	if (l->at >= l->len && !fill(l))
		return NULL;
	for (;;) {
		char *start = l->buffer + l->at;
		char *end = memchr(start, '\n', l->len - l->at);
		size_t part = end ? (size_t) (end - start) : l->len - l->at;
		size_t room = sizeof(l->line) - 1 - len;

		memcpy(l->line + len, start, MIN(part, room));
		len += MIN(part, room);
		l->at += part + (end != NULL);
		if (end || !fill(l))
			break;
	}
	l->line[len] = '\0';
	return l->line;
}
