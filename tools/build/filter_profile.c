/*
 * Reads a seccomp profile (OCI/Docker JSON) into rules. Runs at build time, in gen-filter and in the tests.
 *
 * Strict, because a profile that is read more kindly than it was meant is a hole: unknown members, unknown calls, a
 * member given twice, a rule that can never be reached and a denial without a comment are errors. A call that
 * exists on other architectures only is skipped. libseccomp knows the numbers; calls younger than the oldest
 * release we build with (2.5.0) are in a table here.
 */
#include "tools/build/filter_profile.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/attr.h"

enum { ERRNO_LAST = 133 }; /* EHWPOISON: the kernel has no larger one for programs */

static const struct filter_arch arches[] = {
	{ "x86_64", "SCMP_ARCH_X86_64", "__x86_64__", SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64, true },
	{ "aarch64", "SCMP_ARCH_AARCH64", "__aarch64__", SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64, false },
};

/* Calls by number. Since 424 a call has the same number everywhere; the two probes are x86-64's own. */
static const struct {
	const char *name;
	int x86_64;
	int generic;
} young_calls[] = {
	{ "uretprobe", 335, FILTER_CALL_ELSEWHERE },
	{ "uprobe", 336, FILTER_CALL_ELSEWHERE },
	{ "close_range", 436, 436 },
	{ "faccessat2", 439, 439 },
	{ "process_madvise", 440, 440 },
	{ "epoll_pwait2", 441, 441 },
	{ "mount_setattr", 442, 442 },
	{ "quotactl_fd", 443, 443 },
	{ "landlock_create_ruleset", 444, 444 },
	{ "landlock_add_rule", 445, 445 },
	{ "landlock_restrict_self", 446, 446 },
	{ "memfd_secret", 447, 447 },
	{ "process_mrelease", 448, 448 },
	{ "futex_waitv", 449, 449 },
	{ "set_mempolicy_home_node", 450, 450 },
	{ "cachestat", 451, 451 },
	{ "fchmodat2", 452, 452 },
	{ "map_shadow_stack", 453, 453 },
	{ "futex_wake", 454, 454 },
	{ "futex_wait", 455, 455 },
	{ "futex_requeue", 456, 456 },
	{ "statmount", 457, 457 },
	{ "listmount", 458, 458 },
	{ "lsm_get_self_attr", 459, 459 },
	{ "lsm_set_self_attr", 460, 460 },
	{ "lsm_list_modules", 461, 461 },
	{ "mseal", 462, 462 },
	{ "setxattrat", 463, 463 },
	{ "getxattrat", 464, 464 },
	{ "listxattrat", 465, 465 },
	{ "removexattrat", 466, 466 },
	{ "open_tree_attr", 467, 467 },
	{ "file_getattr", 468, 468 },
	{ "file_setattr", 469, 469 },
};

static const struct {
	const char *name;
	uint32_t action;
} actions[] = {
	{ "SCMP_ACT_ALLOW", SECCOMP_RET_ALLOW },
	{ "SCMP_ACT_ERRNO", SECCOMP_RET_ERRNO },
	{ "SCMP_ACT_KILL_PROCESS", SECCOMP_RET_KILL_PROCESS },
};

/* One member of a JSON object: unknown ones are errors. */
struct member {
	const char *name;
	int type; /* cJSON_* */
	bool required;
};

static const struct member profile_members[] = {
	{ "defaultAction", cJSON_String, true },
	{ "defaultErrnoRet", cJSON_Number, false },
	{ "architectures", cJSON_Array, true },
	{ "syscalls", cJSON_Array, true },
};

static const struct member rule_members[] = {
	{ "names", cJSON_Array, true },
	{ "action", cJSON_String, true },
	{ "errnoRet", cJSON_Number, false },
	{ "args", cJSON_Array, false },
	{ "comment", cJSON_String, false },
};

static const struct member cond_members[] = {
	{ "index", cJSON_Number, true },
	{ "value", cJSON_Number, true },
	{ "valueTwo", cJSON_Number, true },
	{ "op", cJSON_String, true },
};

static void json_donep(cJSON **j)
{
	cJSON_Delete(*j);
	*j = NULL;
}

const struct filter_arch *filter_arch_find(const char *name)
{
	uint32_t native = seccomp_arch_native();

	for (size_t i = 0; i < ARRAY_LEN(arches); i++)
		if (name ? strcmp(arches[i].name, name) == 0 : arches[i].scmp == native)
			return &arches[i];
	return NULL;
}

int filter_call_number(const struct filter_arch *arch, const char *name)
{
	int nr = seccomp_syscall_resolve_name_arch(arch->scmp, name);

	if (nr >= 0)
		return nr;
	for (size_t i = 0; i < ARRAY_LEN(young_calls); i++)
		if (strcmp(young_calls[i].name, name) == 0)
			return arch->scmp == SCMP_ARCH_X86_64 ? young_calls[i].x86_64 : young_calls[i].generic;
	/* libseccomp has made-up negative numbers for what an architecture lacks. */
	return nr == __NR_SCMP_ERROR ? FILTER_CALL_UNKNOWN : FILTER_CALL_ELSEWHERE;
}

static int wrong(struct err *err, const char *what, const char *problem)
{
	return err_set(err, ERR_USAGE, EINVAL, "%s: %s", what, problem);
}

static const struct member *member_find(const struct member *m, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(m[i].name, name) == 0)
			return &m[i];
	return NULL;
}

/* Checks that @obj is an object with exactly the members of the table @m; @what names it in messages. */
static int check_members(const cJSON *obj, const struct member *m, size_t n, const char *what, struct err *err)
{
	unsigned int seen = 0;
	const cJSON *item;

	if (!cJSON_IsObject(obj))
		return wrong(err, what, "is not an object");
	cJSON_ArrayForEach(item, obj) {
		const struct member *row = member_find(m, n, item->string);

		if (!row)
			return err_set(err, ERR_USAGE, EINVAL, "%s: member '%s' is not known", what, item->string);
		if ((item->type & 0xff) != row->type)
			return err_set(err, ERR_USAGE, EINVAL, "%s: member '%s' has the wrong type", what,
				       item->string);
		if (seen & (1U << (row - m)))
			return err_set(err, ERR_USAGE, EINVAL, "%s: member '%s' is there twice", what, item->string);
		seen |= 1U << (row - m);
	}
	for (size_t i = 0; i < n; i++)
		if (m[i].required && !(seen & (1U << i)))
			return err_set(err, ERR_USAGE, EINVAL, "%s: member '%s' is missing", what, m[i].name);
	return 0;
}

static const cJSON *get(const cJSON *obj, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(obj, name);
}

/* The number @name of @obj, which is an integer from 0 to @max. */
static int get_number(const cJSON *obj, const char *name, uint32_t max, uint32_t *ret, const char *what,
		      struct err *err)
{
	const cJSON *item = get(obj, name);

	/* Written so that a NaN fails too. */
	if (!item || !(item->valuedouble >= 0 && item->valuedouble <= (double) max))
		return err_set(err, ERR_USAGE, EINVAL, "%s: '%s' must be a number from 0 to %u", what, name, max);

	uint32_t v = (uint32_t) item->valuedouble;

	if ((double) v != item->valuedouble) /* NOLINT: exact on purpose */
		return err_set(err, ERR_USAGE, EINVAL, "%s: '%s' must be a whole number", what, name);
	*ret = v;
	return 0;
}

/* The action in @action_name of @obj with the errno in @errno_name, which only SCMP_ACT_ERRNO has. */
static int get_action(const cJSON *obj, const char *action_name, const char *errno_name, uint32_t *ret,
		      const char *what, struct err *err)
{
	const char *s = get(obj, action_name)->valuestring;
	uint32_t number = 0;

	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		if (strcmp(actions[i].name, s) != 0)
			continue;

		bool wants_errno = actions[i].action == SECCOMP_RET_ERRNO;

		if (wants_errno != (get(obj, errno_name) != NULL))
			return err_set(err, ERR_USAGE, EINVAL, "%s: '%s' belongs to SCMP_ACT_ERRNO, and to it only",
				       what, errno_name);
		if (wants_errno) {
			int r = get_number(obj, errno_name, ERRNO_LAST, &number, what, err);
			if (r < 0)
				return r;
			if (number == 0)
				return wrong(err, what, "an errno of 0 would pretend success");
		}
		*ret = actions[i].action | number;
		return 0;
	}
	return err_set(err, ERR_USAGE, EINVAL,
		       "%s: action '%s' is not known: use SCMP_ACT_ALLOW, SCMP_ACT_ERRNO or SCMP_ACT_KILL_PROCESS",
		       what, s);
}

/* In OCI's words for SCMP_CMP_MASKED_EQ, "value" is the mask and "valueTwo" what must remain. */
static int read_cond(const cJSON *obj, struct filter_cond *ret, const char *what, struct err *err)
{
	struct filter_cond c = { 0 };
	int r = check_members(obj, cond_members, ARRAY_LEN(cond_members), what, err);

	if (r < 0)
		return r;
	if (strcmp(get(obj, "op")->valuestring, "SCMP_CMP_MASKED_EQ") != 0)
		return err_set(err, ERR_USAGE, EINVAL,
			       "%s: op '%s' compares all 64 bits: use SCMP_CMP_MASKED_EQ and a mask of 32 bits", what,
			       get(obj, "op")->valuestring);
	if ((r = get_number(obj, "index", 5, &c.arg, what, err)) < 0 ||
	    (r = get_number(obj, "value", UINT32_MAX, &c.mask, what, err)) < 0 ||
	    (r = get_number(obj, "valueTwo", UINT32_MAX, &c.value, what, err)) < 0)
		return r;
	if (c.mask == 0)
		return wrong(err, what, "a mask ('value') of 0 compares nothing");
	if (c.value & ~c.mask)
		return wrong(err, what, "'valueTwo' has bits that the mask ('value') removes: it can never match");
	*ret = c;
	return 0;
}

static int read_rule(const cJSON *obj, struct filter_rule *ret, const char *what, struct err *err)
{
	struct filter_rule rule = { 0 };
	const cJSON *args = get(obj, "args");
	const cJSON *comment = get(obj, "comment");
	const cJSON *item;
	int r = get_action(obj, "action", "errnoRet", &rule.action, what, err);

	if (r < 0)
		return r;
	cJSON_ArrayForEach(item, args) {
		if (rule.ncond == FILTER_CONDS_MAX)
			return wrong(err, what, "too many args");
		r = read_cond(item, &rule.cond[rule.ncond++], what, err);
		if (r < 0)
			return r;
	}
	if (args && rule.ncond == 0)
		return wrong(err, what, "'args' is empty: leave it out");
	if (rule.action != SECCOMP_RET_ALLOW && (!comment || comment->valuestring[0] == '\0'))
		return wrong(err, what, "a denial needs a 'comment' that says why");
	*ret = rule;
	return 0;
}

static int add_rule(struct filter_profile *p, const char *name, const struct filter_rule *rule, const char *what,
		    struct err *err)
{
	int nr = filter_call_number(p->arch, name);
	struct filter_call *call = NULL;

	if (nr == FILTER_CALL_ELSEWHERE)
		return 0;
	if (nr < 0 || strlen(name) >= FILTER_NAME_MAX)
		return err_set(err, ERR_USAGE, EINVAL, "%s: there is no system call '%s'", what, name);
	for (unsigned int i = 0; i < p->ncalls && !call; i++)
		if (p->call[i].nr == (uint32_t) nr)
			call = &p->call[i];
	if (!call) {
		if (p->ncalls == FILTER_CALLS_MAX)
			return wrong(err, what, "too many system calls");
		call = &p->call[p->ncalls++];
		call->nr = (uint32_t) nr;
		(void) snprintf(call->name, sizeof(call->name), "%s", name);
	}
	if (call->nrules > 0 && call->rule[call->nrules - 1].ncond == 0)
		return err_set(err, ERR_USAGE, EINVAL,
			       "%s: this rule for '%s' can never be reached: an earlier one has no conditions", what,
			       name);
	if (call->nrules == FILTER_RULES_MAX)
		return err_set(err, ERR_USAGE, EINVAL, "%s: too many rules for '%s'", what, name);
	call->rule[call->nrules++] = *rule;
	return 0;
}

static int read_rules(struct filter_profile *p, const cJSON *array, struct err *err)
{
	unsigned int index = 0;
	const cJSON *obj;

	cJSON_ArrayForEach(obj, array) {
		char what[64];
		struct filter_rule rule;
		const cJSON *name;

		(void) snprintf(what, sizeof(what), "rule %u of 'syscalls'", ++index);

		int r = check_members(obj, rule_members, ARRAY_LEN(rule_members), what, err);
		if (r < 0)
			return r;
		r = read_rule(obj, &rule, what, err);
		if (r < 0)
			return r;
		if (cJSON_GetArraySize(get(obj, "names")) == 0)
			return wrong(err, what, "'names' is empty");
		cJSON_ArrayForEach(name, get(obj, "names")) {
			if (!cJSON_IsString(name))
				return wrong(err, what, "'names' must hold strings");
			r = add_rule(p, name->valuestring, &rule, what, err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int check_arch(const struct filter_arch *arch, const cJSON *array, struct err *err)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, array)
		if (cJSON_IsString(item) && strcmp(item->valuestring, arch->oci_name) == 0)
			return 0;
	return err_set(err, ERR_USAGE, EINVAL, "the profile was not written for %s: '%s' is not in 'architectures'",
		       arch->name, arch->oci_name);
}

static int by_number(const void *a, const void *b)
{
	const struct filter_call *x = a;
	const struct filter_call *y = b;

	return (x->nr > y->nr) - (x->nr < y->nr);
}

int filter_profile_parse(const char *text, size_t len, const struct filter_arch *arch, struct filter_profile *ret,
			 struct err *err)
{
	const char *end = NULL;
	_cleanup_(json_donep) cJSON *root = cJSON_ParseWithLengthOpts(text, len, &end, 0);

	if (!root)
		return err_set(err, ERR_USAGE, EINVAL, "the profile is not JSON: it goes wrong at byte %zu",
			       end ? (size_t) (end - text) : 0);
	while (end < text + len && strchr(" \t\r\n", *end) && *end != '\0')
		end++;
	if (end != text + len)
		return wrong(err, "the profile", "something follows the JSON object");

	int r = check_members(root, profile_members, ARRAY_LEN(profile_members), "the profile", err);
	if (r < 0)
		return r;
	r = check_arch(arch, get(root, "architectures"), err);
	if (r < 0)
		return r;
	memset(ret, 0, sizeof(*ret));
	ret->arch = arch;
	r = get_action(root, "defaultAction", "defaultErrnoRet", &ret->default_action, "the profile", err);
	if (r < 0)
		return r;
	r = read_rules(ret, get(root, "syscalls"), err);
	if (r < 0)
		return r;
	qsort(ret->call, ret->ncalls, sizeof(ret->call[0]), by_number);
	return 0;
}
