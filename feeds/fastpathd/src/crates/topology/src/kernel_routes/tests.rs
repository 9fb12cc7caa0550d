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

/// Answers all questions with this device.
fn answer(routes: &mut KernelRoutes, device: u32) -> bool {
    let batch = routes.questions().unwrap();
    let answers: Vec<_> = batch.queries.iter().map(|query| (*query, by(device))).collect();
    routes.answered(&batch, &answers)
}

fn route_to(text: &str) -> Reach {
    Reach::of(&Change::RouteGone(route(3, text, None)))
}

#[test]
fn a_question_is_asked_once() {
    let mut routes = KernelRoutes::default();
    for _ in 0..3 {
        assert_eq!(routes.find(&query(1)), None);
    }
    let batch = routes.questions().unwrap();
    assert_eq!(batch.queries, [query(1)]);
    assert_eq!((routes.find(&query(1)), routes.questions()), (None, None), "with the kernel");
    assert!(!routes.answered(&batch, &[(query(1), by(3))]), "nothing was known before");
    assert_eq!((routes.find(&query(1)), routes.questions()), (Some((by(3), true)), None));
}

#[test]
fn a_change_asks_again_for_the_answers_it_affects() {
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
fn a_change_of_rules_asks_again_only_on_look_up() {
    let mut routes = KernelRoutes::default();
    for from in [1, 2] {
        routes.find(&query(from));
    }
    answer(&mut routes, 3);
    let rules = Reach::of(&Change::Rules(Vec::new()));
    routes.outdate(rules, false);
    assert_eq!(routes.find(&query(1)), Some((by(3), true)), "no other rules");
    routes.outdate(rules, true);
    assert_eq!(routes.questions(), None);
    assert_eq!(routes.find(&query(1)), Some((by(3), false)));
    assert_eq!(routes.questions().unwrap().queries, [query(1)]);
    routes.outdate(Reach::All, true);
    assert_eq!(routes.questions(), None, "no flow needs the other");
}

#[test]
fn an_answer_from_before_a_change_does_not_count() {
    let mut routes = KernelRoutes::default();
    routes.find(&query(1));
    let batch = routes.questions().unwrap();
    routes.outdate(Reach::All, false);
    assert_eq!(routes.questions(), None, "with the kernel");
    routes.answered(&batch, &[(query(1), by(3))]);
    assert_eq!(routes.find(&query(1)), Some((by(3), false)));
    answer(&mut routes, 4);
    assert_eq!(routes.find(&query(1)), Some((by(4), true)));
}

#[test]
fn questions_that_could_not_be_asked_are_asked_again() {
    let mut routes = KernelRoutes::default();
    routes.find(&query(1));
    let batch = routes.questions().unwrap();
    routes.answered(&batch, &[]);
    assert_eq!(routes.questions().unwrap().queries, [query(1)]);
}

#[test]
fn recently_used_answers_are_kept() {
    let mut routes = KernelRoutes::default();
    for from in 0..100_000 {
        routes.find(&query(from));
        // Keep this answer in use.
        routes.find(&query(7));
        let Cache { recent, former, questions, .. } = &*routes.0.borrow();
        assert!(recent.len() + former.len() <= 2 * HALF);
        assert!(questions.len() <= 2 * HALF);
    }
    answer(&mut routes, 3);
    assert_eq!(routes.find(&query(7)), Some((by(3), true)));
    assert_eq!(routes.find(&query(99_999)), Some((by(3), true)));
    assert_eq!(routes.find(&query(8)), None, "not in use");
}
