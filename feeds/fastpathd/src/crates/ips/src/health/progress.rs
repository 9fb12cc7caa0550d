// SPDX-License-Identifier: GPL-2.0-or-later
//! Determines whether Suricata is absent, starts, crashed, hangs or works.

use std::time::Duration;

use model::InspectionMode;

use super::Observation;

/// Suricata hangs if packets wait, none is handled and no command is answered for this long.
const STALLED: Duration = Duration::from_secs(1);
/// Without waiting packets, Suricata hangs if it answers no command for this long.
const SILENT: Duration = Duration::from_millis(1500);
/// After this long without an answer, Suricata is late: it handles packets, so it is only busy.
const LATE: Duration = Duration::from_secs(4);
/// After a hang, Suricata has to work for this long.
const HEALED: Duration = Duration::from_secs(1);
/// A process has to appear within this time after a request.
const APPEARS: Duration = Duration::from_secs(1);
/// Maximum duration of a start of the process. A slow router takes minutes to load 50,000 rules.
const READY: Duration = Duration::from_secs(300);
/// Suricata binds its queues within this time after its first answer.
const BINDS: Duration = Duration::from_secs(5);
/// A requested restart happens within this time, because `suricata -T` runs first.
const RESTARTS: Duration = Duration::from_secs(120);
/// After a longer gap between observations, the time limits of hangs start again.
const BLIND: Duration = Duration::from_millis(1500);

/// State of Suricata.
///
/// ```text
///requested ─> Starts ─ answers and binds a queue ─> Works <─> Hangs
///             Starts ─ no process within 1 s ─────> Absent
///             Starts ─ binds no queue ────────────> Deaf
///             Starts ─ 300 s ─────────────────────> NeverReady
///any ─ process ends without a request ─> Crashed ─ answers and binds a queue ─> Works
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// There is no process.
    Absent,
    /// A start was requested and has not failed yet.
    Starts,
    /// The process ended without a request, and its successor is not ready.
    Crashed,
    /// Suricata answers commands, but listens on no queue.
    Deaf,
    /// Suricata neither handles packets nor answers commands.
    Hangs,
    /// Suricata did not get ready in time.
    NeverReady,
    /// Suricata handles packets, or would if there were any.
    Works,
}

/// Requests of the daemon at the last observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Demand {
    runs: bool,
    /// When a start was requested.
    asked: Option<Duration>,
    /// `suricata -T` refused the configuration or the rules.
    refused: bool,
}

/// Facts from earlier observations that determine the [`Presence`].
#[derive(Debug)]
pub(super) struct Progress {
    demand: Demand,
    /// Last request, or appearance or end of the process.
    began: Duration,
    /// A working process that ends before this time has not crashed: a restart was requested.
    may_go: Option<Duration>,
    /// A process without an answer that ends before this time has not crashed: it was
    /// `suricata -T`.
    may_be_test: Option<Duration>,
    crashed: bool,
    there: bool,
    /// Last observation without a process. Older answers are from a previous process.
    gone: Duration,
    /// First and last answer of the current process.
    answers: Option<(Duration, Duration)>,
    /// Packets that the queues handled, modulo 2³²; `None` while nobody listens.
    handled: Option<u32>,
    /// Last change of `handled`.
    moved: Duration,
    /// Begin of the observations without a gap.
    awake: Duration,
    looked: Duration,
    hung: bool,
    /// Begin of the recovery after a hang.
    well_since: Option<Duration>,
}

/// Reports whether there is a process. A process that is not found yet shows by its queues.
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

    /// Reports whether the queues can be left to a Suricata that has not answered yet: it listens,
    /// and packets do not wait for long. This is so during a start, and after a restart of this
    /// daemon.
    pub(super) fn takes_packets(&self, now: Duration, seen: &Observation) -> bool {
        let mut queues = seen.queues.iter().flatten().peekable();
        let still = now.saturating_sub(self.moved.max(self.awake));
        self.answers.is_none()
            && queues.peek().is_some()
            && (still < STALLED || queues.all(|queue| queue.depth == 0))
    }

    /// Reports whether the last answer is at least [`LATE`] ago.
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
        // A refused request is accepted now, perhaps after several attempts, so a start follows.
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
        }
        if self.there != there {
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
        // Nothing enters the queues while the gate is open, so waiting packets are from before the
        // hang.
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
