// SPDX-License-Identifier: GPL-2.0-or-later
//! Local time by a time zone of POSIX (`TZ`, environment variables of POSIX.1-2024), with the
//! extensions of RFC 8536 for hours.

const DAY: i64 = 86_400;

/// Offset of local time. Seconds are Unix time, or ahead of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    standard: i64,
    summer: Option<Summer>,
}

/// Daylight saving time: its offset, and when it begins and ends each year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Summer {
    offset: i64,
    begin: Date,
    end: Date,
}

/// A moment of each year, in local time before the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Date {
    day: Day,
    second: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Day {
    /// `Jn`: day of the year without February 29, from 1.
    Julian(i64),
    /// `n`: day of the year from 0.
    OfYear(i64),
    /// `Mm.w.d`: weekday (0 is Sunday) in a week of a month; week 5 is the last one.
    Weekday { month: i64, week: i64, day: i64 },
}

impl Zone {
    #[must_use]
    pub fn fixed(offset: i64) -> Self {
        Self { standard: offset, summer: None }
    }

    /// Parses a zone such as `CET-1CEST,M3.5.0,M10.5.0/3`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = Text(text.trim());
        rest.name()?;
        let standard = -rest.time(24)?;
        if rest.0.is_empty() {
            return Some(Self::fixed(standard));
        }
        rest.name()?;
        let given = rest.0.starts_with(|c: char| c != ',');
        let offset = if given { -rest.time(24)? } else { standard + 3600 };
        let (begin, end) = (rest.date()?, rest.date()?);
        let summer = Some(Summer { offset, begin, end });
        rest.0.is_empty().then_some(Self { standard, summer })
    }

    /// Returns the offset at `unix`.
    #[must_use]
    pub fn offset(&self, unix: i64) -> i64 {
        let before = self.changes(unix).into_iter().flatten().filter(|(at, _)| *at <= unix);
        before.max().map_or(self.standard, |(_, offset)| offset)
    }

    /// Returns the next change of the offset after `unix`.
    #[must_use]
    pub fn next_change(&self, unix: i64) -> Option<i64> {
        let times = self.changes(unix).into_iter().flatten().map(|(at, _)| at);
        times.filter(|at| *at > unix).min()
    }

    /// Returns the beginning of the local day. A time that the clock repeats belongs to the same
    /// day, unless midnight is between the two.
    #[must_use]
    pub fn day_start(&self, unix: i64) -> i64 {
        let day_of = |at: i64| (at + self.offset(at)).div_euclid(DAY);
        let (day, mut at) = (day_of(unix), unix);
        loop {
            let start = at - (at + self.offset(at)).rem_euclid(DAY);
            let changes = self.changes(at).into_iter().flatten().map(|(change, _)| change);
            match changes.filter(|change| (start..=at).contains(change)).max() {
                Some(change) if day_of(change - 1) == day => at = change - 1,
                Some(change) => return change.max(start),
                None => return start,
            }
        }
    }

    /// Returns times of changes around `unix`, and the offset from then on.
    fn changes(&self, unix: i64) -> [Option<(i64, i64)>; 6] {
        let Some(Summer { offset, begin, end }) = self.summer else { return [None; 6] };
        let this = year(unix + self.standard);
        let mut found = [None; 6];
        for (two, year) in found.chunks_exact_mut(2).zip(this - 1..) {
            two[0] = Some((begin.local(year) - self.standard, offset));
            two[1] = Some((end.local(year) - offset, self.standard));
        }
        found
    }
}

impl Date {
    /// Returns the seconds from 1970 in local time.
    fn local(self, year: i64) -> i64 {
        let first = days_before(year);
        let leap = days_before(year + 1) - first == 366;
        let days = match self.day {
            Day::OfYear(day) => first + day,
            Day::Julian(day) => first + day - 1 + i64::from(leap && day > 59),
            Day::Weekday { month, week, day } => {
                let start = |month| first + days_of_months(month, leap);
                let from = start(month - 1);
                // 1970-01-01 was a Thursday.
                let at = from + (day - (from + 4)).rem_euclid(7) + (week - 1) * 7;
                if at >= start(month) { at - 7 } else { at }
            }
        };
        days * DAY + self.second
    }
}

/// Returns the days from 1970 to the beginning of `year`.
fn days_before(year: i64) -> i64 {
    let past = year - 1;
    let leap = past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400);
    past * 365 + leap - 719_162
}

/// Returns the days of the first `months` of a year.
fn days_of_months(months: i64, leap: bool) -> i64 {
    let day = if months < 2 { 0 } else { 2 - i64::from(leap) };
    (months * 367 + 5) / 12 - day
}

fn year(local: i64) -> i64 {
    let days = local.div_euclid(DAY);
    let about = 1970 + (days * 400).div_euclid(146_097);
    (about - 1..=about + 1).rev().find(|year| days_before(*year) <= days).unwrap_or(about)
}

struct Text<'a>(&'a str);

impl Text<'_> {
    fn skip(&mut self, word: char) -> bool {
        let rest = self.0.strip_prefix(word);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Skips a name: letters, or any text in angle brackets.
    fn name(&mut self) -> Option<()> {
        let end = if self.skip('<') {
            self.0.find('>')? + 1
        } else {
            self.0.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.0.len())
        };
        self.0 = &self.0[end..];
        (end >= 3).then_some(())
    }

    fn number(&mut self, most: i64) -> Option<i64> {
        let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
        let number = self.0[..end].parse().ok().filter(|number| *number <= most);
        self.0 = &self.0[end..];
        number
    }

    /// Returns the seconds of `[+|-]hh[:mm[:ss]]`.
    fn time(&mut self, most: i64) -> Option<i64> {
        let negative = self.skip('-');
        if !negative {
            self.skip('+');
        }
        let mut seconds = self.number(most)? * 3600;
        for unit in [60, 1] {
            if !self.skip(':') {
                break;
            }
            seconds += self.number(59)? * unit;
        }
        Some(if negative { -seconds } else { seconds })
    }

    /// Returns the date of `,date[/time]`.
    fn date(&mut self) -> Option<Date> {
        if !self.skip(',') {
            return None;
        }
        let day = if self.skip('J') {
            Day::Julian(self.number(365).filter(|day| *day > 0)?)
        } else if self.skip('M') {
            let month = self.number(12).filter(|month| *month > 0)?;
            let week = self.skip('.').then(|| self.number(5)).flatten().filter(|week| *week > 0)?;
            let day = self.skip('.').then(|| self.number(6)).flatten()?;
            Day::Weekday { month, week, day }
        } else {
            Day::OfYear(self.number(365)?)
        };
        let second = if self.skip('/') { self.time(167)? } else { 2 * 3600 };
        Some(Date { day, second })
    }
}

#[cfg(test)]
mod tests;
