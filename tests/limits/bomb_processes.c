/*
 * Fork bombs of several kinds, and floods of threads and descriptors: see bomb.h. Each works for --seconds (default: 10), or until
 * --processes of them were there at once, which only a machine without a limit lets happen. Runs inside.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "tests/limits/bomb.h"

static double deadline;

static bool is_over(void)
{
	if (bomb_now() >= deadline || atomic_load(&bomb->count) >= bomb->processes)
		atomic_store(&bomb->stop, 1);
	return atomic_load(&bomb->stop) != 0;
}

/* Tells what happened. The number that was reached decides; on a machine that is too busy to come to any limit there is another end. */
static int tell(const char *what)
{
	long count = atomic_load(&bomb->count);

	bomb_say("%s %ld", what, count);
	if (count >= bomb->processes)
		return GOT_ALL;
	return atomic_load(&bomb->refused) ? REFUSED : TOO_SLOW;
}

/* A process or thread could not be made: who makes them tries again a little later. */
static void note_refusal(void)
{
	atomic_store(&bomb->refused, 1);
	(void) sched_yield();
}

static void begin(void)
{
	if (bomb->processes < 2)
		bomb->processes = 4000;
	deadline = bomb_now() + (bomb->seconds > 0 ? bomb->seconds : 10);
	(void) signal(SIGCHLD, SIG_IGN);
}

/* What everyone of a fork bomb does. @away: children leave the family, so that only the first process of the namespace has them. */
static void multiply(bool away)
{
	while (!is_over()) {
		pid_t pid = fork();
		if (pid > 0)
			continue;
		if (pid < 0) {
			note_refusal();
			continue;
		}
		if (away && (setsid() < 0 || fork() != 0))
			_exit(0);
		if (atomic_fetch_add(&bomb->count, 1) % 64 == 0)
			bomb_say("processes %ld", atomic_load(&bomb->count));
	}
}

static int run_fork(void)
{
	pid_t first = getpid();

	begin();
	multiply(false);
	if (getpid() != first)
		_exit(0);
	return tell("processes");
}

static int run_fork_away(void)
{
	pid_t first = getpid();

	begin();
	multiply(true);
	if (getpid() != first)
		_exit(0);
	return tell("processes");
}

/*
 * The first process is gone before the others are done, a second after they came to the limit: what is left of it is a crowd. Where
 * nobody counts refusals, a crowd that is there for a shorter time may not be seen (docs/decisions/0017).
 */
static int run_fork_orphans(void)
{
	begin();
	pid_t pid = fork();
	if (pid < 0)
		note_refusal();
	if (pid == 0) {
		multiply(true);
		_exit(0);
	}
	while (!atomic_load(&bomb->refused) && !is_over())
		bomb_sleep(0.01);
	bomb_sleep(0.3);
	return tell("processes");
}

/* The child of vfork(2) borrows this memory, and this process waits for it: many that wait. */
static void *vfork_and_wait(_unused_ void *unused)
{
	while (!is_over()) {
		pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
		if (pid == 0) {
			for (int i = 0; i < 50 && !is_over(); i++)
				bomb_sleep(0.02);
			_exit(0);
		}
		if (pid < 0)
			note_refusal();
	}
	return NULL;
}

/* Threads, each of which has a child of vfork(2) and waits for it. */
static int run_vfork(void)
{
	pthread_attr_t small;
	pthread_t thread;

	begin();
	(void) pthread_attr_init(&small);
	(void) pthread_attr_setstacksize(&small, 64 * 1024);
	while (!is_over()) {
		if (pthread_create(&thread, &small, vfork_and_wait, NULL) == 0) {
			atomic_fetch_add(&bomb->count, 2);
			continue;
		}
		note_refusal();
		bomb_sleep(0.001);
	}
	return tell("processes");
}

static void *wait_for_end(_unused_ void *unused)
{
	while (!atomic_load(&bomb->stop))
		bomb_sleep(0.05);
	return NULL;
}

static int run_threads(void)
{
	pthread_attr_t small;
	pthread_t thread;

	begin();
	(void) pthread_attr_init(&small);
	(void) pthread_attr_setstacksize(&small, 64 * 1024);
	while (!is_over())
		if (pthread_create(&thread, &small, wait_for_end, NULL) == 0)
			atomic_fetch_add(&bomb->count, 1);
		else
			note_refusal();
	return tell("threads");
}

/* Processes that are gone as soon as they came: whoever looks from time to time sees others each time. */
static int run_churn(void)
{
	long made = 0;

	begin();
	while (bomb_now() < deadline) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(0);
		made += pid > 0;
	}
	bomb_say("made %ld", made);
	return GOT_ALL;
}

/* Exactly --processes of them at once, or as many as there may be, quietly, for --seconds: behaves. */
static int run_crowd(void)
{
	long count = 1;

	for (; count < bomb->processes; count++) {
		pid_t pid = fork();
		if (pid < 0) {
			bomb_say("refused process %ld: %s", count + 1, strerrorname_np(errno));
			break;
		}
		if (pid == 0) {
			(void) wait_for_end(NULL);
			_exit(0);
		}
	}
	bomb_sleep(bomb->seconds);
	atomic_store(&bomb->stop, 1);
	while (wait(NULL) > 0)
		;
	bomb_say("processes %ld", count);
	return count == bomb->processes ? GOT_ALL : REFUSED;
}

const struct load_kind process_loads[] = {
	{ "fork", "processes that make processes", run_fork },
	{ "fork-away", "the same, each in a session of its own and nobody's child", run_fork_away },
	{ "fork-orphans", "the same, and the first one ends", run_fork_orphans },
	{ "vfork", "threads that wait for children of vfork", run_vfork },
	{ "threads", "threads of one process", run_threads },
	{ "churn", "processes that end as soon as they began", run_churn },
	{ "crowd", "exactly --processes at once, which behave", run_crowd },
	{ NULL, NULL, NULL },
};
