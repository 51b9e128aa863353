/*
 * The options of the command line. The table of options itself: names, help, reasons of refusals. Then, for every option, values
 * that are taken and values that are not (an option without a row here fails), what they set, and random values.
 */
#include "runtime/cli/setters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/cli/command.h"
#include "runtime/cli/options.h"
#include "tests/harness/seeded.h"
#include "tests/harness/unit.h"

enum {
	WORDS_MAX = 80,
	LINE_SIZE = 4096,
	VALUES_MAX = 24,
	HELP_COLUMNS_MAX = 70,
	REASON_LEAST = 15,
	ENV_FILE_LIMIT = 64 * 1024,
	ROUNDS = 2000,
};

static const enum cli_group groups[] = { GROUP_RUN, GROUP_MCP, GROUP_DOCTOR, GROUP_PS, GROUP_KILL, GROUP_GC,
					  GROUP_EXPLAIN, GROUP_PROFILES, GROUP_IN_PROFILE };

#define FOR_EACH_OPTION(o) for (const struct opt *o = options_table; (o)->name; (o)++)

static struct options options;
static struct err err;

/* Parses @line, words separated by blanks, into the static options. 0 or -errno; there are no operands. */
static int parse(enum cli_group group, const char *line)
{
	static char words[LINE_SIZE];
	char *argv[WORDS_MAX];
	int argc = 0;

	options_done(&options);
	options_init(&options);
	memset(&err, 0, sizeof(err));
	ck_assert_uint_lt(strlen(line), sizeof(words));
	memcpy(words, line, strlen(line) + 1);
	for (char *p = words, *next; p; p = next, argc++) {
		ck_assert_int_lt(argc, WORDS_MAX);
		next = strchr(p, ' ');
		if (next)
			*next++ = '\0';
		argv[argc] = p;
	}
	return opt_parse(options_table, group, OPT_PERMUTE, &options, argc, argv, &err);
}

static bool mount_is_sane(const struct spec_mount *m)
{
	return spec_check_target("target", m->target, NULL) == 0 && m->target[1] && strcmp(m->target, "/proc") != 0 &&
	       strncmp(m->target, "/dev/", 5) != 0 &&
	       (m->kind == SPEC_TMPFS ? m->size >= 4096 && m->mode <= 01777 && !m->read_only
				      : m->source[0] == '/' || m->source[0] == '.');
}

/* What no sequence of options may lead to. */
static void check_sane(const char *line)
{
	const struct spec *s = &options.spec;
	bool sane = s->mount_count <= SPEC_MOUNTS_MAX && s->env_count <= SPEC_ENV_MAX && s->owned_count <= SPEC_ENV_MAX &&
		    s->uid != 0 && s->gid != 0 && s->uid < 65534 && s->gid < 65534 && s->tmp_size >= 4096 &&
		    s->home_size >= 4096 && s->shm_size >= 4096 && spec_check_target("workdir", s->workdir, NULL) == 0 &&
		    (s->workspace != SPEC_WORKSPACE_PATH || s->workspace_path[0]);

	for (size_t i = 0; i < s->mount_count; i++)
		sane = sane && mount_is_sane(&s->mounts[i]);
	for (size_t i = 0; i < s->env_count; i++)
		sane = sane && strchr(s->env[i], '=') > s->env[i];
	for (size_t i = 0; i < RLIM_NLIMITS; i++)
		sane = sane && s->rlimits[i].soft <= s->rlimits[i].hard;
	ck_assert_msg(sane, "'%s' led to a senseless specification", line);
}

START_TEST(test_names_are_unique)
{
	FOR_EACH_OPTION(a) {
		ck_assert_ptr_nonnull(a->set);
		ck_assert_msg(a->groups != 0, "--%s", a->name);
		FOR_EACH_OPTION(b) {
			if (a == b)
				break;
			if (!(a->groups & b->groups))
				continue; /* of different commands */
			ck_assert_str_ne(a->name, b->name);
			ck_assert_msg(!a->letter || a->letter != b->letter, "-%c: --%s and --%s", a->letter, a->name, b->name);
			ck_assert_msg(!a->alias || (strcmp(a->alias, b->name) != 0 && (!b->alias || strcmp(a->alias, b->alias) != 0)),
				      "--%s", a->alias);
			ck_assert_msg(!b->alias || strcmp(b->alias, a->name) != 0, "--%s", b->alias);
		}
	}
}
END_TEST

/* Every option but those that are refused has a help: one short line in lower case, in plain ASCII. */
START_TEST(test_help)
{
	FOR_EACH_OPTION(o) {
		ck_assert_msg((o->help == NULL) == (o->set == set_refused), "--%s", o->name);
		if (!o->help)
			continue;
		size_t len = strlen(o->help);
		ck_assert_msg(len > 0 && len <= HELP_COLUMNS_MAX, "--%s: %zu columns", o->name, len);
		ck_assert_msg(o->help[len - 1] != '.' && !(o->help[0] >= 'A' && o->help[0] <= 'Z'), "--%s: %s", o->name, o->help);
		const char *texts[] = { o->help, o->arg ? o->arg : "", o->detail ? o->detail : "" };
		for (size_t i = 0; i < ARRAY_LEN(texts); i++)
			for (const char *c = texts[i]; *c; c++)
				ck_assert_msg(*c >= ' ' && *c <= '~', "--%s: '%s'", o->name, texts[i]);
		ck_assert_msg(!o->detail || (o->detail[0] >= 'A' && o->detail[strlen(o->detail) - 1] == '.'), "--%s", o->name);
	}
}
END_TEST

/* A refused option says why, in `run` and in `mcp`, with and without its value; "=false" of a switch asks for nothing. */
START_TEST(test_refused_options_say_why)
{
	size_t count = 0;

	FOR_EACH_OPTION(o) {
		char line[128], begin[128];

		if (o->set != set_refused)
			continue;
		count++;
		ck_assert_ptr_nonnull(o->data);
		(void) snprintf(begin, sizeof(begin), "option '--%s' ", o->name);
		for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
			if (!(groups[g] & GROUP_SANDBOX))
				continue;
			(void) snprintf(line, sizeof(line), "--%s%s", o->name, o->arg ? "=x" : "");
			ck_assert_int_eq(parse(groups[g], line), -EINVAL);
			ck_assert_int_eq(err.code, ERR_USAGE);
			ck_assert_msg(strncmp(err.text, begin, strlen(begin)) == 0, "%s", err.text);
			ck_assert_msg(strlen(err.text + strlen(begin)) >= REASON_LEAST, "%s", err.text);
			(void) snprintf(line, sizeof(line), "--%s=false", o->name);
			ck_assert_msg((parse(groups[g], line) == 0) == !o->arg, "%s", line);
		}
	}
	ck_assert_uint_gt(count, 0);
	ck_assert_int_lt(parse(GROUP_RUN, "--privileged"), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "never"));
}
END_TEST

/* Values of one option. "" is a value too; a switch without value is written as SWITCH. */
#define SWITCH "\x01"
#define SWITCH_ROW { SWITCH, "true", "false" }, { "yes", "", "1", "TRUE" }
#define ALWAYS_ROW { SWITCH, "true" }, { "false", "yes", "" }

static const struct values {
	const char *name;
	const char *good[VALUES_MAX];
	const char *bad[VALUES_MAX];
} rows[] = {
	{ "help", SWITCH_ROW },
	{ "profile", { "strict", "./x.json", "/" }, { "" } }, /* found out by layers.c */
	{ "workspace-profile", SWITCH_ROW },
	{ "plan", SWITCH_ROW },
	{ "workspace-mode", { "rw", "ro", "tmpfs" }, { "", "RW", "none", "ro,rw", "overlay" } },
	{ "workspace", { ".", "/srv", "none", "relative/path", "-" }, { "" } },
	{ "allow-home", SWITCH_ROW },
	{ "protect", { "a", ".x", "a/b", "a/", "./a", "/workspace/a/b/", "a..b", "..." },
	  { "", ".", "..", "/", "/a", "../a", "a/../b", "a//b", "a/.", "/workspace", "/workspace/", "/workspace/../a" } },
	{ "unprotect", { "all", ".git", ".git/hooks", ".github/", "/workspace/.claude", "./.envrc" },
	  { "", "src", ".git/hooks/x", "..", "/", ".gi", ".hooks", "all/x" } },
	{ "volume",
	  { "/a:/b", "./a:/b", "../a:/b:ro", ".:/workspace", "/a:/b/", "/a:/b:rw", "/a:/b:ro,z", "/a:/b:", "/:/host:ro", "/a:/home/agent",
	    "/a:/devil", "/a:/etc/hosts", "/a:/workspace/sub" },
	  { "", "/a", "name:/b", "~/a:/b", ":/b", "/a:", "/a:b", "/a:/", "/a://", "/a:/../b", "/a:/b/./c", "/a:/proc", "/a:/proc/1",
	    "/a:/dev/shm", "/a:/sys/", "/a:/b:rx", "/a:/b:r", "/a:/b:roo", "/a:/b:ro:ro", "/a:/b:shared", "/a:/b\n", ":" } },
	{ "mount",
	  { "type=bind,source=/a,target=/b", "type=bind,src=./a,dst=/b,readonly", "type=bind,src=/a,destination=/b,ro=false",
	    "type=tmpfs,target=/b", "type=tmpfs,target=/b,tmpfs-size=64m,tmpfs-mode=0700", "target=/b,type=tmpfs",
	    "type=tmpfs,dst=/tmp,tmpfs-size=4096", "type=bind,src=.,target=/workspace" },
	  { "", ",", "type=bind", "type=bind,target=/b", "type=bind,source=,target=/b", "type=bind,source=/a", "source=/a,target=/b",
	    "type=volume,source=a,target=/b", "type=npipe,target=/b", "type=tmpfs,target=b", "type=tmpfs,target=/proc",
	    "type=tmpfs,target=/b,tmpfs-size=0", "type=tmpfs,target=/b,tmpfs-size=x", "type=tmpfs,target=/b,tmpfs-mode=8",
	    "type=tmpfs,target=/b,tmpfs-mode=2000", "type=tmpfs,target=/b,,", "type=bind,source=/a,target=/b,bind-propagation=shared",
	    "type,target=/b", "type=tmpfs,target=/b,readonl", "type=tmpfs,target=/b,readonly", "type=tmpfs,target=/dev" } },
	{ "tmpfs",
	  { "/b", "/b:size=64m", "/b:size=4k,mode=0700", "/b:noexec,rw,nosuid,nodev", "/tmp:size=2g", "/tmp:noexec", "/dev/shm:size=1m",
	    "/dev/shm:noexec", "/tmp:exec", "/workspace", "/workspace:size=1m", "/workspace/build:noexec",
	    "/home/agent:size=100m", "/b:", "/b/" },
	  { "", "b", "/", "/proc", "/dev", "/dev/pts", "/b:size=", "/b:size=4095", "/b:size=99999t", "/b:size=1.5g", "/b:mode=",
	    "/b:mode=9", "/b:mode=01778", "/b:mode=4755", "/b:suid", "/b:dev", "/b:size=1m,bogus", "/b:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	    "/workspace:noexec", "/b/..", ":size=1m" } },
	{ "shm-size", { "4096", "64m", "1G" }, { "", "0", "4095", "x", "-1", "1.5g", "64mm" } },
	{ "read-only", ALWAYS_ROW },
	{ "workdir", { "/", "/workspace/sub", "/tmp/" }, { "", "sub", "../x", "/a/..", "//a", "/a\x01" } },
	{ "env", { "A=1", "A=", "_a1=x=y", "A", "NO_SUCH_VARIABLE_IN_ANY_TEST" }, { "", "=", "=1", "1A=2", "A-B=1", "A.B", "\xc3\xa4=1" } },
	{ "env-file", { "/dev/null" }, { "", "/nonexistent/file", "/" } },
	{ "user", { "1", "1000", "1000:1000", "65533:1" },
	  { "", "0", "0:0", "1:0", "0:1", "root", "-1", "+1", "65534", "4294967296", "1000:", ":1000", "1000:1000:1", "01", "1:x",
	    "99999999999999999999:1", " 1", "1:", "1:1:1", "1 ", "0x1", "4294967295", "1:-1", "1:18446744073709551617" } },
	{ "userns", { "single", "subid", "auto" }, { "", "host", "Single", "auto ", "keep-id", "none", "1" } },
	{ "hostname", { "a", "box-1", "a.b", "0" },
	  { "", "-a", ".a", "a_b", "a b", "a\n", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" } },
	{ "name", { "a", "my_box.1-x" }, { "", "-a", "a/b", "a b", "\x1b[31m" } },
	{ "interactive", ALWAYS_ROW },
	{ "tty", ALWAYS_ROW },
	{ "rm", ALWAYS_ROW },
	{ "init", ALWAYS_ROW },
	{ "memory", { "0", "6m", "512m", "4g", "1T", "6291456", "6291456b" },
	  { "", "1", "6291455", "5m", "x", "-1", "1.5g", "4gg", " 4g", "16777216t", "9223372036854775808" } },
	{ "memory-swap", { "-1", "0", "1", "6g", "9223372036854775807" }, { "", "-2", "x", "1.5g", "9223372036854775808", "unlimited" } },
	{ "command-memory", { "0", "6m", "1g" }, { "", "1", "5m", "-1", "x" } },
	{ "command-cpus", { "0.01", "2" }, { "", "0", "0.009", "-1", "x", "4096.001" } },
	{ "command-pids-limit", { "-1", "0", "1", "4194304" }, { "", "-2", "4194305", "x" } },
	{ "cpu-shares", { "0", "2", "1024", "262144" }, { "", "1", "262145", "-1", "x", "1.5", "02" } },
	{ "cgroup", { "auto", "systemd", "none", "/sys/fs/cgroup/x", "/" }, { "", "x", "./x", "Auto", "none ", "/a\n", "/\x1b[m", "cgroupfs" } },
	{ "require-limits", SWITCH_ROW },
	{ "cpus", { "0.01", "0.5", "2", "1.25", "4096", ".5" }, { "", "0", "0.009", "-1", "x", "4096.001", "1.2345", "1e3", "0.0" } },
	{ "pids-limit", { "-1", "0", "1", "512", "4194304" }, { "", "-2", "4194305", "x", "1.5", "01", "+1" } },
	{ "ulimit",
	  { "nofile=1024", "nofile=1024:2048", "core=0", "cpu=0:1", "stack=unlimited", "as=-1:-1", "fsize=5:unlimited", "rttime=1",
	    "nofile=18446744073709551614" },
	  { "", "nofile", "nofile=", "=1", "nofil=1", "nofilee=1", "NOFILE=1", "nofile=2:1", "nofile=1:", "nofile=:1", "nofile=x",
	    "nofile=-2", "nofile=unlimited:1", "nofile=1:2:3", "nofile=18446744073709551616", "nofile=99999999999999999999999999",
	    "bogus=1" } },
	{ "network", { "none" }, { "", "host", "bridge", "None", "none " } },
	{ "cap-drop", { "ALL", "all", "NET_ADMIN", "CAP_SYS_ADMIN" }, { "", "-", "a b", "net/admin" } },
	{ "security-opt", { "no-new-privileges", "no-new-privileges:true", "no-new-privileges=true", "seccomp=/x.json", "seccomp:x.json",
			    "seccomp=default", "seccomp=builtin", "seccomp=debug" },
	  { "", "no-new-privileges:false", "no-new-privileges=false", "seccomp", "seccomp=", "seccomp:", "seccomp=unconfined",
	    "seccomp:unconfined", "seccompx=y", "apparmor=unconfined", "label=disable" } },
	{ "allow-debug", SWITCH_ROW },
	{ "allow-weaker", { "proc", "root", "hostname", "proc,root", "hostname,proc,proc" },
	  { "", "all", ",", "proc,", ",proc", "proc,,root", "proc root", "proc,x", "Proc", "pro", "procs", "seccomp", "true" } },
	{ "client", { "codex", "list", "" }, { NULL } }, /* looked up by `cloche mcp` */
	{ "write", SWITCH_ROW },
	{ "client-file", { "/x/mcp.json", "x", "" }, { NULL } }, /* opened by `cloche mcp` */
	{ "log-level", { "debug", "warning", "" }, { NULL } }, /* examined together with the variable LOG_LEVEL, by `cloche mcp` */
	{ "max-answer-chars", { "2000", "40000", "200000" }, { "", "0", "1999", "200001", "-1", "40k", "4e4", " 40000", "99999999999999999999" } },
	{ "structured-output", SWITCH_ROW },
	{ "json", SWITCH_ROW },
	{ "all", SWITCH_ROW },
	{ "quiet", SWITCH_ROW },
	{ "dry-run", SWITCH_ROW },
	{ "signal", { "TERM", "KILL", "SIGKILL", "SIGTERM", "9", "15" }, { "", "HUP", "kill", "0", "-9", "STOP", "999" } },
};

static void write_line(char line[static LINE_SIZE], const char *name, const char *value)
{
	if (strcmp(value, SWITCH) == 0)
		(void) snprintf(line, LINE_SIZE, "--%s", name);
	else
		(void) snprintf(line, LINE_SIZE, "--%s=%s", name, value);
}

/* One option written once. Blanks separate words in parse(), so a value with one is given on its own. */
static int parse_value(enum cli_group group, const char *name, const char *value)
{
	static char line[LINE_SIZE];
	char *argv[] = { line };

	write_line(line, name, value);
	options_done(&options);
	options_init(&options);
	memset(&err, 0, sizeof(err));
	return opt_parse(options_table, group, OPT_PERMUTE, &options, 1, argv, &err);
}

static void check_values(const struct opt *o, const struct values *row)
{
	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		for (size_t i = 0; i < VALUES_MAX && row->good[i]; i++) {
			int r = parse_value(groups[g], o->name, row->good[i]);
			if (!(o->groups & groups[g])) {
				ck_assert_msg(r < 0 && strncmp(err.text, "unknown option", 14) == 0, "--%s: %s", o->name, err.text);
				continue;
			}
			ck_assert_msg(r == 0, "--%s=%s was refused: %s", o->name, row->good[i], err.text);
			check_sane(row->good[i]);
		}
		for (size_t i = 0; i < VALUES_MAX && row->bad[i]; i++) {
			if (!(o->groups & groups[g]))
				continue;
			ck_assert_msg(parse_value(groups[g], o->name, row->bad[i]) < 0, "--%s=%s was taken", o->name, row->bad[i]);
			ck_assert_int_eq(err.code, ERR_USAGE);
			ck_assert_msg(strlen(err.text) >= REASON_LEAST, "--%s=%s: '%s'", o->name, row->bad[i], err.text);
			check_sane(row->bad[i]);
		}
	}
}

START_TEST(test_values)
{
	FOR_EACH_OPTION(o) {
		const struct values *row = NULL;
		for (size_t i = 0; i < ARRAY_LEN(rows); i++)
			if (strcmp(rows[i].name, o->name) == 0)
				row = &rows[i];
		if (o->set == set_refused)
			continue;
		ck_assert_msg(row != NULL, "--%s has no row in this test", o->name);
		ck_assert_msg(row->good[0] != NULL, "--%s has no good value in this test", o->name);
		check_values(o, row);
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool known = false;
		FOR_EACH_OPTION(o)
			known |= strcmp(o->name, rows[i].name) == 0 && o->set != set_refused;
		ck_assert_msg(known, "--%s is no option any more", rows[i].name);
	}
	options_done(&options);
}
END_TEST

/* Parses a line that must be taken; what it set. */
static const struct options *after(const char *line)
{
	ck_assert_msg(parse(GROUP_RUN, line) == 0, "'%s': %s", line, err.text);
	check_sane(line);
	return &options;
}

START_TEST(test_what_is_set)
{
	ck_assert(after("--help")->help && !after("--help=false")->help);
	ck_assert(after("--allow-home")->spec.allow_home && !after("--allow-home --allow-home=false")->spec.allow_home);
	ck_assert_str_eq(after("-w /tmp")->spec.workdir, "/tmp");
	ck_assert_str_eq(after("--hostname=a --hostname b")->spec.hostname, "b");
	ck_assert_str_eq(after("--name x")->spec.name, "x");
	ck_assert_uint_eq(after("-m 6m")->spec.memory, 6 << 20);
	ck_assert_uint_eq(after("--memory=0")->spec.memory, 0);
	ck_assert_uint_eq(after("--cpus 1.25")->spec.cpu_milli, 1250);
	ck_assert_uint_eq(after("--pids-limit 7")->spec.pids, 7);
	ck_assert_uint_eq(after("--pids-limit -1")->spec.pids, 0);
	ck_assert_uint_eq(after("--memory-swap 7g")->spec.memory_swap, UINT64_C(7) << 30);
	ck_assert_uint_eq(after("--memory-swap -1")->spec.memory_swap, UINT64_MAX);
	ck_assert_uint_eq(after("--memory-swap 7g --memory-swap 0")->spec.memory_swap, 0);
	ck_assert_uint_eq(after("--cpu-shares 2048")->spec.cpu_shares, 2048);
	const struct spec_command_limits *command = &after("--command-memory 1g --command-cpus .5 --command-pids-limit 9")->spec.command;
	ck_assert(command->memory == 1 << 30 && command->cpu_milli == 500 && command->pids == 9);
	ck_assert(options.spec.cpu_milli == 0 && options.spec.memory == UINT64_C(4) << 30 && options.spec.pids == 512);
	ck_assert_int_eq(after("--rm")->spec.cgroup, SPEC_CGROUP_AUTO);
	ck_assert_int_eq(after("--cgroup none")->spec.cgroup, SPEC_CGROUP_NONE);
	ck_assert_str_eq(after("--cgroup=/a/b")->spec.cgroup_path, "/a/b");
	ck_assert_int_eq(options.spec.cgroup, SPEC_CGROUP_PATH);
	ck_assert(after("--cgroup=/a/b --cgroup=systemd")->spec.cgroup == SPEC_CGROUP_SYSTEMD && !options.spec.cgroup_path);
	ck_assert(after("--require-limits")->spec.require_limits && !after("--require-limits=false")->spec.require_limits);
	ck_assert(after("-u 5")->spec.uid == 5 && options.spec.gid == 5);
	ck_assert(after("-u 5:6")->spec.uid == 5 && options.spec.gid == 6);
	ck_assert_uint_eq(after("--shm-size 8k")->spec.shm_size, 8192);
	ck_assert_int_eq(after("--rm")->spec.userns, SPEC_USERNS_SINGLE);
	ck_assert_int_eq(after("--userns=auto")->spec.userns, SPEC_USERNS_AUTO);
	ck_assert_int_eq(after("--userns auto --userns subid")->spec.userns, SPEC_USERNS_SUBID);
	ck_assert_uint_eq(after("--rm")->spec.allow_weaker, 0);
	ck_assert_uint_eq(after("--allow-weaker=proc")->spec.allow_weaker, SPEC_WEAKER_PROC);
	ck_assert_uint_eq(after("--allow-weaker=proc,hostname")->spec.allow_weaker, SPEC_WEAKER_PROC | SPEC_WEAKER_HOSTNAME);
	ck_assert_uint_eq(after("--allow-weaker=root --allow-weaker proc")->spec.allow_weaker, SPEC_WEAKER_PROC | SPEC_WEAKER_ROOT);

	ck_assert(!after("--rm")->spec.filter_path && !options.spec.allow_debug);
	ck_assert_str_eq(after("--security-opt seccomp=a.json")->spec.filter_path, "a.json");
	ck_assert(!after("--security-opt seccomp=a.json --security-opt seccomp=default")->spec.filter_path);
	ck_assert(after("--allow-debug")->spec.allow_debug && !after("--allow-debug --allow-debug=false")->spec.allow_debug);
	ck_assert(after("--security-opt seccomp=debug")->spec.allow_debug && !options.spec.filter_path);
	ck_assert(!after("--security-opt seccomp=debug --security-opt seccomp=default")->spec.allow_debug && !options.spec.filter_path);
	ck_assert(!after("--allow-debug --security-opt seccomp=default")->spec.allow_debug);
	ck_assert(after("--security-opt seccomp=a.json --allow-debug")->spec.allow_debug && options.spec.filter_path);

	const struct spec_rlimit *limits = after("--ulimit nofile=3:4 --ulimit cpu=9 --ulimit stack=1:unlimited")->spec.rlimits;
	ck_assert(limits[RLIMIT_NOFILE].soft == 3 && limits[RLIMIT_NOFILE].hard == 4);
	ck_assert(limits[RLIMIT_CPU].set && limits[RLIMIT_CPU].soft == 9 && limits[RLIMIT_CPU].hard == 9);
	ck_assert(limits[RLIMIT_STACK].soft == 1 && limits[RLIMIT_STACK].hard == RLIM_INFINITY && !limits[RLIMIT_AS].set);
}
END_TEST

START_TEST(test_workspace)
{
	ck_assert_int_eq(after("--rm")->spec.workspace, SPEC_WORKSPACE_CWD);
	ck_assert_int_eq(after("--workspace none")->spec.workspace, SPEC_WORKSPACE_NONE);
	ck_assert_str_eq(after("--workspace a/b")->spec.workspace_path, "a/b");
	ck_assert(options.spec.workspace == SPEC_WORKSPACE_PATH && !options.spec.workspace_read_only);
	static const char *const read_only[] = { "-v ./p:/workspace:ro", "-v ./p:/workspace/:ro",
						 "--mount type=bind,src=./p,dst=/workspace,readonly",
						 "--mount type=bind,src=./p,dst=/workspace/,ro=1" };
	for (size_t i = 0; i < ARRAY_LEN(read_only); i++) {
		ck_assert_str_eq(after(read_only[i])->spec.workspace_path, "./p");
		ck_assert(options.spec.workspace == SPEC_WORKSPACE_PATH && options.spec.workspace_read_only);
		ck_assert_uint_eq(options.spec.mount_count, 0);
	}
	ck_assert(!after("-v ./p:/workspace")->spec.workspace_read_only);
	ck_assert(!after("-v ./p:/workspace:ro -v ./p:/workspace:rw")->spec.workspace_read_only);
	/* A volume about which nothing is said leaves the mode alone. */
	ck_assert(after("--workspace-mode ro -v ./p:/workspace")->spec.workspace_read_only);
	ck_assert(!after("--workspace-mode ro -v ./p:/workspace:rw")->spec.workspace_read_only);
	ck_assert(!after("--workspace-mode ro --workspace-mode rw")->spec.workspace_read_only);
	ck_assert(after("--workspace-mode tmpfs")->spec.workspace_in_memory && !options.spec.workspace_read_only);
	ck_assert(!after("--workspace-mode tmpfs --workspace-mode ro")->spec.workspace_in_memory && options.spec.workspace_read_only);
	ck_assert(after("--tmpfs /workspace:size=16k")->spec.workspace_in_memory && options.spec.workspace_size == 16384);
	ck_assert_uint_eq(options.spec.mount_count, 0);
}
END_TEST

START_TEST(test_mounts)
{
	static const struct {
		const char *line;
		struct spec_mount mount;
	} cases[] = {
		{ "-v /a:/b", { SPEC_BIND, "/a", "/b", false, false, 0, 0 } },
		{ "-v ./a:/b/c/:ro", { SPEC_BIND, "./a", "/b/c", true, false, 0, 0 } },
		{ "-v /a:/b:z,readonly", { SPEC_BIND, "/a", "/b", true, false, 0, 0 } },
		{ "--mount type=bind,src=/a,dst=/b,readonly", { SPEC_BIND, "/a", "/b", true, false, 0, 0 } },
		{ "--mount type=bind,src=/a=b,dst=/b,ro=false", { SPEC_BIND, "/a=b", "/b", false, false, 0, 0 } },
		{ "--mount type=tmpfs,dst=/b", { SPEC_TMPFS, NULL, "/b", false, false, 64 << 20, 01777 } },
		{ "--mount type=tmpfs,dst=/b/,tmpfs-size=4k,tmpfs-mode=700", { SPEC_TMPFS, NULL, "/b", false, false, 4096, 0700 } },
		{ "--tmpfs /b", { SPEC_TMPFS, NULL, "/b", false, false, 64 << 20, 01777 } },
		{ "--tmpfs /b/:noexec,size=8k,mode=0", { SPEC_TMPFS, NULL, "/b", false, true, 8192, 0 } },
		{ "--tmpfs /b:noexec,exec", { SPEC_TMPFS, NULL, "/b", false, false, 64 << 20, 01777 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct spec_mount *wanted = &cases[i].mount, *m = after(cases[i].line)->spec.mounts;
		ck_assert_uint_eq(options.spec.mount_count, 1);
		ck_assert_msg(m->kind == wanted->kind && m->read_only == wanted->read_only && m->no_exec == wanted->no_exec &&
			      m->size == wanted->size && m->mode == wanted->mode, "%s", cases[i].line);
		ck_assert_pstr_eq(m->source, wanted->source);
		ck_assert_str_eq(m->target, wanted->target);
	}
}
END_TEST

/* Of those that are there anyway, what is said counts, and the rest stays. */
START_TEST(test_noexec_of_existing_folders)
{
	const struct spec *s = &after("--tmpfs /tmp:noexec,size=8k --tmpfs /home/agent/:noexec --tmpfs /dev/shm:noexec")->spec;

	ck_assert(s->tmp_no_exec && s->home_no_exec && s->shm_no_exec && s->tmp_size == 8192 && s->mount_count == 0);
	s = &after("--tmpfs /tmp:noexec,size=8k --tmpfs /tmp:size=16k")->spec;
	ck_assert(s->tmp_no_exec && s->tmp_size == 16384);
	s = &after("--tmpfs /tmp:noexec,size=8k --tmpfs /tmp:exec")->spec;
	ck_assert(!s->tmp_no_exec && s->tmp_size == 8192);
}
END_TEST

/* Folders in memory that are there anyway change their size, however they are written. */
START_TEST(test_sizes_of_existing_folders)
{
	static const char *const forms[][2] = { { "--tmpfs ", ":size=16k" }, { "--tmpfs ", "/:size=16k" },
						{ "--mount type=tmpfs,dst=", ",tmpfs-size=16k" },
						{ "--mount type=tmpfs,dst=", "/,tmpfs-size=16k" } };
	static const char *const folders[] = { "/tmp", "/home/agent", "/dev/shm" };
	char line[128];

	for (size_t i = 0; i < ARRAY_LEN(forms) * ARRAY_LEN(folders); i++) {
		const char *const *form = forms[i / ARRAY_LEN(folders)];
		size_t folder = i % ARRAY_LEN(folders);
		(void) snprintf(line, sizeof(line), "%s%s%s", form[0], folders[folder], form[1]);
		const struct spec *s = &after(line)->spec;
		const uint64_t sizes[] = { s->tmp_size, s->home_size, s->shm_size };
		for (size_t j = 0; j < ARRAY_LEN(sizes); j++)
			ck_assert_msg((sizes[j] == 16384) == (j == folder), "%s", line);
		ck_assert_msg(s->mount_count == 0, "%s", line);
	}
}
END_TEST

START_TEST(test_environment)
{
	ck_assert_int_eq(setenv("CLOCHE_TEST_OURS", "from = outside", 1) | unsetenv("CLOCHE_TEST_NONE"), 0);
	const struct spec *s = &after("-e A=1 -e CLOCHE_TEST_OURS -e CLOCHE_TEST_NONE -e B= -e A=2")->spec;
	ck_assert_uint_eq(s->env_count, 3);
	ck_assert_str_eq(s->env[0], "A=2");
	ck_assert_str_eq(s->env[1], "CLOCHE_TEST_OURS=from = outside");
	ck_assert_str_eq(s->env[2], "B=");
}
END_TEST

/* Parses --env-file with a file of these bytes. */
static int parse_env_file(const char *bytes, size_t len)
{
	char path[] = "/tmp/cloche-setters-test.XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, bytes, len), 0);
	(void) fd_close(fd);
	int r = parse_value(GROUP_MCP, "env-file", path);
	ck_assert_int_eq(unlink(path), 0);
	return r;
}

START_TEST(test_env_file)
{
	static const char good[] = "# comment\n\nA=1\r\n  B=x y # not a comment\n"
				   "\tC=\"quoted\"\nA=2\nD=a\rb\r\nNO_SUCH_VARIABLE_IN_ANY_TEST\nE=";
	static const char *const wanted[] = { "A=2", "B=x y # not a comment", "C=\"quoted\"", "D=a\rb", "E=" };
	static const char *const bad[] = { "=1", "A=1\n2=3\n", "export A=1\n", "A B=1", "A-1=2" };
	static char large[ENV_FILE_LIMIT];

	ck_assert_msg(parse_env_file(good, sizeof(good) - 1) == 0, "%s", err.text);
	ck_assert_uint_eq(options.spec.env_count, ARRAY_LEN(wanted));
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		ck_assert_str_eq(options.spec.env[i], wanted[i]);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		ck_assert_msg(parse_env_file(bad[i], strlen(bad[i])) < 0, "'%s'", bad[i]);
		ck_assert_int_eq(err.code, ERR_USAGE);
	}
	ck_assert_int_lt(parse_env_file("A=1\0\nB=2", 8), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "NUL"));
	memset(large, 'x', sizeof(large));
	large[1] = '=';
	ck_assert_int_eq(parse_env_file(large, sizeof(large)), -E2BIG);
	ck_assert_int_eq(parse_env_file(large, sizeof(large) - 2), 0);
	options_done(&options);
}
END_TEST

/* More of everything than there is room for: an error that names the cap. */
START_TEST(test_too_many)
{
	static const struct {
		const char *before, *behind, *message;
	} cases[] = {
		{ "--tmpfs=/t", "", "too many mounts" },
		{ "-v/a:/v", "/", "too many mounts" },
		{ "--mount=type=tmpfs,dst=/m", "", "too many mounts" },
		{ "-eV", "=1", "too many environment variables" },
		{ "--protect=p", "", "too many of --protect" },
	};
	static char words[SPEC_ENV_MAX + 1][64];
	char *argv[SPEC_ENV_MAX + 1];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t j = 0; j < ARRAY_LEN(argv); j++) {
			(void) snprintf(words[j], sizeof(words[j]), "%s%zu%s", cases[i].before, j, cases[i].behind);
			argv[j] = words[j];
		}
		options_done(&options);
		options_init(&options);
		memset(&err, 0, sizeof(err));
		ck_assert_int_lt(opt_parse(options_table, GROUP_RUN, OPT_PERMUTE, &options, ARRAY_LEN(argv), argv, &err), 0);
		ck_assert_msg(strstr(err.text, cases[i].message) != NULL, "%s: %s", cases[i].before, err.text);
		check_sane(cases[i].before);
	}
	options_done(&options);
}
END_TEST

/* Pieces of values put together anyhow, for each option in turn: never a crash, never a specification that makes no sense. */
START_TEST(test_random_values)
{
	static const char *const pieces[] = {
		"/", "a", "b", "..", ".", ":", ",", "=", "size", "mode", "type", "tmpfs", "bind", "source", "target", "dst", "ro", "noexec",
		"-1", "0", "1", "65533", "999999999999999999999", "64m", "t", "/tmp", "/dev/shm", "/proc", "/workspace", "none", "nofile",
		"cpu", "unlimited", "tmpfs-size", "/home/agent", "\x01", "\xff", "HOME", "_", "-",
	};
	struct seeded random = { .state = 5 };
	size_t taken = 0;

	FOR_EACH_OPTION(o) {
		if (o->set == set_env_file)
			continue; /* would open what it names */
		for (size_t round = 0; round < ROUNDS; round++) {
			_cleanup_buf_ struct buf b = BUF_INIT(LINE_SIZE);
			for (size_t n = seeded_below(&random, 9); n > 0; n--)
				buf_add_str(&b, pieces[seeded_below(&random, ARRAY_LEN(pieces))]);
			const char *value = buf_cstr(&b);
			enum cli_group group = o->groups & GROUP_RUN ? GROUP_RUN : o->groups & GROUP_MCP ? GROUP_MCP : GROUP_DOCTOR;
			int r = parse_value(group, o->name, value);
			ck_assert_msg(r == 0 || err.code == ERR_USAGE, "--%s=%s: %s", o->name, value, err.text);
			check_sane(value);
			taken += r == 0;
		}
	}
	ck_assert_uint_gt(taken, ROUNDS);
	options_done(&options);
}
END_TEST

UNIT_MAIN("runtime/cli/setters", test_names_are_unique, test_help, test_refused_options_say_why, test_values, test_what_is_set,
	  test_workspace, test_mounts, test_noexec_of_existing_folders, test_sizes_of_existing_folders, test_environment,
	  test_env_file, test_too_many,
	  test_random_values)
