/*
 * gen-filter: turns a seccomp profile into a C header with the finished program, at build time.
 *
 *     gen-filter [--arch ARCH] PROFILE.json NAME > filter.h     the header; NAME is the array's name
 *     gen-filter [--arch ARCH] --dump PROFILE.json              the rules as text, one a line, for people
 *
 * A filter of three hundred rules takes 2.5 to 4 ms to compile with libseccomp and a quarter of one to load, so
 * what ships is the program, and nothing that ships needs libseccomp. Runs on the build machine with the builder's
 * privileges.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/fd.h"
#include "tools/build/filter_code.h"
#include "tools/build/filter_profile.h"

static int read_file(const char *path, struct buf *b, struct err *err)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_SYSTEM, errno, "cannot open '%s': %s", path, strerror(errno));
	for (;;) {
		char chunk[16384];
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, ERR_SYSTEM, errno, "cannot read '%s': %s", path, strerror(errno));
		if (n == 0)
			break;
		buf_add(b, chunk, (size_t) n);
	}
	if (buf_error(b) < 0)
		return err_set(err, ERR_USAGE, -buf_error(b), "'%s' is larger than %d bytes", path, FILTER_PROFILE_MAX);
	return 0;
}

static const char *action_text(uint32_t action, char *text, size_t size)
{
	switch (action & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
		return "allow";
	case SECCOMP_RET_KILL_PROCESS:
		return "kill";
	case SECCOMP_RET_ERRNO:
		(void) snprintf(text, size, "errno %s", strerrorname_np((int) (action & SECCOMP_RET_DATA)));
		return text;
	default:
		return "?";
	}
}

static void dump(const struct filter_profile *p)
{
	char text[64];

	printf("architecture %s\ndefault %s\n", p->arch->name, action_text(p->default_action, text, sizeof(text)));
	for (unsigned int i = 0; i < p->ncalls; i++) {
		const struct filter_call *call = &p->call[i];

		for (unsigned int j = 0; j < call->nrules; j++) {
			const struct filter_rule *rule = &call->rule[j];

			printf("%u %s", call->nr, call->name);
			for (unsigned int k = 0; k < rule->ncond; k++)
				printf(" arg%u&0x%x==0x%x", rule->cond[k].arg, rule->cond[k].mask, rule->cond[k].value);
			printf(" %s\n", action_text(rule->action, text, sizeof(text)));
		}
	}
}

static void print_header(const struct filter_profile *p, const char *path, const char *name,
			 const struct sock_filter *prog, size_t n)
{
	const char *base = strrchr(path, '/');

	printf("/* Made by gen-filter from %s for %s: %u calls in %zu instructions. Do not edit. */\n",
	       base ? base + 1 : path, p->arch->name, p->ncalls, n);
	printf("#pragma once\n\n#include <linux/filter.h>\n\n");
	printf("#ifndef %s\n#error \"this filter is for %s: build it again for this machine\"\n#endif\n\n",
	       p->arch->macro, p->arch->name);
	printf("static const struct sock_filter %s[] = {\n", name);
	for (size_t i = 0; i < n; i++)
		printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", prog[i].code, prog[i].jt, prog[i].jf, prog[i].k);
	printf("};\n");
}

static bool is_identifier(const char *s)
{
	if (!isalpha((unsigned char) *s) && *s != '_')
		return false;
	while (isalnum((unsigned char) *s) || *s == '_')
		s++;
	return *s == '\0';
}

static int generate(const char *arch_name, const char *path, const char *name, struct err *err)
{
	static struct filter_profile profile; /* 170 KiB */
	static struct sock_filter prog[BPF_MAXINSNS];
	_cleanup_buf_ struct buf text = BUF_INIT(FILTER_PROFILE_MAX);
	const struct filter_arch *arch = filter_arch_find(arch_name);

	if (!arch)
		return err_set(err, ERR_UNSUPPORTED, ENOSYS,
			       "no filter can be made for '%s': only x86_64 and aarch64 are known",
			       arch_name ? arch_name : "this machine");

	int r = read_file(path, &text, err);
	if (r < 0)
		return r;
	r = filter_profile_parse(buf_cstr(&text), text.len, arch, &profile, err);
	if (r < 0)
		return err_wrap(err, "profile '%s'", path);
	if (!name) {
		dump(&profile);
		return 0;
	}
	r = filter_compile(&profile, prog, ARRAY_LEN(prog));
	if (r < 0)
		return err_set(err, ERR_USAGE, E2BIG, "profile '%s' needs more than %d instructions", path,
			       BPF_MAXINSNS);
	print_header(&profile, path, name, prog, (size_t) r);
	return 0;
}

int main(int argc, char *argv[])
{
	const char *arch = NULL;
	struct err err = { 0 };
	int i = 1;

	if (i + 1 < argc && strcmp(argv[i], "--arch") == 0) {
		arch = argv[i + 1];
		i += 2;
	}

	bool dumping = i < argc && strcmp(argv[i], "--dump") == 0;
	const char *path = i + 1 < argc ? argv[dumping ? i + 1 : i] : NULL;
	const char *name = dumping ? NULL : argv[argc - 1];

	if (argc - i != 2 || (name && !is_identifier(name))) {
		(void) fprintf(stderr, "usage: gen-filter [--arch ARCH] PROFILE.json NAME\n"
				       "       gen-filter [--arch ARCH] --dump PROFILE.json\n");
		return 2;
	}
	if (generate(arch, path, name, &err) < 0) {
		(void) fprintf(stderr, "gen-filter: %s\n", err.text);
		return 1;
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		(void) fprintf(stderr, "gen-filter: cannot write the result: %s\n", strerror(errno));
		return 1;
	}
	return 0;
}
