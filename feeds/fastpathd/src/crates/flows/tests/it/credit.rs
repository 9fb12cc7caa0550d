// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the credit of bytes to paths when inspection ends and when counters are reset.

use crate::support::{
    BUDGET, BYPASS, Net, SPENT, at, counted, credited, dump, dump_in, inspecting, inspection,
    marked, offloaded, only, uncounted, watching, web, with_status,
};
use ctnetlink::{Counters, Entry, Event, Status};
use flows::{InspectionState, Seen, StackCount};
use model::{Action, Gate};
use proptest::prelude::*;
use serde_json::{Value, json};

fn done(entry: Entry, mark: u32) -> Entry {
    offloaded(marked(entry, mark))
}

#[test]
fn credits_the_budget_to_inspection_and_the_rest_to_the_flowtable() {
    let mut table = inspecting();
    dump(&mut table, 1.0, &[counted(web(1), 100_000, 200_000)]);
    assert_eq!(credited(&table), [0, 300_000, 0]);
    dump(&mut table, 2.0, &[done(counted(web(1), 200_000, 50_100_000), SPENT)]);
    assert_eq!(credited(&table), [0, BUDGET, 49_300_000]);
    dump(&mut table, 3.0, &[done(counted(web(1), 300_000, 90_000_000), SPENT)]);
    assert_eq!(credited(&table), [0, BUDGET, 89_300_000], "after inspection");
    // Inspection may end before the first reading.
    dump(&mut table, 4.0, &[done(counted(web(2), 0, 10_000_000), BYPASS)]);
    assert_eq!(credited(&table), [0, 2 * BUDGET, 98_300_000]);
    let top = table.top(&flows::TopQuery { by: flows::Group::Path, limit: 9 });
    assert!((top.rows[0].ratio - 0.9).abs() < 1e-9, "{top:?}");
}

/// Returns the rule count of the first flow: packets of 1000 bytes from the initiator.
fn missed(packets: u64) -> StackCount {
    let counters = Counters { packets, bytes: packets * 1000 };
    StackCount { id: web(1).id, seen: Seen::Missed(0), counters }
}

#[test]
fn credits_packets_that_miss_the_entry_to_the_slow_path() {
    let mut table = watching();
    let there = |up, down| offloaded(counted(web(1), up, down));
    dump(&mut table, 1.0, &[there(0, 0)]);
    // A few missed packets do not change the path of the flow.
    table.seen_by_stack(&[missed(3)], at(1.5));
    dump(&mut table, 2.0, &[there(10_000, 900_000)]);
    assert_eq!(credited(&table), [3000, 0, 907_000]);
    assert_eq!(only(&table, 2.0)["path"], "flowtable");
    table.seen_by_stack(&[missed(23)], at(2.5));
    dump(&mut table, 3.0, &[there(30_000, 1_900_000)]);
    assert_eq!(credited(&table), [23_000, 0, 1_907_000]);
    let flow = only(&table, 3.0);
    assert_eq!((&flow["path"], &flow["reason"]), (&json!("slow"), &json!("entry-missed")));
    table.event(&Event::Destroy(there(35_000, 1_950_000)), at(3.5), &Net::default());
    assert_eq!(credited(&table), [28_000, 0, 1_957_000]);
}

/// Returns details of a flow with conntrack's hardware bit, and the bytes of the paths slow,
/// flowtable and hardware.
fn in_hardware(net: &Net, up: u64, down: u64) -> (Value, [u64; 3]) {
    let mut table = watching();
    let entry = with_status(offloaded(counted(web(1), 0, 0)), Status::HW_OFFLOAD);
    dump_in(&mut table, 1.0, std::slice::from_ref(&entry), net);
    dump_in(&mut table, 2.0, &[counted(entry, up, down)], net);
    let id = only(&table, 2.0)["id"].as_u64().expect("an id");
    let detail = serde_json::to_value(table.flow(id, at(2.0)).expect("there")).expect("JSON");
    let paths = table.totals().paths;
    (detail, [paths.slow.bytes, paths.flowtable.bytes, paths.hardware.bytes])
}

#[test]
fn reports_hardware_only_for_directions_that_a_driver_can_forward() {
    let net = Net::default();
    let (detail, bytes) = in_hardware(&net, 1000, 9000);
    assert_eq!(
        (&detail["flow"]["path"], &detail["hardware"]),
        (&json!("hardware"), &json!("either"))
    );
    assert_eq!(bytes, [0, 0, 10_000]);
    // The flowtable does not list the ingress device of packets from the Internet.
    let mut net = Net::default();
    net.wan.in_flowtable = false;
    let (detail, bytes) = in_hardware(&net, 1000, 9000);
    assert_eq!((&detail["flow"]["path"], &detail["hardware"]), (&json!("hardware"), &json!("up")));
    assert_eq!(bytes, [9000, 0, 1000]);
    let mut net = Net::default();
    net.lan.in_flowtable = false;
    let (detail, bytes) = in_hardware(&net, 1000, 9000);
    assert_eq!(detail["hardware"], "down");
    assert_eq!(bytes, [1000, 0, 9000]);
    // Only the driver of one port accepted a rule, which no packet can match.
    let mut net = Net::default();
    net.wan.hardware = Some(false);
    let (detail, bytes) = in_hardware(&net, 1000, 9000);
    assert_eq!((&detail["flow"]["path"], &detail["hardware"]), (&json!("flowtable"), &json!("")));
    assert_eq!(bytes, [0, 10_000, 0]);
}

#[test]
fn an_immediate_look_up_limits_the_bytes_credited_to_inspection() {
    let mut table = inspecting();
    let net = Net::default();
    table.event(&Event::New(uncounted(web(1))), at(1.0), &net);
    assert_eq!(table.departed(), []);
    table.event(&Event::Update(marked(uncounted(web(1)), BYPASS)), at(1.01), &net);
    table.event(&Event::Update(marked(uncounted(web(1)), BYPASS)), at(1.01), &net);
    assert_eq!(table.departed(), [(0, web(1).orig)], "once");
    assert_eq!(table.departed(), []);
    table.refresh(
        &done(counted(web(1), 1000, 4000), BYPASS),
        table.reading_start(),
        at(1.02),
        &net,
    );
    assert_eq!(credited(&table), [0, 5000, 0], "read immediately");
    dump(&mut table, 1.05, &[done(counted(web(1), 1000, 500_000), BYPASS)]);
    dump(&mut table, 2.0, &[done(counted(web(1), 1000, 900_000), BYPASS)]);
    assert_eq!(credited(&table), [0, 5000, 896_000]);
    assert_eq!(only(&table, 2.0)["down_bytes"], 900_000);
}

#[test]
fn reads_counters_of_a_look_up_right_after_a_dump() {
    let mut table = inspecting();
    let net = Net::default();
    dump(&mut table, 1.0, &[counted(web(1), 0, 4000)]);
    table.event(&Event::Update(marked(uncounted(web(1)), BYPASS)), at(1.02), &net);
    table.refresh(&done(counted(web(1), 0, 6000), BYPASS), table.reading_start(), at(1.03), &net);
    dump(&mut table, 2.0, &[done(counted(web(1), 0, 900_000), BYPASS)]);
    assert_eq!(credited(&table), [0, 6000, 894_000]);
}

#[test]
fn the_next_dump_reads_flows_that_were_not_looked_up() {
    let mut table = inspecting();
    let net = Net::default();
    dump(&mut table, 1.0, &[counted(web(1), 0, 1000)]);
    table.event(&Event::Update(marked(uncounted(web(1)), SPENT)), at(1.5), &net);
    dump(&mut table, 2.0, &[done(counted(web(1), 0, 2_000_000), SPENT)]);
    assert_eq!(table.departed(), []);
    assert_eq!(credited(&table), [0, BUDGET, BUDGET]);
}

#[test]
fn a_budget_of_packets_counts_packets() {
    let state = InspectionState { budget_packets: 500, ..inspection() };
    for budget_bytes in [0, BUDGET] {
        let mut table = watching();
        table.inspection(InspectionState { budget_bytes, ..state.clone() }, at(0.0));
        dump(&mut table, 1.0, &[counted(web(1), 0, 100_000)]);
        // After 100 packets, 400 of the next 4000 belong to the budget.
        dump(&mut table, 2.0, &[done(counted(web(1), 0, 4_100_000), SPENT)]);
        assert_eq!(credited(&table), [0, 500_000, 3_600_000]);
        assert_eq!(table.totals().paths.inspect.packets, 500);
    }
}

#[test]
fn credits_at_most_the_stream_depth_to_inspection_without_a_budget() {
    let mut table = watching();
    table.inspection(InspectionState { budget_bytes: 0, ..inspection() }, at(0.0));
    dump(&mut table, 1.0, &[done(counted(web(1), 0, 10 << 20), BYPASS)]);
    assert_eq!(credited(&table), [0, 1 << 20, 9 << 20]);
}

#[test]
fn credits_bytes_after_inspection_to_the_slow_path() {
    let mut table = inspecting();
    table.engine(flows::EngineState::default(), at(0.0));
    dump(&mut table, 1.0, &[marked(counted(web(1), 0, 10_000_000), SPENT)]);
    assert_eq!(credited(&table), [9 * BUDGET, BUDGET, 0]);
    let net = Net::default();
    table.event(&Event::New(uncounted(web(2))), at(1.5), &net);
    let last = marked(counted(web(2), 0, 3 * BUDGET), SPENT);
    table.event(&Event::Destroy(last), at(1.6), &net);
    assert_eq!(credited(&table), [11 * BUDGET, 2 * BUDGET, 0], "mark of the destroy event");
}

#[test]
fn always_inspected_flows_never_leave_inspection() {
    let mut table = watching();
    table.inspection(InspectionState { default: Action::Always, ..inspection() }, at(0.0));
    dump(&mut table, 1.0, &[marked(counted(web(1), 0, 10_000_000), SPENT)]);
    dump(&mut table, 2.0, &[marked(counted(web(1), 0, 90_000_000), BYPASS)]);
    assert_eq!(credited(&table), [0, 90_000_000, 0]);
}

#[test]
fn credits_nothing_to_inspection_while_it_is_fail_open() {
    let mut table = inspecting();
    dump(&mut table, 1.0, &[counted(web(1), 0, 1000)]);
    table.inspection(InspectionState { gate: Some(Gate::Open), ..inspection() }, at(1.0));
    dump(&mut table, 2.0, &[counted(web(1), 0, 1000)]);
    dump(&mut table, 3.0, &[counted(web(1), 0, 51_000)]);
    assert_eq!(credited(&table), [50_000, 1000, 0]);
}

#[test]
fn packets_from_an_unlisted_side_are_slow_after_inspection() {
    let mut table = inspecting();
    let mut net = Net::default();
    net.wan.in_flowtable = false;
    dump_in(&mut table, 1.0, &[done(counted(web(1), 3 * BUDGET, BUDGET), SPENT)], &net);
    assert_eq!(credited(&table), [750_000, BUDGET, 2_250_000]);
}

#[test]
fn sums_continue_after_a_counter_reset() {
    let mut table = watching();
    dump(&mut table, 1.0, &[counted(web(1), 1000, 50_000)]);
    dump(&mut table, 2.0, &[counted(web(1), 2000, 90_000)]);
    dump(&mut table, 3.0, &[counted(web(1), 0, 5000)]);
    let row = only(&table, 3.0);
    assert_eq!((&row["up_bytes"], &row["down_bytes"]), (&json!(2000), &json!(95_000)));
    assert_eq!((&row["down_packets"], &row["down_bps"]), (&json!(95), &json!(40_000)));
    assert_eq!(row["age_s"], 2, "the same connection");
    dump(&mut table, 4.0, &[counted(web(1), 3000, 6000)]);
    let row = only(&table, 4.0);
    assert_eq!((&row["up_bytes"], &row["down_bytes"]), (&json!(5000), &json!(96_000)));
    assert_eq!(credited(&table), [101_000, 0, 0]);
}

#[test]
fn detects_the_reset_of_a_single_counter() {
    let mut table = watching();
    dump(&mut table, 1.0, &[counted(web(1), 0, 50_000)]);
    let down = |packets, bytes| Entry {
        reply_counters: Some(Counters { packets, bytes }),
        ..counted(web(1), 0, 0)
    };
    dump(&mut table, 2.0, &[down(0, 50_000)]);
    dump(&mut table, 3.0, &[down(1, 1000)]);
    let row = only(&table, 3.0);
    assert_eq!((&row["down_bytes"], &row["down_packets"]), (&json!(51_000), &json!(51)));
}

#[test]
fn a_flow_is_inspected_again_with_a_new_budget() {
    let mut table = inspecting();
    let net = Net::default();
    dump(&mut table, 1.0, &[done(counted(web(1), 0, 5 * BUDGET), SPENT)]);
    assert_eq!(credited(&table), [0, BUDGET, 4 * BUDGET]);
    table.reinspected(&done(counted(web(1), 0, 6 * BUDGET), SPENT), at(1.5), &net);
    assert_eq!(credited(&table), [0, BUDGET, 5 * BUDGET], "earlier counts stay");
    assert_eq!(only(&table, 1.5)["inspection"], "uninspected", "until the flowtable is flushed");
    // At the next dump, the counter exceeds its value before the reset.
    dump(&mut table, 2.0, &[done(counted(web(1), 0, 8 * BUDGET), SPENT)]);
    assert_eq!(only(&table, 2.0)["down_bytes"], 14 * BUDGET);
    let [slow, _, offloaded] = credited(&table);
    assert_eq!(slow, 0);
    assert!(offloaded >= 12 * BUDGET, "{offloaded}");
    table.reinspected(&marked(counted(web(9), 0, 1), SPENT), at(3.0), &net);
    assert_eq!(table.len(), 1, "unknown flows are ignored");
}

#[test]
fn ignores_counters_read_before_a_reset() {
    let mut table = inspecting();
    let net = Net::default();
    dump(&mut table, 1.0, &[marked(counted(web(1), 0, 5 * BUDGET), SPENT)]);
    table.dump_begin(at(2.0));
    let old = marked(counted(web(1), 0, 6 * BUDGET), SPENT);
    table.reinspected(&old, at(2.0), &net);
    table.merge(&old, at(2.1), &net);
    table.dump_end(at(2.2), true);
    let row = only(&table, 2.2);
    assert_eq!((&row["down_bytes"], &row["inspection"]), (&json!(6_000_000), &json!("inspecting")));
    dump(&mut table, 3.0, &[counted(web(1), 0, 1000)]);
    assert_eq!(only(&table, 3.0)["down_bytes"], 6_001_000);
    assert_eq!(credited(&table), [5 * BUDGET, BUDGET + 1000, 0]);
}

#[test]
fn sums_continue_after_reinspection_of_an_entry_with_zero_counters() {
    let mut table = inspecting();
    let net = Net::default();
    dump(&mut table, 1.0, &[marked(counted(web(1), 0, 5 * BUDGET), SPENT)]);
    table.reinspected(&marked(counted(web(1), 0, 0), SPENT), at(2.0), &net);
    dump(&mut table, 3.0, &[counted(web(1), 0, 1000)]);
    assert_eq!(only(&table, 3.0)["down_bytes"], 5_001_000);
}

#[derive(Debug, Clone)]
enum Act {
    Grow(u32, u32),
    Zero,
    Reinspect,
    Mark(u32),
    Offload(bool),
    Gate(Option<Gate>),
    Event,
    Lookup,
    Dump,
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..3_000_000_u32, 0..3_000_000_u32).prop_map(|(up, down)| Act::Grow(up, down)),
        1 => Just(Act::Zero),
        1 => Just(Act::Reinspect),
        1 => prop::sample::select(vec![0, SPENT, BYPASS, SPENT | BYPASS]).prop_map(Act::Mark),
        1 => any::<bool>().prop_map(Act::Offload),
        1 => prop::sample::select(vec![
            None, Some(Gate::Queue), Some(Gate::Open), Some(Gate::Closed),
        ])
            .prop_map(Act::Gate),
        1 => Just(Act::Event),
        1 => Just(Act::Lookup),
        3 => Just(Act::Dump),
    ]
}

proptest! {
    #[test]
    fn sums_never_decrease_or_exceed_the_traffic(
        acts in prop::collection::vec(any_act(), 1..60),
    ) {
        let net = Net::default();
        let mut table = inspecting();
        let (mut up, mut down, mut mark, mut is_offloaded) = (0_u64, 0_u64, 0, false);
        let (mut really, mut shown) = (0_u64, 0_u64);
        dump(&mut table, 0.5, &[web(1)]);
        for (act, second) in acts.iter().zip(1_u32..) {
            let seconds = f64::from(second);
            let counts = counted(marked(web(1), mark), up, down);
            let now = if is_offloaded { offloaded(counts) } else { counts };
            match act {
                Act::Grow(more_up, more_down) => {
                    up += u64::from(*more_up);
                    down += u64::from(*more_down);
                    really += u64::from(*more_up) + u64::from(*more_down);
                }
                Act::Zero => (up, down) = (0, 0),
                Act::Reinspect => {
                    table.reinspected(&now, at(seconds), &net);
                    (up, down, mark) = (0, 0, 0);
                }
                Act::Mark(bits) => mark = *bits,
                Act::Offload(on) => is_offloaded = *on,
                Act::Gate(gate) => {
                    let gate = *gate;
                    table.inspection(InspectionState { gate, ..inspection() }, at(seconds));
                }
                Act::Event => table.event(&Event::Update(uncounted(now)), at(seconds), &net),
                Act::Lookup => table.refresh(&now, table.reading_start(), at(seconds), &net),
                Act::Dump => dump(&mut table, seconds, &[now]),
            }
            let row = only(&table, seconds);
            let bytes = |name: &str| row[name].as_u64().expect("a number");
            let sum = bytes("up_bytes") + bytes("down_bytes");
            prop_assert!(sum >= shown, "{sum} after {shown}");
            prop_assert!(sum <= really, "{sum} of {really}");
            prop_assert_eq!(credited(&table).iter().sum::<u64>(), sum);
            shown = sum;
        }
        if !acts.iter().any(|act| matches!(act, Act::Zero)) {
            dump(&mut table, 100.0, &[counted(web(1), up, down)]);
            prop_assert_eq!(credited(&table).iter().sum::<u64>(), really);
        }
    }
}
