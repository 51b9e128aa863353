/*
 * Options about files: --workspace, --volume, --mount, --tmpfs. See setters.h. Runs in the launcher.
 */
#include "runtime/cli/setters.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/str.h"
#include "runtime/cli/options.h"

enum { MODE_MAX = 01777, MODE_SCRATCH = 01777 };

#define SCRATCH_SIZE ((uint64_t) 64 << 20)
#define SIZE_MIN ((uint64_t) 4096)
#define SIZE_LIMIT ((uint64_t) 1 << 46)

static struct spec *spec_of(void *target)
{
	return &((struct options *) target)->spec;
}

int set_workspace(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	struct spec *spec = spec_of(target);

	if (!*value)
		return err_set(err, ERR_USAGE, EINVAL, "the workspace is empty: name a folder, or 'none'");
	spec->workspace = strcmp(value, "none") == 0 ? SPEC_WORKSPACE_NONE : SPEC_WORKSPACE_PATH;
	spec->workspace_path = value;
	return 0;
}

int set_allow_home(void *target, _unused_ const struct opt *opt, const char *value, _unused_ struct err *err)
{
	spec_of(target)->allow_home = opt_is_true(value);
	return 0;
}

/* A copy of a part of an argument that lives as long as the specification. NULL when there is no memory. */
static const char *keep(struct spec *spec, const char *text, size_t len)
{
	char *copy = strndup(text, len);

	return copy && spec_own(spec, copy) == 0 ? copy : NULL;
}

/* Targets that belong to cloche: nothing may be put over or below them. */
static int check_target(const char *target, struct err *err)
{
	static const char *const taken[] = { "/proc", "/dev", "/sys" };
	int r = spec_check_target("the target", target, err);

	if (r < 0)
		return r;
	if (strcmp(target, "/") == 0)
		return err_set(err, ERR_USAGE, EINVAL, "the target '/' is not possible: choose a folder, such as /data");
	for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
		size_t len = strlen(taken[i]);
		if (strncmp(target, taken[i], len) == 0 && (!target[len] || target[len] == '/'))
			return err_set(err, ERR_USAGE, EINVAL, "the target '%s' is not possible: %s belongs to the sandbox. Choose "
				       "another, such as /data", target, taken[i]);
	}
	return 0;
}

static const char *without_final_slash(struct spec *spec, const char *path)
{
	size_t len = strlen(path);

	return len > 1 && path[len - 1] == '/' ? keep(spec, path, len - 1) : path;
}

static int add_bind(struct spec *spec, const char *source, const char *target, bool read_only, struct err *err)
{
	target = without_final_slash(spec, target);
	if (!target)
		return err_set(err, ERR_SYSTEM, ENOMEM, "out of memory");
	if (!*source)
		return err_set(err, ERR_USAGE, EINVAL, "a volume needs a host path: named and anonymous volumes do not exist here");
	if (source[0] != '/' && source[0] != '.')
		return err_set(err, ERR_USAGE, EINVAL,
			       "the volume source '%s' is a name: named volumes do not exist here. Write a path, as in ./%s", source, source);
	if (strcmp(target, SPEC_WORKSPACE) == 0) {
		spec->workspace = SPEC_WORKSPACE_PATH;
		spec->workspace_path = source;
		spec->workspace_read_only = read_only;
		return 0;
	}
	int r = check_target(target, err);
	if (r < 0)
		return r;
	struct spec_mount mount = { .kind = SPEC_BIND, .source = source, .target = target, .read_only = read_only };
	return spec_add_mount(spec, &mount, err);
}

/* Options behind the second colon of -v. Those that change nothing here are accepted. */
static int volume_options(const char *value, const char *options, bool *ret_read_only, struct err *err)
{
	static const struct {
		const char *name;
		bool read_only;
	} known[] = { { "ro", true }, { "readonly", true }, { "rw", false }, { "z", false }, { "Z", false },
		      { "cached", false }, { "delegated", false }, { "consistent", false }, { "rprivate", false }, { "private", false } };

	while (*options) {
		size_t len = strcspn(options, ",");
		bool found = false;
		for (size_t i = 0; i < ARRAY_LEN(known) && !found; i++) {
			found = strlen(known[i].name) == len && strncmp(known[i].name, options, len) == 0;
			*ret_read_only |= found && known[i].read_only;
		}
		if (!found)
			return err_set(err, ERR_USAGE, EINVAL, "--volume '%s': unknown option '%.*s'. Use ro or rw", value, (int) len, options);
		options += len + (options[len] == ',');
	}
	return 0;
}

int set_volume(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	struct spec *spec = spec_of(target);
	const char *colon = strchr(value, ':');
	bool read_only = false;

	if (!colon)
		return err_set(err, ERR_USAGE, EINVAL, "--volume '%s' is not HOST:INSIDE[:ro], as in ./data:/data:ro", value);
	const char *inside = colon + 1;
	size_t inside_len = strcspn(inside, ":");
	if (inside[inside_len] == ':') {
		int r = volume_options(value, inside + inside_len + 1, &read_only, err);
		if (r < 0)
			return r;
	}
	const char *source = keep(spec, value, (size_t) (colon - value));
	const char *where = keep(spec, inside, inside_len);
	if (!source || !where)
		return err_set(err, ERR_USAGE, ENOSPC, "too many volumes");
	return add_bind(spec, source, where, read_only, err);
}

static int parse_mode(const char *text, uint32_t *ret)
{
	uint32_t mode = 0;

	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '7')
			return -EINVAL;
		mode = mode * 8 + (uint32_t) (*text - '0');
		if (mode > MODE_MAX)
			return -ERANGE;
	}
	*ret = mode;
	return 0;
}

/* Sizes of the folders that exist anyway; others are added. */
static int add_tmpfs(struct spec *spec, const struct spec_mount *mount, struct err *err)
{
	const struct {
		const char *target;
		uint64_t *size;
	} existing[] = { { "/tmp", &spec->tmp_size }, { SPEC_HOME, &spec->home_size }, { "/dev/shm", &spec->shm_size } };

	for (size_t i = 0; i < ARRAY_LEN(existing); i++) {
		if (strcmp(mount->target, existing[i].target) != 0)
			continue;
		if (mount->size)
			*existing[i].size = mount->size;
		if (!mount->no_exec)
			return 0;
		if (strcmp(mount->target, "/dev/shm") == 0)
			return err_set(err, ERR_USAGE, EINVAL, "--tmpfs /dev/shm: noexec is not supported there");
		/* A second tmpfs on top carries the flag. */
		struct spec_mount over = *mount;
		over.size = *existing[i].size;
		return spec_add_mount(spec, &over, err);
	}
	int r = check_target(mount->target, err);
	if (r < 0)
		return r;
	struct spec_mount sized = *mount;
	if (!sized.size)
		sized.size = SCRATCH_SIZE;
	return spec_add_mount(spec, &sized, err);
}

static int tmpfs_option(const char *value, const char *option, struct spec_mount *mount, struct err *err)
{
	static const char *const always[] = { "rw", "nosuid", "nodev", "exec", "relatime", "noatime" };

	if (strncmp(option, "size=", 5) == 0) {
		if (str_to_size(option + 5, SIZE_MIN, SIZE_LIMIT, &mount->size) < 0)
			return err_set(err, ERR_USAGE, EINVAL, "--tmpfs '%s': '%s' is not a size of 4k or more, as in size=64m", value, option + 5);
		return 0;
	}
	if (strncmp(option, "mode=", 5) == 0) {
		if (parse_mode(option + 5, &mount->mode) < 0)
			return err_set(err, ERR_USAGE, EINVAL, "--tmpfs '%s': '%s' is not an octal mode, as in mode=1777", value,
				       option + 5);
		return 0;
	}
	if (strcmp(option, "noexec") == 0) {
		mount->no_exec = true;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		if (strcmp(option, always[i]) == 0)
			return 0;
	return err_set(err, ERR_USAGE, EINVAL, "--tmpfs '%s': unknown option '%s'. Use size=, mode=, noexec", value, option);
}

int set_tmpfs(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	struct spec *spec = spec_of(target);
	struct spec_mount mount = { .kind = SPEC_TMPFS, .mode = MODE_SCRATCH };
	size_t len = strcspn(value, ":");
	const char *where = keep(spec, value, len);

	mount.target = where ? without_final_slash(spec, where) : NULL;
	if (!mount.target)
		return err_set(err, ERR_USAGE, ENOSPC, "too many mounts");
	for (const char *at = value + len + (value[len] == ':'); *at;) {
		char option[32];
		size_t n = strcspn(at, ",");
		if (n >= sizeof(option))
			return err_set(err, ERR_USAGE, EINVAL, "--tmpfs '%s': option too long", value);
		memcpy(option, at, n);
		option[n] = '\0';
		int r = tmpfs_option(value, option, &mount, err);
		if (r < 0)
			return r;
		at += n + (at[n] == ',');
	}
	return add_tmpfs(spec, &mount, err);
}

int set_shm_size(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	if (str_to_size(value, SIZE_MIN, SIZE_LIMIT, &spec_of(target)->shm_size) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--shm-size '%s' is not a size of 4k or more, as in 256m", value);
	return 0;
}

/* What --mount says, key by key. */
struct long_mount {
	const char *type, *source, *target, *size, *mode;
	bool read_only;
};

static int mount_key(struct spec *spec, const char *value, const char *text, size_t len, struct long_mount *m, struct err *err)
{
	const struct {
		const char *key;
		const char **to;
	} keys[] = {
		{ "type", &m->type },	      { "source", &m->source }, { "src", &m->source },
		{ "target", &m->target },     { "dst", &m->target },	{ "destination", &m->target },
		{ "tmpfs-size", &m->size },   { "tmpfs-mode", &m->mode },
	};
	size_t name = 0;

	while (name < len && text[name] != '=')
		name++;
	const char *content = keep(spec, text + MIN(name + 1, len), len - MIN(name + 1, len));
	if (!content)
		return err_set(err, ERR_USAGE, ENOSPC, "too many mounts");
	if ((name == 8 && strncmp(text, "readonly", 8) == 0) || (name == 2 && strncmp(text, "ro", 2) == 0)) {
		m->read_only = name == len || strcmp(content, "true") == 0 || strcmp(content, "1") == 0;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (strlen(keys[i].key) == name && strncmp(keys[i].key, text, name) == 0 && name < len) {
			*keys[i].to = content;
			return 0;
		}
	}
	return err_set(err, ERR_USAGE, EINVAL,
		       "--mount '%s': '%.*s' is not supported. Known: type, source, target, readonly, tmpfs-size, tmpfs-mode", value,
		       (int) len, text);
}

int set_mount(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	struct spec *spec = spec_of(target);
	struct long_mount m = { 0 };

	for (const char *at = value; *at;) {
		size_t len = strcspn(at, ",");
		int r = mount_key(spec, value, at, len, &m, err);
		if (r < 0)
			return r;
		at += len + (at[len] == ',');
	}
	if (!m.type || !m.target)
		return err_set(err, ERR_USAGE, EINVAL,
			       "--mount '%s' needs a type and a target, as in type=bind,source=./data,target=/data,readonly", value);
	if (strcmp(m.type, "bind") == 0)
		return add_bind(spec, m.source ? m.source : "", m.target, m.read_only, err);
	if (strcmp(m.type, "tmpfs") != 0)
		return err_set(err, ERR_USAGE, EINVAL, "--mount '%s': type '%s' is not possible. Use bind or tmpfs", value, m.type);
	if (m.read_only)
		return err_set(err, ERR_USAGE, EINVAL, "--mount '%s': a tmpfs is always writable. Leave readonly out", value);
	struct spec_mount mount = { .kind = SPEC_TMPFS, .target = without_final_slash(spec, m.target), .mode = MODE_SCRATCH };
	if (!mount.target)
		return err_set(err, ERR_USAGE, ENOSPC, "too many mounts");
	if (m.size && str_to_size(m.size, SIZE_MIN, SIZE_LIMIT, &mount.size) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--mount '%s': '%s' is not a size of 4k or more, as in tmpfs-size=64m", value, m.size);
	if (m.mode && parse_mode(m.mode, &mount.mode) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--mount '%s': '%s' is not an octal mode", value, m.mode);
	return add_tmpfs(spec, &mount, err);
}
