/*
 * Options about limits: --memory, --cpus, --pids-limit, their siblings for one command, --ulimit, and where limits are held. See
 * setters.h. What must hold between several of them is checked when all are known: limits.h. Runs in the launcher.
 */
#include "runtime/cli/setters.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/str.h"
#include "runtime/cli/options.h"

enum {
	CPUS_MIN_MILLI = 10,
	CPUS_MAX_MILLI = 4096000,
	PIDS_MAX = 4194304,  /* the kernel's PID_MAX_LIMIT */
	SHARES_MIN = 2,      /* as Docker has it: the range of cgroup v1 */
	SHARES_MAX = 262144,
};

#define MEMORY_MIN ((uint64_t) 6 << 20)
#define MEMORY_MAX (UINT64_MAX >> 1)

static struct spec *spec_of(void *target)
{
	return &((struct options *) target)->spec;
}

/* --- sizes and numbers ------------------------------------------------------------------------------------------------- */

static int parse_memory(const struct opt *opt, const char *value, uint64_t *ret, struct err *err)
{
	uint64_t bytes;

	if (str_to_size(value, 0, MEMORY_MAX, &bytes) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--%s '%s' is not a size: write a number with b, k, m or g, as in 512m", opt->name,
			       value);
	if (bytes > 0 && bytes < MEMORY_MIN)
		return err_set(err, ERR_USAGE, ERANGE, "--%s '%s' is too little to run anything: the least is 6m", opt->name, value);
	*ret = bytes;
	return 0;
}

static int parse_cpus(const struct opt *opt, const char *value, uint64_t *ret, struct err *err)
{
	if (str_to_milli(value, CPUS_MIN_MILLI, CPUS_MAX_MILLI, ret) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--%s '%s' is not a number of CPUs from 0.01 to %d, such as 2 or 0.5", opt->name,
			       value, CPUS_MAX_MILLI / 1000);
	return 0;
}

static int parse_pids(const struct opt *opt, const char *value, uint64_t *ret, struct err *err)
{
	uint64_t pids = 0;

	if (strcmp(value, "-1") != 0 && str_to_uint(value, 0, PIDS_MAX, &pids) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--%s '%s' is not a number from 1 to %d, or -1 for no limit", opt->name, value,
			       PIDS_MAX);
	*ret = pids;
	return 0;
}

int set_memory(void *target, const struct opt *opt, const char *value, struct err *err)
{
	return parse_memory(opt, value, &spec_of(target)->memory, err);
}

int set_command_memory(void *target, const struct opt *opt, const char *value, struct err *err)
{
	return parse_memory(opt, value, &spec_of(target)->command.memory, err);
}

int set_memory_swap(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	uint64_t bytes = UINT64_MAX;

	if (strcmp(value, "-1") != 0 && str_to_size(value, 0, MEMORY_MAX, &bytes) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--memory-swap '%s' is not a size: write what memory and swap may be together, as in 6g, or "
			       "-1 for no limit of swap", value);
	spec_of(target)->memory_swap = bytes;
	return 0;
}

int set_cpus(void *target, const struct opt *opt, const char *value, struct err *err)
{
	return parse_cpus(opt, value, &spec_of(target)->cpu_milli, err);
}

int set_command_cpus(void *target, const struct opt *opt, const char *value, struct err *err)
{
	return parse_cpus(opt, value, &spec_of(target)->command.cpu_milli, err);
}

int set_cpu_shares(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	uint64_t shares;

	if (str_to_uint(value, 0, SHARES_MAX, &shares) < 0 || (shares > 0 && shares < SHARES_MIN))
		return err_set(err, ERR_USAGE, EINVAL, "--cpu-shares '%s' is not a number from %d to %d; 1024 is usual, and 0 leaves it at that",
			       value, SHARES_MIN, SHARES_MAX);
	spec_of(target)->cpu_shares = shares;
	return 0;
}

int set_pids(void *target, const struct opt *opt, const char *value, struct err *err)
{
	return parse_pids(opt, value, &spec_of(target)->pids, err);
}

int set_command_pids(void *target, const struct opt *opt, const char *value, struct err *err)
{
	return parse_pids(opt, value, &spec_of(target)->command.pids, err);
}

/* --- where they are held ----------------------------------------------------------------------------------------------- */

static bool is_plain(const char *text)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char) *c < 0x20 || *c == 0x7f)
			return false;
	return true;
}

int set_cgroup(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	static const struct {
		const char *name;
		enum spec_cgroup mode;
	} modes[] = { { "auto", SPEC_CGROUP_AUTO }, { "systemd", SPEC_CGROUP_SYSTEMD }, { "none", SPEC_CGROUP_NONE } };
	struct spec *spec = spec_of(target);

	spec->cgroup_path = NULL;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		if (strcmp(value, modes[i].name) != 0)
			continue;
		spec->cgroup = modes[i].mode;
		return 0;
	}
	if (value[0] != '/' || !is_plain(value) || strlen(value) >= SPEC_PATH_MAX)
		return err_set(err, ERR_USAGE, EINVAL, "--cgroup '%.200s' is not possible: write auto, systemd, none, or the absolute path of a "
			       "control group that is yours, such as /sys/fs/cgroup/mine", value);
	spec->cgroup = SPEC_CGROUP_PATH;
	spec->cgroup_path = value;
	return 0;
}

/* --- resource limits --------------------------------------------------------------------------------------------------- */

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
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		const char *name = spec_limit_name(i);
		if (name && strlen(name) == (size_t) (equals - value) && strncmp(name, value, strlen(name)) == 0)
			return parse_limit(&((struct options *) target)->spec, i, value, equals, err);
	}
	return err_set(err, ERR_USAGE, EINVAL, "--ulimit '%s': unknown limit. See --ulimit in `man cloche` for the names", value);
}
