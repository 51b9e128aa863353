/*
 * What the server knows about the sandbox that it is in: what can be written, whether there is a network. Found out once, by
 * looking at the mounts and routes themselves: nobody inside can change either afterwards, so this cannot go stale.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>

enum {
	FACTS_WRITABLE_MAX = 400,    /* bytes of the list of writable places */
	FACTS_PLACE_MAX = 100,       /* … of one of them */
	FACTS_FILE_MAX = 512 * 1024, /* … of a file of /proc */
	FACTS_PLACES = 10,
	FACTS_FOLDERS = 8,           /* folders in memory that are known */
};

/* Folders of a host that are usually not visible in a sandbox, with a slash at the end. */
extern const char *const facts_places[FACTS_PLACES];

struct facts {
	bool read_only;                    /* the workspace as a whole */
	bool has_mounts;                   /* in the workspace: protected paths and volumes */
	bool offline;                      /* no way out but loopback */
	bool hidden[FACTS_PLACES];         /* which of facts_places are not the host's here; of /home/ all but the agent's */
	char writable[FACTS_WRITABLE_MAX]; /* "/workspace, /tmp and /home/agent"; "" when it is not known */
	char in_memory[FACTS_FOLDERS][FACTS_PLACE_MAX]; /* what can be written and is a tmpfs: "/tmp"; the rest is "" */
};

/* The files of /proc that tell, open; -EBADF: there is none. */
struct facts_files {
	int mounts, route, ipv6_route;
};

#define FACTS_NO_FILES { -EBADF, -EBADF, -EBADF }

/* Opens them, which is possible only before the server confines itself. */
void facts_open(struct facts_files *files);

/*
 * Finds everything out and closes @files; @root_name is the workspace, open as @root_fd. It takes a tenth of a millisecond, so it is
 * not for the start, but for the first call. What cannot be found out is taken as false: nothing untrue is said later.
 */
void facts_find(struct facts *facts, struct facts_files *files, const char *root_name, int root_fd);

/* The parts, on text in the form of /proc/self/mountinfo, /proc/self/net/route and /proc/self/net/ipv6_route. */
void facts_read_mounts(struct facts *facts, const char *root_name, const char *mountinfo);
bool facts_is_offline(const char *route, const char *ipv6_route);
