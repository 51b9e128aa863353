/*
 * bomb: uses up memory, processes, descriptors or CPUs. Runs inside a sandbox, as whoever that runs its commands as.
 *
 *     bomb [--mib N] [--processes N] [--seconds S] KIND
 *     bomb --list
 *
 * A kind of memory is taken until N MiB are there (default: 1024), then held for S seconds (default: 0): one that behaves is the same
 * as one that does not, with a smaller N. The amount is divided among the processes. What was got is reported while it grows, so
 * that the last line before an end by force tells how far it came.
 *
 * Exit status: 0 when everything was got, 3 when the kernel refused some, 4 when the time was up before either, 2 for a usage error.
 */
#include "tests/limits/bomb.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/sysx.h"

enum { TELL_EVERY = 8 * MIB };

struct bomb *bomb;

static const struct memory_kind *const memory_tables[] = { page_kinds, kernel_kinds };
static const struct load_kind *const load_tables[] = { process_loads, cpu_loads };

void bomb_say(const char *format, ...)
{
	char line[200];
	va_list args;

	va_start(args, format);
	int n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (n < 0 || n >= (int) sizeof(line) - 1)
		return;
	line[n] = '\n';
	IGNORE_RESULT(write(STDOUT_FILENO, line, (size_t) n + 1)); /* nobody may be listening */
}

double bomb_now(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

void bomb_sleep(double seconds)
{
	struct timespec left = { (time_t) seconds, (long) ((seconds - (double) (time_t) seconds) * 1e9) };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

void bomb_add(int64_t bytes)
{
	int64_t got = atomic_fetch_add(&bomb->got, bytes) + bytes, told = atomic_load(&bomb->told);

	if (got - told >= TELL_EVERY && atomic_compare_exchange_strong(&bomb->told, &told, got))
		bomb_say("%lld MiB", (long long) got / MIB);
}

/* Ends as the child @pid does. */
_noreturn_ static void end_like(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

int bomb_go_on_in_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid > 0)
		end_like(pid);
	return sysx_close_range(STDERR_FILENO + 1, ~0U, 0) < 0 ? -errno : 0;
}

/* Takes @amount bytes; returns 0 or a negative errno. */
static int take(const struct memory_kind *kind, int64_t amount)
{
	int64_t got = 0;

	while (got < amount) {
		int64_t n = kind->take();
		if (n < 0)
			return (int) n;
		got += n;
		if (!kind->adds)
			bomb_add(n);
	}
	return 0;
}

/* Each process waits until all have what they wanted, so that at the end all of it is there at once. */
static int take_and_hold(const struct memory_kind *kind, int64_t amount)
{
	int r = take(kind, amount);

	if (r < 0)
		bomb_say("refused at %lld MiB: %s", (long long) atomic_load(&bomb->got) / MIB, strerrorname_np(-r));
	atomic_fetch_add(&bomb->count, 1);
	while (atomic_load(&bomb->count) < bomb->processes)
		bomb_sleep(0.002);
	bomb_sleep(bomb->seconds);
	return r < 0 ? REFUSED : GOT_ALL;
}

static int run_memory(const struct memory_kind *kind)
{
	int worst = GOT_ALL, status;
	int64_t share = bomb->amount / bomb->processes;

	for (long i = 1; i < bomb->processes; i++) {
		pid_t pid = fork();
		if (pid < 0) {
			bomb_say("refused process %ld: %s", i + 1, strerrorname_np(errno));
			atomic_fetch_add(&bomb->count, 1);
			worst = REFUSED;
		}
		if (pid == 0)
			_exit(take_and_hold(kind, share));
	}
	int own = take_and_hold(kind, share);
	atomic_store(&bomb->stop, 1);
	while (wait(&status) > 0)
		if (WIFEXITED(status))
			worst = MAX(worst, WEXITSTATUS(status));
	bomb_say("got %lld bytes", (long long) atomic_load(&bomb->got));
	return MAX(worst, own);
}

static int list(void)
{
	for (size_t i = 0; i < ARRAY_LEN(memory_tables); i++)
		for (const struct memory_kind *k = memory_tables[i]; k->name; k++)
			printf("memory %s: %s\n", k->name, k->what);
	for (size_t i = 0; i < ARRAY_LEN(load_tables); i++)
		for (const struct load_kind *k = load_tables[i]; k->name; k++)
			printf("load %s: %s\n", k->name, k->what);
	return 0;
}

static int run(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(memory_tables); i++)
		for (const struct memory_kind *k = memory_tables[i]; k->name; k++)
			if (strcmp(k->name, name) == 0)
				return run_memory(k);
	for (size_t i = 0; i < ARRAY_LEN(load_tables); i++)
		for (const struct load_kind *k = load_tables[i]; k->name; k++)
			if (strcmp(k->name, name) == 0)
				return k->run();
	(void) fprintf(stderr, "bomb: there is no kind '%s'; --list names them\n", name);
	return USAGE;
}

/* Reads the options, up to the kind, which is returned; NULL when they are wrong. */
static const char *read_options(char **argv)
{
	for (argv++; argv[0] && argv[1]; argv += 2) {
		if (strcmp(argv[0], "--mib") == 0)
			bomb->amount = (int64_t) strtoll(argv[1], NULL, 10) * MIB;
		else if (strcmp(argv[0], "--processes") == 0)
			bomb->processes = strtol(argv[1], NULL, 10);
		else if (strcmp(argv[0], "--seconds") == 0)
			bomb->seconds = strtod(argv[1], NULL);
		else
			return NULL;
	}
	return bomb->amount > 0 && bomb->processes > 0 && bomb->seconds >= 0 ? argv[0] : NULL;
}

int main(int argc, char *argv[])
{
	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return list();
	bomb = mmap(NULL, sizeof(*bomb), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bomb == MAP_FAILED)
		return REFUSED;
	bomb->amount = (int64_t) 1024 * MIB;
	bomb->processes = 1;
	const char *kind = read_options(argv);
	if (!kind) {
		(void) fprintf(stderr, "usage: bomb [--mib N] [--processes N] [--seconds S] KIND, bomb --list\n");
		return USAGE;
	}
	return run(kind);
}
