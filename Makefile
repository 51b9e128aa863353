# The whole build of cloche. `make help` lists what it can do.
#
# ./configure writes config.mk (and config.h) into the folder where it is called, with a link to this file beside them;
# everything built goes below out/ in that folder. MODE chooses how:
#     release   optimised, hardened: what is installed (the default)
#     debug     for gdb
#     asan      AddressSanitizer and UBSan, for the unit tests
#     holes     for tests only: single walls can be left out (runtime/base/wall.h); never installed
#     fuzz      with clang's libFuzzer, for `make fuzz` alone
# out/MODE/ holds the programs side by side, where cloche finds its helpers.

-include config.mk

srcdir ?= .
MODE ?= release

# --- what is made of what: one module a line, sorted -------------------------------------------------------------------

BASE_MODS = \
	runtime/base/buf \
	runtime/base/err \
	runtime/base/fd \
	runtime/base/fdpass \
	runtime/base/jsonw \
	runtime/base/opt \
	runtime/base/proc \
	runtime/base/str \
	runtime/base/utf8 \
	runtime/base/wall

SPEC_MODS = \
	runtime/spec/denial \
	runtime/spec/denial_text \
	runtime/spec/filterform \
	runtime/spec/initmsg \
	runtime/spec/limits_text \
	runtime/spec/protected \
	runtime/spec/spec

KERN_MODS = \
	runtime/kern/caps \
	runtime/kern/caps_override \
	runtime/kern/cgroup \
	runtime/kern/landlock \
	runtime/kern/lockself \
	runtime/kern/mountapply \
	runtime/kern/mountentries \
	runtime/kern/mountplan \
	runtime/kern/netns \
	runtime/kern/procfs \
	runtime/kern/procmask \
	runtime/kern/seccomp \
	runtime/kern/seccomp_judge \
	runtime/kern/seccomp_link \
	runtime/kern/seccomp_notify \
	runtime/kern/userns

LIFE_MODS = \
	runtime/life/account \
	runtime/life/cgroup \
	runtime/life/cgroup_find \
	runtime/life/cgroup_node \
	runtime/life/cgroup_sweep \
	runtime/life/child \
	runtime/life/compile \
	runtime/life/env \
	runtime/life/gitdir \
	runtime/life/graded \
	runtime/life/host \
	runtime/life/idhelper \
	runtime/life/janitor \
	runtime/life/launch \
	runtime/life/memfile \
	runtime/life/placeholder \
	runtime/life/policy \
	runtime/life/policy_limits \
	runtime/life/policy_show \
	runtime/life/probe \
	runtime/life/probe_cgroup \
	runtime/life/profiles \
	runtime/life/probe_host \
	runtime/life/probe_kernel \
	runtime/life/protect \
	runtime/life/protect_repo \
	runtime/life/protect_walk \
	runtime/life/scope \
	runtime/life/scope_socket \
	runtime/life/spare \
	runtime/life/spawnmsg \
	runtime/life/state \
	runtime/life/state_record \
	runtime/life/statedir \
	runtime/life/stop \
	runtime/life/subid \
	runtime/life/supervise \
	runtime/life/userfilter \
	runtime/life/userns_diagnose \
	runtime/life/workspace

CLI_MODS = \
	runtime/cli/client_config \
	runtime/cli/client_file \
	runtime/cli/clients \
	runtime/cli/cmd_doctor \
	runtime/cli/cmd_explain \
	runtime/cli/cmd_gc \
	runtime/cli/cmd_kill \
	runtime/cli/cmd_mcp \
	runtime/cli/cmd_profile \
	runtime/cli/cmd_ps \
	runtime/cli/cmd_run \
	runtime/cli/layers \
	runtime/cli/limits \
	runtime/cli/narrow \
	runtime/cli/options \
	runtime/cli/sandboxes \
	runtime/cli/setters \
	runtime/cli/setters_limits \
	runtime/cli/setters_mount

INIT_MODS = \
	runtime/init/command \
	runtime/init/cpus \
	runtime/init/die \
	runtime/init/govern \
	runtime/init/leaf \
	runtime/init/notify \
	runtime/init/nproc \
	runtime/init/oomscore \
	runtime/init/reprotect \
	runtime/init/request \
	runtime/init/serve \
	runtime/init/server \
	runtime/init/settings \
	runtime/init/single \
	runtime/init/throttle \
	runtime/init/watch_files \
	runtime/init/watch_hidden \
	runtime/init/watch_ipc \
	runtime/init/watch_maps \
	runtime/init/watch_processes \
	runtime/init/watch_read \
	runtime/init/watch_sockets \
	runtime/init/watch_tmpfs \
	runtime/init/watchdog

# cloche-compile, and what the build-time programs share with it.
COMPILE_MODS = \
	runtime/compile/arch \
	runtime/compile/confine \
	runtime/compile/docker \
	runtime/compile/edits \
	runtime/compile/filter \
	runtime/compile/filter_code \
	runtime/compile/json \
	runtime/compile/jsonc \
	runtime/compile/jsonc_scan \
	runtime/compile/profile \
	runtime/compile/seccomp \
	runtime/compile/toml \
	runtime/compile/toml_scan

# cloche-scope, where libsystemd is there.
SCOPE_MODS = \
	runtime/scope/answer \
	runtime/scope/connect \
	runtime/scope/lockin \
	runtime/scope/manager

MCP_MODS = \
	mcp/answer \
	mcp/atomic \
	mcp/base64 \
	mcp/batch \
	mcp/bounds \
	mcp/call \
	mcp/capture \
	mcp/check \
	mcp/check_json \
	mcp/check_python \
	mcp/closest \
	mcp/complete \
	mcp/diff \
	mcp/dirlist \
	mcp/edit \
	mcp/excerpt \
	mcp/explain \
	mcp/extra_none \
	mcp/facts \
	mcp/folders \
	mcp/frame \
	mcp/glob \
	mcp/hashset \
	mcp/image \
	mcp/initc \
	mcp/json_token \
	mcp/lines \
	mcp/listen \
	mcp/log \
	mcp/loop \
	mcp/marks \
	mcp/method \
	mcp/methods_completion \
	mcp/methods_life \
	mcp/methods_prompts \
	mcp/methods_resources \
	mcp/methods_subscribe \
	mcp/methods_tasks \
	mcp/methods_tools \
	mcp/metrics \
	mcp/mime \
	mcp/nearby \
	mcp/offload \
	mcp/out \
	mcp/prompts \
	mcp/registry \
	mcp/reindent \
	mcp/resource \
	mcp/resource_file \
	mcp/result \
	mcp/rpc \
	mcp/scan \
	mcp/scan_token \
	mcp/schema \
	mcp/server \
	mcp/session \
	mcp/skill \
	mcp/slurp \
	mcp/state \
	mcp/subscribe \
	mcp/task \
	mcp/task_write \
	mcp/text \
	mcp/tool \
	mcp/tool_list_directory \
	mcp/tool_read_file \
	mcp/tool_run_bash \
	mcp/tool_search_and_replace \
	mcp/tool_search_workspace \
	mcp/tool_write_file \
	mcp/uri \
	mcp/waiting \
	mcp/watch \
	mcp/work \
	mcp/ws

# The files with main(): linked into their program only, never into a test.
CLI_MAIN = runtime/cli/main
INIT_MAIN = runtime/init/main
MCP_MAIN = mcp/main
COMPILE_MAIN = runtime/compile/main
SCOPE_MAIN = runtime/scope/main

# libcheck programs; the folder says which layers they are linked with.
UNIT_TESTS = \
	tests/mcp/atomic_test \
	tests/mcp/capture_test \
	tests/mcp/check_json_test \
	tests/mcp/check_test \
	tests/mcp/complete_test \
	tests/mcp/diff_test \
	tests/mcp/edit_test \
	tests/mcp/excerpt_test \
	tests/mcp/facts_test \
	tests/mcp/folders_test \
	tests/mcp/frame_test \
	tests/mcp/glob_test \
	tests/mcp/hashset_test \
	tests/mcp/json_token_test \
	tests/mcp/image_test \
	tests/mcp/marks_test \
	tests/mcp/metrics_test \
	tests/mcp/nearby_test \
	tests/mcp/mime_test \
	tests/mcp/out_test \
	tests/mcp/prompts_test \
	tests/mcp/resource_file_test \
	tests/mcp/rpc_test \
	tests/mcp/scan_test \
	tests/mcp/schema_test \
	tests/mcp/task_test \
	tests/mcp/skill_test \
	tests/mcp/text_test \
	tests/mcp/tool_list_directory_test \
	tests/mcp/tool_read_file_test \
	tests/mcp/tool_run_bash_test \
	tests/mcp/tool_search_and_replace_test \
	tests/mcp/tool_search_workspace_test \
	tests/mcp/tool_write_file_test \
	tests/mcp/uri_test \
	tests/mcp/watch_test \
	tests/mcp/ws_test \
	tests/runtime/base/buf_test \
	tests/runtime/base/clock_test \
	tests/runtime/base/err_test \
	tests/runtime/base/fd_test \
	tests/runtime/base/fdpass_test \
	tests/runtime/base/jsonw_test \
	tests/runtime/base/opt_test \
	tests/runtime/base/proc_test \
	tests/runtime/base/str_test \
	tests/runtime/base/utf8_test \
	tests/runtime/cli/client_file_test \
	tests/runtime/cli/limits_test \
	tests/runtime/cli/narrow_test \
	tests/runtime/cli/setters_test \
	tests/runtime/compile/docker_test \
	tests/runtime/compile/jsonc_test \
	tests/runtime/compile/profile_test \
	tests/runtime/compile/toml_test \
	tests/runtime/init/govern_test \
	tests/runtime/init/leaf_test \
	tests/runtime/init/notify_test \
	tests/runtime/init/nproc_test \
	tests/runtime/init/request_test \
	tests/runtime/init/settings_test \
	tests/runtime/init/throttle_test \
	tests/runtime/init/watch_test \
	tests/runtime/init/watchdog_test \
	tests/runtime/kern/cgroup_test \
	tests/runtime/kern/landlock_test \
	tests/runtime/kern/mountplan_test \
	tests/runtime/kern/netns_test \
	tests/runtime/kern/seccomp_judge_test \
	tests/runtime/kern/seccomp_notify_test \
	tests/runtime/life/cgroup_find_test \
	tests/runtime/life/cgroup_node_test \
	tests/runtime/life/env_test \
	tests/runtime/life/protect_test \
	tests/runtime/life/scope_test \
	tests/runtime/life/spawnmsg_test \
	tests/runtime/life/state_record_test \
	tests/runtime/life/state_test \
	tests/runtime/life/statedir_test \
	tests/runtime/life/stop_test \
	tests/runtime/life/subid_test \
	tests/runtime/life/userns_diagnose_test \
	tests/runtime/life/workspace_test \
	tests/runtime/spec/denial_text_test \
	tests/runtime/spec/limits_text_test \
	tests/runtime/spec/protected_test \
	tests/runtime/spec/spec_test

# Built-in system-call filters: profiles/seccomp/NAME.json becomes gen/filter_NAME.h with the symbol filter_NAME.
FILTERS = \
	compiler \
	debug \
	default \
	floor \
	floor_debug \
	init \
	scope \
	server

# Test programs without libcheck, which print TAP or help a script: NAME_MODS is what one is made of beside its own file.
TEST_PROGS = \
	tests/escape/attack \
	tests/filter/compiler \
	tests/filter/live \
	tests/filter/relations \
	tests/filter/tables \
	tests/filter/user \
	tests/helpers/refused \
	tests/helpers/try_syscall \
	tests/helpers/with_filter \
	tests/helpers/without_calls \
	tests/limits/bomb \
	tests/mcp/fakeinit
compiler_MODS = tests/filter/bpf_sim tests/filter/sweep tools/build/filter_profile runtime/compile/arch \
	runtime/compile/filter runtime/compile/filter_code
relations_MODS = $(compiler_MODS)
user_MODS = $(compiler_MODS) runtime/compile/docker runtime/compile/json
tables_MODS = $(compiler_MODS)
live_MODS = tests/helpers/syscall_cases
try_syscall_MODS = tests/helpers/syscall_cases
attack_MODS = \
	tests/escape/descriptors \
	tests/escape/exec \
	tests/escape/files \
	tests/escape/kernel \
	tests/escape/keys \
	tests/escape/mounts \
	tests/escape/namespaces \
	tests/escape/proc \
	tests/escape/resources \
	tests/escape/signals \
	tests/escape/sockets \
	tests/escape/terminal \
	tests/helpers/syscall_cases
bomb_MODS = \
	tests/limits/bomb_cpu \
	tests/limits/bomb_kernel \
	tests/limits/bomb_pages \
	tests/limits/bomb_processes
compiler_LIBS = $(SECCOMP_LIBS) $(CJSON_LIBS)
relations_LIBS = $(compiler_LIBS)
user_LIBS = $(compiler_LIBS)
tables_LIBS = $(compiler_LIBS)
live_LIBS = -pthread
# These run inside a sandbox, whatever that holds.
try_syscall_LINK = $(STATIC)
refused_LINK = $(STATIC)
refused_LIBS = -pthread
attack_LINK = $(STATIC)
bomb_LINK = $(STATIC)
bomb_LIBS = -pthread

# What the conformance suite asks for by name, in place of mcp/extra_none (mcp/extra.h).
FIXTURE_MODS = \
	tests/conformance/fixtures \
	tests/conformance/fixtures_ask \
	tests/conformance/fixtures_content \
	tests/conformance/fixtures_input \
	tests/conformance/fixtures_prompts \
	tests/conformance/fixtures_resources \
	tests/conformance/fixtures_text

TEST_PROG_MODS = $(FIXTURE_MODS) $(sort $(foreach prog,$(TEST_PROGS),$($(notdir $(prog))_MODS)))

# Fuzz targets of tests/fuzz; NAME_FUZZ is what one is made of beside its own file, NAME_LAYER what it looks at when not mcp.
FUZZ_TARGETS = \
	frame \
	image \
	json \
	message \
	names \
	schema \
	server \
	settings
settings_LAYER = compile
server_FUZZ = tests/fuzz/inproc tests/fuzz/inproc_clock tests/fuzz/workspace
FUZZ_MODS = $(FUZZ_TARGETS:%=tests/fuzz/%) $(sort $(foreach target,$(FUZZ_TARGETS),$($(target)_FUZZ))) tests/fuzz/replay

# gen-filter compiles the built-in filters, at build time.
GEN_FILTER_MODS = \
	runtime/base/buf \
	runtime/base/err \
	runtime/base/fd \
	runtime/compile/arch \
	runtime/compile/filter \
	runtime/compile/filter_code \
	tools/build/filter_profile \
	tools/build/gen-filter

# Built-in profiles, in the order of `cloche profile ls`: gen/profiles.h has the options of profiles/NAME.json.
BUILTIN_PROFILES = \
	default \
	airgap \
	strict \
	interpreter

GEN_PROFILES_MODS = \
	runtime/base/buf \
	runtime/base/err \
	runtime/base/fd \
	runtime/base/opt \
	runtime/base/str \
	runtime/base/utf8 \
	runtime/compile/json \
	runtime/compile/profile \
	tools/build/gen-profiles

# Made from docs/man/NAME.in.
MAN_PAGES = \
	out/man/cloche.1
PROFILES = $(patsubst $(srcdir)/%,%,$(sort $(wildcard $(srcdir)/profiles/*.json $(srcdir)/profiles/seccomp/*.json)))

LAYERS = base spec compile kern scope life cli init mcp
base_MODS = $(BASE_MODS)
spec_MODS = $(SPEC_MODS)
compile_MODS = $(COMPILE_MODS)
kern_MODS = $(KERN_MODS)
scope_MODS = $(SCOPE_MODS)
life_MODS = $(LIFE_MODS)
cli_MODS = $(CLI_MODS)
init_MODS = $(INIT_MODS)
mcp_MODS = $(MCP_MODS)
MAINS = $(CLI_MAIN) $(INIT_MAIN) $(MCP_MAIN) $(COMPILE_MAIN) $(SCOPE_MAIN)
PROGRAM_MODS = $(foreach layer,$(LAYERS),$($(layer)_MODS)) $(MAINS)

# --- folders and flags -------------------------------------------------------------------------------------------------

O = out/$(MODE)
OBJ = $(O)/obj
GEN = out/gen

ifneq ($(filter-out release debug asan holes fuzz,$(MODE)),)
$(error MODE=$(MODE) is not a build mode: use release, debug, asan, holes or fuzz)
endif

release_CFLAGS = -O2 -g -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 $(HARDENING)
debug_CFLAGS = -Og -g3 $(HARDENING)
holes_CFLAGS = -O1 -g $(HARDENING) -DCLOCHE_TEST_HOLES
asan_CFLAGS = -O1 -g3 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# The instrumentation makes paths that no source line has; these two warnings then speak about it, not about us.
asan_CFLAGS += -Wno-null-dereference $(if $(filter -Wstringop-overflow%,$(WARNINGS)),-Wno-stringop-overflow)
asan_LDFLAGS = -fsanitize=address,undefined
fuzz_CFLAGS = -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
fuzz_LDFLAGS = -fsanitize=fuzzer,address,undefined
# configure chose the warnings for another compiler.
FUZZ_CC = clang
ifeq ($(MODE),fuzz)
CC = $(FUZZ_CC)
WARNINGS = -Wall -Wextra -Wno-missing-field-initializers -Wno-string-plus-int
ERRORS =
endif

ALL_CPPFLAGS = -include config.h -iquote out -iquote $(srcdir) $(CPPFLAGS)
ALL_CFLAGS = -std=gnu17 -fPIE -fno-common -fno-strict-aliasing -fvisibility=hidden -ffile-prefix-map=$(srcdir)/= \
	-ffunction-sections -fdata-sections $(WARNINGS) $(ERRORS) $($(MODE)_CFLAGS) $(CAP_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(LINK_HARDENING) $($(MODE)_LDFLAGS) $(LDFLAGS)
# What nobody calls falls out of a program.
LINK_USED = -Wl,--gc-sections
COMPILE = $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS)

# The launcher and init are waited for at every start: they are linked statically, with musl where configure found it, from
# objects of their own (docs/decisions/0002). The sanitizers need shared libraries and the compiler's own C library.
STATIC = -static-pie
START_OBJ = $(O)/obj-start
START_COMPILE = $(START_CC) $(START_CPPFLAGS) $(ALL_CPPFLAGS) $(ALL_CFLAGS)
START_LDFLAGS = $(START_LINK) $(ALL_LDFLAGS) $(LINK_USED)
START_LIBS = $(START_CAP) $(START_LINK_END)
ifeq ($(MODE),asan)
STATIC = -pie
LINK_USED =
START_CC = $(CC)
START_CPPFLAGS =
START_LDFLAGS = -pie $(ALL_LDFLAGS)
START_LIBS = $(CAP_LIBS)
endif

INSTALL = install
Q = @
ifeq ($(V),1)
Q =
endif
say = @printf '  %-8s %s\n'

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all programs holes check check-unit check-system check-escape check-limits check-vm check-e2e check-conformance check-filter check-fuzz check-wire check-headers check-man check-layers check-style check-lists lint \
	analyze unit-tests list-unit-tests test-progs fuzz fuzz-rows fuzz-targets wire-tests conformance-tests install uninstall dist clean distclean help configured FORCE

PROGRAMS = $(if $(CLI_MAIN),$(O)/cloche) $(if $(INIT_MAIN),$(O)/cloche-init) $(if $(MCP_MAIN),$(O)/cloche-mcp) \
	$(if $(COMPILE_MAIN),$(O)/cloche-compile) $(if $(filter yes,$(HAVE_SYSTEMD)),$(O)/cloche-scope)
lib = $(foreach layer,$(1),$(OBJ)/lib$(layer).a)

all: $(PROGRAMS) $(MAN_PAGES)
programs: $(PROGRAMS)

# The same programs with walls that a test can take away, for the tests beside this build's own.
holes:
	$(Q)$(MAKE) --no-print-directory MODE=holes programs

help:
	@echo 'make [all]          the programs, in out/$(MODE)/ (MODE=release|debug|asan|holes, V=1 shows the commands)'
	@echo 'make check          all tests that need no second user: unit, filter, system, e2e, headers, layers, style, lint'
	@echo 'make check-NAME     one of them: unit system escape limits e2e conformance filter wire headers man layers style lists'
	@echo 'make fuzz           random inputs for the parsers (clang): TARGET=$(subst $() ,|,$(FUZZ_TARGETS)), SECONDS=N for each'
	@echo 'make lint           shell scripts, man pages, static analysis;  make analyze: the slow compiler analysis'
	@echo 'make install        with DESTDIR, prefix, bindir, libexecdir, datadir, mandir;  make uninstall'
	@echo 'make dist           a source archive with configure;  make clean, make distclean'
	@echo 'make compile_commands.json   for editors and clang-tidy'

configured:
	@test -f config.mk || { echo 'make: not configured: run ./tools/bootstrap && ./configure first' \
		'(or ./tools/quickstart, which does everything)' >&2; exit 1; }

# --- compiling and linking ---------------------------------------------------------------------------------------------

# Holds the commands of the last build: whatever changes in them rebuilds everything in that mode.
$(O)/.flags: FORCE | configured
	@mkdir -p $(@D)
	@echo '$(COMPILE) $(START_COMPILE) $(START_LDFLAGS)' | cmp -s - $@ || \
		echo '$(COMPILE) $(START_COMPILE) $(START_LDFLAGS)' > $@

$(OBJ)/%.o: $(srcdir)/%.c $(O)/.flags config.h
	$(say) CC $*.c
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILE) $(EXTRA_$(firstword $(subst /, ,$*))) -MMD -MP -c -o $@ $<
EXTRA_mcp = $(CJSON_CFLAGS)
EXTRA_runtime = $(if $(filter runtime/compile/%,$*),$(CJSON_CFLAGS) $(SECCOMP_CFLAGS)) $(if $(filter runtime/scope/%,$*),$(SYSTEMD_CFLAGS))
EXTRA_tests = $(CJSON_CFLAGS) $(CHECK_CFLAGS) $(SECCOMP_CFLAGS)
EXTRA_tools = $(CJSON_CFLAGS) $(SECCOMP_CFLAGS)

$(START_OBJ)/%.o: $(srcdir)/%.c $(O)/.flags config.h
	$(say) CC $*.c
	$(Q)mkdir -p $(@D)
	$(Q)$(START_COMPILE) -MMD -MP -c -o $@ $<

define archive_rule
$(OBJ)/lib$(1).a: $($(1)_MODS:%=$(OBJ)/%.o) $(O)/.flags $(srcdir)/Makefile
	$(Q)rm -f $$@
	$(Q)$(AR) rcs $$@ $($(1)_MODS:%=$(OBJ)/%.o)
endef
$(foreach layer,$(LAYERS),$(eval $(call archive_rule,$(layer))))

# Unused functions fall out of the link by themselves (--gc-sections), so whole layers are named.
CLOCHE_PARTS = $(CLI_MAIN) $(CLI_MODS) $(LIFE_MODS) $(KERN_MODS) $(SPEC_MODS) $(BASE_MODS)
$(O)/cloche: $(CLOCHE_PARTS:%=$(START_OBJ)/%.o) $(srcdir)/Makefile
	$(say) LINK $@
	$(Q)$(START_CC) $(ALL_CFLAGS) $(START_LDFLAGS) -o $@ $(CLOCHE_PARTS:%=$(START_OBJ)/%.o) $(START_LIBS)

INIT_PARTS = $(INIT_MAIN) $(INIT_MODS) $(KERN_MODS) $(SPEC_MODS) $(BASE_MODS)
$(O)/cloche-init: $(INIT_PARTS:%=$(START_OBJ)/%.o) $(srcdir)/Makefile
	$(say) LINK $@
	$(Q)$(START_CC) $(ALL_CFLAGS) $(START_LDFLAGS) -o $@ $(INIT_PARTS:%=$(START_OBJ)/%.o) $(START_LIBS)

# Of kern/, the server takes the loader of its own system-call filter.
MCP_PARTS = $(MCP_MAIN:%=$(OBJ)/%.o) $(call lib,mcp kern spec base)
$(O)/cloche-mcp: $(MCP_PARTS)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) -pie $(ALL_LDFLAGS) $(LINK_USED) -pthread -o $@ $(MCP_PARTS) $(CJSON_LIBS) -lm

# The server as the conformance suite wants it. Never installed.
CONFORMANCE_PARTS = $(MCP_MAIN:%=$(OBJ)/%.o) $(FIXTURE_MODS:%=$(OBJ)/%.o) $(call lib,mcp kern spec base)
$(O)/tests/conformance/server: $(CONFORMANCE_PARTS)
	$(say) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -pie $(ALL_LDFLAGS) $(LINK_USED) -pthread -o $@ $(CONFORMANCE_PARTS) $(CJSON_LIBS) -lm

COMPILE_PARTS = $(COMPILE_MAIN:%=$(OBJ)/%.o) $(call lib,compile kern spec base)
$(O)/cloche-compile: $(COMPILE_PARTS)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) -pie $(ALL_LDFLAGS) $(LINK_USED) -o $@ $(COMPILE_PARTS) $(SECCOMP_LIBS) $(CJSON_LIBS)

SCOPE_PARTS = $(SCOPE_MAIN:%=$(OBJ)/%.o) $(call lib,scope kern spec base)
$(O)/cloche-scope: $(SCOPE_PARTS)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) -pie $(ALL_LDFLAGS) $(LINK_USED) -o $@ $(SCOPE_PARTS) $(SYSTEMD_LIBS)

# --- generated headers -------------------------------------------------------------------------------------------------

GEN_HEADERS = $(GEN)/host_etc.h $(GEN)/loopback.h $(GEN)/profiles.h $(GEN)/protected.h $(GEN)/denials.h $(GEN)/icon.h $(GEN)/skill.h $(FILTERS:%=$(GEN)/filter_%.h)

# Programs that run here while building have their own objects, the same in every mode.
TOOL_COMPILE = $(CC) $(ALL_CPPFLAGS) -std=gnu17 -O1 -g $(WARNINGS) $(ERRORS) $(CJSON_CFLAGS) $(SECCOMP_CFLAGS) $(NL_CFLAGS) $(CFLAGS)
out/build/%.o: $(srcdir)/%.c config.h
	$(say) CC '$*.c (build tool)'
	$(Q)mkdir -p $(@D)
	$(Q)$(TOOL_COMPILE) -MMD -MP -c -o $@ $<

out/build/gen-filter: $(GEN_FILTER_MODS:%=out/build/%.o)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(SECCOMP_LIBS) $(CJSON_LIBS)

out/build/gen-profiles: $(GEN_PROFILES_MODS:%=out/build/%.o)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(CJSON_LIBS)

out/build/gen-loopback: out/build/tools/build/gen-loopback.o
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(NL_LIBS)

$(GEN)/loopback.h: out/build/gen-loopback
	$(say) GEN $@
	$(Q)mkdir -p $(@D)
	$(Q)out/build/gen-loopback > $@

# Some profiles build on another one.
$(GEN)/filter_debug.h: $(srcdir)/profiles/seccomp/default.json
$(GEN)/filter_floor_debug.h: $(srcdir)/profiles/seccomp/floor.json
$(GEN)/filter_scope.h: $(srcdir)/profiles/seccomp/compiler.json
$(GEN)/filter_%.h: $(srcdir)/profiles/seccomp/%.json out/build/gen-filter
	$(say) FILTER $*
	$(Q)mkdir -p $(@D)
	$(Q)out/build/gen-filter $< filter_$* > $@

$(GEN)/denials.h: $(srcdir)/profiles/seccomp/default.json out/build/gen-filter
	$(say) GEN $@
	$(Q)mkdir -p $(@D)
	$(Q)out/build/gen-filter --denials $< > $@

$(GEN)/profiles.h: $(BUILTIN_PROFILES:%=$(srcdir)/profiles/%.json) out/build/gen-profiles
	$(say) GEN $@
	$(Q)mkdir -p $(@D)
	$(Q)out/build/gen-profiles $(BUILTIN_PROFILES:%=$(srcdir)/profiles/%.json) > $@

$(GEN)/icon.h: $(srcdir)/mcp/icon.png
	$(say) GEN $@
	$(Q)mkdir -p $(@D)
	$(Q){ echo '/* Made from mcp/icon.png. */' && printf '#define ICON_PNG_BASE64 "' && base64 <$< | tr -d '\n' && echo '"'; } > $@

# The guide for agents, a line of it as a line of the string.
$(GEN)/skill.h: $(srcdir)/mcp/skill/SKILL.md
	$(say) GEN $@
	$(Q)mkdir -p $(@D)
	$(Q){ echo '/* Made from mcp/skill/SKILL.md. */' && echo 'const char skill_text[] =' && \
		sed 's/[\\"]/\\&/g; s/.*/\t"&\\n"/' $< && echo '	;'; } > $@

# What of the host's /etc is visible inside: lines `NAME  # reason`.
$(GEN)/host_etc.h: $(srcdir)/rootfs/host-etc.list
	$(say) GEN $@
	$(Q)mkdir -p $(@D)
	$(Q)awk 'BEGIN { print "/* Made from rootfs/host-etc.list. */"; print "static const char *const host_etc[] = {" } \
		{ sub(/[ \t]*#.*/, "") } NF { printf "\t\"%s\",\n", $$1 } END { print "};" }' $< > $@

# What stays read-only in a workspace: lines `PATH [STAND-IN]  # reason`.
$(GEN)/protected.h: $(srcdir)/rootfs/protected.list
	$(say) GEN $@
	$(Q)mkdir -p $(@D)
	$(Q)awk 'BEGIN { kind[""] = "FOLDER"; kind["file"] = "FILE"; kind["here"] = "HERE"; kind["existing"] = "NONE"; kind["each"] = "EACH"; \
		print "/* Made from rootfs/protected.list. */"; print "const struct protected_path protected_paths[] = {" } \
		/^#/ || !NF { next } { reason = $$0; sub(/^[^#]*# */, "", reason); sub(/[ \t]*#.*/, "") } \
		!($$2 in kind) || NF > 2 { print FILENAME ": what is \"" $$0 "\"?" > "/dev/stderr"; exit 1 } \
		{ printf "\t{ \"%s\", \"%s\", PROTECTED_%s },\n", $$1, reason, kind[$$2] } \
		END { print "\t{ NULL, NULL, PROTECTED_NONE },"; print "};" }' $< > $@

# The list of options comes from the program itself.
out/man/%: $(srcdir)/docs/man/%.in $(O)/cloche $(srcdir)/tools/build/gen-man
	$(say) MAN $@
	$(Q)mkdir -p $(@D)
	$(Q)$(srcdir)/tools/build/gen-man $(O)/cloche $< > $@

# Needed before the first compilation writes down who includes what.
$(PROGRAM_MODS:%=$(OBJ)/%.o) $(PROGRAM_MODS:%=$(START_OBJ)/%.o) $(UNIT_TESTS:%=$(OBJ)/%.o) \
	$(TEST_PROGS:%=$(OBJ)/%.o) $(FUZZ_MODS:%=$(OBJ)/%.o): | $(GEN_HEADERS)

# --- tests -------------------------------------------------------------------------------------------------------------

check: check-lists check-layers check-style check-headers check-man lint check-unit check-filter check-wire check-system check-escape check-limits check-vm check-e2e check-conformance

# A unit test is linked with the layers up to its own.
below_base = base
below_spec = spec base
below_kern = kern spec base
below_life = life kern spec base
below_cli = cli life kern spec base
below_compile = compile spec base
below_init = init kern spec base
below_mcp = mcp spec base
layer_of = $(if $(filter tests/mcp/%,$(1)),mcp,$(word 3,$(subst /, ,$(1))))

define unit_test_rule
$(O)/$(1): $(OBJ)/$(1).o $(call lib,$(below_$(call layer_of,$(1))))
	$(say) LINK $$@
	$(Q)mkdir -p $$(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -pie $(ALL_LDFLAGS) -o $$@ $$^ $(CHECK_LIBS) -pthread \
		$(if $(filter mcp compile,$(call layer_of,$(1))),$(CJSON_LIBS) $(SECCOMP_LIBS),$(CAP_LIBS))
endef
$(foreach test,$(UNIT_TESTS),$(eval $(call unit_test_rule,$(test))))

unit-tests: $(if $(filter yes,$(HAVE_CHECK)),$(UNIT_TESTS:%=$(O)/%))
	@test '$(HAVE_CHECK)' = yes || { echo 'make: the unit tests need the library check:' \
		'apt-get install check, then run ./configure again' >&2; exit 1; }

check-unit: unit-tests
	$(Q)$(srcdir)/tools/run-tests --title 'unit ($(MODE))' $(UNIT_TESTS:%=$(O)/%)

list-unit-tests:
	@printf '%s\n' $(UNIT_TESTS:%=$(O)/%)

# Whole programs, the filters and the MCP conversation: as the calling user; tools/check runs them as root and as another user.
TEST_ENV = CLOCHE=$(abspath $(O)/cloche) CLOCHE_HOLES=$(abspath out/holes/cloche) TEST_WITH_FILTER=$(abspath $(O)/tests/helpers/with_filter) \
	TEST_TRY_SYSCALL=$(abspath $(O)/tests/helpers/try_syscall) TEST_REFUSED=$(abspath $(O)/tests/helpers/refused) TEST_WITHOUT_CALLS=$(abspath $(O)/tests/helpers/without_calls) TEST_FAKEINIT=$(abspath $(O)/tests/mcp/fakeinit) TEST_CONFORMANCE=$(abspath $(O)/tests/conformance/server) TEST_ATTACK=$(abspath $(O)/tests/escape/attack) TEST_BOMB=$(abspath $(O)/tests/limits/bomb)
check-system: all holes test-progs
	$(Q)$(TEST_ENV) $(srcdir)/tools/run-tests --title system $(sort $(filter-out %/lib.sh,$(wildcard $(srcdir)/tests/system/*.sh)))

define test_prog_rule
$(O)/$(1): $(OBJ)/$(1).o $($(notdir $(1))_MODS:%=$(OBJ)/%.o) $(call lib,kern spec base)
	$(say) LINK $$@
	$(Q)mkdir -p $$(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(or $($(notdir $(1))_LINK),-pie) $(ALL_LDFLAGS) -o $$@ $$^ $($(notdir $(1))_LIBS)
endef
$(foreach prog,$(TEST_PROGS),$(eval $(call test_prog_rule,$(prog))))

test-progs: $(TEST_PROGS:%=$(O)/%)
check-filter: test-progs
	$(Q)$(TEST_ENV) $(srcdir)/tools/run-tests --title 'filter ($(MODE))' \
		'$(O)/tests/filter/tables $(srcdir)/tests/filter $(srcdir)/profiles/seccomp' \
		'$(O)/tests/filter/relations $(srcdir)/profiles/seccomp' \
		'$(O)/tests/filter/user $(srcdir)/tests/filter/docker.json' \
		'$(O)/tests/filter/compiler $(FILTERS:%=$(srcdir)/profiles/seccomp/%.json)' \
		$(O)/tests/filter/live $(srcdir)/tests/filter/workloads.sh

# Attacks, each also without the wall that it attacks; what comes out on other sandboxes: tools/escape-matrix.
check-escape: all holes $(O)/tests/escape/attack
	$(Q)$(TEST_ENV) $(srcdir)/tools/run-tests --title escape $(srcdir)/tests/escape/run

# Programs that use up a machine, each stopped at its limit. In the virtual machine, where cgroup v2 is complete: tests/vm.
check-limits: all $(O)/tests/limits/bomb
	$(Q)$(TEST_ENV) $(srcdir)/tools/run-tests --timeout 1200 --title limits $(srcdir)/tests/limits/run

# The same and more, in a virtual machine; tools/deps vm installs what it needs.
check-vm: all holes test-progs
	$(Q)$(TEST_ENV) $(srcdir)/tools/run-tests --timeout 1200 --title vm $(srcdir)/tests/vm/run

# The server alone, on the wire, with a stand-in for init.
wire-tests: $(O)/cloche-mcp $(O)/tests/mcp/fakeinit
check-wire: wire-tests
	$(Q)$(srcdir)/tools/run-tests --title 'MCP on the wire ($(MODE))' \
		$(patsubst %,'% $(O)/tests/mcp/fakeinit $(O)/cloche-mcp',$(sort $(wildcard $(srcdir)/tests/mcp/wire_*_test.py)))

check-e2e: all
	$(Q)$(TEST_ENV) $(srcdir)/tools/run-tests --timeout 1200 --title e2e $(srcdir)/tests/e2e/run

# Fuzz targets: with libFuzzer's main() in MODE=fuzz, else with one that replays stored inputs.
FUZZ_DRIVER = $(if $(filter fuzz,$(MODE)),,$(OBJ)/tests/fuzz/replay.o)
define fuzz_rule
$(O)/tests/fuzz/$(1): $(OBJ)/tests/fuzz/$(1).o $($(1)_FUZZ:%=$(OBJ)/%.o) $(FUZZ_DRIVER) $(if $(filter server,$(1)),$(OBJ)/libmcp-inproc.a,$(call lib,$(or $($(1)_LAYER),mcp))) $(call lib,kern spec base)
	$(say) LINK $$@
	$(Q)mkdir -p $$(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -pie $(ALL_LDFLAGS) -pthread -o $$@ $$^ $(CJSON_LIBS) -lm
endef
$(foreach target,$(FUZZ_TARGETS),$(eval $(call fuzz_rule,$(target))))

# The server with time and random numbers of its own (tests/fuzz/inproc_clock.c).
$(OBJ)/libmcp-inproc.a: $(OBJ)/libmcp.a
	$(Q)$(OBJCOPY) --redefine-sym clock_gettime=inproc_clock_gettime --redefine-sym epoll_wait=inproc_epoll_wait \
		--redefine-sym getrandom=inproc_getrandom $< $@
OBJCOPY = objcopy

# Stored inputs: those of the tree, and the rows of the table that the wire tests have.
FUZZ_ROWS = out/fuzz/rows
FUZZ_INPUTS = $(srcdir)/tests/fuzz/corpus/$(1) $(if $(filter frame message server,$(1)),$(FUZZ_ROWS))
fuzz-rows:
	$(Q)rm -rf $(FUZZ_ROWS)
	$(Q)$(srcdir)/tests/mcp/wire_table.py --seeds $(FUZZ_ROWS)
fuzz-targets: $(FUZZ_TARGETS:%=$(O)/tests/fuzz/%) fuzz-rows
check-fuzz: fuzz-targets
	$(Q)$(srcdir)/tools/run-tests --title 'stored inputs of the fuzz targets ($(MODE))' \
		$(foreach target,$(FUZZ_TARGETS),'$(O)/tests/fuzz/$(target) $(call FUZZ_INPUTS,$(target))')

# make fuzz [TARGET=NAME...] [SECONDS=N]: N seconds for each. Inputs that are worth keeping go to out/fuzz/corpus, what breaks
# something to out/fuzz/found.
TARGET = $(FUZZ_TARGETS)
SECONDS = 60
fuzz:
	$(Q)$(MAKE) --no-print-directory MODE=fuzz fuzz-targets
	$(Q)mkdir -p out/fuzz/found $(TARGET:%=out/fuzz/corpus/%)
	$(Q)$(foreach target,$(TARGET),out/fuzz/tests/fuzz/$(target) -max_total_time=$(SECONDS) -timeout=60 -rss_limit_mb=4096 -max_len=8192 \
		-dict=$(srcdir)/tests/fuzz/words.dict -print_final_stats=1 -artifact_prefix=out/fuzz/found/$(target)- \
		out/fuzz/corpus/$(target) $(call FUZZ_INPUTS,$(target)) &&) true

# The official conformance suite against a server with its fixtures, and in release builds against `cloche mcp` itself.
conformance-tests: $(O)/tests/conformance/server $(O)/tests/mcp/fakeinit
check-conformance: conformance-tests $(if $(filter asan,$(MODE)),,all)
	$(Q)$(TEST_ENV) $(srcdir)/tools/run-tests --timeout 1200 --title 'MCP conformance ($(MODE))' \
		'$(srcdir)/tests/conformance/run$(if $(filter asan,$(MODE)), fixtures)'

# Every header compiles alone.
HEADERS = $(patsubst $(srcdir)/%,%,$(sort $(wildcard $(srcdir)/runtime/*/*.h $(srcdir)/mcp/*.h $(srcdir)/tests/harness/*.h)))
check-headers: $(HEADERS:%=$(OBJ)/%.ok)
$(OBJ)/%.h.ok: $(srcdir)/%.h $(O)/.flags config.h | $(GEN_HEADERS)
	$(say) HEADER $*.h
	$(Q)mkdir -p $(@D)
	$(Q)echo '#include "$*.h"' | $(COMPILE) $(CJSON_CFLAGS) $(CHECK_CFLAGS) -Wno-unused -fsyntax-only -x c -
	$(Q)touch $@

check-man: $(MAN_PAGES)
	$(Q)command -v mandoc >/dev/null || { echo 'make: mandoc is missing. Debian: apt-get install mandoc' >&2; exit 1; }
	$(Q)mandoc -Tlint -Wwarning $(MAN_PAGES)

check-layers check-style lint:
	$(Q)$(srcdir)/tools/$@

# Every source file below runtime/ and mcp/ is in a list above, and every unit test.
check-lists:
	$(Q)$(srcdir)/tools/check-lists $(PROGRAM_MODS) $(UNIT_TESTS)

# gcc's own path analysis: minutes, and worth it before a release.
# gcc 12 loses sight of memory that an element of a grown array holds (glob).
analyze: | $(GEN_HEADERS)
	$(Q)for mod in $(filter-out $(if $(filter yes,$(HAVE_SYSTEMD)),,runtime/scope/manager),$(PROGRAM_MODS)); do echo "  ANALYZE  $$mod.c"; \
		not=; [ $$mod != mcp/glob ] || not=-Wno-analyzer-malloc-leak; \
		$(COMPILE) $(CJSON_CFLAGS) -fanalyzer $$not -c -o /dev/null $(srcdir)/$$mod.c || exit 1; done

compile_commands.json: Makefile config.mk
	$(Q){ sep='['; for mod in $(PROGRAM_MODS) $(UNIT_TESTS); do \
		printf '%s\n{"directory": "%s", "file": "%s", "command": "%s"}' "$$sep" '$(CURDIR)' '$(abspath $(srcdir))'/$$mod.c \
			"$(COMPILE) $(CJSON_CFLAGS) $(CHECK_CFLAGS) -c -o $(OBJ)/$$mod.o $(abspath $(srcdir))/$$mod.c"; \
		sep=','; done; printf '\n]\n'; } > $@

# --- installing and packing --------------------------------------------------------------------------------------------

install: all
	@test '$(MODE)' != holes || { echo 'make: MODE=holes is for tests, never for use' >&2; exit 1; }
	$(Q)$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(libexecdir)/cloche $(DESTDIR)$(datadir)/cloche/seccomp
	$(Q)$(INSTALL) -m 755 $(O)/cloche $(DESTDIR)$(bindir)/cloche
	$(Q)$(INSTALL) -m 755 $(O)/cloche-init $(O)/cloche-mcp $(O)/cloche-compile $(DESTDIR)$(libexecdir)/cloche/
	$(Q)if test '$(HAVE_SYSTEMD)' = yes; then $(INSTALL) -m 755 $(O)/cloche-scope $(DESTDIR)$(libexecdir)/cloche/; fi
	$(Q)for f in $(PROFILES); do $(INSTALL) -m 644 $(srcdir)/$$f $(DESTDIR)$(datadir)/cloche/$${f#profiles/} || exit 1; done
	$(Q)$(INSTALL) -D -m 644 $(srcdir)/mcp/skill/SKILL.md $(DESTDIR)$(datadir)/cloche/skills/cloche/SKILL.md
	$(Q)for f in $(MAN_PAGES); do $(INSTALL) -D -m 644 $$f $(DESTDIR)$(mandir)/man$${f##*.}/$${f##*/} || exit 1; done
	$(Q)$(INSTALL) -d $(DESTDIR)$(datadir)/cloche/apparmor
	$(Q)sed 's,@CLOCHE@,$(bindir)/cloche,' $(srcdir)/profiles/apparmor/cloche.in > $(DESTDIR)$(datadir)/cloche/apparmor/cloche
	$(Q)chmod 644 $(DESTDIR)$(datadir)/cloche/apparmor/cloche
	@echo 'installed $(DESTDIR)$(bindir)/cloche'

uninstall: configured
	$(Q)rm -f $(DESTDIR)$(bindir)/cloche
	$(Q)for f in $(MAN_PAGES); do rm -f $(DESTDIR)$(mandir)/man$${f##*.}/$${f##*/}; done
	$(Q)rm -rf $(DESTDIR)$(libexecdir)/cloche $(DESTDIR)$(datadir)/cloche

# Of the last commit, with configure, so that a reader needs no autoconf.
DIST = cloche-$(VERSION)
dist: configured
	$(Q)cd $(srcdir) && ./tools/bootstrap
	$(Q)git -C $(srcdir) archive --prefix=$(DIST)/ -o $(CURDIR)/$(DIST).tar HEAD
	$(Q)tar -rf $(DIST).tar --owner=0 --group=0 --transform='s,^,$(DIST)/,' -C $(srcdir) configure
	$(Q)gzip -9nf $(DIST).tar
	@echo '$(DIST).tar.gz'

clean:
	$(Q)rm -rf out compile_commands.json

# In a build folder the Makefile is a link that configure made.
distclean: clean
	$(Q)rm -f config.mk config.h config.log config.status
	$(Q)if test -L Makefile; then rm -f Makefile; fi

# --- when the build's own description changes --------------------------------------------------------------------------

# Only in a git checkout: files of an archive have equal times, and its reader may have no autoconf.
ifneq ($(wildcard config.status),)
ifneq ($(wildcard $(srcdir)/.git),)
$(srcdir)/configure: $(srcdir)/configure.ac $(srcdir)/tools/build/probes.m4
	$(Q)$(srcdir)/tools/bootstrap
config.status: $(srcdir)/configure
	$(Q)./config.status --recheck
endif
config.mk: $(srcdir)/tools/build/config.mk.in config.status
	$(Q)./config.status $@
config.h: $(srcdir)/tools/build/config.h.in config.status
	$(Q)./config.status $@ && touch $@
endif

-include $(patsubst %,$(START_OBJ)/%.d,$(PROGRAM_MODS))
-include $(patsubst %,$(OBJ)/%.d,$(PROGRAM_MODS) $(UNIT_TESTS) $(TEST_PROGS) $(TEST_PROG_MODS) $(FUZZ_MODS)) $(GEN_FILTER_MODS:%=out/build/%.d) $(GEN_PROFILES_MODS:%=out/build/%.d)
