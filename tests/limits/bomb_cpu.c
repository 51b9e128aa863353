/*
 * Programs that use CPUs for --seconds (default: 3) with --processes of them, and say how many CPUs they had: see bomb.h. Each asks
 * for every CPU of the machine first. Runs inside.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "tests/limits/bomb.h"

enum { SLICE_MS = 5, THREADS_MAX = 64 };

static double deadline;

static void ask_for_every_cpu(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all)); /* the kernel takes those that are there */
	(void) sched_setaffinity(0, sizeof(all), &all);
}

static void burn_until(double end)
{
	volatile unsigned long x = 0;

	while (bomb_now() < end)
		for (int i = 0; i < 10000; i++)
			x += (unsigned long) i;
}

static double seconds_of(const struct timeval *time)
{
	return (double) time->tv_sec + (double) time->tv_usec / 1e6;
}

/* Of this process, or of those that it waited for. */
static double user_seconds(int who)
{
	struct rusage used = { 0 };

	(void) getrusage(who, &used);
	return seconds_of(&used.ru_utime);
}

static double cpu_seconds(int who)
{
	struct rusage used = { 0 };

	(void) getrusage(who, &used);
	return seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime);
}

/* CPU seconds of this process and of those that it waited for, per second since @begin. */
static int tell(double begin)
{
	double wall = bomb_now() - begin, used = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN);
	double user = user_seconds(RUSAGE_SELF) + user_seconds(RUSAGE_CHILDREN);

	bomb_say("cpus %.3f, %.3f of %.3f seconds, %.3f of them the user's", used / wall, used, wall, user);
	return GOT_ALL;
}

static double begin(void)
{
	double now = bomb_now();

	deadline = now + (bomb->seconds > 0 ? bomb->seconds : 3);
	return now;
}

static int run_processes(void)
{
	double start = begin();

	for (long i = 0; i < bomb->processes; i++)
		if (fork() == 0) {
			ask_for_every_cpu();
			burn_until(deadline);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	return tell(start);
}

static void *burn_in_thread(_unused_ void *unused)
{
	ask_for_every_cpu();
	burn_until(deadline);
	return NULL;
}

/* Starts --processes threads that compute. Returns how many there are. */
static long start_threads(pthread_t threads[static THREADS_MAX])
{
	long count = MIN(bomb->processes, (long) THREADS_MAX);

	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, burn_in_thread, NULL) != 0)
			return i;
	return count;
}

static int run_threads(void)
{
	double start = begin();
	pthread_t threads[THREADS_MAX];
	long count = start_threads(threads);

	for (long i = 0; i < count; i++)
		(void) pthread_join(threads[i], NULL);
	return tell(start);
}

/* While a thread waits for its child of vfork(2), it takes no signal but SIGKILL, not even SIGSTOP. */
static int run_beside_vfork(void)
{
	double start = begin();
	pthread_t threads[THREADS_MAX];
	long count = start_threads(threads);

	pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
	if (pid == 0) {
		bomb_sleep(deadline - bomb_now());
		_exit(0);
	}
	for (long i = 0; i < count; i++)
		(void) pthread_join(threads[i], NULL);
	return tell(start);
}

/* Work in pieces of a few milliseconds, each by another process: whoever adds up what he sees sees little of it. */
static int run_short(void)
{
	double start = begin();

	for (long i = 0; i < bomb->processes; i++) {
		if (fork() != 0)
			continue;
		while (bomb_now() < deadline) {
			if (fork() == 0) {
				ask_for_every_cpu();
				burn_until(bomb_now() + SLICE_MS / 1000.0);
				_exit(0);
			}
			while (wait(NULL) > 0)
				;
		}
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	return tell(start);
}

/* The same by processes that nobody waits for: their work is in nobody's account. Counts it itself. */
static int run_short_orphans(void)
{
	double start = begin();

	for (long i = 0; i < bomb->processes; i++) {
		if (fork() != 0)
			continue;
		while (bomb_now() < deadline) {
			pid_t pid = fork();
			if (pid == 0 && fork() == 0) {
				ask_for_every_cpu();
				burn_until(bomb_now() + SLICE_MS / 1000.0);
				atomic_fetch_add(&bomb->got, (int64_t) (1e6 * cpu_seconds(RUSAGE_SELF)));
				_exit(0);
			}
			if (pid == 0)
				_exit(0);
			(void) waitpid(pid, NULL, 0);
			bomb_sleep(SLICE_MS / 1000.0);
		}
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	bomb_sleep(0.05);
	double wall = bomb_now() - start, used = (double) atomic_load(&bomb->got) / 1e6;
	bomb_say("cpus %.3f, %.3f of %.3f seconds", used / wall, used, wall);
	return GOT_ALL;
}

const struct load_kind cpu_loads[] = {
	{ "burn", "--processes that compute", run_processes },
	{ "burn-threads", "the same with threads", run_threads },
	{ "burn-vfork", "threads, the first of which waits for a child of vfork", run_beside_vfork },
	{ "burn-short", "the same, each process for a few milliseconds only", run_short },
	{ "burn-orphans", "the same, by processes that nobody waits for", run_short_orphans },
	{ NULL, NULL, NULL },
};
