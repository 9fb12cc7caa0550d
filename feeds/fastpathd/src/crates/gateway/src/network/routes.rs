// SPDX-License-Identifier: GPL-2.0-or-later
//! Looks up routes in the kernel, one batch at a time, so that a burst of changes causes one
//! lookup. Pauses until the next second after a failure.

use topology::{RouteBatch, Topology};

/// State of the route lookups.
///
/// ```text
/// Ready ── ask ──▶ Asking ── answered ──▶ Ready
///                         Asking ── failed ──▶ Failed ── next second ──▶ Ready
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The kernel may be asked.
    #[default]
    Ready,
    /// A batch has not been answered yet.
    Asking,
    /// The last batch could not be answered.
    Failed,
}

impl Lookup {
    /// Returns the lookups that are due, unless a batch is under way or has failed.
    pub(crate) fn ask(&mut self, topology: &Topology) -> Option<RouteBatch> {
        match self {
            Self::Ready => {
                let batch = topology.route_questions()?;
                *self = Self::Asking;
                Some(batch)
            }
            Self::Asking | Self::Failed => None,
        }
    }

    /// Handles the end of a batch; false if the kernel could not be asked.
    pub(crate) fn answered(&mut self, well: bool) {
        *self = if well { Self::Ready } else { Self::Failed };
    }

    /// Allows lookups again after a failure.
    pub(crate) fn retry(&mut self) {
        if *self == Self::Failed {
            *self = Self::Ready;
        }
    }
}
