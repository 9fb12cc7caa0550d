// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether Suricata is absent, starts, crashed, hangs or works, with the time limits: a hang (1 s
//! with packets waiting, 1.5 s without), late answers (4 s), its start (300 s), a restart (120 s).

use std::time::Duration;

use model::InspectionMode;

use super::Observation;

/// With packets waiting, none of them handled and no answer for so long, it hangs.
const STALLED: Duration = Duration::from_secs(1);
/// Without waiting packets, only the silence indicates a hang.
const SILENT: Duration = Duration::from_millis(1500);
/// It handles packets but does not answer: busy, not dead.
const LATE: Duration = Duration::from_secs(4);
/// After a hang it has to be well for so long.
const HEALED: Duration = Duration::from_secs(1);
/// A process has to appear so soon after it was asked for.
const APPEARS: Duration = Duration::from_secs(1);
/// Loading 50,000 rules takes a slow router minutes.
const READY: Duration = Duration::from_secs(300);
/// It listens on its queues that soon after its first answer.
const BINDS: Duration = Duration::from_secs(5);
/// A restart that was asked for happens within this time: `suricata -T` comes first.
const RESTARTS: Duration = Duration::from_secs(120);
/// With gaps this long, nothing is known about the time between.
const BLIND: Duration = Duration::from_millis(1500);

/// How Suricata is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// No process.
    Absent,
    /// It was asked for and has not failed yet.
    Starts,
    /// It went away although nobody asked for that, and is not back.
    Crashed,
    /// It answers and listens on no queue.
    Deaf,
    /// It neither handles packets nor answers.
    Hangs,
    /// It never got ready.
    NeverReady,
    /// It handles packets, or would.
    Works,
}

/// Its refused demands at the last observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Demand {
    runs: bool,
    /// When a start was asked for.
    asked: Option<Duration>,
    /// Its configuration or rules were refused.
    refused: bool,
}

/// The state needed for that.
#[derive(Debug)]
pub(super) struct Progress {
    demand: Demand,
    /// When the start now under way began.
    began: Duration,
    /// Until when a process that works may go without having crashed: it is restarted.
    may_go: Option<Duration>,
    /// Until when one that never answered may go: it was `suricata -T`.
    may_be_test: Option<Duration>,
    crashed: bool,
    there: bool,
    /// When no process was there last. Older answers are not of the process of now.
    gone: Duration,
    /// First and last answer of the process of now.
    answers: Option<(Duration, Duration)>,
    /// Packets that the queues handled, modulo 2³²; none while nobody listens.
    handled: Option<u32>,
    /// When that last moved.
    moved: Duration,
    /// Observed without a gap since.
    awake: Duration,
    looked: Duration,
    hung: bool,
    /// After a hang.
    well_since: Option<Duration>,
}

/// Whether there is a process. One that is not found yet has queues.
fn is_there(seen: &Observation) -> bool {
    seen.running || seen.queues.iter().any(Option::is_some)
}

impl Progress {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            demand: Demand::default(),
            began: now,
            may_go: None,
            may_be_test: None,
            crashed: false,
            there: false,
            gone: now,
            answers: None,
            handled: None,
            moved: now,
            awake: now,
            looked: now,
            hung: false,
            well_since: None,
        }
    }

    /// Whether packets can be left to it although it has not answered yet: it listens, and none
    /// waits for long. This is so while it starts, and after a restart of this daemon.
    pub(super) fn takes_packets(&self, now: Duration, seen: &Observation) -> bool {
        let mut queues = seen.queues.iter().flatten().peekable();
        let still = now.saturating_sub(self.moved.max(self.awake));
        self.answers.is_none()
            && queues.peek().is_some()
            && (still < STALLED || queues.all(|queue| queue.depth == 0))
    }

    /// Whether it has not answered for a while.
    pub(super) fn answers_late(&self, now: Duration) -> bool {
        self.silence(now) >= LATE
    }

    pub(super) fn follow(&mut self, now: Duration, seen: &Observation) -> Presence {
        if now.saturating_sub(self.looked) > BLIND {
            self.awake = now;
        }
        self.looked = now;
        self.note_demand(now, seen);
        self.note_process(now, seen);
        self.note_movement(now, seen);
        let presence = self.judge(now, seen);
        if presence == Presence::Works {
            self.crashed = false;
        }
        presence
    }

    fn note_demand(&mut self, now: Duration, seen: &Observation) {
        let before = self.demand;
        let refused = seen.refused.is_some();
        self.demand = Demand { runs: seen.enabled, asked: seen.asked, refused };
        // A refused demand is accepted now, perhaps after several tries: the start comes next.
        let accepted = before.refused && !refused;
        if accepted || self.demand != (Demand { refused, ..before }) {
            self.began = now;
            self.crashed = false;
            self.may_go = (self.there || is_there(seen)).then_some(now + RESTARTS);
            self.may_be_test = Some(now + RESTARTS);
        }
    }

    fn note_process(&mut self, now: Duration, seen: &Observation) {
        let there = is_there(seen);
        if self.there && !there {
            let excuse =
                if self.answers.is_some() { &mut self.may_go } else { &mut self.may_be_test };
            let excused = excuse.take().is_some_and(|until| now <= until);
            self.crashed |= !excused;
            self.began = now;
        }
        self.there = there;
        if there {
            let news = seen.answered.filter(|at| *at > self.gone && *at <= now);
            if let Some(at) = news {
                let first = self.answers.map_or(at, |(first, _)| first);
                self.answers = Some((first, at));
            }
        } else {
            self.gone = now;
            self.answers = None;
            self.hung = false;
        }
    }

    fn note_movement(&mut self, now: Duration, seen: &Observation) {
        let queues = seen.queues.iter().flatten();
        let handled = queues.map(|queue| queue.handled).reduce(u32::wrapping_add);
        if handled != self.handled {
            self.moved = now;
        }
        self.handled = handled;
    }

    fn judge(&mut self, now: Duration, seen: &Observation) -> Presence {
        let since_start = now.saturating_sub(self.began);
        if !self.there {
            return match self.crashed {
                true => Presence::Crashed,
                false if since_start < APPEARS => Presence::Starts,
                false => Presence::Absent,
            };
        }
        let bound = seen.mode != InspectionMode::Nfq || seen.queues.iter().any(Option::is_some);
        match self.answers {
            Some((first, _)) if !bound && now.saturating_sub(first) >= BINDS => Presence::Deaf,
            Some(_) if bound => self.at_work(now, seen),
            _ if self.crashed => Presence::Crashed,
            _ if since_start < READY => Presence::Starts,
            _ => Presence::NeverReady,
        }
    }

    fn at_work(&mut self, now: Duration, seen: &Observation) -> Presence {
        let waiting = seen.queues.iter().flatten().any(|queue| queue.depth > 0);
        if self.hangs(now, seen, waiting) {
            self.hung = true;
            self.well_since = None;
            return Presence::Hangs;
        }
        if !self.hung {
            return Presence::Works;
        }
        // With the gate open nothing new comes in, so waiting packets are from before the hang.
        let recent = self.answers.is_some_and(|(_, last)| now.saturating_sub(last) < STALLED);
        if !recent || waiting {
            self.well_since = None;
            return Presence::Hangs;
        }
        if now.saturating_sub(*self.well_since.get_or_insert(now)) < HEALED {
            return Presence::Hangs;
        }
        self.hung = false;
        Presence::Works
    }

    fn hangs(&self, now: Duration, seen: &Observation, waiting: bool) -> bool {
        let still = now.saturating_sub(self.moved.max(self.awake));
        let silence = self.silence(now);
        match (seen.mode, waiting) {
            (InspectionMode::Nfq, true) => still >= STALLED && silence >= STALLED,
            (InspectionMode::Nfq, false) => still >= SILENT && silence >= SILENT,
            (InspectionMode::Ids | InspectionMode::Inline, _) => silence >= SILENT,
        }
    }

    fn silence(&self, now: Duration) -> Duration {
        let last = self.answers.map_or(self.gone, |(_, last)| last);
        now.saturating_sub(last.max(self.awake))
    }
}
