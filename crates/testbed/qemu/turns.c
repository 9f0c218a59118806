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
 *
 * A guest sleeps for most of its time, thousands of times a virtual second, and each time the main thread skips idle
 * time and rings the timers: two changes between threads, which cost more than what the guest does. So the processor's
 * thread, which has the lock when it would sleep, skips and rings itself, and sleeps only where that does not wake the
 * guest, or when it is the main thread's turn. Either does the same at the same virtual instant.
 *
 * And the host's clock is kept from the guest's translations of addresses. QEMU grows and shrinks the table of them by
 * how full it was within the last 100 ms of the host (accel/tcg/cputlb.c), and a guest can tell whether an old one is
 * still there: while its kernel copies a process for fork, another thread of that process writes with or without a page
 * fault. So for the processor's thread a flush of that table is what makes time go by, and the table is as new whenever
 * the processor goes on, restored or not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/*
 * A guest that switches itself off may never sleep again: then the main thread goes on, to end QEMU. It looks whether
 * that is so after each of these. A guest that merely works, or a host that stands still, is waited for.
 */
#define PATIENCE_S 1

/* So often the processor's thread leaves idle time to the main thread, which has to hear its orders. */
#define IDLES_PER_TURN 256

/* The clock of the processor's thread goes on by so much each time it is read: QEMU looks back over 100 readings. */
#define READING_US 1000L

/* Number of the guest's clock among QEMU's (qemu/timer.h). */
#define QEMU_CLOCK_VIRTUAL 1

/* What the processor's thread calls itself from its first sleep on: who started QEMU sees that threads take turns. */
#define NAME_IN_TURN "CPU in turn"

typedef int cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
typedef int mutex_lock(pthread_mutex_t *mutex);
typedef int time_of_day(struct timeval *time, void *zone);
typedef long real_time(void);

/* QEMU's own functions: what the main thread does with idle time, and the table of translations. */
struct clockwork {
	void (*skip)(void);
	bool (*ring)(int clock);
	bool (*is_idle)(void);
	void *(*processor)(int number);
	bool (*is_stopped)(void *processor);
	void (*forget_table)(void *processor);
	void (*make_table)(void *processor);
};

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

/* QEMU's functions, or NULL where one of them is not there. */
static const struct clockwork *clockwork(void)
{
	static bool is_known;
	static struct clockwork of;

	if (!is_known) {
		of.skip = (void (*)(void))dlsym(RTLD_DEFAULT, "icount_start_warp_timer");
		of.ring = (bool (*)(int))dlsym(RTLD_DEFAULT, "qemu_clock_run_timers");
		of.is_idle = (bool (*)(void))dlsym(RTLD_DEFAULT, "all_cpu_threads_idle");
		of.processor = (void *(*)(int))dlsym(RTLD_DEFAULT, "qemu_get_cpu");
		of.is_stopped = (bool (*)(void *))dlsym(RTLD_DEFAULT, "cpu_is_stopped");
		of.forget_table = (void (*)(void *))dlsym(RTLD_DEFAULT, "tlb_destroy");
		of.make_table = (void (*)(void *))dlsym(RTLD_DEFAULT, "tlb_init");
		is_known = true;
	}
	if (!of.skip || !of.ring || !of.is_idle || !of.processor)
		return NULL;
	return of.is_stopped && of.forget_table && of.make_table ? &of : NULL;
}

/* Whether the processor is stopped, as opposed to idle. */
static bool is_stopped(void)
{
	const struct clockwork *of = clockwork();

	return of && of->is_stopped(of->processor(0));
}

/*
 * Whether idle time was skipped to an instant at which the guest goes on. Where QEMU lacks a function it never is. A
 * processor that was stopped is none that idles, although QEMU says so: the main thread skips to the guest's next timer
 * before it knows of the stop, and whoever skipped before would have left it only one that is a day away.
 */
static bool skip_idle_time(void)
{
	static unsigned int idles;
	const struct clockwork *of = clockwork();

	if (!of || is_stopped() || ++idles % IDLES_PER_TURN == 0)
		return false;
	of->skip();
	of->ring(QEMU_CLOCK_VIRTUAL);
	return !of->is_idle();
}

/* A processor that goes on after a stop finds the table of translations as one does that was restored just now. */
static void begin_table(void)
{
	const struct clockwork *of = clockwork();
	void *processor = of->processor(0);

	of->forget_table(processor);
	of->make_table(processor);
}

/* What the clock says to the processor's thread. */
static long reading_us(void)
{
	static long us;

	return us += READING_US;
}

int gettimeofday(struct timeval *time, void *zone)
{
	static _Atomic(time_of_day *) known;
	time_of_day *of_day = atomic_load(&known);

	if (role_of_thread() == PROCESSOR) {
		long us = reading_us();

		*time = (struct timeval){.tv_sec = us / 1000000, .tv_usec = us % 1000000};
		return 0;
	}
	if (!of_day) {
		of_day = (time_of_day *)dlsym(RTLD_NEXT, "gettimeofday");
		atomic_store(&known, of_day);
	}
	return of_day(time, zone);
}

/* GLib's, by which other versions of QEMU look back. */
long g_get_real_time(void)
{
	static _Atomic(real_time *) known;
	real_time *real = atomic_load(&known);

	if (role_of_thread() == PROCESSOR)
		return reading_us();
	if (!real) {
		real = (real_time *)dlsym(RTLD_NEXT, "g_get_real_time");
		atomic_store(&known, real);
	}
	return real();
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	static _Atomic(cond_wait *) known;
	cond_wait *wait = atomic_load(&known);
	bool was_stopped;
	int result;

	if (!wait) {
		wait = (cond_wait *)next("pthread_cond_wait", "GLIBC_2.3.2");
		atomic_store(&known, wait);
	}
	if (role_of_thread() != PROCESSOR)
		return wait(cond, mutex);
	/* Whoever waits for a condition looks again whether it holds. */
	if (mutex == atomic_load(&machine) && skip_idle_time())
		return 0;
	atomic_store(&machine, mutex);
	atomic_store(&asleep, 1);
	syscall(SYS_futex, &asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	was_stopped = is_stopped();
	result = wait(cond, mutex);
	atomic_store(&asleep, 0);
	if (was_stopped && !is_stopped())
		begin_table();
	return result;
}

/* Whether the guest, or a signal, has asked for the end; QEMU that cannot tell is taken for a guest that has. */
static bool is_switched_off(void)
{
	static int (*cause)(void);

	if (!cause)
		cause = (int (*)(void))dlsym(RTLD_DEFAULT, "qemu_shutdown_requested_get");
	return !cause || cause();
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
		bool is_late;

		if (result || mutex != atomic_load(&machine) || atomic_load(&asleep) || role_of_thread() != MAIN)
			return result;
		pthread_mutex_unlock(mutex);
		is_late = syscall(SYS_futex, &asleep, FUTEX_WAIT_PRIVATE, 0, &patience, NULL, 0) && errno == ETIMEDOUT;
		if (is_late && is_switched_off())
			return lock(mutex);
	}
}
