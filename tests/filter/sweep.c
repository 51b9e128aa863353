/*
 * Tries a filter with everything that may matter: see sweep.h. For test programs of one thread.
 */
#include "tests/filter/sweep.h"

#include <string.h>

#include "runtime/base/attr.h"

enum { NR_LAST = 1100, VALUES_MAX = 512, ARGS = 6 };

struct values {
	uint64_t v[VALUES_MAX];
	size_t n;
};

struct sweep {
	const struct filter_profile *const *profiles;
	unsigned int n;
	sweep_check *check;
	void *userdata;
	unsigned long tried;
	unsigned int wrong;
	struct values values[ARGS]; /* of the call at hand */
};

static bool holds(const struct filter_cond *c, const struct seccomp_data *data)
{
	uint64_t arg = data->args[c->arg];

	switch (c->op) {
	case FILTER_MASKED_EQ:
		return (arg & c->mask) == c->value;
	case FILTER_MASKED_NE:
		return (arg & c->mask) != c->value;
	case FILTER_GT:
		return arg > c->value;
	case FILTER_GE:
		return arg >= c->value;
	case FILTER_LT:
		return arg < c->value;
	case FILTER_LE:
	default:
		return arg <= c->value;
	}
}

static const struct filter_call *find(const struct filter_profile *p, uint32_t nr)
{
	for (unsigned int i = 0; i < p->ncalls; i++)
		if (p->call[i].nr == nr)
			return &p->call[i];
	return NULL;
}

uint32_t sweep_expected(const struct filter_profile *p, const struct seccomp_data *data)
{
	uint32_t nr = (uint32_t) data->nr;
	const struct filter_call *call = find(p, nr);

	if (data->arch != p->arch->audit)
		return SECCOMP_RET_KILL_PROCESS;
	if (p->arch->has_x32 && nr >= SWEEP_X32 && nr != UINT32_MAX)
		return SECCOMP_RET_KILL_PROCESS;
	if (!call && p->young_enosys && nr > p->named_up_to && nr != UINT32_MAX)
		return SECCOMP_RET_ERRNO | 38;
	for (unsigned int j = 0; call && j < call->nrules; j++) {
		bool all = true;

		for (unsigned int k = 0; k < call->rule[j].ncond; k++)
			all &= holds(&call->rule[j].cond[k], data);
		if (all)
			return call->rule[j].action;
	}
	return p->default_action;
}

static void add_value(struct values *vs, uint64_t v)
{
	for (size_t i = 0; i < vs->n; i++)
		if (vs->v[i] == v)
			return;
	if (vs->n < VALUES_MAX)
		vs->v[vs->n++] = v;
}

/* What is worth trying as an argument that @c looks at. */
static void collect_cond(const struct filter_cond *c, struct values *vs)
{
	static const uint64_t flips[] = { 0, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT32_MAX, UINT64_C(0xffffffff00000000) };
	bool one = c->op != FILTER_MASKED_EQ && c->op != FILTER_MASKED_NE;

	add_value(vs, 0);
	add_value(vs, UINT64_MAX);
	add_value(vs, c->mask);
	add_value(vs, c->value + 1);
	add_value(vs, c->value - 1);
	add_value(vs, c->value << 32);
	add_value(vs, c->value >> 32);
	add_value(vs, c->value | ~c->mask);
	for (size_t i = 0; i < ARRAY_LEN(flips); i++)
		add_value(vs, c->value ^ flips[i]);
	/* One bit after the other of a mask that means bits, and not a number. */
	for (unsigned int bit = 0; bit < 64 && !one && (c->mask + 1) & c->mask; bit++)
		if (c->mask >> bit & 1)
			add_value(vs, c->value ^ UINT64_C(1) << bit);
}

static void collect(struct sweep *s, uint32_t nr)
{
	for (unsigned int a = 0; a < ARGS; a++)
		s->values[a].n = 0;
	for (unsigned int i = 0; i < s->n; i++) {
		const struct filter_call *call = find(s->profiles[i], nr);

		for (unsigned int j = 0; call && j < call->nrules; j++)
			for (unsigned int k = 0; k < call->rule[j].ncond; k++)
				collect_cond(&call->rule[j].cond[k], &s->values[call->rule[j].cond[k].arg]);
	}
	for (unsigned int a = 0; a < ARGS; a++)
		if (s->values[a].n == 0) /* not looked at: a filler, another one for each call */
			add_value(&s->values[a], UINT64_C(0x0123456789abcdef) * (nr + a));
}

static void ask(struct sweep *s, const struct seccomp_data *data)
{
	struct seccomp_data question = *data;

	/* A call of 32 bits has no high halves. */
	for (unsigned int a = 0; a < ARGS && s->profiles[0]->arch->is_32bit; a++)
		question.args[a] &= UINT32_MAX;
	s->tried++;
	s->wrong += !s->check(&question, s->userdata);
}

/* All combinations of values for the arguments from @arg up. */
static void sweep_args(struct sweep *s, struct seccomp_data *data, uint32_t arg)
{
	if (arg == ARGS) {
		ask(s, data);
		return;
	}
	for (size_t i = 0; i < s->values[arg].n && s->wrong < SWEEP_WRONG_MAX; i++) {
		data->args[arg] = s->values[arg].v[i];
		sweep_args(s, data, arg + 1);
	}
}

static void sweep_numbers(struct sweep *s)
{
	static const uint32_t far[] = {
		SWEEP_X32 - 1, SWEEP_X32, SWEEP_X32 | 1, SWEEP_X32 | 59, INT32_MAX, 1U << 31, 0xfffffffe, UINT32_MAX,
		0xf0000, 0xf0001, 0xf0006, 0xf0007,
	};
	const struct filter_arch *arch = s->profiles[0]->arch;

	for (uint32_t i = 0; i <= NR_LAST + ARRAY_LEN(far) && s->wrong < SWEEP_WRONG_MAX; i++) {
		uint32_t nr = i <= NR_LAST ? i : far[i - NR_LAST - 1];
		struct seccomp_data data = { .nr = (int) nr, .arch = arch->audit };

		for (unsigned int a = 0; a < ARGS; a++)
			data.args[a] = UINT64_C(0x0123456789abcdef) * (nr + a);
		ask(s, &data);
		data.arch = arch->foreign;
		ask(s, &data);
	}
}

unsigned int sweep_calls(const struct filter_profile *const *profiles, unsigned int n, sweep_check *check, void *userdata,
			 unsigned long *tried)
{
	static struct sweep s;

	memset(&s, 0, sizeof(s));
	s.profiles = profiles;
	s.n = n;
	s.check = check;
	s.userdata = userdata;
	sweep_numbers(&s);
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int j = 0; j < profiles[i]->ncalls && s.wrong < SWEEP_WRONG_MAX; j++) {
			struct seccomp_data data = { .nr = (int) profiles[i]->call[j].nr, .arch = profiles[i]->arch->audit };

			collect(&s, profiles[i]->call[j].nr);
			sweep_args(&s, &data, 0);
		}
	}
	*tried += s.tried;
	return s.wrong;
}
