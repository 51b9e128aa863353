/*
 * What an MCP client must be told to start cloche: see client_config.h. Runs on the host as the invoking user.
 */
#include "runtime/cli/client_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/jsonw.h"
#include "runtime/base/str.h"
#include "runtime/base/utf8.h"
#include "runtime/cli/command.h"

enum {
	CALL_SECONDS = 3600, /* the longest time that a call of run_bash may ask for, unless COMMAND_TIMEOUT is more */
	SPARE_SECONDS = 60,  /* for the answer, after a command that took all of its time */
	START_SECONDS = 20,  /* many times what a start takes on a loaded machine */
};

void client_config_done(struct client_config *config)
{
	buf_done(&config->edits);
	buf_done(&config->command);
	buf_done(&config->args);
	buf_done(&config->env);
}

/* --- the words --------------------------------------------------------------------------------------------------------- */

/* Options whose value is, or has in it, the path of a file on the host. */
static const struct {
	const char *name;
	const char *behind[2]; /* the path stands behind one of these; none: it is the value */
	bool or_name;          /* a value without a slash and without .json at its end is a name */
} paths[] = {
	{ "volume", { NULL }, false },
	{ "mount", { "source=", "src=" }, false },
	{ "env-file", { NULL }, false },
	{ "profile", { NULL }, true },
	{ "security-opt", { "seccomp=", "seccomp:" }, true },
};

static bool is_name(const char *value)
{
	size_t len = strlen(value);

	return !strchr(value, '/') && (len < 5 || strcmp(value + len - 5, ".json") != 0);
}

/* The path in @value of the option of row @row, or NULL. */
static const char *path_in(size_t row, const char *value)
{
	if (!paths[row].behind[0])
		return value;
	for (size_t i = 0; i < ARRAY_LEN(paths[row].behind); i++) {
		const char *at = strstr(value, paths[row].behind[i]);
		if (at)
			return at + strlen(paths[row].behind[i]);
	}
	return NULL;
}

static bool is_relative(const char *option, const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (strcmp(paths[i].name, option) != 0)
			continue;
		const char *path = path_in(i, value);
		return path && path[0] != '/' && !(paths[i].or_name && is_name(path));
	}
	return false;
}

static int relative_path(const char *before, const char *name, const char *value, struct err *err)
{
	return err_set(err, ERR_USAGE, EINVAL, "%s%s '%s' names a file relative to this folder, but the client starts cloche elsewhere: write "
		       "the whole path", before, name, value);
}

struct words {
	struct buf *out;
	const char *wrong, *wrong_value; /* an option with a relative path */
};

static void take_word(void *userdata, const struct opt *opt, const char *value)
{
	struct words *w = userdata;

	if (opt->groups & GROUP_CLIENT)
		return;
	if (value && is_relative(opt->name, value)) {
		w->wrong = opt->name;
		w->wrong_value = value;
	}
	buf_addf(w->out, "--%s%s%s", opt->name, !opt->arg && value ? "=" : "", !opt->arg && value ? value : "");
	buf_add_char(w->out, '\0');
	if (opt->arg) {
		buf_add_str(w->out, value);
		buf_add_char(w->out, '\0');
	}
}

int client_words(int argc, char **argv, struct buf *ret, struct err *err)
{
	struct words w = { .out = ret };

	opt_visit(options_table, GROUP_MCP | GROUP_CLIENT, OPT_PERMUTE, take_word, &w, argc, argv);
	if (buf_error(ret) < 0)
		return err_set(err, ERR_USAGE, -buf_error(ret), "the options are longer than %d bytes", CLIENT_WORDS_MAX);
	return w.wrong ? relative_path("--", w.wrong, w.wrong_value, err) : 0;
}

/* --- the parts --------------------------------------------------------------------------------------------------------- */

/* Appends @word as JSON, which is TOML and Python too. */
static int add_word(struct buf *out, const struct client *c, const char *word, const char *what, struct err *err)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char) word[i] < 0x20 || word[i] == 0x7f)
			return err_set(err, ERR_USAGE, EINVAL, "%s holds a control character, which no configuration shall hold", what);
	if (!utf8_is_valid(word, len))
		return err_set(err, ERR_USAGE, EINVAL, "%s is not UTF-8, as the configuration of %s must be", what, c->title);
	if (c->expands && strchr(word, '$'))
		return err_set(err, ERR_USAGE, EINVAL, "%s, '%s', has a '$' in it, which %s would take for a variable of its own", what, word,
			       c->title);
	jsonw_string(out, word, len);
	return 0;
}

static int add_args(const struct client *c, const struct buf *words, const char *folder, struct buf *out, struct err *err)
{
	int r = 0;

	buf_add_str(out, "[\"mcp\"");
	for (const char *word = buf_cstr(words); r == 0 && word < buf_cstr(words) + words->len; word += strlen(word) + 1) {
		buf_add_str(out, ", ");
		r = add_word(out, c, word, "an option", err);
	}
	if (r == 0 && folder) {
		buf_add_str(out, ", ");
		if (folder == c->folder)
			jsonw_str(out, folder);
		else
			r = add_word(out, c, folder, "the path of the workspace", err);
	}
	buf_add_char(out, ']');
	return r;
}

static int add_command(const struct client *c, struct buf *out, struct err *err)
{
	char path[SPEC_PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0 || n == (ssize_t) sizeof(path) - 1)
		return err_set(err, ERR_SYSTEM, n < 0 ? errno : ENAMETOOLONG, "cannot tell where this program is: %m");
	path[n] = '\0';
	if (access(path, X_OK) < 0)
		return err_set(err, ERR_SYSTEM, errno, "this program, '%s', is not there any more: %m. Install it, then try again", path);
	return add_word(out, c, path, "the path of this program", err);
}

/* --- the settings ------------------------------------------------------------------------------------------------------ */

/* Appends one setting of the server; @name_of_env is a variable in its "env", or NULL. */
static void add_setting(struct client_config *config, const struct client *c, const char *key, const char *name_of_env, const char *value)
{
	const char *const path[] = { c->servers, CLIENT_SERVER, key, name_of_env };

	for (size_t i = 0; i < ARRAY_LEN(path) && path[i]; i++) {
		buf_add_str(&config->edits, path[i]);
		buf_add_char(&config->edits, '\0');
	}
	buf_add_char(&config->edits, '\0');
	buf_add_str(&config->edits, value);
	buf_add_char(&config->edits, '\0');
}

/* Notes a variable that the server is to have. */
static int add_variable(struct client_config *config, const struct client *c, const char *name, const char *value, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT(CLIENT_WORDS_MAX);
	char what[64];

	(void) snprintf(what, sizeof(what), "the variable %s", name);
	if (strcmp(name, "CLOCHE_PROFILE") == 0 && is_relative("profile", value))
		return relative_path("the variable ", name, value, err);
	int r = add_word(&text, c, value, what, err);
	if (r < 0)
		return r;
	buf_addf(&config->env, "%s\"%s\": %s", config->env.len ? ", " : "{", name, buf_cstr(&text));
	if (c->servers)
		add_setting(config, c, "env", name, buf_cstr(&text));
	return 0;
}

static int add_variables(struct client_config *config, const struct client *c, struct err *err)
{
	const char *name;
	int r = 0;

	for (size_t i = 0; r == 0 && (name = cli_server_variable(i)) != NULL; i++) {
		const char *value = getenv(name);
		if (strcmp(name, "COMMAND_TIMEOUT") == 0 && (!value || !*value))
			value = c->command_timeout;
		if (value && *value)
			r = add_variable(config, c, name, value, err);
	}
	if (config->env.len)
		buf_add_char(&config->env, '}');
	return r;
}

/* The longest time for a call that makes sense: that of the longest command, and something for its answer. */
static unsigned int call_seconds(const struct client *c)
{
	const char *named = getenv("COMMAND_TIMEOUT");
	uint64_t longest;

	if (!named || str_to_uint(named, CALL_SECONDS, SPEC_COMMAND_TIMEOUT_MAX, &longest) < 0)
		longest = CALL_SECONDS;
	longest += SPARE_SECONDS;
	return c->call_max > 0 && longest > c->call_max ? c->call_max : (unsigned int) longest;
}

static void add_number(struct client_config *config, const struct client *c, const char *key, unsigned int number)
{
	char text[24];

	(void) snprintf(text, sizeof(text), "%u", number);
	add_setting(config, c, key, NULL, text);
}

int client_config_make(const struct client *c, const struct buf *words, const char *folder, struct client_config *ret, struct err *err)
{
	int r = add_command(c, &ret->command, err);

	if (r == 0)
		r = add_args(c, words, folder, &ret->args, err);
	if (r < 0)
		return r;
	ret->call_seconds = call_seconds(c);
	if (c->servers) {
		if (c->typed)
			add_setting(ret, c, "type", NULL, "\"stdio\"");
		add_setting(ret, c, "command", NULL, buf_cstr(&ret->command));
		add_setting(ret, c, "args", NULL, buf_cstr(&ret->args));
		if (c->start_limit)
			add_number(ret, c, c->start_limit, START_SECONDS);
		if (c->call_limit)
			add_number(ret, c, c->call_limit, ret->call_seconds * c->call_unit);
	}
	r = add_variables(ret, c, err);
	buf_add_char(&ret->edits, '\0');
	if (r == 0 && (buf_error(&ret->edits) < 0 || buf_error(&ret->args) < 0 || buf_error(&ret->env) < 0))
		r = err_set(err, ERR_USAGE, E2BIG, "the options are longer than %d bytes", CLIENT_WORDS_MAX);
	return r;
}

void client_config_python(const struct client_config *config, struct buf *out)
{
	buf_addf(out, "from agents.mcp import MCPServerStdio\n\n"
		 CLIENT_SERVER " = MCPServerStdio(\n    name=\"" CLIENT_SERVER "\",\n    params={\n        \"command\": %s,\n        \"args\": %s,\n",
		 buf_cstr(&config->command), buf_cstr(&config->args));
	if (config->env.len)
		buf_addf(out, "        \"env\": %s,\n", buf_cstr(&config->env));
	buf_addf(out, "    },\n    client_session_timeout_seconds=%u,\n    cache_tools_list=True,\n)\n", config->call_seconds);
}
