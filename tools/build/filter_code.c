/*
 * From the rules of a filter to classic BPF. Runs at build time, in gen-filter and in the tests.
 *
 * The program: check the architecture, load the call's number, find its range in a balanced tree of comparisons,
 * and return. Neighbouring numbers with the same constant verdict are one range, so that three hundred calls need
 * about a hundred comparisons, and a call needs seven of them. Only calls that have conditions look at arguments;
 * for all others the verdict depends on the number alone, and Linux 5.11 and later remember it in a bitmap and do
 * not run the program.
 *
 * A BPF jump goes forward only and, when conditional, at most 255 instructions far. So the program is written from its
 * end to its beginning: whatever a jump leads to exists already, and its distance is known.
 *
 * This is not left to libseccomp (which does turn names into numbers for us) for three reasons: it has no "else"
 * for a call with conditions but the default action, it cannot say "unless the low 32 bits are equal", and its
 * releases before 2.6.1 can merge comparisons wrongly (GHSA-4q85-33p6-j5g6). See docs/seccomp.md.
 */
#include "tools/build/filter_code.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>

#include "runtime/base/attr.h"

enum {
	JUMP_MAX = 255,     /* distance of a conditional jump: 8 bits */
	RET_REACH = 200,    /* a return further away than this is written again instead of jumped to */
	RETS_MAX = 16,
	X32_BIT = 0x40000000,
};

/* A place in the program, counted from the end: 1 is the last instruction. Higher places run earlier. */
typedef size_t place;

struct ret {
	uint32_t action;
	place at;
};

struct code {
	struct sock_filter *ins; /* filled from ins[cap - 1] down */
	size_t cap;
	place n; /* instructions so far, and the place of the first one */
	bool full;
	struct ret ret[RETS_MAX]; /* the nearest return of each action */
	unsigned int nrets;
};

/* Numbers from @start up to the next range: a call with conditions, or one verdict for all. */
struct range {
	uint32_t start;
	const struct filter_call *call; /* NULL: @action */
	uint32_t action;
};

struct ranges {
	struct range r[FILTER_CALLS_MAX * 2 + 4];
	size_t n;
};

static place put(struct code *c, uint16_t op, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (c->n == c->cap) {
		c->full = true;
		return c->n;
	}
	c->n++;
	c->ins[c->cap - c->n] = (struct sock_filter) { .code = op, .jt = jt, .jf = jf, .k = k };
	return c->n;
}

/* How far a jump that is written next would have to go to reach @to. */
static size_t distance(const struct code *c, place to)
{
	return c->n - to;
}

static place put_goto(struct code *c, place to)
{
	return put(c, BPF_JMP | BPF_JA, 0, 0, (uint32_t) distance(c, to));
}

/* A comparison of A with @k; targets out of its reach get a long jump right behind it. */
static place put_branch(struct code *c, uint16_t op, uint32_t k, place yes, place no)
{
	/* One instruction of slack: the second long jump moves the first target one further away. */
	if (distance(c, yes) > JUMP_MAX - 1)
		yes = put_goto(c, yes);
	if (distance(c, no) > JUMP_MAX - 1)
		no = put_goto(c, no);
	return put(c, (uint16_t) (BPF_JMP | BPF_K | op), (uint8_t) distance(c, yes), (uint8_t) distance(c, no), k);
}

static place put_load(struct code *c, size_t offset)
{
	return put(c, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t) offset);
}

static place put_return(struct code *c, uint32_t action)
{
	struct ret *r = NULL;

	for (unsigned int i = 0; i < c->nrets; i++)
		if (c->ret[i].action == action)
			r = &c->ret[i];
	if (r && distance(c, r->at) <= RET_REACH)
		return r->at;
	if (!r) {
		if (c->nrets == RETS_MAX) {
			c->full = true;
			return c->n;
		}
		r = &c->ret[c->nrets++];
		r->action = action;
	}
	r->at = put(c, BPF_RET | BPF_K, 0, 0, action);
	return r->at;
}

/* Whether testing @cond leaves the argument in A untouched. */
static bool cond_keeps_a(const struct filter_cond *cond)
{
	bool one_bit = (cond->mask & (cond->mask - 1)) == 0;

	return cond->mask == UINT32_MAX || cond->value == 0 || (one_bit && cond->value == cond->mask);
}

static place put_cond(struct code *c, const struct filter_cond *cond, place yes, place no, bool load)
{
	/* The low half of a 64-bit argument comes first: every supported architecture is little-endian. */
	size_t offset = offsetof(struct seccomp_data, args) + cond->arg * sizeof(uint64_t);
	place at;

	if (cond->mask == UINT32_MAX) {
		at = put_branch(c, BPF_JEQ, cond->value, yes, no);
	} else if (cond->value == 0) {
		at = put_branch(c, BPF_JSET, cond->mask, no, yes);
	} else if (cond_keeps_a(cond)) {
		at = put_branch(c, BPF_JSET, cond->mask, yes, no);
	} else {
		put_branch(c, BPF_JEQ, cond->value, yes, no);
		at = put(c, BPF_ALU | BPF_AND | BPF_K, 0, 0, cond->mask);
	}
	return load ? put_load(c, offset) : at;
}

/* Whether the rule before @rule failed with the argument that @rule tests first still in A. */
static bool a_is_loaded(const struct filter_rule *before, const struct filter_rule *rule)
{
	return before->ncond == 1 && rule->ncond > 0 && before->cond[0].arg == rule->cond[0].arg &&
	       cond_keeps_a(&before->cond[0]);
}

static place put_call(struct code *c, const struct filter_call *call, uint32_t default_action)
{
	place next = put_return(c, default_action);

	for (unsigned int i = call->nrules; i-- > 0;) {
		const struct filter_rule *rule = &call->rule[i];
		place yes = put_return(c, rule->action);
		bool loaded = i > 0 && a_is_loaded(&call->rule[i - 1], rule);

		for (unsigned int j = rule->ncond; j-- > 0;)
			yes = put_cond(c, &rule->cond[j], yes, next, j > 0 || !loaded);
		next = yes;
	}
	return next;
}

/* The tree over ranges @lo to @hi - 1, with the call's number in A. */
static place put_tree(struct code *c, const struct filter_profile *profile, const struct ranges *rs, size_t lo,
		      size_t hi)
{
	if (hi - lo == 1) {
		const struct range *r = &rs->r[lo];

		return r->call ? put_call(c, r->call, profile->default_action) : put_return(c, r->action);
	}

	size_t mid = lo + (hi - lo) / 2;
	place right = put_tree(c, profile, rs, mid, hi);
	place left = put_tree(c, profile, rs, lo, mid);

	return put_branch(c, BPF_JGE, rs->r[mid].start, right, left);
}

static void ranges_add(struct ranges *rs, uint32_t start, const struct filter_call *call, uint32_t action)
{
	struct range *last = rs->n > 0 ? &rs->r[rs->n - 1] : NULL;

	if (last && last->start == start) /* the gap that was opened here is empty */
		rs->n--;
	last = rs->n > 0 ? &rs->r[rs->n - 1] : NULL;
	if (last && !last->call && !call && last->action == action)
		return;
	rs->r[rs->n++] = (struct range) { .start = start, .call = call, .action = action };
}

static void ranges_fill(struct ranges *rs, const struct filter_profile *profile)
{
	rs->n = 0;
	ranges_add(rs, 0, NULL, profile->default_action);
	for (unsigned int i = 0; i < profile->ncalls; i++) {
		const struct filter_call *call = &profile->call[i];
		bool constant = call->rule[0].ncond == 0;

		ranges_add(rs, call->nr, constant ? NULL : call, call->rule[0].action);
		ranges_add(rs, call->nr + 1, NULL, profile->default_action);
	}
	if (profile->arch->has_x32) {
		ranges_add(rs, X32_BIT, NULL, SECCOMP_RET_KILL_PROCESS);
		/* -1 is what a debugger outside writes to skip a call: no call at all, and no reason to kill. */
		ranges_add(rs, UINT32_MAX, NULL, profile->default_action);
	}
}

int filter_compile(const struct filter_profile *profile, struct sock_filter *prog, size_t cap)
{
	struct code c = { .ins = prog, .cap = MIN(cap, (size_t) BPF_MAXINSNS) };
	static struct ranges rs; /* too big for a stack, and a build-time program has one thread */

	ranges_fill(&rs, profile);

	place root = put_tree(&c, profile, &rs, 0, rs.n);
	if (root != c.n) /* a profile of one verdict: its return need not be the last thing written */
		put_goto(&c, root);

	place native = put_load(&c, offsetof(struct seccomp_data, nr));
	place kill = put_return(&c, SECCOMP_RET_KILL_PROCESS);

	put_branch(&c, BPF_JEQ, profile->arch->audit, native, kill);
	put_load(&c, offsetof(struct seccomp_data, arch));
	if (c.full)
		return -E2BIG;
	memmove(prog, prog + c.cap - c.n, c.n * sizeof(*prog));
	return (int) c.n;
}
