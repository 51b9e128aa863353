/*
 * `cloche mcp --client NAME`: see clients.h. Runs on the host as the invoking user; starts no sandbox.
 */
#include "runtime/cli/clients.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/fd.h"
#include "runtime/base/utf8.h"
#include "runtime/cli/client_config.h"
#include "runtime/cli/client_file.h"
#include "runtime/cli/command.h"
#include "runtime/cli/layers.h"
#include "runtime/cli/setters.h"
#include "runtime/life/account.h"
#include "runtime/life/compile.h"
#include "runtime/life/memfile.h"
#include "runtime/life/workspace.h"

/* A client whose calls end after about a minute, in which a command and its answer must fit. */
#define WITHIN_A_MINUTE "45"

const struct client clients[] = {
	{ .name = "claude-code", .title = "Claude Code", .place = CLIENT_IN_PROJECT, .file = ".mcp.json", .servers = "mcpServers",
	  .typed = true, .expands = true, .call_limit = "timeout", .call_unit = 1000,
	  .then = "Start claude in that folder and approve the server when it asks." },
	{ .name = "claude-desktop", .title = "Claude Desktop", .place = CLIENT_IN_CONFIG, .file = "Claude/claude_desktop_config.json",
	  .servers = "mcpServers", .command_timeout = WITHIN_A_MINUTE, .then = "Quit Claude Desktop and start it again." },
	{ .name = "cline", .title = "Cline", .place = CLIENT_IN_HOME, .file = ".cline/data/settings/cline_mcp_settings.json",
	  .servers = "mcpServers", .call_limit = "timeout", .call_unit = 1, .call_max = 3600,
	  .then = "Cline reads it when it changes. Extensions before 4.0 have the file elsewhere: name it with --client-file." },
	{ .name = "codex", .title = "Codex", .form = CLIENT_TOML, .place = CLIENT_IN_CODEX, .file = "config.toml",
	  .servers = "mcp_servers", .call_limit = "tool_timeout_sec", .call_unit = 1, .start_limit = "startup_timeout_sec",
	  .then = "Start codex again." },
	{ .name = "cursor", .title = "Cursor", .place = CLIENT_IN_PROJECT, .file = ".cursor/mcp.json", .servers = "mcpServers",
	  .typed = true, .expands = true, .folder = "${workspaceFolder}", .command_timeout = WITHIN_A_MINUTE,
	  .then = "Switch the server on in Cursor's settings, under MCP." },
	{ .name = "gemini", .title = "Gemini CLI", .place = CLIENT_IN_PROJECT, .file = ".gemini/settings.json", .servers = "mcpServers",
	  .expands = true, .call_limit = "timeout", .call_unit = 1000,
	  .then = "Start gemini in that folder; it must be one that Gemini CLI trusts." },
	{ .name = "openai-agents", .title = "OpenAI Agents SDK", .form = CLIENT_PYTHON, .call_unit = 1,
	  .then = "Give it to an agent: Agent(..., mcp_servers=[cloche]), inside `async with cloche:`." },
	{ .name = "roo", .title = "Roo Code", .place = CLIENT_IN_PROJECT, .file = ".roo/mcp.json", .servers = "mcpServers",
	  .expands = true, .call_limit = "timeout", .call_unit = 1, .call_max = 3600, .then = "Roo Code reads it when it changes." },
	{ .name = "vscode", .title = "VS Code", .place = CLIENT_IN_PROJECT, .file = ".vscode/mcp.json", .servers = "servers",
	  .typed = true, .expands = true, .folder = "${workspaceFolder}", .then = "VS Code asks whether to trust the server when it starts it." },
	{ .name = "windsurf", .title = "Windsurf", .place = CLIENT_IN_HOME, .file = ".codeium/windsurf/mcp_config.json",
	  .servers = "mcpServers", .expands = true, .command_timeout = WITHIN_A_MINUTE, .then = "Press refresh in Windsurf's list of MCP servers." },
	{ .name = "zed", .title = "Zed", .place = CLIENT_IN_CONFIG, .file = "zed/settings.json", .servers = "context_servers",
	  .call_limit = "timeout", .call_unit = 1, .then = "Zed reads it when it changes." },
};

const size_t clients_count = ARRAY_LEN(clients);

enum { OUTPUT_MAX = 64 * 1024 };

/* --- which one --------------------------------------------------------------------------------------------------------- */

const struct client *clients_find(const char *name, struct err *err)
{
	_cleanup_buf_ struct buf names = BUF_INIT(OUTPUT_MAX);

	for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
		if (strcmp(clients[i].name, name) == 0)
			return &clients[i];
		buf_addf(&names, "%s%s", i == 0 ? "" : i + 1 < ARRAY_LEN(clients) ? ", " : " and ", clients[i].name);
	}
	(void) err_set(err, ERR_USAGE, EINVAL, "the client '%s' is not known: known are %s. docs/clients.md says what any other needs", name,
		       buf_cstr(&names));
	return NULL;
}

/* A folder's name in a list for people. */
static const char *place_name(enum client_place place)
{
	static const char *const names[] = {
		[CLIENT_IN_PROJECT] = "", [CLIENT_IN_HOME] = "~/", [CLIENT_IN_CONFIG] = "~/.config/", [CLIENT_IN_CODEX] = "~/.codex/",
	};

	return names[place];
}

static int print_list(struct err *err)
{
	_cleanup_buf_ struct buf out = BUF_INIT(OUTPUT_MAX);

	for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
		const struct client *c = &clients[i];
		buf_addf(&out, "%-15s %-18s %s%s\n", c->name, c->title, c->file ? place_name(c->place) : "lines of Python",
			 c->file ? c->file : "");
	}
	return cli_print(&out, "the list", err);
}

/* --- where ------------------------------------------------------------------------------------------------------------- */

/* The home directory of the caller; NULL when neither HOME nor /etc/passwd says one. */
static const char *home(struct account *account)
{
	const char *named = getenv("HOME");

	if (named && named[0] == '/')
		return named;
	return account_find(geteuid(), account) && account->home[0] == '/' ? account->home : NULL;
}

/* Fills the folder that @c's file is named from, and the file's path in it. */
static int find_place(const struct client *c, const char *project, struct client_place_found *ret, struct err *err)
{
	static const struct {
		const char *variable, *below_home;
	} places[] = {
		[CLIENT_IN_HOME] = { NULL, "" },
		[CLIENT_IN_CONFIG] = { "XDG_CONFIG_HOME", ".config/" },
		[CLIENT_IN_CODEX] = { "CODEX_HOME", ".codex/" },
		[CLIENT_IN_PROJECT] = { NULL, "" },
	};
	static struct account account;
	const char *named = places[c->place].variable ? getenv(places[c->place].variable) : NULL;
	bool by_variable = named && named[0] == '/';

	ret->base = c->place == CLIENT_IN_PROJECT ? project : by_variable ? named : home(&account);
	ret->shared = c->place == CLIENT_IN_PROJECT;
	if (!ret->base)
		return err_set(err, ERR_USAGE, ENOENT, "there is no home directory for the settings of %s: set HOME, or name the file with "
			       "--client-file", c->title);
	(void) snprintf(ret->file, sizeof(ret->file), "%s%s", by_variable ? "" : places[c->place].below_home, c->file);
	return 0;
}

/* --- doing it ---------------------------------------------------------------------------------------------------------- */

/* The text of the file @text with the settings @edits in it. */
static int merge(const struct client *c, const struct buf *edits, const struct buf *text, const char *shown, struct buf *ret,
		 struct err *err)
{
	_cleanup_buf_ struct buf input = BUF_INIT(COMPILE_INPUT_MAX);

	buf_add(&input, buf_cstr(edits), edits->len);
	buf_add(&input, buf_cstr(text), text->len);
	if (buf_error(&input) < 0)
		return err_set(err, ERR_USAGE, -buf_error(&input), "the settings file '%s' is too large for this: its limit is %d bytes", shown,
			       COMPILE_INPUT_MAX - OUTPUT_MAX);
	_cleanup_fd_ int fd = memfile_make("cloche-settings", buf_cstr(&input), input.len);
	if (fd < 0)
		return err_set(err, ERR_SYSTEM, -fd, "cannot make a memory file: %m");
	return compile_run(c->form == CLIENT_TOML ? "toml" : "jsonc", fd, shown, ret, err);
}

/* Appends @path as a word of a shell. */
static void add_quoted(struct buf *out, const char *path)
{
	_cleanup_buf_ struct buf quoted = BUF_INIT(OUTPUT_MAX);

	for (const char *c = path; *c; c++)
		if (*c == '\'')
			buf_add_str(&quoted, "'\\''");
		else
			buf_add_char(&quoted, *c);
	buf_add_char(out, '\'');
	utf8_add_printable(out, buf_cstr(&quoted), quoted.len);
	buf_add_char(out, '\'');
}

static int print_config(const struct client *c, const struct client_config *config, const struct client_place_found *place,
			const char *named, struct err *err)
{
	_cleanup_buf_ struct buf out = BUF_INIT(COMPILE_OUTPUT_MAX), none = BUF_INIT(1);
	_cleanup_buf_ struct buf path = BUF_INIT(OUTPUT_MAX), where = BUF_INIT(OUTPUT_MAX);
	int r = 0;

	if (c->form == CLIENT_PYTHON)
		client_config_python(config, &out);
	else
		r = merge(c, &config->edits, &none, "of a new client", &out, err);
	if (r == 0)
		r = cli_print(&out, "the configuration", err);
	if (r < 0)
		return r;
	if (c->form == CLIENT_PYTHON) {
		(void) dprintf(STDERR_FILENO, "cloche: lines for a Python program. %s\n", c->then);
		return 0;
	}
	buf_addf(&path, "%s%s%s", named ? "" : place->base, named || strcmp(place->base, "/") == 0 ? "" : "/", named ? named : place->file);
	add_quoted(&where, buf_cstr(&path));
	(void) dprintf(STDERR_FILENO, "cloche: for %s; --write puts it there, beside what it has. %s\n", buf_cstr(&where), c->then);
	return 0;
}

static int tell_written(const struct client *c, const struct client_file *f, const char *backup, struct err *err)
{
	_cleanup_buf_ struct buf out = BUF_INIT(OUTPUT_MAX);
	_cleanup_buf_ struct buf backup_path = BUF_INIT(OUTPUT_MAX);

	buf_addf(&out, "Wrote the server '" CLIENT_SERVER "' into ");
	add_quoted(&out, f->shown);
	buf_add_str(&out, ".\nTo undo that: ");
	if (backup[0]) {
		buf_add(&backup_path, f->shown, strlen(f->shown) - strlen(f->name));
		buf_add_str(&backup_path, backup);
		buf_add_str(&out, "mv ");
		add_quoted(&out, buf_cstr(&backup_path));
		buf_add_char(&out, ' ');
	} else {
		buf_add_str(&out, "rm ");
	}
	add_quoted(&out, f->shown);
	buf_addf(&out, "\n%s\n", c->then);
	return cli_print(&out, "what was done", err);
}

static int write_config(const struct client *c, const struct client_config *config, const struct client_place_found *place,
			const char *named, struct err *err)
{
	_cleanup_client_file_ struct client_file file = CLIENT_FILE_NONE;
	_cleanup_buf_ struct buf before = BUF_INIT(COMPILE_INPUT_MAX), after = BUF_INIT(COMPILE_OUTPUT_MAX);
	char backup[CLIENT_FILE_NAME_MAX] = "";

	if (c->form == CLIENT_PYTHON)
		return err_set(err, ERR_USAGE, EINVAL, "--write is not possible for %s, which is set up by a program: without it, the lines "
			       "for that are printed", c->title);
	int r = named ? client_file_open_named(named, &file, err) : client_file_open(place, &file, err);
	if (r == 0)
		r = client_file_read(&file, &before, err);
	if (r == 0)
		r = merge(c, &config->edits, &before, file.shown, &after, err);
	if (r < 0)
		return r;
	if (file.exists && after.len == before.len && memcmp(buf_cstr(&after), buf_cstr(&before), after.len) == 0) {
		_cleanup_buf_ struct buf out = BUF_INIT(OUTPUT_MAX);
		add_quoted(&out, file.shown);
		buf_add_str(&out, " has it already: nothing was changed.\n");
		return cli_print(&out, "that", err);
	}
	r = client_file_write(&file, &after, backup, err);
	return r < 0 ? r : tell_written(c, &file, backup, err);
}

/* --- the words --------------------------------------------------------------------------------------------------------- */

static void look(void *userdata, const struct opt *opt, const char *value)
{
	struct options *seen = userdata;

	if (opt->set == set_help)
		seen->help |= opt_is_true(value);
	if (opt->groups & GROUP_CLIENT)
		seen->client = opt->name;
}

bool clients_asked(int argc, char **argv)
{
	struct options seen = { .help = false };

	opt_visit(options_table, GROUP_MCP | GROUP_CLIENT, OPT_PERMUTE, look, &seen, argc, argv);
	return seen.client && !seen.help;
}

/* The canonical path of the folder that the client is to work in. */
static int find_project(const struct options *o, char ret[static SPEC_PATH_MAX], struct err *err)
{
	struct stat st;

	if (o->spec.workspace == SPEC_WORKSPACE_NONE)
		return getcwd(ret, SPEC_PATH_MAX) ? 0 : err_set(err, ERR_SYSTEM, errno, "cannot tell the current folder: %m");
	int fd = workspace_open(&o->spec, ret, &st, err);
	if (fd < 0)
		return fd;
	(void) fd_close(fd);
	return 0;
}

static int configure(const struct options *o, const struct buf *words, bool by_operand, struct err *err)
{
	_cleanup_client_config_ struct client_config config = CLIENT_CONFIG_NONE;
	struct client_place_found place = { .base = NULL };
	char project[SPEC_PATH_MAX];
	const struct client *c = clients_find(o->client, err);

	if (!c)
		return -EINVAL;
	int r = find_project(o, project, err);
	if (r == 0 && c->file && !o->client_file)
		r = find_place(c, project, &place, err);
	if (r < 0)
		return r;
	const char *folder = !by_operand ? NULL : c->folder && !o->client_file ? c->folder : project;
	r = client_config_make(c, words, folder, &config, err);
	if (r < 0)
		return r;
	return o->client_write ? write_config(c, &config, &place, o->client_file, err) :
				 print_config(c, &config, &place, o->client_file, err);
}

int clients_run(int argc, char **argv, struct err *err)
{
	_cleanup_options_ struct options o = { .help = false };
	_cleanup_buf_ struct buf words = BUF_INIT(CLIENT_WORDS_MAX);

	options_init(&o);
	int r = client_words(argc, argv, &words, err);
	if (r < 0)
		return r;
	int operands = layers_parse(&o, GROUP_MCP | GROUP_CLIENT, OPT_PERMUTE, argc, argv, err);
	if (operands < 0)
		return operands;
	if (!o.client)
		return err_set(err, ERR_USAGE, EINVAL, "--write and --client-file need --client NAME: `cloche mcp --client list` names them");
	if (strcmp(o.client, "list") == 0)
		return print_list(err);
	bool as_volume = o.spec.workspace == SPEC_WORKSPACE_PATH;
	r = cli_take_workspace(&o.spec, operands, argv, err);
	if (r < 0 || (r = layers_settle(&o, err)) < 0 || (r = cli_server_args(&o, err)) < 0)
		return r;
	return configure(&o, &words, !as_volume && o.spec.workspace != SPEC_WORKSPACE_NONE, err);
}
