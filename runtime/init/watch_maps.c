/*
 * Mappings that are counted elsewhere: see watch_maps.h. Runs in cloche-init. The kernel walks through all pages of the process.
 */
#include "runtime/init/watch_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "runtime/base/attr.h"
#include "runtime/base/fd.h"
#include "runtime/init/watch_files.h"
#include "runtime/init/watch_read.h"

enum { TEXT_MAX = 2 << 20 /* about 2500 mappings */ };

/* "7f00-7f20 rw-s 00000000 00:01 12    /memfd:name (deleted)" (proc(5), smaps) */
static bool is_counted(const char *line, const struct watch_tmpfs *folders)
{
	unsigned int major, minor;
	unsigned long long inode;
	int at = 0;

	if (sscanf(line, "%*x-%*x %*s %*x %x:%x %llu %n", &major, &minor, &inode, &at) != 3 || at == 0)
		return false;
	dev_t device = makedev(major, minor);
	if (watch_tmpfs_has(folders, device))
		return true;
	return device == watch_files_device() &&
	       (strncmp(line + at, "/SYSV", strlen("/SYSV")) == 0 || watch_files_holder(WATCH_MEMORY, inode) != 0);
}

uint64_t watch_maps_counted(int proc_fd, const struct watch_process *p, const struct watch_tmpfs *folders)
{
	char path[WATCH_NAME_MAX + 16], name[WATCH_NAME_MAX];
	uint64_t bytes = 0, pss = 0;
	bool counted = false;
	const char *line;

	watch_process_name(p, name);
	(void) snprintf(path, sizeof(path), "%s/smaps", name);
	_cleanup_fd_ int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	struct watch_lines lines = { .fd = fd };
	while (fd >= 0 && lines.read < TEXT_MAX && (line = watch_line(&lines))) {
		if (line[0] < 'A' || line[0] > 'Z') {
			counted = is_counted(line, folders);
			pss = 0;
		} else if (counted && strncmp(line, "Pss:", strlen("Pss:")) == 0) {
			pss = watch_bytes(line, "Pss:");
			bytes += pss;
		} else if (counted && strncmp(line, "Anonymous:", strlen("Anonymous:")) == 0) {
			bytes -= MIN(pss, watch_bytes(line, "Anonymous:")); /* written to a private mapping: the process's own */
		}
	}
	return fd >= 0 && lines.read == 0 ? UINT64_MAX : bytes;
}
