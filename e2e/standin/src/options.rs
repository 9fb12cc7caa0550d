// SPDX-License-Identifier: GPL-2.0-or-later

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub ubus_socket: PathBuf,
    pub listen: SocketAddr,
    pub www: PathBuf,
    pub shadow: PathBuf,
    /// Folder of access groups for web sessions.
    pub acl: PathBuf,
    /// Folder of access rights for bus clients other than root.
    pub ubus_acl: PathBuf,
    pub config: PathBuf,
    /// Folder of files that do not survive a reboot: uncommitted changes of sessions, snapshots.
    pub run: PathBuf,
    /// Folder of uncommitted changes by shell commands.
    pub staged: PathBuf,
    /// Folder of programs that become objects of the bus.
    pub plugins: PathBuf,
    /// Timeout of a program that runs for a caller.
    pub exec_limit: Duration,
    /// Socket for log messages; `None` to create no socket.
    pub syslog: Option<PathBuf>,
    pub logs: Option<PathBuf>,
    /// Folder with a file for each interface that was brought down.
    pub down: PathBuf,
    pub radios: PathBuf,
    /// Runs with the name of each changed configuration.
    pub reload_command: Option<PathBuf>,
    /// Runs with the type of each event.
    pub event_command: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            ubus_socket: PathBuf::from(ubus::SOCKET),
            listen: SocketAddr::from(([127, 0, 0, 1], 80)),
            www: PathBuf::from("/www"),
            shadow: PathBuf::from("/etc/shadow"),
            acl: PathBuf::from("/usr/share/rpcd/acl.d"),
            ubus_acl: PathBuf::from("/usr/share/acl.d"),
            config: PathBuf::from("/etc/config"),
            run: PathBuf::from("/var/run/rpcd"),
            staged: PathBuf::from("/tmp/.uci"),
            plugins: PathBuf::from("/usr/libexec/rpcd"),
            exec_limit: Duration::from_secs(120),
            syslog: None,
            logs: None,
            down: PathBuf::from("/run/lab/down"),
            radios: PathBuf::from("/run/lab/wireless"),
            reload_command: None,
            event_command: None,
        }
    }
}

pub const USAGE: &str = "\
fastpath-standin: answers for ubusd, rpcd and uhttpd, in the lab only

  --ubus-socket PATH     where the bus listens (/var/run/ubus/ubus.sock)
  --listen ADDRESS:PORT  where the web server listens (127.0.0.1:80)
  --www FOLDER           static files (/www)
  --shadow FILE          passwords (/etc/shadow)
  --acl FOLDER           access groups of web sessions (/usr/share/rpcd/acl.d)
  --ubus-acl FOLDER      rights of bus clients that are not root (/usr/share/acl.d)
  --config FOLDER        UCI files (/etc/config)
  --run FOLDER           changes of sessions, snapshots (/var/run/rpcd)
  --staged FOLDER        changes that a shell has not committed (/tmp/.uci)
  --plugins FOLDER       programs that are objects of the bus (/usr/libexec/rpcd)
  --exec-timeout SECONDS longest that one of them may take (120)
  --syslog PATH          socket that programs send their log to
  --log-folder FOLDER    output of services, a file NAME.log each
  --down-folder FOLDER   interfaces that were brought down (/run/lab/down)
  --radio-folder FOLDER  the state of each radio (/run/lab/wireless)
  --reload-command FILE  run with the name of each configuration that changed
  --event-command FILE   run with the type of each event for services
";

impl Options {
    /// Parses the arguments; `None` if only the help text is requested.
    ///
    /// # Errors
    /// Returns an error for an unknown argument or an invalid value.
    pub fn parse(
        args: impl IntoIterator<Item = std::ffi::OsString>,
    ) -> Result<Option<Options>, lexopt::Error> {
        let mut options = Options::default();
        let mut parser = lexopt::Parser::from_args(args);
        while let Some(argument) = parser.next()? {
            match argument {
                Long("ubus-socket") => options.ubus_socket = parser.value()?.into(),
                Long("listen") => options.listen = parser.value()?.parse()?,
                Long("www") => options.www = parser.value()?.into(),
                Long("shadow") => options.shadow = parser.value()?.into(),
                Long("acl") => options.acl = parser.value()?.into(),
                Long("ubus-acl") => options.ubus_acl = parser.value()?.into(),
                Long("config") => options.config = parser.value()?.into(),
                Long("run") => options.run = parser.value()?.into(),
                Long("staged") => options.staged = parser.value()?.into(),
                Long("plugins") => options.plugins = parser.value()?.into(),
                Long("exec-timeout") => {
                    options.exec_limit = Duration::from_secs(parser.value()?.parse()?);
                }
                Long("syslog") => options.syslog = Some(parser.value()?.into()),
                Long("log-folder") => options.logs = Some(parser.value()?.into()),
                Long("down-folder") => options.down = parser.value()?.into(),
                Long("radio-folder") => options.radios = parser.value()?.into(),
                Long("reload-command") => options.reload_command = Some(parser.value()?.into()),
                Long("event-command") => options.event_command = Some(parser.value()?.into()),
                Long("help") | Short('h') => return Ok(None),
                _ => return Err(argument.unexpected()),
            }
        }
        Ok(Some(options))
    }
}
