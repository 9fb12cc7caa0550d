// SPDX-License-Identifier: GPL-2.0-or-later
//! Days of local time, pages of the first version, and sums that are not additive.

use super::*;

#[test]
fn extremes_are_the_least_and_the_greatest() {
    let mut found = Book::default();
    for sums in [[0, 0, 0], [30, 40, 0], [0, 0, 0], [20, 30, 0], [35, 50, 0]] {
        found.merge(book(DAY * 96, &[(Key::Extremes(Name::new("wan")), sums)]));
    }
    assert_eq!(found.cells.into_values().collect::<Vec<_>>(), [[20, 50, 0]]);
}

/// A page of version 1: a UTC day, and a quarter hour of the day for which it was begun.
#[test]
fn pages_with_utc_days_stay_readable_and_are_continued() {
    let mut body = vec![1, 0];
    for value in [7, DAY.into(), 9, 2] {
        code::number(&mut body, value);
    }
    body.extend([0, 3, 2, 0, 0, 0, 0, 1, 2]);
    for (stamp, cells) in [
        (u64::from(DAY - 50) << 1 | 1, [86_400, 0, 86_400, 10, 20, 25]),
        (u64::from(DAY * 96 + 5) << 1, [900, 0, 900, 1, 2, 2]),
    ] {
        for value in [stamp, 1, 0, 2].into_iter().chain(cells) {
            code::number(&mut body, value);
        }
    }
    body.push(0);
    let mut page = u32::try_from(body.len()).unwrap().to_le_bytes().to_vec();
    page.extend(crc32fast::hash(&body).to_le_bytes());
    page.extend(body);

    let files = Memory::new();
    files.0.borrow_mut().pages.insert(3, page);
    let mut expected = Book::default();
    let day = Stamp::Day((DAY - 50) * 96);
    expected.add(day, Key::Recorded, [86_400, 0, 0]);
    expected.add(day, device(1), [10, 20, 5]);
    let quarter = Stamp::Quarter(DAY * 96 + 5);
    expected.add(quarter, Key::Recorded, [900, 0, 0]);
    expected.add(quarter, device(1), [1, 2, 1]);
    let mut ledger = Ledger::open(files.clone());
    assert_eq!(all(&ledger), expected);
    // The same day goes on in the same page, which has frames of both versions then.
    let more = book(DAY * 96 + 6, &[(device(1), [4, 5, 6])]);
    write_on(&mut ledger, &more, DAY).unwrap();
    expected.merge(more);
    assert_eq!(all(&Ledger::open(files.copy())), expected);
    assert_eq!(files.0.borrow().pages.len(), 1);
    // Days of both kinds survive until the page is replaced, and then.
    for day in DAY + 1..DAY + 40 {
        for _ in 0..3 {
            write_on(&mut ledger, &book(day * 96, &[(device(2), [1, 1, 0])]), day).unwrap();
        }
    }
    assert_eq!(all(&ledger).cells[&(day, device(1))], [10, 20, 5]);
    assert_eq!(all(&ledger).cells[&(Stamp::Day(DAY * 96), device(1))], [5, 7, 7]);
}

/// Days of 23, 24 and 25 hours, and a move of the time zone by nine hours.
#[test]
fn days_are_summed_by_the_local_time_of_the_write() {
    let starts = [0, 96, 192, 284, 380, 480, 576].map(|quarter| DAY * 96 - 4 + quarter);
    let berlin = |quarter: u32| match starts.partition_point(|start| *start <= quarter) {
        0 => quarter,
        7 => quarter - (quarter - starts[6]) % 96,
        past => starts[past - 1],
    };
    let tokyo = |quarter: u32| (quarter + 36) / 96 * 96 - 36;
    let mut ledger = Ledger::open(Memory::new());
    let mut record = |quarters: std::ops::Range<u32>, day_of: DayOf<'_>| {
        for quarter in quarters {
            let more = book(quarter, &[(Key::Recorded, [900, 0, 0])]);
            ledger.write(&more, quarter, day_of).unwrap();
        }
        all(&ledger)
    };
    let moved = starts[6] + 33 * 96;
    record(starts[0]..moved, &berlin);
    let found = record(moved..moved + 40 * 96, &tokyo);
    let sums: Vec<u64> = found.cells.values().map(|sums| sums[0] / 900).collect();
    assert_eq!(sums[..6], [96, 96, 92, 96, 100, 96]);
    assert_eq!(sums.iter().sum::<u64>(), u64::from(moved - starts[0]) + 40 * 96);
    for (stamp, _) in found.cells.keys().filter(|(stamp, _)| matches!(stamp, Stamp::Day(_))) {
        let (Stamp::Day(start) | Stamp::Quarter(start)) = *stamp;
        assert!([berlin(start), tokyo(start)].contains(&start), "{stamp:?}");
    }
}

/// Each page has a day's quarter hours and some days of former months.
#[test]
fn a_span_is_complete_and_reads_only_its_pages() {
    let files = Memory::new();
    let mut ledger = Ledger::open(files.clone());
    let selected = |book: Book, span: &Span| {
        let mut cells = book.cells;
        cells.retain(|(stamp, _), _| match stamp {
            Stamp::Day(at) => span.days.contains(at),
            Stamp::Quarter(at) => span.quarters.contains(at),
        });
        cells
    };
    let none = Span::default;
    let check = |ledger: &Ledger<Memory>, day: u32| {
        let today = day * 96..(day + 1) * 96;
        let month = (day - 40) * 96..(day - 30) * 96;
        for (span, most) in [
            // Today's page, and one that is not merged yet.
            (Span { quarters: today.clone(), ..none() }, 2),
            (Span { quarters: (day - 5) * 96..(day - 3) * 96, ..none() }, 2),
            (Span { days: month.clone(), ..none() }, 11),
            (Span { quarters: today, days: month, ..none() }, 12),
            (Span::default(), 0),
            (Span::ALL, PAGES),
        ] {
            let mut found = Book::default();
            let before = files.0.borrow().reads;
            ledger.read(&span, |stamp, key, sums| found.add(stamp, key, sums)).unwrap();
            let reads = files.0.borrow().reads - before;
            assert!(reads <= most, "{reads} pages for {span:?}");
            assert_eq!(selected(found, &span), selected(all(ledger), &span), "{span:?}");
        }
    };
    for day in DAY..DAY + 80 {
        for quarter in [0, 40, 95] {
            // The first write of a day still has growth of the day before.
            let mut grown = book(day * 96 + quarter, &[(device(1), [1, 2, 3])]);
            grown.merge(book(day * 96 + quarter - 1, &[(device(2), [4, 5, 6])]));
            ledger.write(&grown, day * 96 + quarter, &utc).unwrap();
            if day % 20 == 0 {
                check(&ledger, day);
                check(&Ledger::open(files.copy()), day);
            }
        }
    }
}

#[test]
fn events_are_read_from_the_pages_with_newer_ones() {
    let files = Memory::new();
    let mut ledger = Ledger::open(files.clone());
    for day in DAY..DAY + 40 {
        for quarter in [day * 96, day * 96 + 40] {
            let mut grown = book(quarter, &[(device(1), [1, 2, 3])]);
            if day % 2 == 0 {
                grown.events.push(event(u64::from(quarter), "wan"));
            }
            ledger.write(&grown, quarter, &utc).unwrap();
        }
    }
    let last = u64::from((DAY + 38) * 96 + 40);
    for ledger in [ledger, Ledger::open(files.clone())] {
        for (oldest, most, number) in [
            // The ids of `event` are by one larger than its time.
            ([last + 1, 0], 0, 0),
            ([0, last + 2], 0, 0),
            ([last, 0], 1, 1),
            ([0, last + 1], 1, 1),
            ([last - 3 * 96, last - 3 * 96], 2, 4),
            ([0, 0], PAGES, 40),
        ] {
            let before = files.0.borrow().reads;
            let span = Span { events: Some(oldest), ..Span::default() };
            let mut events = ledger.read(&span, |_, _, _| {}).unwrap();
            events.retain(|event| event.unix_ms >= oldest[0] && event.id >= oldest[1]);
            let reads = files.0.borrow().reads - before;
            assert!(reads <= most, "{reads} pages for {oldest:?}");
            assert_eq!(events.len(), number, "{oldest:?}");
        }
    }
}
