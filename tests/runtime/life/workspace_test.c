/*
 * Which folder may become the workspace: nothing that hands the host or the home over, however it is named and whatever HOME
 * says. In a scratch folder with a home, a project in it, links and a file.
 */
#include "runtime/life/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "tests/harness/unit.h"

enum { NOBODY = 65534, SYSTEM_FOLDERS_LEAST = 12 };

static char scratch[128];

/* "@" at the beginning of @path stands for the scratch folder. */
static const char *in_scratch(const char *path, char text[static SPEC_PATH_MAX])
{
	(void) snprintf(text, SPEC_PATH_MAX, "%s%s", path[0] == '@' ? scratch : "", path + (path[0] == '@'));
	return text;
}

static void make(const char *path, const char *link_to)
{
	char text[SPEC_PATH_MAX], to[SPEC_PATH_MAX];
	int r = link_to ? symlink(in_scratch(link_to, to), in_scratch(path, text)) : mkdir(in_scratch(path, text), 0755);

	ck_assert_msg(r == 0, "%s: %m", text);
}

static void set_up(void)
{
	static const char *const made[][2] = {
		{ "@/home", NULL }, { "@/home/project", NULL }, { "@/home2", NULL }, { "@/ho", NULL }, { "@/else", NULL },
		{ "@/else/locked", NULL }, { "@/to-home", "@/home" }, { "@/to-project", "home/project" }, { "@/to-root", "/" },
		{ "@/to-nothing", "@/missing" }, { "@/to-itself", "to-itself" },
	};
	char text[SPEC_PATH_MAX];

	(void) snprintf(scratch, sizeof(scratch), "/tmp/cloche-workspace-test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(scratch));
	ck_assert_int_eq(chmod(scratch, 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		make(made[i][0], made[i][1]);
	ck_assert_int_eq(chmod(in_scratch("@/else/locked", text), 0300), 0);
	int fd = open(in_scratch("@/file", text), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	(void) fd_close(fd);
}

static void tear_down(void)
{
	static const char *const made[] = { "@/file", "@/to-itself", "@/to-nothing", "@/to-root", "@/to-project", "@/to-home",
					    "@/else/locked", "@/else", "@/ho", "@/home2", "@/home/project", "@/home", "@" };
	char text[SPEC_PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		(void) remove(in_scratch(made[i], text));
}

/* Opens @path as the workspace with HOME=@home (unset when NULL). 0 or -errno; what was opened is what the path says. */
static int try(const char *home, const char *path, bool allow_home, struct err *err)
{
	char canonical[SPEC_PATH_MAX], home_text[SPEC_PATH_MAX], text[SPEC_PATH_MAX];
	struct spec spec;
	struct stat st, there;

	spec_init(&spec);
	spec.workspace = SPEC_WORKSPACE_PATH;
	spec.workspace_path = in_scratch(path, text);
	spec.allow_home = allow_home;
	ck_assert_int_eq(home ? setenv("HOME", in_scratch(home, home_text), 1) : unsetenv("HOME"), 0);
	memset(err, 0, sizeof(*err));
	_cleanup_fd_ int fd = workspace_open(&spec, canonical, &st, err);
	if (fd < 0) {
		ck_assert_uint_gt(strlen(err->text), 10);
		return fd;
	}
	ck_assert_int_eq(canonical[0], '/');
	ck_assert_int_eq(stat(canonical, &there), 0);
	ck_assert(there.st_dev == st.st_dev && there.st_ino == st.st_ino);
	ck_assert_int_eq(fstat(fd, &there), 0);
	ck_assert(there.st_dev == st.st_dev && there.st_ino == st.st_ino);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	return 0;
}

struct place {
	const char *home, *path;
	bool allow_home;
	int result;
	const char *message; /* a part of it */
};

static void check_table(const struct place *places, size_t count)
{
	set_up();
	for (size_t i = 0; i < count; i++) {
		struct err err;
		int r = try(places[i].home, places[i].path, places[i].allow_home, &err);
		ck_assert_msg(r == places[i].result, "HOME=%s, '%s': %d %s", places[i].home, places[i].path, r, err.text);
		ck_assert_msg(r == 0 || (err.code == ERR_USAGE && strstr(err.text, places[i].message)), "'%s': '%s'", places[i].path,
			      err.text);
	}
	tear_down();
}

START_TEST(test_what_it_is)
{
	static const struct place places[] = {
		{ "@/home", "@/else", false, 0, NULL },
		{ "@/home", "@/home/../else//.", false, 0, NULL },
		{ "@/home", "@/missing", false, -ENOENT, "does not exist" },
		{ "@/home", "", false, -ENOENT, "does not exist" },
		{ "@/home", "@/to-nothing", false, -ENOENT, "does not exist" },
		{ "@/home", "@/to-itself", false, -ELOOP, "cannot be opened" },
		{ "@/home", "@/file", false, -ENOTDIR, "is not a directory" },
		{ "@/home", "@/file/x", false, -ENOTDIR, "cannot be opened" },
		{ "@/home", "/dev/null", false, -ENOTDIR, "is not a directory" },
	};

	check_table(places, ARRAY_LEN(places));
}
END_TEST

START_TEST(test_home)
{
	static const struct place places[] = {
		{ "@/home", "@/home", false, -EPERM, "home directory" },
		{ "@/home", "@/home/", false, -EPERM, "home directory" },
		{ "@/home", "@/home/project/..", false, -EPERM, "home directory" },
		{ "@/home", "@/to-home", false, -EPERM, "home directory" },
		{ "@/home", "@", false, -EPERM, "home directory" }, /* contains it */
		{ "@/home", "@/home/project", false, 0, NULL },
		{ "@/home", "@/to-project", false, 0, NULL },
		{ "@/home", "@/home2", false, 0, NULL }, /* begins alike, is another */
		{ "@/home", "@/ho", false, 0, NULL },
		{ "@/home", "@/home", true, 0, NULL },
		{ "@/home", "@", true, 0, NULL },
		{ "@/to-home", "@/home", false, -EPERM, "home directory" },
		{ "@/home/", "@/home", false, -EPERM, "home directory" },
		{ "@//home/./project/..", "@/home", false, -EPERM, "home directory" },
		{ "@/home/project", "@/home", false, -EPERM, "home directory" },
	};

	check_table(places, ARRAY_LEN(places));
}
END_TEST

/* A HOME that says nothing protects nothing, and opens nothing that is refused anyway. */
START_TEST(test_odd_homes)
{
	static char endless[SPEC_PATH_MAX - sizeof(scratch)];
	const char *const homes[] = { NULL, "", "/", "//", "home", "~", ".", "@/missing", "@/file", "@/to-nothing", "@/to-itself",
				      "/../..", endless };

	set_up();
	memset(endless, 'x', sizeof(endless) - 1);
	endless[0] = '/';
	for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
		struct err err;
		ck_assert_msg(try(homes[i], "@/else", false, &err) == 0, "HOME=%s: %s", homes[i], err.text);
		for (int allow_home = 0; allow_home < 2; allow_home++) {
			ck_assert_int_eq(try(homes[i], "/", allow_home, &err), -EPERM);
			ck_assert_int_eq(try(homes[i], "/etc", allow_home, &err), -EPERM);
			ck_assert_int_eq(try(homes[i], "/usr", allow_home, &err), -EPERM);
		}
	}
	tear_down();
}
END_TEST

START_TEST(test_whole_host)
{
	static const struct place places[] = {
		{ "@/home", "/", false, -EPERM, "whole host" },
		{ "@/home", "/", true, -EPERM, "whole host" },
		{ "@/home", "//", true, -EPERM, "whole host" },
		{ "@/home", "/usr/../.", true, -EPERM, "whole host" },
		{ "@/home", "/..", true, -EPERM, "whole host" },
		{ "@/home", "@/to-root", true, -EPERM, "whole host" },
		{ "@/home", "/proc/self/root", true, -EPERM, "whole host" },
		{ "/", "/", true, -EPERM, "whole host" },
	};

	check_table(places, ARRAY_LEN(places));
}
END_TEST

/* Those that this host has. A folder that is a link (as /bin on a merged /usr) is judged by where it leads. */
START_TEST(test_system_folders)
{
	static const char *const folders[] = {
		"/bin", "/boot", "/dev", "/dev/shm", "/etc", "/etc/ssl", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/media",
		"/mnt", "/opt", "/proc", "/proc/self", "/root", "/run", "/sbin", "/srv", "/sys", "/sys/kernel", "/tmp", "/usr",
		"/usr/bin", "/usr/lib", "/usr/lib/gcc", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/sbin", "/var",
		"/var/lib", "/var/tmp", "/proc/self/root/etc",
	};
	size_t refused = 0;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		int r = try("/nonexistent", folders[i], true, &err);
		if (r == -ENOENT)
			continue;
		/* /root is root's home, after /etc/passwd, and was allowed as such. */
		if (r == 0 && geteuid() == 0 && strcmp(folders[i], "/root") == 0)
			continue;
		ck_assert_msg(r == -EPERM || r == -EACCES, "'%s': %d %s", folders[i], r, err.text);
		ck_assert_msg(r == -EACCES || strstr(err.text, "system folder"), "'%s': '%s'", folders[i], err.text);
		refused++;
	}
	ck_assert_uint_ge(refused, SYSTEM_FOLDERS_LEAST);
	/* What lies below may be a project. */
	set_up();
	ck_assert_int_eq(try(NULL, "@/else", false, &err), 0);
	tear_down();
}
END_TEST

START_TEST(test_unreadable)
{
	struct err err;

	set_up();
	/* Root reads everything; somebody else asks for it. */
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(NOBODY), 0);
	int r = try(NULL, "@/else/locked", false, &err);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	tear_down();
	ck_assert_int_eq(r, -EACCES);
	ck_assert_ptr_nonnull(strstr(err.text, "cannot be read"));
}
END_TEST

/* Nothing given: the current folder, which may be gone. */
START_TEST(test_current_folder)
{
	char canonical[SPEC_PATH_MAX], wanted[SPEC_PATH_MAX], *real;
	struct spec spec;
	struct stat st;
	struct err err = { 0 };

	set_up();
	spec_init(&spec);
	ck_assert_int_eq(setenv("HOME", in_scratch("@/home", wanted), 1) | chdir(in_scratch("@/to-project", wanted)), 0);
	_cleanup_fd_ int fd = workspace_open(&spec, canonical, &st, &err);
	ck_assert_msg(fd >= 0, "%s", err.text);
	real = realpath(in_scratch("@/home/project", wanted), NULL);
	ck_assert_str_eq(canonical, real);
	free(real);
	ck_assert_int_eq(chdir(".."), 0);
	ck_assert_int_eq(workspace_open(&spec, canonical, &st, &err), -EPERM);
	ck_assert_int_eq(chdir("project") | rmdir(in_scratch("@/home/project", wanted)), 0);
	ck_assert_int_eq(workspace_open(&spec, canonical, &st, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "was deleted"));
	tear_down();
}
END_TEST

UNIT_MAIN("runtime/life/workspace", test_what_it_is, test_home, test_odd_homes, test_whole_host, test_system_folders,
	  test_unreadable, test_current_folder)
