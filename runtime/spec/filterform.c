/*
 * The compiled form of a filter: see filterform.h. Runs in cloche and cloche-compile.
 */
#include "runtime/spec/filterform.h"

#include <sys/utsname.h>

#include "runtime/base/attr.h"

uint32_t filterform_running_kernel(void)
{
	uint32_t part[2] = { 0, 0 };
	struct utsname uts;

	if (uname(&uts) < 0)
		return 0;
	const char *s = uts.release;
	for (size_t i = 0; i < ARRAY_LEN(part); i++, s += *s == '.')
		for (; *s >= '0' && *s <= '9' && part[i] < 6000; s++)
			part[i] = part[i] * 10 + (uint32_t) (*s - '0');
	return filterform_kernel(part[0], part[1]);
}
