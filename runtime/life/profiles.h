/*
 * Profiles: the built-in ones, which cost neither a file nor a process, and those in files, which cloche-compile reads. Either way
 * a profile is a description and a list of options (docs/profiles.md).
 */
#pragma once

#include <stdbool.h>

#include "runtime/base/attr.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/spec/spec.h"

/* In the root of a workspace: never read without consent. */
#define PROFILES_WORKSPACE_FILE ".cloche.json"

enum {
	PROFILES_FILE_MAX = 64 * 1024,
	PROFILES_TEXT_MAX = 128 * 1024, /* of a profile as options */
	PROFILES_USER_MAX = 256,        /* of a user's own that are listed */
};

struct profile {
	char name[SPEC_PATH_MAX]; /* as people know it: a name, or a file's path */
	char path[SPEC_PATH_MAX]; /* canonical, of the file; empty for a built-in one */
	struct buf text;          /* owned: the description, then the options; each ended by a NUL */
};

#define PROFILE_NONE { .name = "", .path = "", .text = BUF_INIT(PROFILES_TEXT_MAX) }

void profile_done(struct profile *p);
#define _cleanup_profile_ _cleanup_(profile_done)

/*
 * Fills @ret, a PROFILE_NONE, with the profile @what: a built-in name, a name of the user's own, or a file (with a slash in it or
 * .json at its end). 0, or -errno with @err filled.
 */
int profiles_load(const char *what, struct profile *ret, struct err *err) _must_check_;

/* The same for the file in the root of the workspace of @spec, opened beneath it. -ENOENT with @err filled when there is none. */
int profiles_load_workspace(const struct spec *spec, struct profile *ret, struct err *err) _must_check_;

/* Whether the workspace of @spec has such a file. Nothing of it is read. */
bool profiles_workspace_has_one(const struct spec *spec);

/*
 * Refuses the file of @p when the sandbox of @spec could write to it: a profile that its own sandbox can change decides nothing.
 * 0, or -errno with @err filled.
 */
int profiles_check_place(const struct profile *p, const struct spec *spec, struct err *err) _must_check_;

const char *profile_description(const struct profile *p);

/* The option behind @option, the first one for NULL; NULL behind the last one. */
const char *profile_next_option(const struct profile *p, const char *option);

/* Calls @visit with the name of each built-in profile, then of each of the user's own. A negative result ends the visit. */
typedef int profiles_visitor(void *userdata, const char *name, bool built_in);
int profiles_visit(profiles_visitor *visit, void *userdata);
