/*
 * Arguments against the subset of JSON Schema that our tools publish.
 *
 * Keywords: type (one name), properties, required, additionalProperties false, items, enum, default, minimum, maximum,
 * minLength, maxLength, minItems, maxItems; pattern is for clients: the tool checks such a string itself. Models send near
 * misses all the time, so a value whose meaning is plain is coerced: "5", 5.0 and true as an integer, "yes" as a boolean,
 * 512 as a string that has a pattern, "[…]" and "{…}" as an array or object, one string or object as an array of one; null for an
 * optional member means its default.
 */
#pragma once

#include <cjson/cJSON.h>

#include "runtime/base/buf.h"

enum { SCHEMA_PROBLEMS_MAX = 8 * 1024 };

/*
 * Makes @args (consumed; NULL is an empty object) conform to the object schema @schema. Returns the new object. When
 * something cannot be accepted, returns NULL and @problems holds one line for each: "- limit: …".
 */
cJSON *schema_apply(const cJSON *schema, cJSON *args, struct buf *problems);
