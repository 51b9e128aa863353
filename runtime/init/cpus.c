/*
 * CPUs that can be got: see cpus.h. Runs in cloche-init.
 */
#include "runtime/init/cpus.h"

#include <sched.h>
#include <string.h>

unsigned int cpus_reachable(void)
{
	cpu_set_t own, all;

	if (sched_getaffinity(0, sizeof(own), &own) < 0)
		return 1;
	memset(&all, 0xff, sizeof(all));
	/* The kernel takes those of them that there are. */
	if (sched_setaffinity(0, sizeof(all), &all) < 0 || sched_getaffinity(0, sizeof(all), &all) < 0)
		all = own;
	(void) sched_setaffinity(0, sizeof(own), &own);
	return CPU_COUNT(&all) > 0 ? (unsigned int) CPU_COUNT(&all) : 1;
}
