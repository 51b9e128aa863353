/*
 * Attacks through sockets: families that are the kernel's back doors, services of the host, the caller behind a stream. Runs inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "runtime/base/sysx.h"
#include "tests/escape/attack.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum { MCTP = 45, SMC = 43, PROTO_MPTCP = 262, PROTO_SCTP = 132, GENERIC = 16, AUDIT = 9 };

static const struct {
	const char *name;
	int family, type, protocol;
	bool needs_right; /* of the kernel, so that its own EPERM shows that it is there */
} kinds[] = {
	{ "alg", AF_ALG, SOCK_SEQPACKET, 0, false },
	{ "vsock", AF_VSOCK, SOCK_STREAM, 0, false },
	{ "packet", AF_PACKET, SOCK_RAW, 0, true },
	{ "key", AF_KEY, SOCK_RAW, 2, true },
	{ "xdp", AF_XDP, SOCK_RAW, 0, true },
	{ "rds", AF_RDS, SOCK_SEQPACKET, 0, false },
	{ "tipc", AF_TIPC, SOCK_STREAM, 0, false },
	{ "bluetooth", AF_BLUETOOTH, SOCK_RAW, 1, true },
	{ "can", AF_CAN, SOCK_RAW, 1, true },
	{ "nfc", AF_NFC, SOCK_SEQPACKET, 0, false },
	{ "qipcrtr", AF_QIPCRTR, SOCK_DGRAM, 0, false },
	{ "smc", SMC, SOCK_STREAM, 0, false },
	{ "mctp", MCTP, SOCK_DGRAM, 0, false },
	{ "netlink-audit", AF_NETLINK, SOCK_RAW, AUDIT, false },
	{ "netlink-generic", AF_NETLINK, SOCK_RAW, GENERIC, false },
	{ "mptcp", AF_INET, SOCK_STREAM, PROTO_MPTCP, false },
	{ "sctp", AF_INET, SOCK_STREAM, PROTO_SCTP, false },
	{ "raw", AF_INET, SOCK_RAW, 1, false },
};

/* Any of the families is there. */
static enum verdict family(char **args)
{
	enum verdict v = NOT_TRIED;

	for (; *args; args++)
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
			if (strcmp(kinds[i].name, *args) != 0)
				continue;
			int fd = socket(kinds[i].family, kinds[i].type | SOCK_CLOEXEC, kinds[i].protocol);
			bool is_there = fd >= 0 || (kinds[i].needs_right && errno == EPERM);
			(void) attack_result(fd, *args);
			v = is_there || v == SUCCEEDED ? SUCCEEDED : REFUSED;
			if (fd >= 0)
				(void) close(fd);
		}
	return v;
}

/* A TCP service on the host's loopback; what it says is shown. */
static enum verdict connect_tcp(char **args)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!args[0] || fd < 0)
		return NOT_TRIED;
	to.sin_port = htons((uint16_t) strtoul(args[0], NULL, 10));
	enum verdict v = attack_result(connect(fd, (const struct sockaddr *) &to, sizeof(to)), "connect");
	return v == SUCCEEDED && !attack_show(fd) ? REFUSED : v;
}

static enum verdict connect_unix(const char *name, bool abstract)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || len + 1 >= sizeof(to.sun_path))
		return NOT_TRIED;
	memcpy(to.sun_path + (abstract ? 1 : 0), name, len);
	socklen_t size = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + len + 1);
	enum verdict v = attack_result(connect(fd, (const struct sockaddr *) &to, size), name);
	return v == SUCCEEDED && !attack_show(fd) ? REFUSED : v;
}

/* A service of the host on an abstract name, as X11 and D-Bus have. */
static enum verdict connect_abstract(char **args)
{
	return args[0] ? connect_unix(args[0], true) : NOT_TRIED;
}

/* A service of the host at a path, as Docker and ssh-agent have. */
static enum verdict connect_path(char **args)
{
	enum verdict v = args[0] ? REFUSED : NOT_TRIED;

	for (; *args; args++)
		if (connect_unix(*args, false) == SUCCEEDED)
			v = SUCCEEDED;
	return v;
}

/* Anything out to another machine: an address that is nobody's, since a route is enough. */
static enum verdict send_out(_unused_ char **args)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(0xc0000201) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? NOT_TRIED : attack_result(sendto(fd, "x", 1, 0, (const struct sockaddr *) &to, sizeof(to)), "sendto");
}

/* Standard input is a Unix socket: its peer is a process of the host, and SO_PEERPIDFD a handle on it. */
static enum verdict kill_peer(_unused_ char **args)
{
	int pidfd = -1;
	socklen_t len = sizeof(pidfd);

	if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) < 0)
		return errno == ENOTSOCK ? NOT_TRIED : attack_result(-1, "SO_PEERPIDFD");
	enum verdict v = attack_result(sysx_pidfd_send_signal(pidfd, SIGKILL), "pidfd_send_signal");
	if (attack_result(syscall(SYS_pidfd_getfd, pidfd, 0, 0), "pidfd_getfd") == SUCCEEDED ||
	    attack_result(syscall(SYS_setns, pidfd, CLONE_NEWNS), "setns") == SUCCEEDED)
		v = SUCCEEDED;
	return v;
}

/* Shared memory of the host, by its System V key. */
static enum verdict shared_memory(char **args)
{
	int id = args[0] ? shmget((key_t) strtoul(args[0], NULL, 0), 0, 0) : -1;

	if (attack_result(id, "shmget") == REFUSED)
		return args[0] ? REFUSED : NOT_TRIED;
	const char *memory = shmat(id, NULL, SHM_RDONLY);
	if (memory == (const char *) -1) /* NOLINT(performance-no-int-to-ptr) */
		return attack_result(-1, "shmat");
	printf("read: %.100s\n", memory);
	return SUCCEEDED;
}

const struct attack socket_attacks[] = {
	{ "family", "NAME...", family },
	{ "connect-tcp", "PORT", connect_tcp },
	{ "connect-abstract", "NAME", connect_abstract },
	{ "connect-path", "PATH...", connect_path },
	{ "send-out", NULL, send_out },
	{ "kill-peer", NULL, kill_peer },
	{ "shared-memory", "KEY", shared_memory },
	{ NULL, NULL, NULL },
};
