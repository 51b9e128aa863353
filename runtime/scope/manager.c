/*
 * The conversation with systemd: see manager.h. The only user of libsystemd, and the only code of ours behind which bytes of the
 * bus are parsed. Runs in cloche-scope, locked in.
 *
 * The order matters: the match for JobRemoved is sent before the call, so that the end of the job cannot be missed. Our unit's name
 * is random, so that the signal is told from others by it, and no waiting for the job's path is needed.
 */
#include "runtime/scope/manager.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "runtime/base/clock.h"
#include "runtime/base/fd.h"
#include "runtime/scope/answer.h"

#define SERVICE "org.freedesktop.systemd1"
#define OBJECT "/org/freedesktop/systemd1"
#define INTERFACE "org.freedesktop.systemd1.Manager"

#define SECOND_US UINT64_C(1000000)
#define STOP_US (10 * SECOND_US) /* when the manager ends a scope, at a shutdown: from SIGTERM to SIGKILL */

struct manager {
	sd_bus *bus;
	struct scopemsg_answer *answer; /* borrowed */
	char unit[SCOPEMSG_UNIT_MAX];   /* empty until it is asked for */
	bool direct;
	bool accepted; /* the call was answered */
	bool finished; /* the job is over, well */
};

/* What D-Bus calls an error, and what that means here. */
static const struct {
	const char *name;
	enum scopemsg_cause cause;
} errors[] = {
	{ SD_BUS_ERROR_SERVICE_UNKNOWN, SCOPEMSG_NO_MANAGER },
	{ SD_BUS_ERROR_NAME_HAS_NO_OWNER, SCOPEMSG_NO_MANAGER },
	{ SD_BUS_ERROR_UNKNOWN_OBJECT, SCOPEMSG_NO_MANAGER },
	{ SD_BUS_ERROR_UNKNOWN_INTERFACE, SCOPEMSG_NO_MANAGER },
	{ SD_BUS_ERROR_UNKNOWN_METHOD, SCOPEMSG_TOO_OLD },
	{ SD_BUS_ERROR_UNKNOWN_PROPERTY, SCOPEMSG_TOO_OLD },
	{ SD_BUS_ERROR_PROPERTY_READ_ONLY, SCOPEMSG_TOO_OLD },
	{ SD_BUS_ERROR_NO_REPLY, SCOPEMSG_BROKEN },
	{ SD_BUS_ERROR_TIMEOUT, SCOPEMSG_TIMEOUT },
	{ SD_BUS_ERROR_DISCONNECTED, SCOPEMSG_BROKEN },
};

static enum scopemsg_cause cause_of(const sd_bus_error *error)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		if (sd_bus_error_has_name(error, errors[i].name))
			return errors[i].cause;
	return SCOPEMSG_REFUSED;
}

static int fail(struct manager *m, sd_bus_message *reply)
{
	const sd_bus_error *error = sd_bus_message_get_error(reply);
	int errnum = sd_bus_message_get_errno(reply);

	return answer_set(m->answer, cause_of(error), errnum > 0 ? errnum : EIO, "%s (%s)",
			  error && error->message ? error->message : "an error without words", error ? error->name : "no name");
}

static int on_call(sd_bus_message *reply, void *userdata, _unused_ sd_bus_error *ret_error)
{
	struct manager *m = userdata;

	if (sd_bus_message_is_method_error(reply, NULL))
		return fail(m, reply);
	m->accepted = true;
	return 0;
}

static int on_match(sd_bus_message *reply, void *userdata, _unused_ sd_bus_error *ret_error)
{
	struct manager *m = userdata;

	return sd_bus_message_is_method_error(reply, NULL) ? fail(m, reply) : 0;
}

/* Signal JobRemoved: number of the job, its path, the unit, how it went. Those of other jobs come too. */
static int on_job(sd_bus_message *signal, void *userdata, _unused_ sd_bus_error *ret_error)
{
	struct manager *m = userdata;
	const char *path, *unit, *result;
	uint32_t id;
	int r = sd_bus_message_read(signal, "uoss", &id, &path, &unit, &result);

	if (r < 0)
		return answer_set(m->answer, SCOPEMSG_BROKEN, -r, "the end of a job is told in a form that is not JobRemoved's");
	if (!*m->unit || strcmp(unit, m->unit) != 0)
		return 0;
	if (strcmp(result, "done") != 0)
		return answer_set(m->answer, SCOPEMSG_JOB, EIO, "the job that makes '%s' ended with '%s'", m->unit, result);
	m->finished = true;
	return 0;
}

static void discard(struct manager *m)
{
	if (m)
		(void) sd_bus_unref(m->bus);
	free(m);
}

struct manager *manager_open(int fd, bool direct, struct scopemsg_answer *answer)
{
	struct manager *m = calloc(1, sizeof(*m));
	int r = m ? sd_bus_new(&m->bus) : -ENOMEM;

	if (r < 0 || (r = sd_bus_set_fd(m->bus, fd, fd)) < 0) {
		(void) fd_close(fd);
	} else {
		m->answer = answer;
		m->direct = direct;
		/* On a direct connection there is no sender to match, and no bus to say hello to. */
		if ((r = sd_bus_set_bus_client(m->bus, !direct)) >= 0 && (r = sd_bus_start(m->bus)) >= 0)
			r = sd_bus_match_signal_async(m->bus, NULL, direct ? NULL : SERVICE, OBJECT, INTERFACE, "JobRemoved", on_job,
						      direct ? NULL : on_match, m);
	}
	if (r >= 0)
		return m;
	(void) answer_set(answer, SCOPEMSG_BROKEN, -r, "the conversation cannot begin: %s", strerror(-r));
	discard(m);
	return NULL;
}

/*
 * What the scope is like. Delegate hands all of it to us, with those controllers that a sandbox is held by; without TasksMax the
 * manager's default would count beside our own limit. A scope whose processes have ended is forgotten, however they ended.
 */
static int add_properties(sd_bus_message *call, const struct scopemsg_request *request)
{
	char description[64];

	(void) snprintf(description, sizeof(description), "cloche sandbox of process %" PRIu32, request->pid);
	return sd_bus_message_append(call, "(sv)(sv)(sv)(sv)(sv)(sv)", "Description", "s", description, "PIDs", "au", 1, request->pid,
				     "DelegateControllers", "as", 4, "cpu", "io", "memory", "pids", "TasksMax", "t", UINT64_MAX,
				     "CollectMode", "s", "inactive-or-failed", "TimeoutStopUSec", "t", STOP_US);
}

static int make_call(struct manager *m, const struct scopemsg_request *request, sd_bus_message **ret)
{
	int r = sd_bus_message_new_method_call(m->bus, ret, SERVICE, OBJECT, INTERFACE, "StartTransientUnit");

	if (r < 0 || (r = sd_bus_message_set_auto_start(*ret, false)) < 0 ||
	    (r = sd_bus_message_append(*ret, "ss", request->unit, "fail")) < 0 ||
	    (r = sd_bus_message_open_container(*ret, SD_BUS_TYPE_ARRAY, "(sv)")) < 0 || (r = add_properties(*ret, request)) < 0 ||
	    (r = sd_bus_message_close_container(*ret)) < 0)
		return r;
	return sd_bus_message_append(*ret, "a(sa(sv))", 0); /* no other units */
}

int manager_ask(struct manager *m, const struct scopemsg_request *request)
{
	sd_bus_message *call = NULL;
	int r = make_call(m, request, &call);

	if (r >= 0) {
		(void) snprintf(m->unit, sizeof(m->unit), "%s", request->unit);
		r = sd_bus_call_async(m->bus, NULL, call, on_call, m, SCOPEMSG_LIFE_S * SECOND_US);
	}
	(void) sd_bus_message_unref(call);
	return r < 0 ? answer_set(m->answer, SCOPEMSG_BROKEN, -r, "the question cannot be sent: %s", strerror(-r)) : 0;
}

int manager_poll(struct manager *m, struct pollfd *ret, int *ret_timeout_ms)
{
	uint64_t until = UINT64_MAX;
	int events = sd_bus_get_events(m->bus);
	int fd = sd_bus_get_fd(m->bus);
	int r = events < 0 ? events : fd < 0 ? fd : sd_bus_get_timeout(m->bus, &until);

	if (r < 0)
		return answer_set(m->answer, SCOPEMSG_BROKEN, -r, "the connection broke: %s", strerror(-r));
	*ret = (struct pollfd) { .fd = fd, .events = (short) events };
	*ret_timeout_ms = -1;
	if (until != UINT64_MAX) {
		int64_t left = (int64_t) (until / 1000) - clock_now_ms();
		*ret_timeout_ms = left <= 0 ? 0 : (int) MIN(left, SCOPEMSG_LIFE_S * 1000);
	}
	return 0;
}

int manager_turn(struct manager *m)
{
	int r = sd_bus_process(m->bus, NULL);

	if (m->answer->cause != SCOPEMSG_NO_CAUSE)
		return -m->answer->errnum;
	if (r == -EPERM)
		return answer_set(m->answer, SCOPEMSG_REFUSED, EPERM, "it does not take our identity, or is no bus");
	if (r < 0)
		return answer_set(m->answer, SCOPEMSG_BROKEN, -r, "the connection broke: %s", strerror(-r));
	return r > 0;
}

bool manager_is_done(const struct manager *m)
{
	return m->accepted && m->finished;
}
