/*
 * Finds what killed supervisors have left in the cgroup hierarchy: cgroup_sweep_all() of cgroup.h. Runs in `cloche gc`, as the invoking
 * user or as root. The walk is bounded in depth and number, and goes only where the kernel shows groups.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/life/cgroup.h"

enum { DEPTH_MAX = 16, GROUPS_MAX = 20000 };

struct walk {
	bool dry_run;
	cgroup_sweep_visitor *visit;
	void *userdata;
	int groups; /* seen by now */
	int depth;
};

static void look_into(struct walk *w, int fd, const char *path);

/* A node is not looked into: what is in it belongs to it. */
static void look_at(struct walk *w, int base_fd, const char *name, const char *base_path)
{
	char path[SPEC_PATH_MAX];

	if (cgroup_join(path, base_path, "/") < 0 || cgroup_join(path, path, name) < 0 || w->groups++ >= GROUPS_MAX)
		return;
	if (cgroup_node_is_name(name)) {
		/* What is others' to remove is theirs to clean up. */
		int r = faccessat(base_fd, ".", W_OK, AT_EACCESS) < 0 ? 0 : cgroup_node_sweep(base_fd, name, w->dry_run);
		if (r != 0)
			w->visit(path, r, w->userdata);
		return;
	}
	_cleanup_fd_ int fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || w->depth >= DEPTH_MAX)
		return;
	w->depth++;
	look_into(w, fd, path);
	w->depth--;
}

static void look_into(struct walk *w, int fd, const char *path)
{
	_cleanup_list_ DIR *list = fd_list(fd);
	const struct dirent *entry;

	while (list && (entry = readdir(list)) != NULL)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			look_at(w, fd, entry->d_name, path);
}

void cgroup_sweep_all(bool dry_run, cgroup_sweep_visitor *visit, void *userdata)
{
	struct cgroup_view view = CGROUP_VIEW_NONE;
	struct walk w = { .dry_run = dry_run, .visit = visit, .userdata = userdata };

	/* Without a usable hierarchy there is none that was used. */
	IGNORE_RESULT(cgroup_view_open(&view, NULL));
	if (view.fd >= 0 && cgroup_is_dir(view.fd))
		look_into(&w, view.fd, view.mount);
	cgroup_view_done(&view);
}
