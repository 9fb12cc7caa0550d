// SPDX-License-Identifier: GPL-2.0-or-later
//! Engine in force, exclusions and `passed` bits of the connection mark, as the daemon hands them
//! to the flow table.

use model::{Engine, Exclude};

/// The engine in force and its exclusions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineState {
    /// The engine in force, not the configured one.
    pub engine: Engine,
    /// Flows that stay on the slow path by configuration.
    pub excludes: Vec<Exclude>,
    /// Bits of the connection mark that the last rules set, for packets from the initiator and to
    /// it; zeros: none.
    pub passed: [u32; 2],
}

impl Default for EngineState {
    fn default() -> Self {
        Self { engine: Engine::Off, excludes: Vec::new(), passed: [0; 2] }
    }
}
