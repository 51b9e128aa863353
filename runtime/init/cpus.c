/*
 * CPUs of the sandbox: see cpus.h. Runs in cloche-init.
 */
#include "runtime/init/cpus.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "runtime/base/clock.h"

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

int cpus_bind(unsigned int count)
{
	cpu_set_t allowed, chosen;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return -errno;
	unsigned int there = (unsigned int) CPU_COUNT(&allowed);
	if (count >= there)
		return 0;
	unsigned int first = (unsigned int) clock_now().tv_nsec / 1000 % there, seen = 0;
	CPU_ZERO(&chosen);
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && (seen++ + there - first) % there < count)
			CPU_SET(cpu, &chosen);
	return sched_setaffinity(0, sizeof(chosen), &chosen) < 0 ? -errno : 0;
}
