// SPDX-License-Identifier: GPL-2.0-or-later

use std::net::Ipv4Addr;

use model::NextHop;

use super::*;
use crate::fixture::route;

/// Returns a query from host `from` to 203.0.113.1.
fn query(from: u32) -> RouteQuery {
    let from = Ipv4Addr::from_bits(0x0a00_0000 + from).into();
    RouteQuery { from, to: "203.0.113.1".parse().unwrap(), iif: 2, mark: 0, layer4: None }
}

fn by(device: u32) -> RouteAnswer {
    RouteAnswer::Hop(NextHop { device, gateway: None })
}

fn answer(routes: &mut KernelRoutes, device: u32) -> bool {
    let batch = routes.questions().unwrap();
    let answers: Vec<_> = batch.queries.iter().map(|query| (*query, by(device))).collect();
    routes.answered(&batch, &answers)
}

fn route_to(text: &str) -> Reach {
    Reach::of(&Change::RouteGone(route(3, text, None)))
}

#[test]
fn a_query_is_queued_once() {
    let mut routes = KernelRoutes::default();
    for _ in 0..3 {
        assert_eq!(routes.find(&query(1)), None);
    }
    let batch = routes.questions().unwrap();
    assert_eq!(batch.queries, [query(1)]);
    assert_eq!((routes.find(&query(1)), routes.questions()), (None, None), "already sent");
    assert!(!routes.answered(&batch, &[(query(1), by(3))]), "there was no previous answer");
    assert_eq!((routes.find(&query(1)), routes.questions()), (Some((by(3), true)), None));
}

#[test]
fn a_change_queues_the_queries_that_it_affects() {
    let mut routes = KernelRoutes::default();
    routes.find(&query(1));
    answer(&mut routes, 3);
    for (reach, changed, asked) in [
        (route_to("203.0.113.0/24"), false, true),
        (route_to("0.0.0.0/0"), false, true),
        (route_to("192.0.2.0/24"), true, false),
        (route_to("::/0"), true, false),
        (Reach::of(&Change::Routes(Vec::new())), false, true),
        (Reach::of(&Change::Full(Vec::new())), false, true),
        (Reach::of(&Change::LinkGone(1)), true, true),
        (Reach::of(&Change::Queues(Vec::new())), true, false),
    ] {
        routes.outdate(reach, changed);
        assert_eq!(routes.find(&query(1)), Some((by(3), !asked)), "{reach:?}");
        assert_eq!(routes.0.borrow().questions.len(), usize::from(asked), "{reach:?}");
        if asked {
            assert!(!answer(&mut routes, 3), "the same answer");
        }
    }
    routes.outdate(Reach::All, false);
    assert!(answer(&mut routes, 4), "another answer");
    assert_eq!(routes.find(&query(1)), Some((by(4), true)));
}

#[test]
fn a_change_of_rules_queues_queries_on_look_up() {
    let mut routes = KernelRoutes::default();
    for from in [1, 2] {
        routes.find(&query(from));
    }
    answer(&mut routes, 3);
    let rules = Reach::of(&Change::Rules(Vec::new()));
    routes.outdate(rules, false);
    assert_eq!(routes.find(&query(1)), Some((by(3), true)), "the rules are unchanged");
    routes.outdate(rules, true);
    assert_eq!(routes.questions(), None);
    assert_eq!(routes.find(&query(1)), Some((by(3), false)));
    assert_eq!(routes.questions().unwrap().queries, [query(1)]);
    routes.outdate(Reach::All, true);
    assert_eq!(routes.questions(), None, "no flow looked the other answer up");
}

#[test]
fn an_answer_to_a_query_before_a_change_is_stale() {
    let mut routes = KernelRoutes::default();
    routes.find(&query(1));
    let batch = routes.questions().unwrap();
    routes.outdate(Reach::All, false);
    assert_eq!(routes.questions(), None, "already sent");
    routes.answered(&batch, &[(query(1), by(3))]);
    assert_eq!(routes.find(&query(1)), Some((by(3), false)));
    answer(&mut routes, 4);
    assert_eq!(routes.find(&query(1)), Some((by(4), true)));
}

#[test]
fn unanswered_queries_are_queued_again() {
    let mut routes = KernelRoutes::default();
    routes.find(&query(1));
    let batch = routes.questions().unwrap();
    routes.answered(&batch, &[]);
    assert_eq!(routes.questions().unwrap().queries, [query(1)]);
}

#[test]
fn evicts_the_least_recently_used_answers() {
    let mut routes = KernelRoutes::default();
    for from in 0..100_000 {
        routes.find(&query(from));
        routes.find(&query(7));
        let Cache { recent, former, questions, .. } = &*routes.0.borrow();
        assert!(recent.len() + former.len() <= 2 * HALF);
        assert!(questions.len() <= 2 * HALF);
    }
    answer(&mut routes, 3);
    assert_eq!(routes.find(&query(7)), Some((by(3), true)));
    assert_eq!(routes.find(&query(99_999)), Some((by(3), true)));
    assert_eq!(routes.find(&query(8)), None, "evicted");
}
