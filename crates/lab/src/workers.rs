//! Shares work among threads: each takes the next piece when it is done with the last, so none waits while one is left.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// What came of it.
pub struct Shared<T> {
    /// Outcome of each piece, by its number, whatever thread did which and when.
    pub outcomes: Vec<T>,
    /// Seconds that workers had nothing left to do while another one worked, summed over workers.
    pub idle_s: f64,
}

/// Does a piece of work that may panic, so that the worker goes on with the next.
///
/// # Errors
/// What it panicked with, in words.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // A piece that panics leaves nothing behind that anybody looks at.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("it panicked: {}", text.unwrap_or("no message"))
    })
}

/// Does all pieces, which `order` lists by their numbers, on `threads` threads.
///
/// # Errors
/// In words, where the system gives no thread.
pub fn share<T: Send>(order: &[usize], threads: usize, work: impl Fn(usize) -> T + Sync) -> Result<Shared<T>, String> {
    let next = AtomicUsize::new(0);
    let one = || {
        let mut done = Vec::new();
        while let Some(&piece) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((piece, work(piece)));
        }
        (done, Instant::now())
    };
    let ended = thread::scope(|scope| {
        let spawn = |number| {
            thread::Builder::new()
                .name(format!("worker {number}"))
                .spawn_scoped(scope, one)
        };
        let workers: Result<Vec<_>, _> = (0..threads).map(spawn).collect();
        let workers = workers.map_err(|error| format!("cannot start {threads} threads: {error}"));
        workers.map(|workers| {
            workers
                .into_iter()
                .map(|worker| worker.join().expect("work that may panic is caught"))
                .collect()
        })
    })?;
    Ok(collected(order.len(), ended))
}

fn collected<T>(pieces: usize, ended: Vec<(Vec<(usize, T)>, Instant)>) -> Shared<T> {
    let last = ended.iter().map(|(_, instant)| *instant).max();
    let idle_s = ended
        .iter()
        .map(|(_, instant)| last.map_or(0.0, |last| (last - *instant).as_secs_f64()))
        .sum();
    let mut outcomes: Vec<Option<T>> = (0..pieces).map(|_| None).collect();
    for (piece, outcome) in ended.into_iter().flat_map(|(done, _)| done) {
        outcomes[piece] = Some(outcome);
    }
    let outcomes = outcomes
        .into_iter()
        .map(|outcome| outcome.expect("each piece was done"));
    Shared {
        outcomes: outcomes.collect(),
        idle_s,
    }
}

/// Numbers of the pieces, the longest first, so that no long one begins when the others end; equal ones stay in order.
pub fn longest_first(costs: &[u128]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|&piece| std::cmp::Reverse(costs[piece]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Barrier, Mutex};

    #[test]
    fn outcomes_keep_their_places() {
        // Goal: each piece is done once and its outcome stands at its number, for any number of threads.
        for threads in [1, 2, 5] {
            let order: Vec<usize> = (0..100).rev().collect();
            let shared = share(&order, threads, |piece| piece * piece).unwrap();
            assert!(
                shared.outcomes.iter().copied().eq((0..100).map(|piece| piece * piece)),
                "{threads}"
            );
        }
    }

    #[test]
    fn no_worker_waits_for_another() {
        // Goal: while one worker is held by a long piece, the other does all the rest.
        let (both_began, all_others_done) = (Barrier::new(2), Barrier::new(2));
        let done = Mutex::new(Vec::new());
        let work = |piece: usize| {
            if piece < 2 {
                both_began.wait();
            }
            if piece == 0 || piece == 9 {
                all_others_done.wait();
            }
            done.lock().unwrap().push(piece);
        };
        share(&(0..10).collect::<Vec<_>>(), 2, work).unwrap();
        let done = done.into_inner().unwrap();
        assert_eq!(done[..8], [1, 2, 3, 4, 5, 6, 7, 8], "{done:?}");
    }

    #[test]
    fn long_pieces_come_first() {
        // Goal: pieces are begun by falling cost, equal ones in order.
        assert_eq!(longest_first(&[1, 5, 3, 5, 1]), [1, 3, 2, 0, 4]);
    }
}
