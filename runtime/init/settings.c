/*
 * The options of cloche-init: see settings.h. Runs once, at its start.
 */
#include "runtime/init/settings.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/str.h"
#include "runtime/init/die.h"
#include "runtime/kern/seccomp.h"
#include "runtime/spec/filterform.h"

/* RESOURCE SOFT HARD, as numbers of setrlimit(2) */
static int set_limit(struct settings *settings, char **args)
{
	struct command_limits *limits = &settings->limits;
	uint64_t resource, soft, hard;

	if (limits->count >= ARRAY_LEN(limits->rows) || str_to_uint(args[0], 0, RLIM_NLIMITS - 1, &resource) < 0 ||
	    str_to_uint(args[1], 0, UINT64_MAX, &soft) < 0 || str_to_uint(args[2], 0, UINT64_MAX, &hard) < 0)
		return -EINVAL;
	limits->rows[limits->count++] = (struct command_limit) { .resource = (int) resource, .soft = soft, .hard = hard };
	return 0;
}

static int set_memory(struct settings *settings, char **args)
{
	return str_to_uint(args[0], 1, UINT64_MAX, &settings->sandbox.memory);
}

static int set_command_memory(struct settings *settings, char **args)
{
	return str_to_uint(args[0], 1, UINT64_MAX, &settings->command.memory);
}

static int set_number(const char *text, uint32_t *ret)
{
	uint64_t number;
	int r = str_to_uint(text, 1, UINT32_MAX, &number);

	if (r == 0)
		*ret = (uint32_t) number;
	return r;
}

static int set_cpus(struct settings *settings, char **args)
{
	return set_number(args[0], &settings->sandbox.cpu_milli);
}

static int set_command_cpus(struct settings *settings, char **args)
{
	return set_number(args[0], &settings->command.cpu_milli);
}

static int set_pids(struct settings *settings, char **args)
{
	return set_number(args[0], &settings->sandbox.pids);
}

static int set_command_pids(struct settings *settings, char **args)
{
	return set_number(args[0], &settings->command.pids);
}

static int add_protected(struct settings *settings, char **args)
{
	return reprotect_add(&settings->protected, args[0]);
}

static int add_folder(struct settings *settings, char **args)
{
	if (settings->folder_count >= ARRAY_LEN(settings->folders) || args[0][0] != '/')
		return -EINVAL;
	settings->folders[settings->folder_count++] = args[0];
	return 0;
}

static int set_repository(struct settings *settings, char **args)
{
	settings->protected.repository = args[0];
	return 0;
}

static int set_shared_proc(struct settings *settings, _unused_ char **args)
{
	settings->shared_proc = true;
	return 0;
}

/* The compiled form of the user's own filter, and what it is taken apart into. */
static union {
	struct filterform_head head; /* its alignment */
	char bytes[FILTERFORM_MAX + 1];
} form;
static struct seccomp_program own_filter;

static int read_own_filter(void)
{
	size_t len = 0;
	ssize_t n;

	while (len < sizeof(form) && (n = read(INITMSG_FILTER_FD, form.bytes + len, sizeof(form) - len)) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		len += n < 0 ? 0 : (size_t) n;
	}
	(void) fd_close(INITMSG_FILTER_FD);
	return seccomp_program_parse(form.bytes, len, &own_filter);
}

/* default, debug, or own: from a descriptor */
static int set_filter(struct settings *settings, char **args)
{
	if (strcmp(args[0], "own") == 0) {
		settings->filter = &own_filter;
		return read_own_filter();
	}
	if (strcmp(args[0], "default") != 0 && strcmp(args[0], "debug") != 0)
		return -EINVAL;
	settings->filter = seccomp_builtin(strcmp(args[0], "debug") == 0 ? SECCOMP_DEBUG : SECCOMP_DEFAULT);
	return 0;
}

static const struct option {
	const char *name;
	int args;
	int (*set)(struct settings *settings, char **args);
} options[] = {
	{ "--command-cpus", 1, set_command_cpus },
	{ "--command-memory", 1, set_command_memory },
	{ "--command-pids", 1, set_command_pids },
	{ "--cpus", 1, set_cpus },
	{ "--filter", 1, set_filter },
	{ "--folder", 1, add_folder },
	{ "--limit", 3, set_limit },
	{ "--memory", 1, set_memory },
	{ "--pids", 1, set_pids },
	{ "--protected", 1, add_protected },
	{ "--repository", 1, set_repository },
	{ "--shared-proc", 0, set_shared_proc },
};

static const struct option *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (strcmp(options[i].name, name) == 0)
			return &options[i];
	return NULL;
}

int settings_read(struct settings *settings, int argc, char **argv)
{
	const struct option *option;
	int at = 1;

	settings->filter = seccomp_builtin(SECCOMP_DEFAULT);
	while (at < argc && (option = find(argv[at]))) {
		if (argc - at <= option->args || option->set(settings, argv + at + 1) < 0)
			die(option->name, EINVAL);
		at += 1 + option->args;
	}
	return at;
}
