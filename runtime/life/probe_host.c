/*
 * What the installation and the host's settings give to `cloche doctor`: see prober.h. Runs in the launcher.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/kern/userns.h"
#include "runtime/life/host.h"
#include "runtime/life/idhelper.h"
#include "runtime/life/prober.h"
#include "runtime/life/statedir.h"
#include "runtime/life/userns_diagnose.h"

enum { LABEL_MAX = 256, PROFILES_MAX = 256 * 1024 };

#define APPARMOR_PROFILES "/sys/kernel/security/apparmor/profiles"

void probe_programs(struct prober *p)
{
	static const char *const names[] = { "cloche-init", "cloche-mcp", "cloche-compile" };
	bool all = true;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct host_program program = { .tree_fd = -EBADF };
		struct err err = { .code = ERR_NONE };

		if (host_find_program(&program, names[i], &err) < 0) {
			prober_add(p, REQUIRED, "programs", PROBE_MISSING, "%s", err.text);
			prober_repair(p, "make install");
			all = false;
		}
		free(program.path);
	}
	if (all)
		prober_add(p, REQUIRED, "programs", PROBE_ACTIVE, "cloche-init, cloche-mcp and cloche-compile are where they belong");
}

void probe_state(struct prober *p)
{
	struct err err = { .code = ERR_NONE };
	_cleanup_fd_ int fd = statedir_open(STATEDIR_SANDBOXES, &err);

	if (fd >= 0) {
		prober_add(p, OPTIONAL, "state folder", PROBE_ACTIVE, "`cloche ps`, `cloche kill` and `cloche gc` find sandboxes");
		return;
	}
	prober_add(p, OPTIONAL, "state folder", PROBE_MISSING, "%s", err.text);
	prober_repair(p, "sandboxes work without; only `cloche ps`, `cloche kill` and `cloche gc` do not find them");
}

void probe_subid(struct prober *p)
{
	struct idhelper helper = IDHELPER_NONE;
	struct spec spec = p->spec;
	struct err err = { .code = ERR_NONE };

	bool is_root = userns_is_host_root();
	uid_t uid = is_root ? CLOCHE_SANDBOX_UID : geteuid();
	gid_t gid = is_root ? CLOCHE_SANDBOX_UID : getegid();
	spec.userns = SPEC_USERNS_SUBID;
	int r = idhelper_prepare(&helper, &spec, uid, gid, &err);
	idhelper_done(&helper);
	if (r == 0) {
		prober_add(p, OPTIONAL, "subordinate ids", PROBE_ACTIVE, "newuidmap, newgidmap and a range are there: --userns auto means subid");
		return;
	}
	prober_add(p, OPTIONAL, "subordinate ids", PROBE_MISSING, "only --userns subid needs them, --userns auto means single%s",
		   is_root ? " (looked up for the uid that a workspace of root gets; another's owner may have some)" : "");
	prober_repair(p, "%s", err.text);
}

/* Whether the profile `cloche` is loaded: 1, 0, or -1 when that cannot be seen (only root may). */
static int profile_is_loaded(void)
{
	char *text = malloc(PROFILES_MAX);
	ssize_t n = text ? fd_read_text(AT_FDCWD, APPARMOR_PROFILES, text, PROFILES_MAX) : -ENOMEM;
	int r = n < 0 ? -1 : strncmp(text, "cloche (", strlen("cloche (")) == 0 || strstr(text, "\ncloche (") != NULL;

	free(text);
	return r;
}

void probe_apparmor(struct prober *p)
{
	static const char *const loaded[] = { "the profile cloche is not loaded", "the profile cloche is loaded" };
	char label[LABEL_MAX];

	if (access("/sys/module/apparmor/parameters/enabled", F_OK) < 0 ||
	    fd_read_text(AT_FDCWD, "/proc/self/attr/apparmor/current", label, sizeof(label)) < 0) {
		prober_add(p, OPTIONAL, "AppArmor", PROBE_ACTIVE, "not on this host, so it restricts nothing");
		return;
	}
	int is_loaded = profile_is_loaded();
	const char *profile = is_loaded < 0 ? "whether the profile cloche is loaded, only root can see" : loaded[is_loaded];
	if (strncmp(label, "cloche", strlen("cloche")) == 0)
		prober_add(p, OPTIONAL, "AppArmor", PROBE_ACTIVE, "this program runs under its own profile, '%s'", label);
	else if (!userns_diagnose_apparmor())
		prober_add(p, OPTIONAL, "AppArmor", PROBE_ACTIVE, "label '%s'; it does not restrict user namespaces", label);
	else
		prober_add(p, OPTIONAL, "AppArmor", PROBE_MISSING, "label '%s'; it restricts user namespaces, and %s", label, profile);
	if (p->findings[p->count - 1].status != PROBE_ACTIVE)
		prober_repair(p, USERNS_APPARMOR_REPAIR);
}
