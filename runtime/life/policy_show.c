/*
 * The policy of a sandbox in words and as JSON: see policy.h. Runs in the launcher, which starts nothing then.
 */
#include "runtime/life/policy.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/jsonw.h"
#include "runtime/base/utf8.h"
#include "runtime/life/child.h"

enum { VALUE_MAX = 32, DESCRIPTION_MAX = SPEC_PATH_MAX + 128 };

static const char *const access_words[] = {
	[POLICY_READ] = "read", [POLICY_WRITE] = "read, write", [POLICY_MEMORY] = "memory",
};

/* A size as people write it: the largest unit that divides it. */
static void size_text(uint64_t bytes, char text[static VALUE_MAX])
{
	static const struct {
		const char *letter;
		unsigned int shift;
	} units[] = { { "t", 40 }, { "g", 30 }, { "m", 20 }, { "k", 10 } };

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (bytes == 0 || bytes & ((UINT64_C(1) << units[i].shift) - 1))
			continue;
		(void) snprintf(text, VALUE_MAX, "%llu%s", (unsigned long long) (bytes >> units[i].shift), units[i].letter);
		return;
	}
	(void) snprintf(text, VALUE_MAX, "%llu", (unsigned long long) bytes);
}

static void limit_text(const struct policy_limit *l, char text[static VALUE_MAX])
{
	unsigned long long value = l->value;

	if (!l->limited)
		(void) snprintf(text, VALUE_MAX, "no limit");
	else if (l->unit == POLICY_BYTES)
		size_text(l->value, text);
	else if (l->unit == POLICY_CPUS)
		(void) snprintf(text, VALUE_MAX, value % 1000 ? "%llu.%03llu" : "%llu", value / 1000, value % 1000);
	else
		(void) snprintf(text, VALUE_MAX, "%llu%s", value, l->unit == POLICY_SECONDS ? " s" : "");
}

/* Names of the host's folders and an agent's files may hold anything. */
static void add_printable(struct buf *out, const char *text)
{
	utf8_add_printable(out, text, strlen(text));
}

/* --- for people -------------------------------------------------------------------------------------------------------- */

static void place_text(const struct policy_place *place, struct buf *out)
{
	char size[VALUE_MAX];

	buf_addf(out, "  %-12s /", access_words[place->access]);
	add_printable(out, place->path);
	if (place->source) {
		buf_add_str(out, " = ");
		add_printable(out, place->source);
		buf_add_str(out, " on the host");
	}
	if (place->access == POLICY_MEMORY) {
		size_text(place->size, size);
		buf_addf(out, ", %s", size);
	}
	if (place->by_entry)
		buf_add_str(out, ", entries as they are at the start");
	if (place->no_exec)
		buf_add_str(out, ", nothing can be executed");
	buf_addf(out, "  [%s]\n", place->origin);
}

static void places_text(const struct policy *p, struct buf *out)
{
	size_t system = 0;

	buf_add_str(out, "\nFiles\n");
	if (!p->launch) {
		buf_add_str(out, "  not known, since the sandbox would not start\n");
		return;
	}
	for (size_t i = 0; i < p->place_count; i++) {
		system += p->places[i].system;
		if (!p->places[i].system)
			place_text(&p->places[i], out);
	}
	size_t protected = p->launch->host.facts.protected_count;
	if (protected)
		buf_addf(out, "  %-12s %zu paths of the workspace that programs of the host would execute or trust (--json names them)  [%s]\n",
			 "protected", protected, p->origin(p->userdata, "unprotect", NULL, 0));
	buf_addf(out, "  %-12s the host's /usr and harmless settings in /etc, %zu entries as far as they exist (--plan names them)  [always]\n",
		 "read", system);
	buf_addf(out, "  %-12s null, zero, full, random, urandom, tty and pseudo-terminals  [always]\n", "devices");
	buf_addf(out, "  %-12s everything else of the host: homes, /run, /var, /sys, the sockets of its services\n", "not there");
}

static void identity_text(const struct policy *p, struct buf *out)
{
	const struct spec *s = p->spec;

	buf_addf(out, "\nIdentity\n  inside       %s, uid %u, gid %u  [%s]\n", SPEC_USER, s->uid, s->gid, p->origin(p->userdata, "user", NULL, 0));
	if (p->launch)
		buf_addf(out, "  on the host  uid %u, gid %u\n", p->launch->host.uid, p->launch->host.gid);
	if (p->launch)
		buf_addf(out, "  other ids    %s  [%s]\n",
			 p->launch->ids.wanted ? "your subordinate ids, seen by their numbers" : "none: all others are nobody",
			 p->origin(p->userdata, "userns", NULL, 0));
	buf_addf(out, "  host name    %s  [%s]\n", s->hostname, p->origin(p->userdata, "hostname", NULL, 0));
	buf_addf(out, "\nNetwork\n  none         but a loopback of its own  [%s]\n", p->origin(p->userdata, "network", NULL, 0));
}

/* The controllers of a control group, with commas. */
static void controllers_text(unsigned int controllers, struct buf *out)
{
	const char *comma = "";

	for (unsigned int left = controllers; left; left &= left - 1) {
		buf_addf(out, "%s%s", comma, cgroup_controller_name((enum cgroup_controller) (left & -left)));
		comma = ", ";
	}
}

/* Where the control group is made. */
static void cgroup_text(const struct cgroup_report *r, const char *origin, struct buf *out)
{
	if (r->backend == CGROUP_NONE) {
		buf_addf(out, "  control group    none: `cloche doctor` says why  [%s]\n", origin);
		return;
	}
	buf_addf(out, "  control group    %s", cgroup_backend_describe(r->backend));
	if (r->base[0]) {
		buf_add_str(out, ", in ");
		add_printable(out, r->base);
	}
	if (r->controllers) {
		buf_add_str(out, " (");
		controllers_text(r->controllers, out);
		buf_add_char(out, ')');
	}
	buf_addf(out, "%s  [%s]\n", r->controllers ? "" : ", if systemd makes one when the sandbox starts", origin);
}

static void limits_text(const struct policy *p, struct buf *out)
{
	buf_add_str(out, "\nLimits\n");
	if (p->launch)
		cgroup_text(&p->launch->host.cgroup.report, p->origin(p->userdata, "cgroup", NULL, 0), out);
	for (size_t i = 0; i < p->limit_count; i++) {
		const struct policy_limit *l = &p->limits[i];
		char value[VALUE_MAX];

		limit_text(l, value);
		buf_addf(out, "  %-16s %-9s %s%s  [%s]\n", l->name, value, l->limited && !l->exact ? "approximate: " : "",
			 l->limited ? l->held_by : "", l->origin);
	}
}

static void walls_text(const struct policy *p, struct buf *out)
{
	buf_add_str(out, "\nWalls\n");
	for (size_t i = 0; i < p->wall_count; i++)
		buf_addf(out, "  %-20s %s%s\n", p->walls[i].name, p->walls[i].stands ? "" : "NOT THERE: ", p->walls[i].what);
}

void policy_text(const struct policy *p, struct buf *out)
{
	buf_add_str(out, "What a sandbox with these options may do. None was started.\n");
	if (p->refusal)
		buf_addf(out, "\nIt would not start: %s\n", p->refusal);
	if (p->profile) {
		buf_addf(out, "\nProfile\n  %s%s", p->profile->name, profile_description(p->profile)[0] ? ": " : "");
		add_printable(out, profile_description(p->profile));
		buf_add_char(out, '\n');
	}
	places_text(p, out);
	identity_text(p, out);
	limits_text(p, out);
	walls_text(p, out);
	buf_add_str(out, "\nIn brackets: who said so. Change it with the option of that name; `cloche run --help` lists them.\n");
}

void policy_plan_text(const struct policy *p, struct buf *out)
{
	const char *what, *why;

	buf_add_str(out, "The steps of a start, in their order. (Nothing was started.)\n\n");
	for (size_t i = 0; child_step_describe(i, &what, &why); i++)
		buf_addf(out, "%3zu. %s%s%s\n", i + 1, what, why ? ": " : "", why ? why : "");
	buf_add_str(out, "\nThe mount operations, in their order:\n\n");
	for (size_t i = 0; p->launch && i < p->launch->plan.count; i++) {
		char text[DESCRIPTION_MAX];
		mountplan_describe(&p->launch->plan.ops[i], text, sizeof(text));
		buf_addf(out, "%3zu. ", i + 1);
		add_printable(out, text);
		buf_add_str(out, p->launch->plan.ops[i].flags & MOUNT_OPTIONAL ? ", if it exists\n" : "\n");
	}
}

/* --- for programs ------------------------------------------------------------------------------------------------------ */

/* JSON is UTF-8; a file's name need not be. */
static void add_json(struct buf *out, const char *text)
{
	size_t len = strlen(text);
	_cleanup_buf_ struct buf good = BUF_INIT(3 * len + 1);

	utf8_repair(&good, text, len);
	jsonw_str(out, buf_cstr(&good));
}

static void member_str(struct buf *out, const char *name, const char *value)
{
	jsonw_name(out, name);
	if (value)
		add_json(out, value);
	else
		buf_add_str(out, "null");
}

static void member_number(struct buf *out, const char *name, uint64_t value)
{
	jsonw_name(out, name);
	buf_addf(out, "%llu", (unsigned long long) value);
}

static void member_bool(struct buf *out, const char *name, bool value)
{
	jsonw_name(out, name);
	buf_add_str(out, value ? "true" : "false");
}

static void begin_list(struct buf *out, const char *name)
{
	jsonw_name(out, name);
	buf_add_char(out, '[');
}

static void place_json(const struct policy_place *place, bool for_agent, struct buf *out)
{
	static const char *const words[] = { [POLICY_READ] = "read", [POLICY_WRITE] = "write", [POLICY_MEMORY] = "memory" };

	buf_add_str(out, "{\"path\":");
	_cleanup_buf_ struct buf path = BUF_INIT(SPEC_PATH_MAX + 1);
	buf_addf(&path, "/%s", place->path);
	add_json(out, buf_cstr(&path));
	member_str(out, "access", words[place->access]);
	if (!for_agent)
		member_str(out, "source", place->source);
	member_bool(out, "execute", !place->no_exec);
	member_bool(out, "by_entry", place->by_entry);
	member_bool(out, "optional", place->optional);
	if (place->access == POLICY_MEMORY)
		member_number(out, "size", place->size);
	member_str(out, "origin", place->origin);
	buf_add_char(out, '}');
}

static void limit_json(const struct policy_limit *l, struct buf *out)
{
	static const char *const units[] = {
		[POLICY_BYTES] = "bytes", [POLICY_CPUS] = "cpus", [POLICY_COUNT] = "count", [POLICY_SECONDS] = "seconds",
	};
	char text[VALUE_MAX];

	buf_add_char(out, '{');
	member_str(out, "name", l->name);
	jsonw_name(out, "value");
	if (l->unit == POLICY_CPUS)
		limit_text(l, text);
	else
		(void) snprintf(text, sizeof(text), "%llu", (unsigned long long) l->value);
	buf_add_str(out, l->limited ? text : "null");
	member_str(out, "unit", units[l->unit]);
	member_bool(out, "exact", l->exact);
	member_str(out, "held_by", l->limited ? l->held_by : NULL);
	member_str(out, "origin", l->origin);
	buf_add_char(out, '}');
}

static void cgroup_json(const struct policy *p, bool for_agent, struct buf *out)
{
	const struct cgroup_report *r = p->launch ? &p->launch->host.cgroup.report : NULL;

	jsonw_name(out, "cgroup");
	if (!r) {
		buf_add_str(out, "null");
		return;
	}
	buf_add_char(out, '{');
	member_str(out, "backend", cgroup_backend_name(r->backend));
	if (!for_agent)
		member_str(out, "path", r->base[0] ? r->base : NULL);
	begin_list(out, "controllers");
	for (unsigned int left = r->controllers; left; left &= left - 1) {
		buf_add_str(out, left == r->controllers ? "" : ",");
		add_json(out, cgroup_controller_name((enum cgroup_controller) (left & -left)));
	}
	buf_add_char(out, ']');
	member_str(out, "origin", p->origin(p->userdata, "cgroup", NULL, 0));
	buf_add_char(out, '}');
}

static void protected_json(const struct policy *p, struct buf *out)
{
	begin_list(out, "protected");
	for (size_t i = 0; p->launch && i < p->launch->host.facts.protected_count; i++) {
		_cleanup_buf_ struct buf path = BUF_INIT(SPEC_PATH_MAX + 1);
		buf_addf(&path, "/%s", p->launch->host.facts.protected[i].target);
		buf_add_str(out, i ? "," : "");
		add_json(out, buf_cstr(&path));
	}
	buf_add_char(out, ']');
}

static void identity_json(const struct policy *p, bool for_agent, struct buf *out)
{
	jsonw_name(out, "identity");
	buf_add_char(out, '{');
	member_str(out, "user", SPEC_USER);
	member_number(out, "uid", p->spec->uid);
	member_number(out, "gid", p->spec->gid);
	if (p->launch && !for_agent) {
		member_number(out, "host_uid", p->launch->host.uid);
		member_number(out, "host_gid", p->launch->host.gid);
		member_bool(out, "subordinate_ids", p->launch->ids.wanted);
	}
	member_str(out, "hostname", p->spec->hostname);
	member_str(out, "origin", p->origin(p->userdata, "user", NULL, 0));
	buf_add_char(out, '}');
	jsonw_name(out, "network");
	buf_add_char(out, '{');
	member_str(out, "mode", "none");
	member_str(out, "origin", p->origin(p->userdata, "network", NULL, 0));
	buf_add_char(out, '}');
}

static void walls_json(const struct policy *p, struct buf *out)
{
	begin_list(out, "walls");
	for (size_t i = 0; i < p->wall_count; i++) {
		buf_add_str(out, i ? ",{" : "{");
		member_str(out, "name", p->walls[i].name);
		member_bool(out, "stands", p->walls[i].stands);
		member_str(out, "what", p->walls[i].what);
		buf_add_char(out, '}');
	}
	buf_add_char(out, ']');
}

/* Names only: a value may be a secret. */
static void environment_json(const struct policy *p, struct buf *out)
{
	begin_list(out, "environment");
	for (size_t i = 0; p->launch && i < p->launch->env.count; i++) {
		const char *var = p->launch->env.vars[i];
		buf_add_str(out, i ? "," : "");
		size_t len = 0;
		while (var[len] && var[len] != '=')
			len++;
		jsonw_string(out, var, len);
	}
	buf_add_char(out, ']');
}

static void plan_json(const struct policy *p, struct buf *out)
{
	const char *what, *why;

	begin_list(out, "steps");
	for (size_t i = 0; child_step_describe(i, &what, &why); i++) {
		buf_add_str(out, i ? ",{" : "{");
		member_str(out, "step", what);
		member_str(out, "why", why);
		buf_add_char(out, '}');
	}
	buf_add_char(out, ']');
	begin_list(out, "mounts");
	for (size_t i = 0; p->launch && i < p->launch->plan.count; i++) {
		char text[DESCRIPTION_MAX];
		mountplan_describe(&p->launch->plan.ops[i], text, sizeof(text));
		buf_add_str(out, i ? "," : "");
		add_json(out, text);
	}
	buf_add_char(out, ']');
}

static void profile_json(const struct policy *p, bool for_agent, struct buf *out)
{
	jsonw_name(out, "profile");
	if (!p->profile) {
		buf_add_str(out, "null");
		return;
	}
	buf_add_char(out, '{');
	const char *slash = strrchr(p->profile->name, '/'); /* a file's name is its path */
	member_str(out, "name", for_agent && slash ? slash + 1 : p->profile->name);
	member_str(out, "description", profile_description(p->profile));
	if (for_agent) {
		buf_add_char(out, '}');
		return;
	}
	member_str(out, "file", p->profile->path[0] ? p->profile->path : NULL);
	begin_list(out, "options");
	const char *first = profile_next_option(p->profile, NULL);
	for (const char *o = first; o; o = profile_next_option(p->profile, o)) {
		buf_add_str(out, o == first ? "" : ",");
		add_json(out, o);
	}
	buf_add_str(out, "]}");
}

/* What holds in the sandbox. */
static void rules_json(const struct policy *p, bool for_agent, struct buf *out)
{
	profile_json(p, for_agent, out);
	begin_list(out, "files");
	for (size_t i = 0; i < p->place_count; i++) {
		buf_add_str(out, i ? "," : "");
		place_json(&p->places[i], for_agent, out);
	}
	buf_add_char(out, ']');
	protected_json(p, out);
	identity_json(p, for_agent, out);
	begin_list(out, "limits");
	for (size_t i = 0; i < p->limit_count; i++) {
		buf_add_str(out, i ? "," : "");
		limit_json(&p->limits[i], out);
	}
	buf_add_char(out, ']');
	cgroup_json(p, for_agent, out);
	walls_json(p, out);
	environment_json(p, out);
}

void policy_json(const struct policy *p, bool plan, struct buf *out)
{
	buf_add_str(out, "{\"version\":\"" CLOCHE_VERSION "\"");
	member_bool(out, "would_start", p->launch != NULL);
	member_str(out, "refusal", p->refusal);
	rules_json(p, false, out);
	if (plan)
		plan_json(p, out);
	buf_add_str(out, "}\n");
}

void policy_agent_json(const struct policy *p, struct buf *out)
{
	buf_add_str(out, "{\"version\":\"" CLOCHE_VERSION "\"");
	rules_json(p, true, out);
	buf_add_char(out, '}');
}
