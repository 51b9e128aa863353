/*
 * `cloche explain`: what a sandbox with these options may do, without starting one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/cli/command.h"
#include "runtime/cli/layers.h"
#include "runtime/cli/options.h"
#include "runtime/life/graded.h"
#include "runtime/life/policy.h"

enum { OUTPUT_MAX = 512 * 1024, EXIT_REFUSED = 1, GROUP_ALL = GROUP_SANDBOX | GROUP_EXPLAIN };

static int print_policy(const struct options *o, const struct policy *p, struct err *err)
{
	_cleanup_buf_ struct buf out = BUF_INIT(OUTPUT_MAX);

	if (o->json)
		policy_json(p, o->plan, &out);
	else if (o->plan)
		policy_plan_text(p, &out);
	else
		policy_text(p, &out);
	return cli_print(&out, "the policy", err);
}

/* As layers_origin(), for the agent: where a profile's file is on the host is none of its business. */
static const char *origin_for_agent(const void *userdata, const char *option, const void *field, size_t size)
{
	const char *origin = layers_origin(userdata, option, field, size);

	return strchr(origin, '/') ? "profile" : origin;
}

/* What @launch (NULL: refused) allows under the options @o. To be released with free(); NULL when there is no memory. */
static struct policy *new_policy(const struct options *o, const struct launch *launch, const char *refusal, policy_origin *origin)
{
	struct policy *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->spec = &o->spec;
	p->launch = launch;
	p->refusal = refusal;
	p->profile = o->profile.name[0] ? &o->profile : NULL;
	p->origin = origin;
	p->userdata = o;
	policy_collect(p);
	return p;
}

void cli_tell_agent(const struct launch *l, const void *userdata, struct buf *out)
{
	struct policy *p = new_policy(userdata, l, NULL, origin_for_agent);

	if (p)
		policy_agent_json(p, out);
	else
		out->error = -ENOMEM;
	free(p);
}

int cli_explain(const struct options *o, struct err *err)
{
	_cleanup_launch_ struct launch *launch = NULL;
	struct err refusal = { .code = ERR_NONE };
	int r = launch_plan(&o->spec, &launch, &refusal);

	if (r < 0 && o->plan && !o->json) {
		*err = refusal;
		return r;
	}
	struct policy *p = new_policy(o, launch, r < 0 ? refusal.text : NULL, layers_origin);
	if (!p)
		return err_set(err, ERR_SYSTEM, ENOMEM, "out of memory");
	int printed = print_policy(o, p, err);
	free(p);
	return printed < 0 ? printed : r < 0 ? EXIT_REFUSED : EXIT_SUCCESS;
}

static int run(int argc, char **argv, struct err *err)
{
	_cleanup_options_ struct options o = { .help = false };

	options_init(&o);
	int operands = layers_parse(&o, GROUP_ALL, OPT_PERMUTE, argc, argv, err);
	if (operands < 0)
		return operands;
	if (o.help) {
		cli_print_help(&cmd_explain);
		return EXIT_SUCCESS;
	}
	int r = cli_take_workspace(&o.spec, operands, argv, err);
	if (r < 0 || (r = layers_settle(&o, err)) < 0 || (r = cli_server_args(&o, err)) < 0)
		return r;
	graded_choose(&o.spec);
	return cli_explain(&o, err);
}

const struct cli_command cmd_explain = {
	.name = "explain",
	.usage = "[OPTIONS of run and mcp] [--json] [--plan] [WORKSPACE]",
	.summary = "say what a sandbox with these options may do, without starting it",
	.about = "Prints what can be read, written, reached and spent, which walls stand, and who said so: cloche by default, a profile or\n"
		 "the command line. It takes every option of run and mcp beside its own. The exit status is 0 when such a sandbox\n"
		 "can be prepared, 1 when it would be refused.\n",
	.group = GROUP_EXPLAIN,
	.more = GROUP_SANDBOX,
	.run = run,
};
