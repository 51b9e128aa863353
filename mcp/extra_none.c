/*
 * The product has nothing beside what it is made of: see extra.h. Runs in cloche-mcp, without any capability.
 */
#include "mcp/extra.h"

#include "mcp/task.h"

void extra_arguments(_unused_ int *argc, _unused_ char **argv)
{
}

const struct method *extra_method(_unused_ const char *name)
{
	return NULL;
}

const char *extra_capabilities(_unused_ enum mcp_version version)
{
	return NULL;
}

const struct mcp_tool *extra_tool(_unused_ size_t i)
{
	return NULL;
}

bool extra_resource(_unused_ const char *uri)
{
	return false;
}

int64_t extra_task_after_ms(void)
{
	return TASK_AFTER_MS;
}

bool extra_response(_unused_ struct server *s, _unused_ const struct rpc *m)
{
	return false;
}

int64_t extra_tick(_unused_ struct server *s, _unused_ int64_t now_ms)
{
	return INT64_MAX;
}

void extra_done(_unused_ struct server *s)
{
}
