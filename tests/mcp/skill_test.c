/*
 * The guide for agents: its front matter is as readers of such files want it. (That it came through the build unchanged,
 * and names tools that exist, is tested on the wire.)
 */
#include "mcp/skill.h"

#include <string.h>

#include "runtime/base/attr.h"
#include "runtime/base/utf8.h"
#include "tests/harness/unit.h"

enum { SKILL_DESCRIPTION_MAX = 1024 }; /* what readers of such files take */

START_TEST(test_front_matter)
{
	static const char head[] = "---\nname: " SKILL_NAME "\ndescription: ";
	size_t len;
	const char *description = skill_description(&len);

	ck_assert_uint_eq(strlen(skill_text), skill_text_len);
	ck_assert(utf8_is_valid(skill_text, skill_text_len));
	ck_assert_int_eq(strncmp(skill_text, head, sizeof(head) - 1), 0);
	ck_assert_ptr_eq(description, skill_text + sizeof(head) - 1);
	ck_assert_uint_ge(len, 50);
	ck_assert_uint_le(len, SKILL_DESCRIPTION_MAX);
	/* A plain scalar of YAML: these would end it or make something else of it. */
	ck_assert_ptr_null(memmem(description, len, ": ", 2));
	ck_assert_ptr_null(memmem(description, len, " #", 2));
	ck_assert_ptr_null(strchr("\"'[]{}>|*&!%#`@,?:-", description[0]));
	ck_assert_int_eq(strncmp(description + len, "\n---\n\n", 6), 0);
	ck_assert_ptr_eq(skill_body(), description + len + 6);
	ck_assert_int_eq(strncmp(skill_body(), "# ", 2), 0);
	ck_assert_int_eq(skill_text[skill_text_len - 1], '\n');
}
END_TEST

UNIT_MAIN("mcp/skill", test_front_matter)
