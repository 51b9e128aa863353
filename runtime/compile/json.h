/*
 * JSON from a user's file, read strictly, with what messages need: the line of every value, and integers of 64 bits, which
 * cJSON rounds to a double.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"

enum {
	JSON_DEPTH_MAX = 8,       /* objects and arrays in one another */
	JSON_VALUES_MAX = 65536,
};

/* Where a value begins. */
struct json_mark {
	uint32_t offset;
	uint32_t line; /* from 1 */
};

struct json_doc {
	cJSON *root;             /* owned; the valueint of each item is the index of its mark */
	struct json_mark *marks; /* owned; in the order of the text */
	size_t count;
	const char *text; /* borrowed */
	size_t len;
};

/* Reads the @len bytes at @text, which must outlive @ret. 0, or -errno with @err filled; release @ret in any case. */
int json_read(const char *text, size_t len, struct json_doc *ret, struct err *err) _must_check_;
void json_done(struct json_doc *doc);
#define _cleanup_json_ _cleanup_(json_done)

unsigned int json_line(const struct json_doc *doc, const cJSON *item);

/* The integer @item from 0 to @max in *@ret: digits only, exactly. 0 or -EINVAL. */
int json_integer(const struct json_doc *doc, const cJSON *item, uint64_t max, uint64_t *ret) _must_check_;

/* The members that an object may have. Null counts as absent. */
struct json_member {
	const char *name;
	int type; /* cJSON_String, cJSON_Number, cJSON_Array or cJSON_Object */
	const cJSON *item; /* filled by json_members() */
};

/*
 * Takes the object @obj apart: each member goes to its row of @m. 0, or -EINVAL with @err filled: @what is no object, has a
 * member of another name or type, or one twice.
 */
int json_members(const struct json_doc *doc, const cJSON *obj, const char *what, struct json_member *m, size_t n,
		 struct err *err) _must_check_;
