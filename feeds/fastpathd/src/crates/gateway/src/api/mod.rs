// SPDX-License-Identifier: GPL-2.0-or-later
//! The methods of object `fastpath`, and their answers.

pub mod health;
pub mod methods;
pub mod status;
#[cfg(test)]
mod tests;

/// Answers to held requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Answer the held `engine` requests.
    AnswerEngine,
    /// Answer `reinspect` with the number of connections that had left inspection.
    AnswerReinspect(Result<usize, String>),
}
