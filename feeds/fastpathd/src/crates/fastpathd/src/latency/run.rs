// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a job of traffic control over rtnetlink. A request takes the kernel microseconds, the first
//! one as long as it loads a module.

use ::latency::{Applied, LatencyReason, apply, remove as remove_all};
use netlink::{Client, Protocol};

use crate::daemon::Io;
use crate::event::Event as AnyEvent;
use crate::latency::{Effect, Event, Job};
use crate::sys::error::chain;
use crate::sys::task::spawn_local;

pub(crate) fn execute(effect: Effect, io: &Io) {
    let Effect::Run(job) = effect;
    let events = io.events.clone();
    spawn_local(async move {
        let event = AnyEvent::Latency(Event::Done(run(&job)));
        let _ = events.send(event).await;
    });
}

fn run(job: &Job) -> Result<Applied, LatencyReason> {
    let mut client = Client::open(Protocol::Route)
        .map_err(|error| LatencyReason::Refused { said: chain(&error) })?;
    match job {
        Job::Apply { plan, before } => apply(&mut client, plan, before.as_ref()),
        Job::Remove => remove_all(&mut client).map(|()| Applied::Changed),
    }
}

/// Removes all that is ours; false: the kernel refused.
pub(crate) fn remove() -> bool {
    let removed = run(&Job::Remove);
    match &removed {
        Ok(_) => log::info!("the queues of the WAN are removed"),
        Err(reason) => log::error!("removing the queues of the WAN: {reason}"),
    }
    removed.is_ok()
}
