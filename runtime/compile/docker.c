/*
 * Docker's seccomp JSON as rules: see docker.h. Runs in cloche-compile, which has confined itself, and in the tests.
 */
#include "runtime/compile/docker.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/compile/json.h"
#include "runtime/spec/filterform.h"

enum {
	ERRNO_LAST = 4095, /* the kernel returns no larger one */
	ERRNO_NAMES = 134, /* the largest that has a name is 133 */
	VERSION_PART_MAX = 6000, /* far above any part of a kernel's version, and far from an overflow */
	ARGS_MAX = 64,     /* conditions of one rule, before they are split */
	NAMED_MAX = 12,    /* unknown names that a note tells */
	ARM_PRIVATE = 0xf0000, /* numbers from here up are no measure of a call's age */
};

/* Why a rule or a name has no effect. */
enum idle { IDLE_UNKNOWN, IDLE_CAPABILITY, IDLE_ARCH, IDLE_KERNEL, IDLE_SHADOWED, IDLE_KINDS };

struct reader {
	struct json_doc doc;
	struct filter_profile *p;
	uint32_t kernel;
	unsigned int idle[IDLE_KINDS];
	struct buf unknown; /* the first few names */
	struct err *err;
};

struct word {
	const char *name;
	uint32_t value;
};

static const struct word actions[] = {
	{ "SCMP_ACT_ALLOW", SECCOMP_RET_ALLOW },
	{ "SCMP_ACT_ERRNO", SECCOMP_RET_ERRNO },
	{ "SCMP_ACT_KILL", SECCOMP_RET_KILL_THREAD },
	{ "SCMP_ACT_KILL_PROCESS", SECCOMP_RET_KILL_PROCESS },
	{ "SCMP_ACT_KILL_THREAD", SECCOMP_RET_KILL_THREAD },
	{ "SCMP_ACT_LOG", SECCOMP_RET_LOG },
	{ "SCMP_ACT_TRACE", SECCOMP_RET_TRACE },
	{ "SCMP_ACT_TRAP", SECCOMP_RET_TRAP },
};

/* What "op" may be. EQ and NE are masked comparisons of all bits. */
static const struct word ops[] = {
	{ "SCMP_CMP_EQ", FILTER_MASKED_EQ },
	{ "SCMP_CMP_GE", FILTER_GE },
	{ "SCMP_CMP_GT", FILTER_GT },
	{ "SCMP_CMP_LE", FILTER_LE },
	{ "SCMP_CMP_LT", FILTER_LT },
	{ "SCMP_CMP_MASKED_EQ", FILTER_MASKED_EQ },
	{ "SCMP_CMP_NE", FILTER_MASKED_NE },
};

_printf_(3, 4) static int fail(const struct reader *r, const cJSON *item, const char *fmt, ...)
{
	_cleanup_buf_ struct buf why = BUF_INIT(ERR_TEXT_MAX);
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&why, fmt, ap);
	va_end(ap);
	return err_set(r->err, ERR_USAGE, EINVAL, "line %u: %s", json_line(&r->doc, item), buf_cstr(&why));
}

static int find_word(const struct reader *r, const cJSON *item, const char *what, const struct word *words, size_t n, uint32_t *ret)
{
	_cleanup_buf_ struct buf known = BUF_INIT(512);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(words[i].name, item->valuestring) == 0) {
			*ret = words[i].value;
			return 0;
		}
		buf_addf(&known, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", words[i].name);
	}
	return fail(r, item, "%s '%.60s' is not known: use %s", what, item->valuestring, buf_cstr(&known));
}

/* --- actions ----------------------------------------------------------------------------------------------------------- */

/* The errno of that name, or ERRNO_NAMES. */
static uint64_t errno_named(const char *name)
{
	for (int i = 1; i < ERRNO_NAMES; i++) {
		const char *known = strerrorname_np(i);
		if (known && strcmp(known, name) == 0)
			return (uint64_t) i;
	}
	return ERRNO_NAMES;
}

/* An errno by its number (Docker), its name (Podman), or both when they agree. @ret keeps its value when there is neither. */
static int read_errno(const struct reader *r, const cJSON *number, const cJSON *name, uint32_t *ret)
{
	uint64_t v = *ret;

	if (number && json_integer(&r->doc, number, ERRNO_LAST, &v) < 0)
		return fail(r, number, "the errno must be a whole number from 0 to %d", ERRNO_LAST);
	if (name && name->valuestring[0]) {
		uint64_t named = errno_named(name->valuestring);
		if (named == ERRNO_NAMES)
			return fail(r, name, "there is no errno '%.30s'", name->valuestring);
		if (number && v != named)
			return fail(r, name, "the errno is %llu by its number and '%s' by its name", (unsigned long long) v,
				    name->valuestring);
		v = named;
	}
	*ret = (uint32_t) v;
	return 0;
}

static int read_action(const struct reader *r, const cJSON *item, const cJSON *number, const cJSON *name, uint32_t *ret)
{
	uint32_t action = 0, data = EPERM;

	if (strcmp(item->valuestring, "SCMP_ACT_NOTIFY") == 0)
		return fail(r, item, "SCMP_ACT_NOTIFY needs a program that answers, and there is none: use SCMP_ACT_ERRNO");
	int e = find_word(r, item, "the action", actions, ARRAY_LEN(actions), &action);
	if (e < 0)
		return e;
	e = read_errno(r, number, name, &data);
	if (e < 0)
		return e;
	*ret = action == SECCOMP_RET_ERRNO || action == SECCOMP_RET_TRACE ? action | data : action;
	return 0;
}

/* The kernel's own order between several filters: a smaller number is stricter. */
static unsigned int leniency(uint32_t action)
{
	static const uint32_t order[] = {
		SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP, SECCOMP_RET_ERRNO, SECCOMP_RET_TRACE, SECCOMP_RET_LOG,
	};
	unsigned int i = 0;

	while (i < ARRAY_LEN(order) && order[i] != (action & SECCOMP_RET_ACTION_FULL))
		i++;
	return i;
}

/* --- conditions -------------------------------------------------------------------------------------------------------- */

static int read_cond(const struct reader *r, const cJSON *obj, struct filter_cond *ret)
{
	enum { INDEX, VALUE, VALUE_TWO, OP };
	struct json_member m[] = {
		[INDEX] = { "index", cJSON_Number, NULL },
		[VALUE] = { "value", cJSON_Number, NULL },
		[VALUE_TWO] = { "valueTwo", cJSON_Number, NULL },
		[OP] = { "op", cJSON_String, NULL },
	};
	uint64_t index = 0, value = 0, two = 0;
	uint32_t op = 0;
	int e = json_members(&r->doc, obj, "a condition ('args')", m, ARRAY_LEN(m), r->err);

	if (e < 0)
		return e;
	if (!m[INDEX].item || !m[OP].item)
		return fail(r, obj, "a condition needs 'index' and 'op'");
	e = find_word(r, m[OP].item, "the op", ops, ARRAY_LEN(ops), &op);
	if (e < 0)
		return e;
	if (json_integer(&r->doc, m[INDEX].item, 5, &index) < 0)
		return fail(r, m[INDEX].item, "'index' must be the number of an argument, 0 to 5");
	if (m[VALUE].item && json_integer(&r->doc, m[VALUE].item, UINT64_MAX, &value) < 0)
		return fail(r, m[VALUE].item, "'value' must be a whole number from 0 to 18446744073709551615");
	if (m[VALUE_TWO].item && json_integer(&r->doc, m[VALUE_TWO].item, UINT64_MAX, &two) < 0)
		return fail(r, m[VALUE_TWO].item, "'valueTwo' must be a whole number from 0 to 18446744073709551615");
	bool masked = strcmp(m[OP].item->valuestring, "SCMP_CMP_MASKED_EQ") == 0;
	uint64_t all = r->p->arch->is_32bit ? UINT32_MAX : UINT64_MAX;
	*ret = (struct filter_cond) { .op = (enum filter_op) op, .arg = (uint32_t) index, .mask = all & (masked ? value : UINT64_MAX) };
	ret->value = ret->mask & (masked ? two : value);
	return 0;
}

struct conds {
	struct filter_cond c[ARGS_MAX];
	unsigned int n;
	bool split; /* two on one argument: each is a rule of its own */
};

static int read_conds(const struct reader *r, const cJSON *array, struct conds *ret)
{
	unsigned int seen = 0;
	const cJSON *item;

	ret->n = 0;
	ret->split = false;
	cJSON_ArrayForEach(item, array) {
		if (ret->n == ARGS_MAX)
			return fail(r, item, "a rule has more than %d conditions", ARGS_MAX);
		struct filter_cond *c = &ret->c[ret->n++];
		int e = read_cond(r, item, c);
		if (e < 0)
			return e;
		ret->split |= seen >> c->arg & 1;
		seen |= 1U << c->arg;
	}
	return 0;
}

/* --- where a rule applies ---------------------------------------------------------------------------------------------- */

enum { WHEN_ARCHES, WHEN_CAPS, WHEN_KERNEL, WHEN_MEMBERS };

static int read_kernel(const struct reader *r, const cJSON *item, uint32_t *ret)
{
	uint32_t part[2] = { 0, 0 };
	const char *s = item->valuestring;

	for (size_t i = 0; i < ARRAY_LEN(part); i++) {
		if (*s < '0' || *s > '9')
			return fail(r, item, "'minKernel' must be a version, as in 5.19");
		for (; *s >= '0' && *s <= '9' && part[i] < VERSION_PART_MAX; s++)
			part[i] = part[i] * 10 + (uint32_t) (*s - '0');
		if (i == 0 && *s++ != '.')
			return fail(r, item, "'minKernel' must be a version, as in 5.19");
	}
	if (s[strspn(s, ".0123456789")])
		return fail(r, item, "'minKernel' must be a version, as in 5.19");
	*ret = filterform_kernel(part[0], part[1]);
	return 0;
}

/* Whether the list @array, of strings, holds this architecture. */
static int holds_arch(const struct reader *r, const cJSON *array, bool *ret)
{
	const cJSON *item;

	*ret = false;
	cJSON_ArrayForEach(item, array) {
		if (!cJSON_IsString(item))
			return fail(r, item, "'arches' must hold strings");
		*ret |= strcmp(item->valuestring, r->p->arch->docker_name) == 0;
	}
	return 0;
}

/* Whether the conditions in @obj ("includes" or "excludes") hold, each by itself, in @holds; absent ones are in neither. */
static int read_when(const struct reader *r, const cJSON *obj, const char *what, bool holds[WHEN_MEMBERS], bool there[WHEN_MEMBERS])
{
	struct json_member m[] = {
		[WHEN_ARCHES] = { "arches", cJSON_Array, NULL },
		[WHEN_CAPS] = { "caps", cJSON_Array, NULL },
		[WHEN_KERNEL] = { "minKernel", cJSON_String, NULL },
	};

	memset(holds, 0, WHEN_MEMBERS * sizeof(*holds));
	memset(there, 0, WHEN_MEMBERS * sizeof(*there));
	if (!obj)
		return 0;
	int e = json_members(&r->doc, obj, what, m, ARRAY_LEN(m), r->err);
	if (e < 0)
		return e;
	for (size_t i = 0; i < ARRAY_LEN(m); i++)
		there[i] = m[i].item && (i == WHEN_KERNEL ? m[i].item->valuestring[0] != '\0' : cJSON_GetArraySize(m[i].item) > 0);
	e = holds_arch(r, m[WHEN_ARCHES].item, &holds[WHEN_ARCHES]);
	if (e == 0 && there[WHEN_KERNEL]) {
		uint32_t wanted = 0;
		e = read_kernel(r, m[WHEN_KERNEL].item, &wanted);
		holds[WHEN_KERNEL] = r->kernel >= wanted;
	}
	return e; /* holds[WHEN_CAPS] stays false: nothing inside has a capability */
}

/* Whether a rule applies here; *@ret is IDLE_KINDS when it does, or why it does not. */
static int read_applies(const struct reader *r, const cJSON *includes, const cJSON *excludes, enum idle *ret)
{
	static const enum idle reasons[WHEN_MEMBERS] = { IDLE_ARCH, IDLE_CAPABILITY, IDLE_KERNEL };
	bool holds[WHEN_MEMBERS], there[WHEN_MEMBERS];
	int e = read_when(r, excludes, "'excludes'", holds, there);

	*ret = IDLE_KINDS;
	for (size_t i = 0; i < WHEN_MEMBERS && e == 0; i++)
		if (there[i] && holds[i])
			*ret = reasons[i];
	if (e == 0)
		e = read_when(r, includes, "'includes'", holds, there);
	for (size_t i = 0; i < WHEN_MEMBERS && e == 0; i++)
		if (there[i] && !holds[i])
			*ret = reasons[i];
	return e;
}

/* --- rules ------------------------------------------------------------------------------------------------------------- */

static int add_rule(struct reader *r, const cJSON *at, struct filter_call *call, const struct filter_rule *rule)
{
	unsigned int i = call->nrules;

	/* Behind those that are as strict or stricter. */
	while (i > 0 && leniency(call->rule[i - 1].action) > leniency(rule->action))
		i--;
	if (call->nrules == FILTER_RULES_MAX)
		return fail(r, at, "more than %d rules for '%s'", FILTER_RULES_MAX, call->name);
	memmove(&call->rule[i + 1], &call->rule[i], (call->nrules - i) * sizeof(call->rule[0]));
	call->rule[i] = *rule;
	call->nrules++;
	return 0;
}

static int add_to_call(struct reader *r, const cJSON *at, struct filter_call *call, uint32_t action, const struct conds *conds)
{
	struct filter_rule rule = { .action = action, .comment = "" };
	bool decided = call->nrules > 0 && call->rule[0].ncond == 0;
	int e = 0;

	if (decided || (conds->n == 0 && call->nrules > 0))
		r->idle[IDLE_SHADOWED]++;
	if (decided)
		return 0;
	if (conds->n == 0) {
		call->nrules = 0;
		return add_rule(r, at, call, &rule);
	}
	if (!conds->split) {
		rule.ncond = conds->n; /* of different arguments, of which there are six */
		memcpy(rule.cond, conds->c, conds->n * sizeof(conds->c[0]));
		return add_rule(r, at, call, &rule);
	}
	rule.ncond = 1;
	for (unsigned int i = 0; i < conds->n && e == 0; i++) {
		rule.cond[0] = conds->c[i];
		e = add_rule(r, at, call, &rule);
	}
	return e;
}

static int add_name(struct reader *r, const cJSON *name, bool applies, uint32_t action, const struct conds *conds)
{
	if (!cJSON_IsString(name))
		return fail(r, name, "'names' must hold strings");
	int nr = strlen(name->valuestring) < FILTER_NAME_MAX ? filter_call_number(r->p->arch, name->valuestring) : FILTER_CALL_UNKNOWN;
	if (nr == FILTER_CALL_UNKNOWN) {
		if (r->idle[IDLE_UNKNOWN]++ < NAMED_MAX)
			buf_addf(&r->unknown, " %.40s", name->valuestring);
		return 0;
	}
	if (nr < 0)
		return 0;
	if (nr < ARM_PRIVATE)
		r->p->named_up_to = MAX(r->p->named_up_to, (uint32_t) nr);
	if (!applies || action == r->p->default_action)
		return 0;
	struct filter_call *call = filter_add_call(r->p, (uint32_t) nr, name->valuestring);
	return call ? add_to_call(r, name, call, action, conds) : fail(r, name, "too many system calls");
}

static int read_rule(struct reader *r, const cJSON *obj)
{
	enum { NAME, NAMES, ACTION, ERRNO_RET, ERRNO_NAME, ARGS, COMMENT, INCLUDES, EXCLUDES };
	struct json_member m[] = {
		[NAME] = { "name", cJSON_String, NULL },
		[NAMES] = { "names", cJSON_Array, NULL },
		[ACTION] = { "action", cJSON_String, NULL },
		[ERRNO_RET] = { "errnoRet", cJSON_Number, NULL },
		[ERRNO_NAME] = { "errno", cJSON_String, NULL },
		[ARGS] = { "args", cJSON_Array, NULL },
		[COMMENT] = { "comment", cJSON_String, NULL },
		[INCLUDES] = { "includes", cJSON_Object, NULL },
		[EXCLUDES] = { "excludes", cJSON_Object, NULL },
	};
	static struct conds conds;
	enum idle idle = IDLE_KINDS;
	uint32_t action = 0;
	const cJSON *name;
	int e = json_members(&r->doc, obj, "a rule", m, ARRAY_LEN(m), r->err);

	if (e < 0)
		return e;
	if (!m[NAME].item == !m[NAMES].item)
		return fail(r, obj, "a rule needs 'names' (or 'name', but not both)");
	if (!m[ACTION].item)
		return fail(r, obj, "a rule needs an 'action'");
	if ((e = read_action(r, m[ACTION].item, m[ERRNO_RET].item, m[ERRNO_NAME].item, &action)) < 0 ||
	    (e = read_conds(r, m[ARGS].item, &conds)) < 0 ||
	    (e = read_applies(r, m[INCLUDES].item, m[EXCLUDES].item, &idle)) < 0)
		return e;
	if (idle != IDLE_KINDS)
		r->idle[idle]++;
	if (m[NAME].item)
		return add_name(r, m[NAME].item, idle == IDLE_KINDS, action, &conds);
	cJSON_ArrayForEach(name, m[NAMES].item)
		if ((e = add_name(r, name, idle == IDLE_KINDS, action, &conds)) < 0)
			return e;
	return 0;
}

/* --- the file ---------------------------------------------------------------------------------------------------------- */

/* "architectures" is a list of names, "archMap" of objects; both only say which foreign ABIs to add, and none is. */
static int check_arches(const struct reader *r, const cJSON *list, const cJSON *map)
{
	const cJSON *item;

	if (cJSON_GetArraySize(list) > 0 && cJSON_GetArraySize(map) > 0)
		return fail(r, map, "use either 'architectures' or 'archMap'");
	cJSON_ArrayForEach(item, list)
		if (!cJSON_IsString(item) || strncmp(item->valuestring, "SCMP_ARCH_", strlen("SCMP_ARCH_")) != 0)
			return fail(r, item, "'architectures' must hold names such as SCMP_ARCH_X86_64");
	cJSON_ArrayForEach(item, map) {
		struct json_member m[] = { { "architecture", cJSON_String, NULL }, { "subArchitectures", cJSON_Array, NULL } };
		int e = json_members(&r->doc, item, "an entry of 'archMap'", m, ARRAY_LEN(m), r->err);
		if (e < 0)
			return e;
	}
	return 0;
}

static int read_root(struct reader *r)
{
	enum { ACTION, ERRNO_RET, ERRNO_NAME, ARCHES, ARCH_MAP, FLAGS, SYSCALLS };
	struct json_member m[] = {
		[ACTION] = { "defaultAction", cJSON_String, NULL },
		[ERRNO_RET] = { "defaultErrnoRet", cJSON_Number, NULL },
		[ERRNO_NAME] = { "defaultErrno", cJSON_String, NULL },
		[ARCHES] = { "architectures", cJSON_Array, NULL },
		[ARCH_MAP] = { "archMap", cJSON_Array, NULL },
		[FLAGS] = { "flags", cJSON_Array, NULL },
		[SYSCALLS] = { "syscalls", cJSON_Array, NULL },
	};
	const cJSON *item;
	int e = json_members(&r->doc, r->doc.root, "the filter", m, ARRAY_LEN(m), r->err);

	if (e < 0)
		return e;
	if (!m[ACTION].item)
		return fail(r, r->doc.root, "the filter has no 'defaultAction': say what happens to a call that no rule names");
	if ((e = read_action(r, m[ACTION].item, m[ERRNO_RET].item, m[ERRNO_NAME].item, &r->p->default_action)) < 0 ||
	    (e = check_arches(r, m[ARCHES].item, m[ARCH_MAP].item)) < 0)
		return e;
	cJSON_ArrayForEach(item, m[SYSCALLS].item)
		if ((e = read_rule(r, item)) < 0)
			return e;
	/* A tracer is asked about calls that it does not know either; LOG and ALLOW let them pass. */
	r->p->young_enosys = leniency(r->p->default_action) < leniency(SECCOMP_RET_TRACE) &&
			     r->p->default_action != (SECCOMP_RET_ERRNO | ENOSYS);
	qsort(r->p->call, r->p->ncalls, sizeof(r->p->call[0]), filter_by_number);
	return 0;
}

static void write_notes(const struct reader *r, struct buf *notes)
{
	static const char *const texts[IDLE_KINDS] = {
		[IDLE_CAPABILITY] = " of the rules need a capability, which nothing inside has\n",
		[IDLE_ARCH] = " of the rules are for other architectures\n",
		[IDLE_KERNEL] = " of the rules are for other kernels\n",
		[IDLE_SHADOWED] = " times a rule has no effect, since another one without 'args' decides about the call\n",
	};

	if (r->idle[IDLE_UNKNOWN])
		buf_addf(notes, "%u of the names are no system calls that are known here:%s%s\n", r->idle[IDLE_UNKNOWN],
			 buf_cstr(&r->unknown), r->idle[IDLE_UNKNOWN] > NAMED_MAX ? " ..." : "");
	for (size_t i = 0; i < IDLE_KINDS; i++)
		if (texts[i] && r->idle[i])
			buf_addf(notes, "%u%s", r->idle[i], texts[i]);
}

int docker_filter(const char *text, size_t len, const struct filter_arch *arch, uint32_t kernel, struct filter_profile *ret,
		  struct buf *notes, struct err *err)
{
	struct reader r = { .p = ret, .kernel = kernel, .unknown = BUF_INIT(NAMED_MAX * (FILTER_NAME_MAX + 2)), .err = err };

	memset(ret, 0, sizeof(*ret));
	ret->arch = arch;
	int e = json_read(text, len, &r.doc, err);
	if (e == 0)
		e = read_root(&r);
	if (e == 0)
		write_notes(&r, notes);
	json_done(&r.doc);
	buf_done(&r.unknown);
	return e;
}
