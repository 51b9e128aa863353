/*
 * What cloche and cloche-compile agree on: `cloche-compile WHAT NAME` gets a policy file as its standard input and no other
 * descriptor; NAME is the file's name, for messages. It ends with 0 and the result on its standard output, or with 1 and one
 * sentence on its standard error.
 *
 * For WHAT `jsonc` and `toml` the input is the settings to be made, then the file's text as it is: for each setting the names of its
 * path, each with a NUL behind it, an empty name, and the value with a NUL; behind the last setting an empty name. The result is the
 * file's new text.
 */
#pragma once

enum {
	COMPILE_INPUT_MAX = 1024 * 1024,  /* bytes of what it reads */
	COMPILE_OUTPUT_MAX = 1024 * 1024, /* bytes of the result */
	COMPILE_SECONDS_MAX = 10,         /* it is killed after that */
};
