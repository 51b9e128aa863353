/*
 * `cloche doctor`: one line for each layer of isolation on this host.
 */
#include <errno.h>
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/base/jsonw.h"
#include "runtime/cli/command.h"
#include "runtime/cli/limits.h"
#include "runtime/cli/options.h"
#include "runtime/life/probe.h"

enum { OUTPUT_MAX = 128 * 1024 };

/* By the worst of the findings that a sandbox needs. */
static const int exit_statuses[] = { [PROBE_ACTIVE] = 0, [PROBE_WEAKER] = 2, [PROBE_MISSING] = 1 };

static const char *const status_words[] = {
	[PROBE_ACTIVE] = "active", [PROBE_WEAKER] = "weaker", [PROBE_MISSING] = "missing",
};

static void write_text(struct buf *out, const struct probe_finding *f, size_t count)
{
	for (; count > 0; f++, count--) {
		buf_addf(out, "%-8s %-20s %s\n", status_words[f->status], f->layer, f->detail);
		if (f->repair[0])
			buf_addf(out, "%-8s %-20s repair: %s\n", "", "", f->repair);
	}
}

/* The worst finding of a layer that is required; @count is at least 1. */
static enum probe_status worst(const struct probe_finding *f, size_t count)
{
	enum probe_status status = PROBE_ACTIVE;

	for (size_t i = 0; i < count; i++)
		if (f[i].required)
			status = MAX(status, f[i].status);
	return status;
}

static void write_limits(struct buf *out, const struct cgroup_report *r)
{
	jsonw_name(out, "limits");
	buf_add_char(out, '{');
	jsonw_name(out, "backend");
	jsonw_str(out, cgroup_backend_name(r->backend));
	jsonw_name(out, "controllers");
	buf_add_char(out, '[');
	for (unsigned int left = r->controllers; left; left &= left - 1) {
		buf_add_str(out, left == r->controllers ? "" : ",");
		jsonw_str(out, cgroup_controller_name((enum cgroup_controller) (left & -left)));
	}
	buf_add_str(out, "]}");
}

static void write_json(struct buf *out, const struct probe_finding *f, size_t count, const struct cgroup_report *limits)
{
	enum probe_status status = worst(f, count);

	buf_addf(out, "{\"version\":\"" CLOCHE_VERSION "\",\"worst\":\"%s\",\"usable\":%s,\"layers\":[", status_words[status],
		 status == PROBE_MISSING ? "false" : "true");
	for (size_t i = 0; i < count; i++) {
		buf_add_str(out, i ? ",{" : "{");
		jsonw_name(out, "layer");
		jsonw_str(out, f[i].layer);
		jsonw_name(out, "status");
		jsonw_str(out, status_words[f[i].status]);
		jsonw_name(out, "required");
		buf_add_str(out, f[i].required ? "true" : "false");
		jsonw_name(out, "detail");
		jsonw_str(out, f[i].detail);
		jsonw_name(out, "repair");
		jsonw_str(out, f[i].repair);
		buf_add_char(out, '}');
	}
	buf_add_char(out, ']');
	write_limits(out, limits);
	buf_add_str(out, "}\n");
}

static int run(int argc, char **argv, struct err *err)
{
	static struct probe_finding findings[PROBE_FINDINGS_MAX];
	static struct cgroup_report limits;
	_cleanup_options_ struct options o = { .help = false };
	_cleanup_buf_ struct buf out = BUF_INIT(OUTPUT_MAX);

	options_init(&o);
	int operands = opt_parse(options_table, GROUP_DOCTOR, OPT_PERMUTE, &o, argc, argv, err);
	if (operands < 0)
		return operands;
	if (operands > 0)
		return err_set(err, ERR_USAGE, EINVAL, "doctor takes no argument, but '%s' was given", argv[0]);
	if (o.help) {
		cli_print_help(&cmd_doctor);
		return EXIT_SUCCESS;
	}
	int r = limits_settle(&o, err);
	if (r < 0)
		return r;
	size_t count = probe_host(&o.spec, findings, ARRAY_LEN(findings), &limits);
	if (o.json)
		write_json(&out, findings, count, &limits);
	else
		write_text(&out, findings, count);
	r = cli_print(&out, "the findings", err);
	if (r < 0)
		return r;
	return exit_statuses[worst(findings, count)];
}

const struct cli_command cmd_doctor = {
	.name = "doctor",
	.usage = "[--json] [--allow-weaker LAYER] [--cgroup WHERE] [--require-limits]",
	.summary = "say what isolation this host can give, by trying it",
	.about = "Tries each layer of isolation, starts a sandbox, and prints one line for each: active, weaker (a stand-in holds)\n"
		 "or missing, with the cause and the repair. Of limits it says how they are held here, and why not by each of the\n"
		 "better ways. The exit status is 0 when every layer that a sandbox needs is active, 2 when one is weaker (only with\n"
		 "--allow-weaker), 1 when one is missing: then no sandbox starts.\n",
	.group = GROUP_DOCTOR,
	.run = run,
};
