/*
 * Whom the kernel takes first when the whole machine runs out of memory: commands before init and the server.
 *
 * A process inherits its score from the one that forks it, and init, which cannot be looked into, may not open its own once it
 * runs. So it opens the file at the very start, and changes its score around each start of a command.
 */
#pragma once

/* To be called before proc_hide(). Where there is no such file to be written, all of this does nothing. */
void oomscore_open(void);

/* What is forked between the two is taken first. */
void oomscore_raise(void);
void oomscore_restore(void);
