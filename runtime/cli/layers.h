/*
 * Where the options of a sandbox come from: what cloche does by itself, then a profile, then the command line, then (with consent,
 * and only to take away) the profile in the workspace.
 */
#pragma once

#include "runtime/base/err.h"
#include "runtime/base/opt.h"
#include "runtime/cli/options.h"

/*
 * Parses the words of a command that starts a sandbox: as opt_parse(), with the options of the profile that they, or the variable
 * CLOCHE_PROFILE, name in front. Returns the number of operands, or -errno with @err filled.
 */
int layers_parse(struct options *o, unsigned int group, enum opt_order order, int argc, char **argv, struct err *err) _must_check_;

/*
 * To be called when the workspace is known: lets the workspace's own profile narrow the sandbox when that was allowed, and checks what
 * can only be checked when everything was said. 0, or -errno with @err filled.
 */
int layers_settle(struct options *o, struct err *err) _must_check_;

/* Applies a profile to @o: each of its options as on the command line. 0, or -errno with @err filled. */
int layers_apply(struct options *o, const struct profile *p, enum layer layer, struct err *err) _must_check_;

/* A policy_origin for @userdata, a struct options: "default", "profile strict", "command line" or "workspace profile". */
const char *layers_origin(const void *userdata, const char *name, const void *field, size_t size);
