/*
 * What an MCP client must be told to start cloche: a command, its arguments, variables and time limits.
 */
#pragma once

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/cli/clients.h"

#define CLIENT_SERVER "cloche" /* what the server is called in every client's list */

enum { CLIENT_WORDS_MAX = 32 * 1024 };

struct client_config {
	struct buf edits;   /* owned: the settings, for cloche-compile (spec/compilemsg.h) */
	struct buf command; /* owned: JSON, as are these two: */
	struct buf args;
	struct buf env;     /* empty without variables */
	unsigned int call_seconds; /* how long a call may take */
};

#define CLIENT_CONFIG_NONE                                                                                             \
	{                                                                                                              \
		.edits = BUF_INIT(4 * CLIENT_WORDS_MAX), .command = BUF_INIT(CLIENT_WORDS_MAX),                        \
		.args = BUF_INIT(2 * CLIENT_WORDS_MAX), .env = BUF_INIT(CLIENT_WORDS_MAX)                              \
	}

void client_config_done(struct client_config *config);
#define _cleanup_client_config_ _cleanup_(client_config_done)

/*
 * Appends to @ret the words of `cloche mcp` that the client shall say: the options @argv but those about the client, each word with
 * a NUL behind it. To be called before @argv is parsed. 0, or -errno with @err filled: an option names a file relative to this folder.
 */
int client_words(int argc, char **argv, struct buf *ret, struct err *err) _must_check_;

/*
 * Makes the configuration for @c: with the options @words and, unless it is NULL, the workspace @folder, and with the variables of our
 * environment that set the server's limits. 0, or -errno with @err filled.
 */
int client_config_make(const struct client *c, const struct buf *words, const char *folder, struct client_config *ret,
		       struct err *err) _must_check_;

/* Appends the configuration as lines of a Python program. */
void client_config_python(const struct client_config *config, struct buf *out);
