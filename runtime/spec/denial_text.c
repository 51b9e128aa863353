/*
 * Refused system calls in words: see denial_text.h. Pure; runs in cloche-mcp and in `cloche run`.
 */
#include "runtime/spec/denial_text.h"

#include <errno.h>

#include "runtime/spec/denial.h"

static const struct {
	uint32_t errnum;
	const char *name;
} errnos[] = {
	{ EPERM, "EPERM" },
	{ EACCES, "EACCES" },
	{ EBUSY, "EBUSY" },
	{ EINVAL, "EINVAL" },
	{ ENOSYS, "ENOSYS" },
	{ EPROTONOSUPPORT, "EPROTONOSUPPORT" },
	{ EAFNOSUPPORT, "EAFNOSUPPORT" },
};

const char *denial_errno_name(uint32_t errnum)
{
	for (size_t i = 0; i < ARRAY_LEN(errnos); i++)
		if (errnos[i].errnum == errnum)
			return errnos[i].name;
	return "";
}

static void add_call(struct buf *text, const struct initmsg_denial *row)
{
	const char *name = denial_call_name(row->nr), *errno_name = denial_errno_name(row->errnum);

	if (name)
		buf_add_str(text, name);
	else
		buf_addf(text, "system call %u", row->nr);
	if (errno_name[0])
		buf_addf(text, " (%s", errno_name);
	else
		buf_addf(text, " (errno %u", row->errnum);
	if (row->times > 1)
		buf_addf(text, ", %u times", row->times);
	buf_add_str(text, "). ");
}

unsigned int denial_text(struct buf *text, const struct initmsg_denials *denials, const char *before, const char *after)
{
	uint32_t kinds = MIN(denials->kinds, (uint32_t) INITMSG_DENIALS_MAX);

	for (uint32_t i = 0; i < kinds; i++) {
		const struct initmsg_denial *row = &denials->rows[i];
		const char *advice = denial_advice(row->nr, row->errnum);

		buf_add_str(text, before);
		add_call(text, row);
		buf_add_str(text, advice ? advice : "A rule of the filter that was chosen for this sandbox refuses it.");
		buf_add_str(text, after);
	}
	if (denials->others == 0)
		return kinds;
	buf_addf(text, "%scalls of other kinds, %u times. Only the first %d kinds are told.%s", before, denials->others,
		 INITMSG_DENIALS_MAX, after);
	return kinds + 1;
}
