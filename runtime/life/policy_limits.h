/*
 * The part of a policy that is about limits: what holds each of them on this host, and how exactly.
 */
#pragma once

#include "runtime/life/policy.h"

/* Fills the limits of @p. */
void policy_collect_limits(struct policy *p);
