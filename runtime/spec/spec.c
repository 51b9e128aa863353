/*
 * Defaults and growth of a sandbox specification: see spec.h. Host side, before anything is created.
 */
#include "runtime/spec/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/str.h"

#define MIB ((uint64_t) 1 << 20)
#define GIB ((uint64_t) 1 << 30)

enum {
	SPEC_DEFAULT_UID = 1000,
	SPEC_DEFAULT_PIDS = 512,
	SPEC_DEFAULT_NOFILE_SOFT = 4096,
	SPEC_DEFAULT_NOFILE_HARD = 65536,
	FOLDER_PART = 4, /* of the memory limit: a folder in memory has a quarter at most */
	SHM_PART = 16,
	SIZE_UNIT = 4096, /* a size of a tmpfs is rounded up to pages: give it whole ones */
};

#define FOLDER_SIZE GIB
#define SHM_SIZE (256 * MIB)

void spec_init(struct spec *spec)
{
	memset(spec, 0, sizeof(*spec));
	spec->workspace = SPEC_WORKSPACE_CWD;
	spec->tmp_size = spec->home_size = spec->workspace_size = FOLDER_SIZE;
	spec->shm_size = SHM_SIZE;
	spec->uid = SPEC_DEFAULT_UID;
	spec->gid = SPEC_DEFAULT_UID;
	spec->hostname = "cloche";
	spec->workdir = SPEC_WORKSPACE;
	spec->memory = 4 * GIB;
	spec->pids = SPEC_DEFAULT_PIDS;
	spec->rlimits[RLIMIT_NOFILE] = (struct spec_rlimit) {
		.set = true, .soft = SPEC_DEFAULT_NOFILE_SOFT, .hard = SPEC_DEFAULT_NOFILE_HARD,
	};
	/* Real-time and raised priority, which a desktop may give its user, would let a command take the machine. */
	spec->rlimits[RLIMIT_RTPRIO].set = spec->rlimits[RLIMIT_NICE].set = true;
}

void spec_done(struct spec *spec)
{
	for (size_t i = 0; i < spec->owned_count; i++)
		free(spec->owned[i]);
	spec->owned_count = 0;
}

const char *spec_limit_name(int resource)
{
	static const char *const names[RLIM_NLIMITS] = {
		[RLIMIT_AS] = "as", [RLIMIT_CORE] = "core", [RLIMIT_CPU] = "cpu", [RLIMIT_DATA] = "data", [RLIMIT_FSIZE] = "fsize",
		[RLIMIT_LOCKS] = "locks", [RLIMIT_MEMLOCK] = "memlock", [RLIMIT_MSGQUEUE] = "msgqueue", [RLIMIT_NICE] = "nice",
		[RLIMIT_NOFILE] = "nofile", [RLIMIT_NPROC] = "nproc", [RLIMIT_RSS] = "rss", [RLIMIT_RTPRIO] = "rtprio",
		[RLIMIT_RTTIME] = "rttime", [RLIMIT_SIGPENDING] = "sigpending", [RLIMIT_STACK] = "stack",
	};

	return resource >= 0 && resource < RLIM_NLIMITS ? names[resource] : NULL;
}

int spec_own(struct spec *spec, char *memory)
{
	if (spec->owned_count >= ARRAY_LEN(spec->owned)) {
		free(memory);
		return -ENOSPC;
	}
	spec->owned[spec->owned_count++] = memory;
	return 0;
}

void spec_settle_mounts(struct spec *spec)
{
	spec->mounts_settled = spec->mount_count;
}

void spec_settle_sizes(struct spec *spec)
{
	const struct {
		enum spec_folder folder;
		uint64_t *size, usual, part;
	} rows[] = {
		{ SPEC_FOLDER_TMP, &spec->tmp_size, FOLDER_SIZE, FOLDER_PART },
		{ SPEC_FOLDER_HOME, &spec->home_size, FOLDER_SIZE, FOLDER_PART },
		{ SPEC_FOLDER_SHM, &spec->shm_size, SHM_SIZE, SHM_PART },
		{ SPEC_FOLDER_WORKSPACE, &spec->workspace_size, FOLDER_SIZE, FOLDER_PART },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (spec->sized & rows[i].folder)
			continue;
		uint64_t part = spec->memory ? spec->memory / rows[i].part / SIZE_UNIT * SIZE_UNIT : rows[i].usual;
		*rows[i].size = MIN(rows[i].usual, part);
	}
}

static void give_way(struct spec *spec, const char *target)
{
	for (size_t i = 0; i < spec->mounts_settled; i++) {
		if (strcmp(spec->mounts[i].target, target) != 0)
			continue;
		spec->mount_count--;
		spec->mounts_settled--;
		memmove(&spec->mounts[i], &spec->mounts[i + 1], (spec->mount_count - i) * sizeof(spec->mounts[0]));
		return;
	}
}

int spec_add_mount(struct spec *spec, const struct spec_mount *mount, struct err *err)
{
	give_way(spec, mount->target);
	if (spec->mount_count >= ARRAY_LEN(spec->mounts))
		return err_set(err, ERR_USAGE, ENOSPC, "too many mounts: at most %d of -v, --mount and --tmpfs together",
			       SPEC_MOUNTS_MAX);
	for (size_t i = 0; i < spec->mount_count; i++)
		if (strcmp(spec->mounts[i].target, mount->target) == 0)
			return err_set(err, ERR_USAGE, EEXIST, "two mounts at '%s': only one is possible", mount->target);
	spec->mounts[spec->mount_count++] = *mount;
	return 0;
}

int spec_add_env(struct spec *spec, const char *assignment, struct err *err)
{
	for (size_t i = 0; i < spec->env_count; i++) {
		if (str_same_variable(spec->env[i], assignment)) {
			spec->env[i] = assignment;
			return 0;
		}
	}
	if (spec->env_count >= ARRAY_LEN(spec->env))
		return err_set(err, ERR_USAGE, ENOSPC, "too many environment variables: at most %d", SPEC_ENV_MAX);
	spec->env[spec->env_count++] = assignment;
	return 0;
}

static bool component_is_dots(const char *start, size_t len)
{
	return (len == 1 && start[0] == '.') || (len == 2 && start[0] == '.' && start[1] == '.');
}

int spec_check_target(const char *what, const char *path, struct err *err)
{
	size_t len = strlen(path);

	if (path[0] != '/')
		return err_set(err, ERR_USAGE, EINVAL, "%s '%s' must be an absolute path inside the sandbox, such as /data", what,
			       path);
	if (len >= SPEC_PATH_MAX)
		return err_set(err, ERR_USAGE, ENAMETOOLONG, "%s is longer than %d bytes", what, SPEC_PATH_MAX - 1);
	for (const char *c = path; *c; c++)
		if ((unsigned char) *c < 0x20 || *c == 0x7f)
			return err_set(err, ERR_USAGE, EINVAL, "%s contains a control character", what);
	for (const char *p = path; *p;) {
		const char *start = p + 1;
		size_t part = strcspn(start, "/");
		if (part == 0 && start[0])
			return err_set(err, ERR_USAGE, EINVAL, "%s '%s' contains a double slash", what, path);
		if (component_is_dots(start, part))
			return err_set(err, ERR_USAGE, EINVAL, "%s '%s' contains a '.' or '..' component: write the plain path", what,
				       path);
		p = start + part;
	}
	return 0;
}
