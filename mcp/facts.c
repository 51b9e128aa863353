/*
 * What the server knows about its sandbox: see facts.h. Runs in cloche-mcp, on files that the kernel makes. The
 * names of mount points may come from the workspace, so only plain ones are repeated.
 */
#include "mcp/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/spec/protected.h"
#include "runtime/spec/spec.h"

const char *const facts_places[FACTS_PLACES] = {
	"/boot/", "/home/", "/media/", "/mnt/", "/opt/", "/root/", "/run/", "/srv/", "/sys/", "/var/",
};

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.+-";

/* One line of mountinfo: "36 35 98:0 / /mnt1 rw,noatime master:1 - ext4 /dev/root rw,errors=continue" */
struct mount {
	char point[FACTS_PLACE_MAX]; /* "" when it is too long or has unusual characters */
	bool writable;
	bool in_memory;
};

/* Moves @at behind @count blanks, but not out of the line. */
static const char *skip_words(const char *at, int count)
{
	for (; count > 0 && *at && *at != '\n'; at++)
		count -= *at == ' ';
	return at;
}

static bool is_rw(const char *options)
{
	return strncmp(options, "rw", 2) == 0 && strchr(", \n", options[2]);
}

/* Takes the line at @line apart. False when it is none. */
static bool parse_line(const char *line, struct mount *mount)
{
	const char *point = skip_words(line, 4);
	size_t len = strcspn(point, " \n");
	const char *end = line + strcspn(line, "\n");
	const char *dash = strstr(point, " - ");

	if (*point != '/' || !dash || dash >= end)
		return false;
	mount->point[0] = '\0';
	if (len < sizeof(mount->point) && strspn(point, plain) >= len) {
		memcpy(mount->point, point, len);
		mount->point[len] = '\0';
	}
	mount->writable = is_rw(skip_words(point, 1)) && is_rw(skip_words(dash + 3, 2));
	mount->in_memory = strncmp(dash + 3, "tmpfs ", 6) == 0;
	return true;
}

/* Whether files can be put there: devices and the kernel's files are no such place. */
static bool is_place(const struct mount *mount)
{
	if (!mount->writable || !mount->point[0] || protected_is_below(mount->point, "/proc"))
		return false;
	return !protected_is_below(mount->point, "/dev") || strcmp(mount->point, "/dev/shm") == 0;
}

/* Whether a place is worth telling beside the workspace: one in a writable workspace is not. */
static bool is_told(const struct facts *facts, const struct mount *mount, const char *root_name)
{
	return is_place(mount) && (facts->read_only || !protected_is_below(mount->point, root_name));
}

static void keep_folder(struct facts *facts, const struct mount *mount)
{
	for (size_t i = 0; i < FACTS_FOLDERS && mount->in_memory && is_place(mount); i++) {
		char *folder = facts->in_memory[i];

		if (folder[0] && strcmp(folder, mount->point) != 0)
			continue;
		memcpy(folder, mount->point, sizeof(mount->point));
		return;
	}
}

/* Adds @place to the list; "..." when there is no room left. The last comma becomes "and" at the end. */
static void add_place(struct buf *list, const char *place)
{
	if (list->len + strlen(place) + sizeof(", ...") <= list->max)
		buf_addf(list, "%s%s", list->len ? ", " : "", place);
	else if (list->len < 3 || strcmp(list->p + list->len - 3, "...") != 0)
		buf_add_str(list, ", ...");
}

static void keep_list(struct facts *facts, const struct buf *list)
{
	_cleanup_buf_ struct buf text = BUF_INIT(FACTS_WRITABLE_MAX - 1);
	const char *places = buf_cstr(list), *last = NULL;

	for (const char *comma = strchr(places, ','); comma; comma = strchr(comma + 1, ','))
		last = comma;
	buf_add(&text, places, last ? (size_t) (last - places) : list->len);
	if (last)
		buf_addf(&text, " and%s", last + 1);
	if (!buf_error(list) && !buf_error(&text))
		memcpy(facts->writable, buf_cstr(&text), text.len + 1);
}

void facts_read_mounts(struct facts *facts, const char *root_name, const char *mountinfo)
{
	_cleanup_buf_ struct buf list = BUF_INIT(FACTS_WRITABLE_MAX - sizeof(" and"));
	struct mount mount;

	for (const char *line = mountinfo; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *point = skip_words(line, 4);
		if (!parse_line(line, &mount))
			continue;
		if (list.len == 0 && !facts->read_only)
			add_place(&list, root_name);
		facts->has_mounts |= strncmp(point, root_name, strlen(root_name)) == 0 && point[strlen(root_name)] == '/';
		keep_folder(facts, &mount);
		if (is_told(facts, &mount, root_name))
			add_place(&list, mount.point);
	}
	keep_list(facts, &list);
}

/*
 * A route that leads somewhere. The first table has a heading and does not show loopback's; in the second each line ends in
 * the interface's name.
 */
bool facts_is_offline(const char *route, const char *ipv6_route)
{
	const char *heading_end = strchr(route, '\n');

	if (!heading_end || heading_end[1] != '\0')
		return false;
	for (const char *end = strchr(ipv6_route, '\n'); end; end = strchr(end + 1, '\n')) {
		const char *word = end;
		while (word > ipv6_route && word[-1] != ' ' && word[-1] != '\n')
			word--;
		if (end - word != 2 || strncmp(word, "lo", 2) != 0)
			return false;
	}
	return true;
}

/* The whole of a file of /proc in @text; closes it. False when it cannot be read. */
static bool read_file(int *fd, struct buf *text)
{
	_cleanup_fd_ int file = TAKE_FD(*fd);
	char chunk[4096]; /* what the kernel gives at once */
	ssize_t n;

	while ((n = read(file, chunk, sizeof(chunk))) > 0)
		buf_add(text, chunk, (size_t) n);
	return n == 0 && buf_error(text) == 0;
}

/* Whether something else than the agent's home is mounted below @place, which ends in a slash. */
static bool has_mount_below(const char *mountinfo, const char *place)
{
	for (const char *line = mountinfo; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *point = skip_words(line, 4);
		if (strncmp(point, place, strlen(place)) == 0 && strncmp(point, SPEC_HOME " ", sizeof(SPEC_HOME)) != 0)
			return true;
	}
	return false;
}

static bool is_root_read_only(const char *mountinfo)
{
	struct mount mount;
	bool read_only = false;

	for (const char *line = mountinfo; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (parse_line(line, &mount) && strcmp(mount.point, "/") == 0)
			read_only = !mount.writable;
	return read_only;
}

/* Nothing of the host is below a folder that is missing, or is one of the read-only root that was made for this sandbox. */
static void find_hidden(struct facts *facts, const char *mountinfo)
{
	struct stat root, st;
	bool made = is_root_read_only(mountinfo) && stat("/", &root) == 0;

	for (size_t i = 0; i < FACTS_PLACES; i++) {
		int r = stat(facts_places[i], &st) < 0 ? -errno : 0;
		bool empty = r == -ENOENT || (r == 0 && made && st.st_dev == root.st_dev);
		facts->hidden[i] = empty && !has_mount_below(mountinfo, facts_places[i]);
	}
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -EBADF : fd;
}

void facts_open(struct facts_files *files)
{
	files->mounts = open_file("/proc/self/mountinfo");
	files->route = open_file("/proc/self/net/route");
	files->ipv6_route = open_file("/proc/self/net/ipv6_route");
}

void facts_find(struct facts *facts, struct facts_files *files, const char *root_name, int root_fd)
{
	_cleanup_buf_ struct buf mounts = BUF_INIT(FACTS_FILE_MAX), route = BUF_INIT(FACTS_FILE_MAX), ipv6 = BUF_INIT(FACTS_FILE_MAX);
	struct statvfs st;

	*facts = (struct facts) { .read_only = fstatvfs(root_fd, &st) == 0 && (st.f_flag & ST_RDONLY) };
	if (read_file(&files->mounts, &mounts)) {
		facts_read_mounts(facts, root_name, buf_cstr(&mounts));
		find_hidden(facts, buf_cstr(&mounts));
	}
	/* A kernel without IPv6 has no second table. */
	bool has_ipv6 = files->ipv6_route >= 0;
	bool known = read_file(&files->route, &route) && (!has_ipv6 || read_file(&files->ipv6_route, &ipv6));
	facts->offline = known && facts_is_offline(buf_cstr(&route), buf_cstr(&ipv6));
	files->ipv6_route = fd_close(files->ipv6_route);
}
