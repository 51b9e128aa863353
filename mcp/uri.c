/*
 * URIs of resources: see uri.h. Runs in cloche-mcp, on any thread, without any capability.
 */
#include "mcp/uri.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/str.h"

/* What may stand for itself in the path of a URI (RFC 3986, pchar), besides letters and digits, and the slash. */
static const char path_marks[] = "-._~!$&'()*+,;=:@/";

/* The byte that the escape at @s stands for, or -EINVAL. */
static int unescape(const char *s)
{
	int high = str_hex_value(s[1]), low = high < 0 ? -1 : str_hex_value(s[2]);
	int byte = high * 16 + low;

	return low < 0 || byte == '\0' || byte == '/' ? -EINVAL : byte;
}

static int decode(const char *s, char *ret, size_t size)
{
	size_t len = 0;

	while (*s) {
		int byte = *s == '%' ? unescape(s) : (unsigned char) *s;
		if (byte < 0 || (*s != '%' && (byte < 0x20 || byte == 0x7F)))
			return -EINVAL;
		s += *s == '%' ? 3 : 1;
		if (len + 1 >= size)
			return -ENAMETOOLONG;
		ret[len++] = (char) byte;
	}
	ret[len] = '\0';
	return 0;
}

/* Whether the decoded absolute @path has a component that could mean another place than it says. */
static bool is_devious(const char *path)
{
	while (*path) {
		size_t len = strcspn(++path, "/");
		bool is_last = path[len] == '\0';

		if ((len == 0 && !is_last) || (len == 1 && path[0] == '.') || (len == 2 && path[0] == '.' && path[1] == '.'))
			return true;
		path += len;
	}
	return false;
}

/* What follows the host, or NULL when that is not ours. */
static const char *skip_host(const char *s)
{
	static const char localhost[] = "localhost";
	size_t len = strcspn(s, "/");

	if (len == 0)
		return s;
	return len == sizeof(localhost) - 1 && strncasecmp(s, localhost, len) == 0 ? s + len : NULL;
}

int uri_to_path(const char *uri, char *ret_path, size_t size)
{
	static const char scheme[] = "file:";

	if (strncasecmp(uri, scheme, sizeof(scheme) - 1) != 0)
		return -EPROTOTYPE;
	if (strnlen(uri, URI_MAX) == URI_MAX)
		return -ENAMETOOLONG;
	const char *path = uri + sizeof(scheme) - 1;
	if (strncmp(path, "//", 2) == 0)
		path = skip_host(path + 2);
	if (!path)
		return -EREMOTE;
	if (*path != '/')
		return -EINVAL;
	int r = decode(path, ret_path, size);
	if (r < 0)
		return r;
	return is_devious(ret_path) ? -EINVAL : 0;
}

void uri_add_path(struct buf *b, const char *path)
{
	for (; *path; path++) {
		unsigned char c = (unsigned char) *path;
		bool is_plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || strchr(path_marks, c);

		if (is_plain)
			buf_add_char(b, (char) c);
		else
			buf_addf(b, "%%%02X", c);
	}
}
