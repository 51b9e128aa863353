/*
 * The architecture of this build, as the kernel shows it to system-call filters.
 */
#pragma once

#include <linux/audit.h>

#if defined(__x86_64__)
#define SECCOMP_NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SECCOMP_NATIVE_ARCH AUDIT_ARCH_AARCH64
#elif defined(__arm__)
#define SECCOMP_NATIVE_ARCH AUDIT_ARCH_ARM
#elif defined(__riscv) && __riscv_xlen == 64
#define SECCOMP_NATIVE_ARCH AUDIT_ARCH_RISCV64
#else
#error "no system-call filter is made for this architecture"
#endif
