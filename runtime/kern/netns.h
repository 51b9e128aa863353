/*
 * The sandbox's network namespace. With `--network none` it holds a loopback interface and nothing else.
 */
#pragma once

#include "runtime/base/attr.h"

/*
 * Sets the loopback interface of the caller's network namespace up (rtnetlink(7)). Needs CAP_NET_ADMIN over it. Allocates
 * nothing: the request was made by libnl while cloche was built (tools/build/gen-loopback.c). 0 or -errno.
 */
int netns_loopback_up(void) _must_check_;
