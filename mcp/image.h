/*
 * Pictures that a client can show: PNG, JPEG, GIF and WebP.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/attr.h"

struct image {
	const char *type; /* MIME type, a constant */
	uint32_t width, height; /* pixels */
};

/*
 * Reads the headers of the whole file @data of @len bytes. 0; -ENOENT when it begins as none of these kinds; -EINVAL when
 * it is damaged or not complete, as far as its frame tells: the pixels are not looked at.
 */
int image_read(const void *data, size_t len, struct image *ret) _must_check_;
