/*
 * Messages with file descriptors over an AF_UNIX SOCK_SEQPACKET socket (unix(7), SCM_RIGHTS).
 *
 * One call is one message. The receiver states exactly how many descriptors it expects at the most; anything truncated or
 * in excess is closed and reported as an error, so that no descriptor is ever installed by surprise.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "runtime/base/attr.h"

enum { FDPASS_MAX_FDS = 8 };

/* Sends one message of @len > 0 bytes with @nfds descriptors (which stay the caller's). 0 or -errno; never SIGPIPE. */
int fdpass_send(int sock, const void *data, size_t len, const int *fds, size_t nfds) _must_check_;

/*
 * Receives one message into @data. Descriptors (close-on-exec, owned by the caller) go into @fds, their number into
 * *@ret_nfds; unused slots are set to -EBADF. Returns the message's length, 0 at the end of the stream, -EMSGSIZE when it was
 * longer than @cap, -EPROTO when it carried more than @max_fds descriptors, or -errno.
 */
ssize_t fdpass_recv(int sock, void *data, size_t cap, int *fds, size_t max_fds, size_t *ret_nfds) _must_check_;
