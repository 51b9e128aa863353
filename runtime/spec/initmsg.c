/*
 * Writes the one request of init's language that has no fixed size: see initmsg.h. Pure; runs in the launcher
 * (`cloche run`) and in cloche-mcp.
 */
#include "runtime/spec/initmsg.h"

#include <errno.h>
#include <string.h>

static int add_string(struct buf *packet, const char *s)
{
	size_t size = strlen(s) + 1;

	if (size > INITMSG_STRING_MAX)
		return -E2BIG;
	buf_add(packet, s, size);
	return buf_error(packet);
}

int initmsg_spawn(struct buf *packet, uint32_t id, const char *cwd, const char *const *argv, const struct initmsg_limits *limits)
{
	struct initmsg_spawn head = { .head = { .type = INITMSG_SPAWN, .id = id } };

	if (limits)
		head.limits = *limits;

	*packet = (struct buf) BUF_INIT(INITMSG_MAX);
	buf_add(packet, &head, sizeof(head));
	int r = add_string(packet, cwd);
	for (; r == 0 && argv[head.argc]; head.argc++)
		r = head.argc < INITMSG_ARGC_MAX ? add_string(packet, argv[head.argc]) : -E2BIG;
	if (r < 0)
		return r;
	head.strings_size = (uint32_t) (packet->len - sizeof(head));
	memcpy(packet->p, &head, sizeof(head));
	return 0;
}
