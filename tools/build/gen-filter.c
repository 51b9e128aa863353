/*
 * gen-filter: turns our seccomp profiles into C headers with the finished programs, while cloche is built.
 *
 *     gen-filter PROFILE.json NAME > filter.h              the header; NAME is the name of its arrays
 *     gen-filter --denials PROFILE.json > denials.h        names of calls, and why rules refuse them
 *     gen-filter --dump [ARCH] PROFILE.json                the rules as text, one a line, for people
 *
 * The headers hold what belongs to each architecture, and the preprocessor chooses. A filter of three hundred rules takes 2.5
 * to 4 ms to compile with libseccomp and a twentieth of one to load, so the program is what ships. Runs on the build machine
 * with the builder's privileges.
 */
#include <ctype.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/attr.h"
#include "runtime/base/err.h"
#include "runtime/compile/filter_code.h"
#include "tools/build/filter_profile.h"

enum { CALL_NUMBERS = 1024 }; /* more than any architecture has, but for ARM's few private ones */

/* What an explanation says in its second part: what to do instead. */
#define INSTEAD "Instead: "

static struct filter_profile profile; /* megabytes */

static const char *action_text(uint32_t action, char *text, size_t size)
{
	switch (action & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
		return "allow";
	case SECCOMP_RET_KILL_PROCESS:
		return "kill";
	case SECCOMP_RET_TRACE:
		return "trace";
	case SECCOMP_RET_ERRNO:
		(void) snprintf(text, size, "errno %s", strerrorname_np((int) (action & SECCOMP_RET_DATA)));
		return text;
	default:
		return "?";
	}
}

static int dump(const char *arch_name, const char *path, struct err *err)
{
	const struct filter_arch *arch = filter_arch_find(arch_name);
	char text[64];

	if (!arch)
		return err_set(err, ERR_USAGE, EINVAL, "no filter is made for '%s'", arch_name ? arch_name : "this machine");
	int r = filter_profile_load(path, arch, &profile, err);
	if (r < 0)
		return r;
	printf("architecture %s\ndefault %s\n", arch->name, action_text(profile.default_action, text, sizeof(text)));
	for (unsigned int i = 0; i < profile.ncalls; i++) {
		const struct filter_call *call = &profile.call[i];

		for (unsigned int j = 0; j < call->nrules; j++) {
			const struct filter_rule *rule = &call->rule[j];

			printf("%u %s", call->nr, call->name);
			for (unsigned int k = 0; k < rule->ncond; k++)
				printf(" arg%u&0x%llx==0x%llx", rule->cond[k].arg, (unsigned long long) rule->cond[k].mask,
				       (unsigned long long) rule->cond[k].value);
			printf(" %s\n", action_text(rule->action, text, sizeof(text)));
		}
	}
	return 0;
}

static void print_intro(const char *path)
{
	const char *base = strrchr(path, '/');

	printf("/* Made by gen-filter from %s. Do not edit. */\n#pragma once\n\n", base ? base + 1 : path);
}

static void print_arch(size_t i)
{
	printf("#%s %s /* %s */\n\n", i == 0 ? "if" : "elif", filter_arches[i].condition, filter_arches[i].name);
}

static void print_end(void)
{
	printf("#else\n#error \"no system-call filter is made for this architecture\"\n#endif\n");
}

/* The array NAME, or NAME_notify: the form that asks a listener. */
static int print_program(const char *name, bool notify, struct err *err)
{
	static struct sock_filter prog[BPF_MAXINSNS];
	int n = filter_compile(&profile, notify, prog, ARRAY_LEN(prog));

	if (n < 0)
		return err_set(err, ERR_USAGE, E2BIG, "the filter '%s' for %s needs more than %d instructions", name,
			       profile.arch->name, BPF_MAXINSNS);
	printf("/* %u calls in %d instructions */\n_unused_ static const struct sock_filter %s%s[] = {\n", profile.ncalls, n, name,
	       notify ? "_notify" : "");
	for (int i = 0; i < n; i++)
		printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", prog[i].code, prog[i].jt, prog[i].jf, prog[i].k);
	printf("};\n\n");
	return 0;
}

static int generate_programs(const char *path, const char *name, struct err *err)
{
	print_intro(path);
	printf("#include <linux/filter.h>\n\n#include \"runtime/base/attr.h\"\n\n");
	for (size_t i = 0; i < ARRAY_LEN(filter_arches); i++) {
		int r = filter_profile_load(path, &filter_arches[i], &profile, err);

		if (r < 0)
			return r;
		print_arch(i);
		if ((r = print_program(name, false, err)) < 0 || (r = print_program(name, true, err)) < 0)
			return r;
	}
	print_end();
	return 0;
}

static void print_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
	putchar('"');
}

static void print_names(const struct filter_arch *arch)
{
	char name[FILTER_NAME_MAX];

	printf("static const struct denial_call denial_calls[] = {\n");
	for (uint32_t nr = 0; nr < CALL_NUMBERS; nr++)
		if (filter_call_name(arch, nr, name))
			printf("\t{ %u, \"%s\" },\n", nr, name);
	printf("};\n\n");
}

/*
 * Each call is explained once for each errno: by the last of its rules, which is the most general one. Our profiles explain
 * every EPERM and EAFNOSUPPORT of a filter for commands.
 */
static int print_reasons(struct err *err)
{
	printf("static const struct denial_reason denial_reasons[] = {\n");
	for (unsigned int i = 0; i < profile.ncalls; i++) {
		const struct filter_call *call = &profile.call[i];

		for (unsigned int j = 0; j < call->nrules; j++) {
			const struct filter_rule *rule = &call->rule[j];
			uint32_t errnum = rule->action & SECCOMP_RET_DATA;
			bool is_last = true;

			if (rule->action != (SECCOMP_RET_ERRNO | EPERM) && rule->action != (SECCOMP_RET_ERRNO | EAFNOSUPPORT))
				continue;
			if (!strstr(rule->comment, INSTEAD))
				return err_set(err, ERR_USAGE, EINVAL,
					       "the rule that refuses '%s' must say '" INSTEAD "' in its comment", call->name);
			for (unsigned int k = j + 1; k < call->nrules; k++)
				is_last &= call->rule[k].action != rule->action;
			if (!is_last)
				continue;
			printf("\t{ %u, %u,\n\t  ", call->nr, errnum);
			print_string(rule->comment);
			printf(" },\n");
		}
	}
	printf("};\n\n");
	return 0;
}

static int generate_denials(const char *path, struct err *err)
{
	print_intro(path);
	printf("#include <stdint.h>\n\n"
	       /* Without pointers, of which each would cost a relocation at every start. */
	       "struct denial_call {\n\tuint16_t nr;\n\tchar name[30];\n};\n\n"
	       "struct denial_reason {\n\tuint32_t nr;\n\tuint32_t errnum;\n\tconst char *text;\n};\n\n");
	for (size_t i = 0; i < ARRAY_LEN(filter_arches); i++) {
		int r = filter_profile_load(path, &filter_arches[i], &profile, err);

		if (r < 0)
			return r;
		print_arch(i);
		print_names(&filter_arches[i]);
		if ((r = print_reasons(err)) < 0)
			return r;
	}
	print_end();
	return 0;
}

static bool is_identifier(const char *s)
{
	if (!isalpha((unsigned char) *s) && *s != '_')
		return false;
	while (isalnum((unsigned char) *s) || *s == '_')
		s++;
	return *s == '\0';
}

static int usage(void)
{
	(void) fprintf(stderr, "usage: gen-filter PROFILE.json NAME\n"
			       "       gen-filter --denials PROFILE.json\n"
			       "       gen-filter --dump [ARCH] PROFILE.json\n");
	return 2;
}

int main(int argc, char *argv[])
{
	struct err err = { 0 };
	int r;

	if (argc >= 3 && argc <= 4 && strcmp(argv[1], "--dump") == 0)
		r = dump(argc == 4 ? argv[2] : NULL, argv[argc - 1], &err);
	else if (argc == 3 && strcmp(argv[1], "--denials") == 0)
		r = generate_denials(argv[2], &err);
	else if (argc == 3 && is_identifier(argv[2]))
		r = generate_programs(argv[1], argv[2], &err);
	else
		return usage();
	if (r < 0) {
		(void) fprintf(stderr, "gen-filter: %s\n", err.text);
		return 1;
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		(void) fprintf(stderr, "gen-filter: cannot write the result: %s\n", strerror(errno));
		return 1;
	}
	return 0;
}
