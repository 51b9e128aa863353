/*
 * Reads our own profiles: see filter_profile.h. Runs while building, in gen-filter, and in the tests.
 *
 * Strict, because a profile that is read more kindly than it was meant is a hole: unknown members, unknown calls, a
 * member given twice, a rule that can never be reached and a denial without a comment are errors. A call that
 * exists on other architectures only is skipped.
 */
#include "tools/build/filter_profile.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/fd.h"

enum { ERRNO_LAST = 133 }; /* EHWPOISON: the kernel has no larger one for programs */

static const struct {
	const char *name;
	uint32_t action;
} actions[] = {
	{ "SCMP_ACT_ALLOW", SECCOMP_RET_ALLOW },
	{ "SCMP_ACT_ERRNO", SECCOMP_RET_ERRNO },
	{ "SCMP_ACT_KILL_PROCESS", SECCOMP_RET_KILL_PROCESS },
	{ "SCMP_ACT_TRACE", SECCOMP_RET_TRACE },
};

/* One member of a JSON object: unknown ones are errors. */
struct member {
	const char *name;
	int type; /* cJSON_* */
	bool required;
};

static const struct member profile_members[] = {
	{ "comment", cJSON_String, false },
	{ "defaultAction", cJSON_String, true },
	{ "defaultErrnoRet", cJSON_Number, false },
	{ "architectures", cJSON_Array, true },
	{ "syscalls", cJSON_Array, true },
};

/* A profile that builds on another one. */
static const struct member derived_members[] = {
	{ "comment", cJSON_String, false },
	{ "extends", cJSON_String, true },
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
			if (number == 0 && !get(obj, "args"))
				return wrong(err, what, "an errno of 0 would pretend success, whatever was asked");
		}
		*ret = actions[i].action | number;
		return 0;
	}
	return err_set(err, ERR_USAGE, EINVAL,
		       "%s: action '%s' is not known: use SCMP_ACT_ALLOW, SCMP_ACT_ERRNO, SCMP_ACT_TRACE or SCMP_ACT_KILL_PROCESS",
		       what, s);
}

/* A pointer that is NULL: the one comparison of all 64 bits, since there is no smaller one that a pointer cannot deceive. */
static bool is_null_cond(const cJSON *obj)
{
	return strcmp(get(obj, "op")->valuestring, "SCMP_CMP_EQ") == 0 && get(obj, "value")->valuedouble == 0 &&
	       (!get(obj, "valueTwo") || get(obj, "valueTwo")->valuedouble == 0);
}

/* In OCI's words for SCMP_CMP_MASKED_EQ, "value" is the mask and "valueTwo" what must remain. */
static int read_cond(const cJSON *obj, struct filter_cond *ret, const char *what, struct err *err)
{
	struct filter_cond c = { .op = FILTER_MASKED_EQ };
	uint32_t mask = 0, value = 0;
	int r = check_members(obj, cond_members, ARRAY_LEN(cond_members), what, err);

	if (r < 0)
		return r;
	r = get_number(obj, "index", 5, &c.arg, what, err);
	if (r < 0)
		return r;
	if (is_null_cond(obj)) {
		c.mask = UINT64_MAX;
		*ret = c;
		return 0;
	}
	if (strcmp(get(obj, "op")->valuestring, "SCMP_CMP_MASKED_EQ") != 0)
		return err_set(err, ERR_USAGE, EINVAL,
			       "%s: op '%s' compares all 64 bits: use SCMP_CMP_MASKED_EQ and a mask of 32 bits", what,
			       get(obj, "op")->valuestring);
	if ((r = get_number(obj, "value", UINT32_MAX, &mask, what, err)) < 0 ||
	    (r = get_number(obj, "valueTwo", UINT32_MAX, &value, what, err)) < 0)
		return r;
	if (mask == 0)
		return wrong(err, what, "a mask ('value') of 0 compares nothing");
	if (value & ~mask)
		return wrong(err, what, "'valueTwo' has bits that the mask ('value') removes: it can never match");
	c.mask = mask;
	c.value = value;
	*ret = c;
	return 0;
}

static int read_rule(struct filter_profile *p, const cJSON *obj, struct filter_rule *ret, const char *what, struct err *err)
{
	struct filter_rule rule = { .comment = "" };
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
	if (comment)
		rule.comment = filter_keep_comment(p, comment->valuestring);
	if (!rule.comment)
		return wrong(err, what, "too many comments");
	*ret = rule;
	return 0;
}

/* @based: a rule of a profile that another one extends, whose own rules for the call decide first. */
static int add_rule(struct filter_profile *p, const char *name, const struct filter_rule *rule, bool based, const char *what,
		    struct err *err)
{
	int nr = filter_call_number(p->arch, name);

	if (nr == FILTER_CALL_ELSEWHERE)
		return 0;
	if (nr < 0 || strlen(name) >= FILTER_NAME_MAX)
		return err_set(err, ERR_USAGE, EINVAL, "%s: there is no system call '%s'", what, name);

	struct filter_call *call = filter_add_call(p, (uint32_t) nr, name);
	if (!call)
		return wrong(err, what, "too many system calls");
	if (call->nrules > 0 && call->rule[call->nrules - 1].ncond == 0) {
		if (based && call->derived)
			return 0;
		return err_set(err, ERR_USAGE, EINVAL,
			       "%s: this rule for '%s' can never be reached: an earlier one has no conditions", what,
			       name);
	}
	if (call->nrules == FILTER_RULES_MAX)
		return err_set(err, ERR_USAGE, EINVAL, "%s: too many rules for '%s'", what, name);
	call->derived |= !based;
	call->rule[call->nrules++] = *rule;
	return 0;
}

static int read_rules(struct filter_profile *p, const cJSON *array, bool based, struct err *err)
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
		r = read_rule(p, obj, &rule, what, err);
		if (r < 0)
			return r;
		if (cJSON_GetArraySize(get(obj, "names")) == 0)
			return wrong(err, what, "'names' is empty");
		cJSON_ArrayForEach(name, get(obj, "names")) {
			if (!cJSON_IsString(name))
				return wrong(err, what, "'names' must hold strings");
			r = add_rule(p, name->valuestring, &rule, based, what, err);
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

static cJSON *parse(const char *text, size_t len, struct err *err)
{
	const char *end = NULL;
	_cleanup_(json_donep) cJSON *root = cJSON_ParseWithLengthOpts(text, len, &end, 0);

	if (!root) {
		(void) err_set(err, ERR_USAGE, EINVAL, "the profile is not JSON: it goes wrong at byte %zu",
			       end ? (size_t) (end - text) : 0);
		return NULL;
	}
	while (end < text + len && strchr(" \t\r\n", *end) && *end != '\0')
		end++;
	if (end != text + len) {
		(void) wrong(err, "the profile", "something follows the JSON object");
		return NULL;
	}
	return TAKE_PTR(root);
}

/* Reads the complete profile @root behind what is in @p already. */
static int read_profile(struct filter_profile *p, const cJSON *root, bool based, struct err *err)
{
	int r = check_members(root, profile_members, ARRAY_LEN(profile_members), "the profile", err);

	if (r < 0)
		return r;
	r = check_arch(p->arch, get(root, "architectures"), err);
	if (r < 0)
		return r;
	r = get_action(root, "defaultAction", "defaultErrnoRet", &p->default_action, "the profile", err);
	if (r < 0)
		return r;
	r = read_rules(p, get(root, "syscalls"), based, err);
	if (r < 0)
		return r;
	qsort(p->call, p->ncalls, sizeof(p->call[0]), filter_by_number);
	return 0;
}

int filter_profile_parse(const char *text, size_t len, const struct filter_arch *arch, struct filter_profile *ret,
			 struct err *err)
{
	_cleanup_(json_donep) cJSON *root = parse(text, len, err);

	if (!root)
		return -EINVAL;
	memset(ret, 0, sizeof(*ret));
	ret->arch = arch;
	return read_profile(ret, root, false, err);
}

static int read_file(const char *path, struct buf *b, struct err *err)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot open '%s': %m", path);
	for (;;) {
		char chunk[16384];
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, ERR_SYSTEM, errno, "cannot read '%s': %m", path);
		if (n == 0)
			break;
		buf_add(b, chunk, (size_t) n);
	}
	if (buf_error(b) < 0)
		return err_set(err, ERR_USAGE, -buf_error(b), "'%s' is larger than %d bytes", path, FILTER_PROFILE_MAX);
	return 0;
}

static cJSON *parse_file(const char *path, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(FILTER_PROFILE_MAX);

	return read_file(path, &text, err) < 0 ? NULL : parse(buf_cstr(&text), text.len, err);
}

/* The profile that @root extends lies in the same folder. One step: it extends no other. */
static int read_base(struct filter_profile *p, const char *path, const cJSON *root, struct err *err)
{
	_cleanup_buf_ struct buf base_path = BUF_INIT(4096);
	const char *slash = strrchr(path, '/');
	const char *name = get(root, "extends")->valuestring;

	if (strchr(name, '/'))
		return wrong(err, "'extends'", "must name a file of the same folder");
	buf_addf(&base_path, "%.*s%s", slash ? (int) (slash + 1 - path) : 0, path, name);
	_cleanup_(json_donep) cJSON *base = parse_file(buf_cstr(&base_path), err);
	return base ? read_profile(p, base, true, err) : -EINVAL;
}

static int load(struct filter_profile *p, const char *path, struct err *err)
{
	_cleanup_(json_donep) cJSON *root = parse_file(path, err);

	if (!root)
		return -EINVAL;
	if (!get(root, "extends"))
		return read_profile(p, root, false, err);
	int r = check_members(root, derived_members, ARRAY_LEN(derived_members), "the profile", err);
	if (r < 0)
		return r;
	r = read_rules(p, get(root, "syscalls"), false, err);
	return r < 0 ? r : read_base(p, path, root, err);
}

int filter_profile_load(const char *path, const struct filter_arch *arch, struct filter_profile *ret, struct err *err)
{
	memset(ret, 0, sizeof(*ret));
	ret->arch = arch;
	int r = load(ret, path, err);
	return r < 0 ? err_wrap(err, "profile '%s'", path) : 0;
}
