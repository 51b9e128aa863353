/*
 * attack: makes one attack on the sandbox around it. Runs inside, as whoever the sandbox runs its commands as; the same
 * attacks run outside of any sandbox to find out whether the host has what they need.
 *
 *     attack NAME [ARGUMENT...]
 *     attack --list
 *
 * Exit status: 0 when the attack succeeded, 1 when it was refused, 2 when it could not be tried. Each is made in a process of its
 * own; being killed there is being refused.
 */
#include "tests/escape/attack.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/attr.h"

static const struct attack *const themes[] = {
	descriptor_attacks, exec_attacks,  file_attacks,     kernel_attacks, key_attacks,    mount_attacks, namespace_attacks,
	proc_attacks,	    resource_attacks, signal_attacks, socket_attacks, terminal_attacks,
};

enum verdict attack_result(long r, const char *what)
{
	int e = errno;

	printf("%s: %s\n", what, r < 0 ? strerrorname_np(e) : "done");
	return r < 0 ? REFUSED : SUCCEEDED;
}

bool attack_show(int fd)
{
	char text[256];
	ssize_t n = read(fd, text, sizeof(text));

	if (n <= 0)
		return false;
	printf("read: %.*s\n", (int) n, text);
	return true;
}

static const struct attack *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(themes); i++)
		for (const struct attack *a = themes[i]; a->name; a++)
			if (strcmp(a->name, name) == 0)
				return a;
	return NULL;
}

static int list(void)
{
	for (size_t i = 0; i < ARRAY_LEN(themes); i++)
		for (const struct attack *a = themes[i]; a->name; a++)
			printf("%s %s\n", a->name, a->arguments ? a->arguments : "");
	return 0;
}

static int make(const struct attack *attack, char **args)
{
	int status;
	pid_t pid = fork();

	if (pid < 0) {
		printf("%s: fork: %s\n", attack->name, strerrorname_np(errno));
		return NOT_TRIED;
	}
	if (pid == 0) {
		enum verdict v = attack->run(args);
		(void) fflush(stdout);
		_exit((int) v);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return NOT_TRIED;
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	printf("%s: killed by SIG%s\n", attack->name, sigabbrev_np(WTERMSIG(status)));
	return REFUSED;
}

int main(int argc, char *argv[])
{
	static const char *const words[] = { "succeeded", "refused", "could not be tried" };
	const struct attack *attack = argc > 1 ? find(argv[1]) : NULL;

	(void) setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return list();
	if (!attack) {
		(void) fprintf(stderr, "usage: attack NAME [ARGUMENT...], attack --list\n");
		return NOT_TRIED;
	}
	printf("attack %s begins\n", attack->name); /* a refusal counts only where this was said */
	int v = make(attack, argv + 2);
	printf("%s: %s\n", attack->name, v >= 0 && v < (int) ARRAY_LEN(words) ? words[v] : "?");
	return v;
}
