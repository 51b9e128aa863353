/*
 * The stopwatch of tools/bench: starts programs with posix_spawn(3), which costs little and the same for all, and prints
 * median, minimum and 99th percentile. Runs on a developer's machine, as the user who measures; no part of the product.
 *
 *     bench start RUNS ::: NAME PROGRAM ARG... [::: NAME PROGRAM ARG...]...   the programs in turn, A B C A B C …
 *     bench session RUNS PROGRAM ARG...     an MCP server: from spawn to the answer to initialize
 *     bench call RUNS PROGRAM ARG...        run_bash in one session, in turn with a plain sh -c true
 *     bench memory PROGRAM ARG...           PSS of the server's process tree
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	RUNS_MAX = 100000,
	WARM_UP = 20,
	CANDIDATES_MAX = 8,
	PROCESSES_MAX = 64,
	LINE_MAX_BYTES = 1024 * 1024,
	HANG_S = 300, /* alarm(2): nothing here takes that long unless it hangs */
};

extern char **environ;

struct candidate {
	const char *name;
	char **argv;
	double *us; /* one value a run */
};

struct session {
	pid_t pid;
	int to, from;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

static void die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

static double median(double *us, size_t n)
{
	qsort(us, n, sizeof(*us), compare);
	return n % 2 ? us[n / 2] : (us[n / 2 - 1] + us[n / 2]) / 2;
}

/* Sorts @us and prints one row; @reference is the median that the ratio refers to. Returns the median. */
static double print_row(const char *name, double *us, size_t n, double reference)
{
	double m = median(us, n);

	printf("  %-28s median %8.3f ms   min %8.3f ms   p99 %8.3f ms", name, m / 1e3, us[0] / 1e3,
	       us[n * 99 / 100 < n ? n * 99 / 100 : n - 1] / 1e3);
	if (reference > 0)
		printf("   the first is %.2f x this", reference / m);
	printf("\n");
	return m;
}

/* Spawns @argv with @in and @out as its standard streams (-1: /dev/null). */
static pid_t spawn(char **argv, int in, int out)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	if (in >= 0)
		posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	else
		posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (out >= 0)
		posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	else
		posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	errno = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	if (errno)
		die(argv[0]);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static void wait_for(pid_t pid, const char *name)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	if (status != 0) {
		fprintf(stderr, "bench: '%s' failed (wait status %d): nothing to measure\n", name, status);
		exit(1);
	}
}

static double time_once(char **argv)
{
	double begin = now_us();

	wait_for(spawn(argv, -1, -1), argv[0]);
	return now_us() - begin;
}

static size_t parse_runs(const char *text)
{
	size_t n = 0;

	for (; isdigit((unsigned char) *text) && n <= RUNS_MAX; text++)
		n = n * 10 + (size_t) (*text - '0');
	if (*text || n == 0 || n > RUNS_MAX) {
		fprintf(stderr, "bench: the number of runs lies between 1 and %d\n", RUNS_MAX);
		exit(2);
	}
	return n;
}

static int bench_start(size_t runs, char **args)
{
	struct candidate c[CANDIDATES_MAX];
	size_t count = 0;

	while (*args && strcmp(*args, ":::") == 0 && count < CANDIDATES_MAX) {
		*args = NULL; /* ends the arguments of the one before */
		if (!args[1] || !args[2])
			return 2;
		c[count++] = (struct candidate){ args[1], args + 2, calloc(runs, sizeof(double)) };
		for (args += 2; *args && strcmp(*args, ":::") != 0; args++)
			;
	}
	for (size_t i = 0; i < WARM_UP; i++)
		for (size_t k = 0; k < count; k++)
			(void) time_once(c[k].argv);
	for (size_t i = 0; i < runs; i++)
		for (size_t k = 0; k < count; k++)
			c[k].us[i] = time_once(c[k].argv);
	double first = 0;
	for (size_t k = 0; k < count; k++) {
		double m = print_row(c[k].name, c[k].us, runs, first);
		if (k == 0)
			first = m;
	}
	return 0;
}

static struct session session_open(char **argv)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		die("pipe");
	struct session s = { .pid = spawn(argv, in[0], out[1]), .to = in[1], .from = out[0] };
	close(in[0]);
	close(out[1]);
	return s;
}

static void session_close(struct session *s, const char *name)
{
	close(s->to);
	wait_for(s->pid, name);
	close(s->from);
}

/* Sends @line and reads until a line holds @needle (the answer; notifications may come before it). */
static void session_ask(struct session *s, const char *line, const char *needle)
{
	static char text[LINE_MAX_BYTES];
	size_t len = 0;

	if (write(s->to, line, strlen(line)) < 0)
		die("write to the server");
	while (!needle || len < sizeof(text) - 1) {
		if (!needle)
			return;
		ssize_t n = read(s->from, text + len, sizeof(text) - 1 - len);
		if (n <= 0)
			die("the server hung up");
		len += (size_t) n;
		text[len] = '\0';
		if (text[len - 1] != '\n' || !strstr(text, needle))
			continue;
		if (strstr(text, "\"error\"") || strstr(text, "\"isError\":true")) {
			fprintf(stderr, "bench: the server refused: %s", text);
			exit(1);
		}
		return;
	}
}

static void session_initialize(struct session *s)
{
	session_ask(s,
		    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
		    "\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n",
		    "\"id\":1");
}

static int bench_session(size_t runs, char **argv)
{
	double *us = calloc(runs, sizeof(double)), *gone = calloc(runs, sizeof(double));

	for (size_t i = 0; i < runs + WARM_UP; i++) {
		double begin = now_us();
		struct session s = session_open(argv);
		session_initialize(&s);
		double answered = now_us();
		session_close(&s, argv[0]);
		if (i >= WARM_UP) {
			us[i - WARM_UP] = answered - begin;
			gone[i - WARM_UP] = now_us() - answered;
		}
	}
	print_row("spawn to initialize", us, runs, 0);
	print_row("hang up to exit", gone, runs, 0);
	return 0;
}

static int bench_call(size_t runs, char **argv)
{
	static char *plain[] = { "/bin/sh", "-c", "true", NULL };
	double *inside = calloc(runs, sizeof(double)), *outside = calloc(runs, sizeof(double));
	struct session s = session_open(argv);

	session_initialize(&s);
	session_ask(&s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n", NULL);
	for (size_t i = 0; i < runs + WARM_UP; i++) {
		double begin = now_us();
		session_ask(&s,
			    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"run_bash\","
			    "\"arguments\":{\"command\":\"true\"}}}\n",
			    "\"id\":7");
		double middle = now_us();
		double shell = time_once(plain);
		if (i >= WARM_UP) {
			inside[i - WARM_UP] = middle - begin;
			outside[i - WARM_UP] = shell;
		}
	}
	session_close(&s, argv[0]);
	double first = print_row("run_bash true", inside, runs, 0);
	printf("  %-28s %.2f\n", "its p99 / median", inside[runs * 99 / 100 < runs ? runs * 99 / 100 : runs - 1] / first);
	print_row("sh -c true, no sandbox", outside, runs, first);
	return 0;
}

/* Reads a number from /proc/@pid/@file: the one behind @label. -1 when it cannot be read. */
static long proc_number(pid_t pid, const char *file, const char *label)
{
	char path[64], text[4096];

	(void) snprintf(path, sizeof(path), "/proc/%d/%s", (int) pid, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	const char *at = strstr(text, label);
	long value = 0;
	if (!at)
		return -1;
	for (at += strlen(label); isspace((unsigned char) *at); at++)
		;
	for (; isdigit((unsigned char) *at); at++)
		value = value * 10 + (*at - '0');
	return value;
}

/* @tree[0] and everything that descends from it. */
static size_t find_tree(pid_t *tree)
{
	size_t count = 1;

	for (size_t i = 0; i < count; i++) {
		DIR *proc = opendir("/proc");
		struct dirent *entry;
		while (proc && (entry = readdir(proc))) {
			pid_t pid = 0;
			for (const char *c = entry->d_name; isdigit((unsigned char) *c); c++)
				pid = pid * 10 + (*c - '0');
			if (pid > 0 && count < PROCESSES_MAX && proc_number(pid, "status", "\nPPid:") == tree[i])
				tree[count++] = pid;
		}
		if (proc)
			closedir(proc);
	}
	return count;
}

static int bench_memory(char **argv)
{
	pid_t tree[PROCESSES_MAX];
	struct session s = session_open(argv);
	long total = 0;
	int hidden = 0;

	session_initialize(&s);
	usleep(200000); /* idle */
	tree[0] = s.pid;
	size_t count = find_tree(tree);
	for (size_t i = 0; i < count; i++) {
		char path[64], name[32] = "?";
		(void) snprintf(path, sizeof(path), "/proc/%d/comm", (int) tree[i]);
		FILE *comm = fopen(path, "re");
		if (comm) {
			if (fgets(name, sizeof(name), comm))
				name[strcspn(name, "\n")] = '\0';
			fclose(comm);
		}
		long pss = proc_number(tree[i], "smaps_rollup", "\nPss:");
		if (pss < 0) {
			hidden++;
			printf("  %-28s (not readable without root)\n", name);
			continue;
		}
		printf("  %-28s %8ld KiB\n", name, pss);
		total += pss;
	}
	printf("  %-28s %8ld KiB%s\n", "together", total, hidden ? ", and what could not be read" : "");
	session_close(&s, argv[0]);
	return 0;
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc >= 3 && strcmp(argv[1], "memory") == 0) {
		alarm(HANG_S);
		return bench_memory(argv + 2);
	}
	if (argc < 4) {
		fprintf(stderr, "bench: see the comment in tools/build/bench.c\n");
		return 2;
	}
	size_t runs = parse_runs(argv[2]);
	alarm(HANG_S);
	if (strcmp(argv[1], "start") == 0)
		return bench_start(runs, argv + 3);
	if (strcmp(argv[1], "session") == 0)
		return bench_session(runs, argv + 3);
	if (strcmp(argv[1], "call") == 0)
		return bench_call(runs, argv + 3);
	return 2;
}
