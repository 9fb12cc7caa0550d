// SPDX-License-Identifier: GPL-2.0-or-later
//! Command `watch`: shows status and the busiest flows once a second.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use serde_json::{Map, Value, json};
use ubus::Handle;

use crate::protection::plain_answer;
use crate::{Failure, call, show};

/// Moves the cursor home. Overwriting instead of clearing the screen avoids flicker.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K\n";
const CLEAR_BELOW: &str = "\x1b[J";

pub(crate) async fn run(bus: &Handle, mut request: Map<String, Value>) -> Result<(), Failure> {
    request.entry("limit").or_insert(json!(15));
    let request = Value::Object(request);
    let terminal = std::io::stdout().is_terminal();
    let mut second = tokio::time::interval(Duration::from_secs(1));
    loop {
        second.tick().await;
        let status = plain_answer(call(bus, "status", &json!({})).await?);
        let page = plain_answer(call(bus, "flows", &request).await?);
        let text = format!("{}\n{}", show::status(&status), show::flows(&page));
        let text = if terminal {
            format!("{HOME}{}{CLEAR_BELOW}", text.replace('\n', CLEAR_LINE))
        } else {
            format!("{text}\n")
        };
        if std::io::stdout().write_all(text.as_bytes()).is_err() {
            return Ok(());
        }
    }
}
