// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs jobs of traffic control over rtnetlink. A request takes microseconds, or longer if the
//! kernel has to load a module.

use ::latency::{Applied, Failure, LatencyReason, Remaining, apply, remove as remove_all};
use gateway::event::Event as AnyEvent;
use gateway::latency::{Effect, Event, Job};
use gateway::sys::error::chain;
use netlink::{Client, Protocol};

use crate::io::Io;
use crate::sys::task::spawn_local;

pub(crate) fn execute(effect: Effect, io: &Io) {
    let Effect::Run(job) = effect;
    let (events, lock) = (io.events.clone(), io.programs_lock.clone());
    spawn_local(async move {
        let _guard = lock.lock().await;
        let event = AnyEvent::Latency(Event::Done(run(&job)));
        let _ = events.send(event).await;
    });
}

fn run(job: &Job) -> Result<Applied, Failure> {
    let unknown = |reason| Failure { reason, remaining: Remaining::Unknown };
    let mut client = Client::open(Protocol::Route)
        .map_err(|error| unknown(LatencyReason::Refused { said: chain(&error) }))?;
    match job.plan() {
        Some(plan) => apply(&mut client, plan, job.before().and_then(Option::as_ref)),
        None => remove_all(&mut client).map_err(unknown),
    }
}

pub(crate) fn remove() -> bool {
    let removed = run(&Job::Apply { plan: None, in_force: None });
    match &removed {
        Ok(Applied::Changed) => log::info!("the queues of the WAN are removed"),
        Ok(Applied::Unchanged) => {}
        Err(failure) => log::error!("removing the queues of the WAN: {}", failure.reason),
    }
    removed.is_ok()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tokio::sync::mpsc;
    use tokio::task::{LocalSet, yield_now};

    use super::*;
    use crate::io::Paths;

    /// The loader removes a clsact without filters, so no filter may be added after its check.
    #[test]
    fn a_job_waits_while_programs_are_attached() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let path = PathBuf::new;
        let paths = Paths {
            socket: path(),
            config: path(),
            leases: path(),
            history: path(),
            run: path(),
            commands: path(),
            own_rules: path(),
        };
        LocalSet::new().block_on(&runtime, async {
            let (events, mut inbox) = mpsc::channel(1);
            let io = Io::new(paths, events, mpsc::unbounded_channel().0);
            let lock = io.programs_lock.clone();
            let guard = lock.lock().await;
            execute(Effect::Run(Box::new(Job::Apply { plan: None, in_force: None })), &io);
            for _ in 0..10 {
                yield_now().await;
            }
            assert!(inbox.is_empty());
            drop(guard);
            assert!(matches!(inbox.recv().await, Some(AnyEvent::Latency(Event::Done(_)))));
        });
    }
}
