// SPDX-License-Identifier: GPL-2.0-or-later
//! ubus: the connection, the methods and the answers.

pub(crate) mod connection;
pub(crate) mod health;
pub(crate) mod methods;
pub(crate) mod status;
