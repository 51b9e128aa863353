/*
 * Arguments against our subset of JSON Schema: see schema.h. Runs in cloche-mcp, without any capability; sees what
 * models write.
 *
 * The value is rebuilt in place: coerced values replace the original ones, defaults are added. A path such as
 * edits[2].old names what a problem is about.
 */
#include "mcp/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mcp/scan.h"
#include "mcp/text.h"
#include "runtime/base/attr.h"
#include "runtime/base/opt.h"

enum {
	SCHEMA_PATH_MAX = 160,
	SCHEMA_NAMES_MAX = 32,
	SCHEMA_MEMBERS_MAX = 64, /* of one object */
	SCHEMA_ALIKE_MIN = 3,    /* letters that two names share as a whole: "old_text" and "old" */
	SCHEMA_SHOWN_STRING = 30, /* bytes of an offending string that are told */
	SCHEMA_SHOWN_NAME = 60,   /* … of the name of an unknown member */
	SCHEMA_SHOWN_MAX = 160,   /* bytes of the short form of a value: each byte may need four */
};

/* Integers beyond this are not exact in a double, which is what cJSON holds. */
static const double integer_max = 9007199254740992.0;

struct check {
	struct buf *problems;
	char path[SCHEMA_PATH_MAX];
};

static void apply(struct check *c, const cJSON *schema, cJSON *value);

static const cJSON *keyword(const cJSON *schema, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(schema, name);
}

_printf_(2, 3) static void problem(struct check *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_addf(c->problems, "- %s: ", c->path[0] ? c->path : "arguments");
	buf_vaddf(c->problems, fmt, ap);
	buf_add_char(c->problems, '\n');
	va_end(ap);
}

/* Appends ".name" or "[3]" to the path; returns the old length for leave(). */
_printf_(2, 3) static size_t enter(struct check *c, const char *fmt, ...)
{
	size_t len = strlen(c->path);
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(c->path + len, sizeof(c->path) - len, fmt, ap);
	va_end(ap);
	return len;
}

static void leave(struct check *c, size_t len)
{
	c->path[len] = '\0';
}

/* Control characters are shown as \xNN: no value forges a line. */
static void shown_string(const char *s, char text[static SCHEMA_SHOWN_MAX])
{
	_cleanup_buf_ struct buf line = BUF_INIT(SCHEMA_SHOWN_MAX);

	text_add_line(&line, s, strlen(s), SCHEMA_SHOWN_STRING);
	text_format(text, SCHEMA_SHOWN_MAX, "the string \"%s\"", buf_cstr(&line));
}

/* 5.1 as it was written: 15 digits tell all numbers that a person writes, 17 all others. */
static void shown_number(double number, char text[static SCHEMA_SHOWN_MAX])
{
	(void) snprintf(text, SCHEMA_SHOWN_MAX, "%.15g", number);
	if (strtod(text, NULL) != number) /* exact on purpose */
		(void) snprintf(text, SCHEMA_SHOWN_MAX, "%.17g", number);
}

/* A short form of @value for a message. */
static const char *shown(const cJSON *value, char text[static SCHEMA_SHOWN_MAX])
{
	if (cJSON_IsString(value))
		shown_string(value->valuestring, text);
	else if (cJSON_IsNumber(value))
		shown_number(value->valuedouble, text);
	else if (cJSON_IsBool(value))
		(void) snprintf(text, SCHEMA_SHOWN_MAX, "%s", cJSON_IsTrue(value) ? "true" : "false");
	else
		(void) snprintf(text, SCHEMA_SHOWN_MAX, "%s",
				cJSON_IsArray(value) ? "an array" : cJSON_IsObject(value) ? "an object" : "null");
	return text;
}

/* Gives @value the content of @from (consumed) and keeps its name and place. */
static void replace_content(cJSON *value, cJSON *from)
{
	cJSON old = *value;

	value->type = (from->type & 0xff) | (old.type & cJSON_StringIsConst);
	value->child = from->child;
	value->valuestring = from->valuestring;
	value->valueint = from->valueint;
	value->valuedouble = from->valuedouble;
	from->type = old.type & ~cJSON_StringIsConst;
	from->child = old.child;
	from->valuestring = old.valuestring;
	cJSON_Delete(from);
}

static void become(cJSON *value, cJSON *from)
{
	if (from)
		replace_content(value, from);
}

/* The JSON value that the string @value holds, or NULL. It passes the same pre-scan as a message. */
static cJSON *parse_string(const cJSON *value)
{
	struct scan scan;
	cJSON *tree = NULL;
	const char *text = value->valuestring;
	size_t len = strlen(text);

	scan_trim(&text, &len);
	if (len > 0 && scan_value(&scan, text, len) == SCAN_OK && !scan.has_nul)
		tree = cJSON_ParseWithLength(scan.text.p, scan.text.len);
	if (len > 0)
		scan_done(&scan);
	return tree;
}

/* --- one function per type: coerces, and tells whether the value has the type now --------------------------------- */

static bool to_number(cJSON *value)
{
	if (cJSON_IsString(value)) {
		cJSON *parsed = parse_string(value);
		if (cJSON_IsNumber(parsed))
			become(value, parsed);
		else
			cJSON_Delete(parsed);
	} else if (cJSON_IsBool(value)) {
		become(value, cJSON_CreateNumber(cJSON_IsTrue(value) ? 1 : 0));
	}
	return cJSON_IsNumber(value) && isfinite(value->valuedouble);
}

static bool to_integer(cJSON *value)
{
	return to_number(value) && fabs(value->valuedouble) <= integer_max &&
	       floor(value->valuedouble) == value->valuedouble;
}

static bool to_boolean(cJSON *value)
{
	static const char *const yes[] = { "true", "yes", "on", "1" }, *const no[] = { "false", "no", "off", "0" };

	if (cJSON_IsNumber(value) && (value->valuedouble == 0 || value->valuedouble == 1)) /* exact on purpose */
		become(value, cJSON_CreateBool(value->valuedouble == 1));
	for (size_t i = 0; cJSON_IsString(value) && i < ARRAY_LEN(yes); i++) {
		if (strcasecmp(value->valuestring, yes[i]) == 0)
			become(value, cJSON_CreateTrue());
		else if (strcasecmp(value->valuestring, no[i]) == 0)
			become(value, cJSON_CreateFalse());
	}
	return cJSON_IsBool(value);
}

static bool to_string(cJSON *value)
{
	return cJSON_IsString(value);
}

/*
 * A whole number for a string whose schema has a pattern, such as a size: its digits. Of other strings it is not plain how the number
 * was to be written.
 */
static void number_to_string(const cJSON *schema, cJSON *value)
{
	char digits[32];

	if (!cJSON_IsNumber(value) || !keyword(schema, "pattern") || !to_integer(value))
		return;
	(void) snprintf(digits, sizeof(digits), "%lld", (long long) value->valuedouble);
	become(value, cJSON_CreateString(digits));
}

static bool to_array(cJSON *value)
{
	cJSON *parsed = cJSON_IsString(value) ? parse_string(value) : NULL;

	if (cJSON_IsArray(parsed))
		become(value, parsed);
	else
		cJSON_Delete(parsed);
	return cJSON_IsArray(value);
}

/* Whether the string @s can be meant as an array of one: not when it looks like several, or like JSON that does not parse. */
static bool is_one_item(const char *s)
{
	return *s && s[strcspn(s, "[]{}\", \t\r\n")] == '\0';
}

/* What stands where an array of its kind belongs becomes an array of one. */
static void item_to_array(const cJSON *schema, cJSON *value)
{
	const char *wanted = cJSON_GetStringValue(keyword(keyword(schema, "items"), "type"));
	cJSON *item = NULL;

	if (wanted && strcmp(wanted, "string") == 0 && cJSON_IsString(value) && is_one_item(value->valuestring))
		item = cJSON_Duplicate(value, true);
	else if (wanted && strcmp(wanted, "object") == 0)
		item = cJSON_IsString(value) ? parse_string(value) : cJSON_Duplicate(value, true);
	if (item && (cJSON_IsString(item) || cJSON_IsObject(item))) {
		cJSON *array = cJSON_CreateArray();
		if (array && cJSON_AddItemToArray(array, item)) {
			become(value, array);
			return;
		}
		cJSON_Delete(array);
	}
	cJSON_Delete(item);
}

static bool to_object(cJSON *value)
{
	cJSON *parsed = cJSON_IsString(value) ? parse_string(value) : NULL;

	if (cJSON_IsObject(parsed))
		become(value, parsed);
	else
		cJSON_Delete(parsed);
	return cJSON_IsObject(value);
}

/* --- what the value must satisfy beyond its type ------------------------------------------------------------------ */

static void check_number(struct check *c, const cJSON *schema, cJSON *value)
{
	const cJSON *minimum = keyword(schema, "minimum"), *maximum = keyword(schema, "maximum");
	char bound[SCHEMA_SHOWN_MAX], text[SCHEMA_SHOWN_MAX];

	if (minimum && value->valuedouble < minimum->valuedouble)
		problem(c, "must be at least %s, but is %s", shown(minimum, bound), shown(value, text));
	if (maximum && value->valuedouble > maximum->valuedouble)
		problem(c, "must be at most %s, but is %s", shown(maximum, bound), shown(value, text));
}

static void check_length(struct check *c, const cJSON *least, const cJSON *most, size_t n, const char *unit)
{
	if (least && (double) n < least->valuedouble)
		problem(c, "must have at least %.0f %s, but has %zu", least->valuedouble, unit, n);
	if (most && (double) n > most->valuedouble)
		problem(c, "must have at most %.0f %s, but has %zu", most->valuedouble, unit, n);
}

static void check_string(struct check *c, const cJSON *schema, cJSON *value)
{
	const cJSON *choices = keyword(schema, "enum"), *choice;

	check_length(c, keyword(schema, "minLength"), keyword(schema, "maxLength"), strlen(value->valuestring),
		     "bytes");
	if (!choices)
		return;
	cJSON_ArrayForEach(choice, choices)
		if (strcmp(choice->valuestring, value->valuestring) == 0)
			return;
	_cleanup_buf_ struct buf names = BUF_INIT(1024);
	cJSON_ArrayForEach(choice, choices)
		buf_addf(&names, "%s\"%s\"", names.len ? ", " : "", choice->valuestring);
	problem(c, "must be one of %s", buf_cstr(&names));
}

static void check_array(struct check *c, const cJSON *schema, cJSON *value)
{
	const cJSON *items = keyword(schema, "items");
	size_t n = 0;
	cJSON *item;

	cJSON_ArrayForEach(item, value) {
		size_t len = enter(c, "[%zu]", n++);
		if (items && !buf_error(c->problems))
			apply(c, items, item);
		leave(c, len);
	}
	check_length(c, keyword(schema, "minItems"), keyword(schema, "maxItems"), n, "items");
}

/* Keeps the last of several members with one name, as every JavaScript client would. */
static void drop_duplicates(cJSON *object)
{
	cJSON *next;

	for (cJSON *member = object->child; member; member = next) {
		next = member->next;
		for (const cJSON *later = next; later; later = later->next) {
			if (strcmp(later->string, member->string) != 0)
				continue;
			cJSON_Delete(cJSON_DetachItemViaPointer(object, member));
			break;
		}
	}
}

/* The name that @name most likely stands for, or NULL. */
static const char *nearest(const char *name, const char *const *names, size_t count)
{
	const char *near = opt_nearest(name, names, count);

	for (size_t i = 0; !near && i < count; i++)
		if ((strlen(name) >= SCHEMA_ALIKE_MIN && strcasestr(names[i], name)) ||
		    (strlen(names[i]) >= SCHEMA_ALIKE_MIN && strcasestr(name, names[i])))
			near = names[i];
	return near;
}

static void unknown_member(struct check *c, const cJSON *properties, const char *name)
{
	const char *names[SCHEMA_NAMES_MAX] = { NULL };
	size_t count = 0;
	const cJSON *property;

	cJSON_ArrayForEach(property, properties)
		if (count < SCHEMA_NAMES_MAX)
			names[count++] = property->string;
	const char *near = nearest(name, names, count);
	if (near) {
		problem(c, "there is no such argument; did you mean \"%s\"?", near);
		return;
	}
	_cleanup_buf_ struct buf list = BUF_INIT(1024);
	for (size_t i = 0; i < count; i++)
		buf_addf(&list, "%s%s", i ? ", " : "", names[i]);
	problem(c, "there is no such argument; there are: %s", count ? buf_cstr(&list) : "none");
}

static bool is_required(const cJSON *schema, const char *name)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, keyword(schema, "required"))
		if (strcmp(item->valuestring, name) == 0)
			return true;
	return false;
}

/* A property that is absent, or null though it may be left out, gets its default. */
static void check_property(struct check *c, const cJSON *schema, const cJSON *property, cJSON *object)
{
	cJSON *member = cJSON_GetObjectItemCaseSensitive(object, property->string);
	const cJSON *fallback = keyword(property, "default");
	bool required = is_required(schema, property->string);
	size_t len = enter(c, "%s%s", c->path[0] ? "." : "", property->string);

	if (member && cJSON_IsNull(member) && !required) {
		cJSON_Delete(cJSON_DetachItemViaPointer(object, member));
		member = NULL;
	}
	if (member)
		apply(c, property, member);
	else if (required)
		problem(c, "is required, but missing");
	else if (fallback)
		(void) cJSON_AddItemToObject(object, property->string, cJSON_Duplicate(fallback, true));
	leave(c, len);
}

static void check_object(struct check *c, const cJSON *schema, cJSON *value)
{
	const cJSON *properties = keyword(schema, "properties"), *property;
	cJSON *member;

	if (cJSON_GetArraySize(value) > SCHEMA_MEMBERS_MAX) {
		problem(c, "has more than %d members", SCHEMA_MEMBERS_MAX);
		return;
	}
	drop_duplicates(value);
	cJSON_ArrayForEach(member, value) {
		if (cJSON_GetObjectItemCaseSensitive(properties, member->string) || buf_error(c->problems))
			continue;
		_cleanup_buf_ struct buf name = BUF_INIT(SCHEMA_PATH_MAX * 2);
		text_add_line(&name, member->string, strlen(member->string), SCHEMA_SHOWN_NAME);
		size_t len = enter(c, "%s%s", c->path[0] ? "." : "", buf_cstr(&name));
		if (cJSON_IsFalse(keyword(schema, "additionalProperties")))
			unknown_member(c, properties, member->string);
		leave(c, len);
	}
	cJSON_ArrayForEach(property, properties)
		check_property(c, schema, property, value);
}

static const struct {
	const char *name, *wanted;
	bool (*coerce)(cJSON *value);
	void (*check)(struct check *c, const cJSON *schema, cJSON *value);
} types[] = {
	{ "string", "a string", to_string, check_string },
	{ "integer", "an integer", to_integer, check_number },
	{ "number", "a number", to_number, check_number },
	{ "boolean", "true or false", to_boolean, NULL },
	{ "array", "an array", to_array, check_array },
	{ "object", "an object", to_object, check_object },
};

static void apply(struct check *c, const cJSON *schema, cJSON *value)
{
	const char *type = cJSON_GetStringValue(keyword(schema, "type"));
	char text[SCHEMA_SHOWN_MAX];

	for (size_t i = 0; type && i < ARRAY_LEN(types); i++) {
		if (strcmp(type, types[i].name) != 0)
			continue;
		if (types[i].coerce == to_string)
			number_to_string(schema, value);
		if (types[i].coerce == to_array && !to_array(value))
			item_to_array(schema, value);
		if (!types[i].coerce(value))
			problem(c, "must be %s, but is %s", types[i].wanted, shown(value, text));
		else if (types[i].check)
			types[i].check(c, schema, value);
		return;
	}
}

cJSON *schema_apply(const cJSON *schema, cJSON *args, struct buf *problems)
{
	struct check c = { .problems = problems };

	if (!args)
		args = cJSON_CreateObject();
	if (!args) {
		buf_add_str(problems, "- out of memory\n");
		return NULL;
	}
	apply(&c, schema, args);
	if (problems->len == 0 && !buf_error(problems))
		return args;
	cJSON_Delete(args);
	return NULL;
}
