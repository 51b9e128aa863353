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
	memcpy(msg->stdio, stdio, sizeof(msg->stdio));
	msg->argv = argv;
	int r = initmsg_spawn(&msg->bytes, SPAWNMSG_ID, workdir, (const char *const *) argv, NULL);
	if (r == 0)
		return 0;
	if (r != -E2BIG)
		return err_set(err, ERR_SYSTEM, -r, "out of memory");
	for (unsigned int i = 0; argv[i]; i++)
		if (strlen(argv[i]) >= INITMSG_STRING_MAX)
			return err_set(err, ERR_USAGE, E2BIG, "argument %u of the command is longer than %d bytes: put it into a file", i,
				       INITMSG_STRING_MAX - 1);
	return err_set(err, ERR_USAGE, E2BIG, "the command is too long: at most %d arguments and %d bytes. Put it into a script",
		       INITMSG_ARGC_MAX, INITMSG_MAX);
}
