// SPDX-License-Identifier: GPL-2.0-or-later

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const IDLE: f64 = 0.1;

/// Returns the time of the first run from `from` on at this load, within two days.
fn begins(schedule: &mut Schedule, from: Duration, load: f64) -> Option<Duration> {
    (0..2 * 24 * 3600)
        .map(|second| from + Duration::from_secs(second))
        .find(|now| schedule.begins(*now, load))
}

/// Returns a schedule after its first run, and the time of that run.
fn after_the_first() -> (Schedule, Duration) {
    let mut schedule = Schedule::default();
    let now = begins(&mut schedule, Duration::ZERO, IDLE).unwrap();
    schedule.ended(now + SECOND, Ended::Succeeded);
    schedule.reported(now + SECOND, SECOND);
    (schedule, now)
}

#[test]
fn the_doctor_runs_minutes_after_the_start_and_then_daily() {
    let (mut schedule, now) = after_the_first();
    assert_eq!(now, FIRST_RUN_DELAY);
    assert_eq!(begins(&mut schedule, now, IDLE), Some(now + DAY));
}

#[test]
fn a_new_daemon_schedules_by_the_report_of_the_previous_one() {
    let mut schedule = Schedule::default();
    schedule.reported(SECOND, DAY / 2);
    assert_eq!(begins(&mut schedule, SECOND, IDLE), Some(SECOND + DAY / 2));
    let mut schedule = Schedule::default();
    schedule.reported(SECOND, 3 * DAY);
    assert_eq!(begins(&mut schedule, SECOND, IDLE), Some(FIRST_RUN_DELAY), "overdue");
}

#[test]
fn the_doctor_runs_once_after_several_changes() {
    let (mut schedule, now) = after_the_first();
    let at = now + 100 * SECOND;
    schedule.changed(at);
    let again = at + 19 * SECOND;
    assert!(!schedule.begins(again, IDLE));
    schedule.changed(again);
    let begun = begins(&mut schedule, at, IDLE).unwrap();
    assert_eq!(begun, again + DEBOUNCE);
    schedule.ended(begun + SECOND, Ended::Succeeded);
    schedule.reported(begun + SECOND, SECOND);
    assert_eq!(begins(&mut schedule, begun, IDLE), Some(begun + DAY), "and not again");
}

#[test]
fn endless_changes_do_not_postpone_a_run_forever() {
    let (mut schedule, now) = after_the_first();
    let at = now + 100 * SECOND;
    let begun = (0..1000).map(|second| at + Duration::from_secs(second)).find(|now| {
        schedule.changed(*now);
        schedule.begins(*now, IDLE)
    });
    assert_eq!(begun, Some(at + MAX_DEBOUNCE));
}

#[test]
fn a_change_during_a_run_triggers_another_run() {
    let (mut schedule, now) = after_the_first();
    schedule.changed(now + 10 * SECOND);
    let begun = begins(&mut schedule, now, IDLE).unwrap();
    let during = begun + 2 * SECOND;
    schedule.changed(during);
    assert_eq!(begins(&mut Schedule { running: true, ..Schedule::default() }, now, IDLE), None);
    schedule.ended(begun + 5 * SECOND, Ended::Succeeded);
    schedule.reported(begun + 5 * SECOND, 5 * SECOND);
    assert_eq!(begins(&mut schedule, begun, IDLE), Some(during + DEBOUNCE));
}

#[test]
fn a_requested_report_after_a_change_replaces_the_scheduled_run() {
    let (mut schedule, now) = after_the_first();
    let changed = now + 10 * SECOND;
    schedule.changed(changed);
    schedule.reported(changed + 8 * SECOND, 7 * SECOND);
    let daily = changed + SECOND + DAY;
    assert_eq!(begins(&mut schedule, changed, IDLE), Some(daily));
}

#[test]
fn a_busy_router_postpones_a_run_for_a_limited_time() {
    let mut schedule = Schedule::default();
    assert!(!schedule.begins(FIRST_RUN_DELAY, HIGH_LOAD));
    assert!(schedule.begins(FIRST_RUN_DELAY + SECOND, IDLE), "as soon as it is not");
    let mut schedule = Schedule::default();
    assert_eq!(begins(&mut schedule, Duration::ZERO, 1.0), Some(FIRST_RUN_DELAY + MAX_LOAD_DELAY));
}

#[test]
fn a_failed_run_is_retried() {
    for (how, pause) in [(Ended::Failed, RETRY_INTERVAL), (Ended::Busy, BUSY_RETRY_INTERVAL)] {
        let mut schedule = Schedule::default();
        let begun = begins(&mut schedule, Duration::ZERO, IDLE).unwrap();
        schedule.ended(begun, how);
        schedule.changed(begun);
        assert_eq!(begins(&mut schedule, begun, IDLE), Some(begun + pause), "{how:?}");
    }
}

#[test]
fn runs_triggered_by_a_flapping_wan_are_rate_limited() {
    let mut schedule = Schedule::default();
    schedule.state_changed(SECOND);
    assert_eq!(
        begins(&mut schedule, SECOND, IDLE),
        Some(FIRST_RUN_DELAY),
        "the start changes every state"
    );
    schedule.ended(FIRST_RUN_DELAY + SECOND, Ended::Succeeded);
    schedule.reported(FIRST_RUN_DELAY + SECOND, SECOND);
    let mut runs = Vec::new();
    for second in 0..3600 {
        let now = FIRST_RUN_DELAY + 2 * SECOND + Duration::from_secs(second);
        schedule.state_changed(now);
        if schedule.begins(now, IDLE) {
            runs.push(now);
            schedule.ended(now, Ended::Succeeded);
        }
    }
    assert_eq!(runs, [], "a state that never settles waits for the daily run");
    let quiet = FIRST_RUN_DELAY + Duration::from_secs(4000);
    assert_eq!(begins(&mut schedule, quiet, IDLE), Some(quiet));
    schedule.ended(quiet, Ended::Succeeded);
    schedule.state_changed(quiet + SECOND);
    assert_eq!(begins(&mut schedule, quiet + SECOND, IDLE), Some(quiet + MIN_STATE_INTERVAL));
}
