/*
 * A simulator for seccomp's BPF: see bpf_sim.h. Written from bpf(4) and the kernel's seccomp_check_filter(), not
 * from the code generator that it judges.
 */
#include "tests/filter/bpf_sim.h"

#include <errno.h>
#include <string.h>

/* Only whole, aligned words of the data can be loaded. */
static int load(const struct seccomp_data *data, uint32_t offset, uint32_t *ret)
{
	if (offset % sizeof(*ret) != 0 || offset > sizeof(*data) - sizeof(*ret))
		return -EINVAL;
	memcpy(ret, (const char *) data + offset, sizeof(*ret));
	return 0;
}

/* Whether the conditional jump @code is taken with @a in the accumulator: 0, 1 or -EINVAL. */
static int taken(uint16_t code, uint32_t a, uint32_t k)
{
	switch (code) {
	case BPF_JMP | BPF_JEQ | BPF_K:
		return a == k;
	case BPF_JMP | BPF_JGE | BPF_K:
		return a >= k;
	case BPF_JMP | BPF_JGT | BPF_K:
		return a > k;
	case BPF_JMP | BPF_JSET | BPF_K:
		return (a & k) != 0;
	default:
		return -EINVAL;
	}
}

int bpf_sim_run(const struct sock_filter *prog, size_t len, const struct seccomp_data *data, uint32_t *ret)
{
	uint32_t a = 0;
	int steps = 0;

	if (len == 0 || len > BPF_MAXINSNS)
		return -EINVAL;
	for (size_t pc = 0; pc < len; pc++) {
		const struct sock_filter *i = &prog[pc];
		int r;

		steps++;
		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			r = load(data, i->k, &a);
			if (r < 0)
				return r;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			if (i->k >= len - pc - 1)
				return -EINVAL;
			pc += i->k;
			break;
		case BPF_RET | BPF_K:
			*ret = i->k;
			return steps;
		default:
			r = taken(i->code, a, i->k);
			if (r < 0)
				return r;
			pc += r ? i->jt : i->jf;
			break;
		}
	}
	return -EINVAL; /* ran past the end */
}
