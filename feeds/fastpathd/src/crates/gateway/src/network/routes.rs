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
    #[default]
    Ready,
    Asking,
    Failed,
}

impl Lookup {
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

    pub(crate) fn answered(&mut self, succeeded: bool) {
        *self = if succeeded { Self::Ready } else { Self::Failed };
    }

    pub(crate) fn retry(&mut self) {
        if *self == Self::Failed {
            *self = Self::Ready;
        }
    }
}
