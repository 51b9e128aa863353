/*
 * Answers refused system calls: see seccomp_notify.h. Runs in a command's shim and, for `cloche run`, in cloche-init, both
 * without any capability.
 */
#include "runtime/kern/seccomp_notify.h"

#include <endian.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/kern/seccomp_arch.h"

/* From kernel headers of 6.6: the caller continues at once, on the processor that answered. */
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

/* Where the low 32 bits of an argument lie in its 64. */
enum { LOW_WORD = __BYTE_ORDER == __BIG_ENDIAN ? sizeof(uint32_t) : 0 };

/* ioctl(2), whose command is an int with one C library and an unsigned long with another. */
static int control(int listener, unsigned long command, void *arg)
{
	return syscall(SYS_ioctl, listener, command, arg) < 0 ? -errno : 0;
}

void seccomp_notify_prepare(int listener)
{
	(void) control(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, (void *) SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

/* The errno of a verdict. One that is none cannot be: the two filters come from the same rules. It is a refusal all the same. */
static uint32_t errno_of(uint32_t verdict)
{
	uint32_t errnum = verdict & SECCOMP_RET_DATA;

	if ((verdict & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ERRNO || errnum == 0)
		return EPERM;
	return errnum;
}

int seccomp_notify_answer(int listener, const struct seccomp_program *program, struct seccomp_answer *ret)
{
	struct seccomp_notif call = { 0 }; /* the kernel insists on zeros */
	int r = control(listener, SECCOMP_IOCTL_NOTIF_RECV, &call);

	if (r == -ENOENT || r == -EINTR)
		return 0;
	if (r < 0)
		return r;
	ret->nr = (uint32_t) call.data.nr;
	ret->errnum = errno_of(seccomp_judge(program, &call.data));
	/* No flags: SECCOMP_USER_NOTIF_FLAG_CONTINUE would make the call. */
	struct seccomp_notif_resp answer = { .id = call.id, .error = -(int32_t) ret->errnum };
	r = control(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	if (r == -ENOENT || r == -EINTR)
		return 0;
	return r < 0 ? r : 1;
}

static bool is_allowed(const struct seccomp_program *program, int nr, const uint64_t args[static 3])
{
	struct seccomp_data data = { .nr = nr, .arch = SECCOMP_NATIVE_ARCH, .args = { args[0], args[1], args[2] } };

	return seccomp_judge(program, &data) == SECCOMP_RET_ALLOW;
}

bool seccomp_notify_is_possible(const struct seccomp_program *program)
{
	static const uint64_t sending[] = { 0, 0, MSG_NOSIGNAL }, guarding[] = { SECCOMP_SET_MODE_FILTER, 0, 0 };

	return is_allowed(program, SYS_sendmsg, sending) && is_allowed(program, SYS_seccomp, guarding);
}

int seccomp_notify_guard(void)
{
	static const struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1]) + LOW_WORD),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EBUSY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = {
		.len = ARRAY_LEN(program),
		.filter = (struct sock_filter *) (uintptr_t) program, /* the kernel only reads it */
	};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0 ? -errno : 0;
}

int seccomp_notify_try(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &allow };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) < 0 ? -errno : 0;
}
