/*
 * Runs a seccomp filter outside the kernel: the classic BPF of seccomp(2), and nothing of BPF beside it.
 */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Evaluates @prog for the call @data and stores the verdict (SECCOMP_RET_*). Returns how many instructions were run, or
 * -EINVAL when the program is not one that the kernel would accept.
 */
int bpf_sim_run(const struct sock_filter *prog, size_t len, const struct seccomp_data *data, uint32_t *ret);
