/*
 * Worker threads of cloche-mcp: see work.h. They inherit the signal mask and the system-call filter of the event loop's
 * thread.
 */
#include "mcp/work.h"

#include <string.h>

enum { WORK_STACK_SIZE = 1024 * 1024 };

void work_init(struct work *w, struct loop *loop)
{
	memset(w, 0, sizeof(*w));
	w->loop = loop;
	w->last = &w->first;
	(void) pthread_mutex_init(&w->lock, NULL);
	(void) pthread_cond_init(&w->wake, NULL);
}

/* Waits for an item; NULL at the end. */
static struct work_item *next_item(struct work *w)
{
	(void) pthread_mutex_lock(&w->lock);
	w->idle++;
	while (!w->first && !w->stop)
		(void) pthread_cond_wait(&w->wake, &w->lock);
	w->idle--;
	struct work_item *item = w->stop ? NULL : w->first;
	if (item) {
		w->first = item->next;
		if (!w->first)
			w->last = &w->first;
	}
	(void) pthread_mutex_unlock(&w->lock);
	return item;
}

static void *thread_main(void *arg)
{
	struct work *w = arg;

	for (struct work_item *item = next_item(w); item; item = next_item(w))
		item->run(item);
	return NULL;
}

/* Called with the lock held. */
static int add_thread(struct work *w)
{
	pthread_attr_t attr;
	int r = pthread_attr_init(&attr);

	if (r != 0)
		return -r;
	(void) pthread_attr_setstacksize(&attr, WORK_STACK_SIZE);
	r = pthread_create(&w->threads[w->count], &attr, thread_main, w);
	(void) pthread_attr_destroy(&attr);
	if (r == 0)
		w->count++;
	return -r;
}

int work_submit(struct work *w, struct work_item *item)
{
	int r = loop_accept_posts(w->loop), queued = 1;

	if (r < 0)
		return r;
	item->next = NULL;
	(void) pthread_mutex_lock(&w->lock);
	for (const struct work_item *i = w->first; i; i = i->next)
		queued++;
	if (queued > w->idle && w->count < WORK_THREADS_MAX)
		r = add_thread(w);
	if (w->count > 0) {
		r = 0; /* whoever is there will come to it */
		*w->last = item;
		w->last = &item->next;
		(void) pthread_cond_signal(&w->wake);
	}
	(void) pthread_mutex_unlock(&w->lock);
	return r;
}

void work_done(struct work *w)
{
	(void) pthread_mutex_lock(&w->lock);
	w->stop = true;
	(void) pthread_cond_broadcast(&w->wake);
	(void) pthread_mutex_unlock(&w->lock);
	for (int i = 0; i < w->count; i++)
		(void) pthread_join(w->threads[i], NULL);
	(void) pthread_cond_destroy(&w->wake);
	(void) pthread_mutex_destroy(&w->lock);
}
