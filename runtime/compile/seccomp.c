/*
 * `cloche-compile seccomp`: see seccomp.h. Runs in cloche-compile, which has confined itself.
 */
#include "runtime/compile/seccomp.h"

#include <assert.h>
#include <errno.h>

#include "runtime/compile/docker.h"
#include "runtime/compile/filter_code.h"
#include "runtime/spec/filterform.h"

static_assert(FILTERFORM_INSNS_MAX == BPF_MAXINSNS, "the kernel's limit is the form's");

int seccomp_compile(const char *text, size_t len, struct buf *out, struct err *err)
{
	static struct filter_profile profile; /* megabytes */
	static struct sock_filter prog[2][BPF_MAXINSNS];
	_cleanup_buf_ struct buf notes = BUF_INIT(FILTERFORM_NOTES_MAX);
	const struct filter_arch *arch = filter_arch_find(NULL);
	uint32_t length[2];

	if (!arch)
		return err_set(err, ERR_UNSUPPORTED, ENOSYS, "no system-call filter is made for this machine");
	int r = docker_filter(text, len, arch, filterform_running_kernel(), &profile, &notes, err);
	if (r < 0)
		return r;
	for (int notify = 0; notify < 2; notify++) {
		r = filter_compile(&profile, notify, prog[notify], BPF_MAXINSNS);
		if (r < 0)
			return err_set(err, ERR_USAGE, E2BIG, "it needs more than %d instructions, which is all that the kernel takes: "
				       "name fewer calls with 'args'", BPF_MAXINSNS);
		length[notify] = (uint32_t) r;
	}
	struct filterform_head head = {
		.magic = FILTERFORM_MAGIC, .version = FILTERFORM_VERSION, .arch = arch->audit, .kernel = filterform_running_kernel(),
		.plain_len = length[0], .notify_len = length[1], .notes_len = (uint32_t) notes.len,
	};
	buf_add(out, &head, sizeof(head));
	for (int notify = 0; notify < 2; notify++)
		buf_add(out, prog[notify], length[notify] * sizeof(prog[0][0]));
	buf_add(out, buf_cstr(&notes), notes.len);
	return buf_error(out) < 0 ? err_set(err, ERR_SYSTEM, -buf_error(out), "the result cannot be kept: %m") : 0;
}
