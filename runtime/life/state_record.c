/*
 * The text of a sandbox's record: see state_record.h. Written in the supervisor, read in `cloche ps` and its like.
 */
#include "runtime/life/state_record.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/str.h"

#define FIRST_LINE "cloche=1\n"

/* The lines with text. Those with numbers are "started" and "init". */
static const struct {
	const char *key;
	size_t offset, size;
} texts[] = {
	{ "name", offsetof(struct state_record, name), sizeof(((struct state_record *) NULL)->name) },
	{ "workspace", offsetof(struct state_record, workspace), sizeof(((struct state_record *) NULL)->workspace) },
	{ "command", offsetof(struct state_record, command), sizeof(((struct state_record *) NULL)->command) },
};

void state_record_command(char ret[STATE_COMMAND_MAX], const char *const *argv)
{
	size_t len = 0;

	for (size_t i = 0; argv[i] && len < STATE_COMMAND_MAX - 1; i++) {
		if (i > 0)
			ret[len++] = ' ';
		size_t n = strnlen(argv[i], STATE_COMMAND_MAX - 1 - len);
		memcpy(ret + len, argv[i], n);
		len += n;
	}
	ret[len] = '\0';
}

static void write_text(struct buf *out, const char *key, const char *value)
{
	if (!*value)
		return;
	buf_addf(out, "%s=", key);
	for (const char *c = value; *c; c++) {
		if (*c >= ' ' && *c <= '~' && *c != '\\')
			buf_add_char(out, *c);
		else
			buf_addf(out, "\\x%02x", (unsigned int) (unsigned char) *c);
	}
	buf_add_char(out, '\n');
}

void state_record_write(struct buf *out, const struct state_record *record)
{
	buf_addf(out, FIRST_LINE "started=%lld\ninit=%d\n", (long long) record->started, record->init);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		write_text(out, texts[i].key, (const char *) record + texts[i].offset);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Stores the value of a line in @ret, which has @size bytes, without its escapes. */
static int parse_text(const char *value, char *ret, size_t size)
{
	size_t len = 0;

	for (const char *c = value; *c; c++) {
		int byte = (unsigned char) *c;

		if (byte < ' ' || byte > '~')
			return -EBADMSG;
		if (byte == '\\') {
			int high = c[1] == 'x' ? hex_digit(c[2]) : -1;
			int low = high >= 0 ? hex_digit(c[3]) : -1;
			byte = low >= 0 ? high * 16 + low : 0;
			if (byte == 0)
				return -EBADMSG;
			c += sizeof("x00") - 1;
		}
		if (len + 1 >= size)
			return -EBADMSG;
		ret[len++] = (char) byte;
	}
	ret[len] = '\0';
	return 0;
}

static int parse_number(const char *value, uint64_t max, uint64_t *ret)
{
	return str_to_uint(value, 0, max, ret) < 0 ? -EBADMSG : 0;
}

/* A line of an unknown key belongs to a later version and says nothing to us. */
static int parse_line(struct state_record *record, const char *key, const char *value)
{
	uint64_t number;
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (strcmp(key, texts[i].key) == 0)
			return parse_text(value, (char *) record + texts[i].offset, texts[i].size);
	if (strcmp(key, "started") == 0 && (r = parse_number(value, INT64_MAX, &number)) == 0)
		record->started = (int64_t) number;
	else if (strcmp(key, "init") == 0 && (r = parse_number(value, INT32_MAX, &number)) == 0)
		record->init = (pid_t) number;
	return r;
}

int state_record_parse(struct state_record *ret, char *text, size_t len)
{
	const size_t first = sizeof(FIRST_LINE) - 1;

	memset(ret, 0, sizeof(*ret));
	if (len < first || len > STATE_RECORD_MAX || memchr(text, '\0', len) || memcmp(text, FIRST_LINE, first) != 0)
		return -EBADMSG;
	for (char *line = text + first; *line;) {
		char *end = strchr(line, '\n');
		char *value = strchr(line, '=');
		if (!end || !value || value > end)
			return -EBADMSG;
		*end = *value = '\0';
		if (!str_is_name(line, SPEC_NAME_MAX))
			return -EBADMSG;
		int r = parse_line(ret, line, value + 1);
		if (r < 0)
			return r;
		line = end + 1;
	}
	if (ret->name[0] && !str_is_name(ret->name, SPEC_NAME_MAX))
		return -EBADMSG;
	return 0;
}
