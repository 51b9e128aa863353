/*
 * What cloche and cloche-scope agree on. `cloche-scope KIND=PATH...` is started with one SOCK_SEQPACKET socket as descriptor 3 and an
 * empty environment; each PATH is a socket of systemd's manager, tried in that order, and KIND is "bus" when a message bus is
 * behind it or "direct" when the manager itself is. It connects at once. One request comes when there is a process to place, one
 * answer goes back, and both ends are done; when the socket closes first, cloche-scope ends. Messages are fixed structures in host
 * order, exchanged as they lie in memory.
 *
 * The answer proves nothing: where the process is now, the asker reads from the kernel.
 */
#pragma once

#include <stdint.h>

enum {
	SCOPEMSG_FD = 3,
	SCOPEMSG_WAIT_MS = 5000, /* cloche-scope gives up that long after the request */
	SCOPEMSG_LIFE_S = 15,    /* and ends after that, whatever happens */
	SCOPEMSG_UNIT_MAX = 64,  /* bytes of a unit's name with its NUL */
	SCOPEMSG_TEXT_MAX = 512, /* bytes of a sentence with its NUL */
	SCOPEMSG_PATH_MAX = 108, /* bytes of a socket's path with its NUL: what the kernel takes */
	SCOPEMSG_SOCKETS_MAX = 8,
};

#define SCOPEMSG_BUS "bus="
#define SCOPEMSG_DIRECT "direct="
#define SCOPEMSG_UNIT_PREFIX "cloche-"
#define SCOPEMSG_UNIT_SUFFIX ".scope"

struct scopemsg_request {
	char unit[SCOPEMSG_UNIT_MAX]; /* "cloche-NAME.scope", NUL-terminated; NAME of letters, digits and '-' */
	uint32_t pid;      /* the process to place in it, in the PID namespace of both */
	uint32_t reserved; /* 0 */
};

/* Why there is no scope. Each has a way out of its own, which the asker tells. */
enum scopemsg_cause {
	SCOPEMSG_NO_CAUSE,   /* there is one */
	SCOPEMSG_NO_BUS,     /* none of the sockets takes a connection */
	SCOPEMSG_UNTRUSTED,  /* whoever listens there is not who it must be */
	SCOPEMSG_NO_MANAGER, /* a bus, but no manager of systemd on it */
	SCOPEMSG_REFUSED,    /* the manager, or the policy of the bus, says no */
	SCOPEMSG_TOO_OLD,    /* the manager does not know what it is asked for */
	SCOPEMSG_JOB,        /* the manager said yes, and then did not get it done */
	SCOPEMSG_TIMEOUT,    /* no answer in time */
	SCOPEMSG_BROKEN,     /* the connection broke, or what came is not D-Bus */
	SCOPEMSG_OURSELVES,  /* cloche-scope cannot do its work: no memory, cannot lock itself in */
	SCOPEMSG_CAUSES,
};

struct scopemsg_answer {
	uint32_t cause; /* enum scopemsg_cause */
	int32_t errnum; /* positive errno; 0 with SCOPEMSG_NO_CAUSE */
	char text[SCOPEMSG_TEXT_MAX]; /* what happened: printable ASCII, NUL-terminated; for people only */
};
