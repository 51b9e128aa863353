/*
 * without_calls: runs a command under a system-call filter that answers some calls with an error, as older kernels and the
 * filters of containers do. For tests of what cloche says and does then.
 *
 *     without_calls CALL=ERRNO... -- COMMAND [ARGUMENT...]
 *
 * `clone` means the one that makes a user namespace; other processes can still be made. Exit status: the command's; 125 when
 * a word is not understood or the filter cannot be loaded, 127 when the command cannot be executed.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/attr.h"

enum { PROGRAM_MAX = 128 };

static const struct {
	const char *name;
	unsigned int nr;
} calls[] = {
	{ "clone", SYS_clone },
	{ "clone3", SYS_clone3 },
	{ "close_range", SYS_close_range },
	{ "fsopen", SYS_fsopen },
	{ "landlock_create_ruleset", SYS_landlock_create_ruleset },
	{ "mount", SYS_mount },
	{ "mount_setattr", SYS_mount_setattr },
	{ "move_mount", SYS_move_mount },
	{ "open_tree", SYS_open_tree },
	{ "openat2", SYS_openat2 },
	{ "pidfd_send_signal", SYS_pidfd_send_signal },
	{ "pivot_root", SYS_pivot_root },
	{ "sethostname", SYS_sethostname },
	{ "unshare", SYS_unshare },
};

static const struct {
	const char *name;
	unsigned int number;
} errors[] = { { "EACCES", EACCES }, { "EINVAL", EINVAL }, { "ENOSYS", ENOSYS }, { "EPERM", EPERM } };

static struct sock_filter program[PROGRAM_MAX];
static unsigned short count;

static void add(struct sock_filter instruction)
{
	if (count < PROGRAM_MAX)
		program[count++] = instruction;
}

#define ADD(...) add((struct sock_filter) __VA_ARGS__)
#define LOAD(member) ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member)))

static void add_rule(unsigned int nr, unsigned int errnum)
{
	LOAD(nr);
	if (nr == SYS_clone) {
		ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 3));
		LOAD(args[0]);
		ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1));
	} else {
		ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1));
	}
	ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errnum));
}

/* One word CALL=ERRNO. */
static int take_word(const char *word)
{
	size_t len = strcspn(word, "=");

	for (size_t i = 0; i < ARRAY_LEN(calls) && word[len]; i++)
		if (strlen(calls[i].name) == len && strncmp(calls[i].name, word, len) == 0)
			for (size_t j = 0; j < ARRAY_LEN(errors); j++)
				if (strcmp(errors[j].name, word + len + 1) == 0) {
					add_rule(calls[i].nr, errors[j].number);
					return 0;
				}
	(void) fprintf(stderr, "without_calls: '%s' is not CALL=ERRNO, or none that is known here\n", word);
	return -EINVAL;
}

int main(int argc, char *argv[])
{
	int at = 1;

	for (; at < argc && strcmp(argv[at], "--") != 0; at++)
		if (take_word(argv[at]) < 0)
			return 125;
	if (at + 1 >= argc || count >= PROGRAM_MAX) {
		(void) fprintf(stderr, "usage: without_calls CALL=ERRNO... -- COMMAND [ARGUMENT...]\n");
		return 125;
	}
	ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	struct sock_fprog filter = { .len = count, .filter = program };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
		(void) fprintf(stderr, "without_calls: cannot load the filter: %s\n", strerror(errno));
		return 125;
	}
	(void) execvp(argv[at + 1], argv + at + 1);
	(void) fprintf(stderr, "without_calls: cannot execute '%s': %s\n", argv[at + 1], strerror(errno));
	return 127;
}
