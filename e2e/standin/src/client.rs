// SPDX-License-Identifier: GPL-2.0-or-later
//! `OpenWrt`'s program `ubus`, as far as the tests use it: `call PATH METHOD [JSON]`,
//! `list [PATTERN]` and `subscribe PATH`, as whatever user it is run by.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use ubus::{Connection, Incoming, Map};

/// The default of `OpenWrt`'s program.
const PATIENCE: Duration = Duration::from_secs(30);

/// Prints the answer.
///
/// # Errors
/// Wrong arguments, ubusd is not running, or the call fails.
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
    let answer = connection.handle().call(path, method, &args, PATIENCE).await?;
    println!("{}", Value::Object(answer));
    Ok(())
}

/// Prints the paths of the objects that the user may see, one a line.
///
/// # Errors
/// Wrong arguments, ubusd is not running, or no object matches.
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

/// Prints the notifications of an object, one a line, until the object is gone.
///
/// # Errors
/// Wrong arguments, no such object, or no connection to ubusd.
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
