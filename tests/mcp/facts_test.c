/*
 * What the server finds out about its sandbox, from text in the kernel's form.
 */
#include "mcp/facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "tests/harness/unit.h"

/* In no particular order: the workspace is told first. */
#define SYSTEM                                                                                                         \
	"66 44 0:40 / / ro,nosuid,nodev,relatime - tmpfs tmpfs rw,size=8192k,mode=755\n"                              \
	"67 66 254:0 /usr /usr ro,nosuid,nodev,relatime - ext4 /dev/vda rw,discard\n"                                 \
	"96 66 0:6 /null /dev/null rw,nosuid,noexec,relatime - devtmpfs devtmpfs rw,mode=755\n"                       \
	"103 66 0:42 / /dev/shm rw,nosuid,nodev,relatime - tmpfs tmpfs rw,size=262144k\n"                             \
	"104 66 0:43 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw,hidepid=invisible\n"                      \
	"105 66 0:44 / /tmp rw,nosuid,nodev,relatime - tmpfs tmpfs rw,size=1048576k\n"
#define WORKSPACE "42 66 254:0 /home/me/project /workspace rw,nosuid,nodev,relatime,idmapped shared:1 - ext4 /dev/vda rw,discard\n"
#define WORKSPACE_RO "42 66 254:0 /home/me/project /workspace ro,nosuid,nodev,relatime - ext4 /dev/vda rw,discard\n"

static struct facts read_mounts(const char *mountinfo, bool read_only)
{
	struct facts facts = { .read_only = read_only };

	facts_read_mounts(&facts, "/workspace", mountinfo);
	return facts;
}

START_TEST(test_ordinary)
{
	struct facts facts = read_mounts(SYSTEM WORKSPACE, false);

	ck_assert_str_eq(facts.writable, "/workspace, /dev/shm and /tmp");
	ck_assert(!facts.has_mounts);
	ck_assert(!facts.read_only);
}
END_TEST

START_TEST(test_protected)
{
	struct facts facts = read_mounts(WORKSPACE SYSTEM "200 42 254:0 /p/.git /workspace/.git rw,relatime - ext4 /dev/vda rw\n"
					 "201 42 254:0 /p/.git/hooks /workspace/.git/hooks ro,relatime - ext4 /dev/vda rw\n", false);

	ck_assert(facts.has_mounts);
	ck_assert_str_eq(facts.writable, "/workspace, /dev/shm and /tmp");
	/* A name that only begins alike is another place. */
	ck_assert(!read_mounts("200 66 0:1 / /workspace2/x rw - tmpfs t rw\n", false).has_mounts);
}
END_TEST

START_TEST(test_read_only)
{
	struct facts facts = read_mounts(WORKSPACE_RO SYSTEM "300 42 0:50 / /workspace/build rw - tmpfs tmpfs rw\n", true);

	ck_assert_str_eq(facts.writable, "/dev/shm, /tmp and /workspace/build");
	ck_assert_str_eq(read_mounts(WORKSPACE_RO, true).writable, "");
	/* Written to neither when the mount nor when the file system is read-only. */
	ck_assert_str_eq(read_mounts("1 1 0:1 / /data rw - ext4 /dev/sda ro\n", true).writable, "");
	ck_assert_str_eq(read_mounts("1 1 0:1 / /data rw - ext4 /dev/sda rw\n", true).writable, "/data");
}
END_TEST

/* Names from the workspace or a volume are repeated only when they are plain. */
/* Folders in memory that can be written, each once. */
START_TEST(test_in_memory)
{
	struct facts facts = read_mounts(SYSTEM WORKSPACE "106 66 0:45 / /home/agent ro,nosuid - tmpfs tmpfs rw,size=1k\n"
					 "107 66 0:46 / /workspace/build rw - tmpfs tmpfs rw\n108 66 0:46 / /workspace/build rw - tmpfs tmpfs rw\n"
					 "109 66 0:47 / /workspace/a\\040b rw - tmpfs tmpfs rw\n110 66 0:48 / /proc/x rw - tmpfs tmpfs rw\n"
					 "111 66 0:49 / /dev/x rw - tmpfs tmpfs rw\n112 66 0:50 / /v rw - tmpfsx t rw\n", false);

	ck_assert_str_eq(facts.in_memory[0], "/dev/shm");
	ck_assert_str_eq(facts.in_memory[1], "/tmp");
	ck_assert_str_eq(facts.in_memory[2], "/workspace/build");
	ck_assert_str_eq(facts.in_memory[3], "");
	_cleanup_buf_ struct buf many = BUF_INIT(64 * 1024);
	for (int i = 0; i < 2 * FACTS_FOLDERS; i++)
		buf_addf(&many, "%d 66 0:46 / /m%d rw - tmpfs tmpfs rw\n", 200 + i, i);
	facts = read_mounts(buf_cstr(&many), false);
	ck_assert_str_eq(facts.in_memory[0], "/m0");
	ck_assert_str_eq(facts.in_memory[FACTS_FOLDERS - 1], "/m7");
}
END_TEST

START_TEST(test_names)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);

	buf_add_str(&text, "1 1 0:1 / /data\\040x rw - tmpfs t rw\n2 1 0:1 / /da'ta rw - tmpfs t rw\n3 1 0:1 / /d\001 rw - tmpfs t rw\n"
			   "4 1 0:1 / /");
	for (int i = 0; i < FACTS_PLACE_MAX; i++)
		buf_add_char(&text, 'n');
	buf_add_str(&text, " rw - tmpfs t rw\n");
	ck_assert_str_eq(read_mounts(buf_cstr(&text), true).writable, "");
	buf_add_str(&text, "5 1 0:1 / /data rw - tmpfs t rw\n");
	ck_assert_str_eq(read_mounts(buf_cstr(&text), true).writable, "/data");
}
END_TEST

START_TEST(test_many)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);

	for (int i = 0; i < 1000; i++)
		buf_addf(&text, "1 1 0:1 / /place%d rw - tmpfs t rw\n", i);
	struct facts facts = read_mounts(buf_cstr(&text), false);
	ck_assert(strncmp(facts.writable, "/workspace, /place0, /place1, ", 30) == 0);
	size_t len = strlen(facts.writable);
	ck_assert_uint_gt(len, FACTS_WRITABLE_MAX / 2);
	ck_assert_str_eq(facts.writable + len - 8, " and ...");
}
END_TEST

START_TEST(test_nonsense)
{
	static const char *const texts[] = {
		"", "\n", "\n\n\n", "x", " ", "     ", "1 2 3 4 /x", "1 2 3 4 /x rw", "1 2 3 4 /x rw - ", "1 2 3 4 /x rw - t\n", "1 2 3 4 /x rw - t s",
		"1 2 3 4 /x rwx - t s rw\n", "1 2 3 4 /x rw\n5 - t s rw\n", "1 2 3 4 x rw - t s rw\n", "- - - - - - - - - -\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		ck_assert_str_eq(read_mounts(texts[i], true).writable, "");
}
END_TEST

START_TEST(test_offline)
{
	static const char heading[] = "Iface\tDestination\tGateway\n", line[] = "eth0\t00000000\t0102A8C0\n";
	static const char lo[] = "0000 00 0000 00 0000 ffffffff 00000001 00000000 00200200       lo\n";
	static const char eth[] = "fe80 40 0000 00 0000 00000100 00000001 00000000 00000001     eth0\n";
	char both[400];

	(void) snprintf(both, sizeof(both), "%s%s", heading, line);
	ck_assert(facts_is_offline(heading, lo));
	ck_assert(facts_is_offline(heading, ""));
	ck_assert(!facts_is_offline(both, ""));
	ck_assert(!facts_is_offline("", ""));
	ck_assert(!facts_is_offline("Iface", ""));
	ck_assert(!facts_is_offline(heading, eth));
	(void) snprintf(both, sizeof(both), "%s%s%s", lo, eth, lo);
	ck_assert(!facts_is_offline(heading, both));
	ck_assert(!facts_is_offline(heading, "xlo\n"));
	ck_assert(!facts_is_offline(heading, "\n"));
}
END_TEST

START_TEST(test_find)
{
	_cleanup_fd_ int fd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct facts_files files, none = FACTS_NO_FILES;
	struct facts facts;

	ck_assert_int_ge(fd, 0);
	facts_find(&facts, &none, "/tmp", fd);
	ck_assert_str_eq(facts.writable, "");
	ck_assert(!facts.offline && !facts.has_mounts);
	facts_open(&files);
	facts_find(&facts, &files, "/tmp", fd);
	ck_assert_int_eq(files.mounts + files.route + files.ipv6_route, 3 * -EBADF);
	ck_assert(!facts.read_only);
	ck_assert(strstr(facts.writable, "/") != NULL);
	/* Here the root is the host's own. */
	for (size_t i = 0; i < FACTS_PLACES; i++)
		ck_assert_msg(facts.hidden[i] == (access(facts_places[i], F_OK) != 0), "%s", facts_places[i]);
}
END_TEST

UNIT_MAIN("mcp/facts", test_ordinary, test_protected, test_read_only, test_in_memory, test_names, test_many, test_nonsense, test_offline, test_find)
