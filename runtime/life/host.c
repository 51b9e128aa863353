/*
 * What a launch must know about the host: see host.h.
 *
 * Order matters for real root: sources and programs are opened with root's rights, as detached mounts, then root is given up.
 * An ordinary user keeps paths only; the child opens them in its own mount namespace, and checks that they are still the
 * objects that were checked here.
 */
#include "runtime/life/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/base/sysx.h"
#include "runtime/kern/caps_override.h"
#include "runtime/kern/mountapply.h"
#include "runtime/kern/userns.h"
#include "runtime/life/account.h"
#include "runtime/life/gitdir.h"
#include "runtime/life/statedir.h"
#include "runtime/life/workspace.h"

void host_init(struct host *host)
{
	memset(host, 0, sizeof(*host));
	host->init.tree_fd = host->server.tree_fd = host->facts.workspace.tree_fd = host->facts.repository.tree_fd = -EBADF;
	host->facts.ready_fd = -EBADF;
	host->janitor = (struct janitor) JANITOR_NONE;
	host->cgroup = (struct cgroup_host) CGROUP_HOST_NONE;
	for (size_t i = 0; i < ARRAY_LEN(host->facts.mounts); i++)
		host->facts.mounts[i].tree_fd = -EBADF;
}

void host_done(struct host *host)
{
	free(host->init.path);
	free(host->server.path);
	host->init.tree_fd = fd_close(host->init.tree_fd);
	host->server.tree_fd = fd_close(host->server.tree_fd);
	host->facts.workspace.tree_fd = fd_close(host->facts.workspace.tree_fd);
	host->facts.repository.tree_fd = fd_close(host->facts.repository.tree_fd);
	cgroup_done(&host->cgroup);
	janitor_finish(&host->janitor);
	if (host->protect)
		protect_done(host->protect);
	free(host->protect);
	free(host->repository_path);
	for (size_t i = 0; i < ARRAY_LEN(host->facts.mounts); i++) {
		host->facts.mounts[i].tree_fd = fd_close(host->facts.mounts[i].tree_fd);
		free(host->mount_paths[i]);
	}
}

static void look_at_base(struct mountplan_facts *facts)
{
	for (size_t i = 0; i < MOUNTPLAN_BASE_DIRS; i++) {
		struct mountplan_base *base = &facts->base[i];
		char path[16];
		struct stat st;

		(void) snprintf(path, sizeof(path), "/%s", mountplan_base_names[i]);
		base->present = lstat(path, &st) == 0;
		if (!base->present || !S_ISLNK(st.st_mode))
			continue;
		ssize_t n = readlink(path, base->link, sizeof(base->link) - 1);
		/* A link elsewhere than to a plain relative name (such as "usr/bin") is bound instead of copied. */
		if (n > 0 && (size_t) n < sizeof(base->link) - 1) {
			base->link[n] = '\0';
			base->is_link = base->link[0] != '/' && !strstr(base->link, "..");
		}
	}
}

static bool try_program(struct host_program *program, const char *dir, const char *between, const char *name)
{
	_cleanup_buf_ struct buf path = BUF_INIT(SPEC_PATH_MAX);

	buf_addf(&path, "%s%s%s", dir, between, name);
	if (buf_error(&path) || access(path.p, X_OK) < 0)
		return false;
	program->path = buf_take(&path, NULL);
	return program->path != NULL;
}

int host_find_program(struct host_program *program, const char *name, struct err *err)
{
	char self[SPEC_PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = '\0';
		char *slash = strrchr(self, '/');
		if (slash)
			*slash = '\0';
		if (try_program(program, self, "/", name) || try_program(program, self, "/../libexec/cloche/", name))
			return 0;
	}
	if (try_program(program, CLOCHE_LIBEXECDIR, "/", name))
		return 0;
	return err_set(err, ERR_SYSTEM, ENOENT,
		       "the program '%s' that belongs to cloche was not found beside it, in ../libexec/cloche or in "
		       "'" CLOCHE_LIBEXECDIR "': install cloche completely (make install)", name);
}

static int open_source(const char *what, const char *path, struct stat *st, struct err *err)
{
	_cleanup_fd_ int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_USAGE, errno, "%s '%s' cannot be used: %m", what, path);
	if (fstat(fd, st) < 0)
		return err_set(err, ERR_SYSTEM, errno, "%s '%s' cannot be examined: %m", what, path);
	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
		return err_set(err, ERR_USAGE, EINVAL, "%s '%s' is neither a directory nor a regular file: only those can be mounted",
			       what, path);
	return TAKE_FD(fd);
}

static void remember(struct mountplan_source *source, const char *path, const struct stat *st)
{
	source->path = path;
	source->device = st->st_dev;
	source->inode = st->st_ino;
}

/*
 * As real root: a detached mount of @fd for the sandbox. What root owns is shown as the unprivileged identity's, so that
 * files made inside belong to root on the disk; what others own is shown as it is.
 */
static int root_tree(const struct host *host, int fd, const struct stat *st, bool read_only)
{
	uint64_t attrs = mountapply_attrs(read_only);
	struct mount_attr attr = { .attr_set = attrs, .propagation = MS_PRIVATE };

	if (st->st_uid == 0 && host->uid != 0 && !read_only)
		return userns_idmapped_tree(fd, attrs, 0, 0, host->uid, host->gid);
	_cleanup_fd_ int tree =
		sysx_open_tree(fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0)
		return -errno;
	if (sysx_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) < 0)
		return -errno;
	return TAKE_FD(tree);
}

static int take_root_tree(const struct host *host, struct mountplan_source *source, int fd, const struct stat *st,
			  bool read_only, const char *what, struct err *err)
{
	if (!host->launched_by_root)
		return 0;
	int tree = root_tree(host, fd, st, read_only);
	if (tree >= 0) {
		source->tree_fd = tree;
		return 0;
	}
	/* The root of a container may not mount. What others own can still be opened by the child. */
	if (tree == -EPERM && (read_only || st->st_uid != 0))
		return 0;
	if (tree == -EPERM)
		return err_set(err, ERR_UNSUPPORTED, EPERM,
			       "%s '%s' belongs to root, and this root (of a container?) may not show it to an unprivileged id "
			       "(CAP_SYS_ADMIN is missing): run cloche as an ordinary user, or give the directory to one (chown)",
			       what, source->path);
	if (tree == -EINVAL)
		return err_set(err, ERR_UNSUPPORTED, EINVAL,
			       "%s '%s' belongs to root, and its file system cannot show it to an unprivileged id (no id-mapped "
			       "mounts): run cloche as an ordinary user, or give the directory to one (chown)",
			       what, source->path);
	return err_set(err, ERR_SYSTEM, -tree, "%s '%s' cannot be prepared for an unprivileged id: %m", what, source->path);
}

/* The identity that replaces real root: the workspace owner's, else the configured one. */
static void choose_identity(struct host *host, const struct stat *workspace)
{
	host->uid = geteuid();
	host->gid = getegid();
	host->launched_by_root = userns_is_host_root();
	if (!host->launched_by_root)
		return;
	if (workspace && workspace->st_uid != 0) {
		struct account owner;
		host->uid = workspace->st_uid;
		host->gid = workspace->st_gid;
		if (host->gid == 0)
			host->gid = account_find(host->uid, &owner) && owner.gid ? owner.gid : CLOCHE_SANDBOX_UID;
	} else {
		host->uid = CLOCHE_SANDBOX_UID;
		host->gid = CLOCHE_SANDBOX_UID;
	}
}

static int prepare_mounts(struct host *host, const struct spec *spec, struct err *err)
{
	for (size_t i = 0; i < spec->mount_count; i++) {
		const struct spec_mount *m = &spec->mounts[i];
		struct mountplan_source *source = &host->facts.mounts[i];
		struct stat st;

		if (m->kind != SPEC_BIND)
			continue;
		_cleanup_fd_ int fd = open_source("the source of the mount", m->source, &st, err);
		if (fd < 0)
			return fd;
		char path[SPEC_PATH_MAX];
		int r = workspace_path_of(fd, path);
		host->mount_paths[i] = r < 0 ? NULL : strdup(path);
		if (!host->mount_paths[i])
			return err_set(err, ERR_USAGE, r < 0 ? -r : ENOMEM, "the source '%s' of a mount has no usable path: %m",
				       m->source);
		if (strcmp(path, "/") == 0)
			return err_set(err, ERR_USAGE, EPERM, "refusing '/' as the source of a mount: it is the whole host. Name what is needed");
		remember(source, host->mount_paths[i], &st);
		r = take_root_tree(host, source, fd, &st, m->read_only, "the source of the mount", err);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * A mount that belongs at a name directly in a read-only workspace which does not have that name: see MOUNT_ENTRIES. (In a
 * writable one cloche creates nothing either, and says so.)
 */
static bool lacks_target(const struct spec *spec, int workspace_fd)
{
	for (size_t i = 0; i < spec->mount_count && spec->workspace_read_only; i++) {
		const char *target = spec->mounts[i].target;
		const char *name = target + sizeof(SPEC_WORKSPACE "/") - 1;
		struct stat st;

		if (strncmp(target, SPEC_WORKSPACE "/", sizeof(SPEC_WORKSPACE "/") - 1) == 0 && !strchr(name, '/') &&
		    fstatat(workspace_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
			return true;
	}
	return false;
}

static int out_of_memory(struct err *err)
{
	return err_set(err, ERR_SYSTEM, ENOMEM, "out of memory");
}

/* The repository of a workspace whose .git is a file: to be shown, when it proves that this is its working tree, and protected. */
static int prepare_repository(struct host *host, int workspace_fd, const struct stat *workspace, struct err *err)
{
	struct gitdir git;
	struct stat st;

	gitdir_find(workspace_fd, host->workspace_path, workspace->st_uid, &git);
	if (git.kind == GITDIR_UNPROVEN)
		protect_warn(host->protect, "git will find no repository inside: that of this workspace, '%s', is not shown: %s", git.host, git.why);
	if (git.kind == GITDIR_NONE || git.kind == GITDIR_UNPROVEN)
		return 0;
	_cleanup_fd_ int fd = git.fd;
	host->repository_path = strdup(git.host);
	if (!host->repository_path)
		return out_of_memory(err);
	if (fstat(fd, &st) < 0)
		return err_set(err, ERR_SYSTEM, errno, "the repository '%s' cannot be examined: %m", git.host);
	if (git.kind == GITDIR_LINKED) {
		remember(&host->facts.repository, host->repository_path, &st);
		host->facts.shows_repository = true;
		int r = take_root_tree(host, &host->facts.repository, fd, &st, false, "the repository", err);
		if (r < 0)
			return r;
	}
	return protect_repository(host->protect, TAKE_FD(fd), host->repository_path, err);
}

/* What stays read-only in the workspace, and what must be there for that. */
static int prepare_protection(struct host *host, const struct spec *spec, int fd, const struct stat *st, bool for_real, struct err *err)
{
	struct janitor_identity identity = { .change = host->launched_by_root, .uid = st->st_uid, .gid = st->st_gid };

	host->protect = calloc(1, sizeof(*host->protect));
	if (!host->protect)
		return out_of_memory(err);
	protect_init(host->protect, spec);
	int r = protect_workspace(host->protect, fd, host->workspace_path, err);
	if (r < 0 || (r = prepare_repository(host, fd, st, err)) < 0)
		return r;
	/* Working trees name their repository, and it names them, by their paths on the host. */
	host->facts.links_workspace = protect_has_worktrees(host->protect) && workspace_may_be_shown(host->workspace_path);
	host->facts.protected_count = protect_list(host->protect, host->facts.protected);
	if (!for_real)
		return 0;
	if (host->launched_by_root && st->st_uid != 0)
		statedir_make_for(st->st_uid, st->st_gid);
	return janitor_prepare(&host->janitor, host->protect, &host->facts, &identity, err);
}

static int prepare_workspace(struct host *host, const struct spec *spec, bool for_real, struct err *err)
{
	struct stat st;

	if (spec->workspace == SPEC_WORKSPACE_NONE) {
		choose_identity(host, NULL);
		return 0;
	}
	_cleanup_fd_ int fd = workspace_open(spec, host->workspace_path, &st, err);
	if (fd < 0)
		return fd;
	choose_identity(host, &st);
	remember(&host->facts.workspace, host->workspace_path, &st);
	host->facts.workspace_lacks_target = lacks_target(spec, fd);
	int r = take_root_tree(host, &host->facts.workspace, fd, &st, spec->workspace_read_only, "the workspace", err);
	return r < 0 || spec->workspace_read_only ? r : prepare_protection(host, spec, fd, &st, for_real, err);
}

static int open_programs_as_root(struct host *host, struct err *err)
{
	struct host_program *programs[] = { &host->init, &host->server };

	for (size_t i = 0; i < ARRAY_LEN(programs) && programs[i]->path; i++) {
		int tree = mountapply_program(programs[i]->path);
		if (tree == -EPERM)
			continue; /* the root of a container: the child opens it by its path */
		programs[i]->tree_fd = tree;
		if (tree < 0)
			return err_set(err, ERR_SYSTEM, -tree, "'%s' cannot be opened for the sandbox: %m",
				       programs[i]->path);
	}
	return 0;
}

/* cloche's own records and kept filters must not lie where the agent writes. */
static int check_state_outside(const struct host *host, const struct spec *spec, struct err *err)
{
	const char *named = getenv("XDG_RUNTIME_DIR");
	char state[PATH_MAX];

	if (!named || named[0] != '/' || !realpath(named, state))
		return 0;
	bool within = spec->workspace != SPEC_WORKSPACE_NONE && protected_is_below(state, host->workspace_path);
	for (size_t i = 0; i < spec->mount_count && !within; i++)
		within = host->mount_paths[i] && !spec->mounts[i].read_only && protected_is_below(state, host->mount_paths[i]);
	if (!within)
		return 0;
	return err_set(err, ERR_USAGE, EPERM,
		       "XDG_RUNTIME_DIR='%s' lies in a folder that the sandbox may write to: cloche's own records would be the agent's. "
		       "Unset it, or name another folder", named);
}

/* A cgroup for the sandbox. What root makes here, only the janitor can remove again. */
static int prepare_cgroup(struct host *host, const struct spec *spec, bool for_real, struct err *err)
{
	const struct cgroup_owner owner = { .change = host->launched_by_root, .uid = host->uid, .gid = host->gid };
	const struct janitor_identity identity = { .change = true, .uid = host->uid, .gid = host->gid };
	struct cgroup_node *node = &host->cgroup.node;
	int r = cgroup_prepare(&host->cgroup, spec, &owner, for_real, err);

	if (r < 0 || !for_real || !host->launched_by_root)
		return r;
	bool is_ours = cgroup_clone_into(&host->cgroup) >= 0 && !node->is_kept;
	if (is_ours)
		r = janitor_keep_cgroup(&host->janitor, node->base_fd, node->name, &identity, err);
	if (r == 0) /* later the rights for it are gone */
		r = janitor_begin(&host->janitor, err);
	node->is_kept = node->is_kept || (r == 0 && is_ours);
	return r;
}

/* Real root becomes the sandbox's identity. With a cgroup, what it takes to clone into that is held back until then. */
static int give_up_root(const struct host *host, struct err *err)
{
	bool keeps = cgroup_clone_into(&host->cgroup) >= 0;
	int r = keeps ? caps_override_begin() : 0;

	if (r == 0)
		r = userns_become(host->uid, host->gid);
	if (r == 0 && keeps)
		r = caps_override_reserve();
	if (r == 0)
		return 0;
	return err_set(err, ERR_SYSTEM, -r,
		       "the machine's root, which you are here, cannot become the unprivileged id %u: %m. Run cloche as an ordinary "
		       "user, or in a user namespace of one", host->uid);
}

int host_prepare(struct host *host, const struct spec *spec, bool with_server, bool for_real, struct err *err)
{
	int r;

	look_at_base(&host->facts);
	if ((r = host_find_program(&host->init, "cloche-init", err)) < 0 ||
	    (with_server && (r = host_find_program(&host->server, "cloche-mcp", err)) < 0) ||
	    (r = prepare_workspace(host, spec, for_real, err)) < 0 ||
	    (r = prepare_mounts(host, spec, err)) < 0 ||
	    (r = check_state_outside(host, spec, err)) < 0 ||
	    (r = prepare_cgroup(host, spec, for_real, err)) < 0)
		return r;
	if (!host->launched_by_root)
		return 0;
	r = open_programs_as_root(host, err);
	if (r < 0)
		return r;
	if (for_real)
		statedir_make_for(host->uid, host->gid);
	return give_up_root(host, err);
}
