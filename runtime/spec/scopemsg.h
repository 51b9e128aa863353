/*
 * What cloche and cloche-scope agree on: `cloche-scope user|system` is started with one SOCK_SEQPACKET socket as descriptor 3 and
 * reaches the manager at once. One request comes when there is a process to place, one answer goes back, and both ends are done;
 * when the socket closes first, cloche-scope ends. Messages are fixed structures in host order, exchanged as they lie in memory.
 *
 * The answer proves nothing: where the process is now, the asker reads from the kernel.
 */
#pragma once

#include <stdint.h>

enum {
	SCOPEMSG_FD = 3,
	SCOPEMSG_WAIT_MS = 5000,  /* cloche-scope gives up that long after the request */
	SCOPEMSG_LIFE_S = 15,     /* and ends after that, whatever happens */
	SCOPEMSG_UNIT_MAX = 64,   /* bytes of a unit's name with its NUL */
	SCOPEMSG_TEXT_MAX = 512,  /* bytes of a sentence with its NUL */
};

#define SCOPEMSG_SAME_OWNER UINT32_MAX

struct scopemsg_request {
	char unit[SCOPEMSG_UNIT_MAX]; /* "cloche-….scope", NUL-terminated */
	uint32_t pid;   /* the process to place in it, in the PID namespace of both */
	uint32_t owner; /* numeric user who may make cgroups in it (system manager only), or SCOPEMSG_SAME_OWNER: the manager's */
	uint32_t group; /* its group, with @owner */
	uint32_t reserved; /* 0 */
};

/* Why there is no scope. Each has a way out, which the asker tells. */
enum scopemsg_cause {
	SCOPEMSG_NO_CAUSE, /* it is there */
	SCOPEMSG_NO_BUS,   /* no socket to ask at */
	SCOPEMSG_UNTRUSTED,/* the other end of the socket is not who it must be */
	SCOPEMSG_NO_MANAGER, /* a bus, but no systemd manager on it */
	SCOPEMSG_REFUSED,  /* the manager, or the policy of the bus, says no */
	SCOPEMSG_JOB,      /* the manager said yes, and the job did not succeed */
	SCOPEMSG_TIMEOUT,  /* no answer in time */
	SCOPEMSG_PROTOCOL, /* bytes that are no D-Bus message, or the connection broke */
	SCOPEMSG_CAUSES,
};

struct scopemsg_answer {
	uint32_t cause; /* enum scopemsg_cause */
	int32_t errnum; /* positive errno, 0 with SCOPEMSG_NO_CAUSE */
	char text[SCOPEMSG_TEXT_MAX]; /* what happened, NUL-terminated, printable ASCII; for people only */
};
