/*
 * Why a system call is refused: see denial.h. Runs in cloche and cloche-mcp.
 */
#include "runtime/spec/denial.h"

#include <stddef.h>

#include "runtime/base/attr.h"
#include "gen/denials.h"

const char *denial_call_name(uint32_t nr)
{
	for (size_t i = 0; i < ARRAY_LEN(denial_calls); i++)
		if (denial_calls[i].nr == nr)
			return denial_calls[i].name;
	return NULL;
}

const char *denial_advice(uint32_t nr, uint32_t errnum)
{
	for (size_t i = 0; i < ARRAY_LEN(denial_reasons); i++)
		if (denial_reasons[i].nr == nr && denial_reasons[i].errnum == errnum)
			return denial_reasons[i].text;
	return NULL;
}
