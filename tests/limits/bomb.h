/*
 * Programs that use up a machine: memory of every kind, processes, descriptors, CPUs. One small program holds them all, linked
 * statically so that it needs nothing where it runs. Each stops by itself at an amount that it is given, so that a machine
 * without any limit survives it.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { MIB = 1024 * 1024 };

/* How one bomb was asked for, and what all of its processes have got: in memory that they share. */
struct bomb {
	int64_t amount;    /* bytes at which it stops */
	long processes;    /* at which it stops, or to share the work among */
	double seconds;    /* for which it works, or holds what it has */
	_Atomic(int64_t) got; /* bytes so far */
	_Atomic(int64_t) told; /* of which this many were reported */
	_Atomic(long) count; /* processes, threads or descriptors so far */
	_Atomic(int) refused; /* set when a process or thread could not be made */
	_Atomic(int) stop; /* set when the time is up or the amount is reached */
};

extern struct bomb *bomb;

/* A kind of memory: takes one step more. Returns the bytes that it took, or a negative errno. */
struct memory_kind {
	const char *name;
	const char *what; /* for people */
	int64_t (*take)(void);
	bool adds; /* it calls bomb_add() itself, when the bytes are really there */
};

/* Anything else; returns the exit status. */
struct load_kind {
	const char *name;
	const char *what;
	int (*run)(void);
};

/* Tables end with a row without a name. */
extern const struct memory_kind page_kinds[], kernel_kinds[];
extern const struct load_kind process_loads[], cpu_loads[];

/* Exit statuses; being killed is one way more to end. */
enum { GOT_ALL = 0, USAGE = 2, REFUSED = 3, TOO_SLOW = 4 /* the time was up before it came to any limit */ };

/* One line on standard output, at once and whole, whoever of the processes writes it. */
void bomb_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

double bomb_now(void); /* seconds, monotonic */
void bomb_sleep(double seconds);

/* Adds @bytes to what all have got, and reports every few MiB. */
void bomb_add(int64_t bytes);

/*
 * Goes on in a child that has none of our descriptors above 2, for kinds that run out of them; this process keeps what it has and
 * ends as the child does. Returns in the child only, or a negative errno here when there can be none.
 */
int bomb_go_on_in_child(void);
