/*
 * FNV-1a over 64 bits, for tables of our own. Not keyed: where an attacker chooses what is hashed, equal hashes must do
 * no harm but cost time that is bounded otherwise.
 */
#pragma once

#include <stdint.h>

#define HASH_BEGIN UINT64_C(0xcbf29ce484222325)

/* The hash @h with one more unit, a byte or a character. */
static inline uint64_t hash_add(uint64_t h, uint64_t unit)
{
	return (h ^ unit) * UINT64_C(0x100000001b3);
}
