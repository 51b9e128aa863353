/*
 * Puts the floor under a user's own filter: see seccomp_program_link(). Runs in the launcher, without privilege.
 *
 * The floor (profiles/seccomp/floor.json) is a program that allows or refuses. In front of the user's, with a jump to it in the
 * place of each "allow", it decides first, and what it refuses stays refused whatever the user's program is: a program jumps
 * forward only and cannot get back. One program in the kernel is cheaper than two, and leaves the user's refusals to a listener,
 * which a second filter would hide.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "gen/filter_floor.h"
#include "gen/filter_floor_debug.h"
#include "runtime/kern/seccomp.h"
#include "runtime/kern/seccomp_arch.h"
#include "runtime/spec/filterform.h"

struct floor {
	const struct sock_filter *prog;
	uint32_t len;
};

/* By form (plain, notify) and by whether debuggers are allowed. */
static const struct floor floors[2][2] = {
	{ { filter_floor, ARRAY_LEN(filter_floor) }, { filter_floor_notify, ARRAY_LEN(filter_floor_notify) } },
	{ { filter_floor_debug, ARRAY_LEN(filter_floor_debug) }, { filter_floor_debug_notify, ARRAY_LEN(filter_floor_debug_notify) } },
};

static void add_linked(struct buf *out, const struct floor *floor, const struct sock_filter *prog, uint32_t len)
{
	for (uint32_t i = 0; i < floor->len; i++) {
		struct sock_filter insn = floor->prog[i];

		if (insn.code == (BPF_RET | BPF_K) && insn.k == SECCOMP_RET_ALLOW)
			insn = (struct sock_filter) { .code = BPF_JMP | BPF_JA, .k = floor->len - i - 1 };
		buf_add(out, &insn, sizeof(insn));
	}
	buf_add(out, prog, len * sizeof(*prog));
}

int seccomp_program_link(const void *bytes, size_t len, bool debug, struct buf *out)
{
	const struct floor *floor = floors[debug];
	struct seccomp_program user;
	int r = seccomp_program_parse(bytes, len, &user);

	if (r < 0)
		return r;
	struct filterform_head head = {
		.magic = FILTERFORM_MAGIC, .version = FILTERFORM_VERSION, .arch = SECCOMP_NATIVE_ARCH,
		.plain_len = floor[0].len + user.plain_len, .notify_len = floor[1].len + user.notify_len,
	};
	if (head.plain_len > FILTERFORM_INSNS_MAX || head.notify_len > FILTERFORM_INSNS_MAX)
		return -E2BIG;
	buf_add(out, &head, sizeof(head));
	add_linked(out, &floor[0], user.plain, user.plain_len);
	add_linked(out, &floor[1], user.notify, user.notify_len);
	return buf_error(out);
}
