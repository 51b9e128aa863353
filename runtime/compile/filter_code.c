/*
 * From the rules of a filter to classic BPF. Runs in cloche-compile, while building (gen-filter) and in the tests.
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
#include "runtime/compile/filter_code.h"

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
	bool notify; /* see filter_compile() */
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
	struct range r[FILTER_CALLS_MAX * 2 + 6];
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
	place at = put(c, BPF_RET | BPF_K, 0, 0, action);

	if (!r && c->nrets < RETS_MAX) {
		r = &c->ret[c->nrets++];
		r->action = action;
	}
	if (r)
		r->at = at;
	return at;
}

/* Whether comparing the word under @mask with @value leaves it in A untouched. */
static bool keeps_a(uint32_t mask, uint32_t value)
{
	bool one_bit = (mask & (mask - 1)) == 0;

	return mask == UINT32_MAX || value == 0 || (one_bit && value == mask);
}

/* (A & @mask) == @value, with the word from @offset in A; @load: it is not there yet. */
static place put_word_eq(struct code *c, size_t offset, uint32_t mask, uint32_t value, place yes, place no, bool load)
{
	place at;

	if (mask == UINT32_MAX) {
		at = put_branch(c, BPF_JEQ, value, yes, no);
	} else if (value == 0) {
		at = put_branch(c, BPF_JSET, mask, no, yes);
	} else if (keeps_a(mask, value)) {
		at = put_branch(c, BPF_JSET, mask, yes, no);
	} else {
		put_branch(c, BPF_JEQ, value, yes, no);
		at = put(c, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
	}
	return load ? put_load(c, offset) : at;
}

/* The halves of a 64-bit argument: the low one comes first, since every supported architecture is little-endian. */
static size_t low_word(uint32_t arg)
{
	return offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t);
}

static size_t high_word(uint32_t arg)
{
	return low_word(arg) + sizeof(uint32_t);
}

static place put_masked(struct code *c, const struct filter_cond *cond, place yes, place no, bool load)
{
	uint32_t low = (uint32_t) cond->mask;
	uint32_t high = (uint32_t) (cond->mask >> 32);

	if (low)
		yes = put_word_eq(c, low_word(cond->arg), low, (uint32_t) cond->value, yes, no, load);
	if (high)
		yes = put_word_eq(c, high_word(cond->arg), high, (uint32_t) (cond->value >> 32), yes, no, true);
	return yes; /* a mask of nothing: it always holds */
}

/* @op is BPF_JGT or BPF_JGE: of the low words, where the high ones are equal. */
static place put_greater(struct code *c, const struct filter_cond *cond, uint16_t op, place yes, place no)
{
	uint32_t high = (uint32_t) (cond->value >> 32);

	put_branch(c, op, (uint32_t) cond->value, yes, no);
	place equal = put_load(c, low_word(cond->arg));
	place not_greater = put_branch(c, BPF_JEQ, high, equal, no);
	put_branch(c, BPF_JGT, high, yes, not_greater);
	return put_load(c, high_word(cond->arg));
}

static place put_cond(struct code *c, const struct filter_cond *cond, place yes, place no, bool load)
{
	switch (cond->op) {
	case FILTER_MASKED_NE:
		return put_masked(c, cond, no, yes, load);
	case FILTER_GT:
		return put_greater(c, cond, BPF_JGT, yes, no);
	case FILTER_GE:
		return put_greater(c, cond, BPF_JGE, yes, no);
	case FILTER_LT:
		return put_greater(c, cond, BPF_JGE, no, yes);
	case FILTER_LE:
		return put_greater(c, cond, BPF_JGT, no, yes);
	case FILTER_MASKED_EQ:
	default:
		return put_masked(c, cond, yes, no, load);
	}
}

/* Whether @cond looks at the low word of its argument only. */
static bool is_low(const struct filter_cond *cond)
{
	return (cond->op == FILTER_MASKED_EQ || cond->op == FILTER_MASKED_NE) && cond->mask > 0 && cond->mask <= UINT32_MAX;
}

/* Whether the rule before @rule failed with the word that @rule tests first still in A. */
static bool a_is_loaded(const struct filter_rule *before, const struct filter_rule *rule)
{
	return before->ncond == 1 && rule->ncond > 0 && before->cond[0].arg == rule->cond[0].arg && is_low(&before->cond[0]) &&
	       is_low(&rule->cond[0]) && keeps_a((uint32_t) before->cond[0].mask, (uint32_t) before->cond[0].value);
}

/* What a rule with @action returns in this form of the program. */
static uint32_t rule_action(const struct code *c, uint32_t action)
{
	bool explained = action == (SECCOMP_RET_ERRNO | EPERM) || action == (SECCOMP_RET_ERRNO | EAFNOSUPPORT);

	return c->notify && explained ? SECCOMP_RET_USER_NOTIF : action;
}

static place put_call(struct code *c, const struct filter_call *call, uint32_t default_action)
{
	place next = put_return(c, default_action);

	for (unsigned int i = call->nrules; i-- > 0;) {
		const struct filter_rule *rule = &call->rule[i];
		place yes = put_return(c, rule_action(c, rule->action));
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

/* The numbers from @start up, which is behind the last range. */
static void ranges_add(struct ranges *rs, uint32_t start, const struct filter_call *call, uint32_t action)
{
	struct range *last = rs->n > 0 ? &rs->r[rs->n - 1] : NULL;

	if (last && !last->call && !call && last->action == action)
		return;
	rs->r[rs->n++] = (struct range) { .start = start, .call = call, .action = action };
}

/* What calls from @start up to @end - 1 get, which no rule names. */
static void ranges_add_unnamed(struct ranges *rs, const struct filter_profile *profile, uint32_t start, uint32_t end)
{
	uint32_t young = profile->named_up_to + 1;

	if (!profile->young_enosys || start < young)
		ranges_add(rs, start, NULL, profile->default_action);
	if (profile->young_enosys && end > young)
		ranges_add(rs, MAX(start, young), NULL, SECCOMP_RET_ERRNO | ENOSYS);
}

static void ranges_fill(struct ranges *rs, const struct code *c, const struct filter_profile *profile)
{
	uint32_t end = profile->arch->has_x32 ? X32_BIT : UINT32_MAX;
	uint32_t next = 0;

	rs->n = 0;
	for (unsigned int i = 0; i < profile->ncalls; i++) {
		const struct filter_call *call = &profile->call[i];
		bool constant = call->rule[0].ncond == 0;

		if (next < call->nr)
			ranges_add_unnamed(rs, profile, next, call->nr);
		ranges_add(rs, call->nr, constant ? NULL : call, rule_action(c, call->rule[0].action));
		next = call->nr + 1;
	}
	ranges_add_unnamed(rs, profile, next, end);
	if (profile->arch->has_x32)
		ranges_add(rs, X32_BIT, NULL, SECCOMP_RET_KILL_PROCESS);
	/* -1 is what a debugger outside writes to skip a call: no call at all, and no reason to kill. */
	ranges_add(rs, UINT32_MAX, NULL, profile->default_action);
}

int filter_compile(const struct filter_profile *profile, bool notify, struct sock_filter *prog, size_t cap)
{
	struct code c = { .notify = notify, .ins = prog, .cap = MIN(cap, (size_t) BPF_MAXINSNS) };
	static struct ranges rs; /* too big for a stack; its users have one thread */

	ranges_fill(&rs, &c, profile);

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
