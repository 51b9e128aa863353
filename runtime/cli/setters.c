/*
 * What each option does with its value: see setters.h. Mounts are in setters_mount.c. Runs in the launcher, before anything is
 * created.
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
	CPUS_MAX_MILLI = 4096000,
	PIDS_MAX = 4194304,  /* the kernel's PID_MAX_LIMIT */
};

#define MEMORY_MIN ((uint64_t) 6 << 20)

int set_help(void *target, _unused_ const struct opt *opt, const char *value, _unused_ struct err *err)
{
	((struct options *) target)->help = opt_is_true(value);
	return 0;
}

int set_json(void *target, _unused_ const struct opt *opt, const char *value, _unused_ struct err *err)
{
	((struct options *) target)->json = opt_is_true(value);
	return 0;
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

int set_memory(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	uint64_t bytes;

	if (str_to_size(value, 0, UINT64_MAX >> 1, &bytes) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--memory '%s' is not a size: write a number with b, k, m or g, as in 512m", value);
	if (bytes > 0 && bytes < MEMORY_MIN)
		return err_set(err, ERR_USAGE, ERANGE, "--memory '%s' is too little to run anything: the least is 6m", value);
	((struct options *) target)->spec.memory = bytes;
	return 0;
}

int set_cpus(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	uint64_t milli;

	if (str_to_milli(value, 10, CPUS_MAX_MILLI, &milli) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--cpus '%s' is not a number of CPUs from 0.01 to %d, such as 2 or 0.5", value,
			       CPUS_MAX_MILLI / 1000);
	((struct options *) target)->spec.cpu_milli = milli;
	return 0;
}

int set_pids(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	uint64_t pids = 0;

	if (strcmp(value, "-1") != 0 && str_to_uint(value, 0, PIDS_MAX, &pids) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--pids-limit '%s' is not a number from 1 to %d, or -1 for no limit", value,
			       PIDS_MAX);
	((struct options *) target)->spec.pids = pids;
	return 0;
}

static const struct {
	const char *name;
	int resource;
} limit_names[] = {
	{ "as", RLIMIT_AS },	     { "core", RLIMIT_CORE },	  { "cpu", RLIMIT_CPU },	   { "data", RLIMIT_DATA },
	{ "fsize", RLIMIT_FSIZE },   { "locks", RLIMIT_LOCKS },	  { "memlock", RLIMIT_MEMLOCK },   { "msgqueue", RLIMIT_MSGQUEUE },
	{ "nice", RLIMIT_NICE },     { "nofile", RLIMIT_NOFILE }, { "nproc", RLIMIT_NPROC },	   { "rss", RLIMIT_RSS },
	{ "rtprio", RLIMIT_RTPRIO }, { "rttime", RLIMIT_RTTIME }, { "sigpending", RLIMIT_SIGPENDING }, { "stack", RLIMIT_STACK },
};

static int limit_value(const char *text, rlim_t *ret)
{
	uint64_t value;

	if (strcmp(text, "-1") == 0 || strcmp(text, "unlimited") == 0) {
		*ret = RLIM_INFINITY;
		return 0;
	}
	int r = str_to_uint(text, 0, RLIM_INFINITY - 1, &value);
	if (r == 0)
		*ret = value;
	return r;
}

/* SOFT[:HARD] */
static int limit_pair(const char *text, struct spec_rlimit *ret)
{
	char soft_text[24]; /* a number of 64 bits has at most 20 digits */
	size_t len = strcspn(text, ":");

	if (len >= sizeof(soft_text))
		return -EINVAL;
	memcpy(soft_text, text, len);
	soft_text[len] = '\0';
	int r = limit_value(soft_text, &ret->soft);
	if (r < 0)
		return r;
	ret->hard = ret->soft;
	return text[len] ? limit_value(text + len + 1, &ret->hard) : 0;
}

static int parse_limit(struct spec *spec, int resource, const char *value, const char *equals, struct err *err)
{
	struct spec_rlimit limit = { .set = true };

	if (limit_pair(equals + 1, &limit) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--ulimit '%s': the limits must be numbers, as in nofile=1024:2048", value);
	if (limit.soft > limit.hard)
		return err_set(err, ERR_USAGE, EINVAL, "--ulimit '%s': the soft limit is above the hard one", value);
	spec->rlimits[resource] = limit;
	return 0;
}

int set_ulimit(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	const char *equals = strchr(value, '=');

	if (!equals)
		return err_set(err, ERR_USAGE, EINVAL, "--ulimit '%s' is not NAME=SOFT[:HARD], as in nofile=1024:2048", value);
	for (size_t i = 0; i < ARRAY_LEN(limit_names); i++) {
		const char *name = limit_names[i].name;
		if (strlen(name) == (size_t) (equals - value) && strncmp(name, value, strlen(name)) == 0)
			return parse_limit(&((struct options *) target)->spec, limit_names[i].resource, value, equals, err);
	}
	return err_set(err, ERR_USAGE, EINVAL, "--ulimit '%s': unknown limit. See --ulimit in `man cloche` for the names", value);
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

int set_security_opt(_unused_ void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	if (strcmp(value, "no-new-privileges") == 0 || strcmp(value, "no-new-privileges:true") == 0 ||
	    strcmp(value, "no-new-privileges=true") == 0)
		return 0;
	if (strncmp(value, "seccomp=", strlen("seccomp=")) == 0)
		return err_set(err, ERR_USAGE, EINVAL,
			       "--security-opt '%s' is not supported yet: the built-in system-call filter is always on", value);
	return err_set(err, ERR_USAGE, EINVAL, "--security-opt '%s' is not possible: only no-new-privileges, which always holds", value);
}

int set_log_level(void *target, _unused_ const struct opt *opt, const char *value, _unused_ struct err *err)
{
	((struct options *) target)->log_level = value;
	return 0;
}

int set_structured_output(void *target, _unused_ const struct opt *opt, const char *value, _unused_ struct err *err)
{
	((struct options *) target)->structured_output = opt_is_true(value);
	return 0;
}
