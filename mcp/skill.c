/*
 * The compiled-in guide for agents: see skill.h. Part of cloche-mcp.
 */
#include "mcp/skill.h"

#include <assert.h>
#include <string.h>

/* Defines skill_text. */
#include "gen/skill.h"

static_assert(sizeof(skill_text) <= 16 * 1024, "the guide is read by models as a whole: keep it short");

const size_t skill_text_len = sizeof(skill_text) - 1;

/* What follows the first @mark at or behind @from; "" when it is not there, which a test excludes. */
static const char *behind(const char *from, const char *mark)
{
	const char *at = strstr(from, mark);

	return at ? at + strlen(mark) : "";
}

const char *skill_description(size_t *ret_len)
{
	const char *description = behind(skill_text, "\ndescription: ");

	*ret_len = strcspn(description, "\n");
	return description;
}

const char *skill_body(void)
{
	return behind(skill_text, "\n---\n\n");
}
