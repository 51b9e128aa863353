/*
 * Remembers what the filter refused: see notify.h. Runs in a command's shim and, for `cloche run`, in cloche-init.
 */
#include "runtime/init/notify.h"

#include <errno.h>
#include <poll.h>

#include "runtime/base/fd.h"
#include "runtime/kern/seccomp_notify.h"

void notify_begin(struct notify *n, int listener)
{
	n->listener = listener;
	seccomp_notify_prepare(listener);
}

static void count(uint32_t *times)
{
	if (*times < UINT32_MAX)
		(*times)++;
}

void notify_count(struct initmsg_denials *denials, uint32_t nr, uint32_t errnum)
{
	uint32_t i;

	for (i = 0; i < denials->kinds && i < INITMSG_DENIALS_MAX; i++) {
		struct initmsg_denial *row = &denials->rows[i];
		if (row->nr == nr && row->errnum == errnum)
			return count(&row->times);
	}
	if (i == INITMSG_DENIALS_MAX)
		return count(&denials->others);
	/* The row before its number: in `cloche mcp` init reads the list when we were killed, wherever that was. */
	denials->rows[i] = (struct initmsg_denial) { .nr = nr, .errnum = errnum, .times = 1 };
	denials->kinds = i + 1;
}

void notify_ready(struct notify *n, short revents)
{
	struct seccomp_answer answer;

	if (!revents)
		return;
	/* Without POLLIN nobody is left who could call. */
	int r = revents & POLLIN ? seccomp_notify_answer(n->listener, n->program, &answer) : -ENOENT;
	if (r > 0)
		notify_count(n->denials, answer.nr, answer.errnum);
	else if (r < 0)
		n->listener = fd_close(n->listener);
}
