/*
 * What each option of the table does with its value.
 */
#pragma once

#include "runtime/base/opt.h"

/* Stores a bool: opt->data points to its offset in struct options, a size_t. */
opt_setter set_switch;

opt_setter set_help, set_profile, set_always_true, set_refused;
opt_setter set_workspace, set_workspace_mode, set_volume, set_mount, set_tmpfs, set_shm_size, set_protect, set_unprotect;
opt_setter set_workdir, set_env, set_env_file, set_user, set_userns, set_hostname, set_name;
opt_setter set_memory, set_memory_swap, set_cpus, set_cpu_shares, set_pids, set_ulimit;
opt_setter set_command_memory, set_command_cpus, set_command_pids, set_cgroup;
opt_setter set_network, set_cap_drop, set_security_opt, set_allow_weaker;
opt_setter set_client, set_client_file, set_log_level, set_max_answer_chars, set_kill_signal;
