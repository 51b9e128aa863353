/*
 * The SPAWN message of `cloche run`: see spawnmsg.h. Runs in the launcher.
 */
#include "runtime/life/spawnmsg.h"

#include <errno.h>
#include <string.h>

void spawnmsg_done(struct spawnmsg *msg)
{
	buf_done(&msg->bytes);
}

int spawnmsg_make(struct spawnmsg *msg, const char *workdir, char *const *argv, const int *stdio, struct err *err)
{
	struct initmsg_spawn head = { .head = { INITMSG_SPAWN, SPAWNMSG_ID } };

	msg->bytes = (struct buf) BUF_INIT(INITMSG_MAX);
	memcpy(msg->stdio, stdio, sizeof(msg->stdio));
	buf_add(&msg->bytes, &head, sizeof(head));
	buf_add(&msg->bytes, workdir, strlen(workdir) + 1);
	for (; argv[head.argc]; head.argc++) {
		size_t size = strlen(argv[head.argc]) + 1;
		if (size > INITMSG_STRING_MAX)
			return err_set(err, ERR_USAGE, E2BIG, "argument %u of the command is longer than %d bytes: put it into a file",
				       head.argc, INITMSG_STRING_MAX - 1);
		buf_add(&msg->bytes, argv[head.argc], size);
	}
	int r = buf_error(&msg->bytes);
	if (r == -ENOMEM)
		return err_set(err, ERR_SYSTEM, ENOMEM, "out of memory");
	if (r < 0 || head.argc > INITMSG_ARGC_MAX)
		return err_set(err, ERR_USAGE, E2BIG, "the command is too long: at most %d arguments and %d bytes. Put it into a script",
			       INITMSG_ARGC_MAX, INITMSG_MAX);
	head.strings_size = (uint32_t) (msg->bytes.len - sizeof(head));
	memcpy(msg->bytes.p, &head, sizeof(head));
	return 0;
}
