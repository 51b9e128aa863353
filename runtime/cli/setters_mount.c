/*
 * Options about files: --workspace, --volume, --mount, --tmpfs. See setters.h. Runs in the launcher.
 */
#include "runtime/cli/setters.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/str.h"
#include "runtime/cli/options.h"
#include "runtime/spec/protected.h"

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

int set_workspace_mode(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	static const char *const modes[] = { "rw", "ro", "tmpfs" };
	struct spec *spec = spec_of(target);

	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		if (strcmp(value, modes[i]) != 0)
			continue;
		spec->workspace_read_only = i == 1;
		spec->workspace_in_memory = i == 2;
		return 0;
	}
	return err_set(err, ERR_USAGE, EINVAL, "--workspace-mode '%s' is unknown: use rw, ro (read-only) or tmpfs (empty, in memory)", value);
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

/* What was said about writing. A workspace about which nothing was said stays as it is. */
enum access { ACCESS_UNSAID, ACCESS_READ, ACCESS_WRITE };

static int add_bind(struct spec *spec, const char *source, const char *target, enum access access, struct err *err)
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
		if (access != ACCESS_UNSAID)
			spec->workspace_read_only = access == ACCESS_READ;
		return 0;
	}
	int r = check_target(target, err);
	if (r < 0)
		return r;
	struct spec_mount mount = { .kind = SPEC_BIND, .source = source, .target = target, .read_only = access == ACCESS_READ };
	return spec_add_mount(spec, &mount, err);
}

/* Options behind the second colon of -v. Those that change nothing here are accepted. */
static int volume_options(const char *value, const char *options, enum access *ret, struct err *err)
{
	static const struct {
		const char *name;
		enum access access;
	} known[] = { { "ro", ACCESS_READ }, { "readonly", ACCESS_READ }, { "rw", ACCESS_WRITE }, { "z", ACCESS_UNSAID },
		      { "Z", ACCESS_UNSAID }, { "cached", ACCESS_UNSAID }, { "delegated", ACCESS_UNSAID },
		      { "consistent", ACCESS_UNSAID }, { "rprivate", ACCESS_UNSAID }, { "private", ACCESS_UNSAID } };

	while (*options) {
		size_t len = strcspn(options, ",");
		bool found = false;
		for (size_t i = 0; i < ARRAY_LEN(known) && !found; i++) {
			found = strlen(known[i].name) == len && strncmp(known[i].name, options, len) == 0;
			if (found && known[i].access != ACCESS_UNSAID && *ret != ACCESS_READ)
				*ret = known[i].access;
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
	enum access access = ACCESS_UNSAID;

	if (!colon)
		return err_set(err, ERR_USAGE, EINVAL, "--volume '%s' is not HOST:INSIDE[:ro], as in ./data:/data:ro", value);
	const char *inside = colon + 1;
	size_t inside_len = strcspn(inside, ":");
	if (inside[inside_len] == ':') {
		int r = volume_options(value, inside + inside_len + 1, &access, err);
		if (r < 0)
			return r;
	}
	const char *source = keep(spec, value, (size_t) (colon - value));
	const char *where = keep(spec, inside, inside_len);
	if (!source || !where)
		return err_set(err, ERR_USAGE, ENOSPC, "too many volumes");
	return add_bind(spec, source, where, access, err);
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

/* A tmpfs as it was asked for: @exec tells whether anything was said about programs in it. */
struct asked_tmpfs {
	struct spec_mount mount;
	enum { EXEC_UNSAID, EXEC_YES, EXEC_NO } exec;
};

/* @size of 0: nothing was said of it. */
static void set_size(struct spec *spec, enum spec_folder folder, uint64_t *field, uint64_t size)
{
	if (size == 0)
		return;
	*field = size;
	spec->sized |= folder;
}

/* Folders in memory that exist anyway are changed in what was said about them; others are added. */
static int add_tmpfs(struct spec *spec, const struct asked_tmpfs *asked, struct err *err)
{
	const struct {
		const char *target;
		enum spec_folder folder;
		uint64_t *size;
		bool *no_exec;
	} existing[] = {
		{ "/tmp", SPEC_FOLDER_TMP, &spec->tmp_size, &spec->tmp_no_exec },
		{ SPEC_HOME, SPEC_FOLDER_HOME, &spec->home_size, &spec->home_no_exec },
		{ "/dev/shm", SPEC_FOLDER_SHM, &spec->shm_size, &spec->shm_no_exec },
	};
	const struct spec_mount *mount = &asked->mount;

	for (size_t i = 0; i < ARRAY_LEN(existing); i++) {
		if (strcmp(mount->target, existing[i].target) != 0)
			continue;
		set_size(spec, existing[i].folder, existing[i].size, mount->size);
		if (asked->exec != EXEC_UNSAID)
			*existing[i].no_exec = asked->exec == EXEC_NO;
		return 0;
	}
	if (strcmp(mount->target, SPEC_WORKSPACE) == 0) {
		if (asked->exec == EXEC_NO)
			return err_set(err, ERR_USAGE, EINVAL, "--tmpfs " SPEC_WORKSPACE ": noexec is not supported there");
		spec->workspace_in_memory = true;
		set_size(spec, SPEC_FOLDER_WORKSPACE, &spec->workspace_size, mount->size);
		return 0;
	}
	int r = check_target(mount->target, err);
	if (r < 0)
		return r;
	struct spec_mount sized = *mount;
	sized.no_exec = asked->exec == EXEC_NO;
	if (!sized.size)
		sized.size = SCRATCH_SIZE;
	return spec_add_mount(spec, &sized, err);
}

static int tmpfs_option(const char *value, const char *option, struct asked_tmpfs *asked, struct err *err)
{
	static const char *const always[] = { "rw", "nosuid", "nodev", "relatime", "noatime" };
	struct spec_mount *mount = &asked->mount;

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
	if (strcmp(option, "noexec") == 0 || strcmp(option, "exec") == 0) {
		asked->exec = option[0] == 'n' ? EXEC_NO : EXEC_YES;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		if (strcmp(option, always[i]) == 0)
			return 0;
	return err_set(err, ERR_USAGE, EINVAL, "--tmpfs '%s': unknown option '%s'. Use size=, mode=, noexec, exec", value, option);
}

int set_tmpfs(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	struct spec *spec = spec_of(target);
	struct asked_tmpfs asked = { .mount = { .kind = SPEC_TMPFS, .mode = MODE_SCRATCH } };
	size_t len = strcspn(value, ":");
	const char *where = keep(spec, value, len);

	asked.mount.target = where ? without_final_slash(spec, where) : NULL;
	if (!asked.mount.target)
		return err_set(err, ERR_USAGE, ENOSPC, "too many mounts");
	for (const char *at = value + len + (value[len] == ':'); *at;) {
		char option[32];
		size_t n = strcspn(at, ",");
		if (n >= sizeof(option))
			return err_set(err, ERR_USAGE, EINVAL, "--tmpfs '%s': option too long", value);
		memcpy(option, at, n);
		option[n] = '\0';
		int r = tmpfs_option(value, option, &asked, err);
		if (r < 0)
			return r;
		at += n + (at[n] == ',');
	}
	return add_tmpfs(spec, &asked, err);
}

int set_shm_size(void *target, _unused_ const struct opt *opt, const char *value, struct err *err)
{
	struct spec *spec = spec_of(target);
	uint64_t size;

	if (str_to_size(value, SIZE_MIN, SIZE_LIMIT, &size) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--shm-size '%s' is not a size of 4k or more, as in 256m", value);
	set_size(spec, SPEC_FOLDER_SHM, &spec->shm_size, size);
	return 0;
}

/* What --mount says, key by key. */
struct long_mount {
	const char *type, *source, *target, *size, *mode;
	enum access access;
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
		m->access = name == len || strcmp(content, "true") == 0 || strcmp(content, "1") == 0 ? ACCESS_READ : ACCESS_WRITE;
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
		return add_bind(spec, m.source ? m.source : "", m.target, m.access, err);
	if (strcmp(m.type, "tmpfs") != 0)
		return err_set(err, ERR_USAGE, EINVAL, "--mount '%s': type '%s' is not possible. Use bind or tmpfs", value, m.type);
	if (m.access == ACCESS_READ)
		return err_set(err, ERR_USAGE, EINVAL, "--mount '%s': a tmpfs is always writable. Leave readonly out", value);
	struct asked_tmpfs asked = { .mount = { .kind = SPEC_TMPFS, .target = without_final_slash(spec, m.target), .mode = MODE_SCRATCH } };
	if (!asked.mount.target)
		return err_set(err, ERR_USAGE, ENOSPC, "too many mounts");
	if (m.size && str_to_size(m.size, SIZE_MIN, SIZE_LIMIT, &asked.mount.size) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--mount '%s': '%s' is not a size of 4k or more, as in tmpfs-size=64m", value, m.size);
	if (m.mode && parse_mode(m.mode, &asked.mount.mode) < 0)
		return err_set(err, ERR_USAGE, EINVAL, "--mount '%s': '%s' is not an octal mode", value, m.mode);
	return add_tmpfs(spec, &asked, err);
}

/* The path of an option, kept without its final slash. NULL with @err filled. */
static const char *workspace_path(struct spec *spec, const struct opt *opt, const char *value, struct err *err)
{
	const char *path = protected_parse(opt->name, value, err);

	if (!path)
		return NULL;
	path = without_final_slash(spec, path);
	if (!path)
		(void) err_set(err, ERR_USAGE, ENOSPC, "too many of --%s", opt->name);
	return path;
}

int set_protect(void *target, const struct opt *opt, const char *value, struct err *err)
{
	struct spec *spec = spec_of(target);
	const char *path = workspace_path(spec, opt, value, err);

	if (!path)
		return -EINVAL;
	if (spec->protect_count >= SPEC_PROTECT_MAX)
		return err_set(err, ERR_USAGE, ENOSPC, "too many of --protect: at most %d", SPEC_PROTECT_MAX);
	spec->protect[spec->protect_count++] = path;
	return 0;
}

/* Takes away what earlier options (or a profile) added at or below @path. Whether there was anything. */
static bool forget_protected(struct spec *spec, const char *path)
{
	size_t kept = 0, before = spec->protect_count;

	for (size_t i = 0; i < before; i++)
		if (!protected_is_below(spec->protect[i], path))
			spec->protect[kept++] = spec->protect[i];
	spec->protect_count = kept;
	return kept < before;
}

int set_unprotect(void *target, const struct opt *opt, const char *value, struct err *err)
{
	struct spec *spec = spec_of(target);

	if (strcmp(value, "all") == 0) {
		spec->unprotect_all = true;
		spec->protect_count = 0;
		return 0;
	}
	const char *path = workspace_path(spec, opt, value, err);
	if (!path)
		return -EINVAL;
	bool was_added = forget_protected(spec, path);
	const struct protected_path *row = protected_find(path);
	if (!row && was_added)
		return 0;
	if (!row)
		return err_set(err, ERR_USAGE, ENOENT, "--unprotect '%s': this path is not protected. man cloche lists those that are", value);
	if (!protected_is_below(row->path, path))
		return err_set(err, ERR_USAGE, EINVAL, "--unprotect '%s': '%s' is protected as a whole. Take that", value, row->path);
	if (spec->unprotect_count >= SPEC_PROTECT_MAX)
		return err_set(err, ERR_USAGE, ENOSPC, "too many of --unprotect: at most %d. Or give 'all'", SPEC_PROTECT_MAX);
	spec->unprotect[spec->unprotect_count++] = path;
	return 0;
}
