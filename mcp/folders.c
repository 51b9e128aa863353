/*
 * Room in folders in memory: see folders.h. Runs in cloche-mcp, without any capability, on the event loop. Mount points cannot be
 * replaced by commands, and a path that is only looked up (O_PATH) reads nothing.
 */
#include "mcp/folders.h"

#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>

#include "runtime/base/attr.h"
#include "runtime/base/fd.h"
#include "runtime/spec/limits_text.h"

enum { FOLDER_FULL_PART = 64 }; /* less than this part free is full */

static bool look(const char *name, struct folder *folder)
{
	_cleanup_fd_ int fd = open(name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct statvfs st;

	if (fd < 0 || fstatvfs(fd, &st) < 0)
		return false;
	*folder = (struct folder) {
		.name = name,
		.size = (uint64_t) st.f_blocks * st.f_frsize,
		.free = (uint64_t) st.f_bavail * st.f_frsize,
		.files = st.f_files,
		.files_free = st.f_ffree,
	};
	return folder->size > 0;
}

static bool is_short(uint64_t free, uint64_t size)
{
	return size > 0 && free < (size + FOLDER_FULL_PART - 1) / FOLDER_FULL_PART;
}

bool folder_is_full(const struct folder *folder)
{
	return is_short(folder->free, folder->size) || is_short(folder->files_free, folder->files);
}

static void add_option(struct buf *text, const char *name)
{
	if (strcmp(name, "/dev/shm") == 0)
		buf_add_str(text, "--shm-size SIZE");
	else
		buf_addf(text, "--tmpfs %s:size=SIZE", name);
}

void folder_add_full(struct buf *text, const struct folder *folder)
{
	if (is_short(folder->free, folder->size)) {
		buf_addf(text, "%s is full: it is in memory and can hold ", folder->name);
		limits_add_size(text, folder->size);
	} else {
		buf_addf(text, "%s is full: it is in memory and can hold %llu files", folder->name, (unsigned long long) folder->files);
	}
	buf_add_str(text, ". Remove what is not needed there, put large things elsewhere, or ask the user for a larger one (option ");
	add_option(text, folder->name);
	buf_add_str(text, " of cloche).");
}

static void add_room(struct buf *text, const struct folder *folder)
{
	buf_addf(text, "%s ", folder->name);
	limits_add_size(text, folder->size);
	buf_add_str(text, " (");
	limits_add_size(text, folder->free);
	buf_add_str(text, " free now)");
}

/* Something was too large for its folder, and is gone again: which one it was is not known. */
static void add_all(struct buf *lines, const struct folder *folders, size_t count, const char *before, const char *after)
{
	buf_addf(lines, "%sno space left on a device. Folders in memory have sizes: ", before);
	for (size_t i = 0; i < count; i++) {
		buf_add_str(lines, i > 0 ? ", " : "");
		add_room(lines, &folders[i]);
	}
	buf_add_str(lines, ". If it was one of them, put large things elsewhere, or ask the user for a larger one (option ");
	add_option(lines, folders[0].name);
	buf_addf(lines, " of cloche).%s", after);
}

void folders_add_lines(struct buf *lines, const struct facts *facts, bool wanted, const char *before, const char *after)
{
	struct folder folders[FACTS_FOLDERS];
	size_t count = 0, full = 0;

	for (size_t i = 0; i < FACTS_FOLDERS && facts->in_memory[i][0]; i++)
		count += look(facts->in_memory[i], &folders[count]);
	for (size_t i = 0; i < count; i++) {
		if (!folder_is_full(&folders[i]))
			continue;
		buf_add_str(lines, before);
		folder_add_full(lines, &folders[i]);
		buf_add_str(lines, after);
		full++;
	}
	if (wanted && full == 0 && count > 0)
		add_all(lines, folders, count, before, after);
}
