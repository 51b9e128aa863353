/*
 * Architectures and their calls: see arch.h. Runs in cloche-compile, while building, and in the tests.
 *
 * libseccomp knows the numbers; calls younger than the oldest release that we build with (2.5.0) are in a table here.
 */
#include "runtime/compile/arch.h"

#include <linux/audit.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/attr.h"

/* Bits of filter_arches' rows. */
enum { X86_64 = 1 << 0, AARCH64 = 1 << 1, ARMV7 = 1 << 2, RISCV64 = 1 << 3, ALL = X86_64 | AARCH64 | ARMV7 | RISCV64 };

const struct filter_arch filter_arches[FILTER_ARCHES] = {
	{ .name = "x86_64", .oci_name = "SCMP_ARCH_X86_64", .docker_name = "amd64", .condition = "defined(__x86_64__)",
	  .scmp = SCMP_ARCH_X86_64, .audit = AUDIT_ARCH_X86_64, .foreign = AUDIT_ARCH_I386, .has_x32 = true },
	{ .name = "aarch64", .oci_name = "SCMP_ARCH_AARCH64", .docker_name = "arm64", .condition = "defined(__aarch64__)",
	  .scmp = SCMP_ARCH_AARCH64, .audit = AUDIT_ARCH_AARCH64, .foreign = AUDIT_ARCH_ARM },
	{ .name = "armv7l", .oci_name = "SCMP_ARCH_ARM", .docker_name = "arm", .condition = "defined(__arm__)",
	  .scmp = SCMP_ARCH_ARM, .audit = AUDIT_ARCH_ARM, .foreign = AUDIT_ARCH_AARCH64, .is_32bit = true },
	{ .name = "riscv64", .oci_name = "SCMP_ARCH_RISCV64", .docker_name = "riscv64",
	  .condition = "defined(__riscv) && __riscv_xlen == 64", .scmp = SCMP_ARCH_RISCV64, .audit = AUDIT_ARCH_RISCV64,
	  .foreign = AUDIT_ARCH_RISCV32 },
};

/* Since 424 a call has the same number everywhere. */
static const struct {
	const char *name;
	int nr;
	unsigned int where;
} young_calls[] = {
	{ "riscv_hwprobe", 258, RISCV64 },
	{ "uretprobe", 335, X86_64 },
	{ "uprobe", 336, X86_64 },
	{ "close_range", 436, ALL },
	{ "faccessat2", 439, ALL },
	{ "process_madvise", 440, ALL },
	{ "epoll_pwait2", 441, ALL },
	{ "mount_setattr", 442, ALL },
	{ "quotactl_fd", 443, ALL },
	{ "landlock_create_ruleset", 444, ALL },
	{ "landlock_add_rule", 445, ALL },
	{ "landlock_restrict_self", 446, ALL },
	{ "memfd_secret", 447, X86_64 | AARCH64 | RISCV64 },
	{ "process_mrelease", 448, ALL },
	{ "futex_waitv", 449, ALL },
	{ "set_mempolicy_home_node", 450, ALL },
	{ "cachestat", 451, ALL },
	{ "fchmodat2", 452, ALL },
	{ "map_shadow_stack", 453, ALL },
	{ "futex_wake", 454, ALL },
	{ "futex_wait", 455, ALL },
	{ "futex_requeue", 456, ALL },
	{ "statmount", 457, ALL },
	{ "listmount", 458, ALL },
	{ "lsm_get_self_attr", 459, ALL },
	{ "lsm_set_self_attr", 460, ALL },
	{ "lsm_list_modules", 461, ALL },
	{ "mseal", 462, ALL },
	{ "setxattrat", 463, ALL },
	{ "getxattrat", 464, ALL },
	{ "listxattrat", 465, ALL },
	{ "removexattrat", 466, ALL },
	{ "open_tree_attr", 467, ALL },
	{ "file_getattr", 468, ALL },
	{ "file_setattr", 469, ALL },
};

const struct filter_arch *filter_arch_find(const char *name)
{
	uint32_t native = seccomp_arch_native();

	for (size_t i = 0; i < ARRAY_LEN(filter_arches); i++)
		if (name ? strcmp(filter_arches[i].name, name) == 0 : filter_arches[i].scmp == native)
			return &filter_arches[i];
	return NULL;
}

static bool is_on(size_t call, const struct filter_arch *arch)
{
	return young_calls[call].where >> (arch - filter_arches) & 1;
}

int filter_call_number(const struct filter_arch *arch, const char *name)
{
	int nr = seccomp_syscall_resolve_name_arch(arch->scmp, name);

	if (nr >= 0)
		return nr;
	for (size_t i = 0; i < ARRAY_LEN(young_calls); i++)
		if (strcmp(young_calls[i].name, name) == 0)
			return is_on(i, arch) ? young_calls[i].nr : FILTER_CALL_ELSEWHERE;
	/* libseccomp has made-up negative numbers for what an architecture lacks. */
	return nr == __NR_SCMP_ERROR ? FILTER_CALL_UNKNOWN : FILTER_CALL_ELSEWHERE;
}

bool filter_call_name(const struct filter_arch *arch, uint32_t nr, char *name)
{
	char *known = nr <= INT32_MAX ? seccomp_syscall_resolve_num_arch(arch->scmp, (int) nr) : NULL;
	const char *s = known;

	for (size_t i = 0; i < ARRAY_LEN(young_calls) && !s; i++)
		if (is_on(i, arch) && young_calls[i].nr == (int) nr)
			s = young_calls[i].name;
	if (s)
		(void) snprintf(name, FILTER_NAME_MAX, "%s", s);
	free(known);
	return s != NULL;
}
