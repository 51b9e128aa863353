/*
 * Lines for people on standard error: see log.h. Runs in cloche-mcp, without any capability.
 */
#include "mcp/log.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/str.h"

enum { LOG_LINE_MAX = PIPE_BUF }; /* a line of this length is written to a pipe in one piece or not at all */

static const char *const names[] = {
	[MCP_LOG_DEBUG] = "debug",       [MCP_LOG_INFO] = "info",         [MCP_LOG_NOTICE] = "notice",
	[MCP_LOG_WARNING] = "warning",   [MCP_LOG_ERROR] = "error",       [MCP_LOG_CRITICAL] = "critical",
	[MCP_LOG_ALERT] = "alert",       [MCP_LOG_EMERGENCY] = "emergency",
};

static enum mcp_log_level threshold = MCP_LOG_ERROR;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* between poll(2) and write(2) */

void log_init(enum mcp_log_level level)
{
	threshold = level;
}

static bool is_wanted(enum mcp_log_level level)
{
	return level >= threshold;
}

const char *log_level_name(enum mcp_log_level level)
{
	return names[level];
}

int log_level_from_name(const char *name, enum mcp_log_level *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcasecmp(name, names[i]) != 0)
			continue;
		*ret = (enum mcp_log_level) i;
		return 0;
	}
	return -EINVAL;
}

/* Copies @text with control characters as \xNN, as far as it fits. Returns the new length. */
static size_t add_escaped(char *line, size_t len, size_t cap, const char *text)
{
	for (; *text && len + STR_SHOWN_BYTE_MAX <= cap; text++)
		len += str_show_byte(line + len, *text);
	return len;
}

static void write_or_drop(const char *line, size_t len)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	(void) pthread_mutex_lock(&lock);
	if (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT)) {
		ssize_t n = write(STDERR_FILENO, line, len);
		(void) n; /* what cannot be logged is lost */
	}
	(void) pthread_mutex_unlock(&lock);
}

void log_line(enum mcp_log_level level, const char *fmt, ...)
{
	char text[LOG_LINE_MAX - 256], line[LOG_LINE_MAX];
	struct timespec now;
	struct tm tm;
	va_list ap;

	if (!is_wanted(level))
		return;
	va_start(ap, fmt);
	(void) vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void) clock_gettime(CLOCK_REALTIME, &now);
	(void) gmtime_r(&now.tv_sec, &tm);
	size_t len = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%SZ [", &tm);
	for (const char *p = names[level]; *p; p++)
		line[len++] = (char) toupper((unsigned char) *p);
	len = add_escaped(line, len, sizeof(line) - 1, "] cloche: ");
	len = add_escaped(line, len, sizeof(line) - 1, text);
	line[len++] = '\n';
	write_or_drop(line, len);
}

void log_add_quoted(struct buf *line, const char *text, size_t len, size_t max)
{
	buf_add_char(line, '\'');
	for (size_t i = 0; i < MIN(len, max); i++) {
		char shown[STR_SHOWN_BYTE_MAX];
		size_t shown_len = str_show_byte(shown, text[i]);
		if (text[i] == '\n')
			buf_add_str(line, "\\n");
		else if (text[i] == '\'' || text[i] == '\\')
			buf_addf(line, "\\%c", text[i]);
		else
			buf_add(line, shown, shown_len);
	}
	buf_add_char(line, '\'');
	if (len > max)
		buf_addf(line, "... (%zu chars total)", len);
}
