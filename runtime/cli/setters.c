/*
 * What each option does with its value: see setters.h. Mounts are in setters_mount.c, limits in setters_limits.c. Runs in the launcher,
 * before anything is created.
 */
#include "runtime/cli/setters.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/base/str.h"
#include "runtime/cli/options.h"

enum {
	ENV_FILE_MAX = 64 * 1024,
	ID_MAX = 65533,      /* 65534 is nobody; larger ones have no name anywhere */
};

int set_help(void *target, _unused_ const struct opt *opt, const char *value, _unused_ struct err *err)
{
	((struct options *) target)->help = opt_is_true(value);
	return 0;
}

int set_switch(void *target, const struct opt *opt, const char *value, _unused_ struct err *err)
{
	const size_t *offset = opt->data;
	bool *field = (bool *) ((char *) target + *offset);

	*field = opt_is_true(value);
	return 0;
}

/* What a profile says comes before all other options, wherever it is named: layers.c has looked for it already. */
int set_profile(_unused_ void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	return *value ? 0 : err_set(err, ERR_USAGE, EINVAL, "the profile is empty: name one, or leave --profile out. See: cloche profile ls");
}

int set_kill_signal(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	static const struct {
		const char *name;
		bool by_force;
	} signals[] = { { "TERM", false }, { "SIGTERM", false }, { "15", false }, { "KILL", true }, { "SIGKILL", true }, { "9", true } };

	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		if (strcmp(value, signals[i].name) == 0) {
			((struct options *) target)->by_force = signals[i].by_force;
			return 0;
		}
	}
	return err_set(err, ERR_USAGE, EINVAL, "--signal '%s': only TERM and KILL end a sandbox. For others send a signal to the PID of "
		       "`cloche ps`", value);
}

int set_always_true(_unused_ void *target, const struct opt *opt, const char *value, struct err *err)
{
	if (opt_is_true(value))
		return 0;
	return err_set(err, ERR_USAGE, EINVAL, "'--%s=false' is not possible: it always holds", opt->name);
}

int set_refused(_unused_ void *target, const struct opt *opt, const char *value, struct err *err)
{
	if (value && strcmp(value, "false") == 0 && !opt->arg)
		return 0;
	return err_set(err, ERR_USAGE, EINVAL, "option '--%s' %s", opt->name, (const char *) opt->data);
}

int set_workdir(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	int r = spec_check_target("the working directory", value, err);

	if (r == 0)
		((struct options *) target)->spec.workdir = value;
	return r;
}

static bool is_variable_name(const char *s, size_t len)
{
	if (len == 0 || isdigit((unsigned char) s[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!str_is_alnum(s[i]) && s[i] != '_')
			return false;
	return true;
}

/* Sets "NAME=VALUE", or passes on our own variable NAME (not at all when we have none, as Docker does). */
static int add_env(struct spec *spec, const char *text, struct err *err)
{
	size_t name = strcspn(text, "=");

	if (!is_variable_name(text, name))
		return err_set(err, ERR_USAGE, EINVAL, "'%s' is not an environment variable: write NAME=VALUE or NAME", text);
	if (text[name] == '=')
		return spec_add_env(spec, text, err);
	const char *value = getenv(text);
	if (!value)
		return 0;
	struct buf b = BUF_INIT(ENV_FILE_MAX);
	buf_addf(&b, "%s=%s", text, value);
	char *assignment = buf_take(&b, NULL);
	buf_done(&b);
	if (!assignment || spec_own(spec, assignment) < 0)
		return err_set(err, ERR_USAGE, E2BIG, "the variable '%s' is too long, or there are too many", text);
	return spec_add_env(spec, assignment, err);
}

int set_env(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	return add_env(&((struct options *) target)->spec, value, err);
}

int set_env_file(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	struct spec *spec = &((struct options *) target)->spec;
	char *text = malloc(ENV_FILE_MAX);

	if (!text || spec_own(spec, text) < 0)
		return err_set(err, ERR_SYSTEM, ENOMEM, "out of memory for --env-file '%s'", value);
	ssize_t n = fd_read_text(AT_FDCWD, value, text, ENV_FILE_MAX);
	if (n == -E2BIG)
		return err_set(err, ERR_USAGE, E2BIG, "the file '%s' of --env-file is larger than %d bytes", value, ENV_FILE_MAX - 1);
	if (n < 0)
		return err_set(err, ERR_USAGE, (int) -n, "the file '%s' of --env-file cannot be read: %m", value);
	if (memchr(text, '\0', (size_t) n))
		return err_set(err, ERR_USAGE, EINVAL, "the file '%s' of --env-file contains a NUL byte", value);
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line += strspn(line, " \t");
		size_t len = strlen(line);
		if (len > 0 && line[len - 1] == '\r')
			line[len - 1] = '\0';
		if (!*line || *line == '#')
			continue;
		int r = add_env(spec, line, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int set_user(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	struct spec *spec = &((struct options *) target)->spec;
	char uid_text[16];
	size_t len = strcspn(value, ":");
	uint64_t uid, gid;

	if (len >= sizeof(uid_text))
		return err_set(err, ERR_USAGE, EINVAL, "--user '%s': write UID or UID:GID in digits", value);
	memcpy(uid_text, value, len);
	uid_text[len] = '\0';
	if (str_to_uint(uid_text, 0, ID_MAX, &uid) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--user '%s': the user id must be a number from 1 to %d, without sign or name",
			       value, ID_MAX);
	gid = uid;
	if (value[len] == ':' && str_to_uint(value + len + 1, 0, ID_MAX, &gid) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--user '%s': the group id must be a number from 1 to %d, without sign or name",
			       value, ID_MAX);
	if (uid == 0 || gid == 0)
		return err_set(err, ERR_USAGE, EPERM, "--user '%s': nothing runs as root inside. Leave --user out, or choose ids from 1 to %d", value, ID_MAX);
	spec->uid = (uid_t) uid;
	spec->gid = (gid_t) gid;
	return 0;
}

int set_userns(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	static const char *const modes[] = {
		[SPEC_USERNS_SINGLE] = "single", [SPEC_USERNS_SUBID] = "subid", [SPEC_USERNS_AUTO] = "auto",
	};

	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		if (strcmp(value, modes[i]) == 0) {
			((struct options *) target)->spec.userns = (enum spec_userns) i;
			return 0;
		}
	}
	if (strcmp(value, "host") == 0)
		return err_set(err, ERR_USAGE, EINVAL,
			       "--userns 'host' is not possible: the sandbox always has its own user namespace. Use single, subid or auto");
	return err_set(err, ERR_USAGE, EINVAL, "--userns '%s' is not a mode: use single, subid or auto", value);
}

/* What --allow-weaker may name. */
static const struct {
	const char *name;
	enum spec_weaker layer;
} weaker_names[] = { { "proc", SPEC_WEAKER_PROC }, { "root", SPEC_WEAKER_ROOT }, { "hostname", SPEC_WEAKER_HOSTNAME } };

/* The bit of the layer named by the @len bytes at @name, or 0. */
static unsigned int weaker_layer(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(weaker_names); i++)
		if (strlen(weaker_names[i].name) == len && strncmp(name, weaker_names[i].name, len) == 0)
			return weaker_names[i].layer;
	return 0;
}

int set_allow_weaker(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	unsigned int layers = 0;

	for (const char *name = value;; name++) {
		size_t len = strcspn(name, ",");
		unsigned int layer = weaker_layer(name, len);
		if (!layer)
			return err_set(err, ERR_USAGE, EINVAL,
				       "--allow-weaker '%s': only the layers proc, root and hostname can be weaker; all others are required", value);
		layers |= layer;
		name += len;
		if (!*name)
			break;
	}
	((struct options *) target)->spec.allow_weaker |= layers;
	return 0;
}

int set_hostname(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	if (!str_is_name(value, SPEC_NAME_MAX) || strchr(value, '_'))
		return err_set(err, ERR_USAGE, EINVAL, "--hostname '%s': use 1 to %d letters, digits, '-' and '.'", value, SPEC_NAME_MAX);
	((struct options *) target)->spec.hostname = value;
	return 0;
}

int set_name(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	if (!str_is_name(value, SPEC_NAME_MAX))
		return err_set(err, ERR_USAGE, EINVAL, "--name '%s': use 1 to %d letters, digits, '_', '-' and '.'", value,
			       SPEC_NAME_MAX);
	((struct options *) target)->spec.name = value;
	return 0;
}

int set_network(_unused_ void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	if (strcmp(value, "none") == 0)
		return 0;
	return err_set(err, ERR_USAGE, EINVAL,
		       "--network '%s' is not possible: a sandbox has no network but its own loopback. Use --network none, or leave it out",
		       value);
}

int set_cap_drop(_unused_ void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	if (strcasecmp(value, "all") == 0 || str_is_name(value, SPEC_NAME_MAX))
		return 0;
	return err_set(err, ERR_USAGE, EINVAL, "--cap-drop '%s' is not the name of a capability", value);
}

/* The system-call filter: a word that names a built-in one, or a file. */
static int set_filter(struct spec *spec, const char *value, struct err *err)
{
	if (strcmp(value, "unconfined") == 0)
		return err_set(err, ERR_USAGE, EPERM,
			       "--security-opt seccomp=unconfined is not possible: a command without a filter could use all of the "
			       "kernel. Give a filter of your own (seccomp=FILE), or --allow-debug for debuggers");
	if (value[0] == '\0')
		return err_set(err, ERR_USAGE, EINVAL, "--security-opt seccomp= needs a word or a file: default, debug, or FILE");
	bool is_debug = strcmp(value, "debug") == 0;
	bool is_built_in = is_debug || strcmp(value, "default") == 0 || strcmp(value, "builtin") == 0;
	/* What comes later goes before a profile's; a file says nothing of debuggers. */
	if (is_built_in)
		spec->allow_debug = is_debug;
	spec->filter_path = is_built_in ? NULL : value;
	return 0;
}

int set_security_opt(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	static const char seccomp[] = "seccomp";
	size_t len = sizeof(seccomp) - 1;

	if (strcmp(value, "no-new-privileges") == 0 || strcmp(value, "no-new-privileges:true") == 0 ||
	    strcmp(value, "no-new-privileges=true") == 0)
		return 0;
	if (strncmp(value, seccomp, len) == 0 && (value[len] == '=' || value[len] == ':'))
		return set_filter(&((struct options *) target)->spec, value + len + 1, err);
	return err_set(err, ERR_USAGE, EINVAL,
		       "--security-opt '%s' is not possible: only seccomp=FILE, and no-new-privileges, which always holds", value);
}

int set_client(void *target, _unused_ const struct opt *opt, const char *value, _unused_ struct err *err)
{
	((struct options *) target)->client = value;
	return 0;
}

int set_client_file(void *target, _unused_ const struct opt *opt, const char *value, _unused_ struct err *err)
{
	((struct options *) target)->client_file = value;
	return 0;
}

int set_log_level(void *target, _unused_ const struct opt *opt, const char *value, _unused_ struct err *err)
{
	((struct options *) target)->log_level = value;
	return 0;
}

int set_max_answer_chars(void *target, const struct opt *opt, const char *value, struct err *err)
{
	uint64_t number;

	if (str_to_uint(value, SPEC_ANSWER_CHARS_MIN, SPEC_ANSWER_CHARS_MAX, &number) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--%s '%s' is not a number from %d to %d", opt->name, value, SPEC_ANSWER_CHARS_MIN,
			       SPEC_ANSWER_CHARS_MAX);
	((struct options *) target)->max_answer_chars = value;
	return 0;
}
