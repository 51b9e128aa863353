/*
 * What each option of the table does with its value.
 */
#pragma once

#include "runtime/base/opt.h"

opt_setter set_help, set_json, set_always_true, set_refused;
opt_setter set_workspace, set_allow_home, set_volume, set_mount, set_tmpfs, set_shm_size;
opt_setter set_workdir, set_env, set_env_file, set_user, set_hostname, set_name;
opt_setter set_memory, set_cpus, set_pids, set_ulimit;
opt_setter set_network, set_cap_drop, set_security_opt;
opt_setter set_log_level, set_structured_output;
