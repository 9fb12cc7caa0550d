// SPDX-License-Identifier: GPL-2.0-or-later
//! Log lines. procd passes standard output on to the system log as `daemon.info` and standard
//! error as `daemon.err`: only errors and warnings go to standard error.

use std::io::Write;

use log::{Level, LevelFilter, Log, Metadata, Record};

struct Stdio;

impl Log for Stdio {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            write(record, &mut std::io::stdout(), &mut std::io::stderr());
        }
    }

    fn flush(&self) {}
}

/// A whole line with one write, so that a reader never gets half of one.
fn write<'a>(record: &Record<'_>, out: &'a mut (dyn Write + 'a), err: &'a mut (dyn Write + 'a)) {
    let (to, prefix) = match record.level() {
        Level::Error => (err, "error: "),
        Level::Warn => (err, "warning: "),
        Level::Info => (out, ""),
        Level::Debug | Level::Trace => (out, "debug: "),
    };
    // If the other end is gone, there is nowhere to report it.
    let _ = to.write_all(format!("{prefix}{}\n", record.args()).as_bytes());
}

/// Starts logging; `verbose` adds debug lines.
pub(crate) fn start(verbose: bool) {
    static SINK: Stdio = Stdio;
    // Fails only when a logger is set already, which then serves as well.
    let _ = log::set_logger(&SINK);
    log::set_max_level(if verbose { LevelFilter::Debug } else { LevelFilter::Info });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_faults_go_where_procd_expects_them() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        for level in Level::iter() {
            let mut record = Record::builder();
            write(&record.level(level).args(format_args!("{level}")).build(), &mut out, &mut err);
        }
        assert_eq!(String::from_utf8_lossy(&err), "error: ERROR\nwarning: WARN\n");
        assert_eq!(String::from_utf8_lossy(&out), "INFO\ndebug: DEBUG\ndebug: TRACE\n");
    }
}
