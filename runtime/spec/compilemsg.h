/*
 * What cloche and cloche-compile agree on: `cloche-compile WHAT NAME` gets a policy file as its standard input and no other
 * descriptor; NAME is the file's name, for messages. It ends with 0 and the result on its standard output, or with 1 and one
 * sentence on its standard error.
 */
#pragma once

enum {
	COMPILE_INPUT_MAX = 1024 * 1024,  /* bytes of a policy file */
	COMPILE_OUTPUT_MAX = 1024 * 1024, /* bytes of the result */
	COMPILE_SECONDS_MAX = 10,         /* it is killed after that */
};
