/*
 * Filters that are read instead of loaded: the compiled form is checked whole, the floor lies under every user's filter, and the
 * judge says what the kernel would. (The built-in filters' meaning: tests/filter.)
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>

#include "runtime/kern/seccomp.h"
#include "runtime/kern/seccomp_arch.h"
#include "runtime/spec/filterform.h"
#include "tests/harness/unit.h"

#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)

/* A compiled form with the same program twice, as cloche-compile writes it. */
static void make(struct buf *form, const struct sock_filter *prog, uint32_t len)
{
	struct filterform_head head = {
		.magic = FILTERFORM_MAGIC, .version = FILTERFORM_VERSION, .arch = SECCOMP_NATIVE_ARCH, .plain_len = len,
		.notify_len = len, .notes_len = 6,
	};

	buf_clear(form);
	buf_add(form, &head, sizeof(head));
	buf_add(form, prog, len * sizeof(*prog));
	buf_add(form, prog, len * sizeof(*prog));
	buf_add_str(form, "notes\n");
	ck_assert_int_eq(buf_error(form), 0);
}

static int parse(const struct sock_filter *prog, uint32_t len)
{
	_cleanup_buf_ struct buf form = BUF_INIT(2 * FILTERFORM_MAX);
	struct seccomp_program program;

	make(&form, prog, len);
	return seccomp_program_parse(form.p, form.len, &program);
}

static uint32_t verdict(const struct seccomp_program *program, long nr, uint64_t arg0, uint64_t arg1)
{
	struct seccomp_data data = { .nr = (int) nr, .arch = SECCOMP_NATIVE_ARCH, .args = { arg0, arg1 } };

	return seccomp_judge(program, &data);
}

START_TEST(test_sound)
{
	static const struct sock_filter sound[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 60), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 7),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1),
		BPF_STMT(BPF_JMP | BPF_JA, 0), RETURN(SECCOMP_RET_ALLOW),
	};

	ck_assert_int_eq(parse(sound, ARRAY_LEN(sound)), 0);
	ck_assert_int_eq(parse(sound + 4, 1), 0);
}
END_TEST

/* Each is one instruction in front of a return. */
START_TEST(test_unsound)
{
	static const struct sock_filter bad[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64),       /* behind the data */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 61),       /* between words */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0xfffffffc),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0),
		BPF_STMT(BPF_ST, 0),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1),
		BPF_STMT(BPF_JMP | BPF_JA, 1),                /* behind the end */
		BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 255),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 0),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const struct sock_filter prog[] = { bad[i], RETURN(SECCOMP_RET_ALLOW) };

		ck_assert_msg(parse(prog, 2) == -EBADMSG, "bad instruction %zu passes", i);
	}
	static const struct sock_filter open_end[] = { RETURN(0), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0) };
	ck_assert_int_eq(parse(open_end, 2), -EBADMSG);
	ck_assert_int_eq(parse(open_end, 0), -EBADMSG);
}
END_TEST

START_TEST(test_head)
{
	static const struct sock_filter prog[] = { RETURN(SECCOMP_RET_ALLOW) };
	_cleanup_buf_ struct buf form = BUF_INIT(FILTERFORM_MAX);
	struct seccomp_program program;

	make(&form, prog, 1);
	ck_assert_int_eq(seccomp_program_parse(form.p, form.len, &program), 0);
	for (size_t len = 0; len < form.len; len++)
		ck_assert_int_eq(seccomp_program_parse(form.p, len, &program), -EBADMSG);
	buf_add_char(&form, 0);
	ck_assert_int_eq(seccomp_program_parse(form.p, form.len, &program), -EBADMSG);
	/* Every bit of the head counts, but for the kernel's version. */
	for (size_t byte = 0; byte < sizeof(struct filterform_head); byte++) {
		if (byte / sizeof(uint32_t) == offsetof(struct filterform_head, kernel) / sizeof(uint32_t))
			continue;
		for (unsigned int bit = 0; bit < 8; bit++) {
			make(&form, prog, 1);
			form.p[byte] = (char) (form.p[byte] ^ 1 << bit);
			ck_assert_msg(seccomp_program_parse(form.p, form.len, &program) == -EBADMSG, "byte %zu, bit %u", byte, bit);
		}
	}
}
END_TEST

START_TEST(test_judge)
{
	const struct seccomp_program *normal = seccomp_builtin(SECCOMP_DEFAULT);
	const struct seccomp_program *debug = seccomp_builtin(SECCOMP_DEBUG);
	struct seccomp_data foreign = { .nr = SYS_read, .arch = SECCOMP_NATIVE_ARCH ^ 1 };

	ck_assert_uint_eq(verdict(normal, SYS_read, 0, 0), SECCOMP_RET_ALLOW);
	ck_assert_uint_eq(verdict(normal, SYS_mount, 0, 0), SECCOMP_RET_ERRNO | EPERM);
	ck_assert_uint_eq(verdict(normal, SYS_ioctl, 0, 0x100005412), SECCOMP_RET_ERRNO | EPERM);
	ck_assert_uint_eq(verdict(normal, SYS_clone3, 0, 0), SECCOMP_RET_ERRNO | ENOSYS);
	ck_assert_uint_eq(verdict(normal, SYS_ptrace, 0, 0), SECCOMP_RET_ERRNO | EPERM);
	ck_assert_uint_eq(verdict(debug, SYS_ptrace, 0, 0), SECCOMP_RET_ALLOW);
	ck_assert_uint_eq(seccomp_judge(normal, &foreign), SECCOMP_RET_KILL_PROCESS);
	ck_assert(seccomp_allows(normal, SYS_read));
	ck_assert(!seccomp_allows(normal, SYS_mount));
}
END_TEST

/* A user's filter that allows all, and one that kills for all. */
START_TEST(test_floor)
{
	static const struct sock_filter all[] = { RETURN(SECCOMP_RET_ALLOW) }, none[] = { RETURN(SECCOMP_RET_KILL_PROCESS) };
	_cleanup_buf_ struct buf form = BUF_INIT(FILTERFORM_MAX), linked = BUF_INIT(FILTERFORM_MAX), debug = BUF_INIT(FILTERFORM_MAX);
	struct seccomp_program program;

	make(&form, all, 1);
	ck_assert_int_eq(seccomp_program_link(form.p, form.len, false, &linked), 0);
	ck_assert_int_eq(seccomp_program_parse(linked.p, linked.len, &program), 0);
	ck_assert_uint_eq(verdict(&program, SYS_perf_event_open, 0, 0), SECCOMP_RET_ALLOW);
	ck_assert_uint_eq(verdict(&program, SYS_mount, 0, 0), SECCOMP_RET_ERRNO | EPERM);
	ck_assert_uint_eq(verdict(&program, SYS_ptrace, 0, 0), SECCOMP_RET_ERRNO | EPERM);
	ck_assert_uint_eq(verdict(&program, SYS_socket, 40, 0), SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	ck_assert_int_eq(seccomp_program_link(form.p, form.len, true, &debug), 0);
	ck_assert_int_eq(seccomp_program_parse(debug.p, debug.len, &program), 0);
	ck_assert_uint_eq(verdict(&program, SYS_ptrace, 0, 0), SECCOMP_RET_ALLOW);
	ck_assert_uint_eq(verdict(&program, SYS_mount, 0, 0), SECCOMP_RET_ERRNO | EPERM);

	make(&form, none, 1);
	buf_clear(&linked);
	ck_assert_int_eq(seccomp_program_link(form.p, form.len, false, &linked), 0);
	ck_assert_int_eq(seccomp_program_parse(linked.p, linked.len, &program), 0);
	ck_assert_uint_eq(verdict(&program, SYS_read, 0, 0), SECCOMP_RET_KILL_PROCESS);
	/* The listener's form asks where the floor refuses. */
	program.plain = program.notify;
	program.plain_len = program.notify_len;
	ck_assert_uint_eq(verdict(&program, SYS_mount, 0, 0), SECCOMP_RET_USER_NOTIF);
	ck_assert_uint_eq(verdict(&program, SYS_clone3, 0, 0), SECCOMP_RET_ERRNO | ENOSYS);
}
END_TEST

START_TEST(test_too_long)
{
	static struct sock_filter prog[FILTERFORM_INSNS_MAX];
	_cleanup_buf_ struct buf form = BUF_INIT(2 * FILTERFORM_MAX), linked = BUF_INIT(2 * FILTERFORM_MAX);

	for (size_t i = 0; i < ARRAY_LEN(prog); i++)
		prog[i] = (struct sock_filter) RETURN(SECCOMP_RET_ALLOW);
	make(&form, prog, ARRAY_LEN(prog));
	ck_assert_int_eq(seccomp_program_link(form.p, form.len, false, &linked), -E2BIG);
	make(&form, prog, ARRAY_LEN(prog) / 2);
	ck_assert_int_eq(seccomp_program_link(form.p, form.len, false, &linked), 0);
	ck_assert_int_eq(seccomp_program_link(form.p, form.len - 1, false, &linked), -EBADMSG);
}
END_TEST

UNIT_MAIN("runtime/kern/seccomp_judge", test_sound, test_unsound, test_head, test_judge, test_floor, test_too_long)
