/*
 * A profile as a list of options: see profile.h. Runs in cloche-compile, which has given up everything but its standard streams,
 * and at build time for the profiles that cloche brings along.
 *
 * The table of members says all that is known about options here; what their values mean is the business of the command line's
 * setters, which get every one of them.
 */
#include "runtime/compile/profile.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/opt.h"
#include "runtime/compile/json.h"

enum {
	NUMBER_TEXT_MAX = 32,
	PATH_MAX_SHOWN = 200, /* bytes of a member's path in a message */
	NAME_MAX_SHOWN = 60,  /* of them, of a name from the file */
};

#define EXACT_MAX 9007199254740992.0 /* 2^53: up to here a double holds every whole number */

#define MEMBER_DESCRIPTION "description"
#define MEMBER_SCHEMA "$schema"

const struct profile_member profile_members[] = {
	{ .name = "allow-debug", .kind = PROFILE_SWITCH },
	{ .name = "command-cpus", .kind = PROFILE_NUMBER },
	{ .name = "command-memory", .kind = PROFILE_NUMBER },
	{ .name = "command-pids-limit", .kind = PROFILE_NUMBER },
	{ .name = "cpu-shares", .kind = PROFILE_NUMBER },
	{ .name = "cpus", .kind = PROFILE_NUMBER },
	{ .name = "env", .kind = PROFILE_MAP, .joint = '=' },
	{ .name = "hostname", .kind = PROFILE_TEXT },
	{ .name = "memory", .kind = PROFILE_NUMBER },
	{ .name = "memory-swap", .kind = PROFILE_NUMBER },
	{ .name = "network", .kind = PROFILE_TEXT },
	{ .name = "pids-limit", .kind = PROFILE_NUMBER },
	{ .name = "protect", .kind = PROFILE_LIST },
	{ .name = "require-limits", .kind = PROFILE_SWITCH },
	{ .name = "security-opt", .kind = PROFILE_LIST, .path_behind = '=' },
	{ .name = "shm-size", .kind = PROFILE_NUMBER },
	{ .name = "tmpfs", .kind = PROFILE_MAP, .joint = ':' },
	{ .name = "ulimit", .kind = PROFILE_MAP, .joint = '=' },
	{ .name = "unprotect", .kind = PROFILE_LIST },
	{ .name = "user", .kind = PROFILE_NUMBER },
	{ .name = "volume", .kind = PROFILE_LIST, .must_be_path = true },
	{ .name = "workspace-mode", .kind = PROFILE_TEXT },
	{ .name = NULL },
};

struct compiler {
	struct buf *out;
	struct err *err;
	struct json_doc doc;
	const cJSON *at;           /* the value at hand */
	char path[PATH_MAX_SHOWN]; /* of the member at hand, for messages */
};

_printf_(2, 3) static int fail(struct compiler *c, const char *fmt, ...)
{
	char why[ERR_TEXT_MAX / 2];
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return err_set(c->err, ERR_USAGE, EINVAL, "line %u: %s%s%s", json_line(&c->doc, c->at), c->path, c->path[0] ? ": " : "", why);
}

/* --- members ----------------------------------------------------------------------------------------------------------- */

static void at_member(struct compiler *c, const cJSON *value)
{
	c->at = value;
	(void) snprintf(c->path, sizeof(c->path), "%.*s", NAME_MAX_SHOWN, value->string);
}

static void at_entry(struct compiler *c, const char *member, const cJSON *value)
{
	c->at = value;
	(void) snprintf(c->path, sizeof(c->path), "%s.%.*s", member, NAME_MAX_SHOWN, value->string);
}

static void at_index(struct compiler *c, const char *member, const cJSON *value, size_t i)
{
	c->at = value;
	(void) snprintf(c->path, sizeof(c->path), "%s[%zu]", member, i);
}

static const char *type_name(const cJSON *value)
{
	return cJSON_IsString(value) ? "a string" : cJSON_IsNumber(value) ? "a number" : cJSON_IsBool(value) ? "true or false" :
	       cJSON_IsArray(value) ? "an array" : cJSON_IsObject(value) ? "an object" : "null";
}

/* Too many entries, or a name that occurs twice, of which a reader would see one and cloche take the other. */
static int check_entries(struct compiler *c, const cJSON *object)
{
	size_t count = 0;

	for (const cJSON *a = object->child; a; a = a->next) {
		if (++count > PROFILE_ENTRIES_MAX)
			return fail(c, "more than %d entries", PROFILE_ENTRIES_MAX);
		for (const cJSON *b = object->child; cJSON_IsObject(object) && b != a; b = b->next)
			if (strcmp(a->string, b->string) == 0) {
				c->at = a;
				return fail(c, "'%.*s' is there twice", NAME_MAX_SHOWN, a->string);
			}
	}
	return 0;
}

/* The text of a scalar, as it would stand on the command line: in the file's string or in @number. NULL with @err filled. */
static const char *scalar(struct compiler *c, const cJSON *value, bool number_too, char number[static NUMBER_TEXT_MAX])
{
	if (cJSON_IsString(value))
		return value->valuestring;
	if (number_too && cJSON_IsNumber(value)) {
		double n = value->valuedouble;
		bool whole = n > -EXACT_MAX && n < EXACT_MAX && n == (double) (long long) n;
		(void) snprintf(number, NUMBER_TEXT_MAX, whole ? "%.0f" : "%.15g", n);
		return number;
	}
	(void) fail(c, "must be a string%s, not %s", number_too ? " or a number" : "", type_name(value));
	return NULL;
}

static void add_option(struct compiler *c, const char *name, const char *key, char joint, const char *value)
{
	buf_addf(c->out, "--%s=", name);
	if (key) {
		buf_add_str(c->out, key);
		buf_add_char(c->out, joint);
	}
	buf_add(c->out, value, strlen(value) + 1);
}

static int add_scalar(struct compiler *c, const struct profile_member *m, const char *key, const cJSON *value)
{
	char number[NUMBER_TEXT_MAX];
	bool number_too = m->kind == PROFILE_NUMBER || m->kind == PROFILE_MAP;
	const char *text = scalar(c, value, number_too, number);

	if (!text)
		return -EINVAL;
	const char *path = m->path_behind ? strchr(text, m->path_behind) : NULL;
	if ((m->must_be_path && text[0] != '/') || (path && strchr(path, '/') && path[1] != '/'))
		return fail(c, "'%.*s': the path must begin with '/', since a profile has no folder that others could start from",
			    NAME_MAX_SHOWN, text);
	add_option(c, m->name, key, m->joint, text);
	return 0;
}

/* A name with the joint in it would move the border between name and value. */
static int add_map(struct compiler *c, const struct profile_member *m, const cJSON *value)
{
	int r = check_entries(c, value);

	for (const cJSON *entry = value->child; entry && r == 0; entry = entry->next) {
		at_entry(c, m->name, entry);
		if (!entry->string[0] || strchr(entry->string, m->joint))
			return fail(c, "the name must not be empty, nor hold a '%c'", m->joint);
		r = add_scalar(c, m, entry->string, entry);
	}
	return r;
}

static int add_list(struct compiler *c, const struct profile_member *m, const cJSON *value)
{
	int r = check_entries(c, value);
	size_t i = 0;

	for (const cJSON *entry = value->child; entry && r == 0; entry = entry->next) {
		at_index(c, m->name, entry, i++);
		r = add_scalar(c, m, NULL, entry);
	}
	return r;
}

static int add_member(struct compiler *c, const struct profile_member *m, const cJSON *value)
{
	switch (m->kind) {
	case PROFILE_TEXT:
	case PROFILE_NUMBER:
		return add_scalar(c, m, NULL, value);
	case PROFILE_SWITCH:
		if (!cJSON_IsBool(value))
			return fail(c, "must be true or false, not %s", type_name(value));
		add_option(c, m->name, NULL, 0, cJSON_IsTrue(value) ? "true" : "false");
		return 0;
	case PROFILE_LIST:
		return cJSON_IsArray(value) ? add_list(c, m, value) : fail(c, "must be an array of strings, not %s", type_name(value));
	case PROFILE_MAP:
		return cJSON_IsObject(value) ? add_map(c, m, value) : fail(c, "must be an object, not %s", type_name(value));
	}
	return -EINVAL;
}

static int unknown_member(struct compiler *c, const char *name)
{
	const char *names[ARRAY_LEN(profile_members) + 1] = { MEMBER_DESCRIPTION };
	size_t count = 1;

	for (const struct profile_member *m = profile_members; m->name; m++)
		names[count++] = m->name;
	const char *near = opt_nearest(name, names, count);
	return near ? fail(c, "unknown member: did you mean '%s'?", near) : fail(c, "unknown member: docs/profiles.md lists those that exist");
}

static int compile_member(struct compiler *c, const cJSON *value)
{
	at_member(c, value);
	if (strcmp(value->string, MEMBER_DESCRIPTION) == 0 || strcmp(value->string, MEMBER_SCHEMA) == 0)
		return cJSON_IsString(value) ? 0 : fail(c, "must be a string, not %s", type_name(value));
	for (const struct profile_member *m = profile_members; m->name; m++)
		if (strcmp(value->string, m->name) == 0)
			return add_member(c, m, value);
	return unknown_member(c, value->string);
}

static int add_description(struct compiler *c, const cJSON *profile)
{
	const cJSON *d = cJSON_GetObjectItemCaseSensitive(profile, MEMBER_DESCRIPTION);
	const char *text = d && cJSON_IsString(d) ? d->valuestring : "";

	if (d)
		at_member(c, d);
	if (strlen(text) > PROFILE_DESCRIPTION_MAX)
		return fail(c, "longer than %d bytes", PROFILE_DESCRIPTION_MAX);
	for (const char *p = text; *p; p++)
		if ((unsigned char) *p < 0x20 || *p == 0x7f)
			return fail(c, "must be one line without control characters");
	buf_add(c->out, text, strlen(text) + 1);
	c->path[0] = '\0';
	return 0;
}

static int compile(struct compiler *c)
{
	const cJSON *profile = c->doc.root;

	c->at = profile;
	if (!cJSON_IsObject(profile))
		return fail(c, "a profile is an object, not %s", type_name(profile));
	int r = check_entries(c, profile);
	if (r == 0)
		r = add_description(c, profile);
	for (const cJSON *member = profile->child; member && r == 0; member = member->next)
		r = compile_member(c, member);
	if (r == 0 && buf_error(c->out))
		r = fail(c, "it says more than %d bytes of options", PROFILE_OUTPUT_MAX);
	return r;
}

int profile_compile(const char *text, size_t len, struct buf *out, struct err *err)
{
	struct compiler c = { .out = out, .err = err };

	if (len > PROFILE_BYTES_MAX)
		return err_set(err, ERR_USAGE, E2BIG, "it is larger than %d bytes", PROFILE_BYTES_MAX);
	int r = json_read(text, len, &c.doc, err);
	if (r == 0)
		r = compile(&c);
	json_done(&c.doc);
	return r;
}
