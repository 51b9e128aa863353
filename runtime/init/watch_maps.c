/*
 * Shared memory in mappings: see watch_maps.h. Runs in cloche-init. The kernel walks through all pages of the process.
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
static bool is_uncounted(const char *line)
{
	unsigned int major, minor;
	unsigned long long inode;
	int at = 0;

	return sscanf(line, "%*x-%*x %*s %*x %x:%x %llu %n", &major, &minor, &inode, &at) == 3 && at > 0 &&
	       makedev(major, minor) == watch_files_device() && strncmp(line + at, "/SYSV", strlen("/SYSV")) != 0 &&
	       watch_files_holder(WATCH_MEMORY, inode) == 0;
}

uint64_t watch_maps_shared(int proc_fd, const struct watch_process *p)
{
	char path[WATCH_NAME_MAX + 16], name[WATCH_NAME_MAX];
	uint64_t bytes = 0, pss = 0;
	bool uncounted = false;
	const char *line;

	watch_process_name(p, name);
	(void) snprintf(path, sizeof(path), "%s/smaps", name);
	_cleanup_fd_ int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	struct watch_lines lines = { .fd = fd };
	bool is_closed = fd < 0 && (errno == EACCES || errno == EPERM);
	while (fd >= 0 && lines.read < TEXT_MAX && (line = watch_line(&lines))) {
		if (line[0] < 'A' || line[0] > 'Z') {
			uncounted = is_uncounted(line);
			pss = 0;
		} else if (uncounted && strncmp(line, "Pss:", strlen("Pss:")) == 0) {
			pss = watch_bytes(line, "Pss:");
			bytes += pss;
		} else if (uncounted && strncmp(line, "Anonymous:", strlen("Anonymous:")) == 0) {
			bytes -= MIN(pss, watch_bytes(line, "Anonymous:")); /* written to a private mapping: the process's own */
		}
	}
	return is_closed || lines.read >= TEXT_MAX ? UINT64_MAX : bytes;
}
