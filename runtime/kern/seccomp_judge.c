/*
 * Reads system-call filters instead of loading them: takes the compiled form of a user's own apart, and says what a filter
 * answers to a call. Runs in cloche-init and its children (also where only async-signal-safe code may), in the launcher and in
 * the tests; needs no privilege.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/kern/seccomp.h"
#include "runtime/kern/seccomp_arch.h"
#include "runtime/spec/filterform.h"

/* Whether the conditional jump @code is taken with @a in the accumulator. */
static bool is_taken(uint16_t code, uint32_t a, uint32_t k)
{
	switch (code) {
	case BPF_JMP | BPF_JEQ | BPF_K:
		return a == k;
	case BPF_JMP | BPF_JGE | BPF_K:
		return a >= k;
	case BPF_JMP | BPF_JGT | BPF_K:
		return a > k;
	default: /* BPF_JSET: is_sound() lets nothing else pass */
		return (a & k) != 0;
	}
}

/* Whether the instruction @at of @n is one that our compiler writes, loads what exists and jumps to one behind it. */
static bool is_sound(const struct sock_filter *i, size_t at, size_t n)
{
	size_t behind = n - at - 1;

	switch (i->code) {
	case BPF_RET | BPF_K:
	case BPF_ALU | BPF_AND | BPF_K:
		return i->code == (BPF_RET | BPF_K) || behind > 0;
	case BPF_LD | BPF_W | BPF_ABS:
		return behind > 0 && i->k % sizeof(uint32_t) == 0 && i->k <= sizeof(struct seccomp_data) - sizeof(uint32_t);
	case BPF_JMP | BPF_JA:
		return i->k < behind;
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_K:
	case BPF_JMP | BPF_JSET | BPF_K:
		return i->jt < behind && i->jf < behind;
	default:
		return false;
	}
}

static bool is_sound_program(const struct sock_filter *prog, size_t n)
{
	if (n == 0 || n > FILTERFORM_INSNS_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_sound(&prog[i], i, n))
			return false;
	return true;
}

uint32_t seccomp_judge(const struct seccomp_program *program, const struct seccomp_data *data)
{
	uint32_t a = 0;

	/* Every instruction leads to a later one, and the last one returns: see is_sound(). */
	for (size_t pc = 0; pc < program->plain_len; pc++) {
		const struct sock_filter *i = &program->plain[pc];

		if (i->code == (BPF_RET | BPF_K))
			return i->k;
		if (i->code == (BPF_LD | BPF_W | BPF_ABS))
			memcpy(&a, (const char *) data + i->k, sizeof(a));
		else if (i->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= i->k;
		else if (i->code == (BPF_JMP | BPF_JA))
			pc += i->k;
		else
			pc += is_taken(i->code, a, i->k) ? i->jt : i->jf;
	}
	return SECCOMP_RET_KILL_PROCESS; /* not reached */
}

bool seccomp_allows(const struct seccomp_program *program, uint32_t nr)
{
	struct seccomp_data data = { .nr = (int) nr, .arch = SECCOMP_NATIVE_ARCH };
	uint32_t action = seccomp_judge(program, &data) & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

int seccomp_program_parse(const void *bytes, size_t len, struct seccomp_program *ret)
{
	const struct filterform_head *head = bytes;
	const struct sock_filter *prog = (const struct sock_filter *) (const void *) (head + 1);

	if (len < sizeof(*head) || head->magic != FILTERFORM_MAGIC || head->version != FILTERFORM_VERSION ||
	    head->arch != SECCOMP_NATIVE_ARCH || head->reserved != 0 || head->plain_len > FILTERFORM_INSNS_MAX ||
	    head->notify_len > FILTERFORM_INSNS_MAX || head->notes_len > FILTERFORM_NOTES_MAX ||
	    len != sizeof(*head) + ((size_t) head->plain_len + head->notify_len) * sizeof(*prog) + head->notes_len)
		return -EBADMSG;
	if (!is_sound_program(prog, head->plain_len) || !is_sound_program(prog + head->plain_len, head->notify_len))
		return -EBADMSG;
	*ret = (struct seccomp_program) {
		.plain = prog, .notify = prog + head->plain_len, .plain_len = (uint16_t) head->plain_len,
		.notify_len = (uint16_t) head->notify_len,
	};
	return 0;
}
