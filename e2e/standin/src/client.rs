// SPDX-License-Identifier: GPL-2.0-or-later
//! The program `ubus` as the tests use it: `call PATH METHOD [JSON]`, `list [PATTERN]` and
//! `subscribe PATH`, with the rights of the user that runs it.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use ubus::{Connection, Incoming, Map};

/// Default timeout of OpenWrt's program.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Calls a method and prints the answer.
///
/// # Errors
/// Returns an error for wrong arguments, a missing ubusd, or a failed call.
pub async fn call(words: &[String]) -> Result<(), Box<dyn Error>> {
    let (path, method, args) = match words {
        [path, method] => (path, method, Map::new()),
        [path, method, args] => match serde_json::from_str(args)? {
            Value::Object(args) => (path, method, args),
            _ => return Err("the arguments are not a JSON object".into()),
        },
        _ => return Err("usage: ubus call PATH METHOD [ARGUMENTS]".into()),
    };
    let connection = Connection::open(Path::new(ubus::SOCKET)).await?;
    let answer = connection.handle().call(path, method, &args, CALL_TIMEOUT).await?;
    println!("{}", Value::Object(answer));
    Ok(())
}

/// Prints the paths of all objects visible to the user.
///
/// # Errors
/// Returns an error for wrong arguments, a missing ubusd, or if no object matches.
pub async fn list(words: &[String]) -> Result<(), Box<dyn Error>> {
    let pattern = match words {
        [] => "*",
        [pattern] => pattern,
        _ => return Err("usage: ubus list [PATTERN]".into()),
    };
    let connection = Connection::open(Path::new(ubus::SOCKET)).await?;
    for entry in connection.handle().list(pattern).await? {
        println!("{}", entry.path);
    }
    Ok(())
}

/// Prints an object's notifications, one per line, until the object is removed.
///
/// # Errors
/// Returns an error for wrong arguments, a missing object, or a missing ubusd.
pub async fn subscribe(words: &[String]) -> Result<(), Box<dyn Error>> {
    let [path] = words else { return Err("usage: ubus subscribe PATH".into()) };
    let mut connection = Connection::open(Path::new(ubus::SOCKET)).await?;
    connection.handle().subscribe(path).await?;
    loop {
        match connection.next().await? {
            Incoming::Notification { name, data, .. } => {
                let data = Value::Object(data);
                writeln!(std::io::stdout(), "{{ {}: {data} }}", Value::from(name))?;
            }
            Incoming::Unsubscribed { .. } => return Ok(()),
            _ => {}
        }
    }
}
