/*
 * Scores for the kernel's choice when memory runs out: see oomscore.h. Runs in cloche-init; raising its own score needs no right, and
 * nor does going back, since the launcher's was lower still.
 */
#include "runtime/init/oomscore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/fd.h"
#include "runtime/base/str.h"

enum { HIGHER = 300, HIGHEST = 1000, TEXT_MAX = 24 };

static int score_fd = -EBADF;
static uint64_t usual;

void oomscore_open(void)
{
	char text[TEXT_MAX] = "";
	_cleanup_fd_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* One below 0, which somebody with more rights than the launcher has given, stays as it is. */
	if (fd >= 0 && fd_read_text(AT_FDCWD, "/proc/self/oom_score_adj", text, sizeof(text)) > 0 &&
	    str_to_uint(text, 0, HIGHEST, &usual) == 0)
		score_fd = TAKE_FD(fd);
}

static void set(uint64_t score)
{
	char text[TEXT_MAX];

	if (score_fd >= 0)
		IGNORE_RESULT(write(score_fd, text, (size_t) snprintf(text, sizeof(text), "%llu", (unsigned long long) score)));
}

void oomscore_raise(void)
{
	set(MIN(usual + HIGHER, (uint64_t) HIGHEST));
}

void oomscore_restore(void)
{
	set(usual);
}
