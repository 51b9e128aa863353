/*
 * Takes a SPAWN request apart: see request.h. Runs in cloche-init, on bytes from a process without capabilities: nothing is
 * believed before it was checked.
 */
#include "runtime/init/request.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/str.h"

/* The next NUL-terminated string of *@at, or NULL when none is left or it is too long. */
static const char *next_string(const char **at, const char *end)
{
	const char *start = *at;
	const char *nul = memchr(start, '\0', (size_t) (end - start));

	if (!nul || nul - start >= INITMSG_STRING_MAX)
		return NULL;
	*at = nul + 1;
	return start;
}

static int set_variable(struct request *req, size_t *count, const char *assignment)
{
	size_t name = strcspn(assignment, "=");

	if (name == 0 || assignment[name] != '=')
		return -EPROTO;
	for (size_t i = 0; i < *count; i++) {
		if (str_same_variable(req->envp[i], assignment)) {
			req->envp[i] = assignment;
			return 0;
		}
	}
	if (*count + 1 >= ARRAY_LEN(req->envp))
		return -EPROTO;
	req->envp[(*count)++] = assignment;
	return 0;
}

int request_parse(struct request *req, const void *message, size_t len, const char *const *base_env)
{
	struct initmsg_spawn head;
	size_t vars = 0;

	if (len < sizeof(head))
		return -EPROTO;
	memcpy(&head, message, sizeof(head));
	req->id = head.head.id;
	req->limits = head.limits;
	if (head.head.type != INITMSG_SPAWN || req->id == 0 || head.reserved != 0 || head.argc < 1 ||
	    head.argc > INITMSG_ARGC_MAX || head.envc > INITMSG_ENVC_MAX || head.strings_size != len - sizeof(head))
		return -EPROTO;
	const char *at = (const char *) message + sizeof(head);
	const char *end = at + head.strings_size;
	req->cwd = next_string(&at, end);
	if (!req->cwd || req->cwd[0] != '/')
		return -EPROTO;
	for (uint32_t i = 0; i < head.argc; i++) {
		req->argv[i] = next_string(&at, end);
		if (!req->argv[i])
			return -EPROTO;
	}
	req->argv[head.argc] = NULL;
	if (req->argv[0][0] == '\0')
		return -EPROTO;
	for (; *base_env && vars + 1 < ARRAY_LEN(req->envp); base_env++)
		req->envp[vars++] = *base_env;
	for (uint32_t i = 0; i < head.envc; i++) {
		const char *assignment = next_string(&at, end);
		if (!assignment || set_variable(req, &vars, assignment) < 0)
			return -EPROTO;
	}
	req->envp[vars] = NULL;
	return at == end ? 0 : -EPROTO;
}
