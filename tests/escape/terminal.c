/*
 * Attacks on the terminal that a sandbox was started from: typing for its user. Runs inside, with the terminal as standard input.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "runtime/base/attr.h"
#include "tests/escape/attack.h"

/* Puts @args[0] into the input of the terminal. The command word's upper half must not matter (CVE-2019-10063). */
static enum verdict type(char **args)
{
	const char *text = args[0];
	enum verdict v = REFUSED;
	struct termios mode;

	if (!text || tcgetattr(STDIN_FILENO, &mode) < 0)
		return NOT_TRIED;
	(void) signal(SIGTTOU, SIG_IGN);
	for (; *text; text++)
		if (attack_result(syscall(SYS_ioctl, STDIN_FILENO, TIOCSTI, text), "TIOCSTI") == SUCCEEDED ||
		    attack_result(syscall(SYS_ioctl, STDIN_FILENO, TIOCSTI | 1UL << 32, text), "TIOCSTI + 2^32") == SUCCEEDED)
			v = SUCCEEDED;
	return v;
}

/* Becomes the session that the terminal controls and is controlled by, or finds that it is. */
static enum verdict own(_unused_ char **args)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (!isatty(STDIN_FILENO))
		return NOT_TRIED;
	if (attack_result(fd, "/dev/tty") == SUCCEEDED)
		return SUCCEEDED;
	return attack_result(ioctl(STDIN_FILENO, TIOCSCTTY, 1), "TIOCSCTTY");
}

const struct attack terminal_attacks[] = {
	{ "type", "TEXT", type },
	{ "own-terminal", NULL, own },
	{ NULL, NULL, NULL },
};
