/*
 * Finding a systemd manager's sockets: see scope_socket.h. Runs in the launcher; looks at names, connects to nothing.
 */
#include "runtime/life/scope_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* Adds @dir/@name when a socket is there that the kernel can connect to, once. */
static void add(struct scope_sockets *sockets, const char *kind, const char *dir, const char *name)
{
	char path[SCOPEMSG_PATH_MAX], word[SCOPE_SOCKET_MAX];
	int n = snprintf(path, sizeof(path), "%s%s", dir, name);

	if (n < 0 || (size_t) n >= sizeof(path) || path[0] != '/' || sockets->count == SCOPEMSG_SOCKETS_MAX || !is_socket(path))
		return;
	(void) snprintf(word, sizeof(word), "%s%s", kind, path);
	for (size_t i = 0; i < sockets->count; i++)
		if (strcmp(sockets->words[i], word) == 0)
			return;
	memcpy(sockets->words[sockets->count++], word, sizeof(word));
}

/*
 * An address of D-Bus can be a list, and name programs to start. Taken is one form only, the one that systems set: unix:path=PATH,
 * with or without the bus's guid behind it, and without escapes.
 */
static void add_session_bus(struct scope_sockets *sockets, const char *address)
{
	static const char begin[] = "unix:path=", guid[] = ",guid=";
	char path[SCOPEMSG_PATH_MAX];

	if (!address || strncmp(address, begin, strlen(begin)) != 0 || strpbrk(address, "%;"))
		return;
	address += strlen(begin);
	size_t len = strcspn(address, ",");
	if (len >= sizeof(path) || (address[len] && (strncmp(address + len, guid, strlen(guid)) != 0 || strchr(address + len + 1, ','))))
		return;
	memcpy(path, address, len);
	path[len] = '\0';
	add(sockets, SCOPEMSG_BUS, path, "");
}

static int explain_none(bool system, const char *dir, struct err *err)
{
	if (system)
		return err_set(err, ERR_UNSUPPORTED, ENOENT,
			       "systemd's system manager has no socket at '/run/dbus/system_bus_socket' or '/run/systemd/private': in a container, "
			       "use --cgroup PATH with a cgroup that is handed to you");
	if (access(dir, F_OK) < 0)
		return err_set(err, ERR_UNSUPPORTED, ENOENT,
			       "no user manager of systemd runs for uid %u ('%s' is missing): log in in a session of your own (a console or ssh, "
			       "not su or sudo), or let one always run: loginctl enable-linger", getuid(), dir);
	return err_set(err, ERR_UNSUPPORTED, ENOENT,
		       "the user manager of systemd cannot be asked ('%s' has neither 'bus' nor 'systemd/private'): see whether it runs, with "
		       "systemctl --user status; its bus is in Debian's package dbus-user-session", dir);
}

int scope_sockets_find(struct scope_sockets *sockets, bool system, struct err *err)
{
	const char *named = getenv("XDG_RUNTIME_DIR");
	char usual[32];

	sockets->count = 0;
	(void) snprintf(usual, sizeof(usual), "/run/user/%u", getuid());
	if (!named || *named != '/')
		named = usual;
	if (system) {
		add(sockets, SCOPEMSG_DIRECT, "/run/systemd", "/private");
		add(sockets, SCOPEMSG_BUS, "/run/dbus", "/system_bus_socket");
	} else {
		add(sockets, SCOPEMSG_DIRECT, named, "/systemd/private");
		add(sockets, SCOPEMSG_DIRECT, usual, "/systemd/private");
		add(sockets, SCOPEMSG_BUS, named, "/bus");
		add(sockets, SCOPEMSG_BUS, usual, "/bus");
		add_session_bus(sockets, getenv("DBUS_SESSION_BUS_ADDRESS"));
	}
	return sockets->count > 0 ? 0 : explain_none(system, named, err);
}
