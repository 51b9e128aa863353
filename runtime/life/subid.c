/*
 * Subordinate ids: see subid.h. Runs in the launcher, before anything is cloned.
 */
#include "runtime/life/subid.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/fd.h"
#include "runtime/base/str.h"

#define ID_LAST ((uint64_t) UINT32_MAX - 1) /* (uid_t) -1 is no id */

enum { FILE_MAX = 1 << 20, FIELD_MAX = 64, FIELDS = 3 };

/* The fields of the line @text of @len bytes, or false when it has not that many, or one is too long. */
static bool split(const char *text, size_t len, char fields[FIELDS][FIELD_MAX])
{
	for (size_t i = 0; i < FIELDS; i++) {
		const char *colon = memchr(text, ':', len);
		size_t part = colon ? (size_t) (colon - text) : len;

		if (part >= FIELD_MAX || (colon != NULL) != (i + 1 < FIELDS))
			return false;
		memcpy(fields[i], text, part);
		fields[i][part] = '\0';
		if (!colon)
			break;
		text += part + 1;
		len -= part + 1;
	}
	return true;
}

static bool holds(const struct subid_range *range, uint32_t id)
{
	return id >= range->start && id - range->start < range->count;
}

static int add_range(struct subid_ranges *ranges, const char *start_text, const char *count_text, uint32_t own)
{
	uint64_t start, count;

	if (str_to_uint(start_text, 1, ID_LAST, &start) < 0 || str_to_uint(count_text, 1, ID_LAST - start + 1, &count) < 0)
		return -EINVAL;
	struct subid_range range = { .start = (uint32_t) start, .count = (uint32_t) count };
	if (holds(&range, own))
		return -EINVAL;
	for (size_t i = 0; i < ranges->count; i++)
		if (holds(&range, ranges->rows[i].start) || holds(&ranges->rows[i], range.start))
			return -EINVAL;
	if (ranges->count >= ARRAY_LEN(ranges->rows))
		return -E2BIG;
	ranges->rows[ranges->count++] = range;
	return 0;
}

/* Whether the line is the user's: its first field is the login name, or the number. */
static bool is_ours(const char *line, size_t len, const char *login, const char *number)
{
	const char *colon = memchr(line, ':', len);
	size_t name = colon ? (size_t) (colon - line) : len;

	return (login && *login && strlen(login) == name && memcmp(line, login, name) == 0) ||
	       (strlen(number) == name && memcmp(line, number, name) == 0);
}

int subid_parse(const char *text, const char *login, uid_t uid, uint32_t own, struct subid_ranges *ret, size_t *ret_line)
{
	char fields[FIELDS][FIELD_MAX];
	char number[16];

	ret->count = 0;
	*ret_line = 0;
	(void) snprintf(number, sizeof(number), "%u", uid);
	while (*text) {
		size_t len = strcspn(text, "\n");

		(*ret_line)++;
		if (is_ours(text, len, login, number)) {
			int r = split(text, len, fields) ? add_range(ret, fields[1], fields[2], own) : -EINVAL;
			if (r < 0)
				return r;
		}
		text += len + (text[len] == '\n');
	}
	return 0;
}

static int explain(int r, const char *path, size_t line, struct err *err)
{
	if (r == -E2BIG)
		return err_set(err, ERR_USAGE, E2BIG, "line %zu of '%s': more than %d ranges for one user", line, path, SUBID_RANGES_MAX);
	return err_set(err, ERR_USAGE, EINVAL,
		       "line %zu of '%s' is not a range of subordinate ids: it must be NAME:START:COUNT, and hold neither root, nor your own "
		       "id, nor one of another line", line, path);
}

int subid_read(const char *path, const char *login, uid_t uid, uint32_t own, struct subid_ranges *ret, struct err *err)
{
	char *text = malloc(FILE_MAX);
	size_t line = 0;

	if (!text)
		return err_set(err, ERR_SYSTEM, ENOMEM, "out of memory for '%s'", path);
	ssize_t n = fd_read_text(AT_FDCWD, path, text, FILE_MAX);
	int r = n < 0 ? (int) n : memchr(text, '\0', (size_t) n) ? -EINVAL : subid_parse(text, login, uid, own, ret, &line);
	free(text);
	if (n < 0 && n != -ENOENT)
		return err_set(err, ERR_SYSTEM, (int) -n, "'%s' cannot be read: %m", path);
	if (r < 0 && n >= 0)
		return explain(r, path, line, err);
	if (n == -ENOENT || ret->count == 0)
		return err_set(err, ERR_UNSUPPORTED, ENOENT,
			       "user id %u has no range in '%s': have root run usermod --add-subuids 100000-165535 --add-subgids "
			       "100000-165535 %s (with ids that nobody has yet)", uid, path, login && *login ? login : "USER");
	return 0;
}

static void add_extent(struct subid_map *map, uint32_t inside, uint32_t outside, uint32_t count)
{
	if (count > 0 && map->count < ARRAY_LEN(map->rows))
		map->rows[map->count++] = (struct subid_extent) { .inside = inside, .outside = outside, .count = count };
}

void subid_plan(struct subid_map *ret, uint32_t inside, uint32_t own, const struct subid_ranges *ranges)
{
	uint32_t next = 1;

	ret->count = 0;
	add_extent(ret, inside, own, 1);
	for (size_t i = 0; i < ranges->count && next <= SUBID_INSIDE_MAX; i++) {
		uint32_t start = ranges->rows[i].start;
		uint32_t count = MIN(ranges->rows[i].count, (uint32_t) SUBID_INSIDE_MAX - next + 1);

		if (inside >= next && inside - next < count) {
			add_extent(ret, next, start, inside - next);
			add_extent(ret, inside + 1, start + (inside - next) + 1, count - (inside - next) - 1);
		} else {
			add_extent(ret, next, start, count);
		}
		next += count;
	}
}
