/*
 * What a sandbox may see, reach and spend, read off the very structures that it is started from: the specification and the prepared
 * launch. Nothing here describes a second time what is decided elsewhere, and nothing is claimed that only a start can show.
 *
 * For `cloche explain`, and for the agent in the sandbox, to whom its server shows it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buf.h"
#include "runtime/life/launch.h"
#include "runtime/life/profiles.h"
#include "runtime/spec/spec.h"

enum { POLICY_LIMITS_MAX = 40, POLICY_WALLS_MAX = 32 };

/*
 * Who set a value, for people. @option is the name of the option that sets it; where one option sets several values, @field points
 * to the one in the specification, else it is NULL.
 */
typedef const char *policy_origin(const void *userdata, const char *option, const void *field, size_t size);

enum policy_access {
	POLICY_READ,   /* of the host, read-only */
	POLICY_WRITE,  /* of the host, writable */
	POLICY_MEMORY, /* in memory, writable, gone at the end */
};

struct policy_place {
	const char *path;   /* inside, without the first slash */
	const char *source; /* on the host, or NULL */
	enum policy_access access;
	bool system;        /* belongs to every sandbox: the host's programs and settings */
	bool optional;      /* not there when the host does not have it */
	bool by_entry;      /* shown entry by entry: what appears there later is not seen */
	bool no_exec;       /* nothing can be executed there */
	uint64_t size;      /* bytes (POLICY_MEMORY) */
	const char *origin;
};

enum policy_unit { POLICY_BYTES, POLICY_CPUS /* thousandths */, POLICY_COUNT, POLICY_SECONDS };

struct policy_limit {
	const char *name; /* of the option; of a resource limit, "ulimit NAME" without the first word */
	bool limited;
	uint64_t value;
	enum policy_unit unit;
	const char *held_by; /* what holds it on this host as cloche is today */
	bool exact;
	const char *origin;
};

struct policy_wall {
	const char *name;
	const char *what; /* what it keeps away */
	bool stands;      /* false: left out, or weaker; @what says so */
};

struct policy {
	const struct spec *spec;
	const struct launch *launch; /* NULL: it cannot be prepared */
	const char *refusal;         /* why not, or NULL */
	const struct profile *profile; /* or NULL */
	policy_origin *origin;
	const void *userdata;
	struct policy_place places[MOUNTPLAN_OPS_MAX];
	size_t place_count;
	struct policy_limit limits[POLICY_LIMITS_MAX];
	size_t limit_count;
	struct policy_wall walls[POLICY_WALLS_MAX];
	size_t wall_count;
};

/* Fills the lists of @p from its other members. It borrows from all of them. */
void policy_collect(struct policy *p);

/* The policy for people, and for programs (docs/profiles.md describes the members); with @plan, what a start does in order. */
void policy_text(const struct policy *p, struct buf *out);
void policy_plan_text(const struct policy *p, struct buf *out);
void policy_json(const struct policy *p, bool plan, struct buf *out);

/*
 * The same for the agent inside, on one line: without what is about the host (paths, ids, the profile's file) and without the options of
 * the profile, which may hold values of environment variables.
 */
void policy_agent_json(const struct policy *p, struct buf *out);
