/*
 * The files of one cgroup v2 directory: see cgroup.h. Runs in the launcher and supervisor, in the janitor, and in cloche-init; needs
 * no privilege but the ownership of the directory. Allocates only in cgroup_remove(), which no child between clone and exec calls.
 * Only what the kernel printed is parsed.
 */
#include "runtime/kern/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/str.h"

enum { TEXT_MAX = 4096, NUMBER_MAX = 32 };

static const char *const controller_names[] = { "memory", "pids", "cpu", "io" };

bool cgroup_is_dir(int fd)
{
	struct statfs fs;
	struct stat st;

	return fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

int cgroup_write(int dir_fd, const char *file, const char *text)
{
	_cleanup_fd_ int fd = openat(dir_fd, file, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);

	if (fd < 0)
		return -errno;
	ssize_t n = write(fd, text, len);
	return n < 0 ? -errno : (size_t) n == len ? 0 : -EIO;
}

int cgroup_write_number(int dir_fd, const char *file, uint64_t number)
{
	char text[NUMBER_MAX] = "max";

	if (number != CGROUP_MAX)
		(void) snprintf(text, sizeof(text), "%llu", (unsigned long long) number);
	return cgroup_write(dir_fd, file, text);
}

int cgroup_write_cpu(int dir_fd, uint64_t cpu_milli)
{
	char text[2 * NUMBER_MAX] = "max";
	uint64_t quota = cpu_milli == CGROUP_MAX ? 0 : cpu_milli * (CGROUP_CPU_PERIOD_US / 1000);

	if (cpu_milli != CGROUP_MAX) /* the kernel's least is one millisecond */
		(void) snprintf(text, sizeof(text), "%llu %d", (unsigned long long) MAX(quota, (uint64_t) 1000), CGROUP_CPU_PERIOD_US);
	return cgroup_write(dir_fd, "cpu.max", text);
}

/* A number that ends at @end, which is a character or the end of the text. */
static int parse_number(const char *text, size_t len, uint64_t *ret)
{
	char number[NUMBER_MAX];

	if (len == 0 || len >= sizeof(number))
		return -EBADMSG;
	memcpy(number, text, len);
	number[len] = '\0';
	if (strcmp(number, "max") == 0) {
		*ret = CGROUP_MAX;
		return 0;
	}
	return str_to_uint(number, 0, UINT64_MAX, ret) < 0 ? -EBADMSG : 0;
}

static int read_text(int dir_fd, const char *file, char text[static TEXT_MAX])
{
	ssize_t n = fd_read_text(dir_fd, file, text, TEXT_MAX);

	return n < 0 ? (int) n : 0;
}

int cgroup_read_number(int dir_fd, const char *file, uint64_t *ret)
{
	char text[TEXT_MAX];
	int r = read_text(dir_fd, file, text);

	return r < 0 ? r : parse_number(text, strlen(text), ret);
}

/* The number behind @key at the start of a line of @text. */
static int find_key(const char *text, const char *key, uint64_t *ret)
{
	size_t key_len = strlen(key);

	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		if (len > key_len && memcmp(line, key, key_len) == 0 && line[key_len] == ' ')
			return parse_number(line + key_len + 1, len - key_len - 1, ret);
		line += len + (line[len] == '\n');
	}
	return -ENODATA;
}

int cgroup_read_key(int dir_fd, const char *file, const char *key, uint64_t *ret)
{
	char text[TEXT_MAX];
	int r = read_text(dir_fd, file, text);

	return r < 0 ? r : find_key(text, key, ret);
}

int cgroup_read_keys(int dir_fd, const char *file, const char *const *keys, uint64_t *numbers, size_t count)
{
	char text[TEXT_MAX];
	int r = read_text(dir_fd, file, text);

	for (size_t i = 0; i < count && r == 0; i++)
		IGNORE_RESULT(find_key(text, keys[i], &numbers[i]));
	return r;
}

int cgroup_read_sum(int dir_fd, const char *file, const char *key, uint64_t *ret)
{
	char text[TEXT_MAX];
	size_t key_len = strlen(key);
	uint64_t sum = 0, number;
	int r = read_text(dir_fd, file, text);

	if (r < 0)
		return r;
	for (const char *word = text; *word;) {
		size_t len = strcspn(word, " \n");
		if (len > key_len && memcmp(word, key, key_len) == 0 && word[key_len] == '=' &&
		    parse_number(word + key_len + 1, len - key_len - 1, &number) == 0)
			sum += number;
		word += len + (word[len] != '\0');
	}
	*ret = sum;
	return 0;
}

int cgroup_read_controllers(int dir_fd, const char *file, unsigned int *ret)
{
	char text[TEXT_MAX];
	int r = read_text(dir_fd, file, text);

	if (r < 0)
		return r;
	*ret = 0;
	for (const char *word = text; *word;) {
		size_t len = strcspn(word, " \n");
		for (size_t i = 0; i < ARRAY_LEN(controller_names); i++)
			if (strlen(controller_names[i]) == len && memcmp(controller_names[i], word, len) == 0)
				*ret |= 1U << i;
		word += len + (word[len] != '\0');
	}
	return 0;
}

/* All in one write, which is nearly always possible. */
static int enable_all(int dir_fd, unsigned int controllers)
{
	char text[ARRAY_LEN(controller_names) * NUMBER_MAX] = "";
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LEN(controller_names); i++)
		if (controllers & (1U << i))
			len += (size_t) snprintf(text + len, sizeof(text) - len, "+%s ", controller_names[i]);
	return cgroup_write(dir_fd, "cgroup.subtree_control", text);
}

unsigned int cgroup_enable(int dir_fd, unsigned int controllers)
{
	unsigned int enabled = 0;
	char text[NUMBER_MAX];

	if (controllers == 0 || enable_all(dir_fd, controllers) == 0)
		return controllers;
	for (size_t i = 0; i < ARRAY_LEN(controller_names); i++) {
		if (!(controllers & (1U << i)))
			continue;
		(void) snprintf(text, sizeof(text), "+%s", controller_names[i]);
		if (cgroup_write(dir_fd, "cgroup.subtree_control", text) == 0)
			enabled |= 1U << i;
	}
	return enabled;
}

const char *cgroup_controller_name(enum cgroup_controller controller)
{
	for (size_t i = 0; i < ARRAY_LEN(controller_names); i++)
		if (controller == 1U << i)
			return controller_names[i];
	return "unknown";
}

static int open_group(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int cgroup_make(int dir_fd, const char *name)
{
	if (mkdirat(dir_fd, name, 0755) < 0)
		return -errno;
	int fd = open_group(dir_fd, name);
	if (fd < 0)
		(void) unlinkat(dir_fd, name, AT_REMOVEDIR);
	return fd;
}

int cgroup_kill(int dir_fd)
{
	return cgroup_write(dir_fd, "cgroup.kill", "1");
}

bool cgroup_is_populated(int dir_fd)
{
	uint64_t populated = 1;

	return cgroup_read_key(dir_fd, "cgroup.events", "populated", &populated) < 0 || populated != 0;
}

/* The name of the next group in @list, of at most CGROUP_CHILDREN_MAX entries. NULL at the end. */
static const char *next_group(DIR *list, int *count)
{
	const struct dirent *entry;

	while ((entry = readdir(list)) != NULL && (*count)++ < CGROUP_CHILDREN_MAX)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			return entry->d_name;
	return NULL;
}

/* Removes the groups in @fd that have no processes and no groups. Those that do not go make the removal of their parent fail. */
static void remove_leaves(int fd)
{
	_cleanup_list_ DIR *list = fd_list(fd);
	const char *name;
	int count = 0;

	while (list && (name = next_group(list, &count)) != NULL)
		(void) unlinkat(fd, name, AT_REMOVEDIR);
}

/* Removes the groups in @fd, and the groups in those. */
static void remove_children(int fd)
{
	_cleanup_list_ DIR *list = fd_list(fd);
	const char *name;
	int count = 0;

	while (list && (name = next_group(list, &count)) != NULL) {
		if (unlinkat(fd, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
			continue;
		_cleanup_fd_ int child = open_group(fd, name);
		if (child < 0)
			continue;
		remove_leaves(child);
		(void) unlinkat(fd, name, AT_REMOVEDIR);
	}
}

int cgroup_remove(int dir_fd, const char *name)
{
	if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno != EBUSY)
		return -errno;
	_cleanup_fd_ int fd = open_group(dir_fd, name);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	remove_children(fd);
	return unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
}
