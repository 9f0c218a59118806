/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loaded into QEMU before its libraries: the main thread gets the lock of the machine only while the thread of the
 * guest's processor sleeps.
 *
 * The processor halts first and accounts for the instructions that it has run a moment later, without the lock. A main
 * thread that comes between the two sees a machine that is idle at an instant some microseconds ago, skips idle time
 * from there, and the run differs from the one before. The processor's thread goes to sleep after its account, so
 * that a main thread that waits for that skips from the right instant, whoever else wants the host's processors.
 *
 * The lock is the mutex that the processor's thread sleeps with: while the main thread holds it, that one cannot wake.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A guest that switches itself off may never sleep again: then the main thread goes on, to end QEMU. */
#define PATIENCE_S 5

/* What the processor's thread calls itself from its first sleep on: who started QEMU sees that threads take turns. */
#define NAME_IN_TURN "CPU in turn"

typedef int cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
typedef int mutex_lock(pthread_mutex_t *mutex);

enum role { UNKNOWN, MAIN, PROCESSOR, OTHER };

/* 1: the processor's thread sleeps. */
static _Atomic unsigned int asleep;
static _Atomic(pthread_mutex_t *) machine;

/*
 * Threads have names before they wait for anything, because QEMU is told so; one that emulates processors has CPU in
 * its name ("ALL CPUs/TCG", "CPU 0/TCG").
 */
static enum role role_of_thread(void)
{
	static _Thread_local enum role role;
	char name[16] = "";

	if (role != UNKNOWN)
		return role;
	if (getpid() == (pid_t)syscall(SYS_gettid)) {
		role = MAIN;
	} else {
		prctl(PR_GET_NAME, name);
		role = strstr(name, "CPU") ? PROCESSOR : OTHER;
		if (role == PROCESSOR)
			prctl(PR_SET_NAME, NAME_IN_TURN);
	}
	return role;
}

static void *next(const char *name, const char *version)
{
	void *found = dlvsym(RTLD_NEXT, name, version);

	return found ? found : dlsym(RTLD_NEXT, name);
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	static _Atomic(cond_wait *) known;
	cond_wait *wait = atomic_load(&known);
	int result;

	if (!wait) {
		wait = (cond_wait *)next("pthread_cond_wait", "GLIBC_2.3.2");
		atomic_store(&known, wait);
	}
	if (role_of_thread() != PROCESSOR)
		return wait(cond, mutex);
	atomic_store(&machine, mutex);
	atomic_store(&asleep, 1);
	syscall(SYS_futex, &asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	result = wait(cond, mutex);
	atomic_store(&asleep, 0);
	return result;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static _Atomic(mutex_lock *) known;
	const struct timespec patience = {.tv_sec = PATIENCE_S};
	mutex_lock *lock = atomic_load(&known);

	if (!lock) {
		lock = (mutex_lock *)next("pthread_mutex_lock", "GLIBC_2.2.5");
		atomic_store(&known, lock);
	}
	for (;;) {
		int result = lock(mutex);

		if (result || mutex != atomic_load(&machine) || atomic_load(&asleep) || role_of_thread() != MAIN)
			return result;
		pthread_mutex_unlock(mutex);
		if (syscall(SYS_futex, &asleep, FUTEX_WAIT_PRIVATE, 0, &patience, NULL, 0) && errno == ETIMEDOUT)
			return lock(mutex);
	}
}
