// SPDX-License-Identifier: GPL-2.0-or-later
//! Log lines on standard error, which procd passes on to the system log.

use std::io::Write;

use log::{Level, LevelFilter, Log, Metadata, Record};

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            // Nobody is left to tell when standard error is gone.
            let _ = writeln!(std::io::stderr(), "{}{}", prefix(record.level()), record.args());
        }
    }

    fn flush(&self) {}
}

fn prefix(level: Level) -> &'static str {
    match level {
        Level::Error => "error: ",
        Level::Warn => "warning: ",
        Level::Info => "",
        Level::Debug | Level::Trace => "debug: ",
    }
}

/// Starts logging; `verbose` adds debug lines.
pub(crate) fn start(verbose: bool) {
    static SINK: Stderr = Stderr;
    // Fails only when a logger is set already, which then serves as well.
    let _ = log::set_logger(&SINK);
    log::set_max_level(if verbose { LevelFilter::Debug } else { LevelFilter::Info });
}
