/*
 * What the fuzz targets share. A target is one file that defines LLVMFuzzerTestOneInput(): MODE=fuzz links it with libFuzzer
 * (`make fuzz`), MODE=asan with replay.c, which runs it over stored inputs. Neither is ever installed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Looks at one input. Returns 0; what must not be ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process unless @condition holds, so that the input is kept. @what tells what was expected. */
#define fuzz_need(condition, what)                                                                                     \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, what);                                      \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)
