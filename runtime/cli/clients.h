/*
 * `cloche mcp --client NAME`: the configuration with which an MCP client starts cloche, printed, or put into the client's file.
 */
#pragma once

#include <stddef.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/cli/options.h"

enum client_form {
	CLIENT_JSONC, /* JSON, perhaps with comments */
	CLIENT_TOML,
	CLIENT_PYTHON, /* lines of a program: nothing that can be written into a file */
};

/* The folder that the client's file is named from. */
enum client_place {
	CLIENT_IN_PROJECT, /* the workspace */
	CLIENT_IN_HOME,
	CLIENT_IN_CONFIG,  /* $XDG_CONFIG_HOME, or ~/.config */
	CLIENT_IN_CODEX,   /* $CODEX_HOME, or ~/.codex */
};

struct client {
	const char *name;
	const char *title;
	enum client_form form;
	enum client_place place;
	const char *file;
	const char *servers;    /* the member that holds the servers */
	bool typed;             /* a server says "type": "stdio" */
	const char *folder;     /* what stands for the project's folder in a file of the project, or NULL */
	bool expands;           /* '$' in what is written has a meaning for it */
	const char *call_limit; /* its setting for the longest call, or NULL; */
	unsigned int call_unit; /* of which so many are a second, */
	unsigned int call_max;  /* and so many seconds are possible; 0: any number */
	const char *start_limit; /* its setting for the time to start, or NULL */
	const char *command_timeout; /* COMMAND_TIMEOUT, in seconds, for one that gives up on calls after a fixed time; or NULL */
	const char *then;       /* what to do for it to take effect, a sentence */
};

extern const struct client clients[];
extern const size_t clients_count;

/* The client called @name. NULL with @err filled when there is none. */
const struct client *clients_find(const char *name, struct err *err) _must_check_;

/*
 * Whether the words of `cloche mcp` ask for a client's configuration, or (a mistake) only say where it would go. With --help they
 * never do.
 */
bool clients_asked(int argc, char **argv);

/* What is to be done then. The exit status, or -errno with @err filled. */
int clients_run(int argc, char **argv, struct err *err) _must_check_;
