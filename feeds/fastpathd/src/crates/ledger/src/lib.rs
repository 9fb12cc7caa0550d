// SPDX-License-Identifier: GPL-2.0-or-later
//! History of traffic and events on flash: quarter hours for a month and days for a year, in a
//! fixed number of files. [`Files`] does the I/O; `docs/design/history.md` describes the format.

mod book;
mod code;
mod frame;
mod store;

pub use book::{Book, DayOf, Entry, Key, Kind, MAX_ABOUT, Name, QUARTER_S, Span, Stamp, Sums};
pub use store::{Failure, Files, Ledger, MAX_SIZE, MIN_ROOM, PAGES, Recent};

#[cfg(test)]
mod tests;
