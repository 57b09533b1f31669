#include "CPlatform.h"
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

/* The threads, and the one job at a time that they and its caller work on. Everything is guarded by `lock`. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t job_begins;
    pthread_cond_t job_ends;
    size_t threads;
    /* The indexes of the job that nobody has begun: from `next` up to `count`. */
    size_t next;
    size_t count;
    /* How many are at the job, and how many may be. */
    size_t busy;
    size_t width;
    void (*work)(void *, size_t);
    void *context;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .job_begins = PTHREAD_COND_INITIALIZER, .job_ends = PTHREAD_COND_INITIALIZER};

/* Works on the job until nothing of it is left to begin. The lock is held before and after. */
static void take_part(void) {
    pool.busy++;
    while (pool.next < pool.count) {
        const size_t index = pool.next++;
        pthread_mutex_unlock(&pool.lock);
        pool.work(pool.context, index);
        pthread_mutex_lock(&pool.lock);
    }
    if (--pool.busy == 0) pthread_cond_signal(&pool.job_ends);
}

static void help(void *unused) {
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.next == pool.count || pool.busy >= pool.width) pthread_cond_wait(&pool.job_begins, &pool.lock);
        take_part();
    }
}

struct beginning {
    void (*work)(void *);
    void *context;
};

static void *thread(void *argument) {
    const struct beginning beginning = *(struct beginning *)argument;
    free(argument);
    beginning.work(beginning.context);
    return NULL;
}

bool csystem_begin_thread(void (*work)(void *context), void *context) {
    struct beginning *beginning = malloc(sizeof *beginning);
    if (!beginning) return false;
    *beginning = (struct beginning){work, context};
    pthread_t id;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes)) {
        free(beginning);
        return false;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 512 << 10);
    // Only the run's own thread takes signals: it waits for them.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&id, &attributes, thread, beginning);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error) free(beginning);
    return !error;
}

void csystem_overlap(size_t count, size_t width, void (*work)(void *context, size_t index), void *context) {
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    const size_t helpers = (count < width ? count : width) - 1;
    pthread_mutex_lock(&turn);
    pthread_mutex_lock(&pool.lock);
    while (pool.threads < helpers && csystem_begin_thread(help, NULL)) pool.threads++;
    pool.width = width;
    pool.work = work;
    pool.context = context;
    pool.next = 0;
    pool.count = count;
    for (size_t helper = 0; helper < helpers; helper++) pthread_cond_signal(&pool.job_begins);
    take_part();
    while (pool.busy) pthread_cond_wait(&pool.job_ends, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_unlock(&turn);
}
