/*
 * The client of cloche-init: see initc.h. Runs in cloche-mcp, without any capability; what it is told by init is
 * checked all the same.
 */
#include "mcp/initc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcp/work.h"
#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/base/fdpass.h"

enum {
	INITC_READ_SIZE = 64 * 1024,
	INITC_READS_AT_ONCE = 4,  /* of one command's output before others get their turn */
	INITC_DRAIN_READS = 32,   /* after its end: more than a pipe holds */
	INITC_MESSAGES_AT_ONCE = 16,
	INITC_LOOP_MAX = INITMSG_COMMANDS_MAX - WORK_THREADS_MAX,
};

union initc_message {
	struct initmsg_head head;
	struct initmsg_started started;
	struct initmsg_refused refused;
	struct initmsg_exited exited;
};

/* --- the output of one command ------------------------------------------------------------------------------------ */

static void close_output(struct initc_job *job)
{
	if (job->output.fd < 0)
		return;
	loop_remove(job->client->loop, &job->output);
	job->output.fd = fd_close(job->output.fd);
}

/* Takes what the pipe holds, in at most @reads pieces. */
static void read_output(struct initc_job *job, int reads)
{
	char *scratch = job->client->scratch;

	while (job->output.fd >= 0 && reads-- > 0) {
		ssize_t n = read(job->output.fd, scratch, INITC_READ_SIZE);
		if (n > 0) {
			capture_add(&job->capture, scratch, (size_t) n);
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		close_output(job);
	}
}

static void output_ready(struct loop_source *source, _unused_ uint32_t events)
{
	read_output(CONTAINER_OF(source, struct initc_job, output), INITC_READS_AT_ONCE);
}

/* --- jobs --------------------------------------------------------------------------------------------------------- */

static void release(struct initc_job *job)
{
	for (size_t i = 0; i < ARRAY_LEN(job->fds); i++)
		job->fds[i] = fd_close(job->fds[i]);
	buf_done(&job->packet);
	close_output(job);
	capture_done(&job->capture);
	job->state = INITC_IDLE;
}

static void unlink_job(struct initc *c, struct initc_job *job)
{
	struct initc_job **p = &c->jobs;

	while (*p && *p != job)
		p = &(*p)->next;
	if (*p)
		*p = job->next;
	job->next = NULL;
}

/* The job is over: hands the result to its owner, who may free the job. */
static void complete(struct initc_job *job)
{
	struct initc *c = job->client;

	if (job->state == INITC_RUNNING)
		c->alive[job->class]--;
	unlink_job(c, job);
	job->res.output_total = job->capture.total;
	job->res.output_newlines = job->capture.newlines;
	capture_finish(&job->capture, &job->res.output, &job->res.tail);
	release(job);
	job->done(job);
}

static void refuse(struct initc_job *job, uint32_t step, uint32_t errnum)
{
	job->res.refused_step = step ? (int) step : INITMSG_STEP_REQUEST;
	job->res.refused_errnum = (int) errnum;
	complete(job);
}

static struct initc_job *find(const struct initc *c, uint32_t id)
{
	for (struct initc_job *job = c->jobs; job; job = job->next)
		if (job->state == INITC_RUNNING && job->id == id)
			return job;
	return NULL;
}

static bool has_room(const struct initc *c, enum initc_class class)
{
	if (class == INITC_WORKER)
		return c->alive[INITC_WORKER] < WORK_THREADS_MAX;
	return c->alive[INITC_LOOP] + c->abandoned < INITC_LOOP_MAX;
}

/* --- talking to init ---------------------------------------------------------------------------------------------- */

static int send_spawn(struct initc *c, struct initc_job *job)
{
	int r = fdpass_send(c->source.fd, job->packet.p, job->packet.len, job->fds, ARRAY_LEN(job->fds));

	if (r < 0)
		return r;
	/* Our copies of the writing end must go, or the end of the output would never be seen. */
	for (size_t i = 0; i < ARRAY_LEN(job->fds); i++)
		job->fds[i] = fd_close(job->fds[i]);
	buf_done(&job->packet);
	job->state = INITC_RUNNING;
	c->alive[job->class]++;
	job->start_ms = clock_now_ms();
	job->deadline_ms = job->start_ms + job->timeout_ms;
	return 0;
}

static int send_kill(struct initc *c, struct initc_job *job)
{
	struct initmsg_kill kill = { .head = { .type = INITMSG_KILL, .id = job->id } };
	int r = fdpass_send(c->source.fd, &kill, sizeof(kill), NULL, 0);

	if (r < 0)
		return r;
	job->kill_sent = true;
	return 0;
}

static void want_write(struct initc *c, bool on)
{
	if (c->waiting == on || c->gone)
		return;
	c->waiting = on;
	if (loop_modify(c->loop, &c->source, EPOLLIN | (on ? (uint32_t) EPOLLOUT : 0)) < 0)
		c->waiting = false; /* the next tick tries again */
}

/* Sends whatever waits to be sent. */
static void pump(struct initc *c)
{
	struct initc_job *next;
	int r = 0;

	for (struct initc_job *job = c->jobs; job && r != -EAGAIN && !c->gone; job = next) {
		next = job->next;
		r = 0;
		if (job->state == INITC_QUEUED && !job->kill_wanted && has_room(c, job->class))
			r = send_spawn(c, job);
		else if (job->state == INITC_RUNNING && job->kill_wanted && !job->kill_sent)
			r = send_kill(c, job);
		if (r < 0 && r != -EAGAIN && job->state == INITC_QUEUED)
			refuse(job, INITMSG_STEP_REQUEST, (uint32_t) -r);
	}
	want_write(c, r == -EAGAIN);
}

static void exited(struct initc_job *job, const struct initmsg_exited *m)
{
	/* Everything it wrote is in the pipe now; nothing that survived can delay us. */
	read_output(job, INITC_DRAIN_READS);
	job->res.wait_status = m->wait_status;
	job->res.killed = m->killed;
	job->res.metrics = m->metrics;
	job->res.limits = m->limits;
	job->res.sandbox = m->sandbox;
	job->res.denials = m->denials;
	complete(job);
}

/* False when the message makes no sense. */
static bool dispatch(struct initc *c, const union initc_message *m, size_t len)
{
	struct initc_job *job = len >= sizeof(m->head) ? find(c, m->head.id) : NULL;

	if (len == sizeof(m->started) && m->head.type == INITMSG_STARTED)
		return true;
	if (len == sizeof(m->refused) && m->head.type == INITMSG_REFUSED) {
		if (job)
			refuse(job, m->refused.step, m->refused.errnum);
	} else if (len == sizeof(m->exited) && m->head.type == INITMSG_EXITED) {
		if (job)
			exited(job, &m->exited);
	} else {
		return false;
	}
	if (!job && c->abandoned > 0)
		c->abandoned--;
	return true;
}

static void init_gone(struct initc *c)
{
	loop_remove(c->loop, &c->source);
	c->gone = true;
}

static void ready(struct loop_source *source, uint32_t events)
{
	struct initc *c = CONTAINER_OF(source, struct initc, source);
	union initc_message m;
	size_t nfds;

	for (int i = 0; (events & ~(uint32_t) EPOLLOUT) && i < INITC_MESSAGES_AT_ONCE; i++) {
		ssize_t n = fdpass_recv(source->fd, &m, sizeof(m), NULL, 0, &nfds);
		if (n == -EAGAIN)
			break;
		if (n <= 0 || !dispatch(c, &m, (size_t) n)) {
			init_gone(c);
			return;
		}
	}
	pump(c);
}

int initc_init(struct initc *c, struct loop *loop, int sock)
{
	memset(c, 0, sizeof(*c));
	c->loop = loop;
	c->null_fd = -EBADF;
	c->source = (struct loop_source) { .fd = sock, .ready = ready };
	/* The socket's other end is init's own: this flag is seen by nobody else. */
	int r = fd_set_nonblock(sock, true);
	return r < 0 ? r : loop_add(loop, &c->source, EPOLLIN);
}

void initc_done(struct initc *c)
{
	if (!c->gone)
		init_gone(c);
	c->null_fd = fd_close(c->null_fd);
	free(c->scratch);
	c->scratch = NULL;
}

/* --- starting ----------------------------------------------------------------------------------------------------- */

static int open_input(struct initc *c, const struct exec_request *req)
{
	if (!req->input) {
		if (c->null_fd < 0)
			c->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		int fd = c->null_fd < 0 ? -1 : fcntl(c->null_fd, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? -errno : fd;
	}
	if (req->input_len > EXEC_INPUT_MAX)
		return -E2BIG;
	_cleanup_fd_ int fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	int r = fd_write_all(fd, req->input, req->input_len);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int open_streams(struct initc *c, struct initc_job *job, const struct exec_request *req)
{
	int ends[2];

	job->fds[0] = open_input(c, req);
	if (job->fds[0] < 0)
		return job->fds[0];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	job->output = (struct loop_source) { .fd = ends[0], .ready = output_ready };
	job->fds[1] = ends[1];
	job->fds[2] = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
	if (job->fds[2] < 0)
		return -errno;
	/* Only our end: the command gets an ordinary blocking pipe. */
	int r = fd_set_nonblock(ends[0], true);
	return r < 0 ? r : loop_add(c->loop, &job->output, EPOLLIN);
}

static int prepare(struct initc *c, struct initc_job *job, const struct exec_request *req, const char *root_name)
{
	if (!c->scratch)
		c->scratch = malloc(INITC_READ_SIZE);
	if (!c->scratch)
		return -ENOMEM;
	int r = initmsg_spawn(&job->packet, job->id, req->cwd ? req->cwd : root_name, req->argv, &req->limits);
	return r < 0 ? r : open_streams(c, job, req);
}

int initc_start(struct initc *c, struct initc_job *job, const struct exec_request *req, const char *root_name,
		enum initc_class class)
{
	if (c->gone)
		return -EPIPE;
	if (++c->next_id == 0)
		c->next_id = 1;
	job->client = c;
	job->id = c->next_id;
	job->class = class;
	job->fds[0] = job->fds[1] = job->fds[2] = job->output.fd = -EBADF;
	job->kill_wanted = job->kill_sent = false;
	job->timeout_ms = req->timeout_ms;
	job->deadline_ms = INT64_MAX;
	job->next = NULL;
	/* What is said when init does not: nothing of use, and no limit that was not given. */
	job->res = (struct exec_result) {
		.metrics = { .read_bytes = INITMSG_UNKNOWN, .written_bytes = INITMSG_UNKNOWN, .throttled_us = INITMSG_UNKNOWN },
		.limits = req->limits,
	};
	capture_init(&job->capture, req->output_max, MIN(req->tail_max, (size_t) EXEC_TAIL_MAX));
	int r = prepare(c, job, req, root_name);
	if (r < 0) {
		release(job);
		return r;
	}
	job->state = INITC_QUEUED;
	struct initc_job **last = &c->jobs;
	while (*last)
		last = &(*last)->next;
	*last = job;
	if (has_room(c, class) && !c->waiting && send_spawn(c, job) == -EAGAIN)
		want_write(c, true);
	return 0;
}

void initc_cancel(struct initc_job *job)
{
	if (job->state == INITC_IDLE)
		return;
	if (!job->kill_wanted)
		job->deadline_ms = clock_now_ms() + INITC_KILL_GRACE_MS;
	job->kill_wanted = true;
	job->res.cancelled = true;
	if (job->state == INITC_RUNNING && !job->kill_sent && send_kill(job->client, job) == -EAGAIN)
		want_write(job->client, true);
}

void initc_kill_all(struct initc *c)
{
	for (struct initc_job *job = c->jobs; job; job = job->next)
		initc_cancel(job);
}

/* --- time --------------------------------------------------------------------------------------------------------- */

/*
 * Init has not ended it in time, as with a process stuck in the kernel: its place stays taken, its owner waits no
 * longer.
 */
static void abandon(struct initc_job *job)
{
	job->client->abandoned++;
	job->res.wait_status = SIGKILL; /* as waitpid(2) shows a death by this signal */
	job->res.metrics.wall_us = (uint64_t) (clock_now_ms() - job->start_ms) * 1000;
	complete(job);
}

int64_t initc_tick(struct initc *c, int64_t now_ms)
{
	struct initc_job *next_job;
	int64_t next = INT64_MAX;

	for (struct initc_job *job = c->jobs; job; job = next_job) {
		next_job = job->next;
		if (job->state == INITC_QUEUED && job->kill_wanted) {
			job->res.wait_status = SIGKILL;
			complete(job);
			continue;
		}
		if (job->state == INITC_RUNNING && now_ms >= job->deadline_ms && job->kill_wanted) {
			abandon(job);
			continue;
		}
		if (job->state == INITC_RUNNING && now_ms >= job->deadline_ms) {
			job->res.timed_out = true;
			job->kill_wanted = true;
			job->deadline_ms = now_ms + INITC_KILL_GRACE_MS;
		}
		next = MIN(next, job->deadline_ms);
	}
	pump(c);
	return next;
}
