// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;
use tokio::io::AsyncReadExt;
use tokio::net::UnixListener;

use super::*;

#[derive(Debug, Clone, Copy)]
enum Peer {
    Says(&'static str),
    Hangs,
    Closes,
    /// Sends the line without its newline and closes the connection.
    Breaks(&'static str),
    Floods,
}

struct Suricata {
    path: PathBuf,
    commands: Commands,
}

impl Drop for Suricata {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Starts a fake Suricata that accepts each handshake. The n-th connection behaves as the n-th of
/// `peers`.
fn suricata(name: &str, peers: &'static [Peer]) -> Suricata {
    let path = std::env::temp_dir().join(format!("ips-{name}-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        for peer in peers {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert_eq!(receive(&mut stream).await, "{\"version\":\"0.2\"}\n");
            stream.write_all(b"{\"return\":\"OK\"}\n").await.unwrap();
            while !receive(&mut stream).await.is_empty() {
                match peer {
                    Peer::Says(line) => {
                        // Two writes test that the client joins them.
                        let (one, other) = line.split_at(line.len() / 2);
                        stream.write_all(one.as_bytes()).await.unwrap();
                        tokio::task::yield_now().await;
                        stream.write_all(other.as_bytes()).await.unwrap();
                        stream.write_all(b"\n").await.unwrap();
                    }
                    Peer::Hangs => {}
                    Peer::Closes => break,
                    Peer::Breaks(line) => {
                        stream.write_all(line.as_bytes()).await.unwrap();
                        break;
                    }
                    Peer::Floods => {
                        let piece = vec![b'x'; 65536];
                        while stream.write_all(&piece).await.is_ok() {}
                    }
                }
            }
        }
    });
    let commands = Commands::new(&path, Duration::from_millis(500));
    Suricata { path, commands }
}

async fn receive(stream: &mut UnixStream) -> String {
    let mut bytes = vec![0; 4096];
    let length = stream.read(&mut bytes).await.unwrap_or(0);
    String::from_utf8(bytes[..length].to_vec()).unwrap()
}

#[tokio::test]
async fn one_connection_serves_several_commands() {
    let mut suricata = suricata("many", &[Peer::Says(r#"{"message":5,"return":"OK"}"#)]);
    for _ in 0..3 {
        assert_eq!(suricata.commands.uptime().await.unwrap(), Duration::from_secs(5));
    }
}

/// Answers of Suricata 8.0.8.
#[tokio::test]
async fn parses_the_answer_to_each_command() {
    const PEERS: &[Peer] = &[
        Peer::Says(r#"{"message":"8.0.8 RELEASE","return":"OK"}"#),
        Peer::Says(concat!(
            r#"{"message":[{"id":0,"rules_loaded":4,"rules_failed":1,"#,
            r#""rules_skipped":0}],"return":"OK"}"#
        )),
        Peer::Says(concat!(
            r#"{"message":[{"id":0,"last_reload":"2026-11-21T07:38:11.864531+0000"}],"#,
            r#""return":"OK"}"#
        )),
        Peer::Says(r#"{"message":"done","return":"OK"}"#),
        Peer::Says(r#"{"message":{"uptime":8,"ips":{"blocked":3}},"return":"OK"}"#),
        Peer::Says(concat!(
            r#"{"message":[{"tenant_id":0,"rule":"alert x","filename":"/a.rules","line":7,"#,
            r#""error":"no"}],"return":"OK"}"#
        )),
    ];
    let mut suricata = suricata("each", PEERS);
    let commands = &mut suricata.commands;
    assert_eq!(commands.version().await.unwrap(), "8.0.8 RELEASE");
    commands.stream = None;
    assert_eq!(commands.rules().await.unwrap(), RuleCounts { loaded: 4, failed: 1 });
    commands.stream = None;
    assert_eq!(commands.reload_time().await.unwrap(), "2026-11-21T07:38:11.864531+0000");
    commands.stream = None;
    commands.reload_rules().await.unwrap();
    commands.stream = None;
    assert_eq!(commands.counters().await.unwrap().blocked, 3);
    commands.stream = None;
    let failed = commands.failed_rules().await.unwrap();
    let expected =
        FailedRule { file: "/a.rules".into(), line: 7, rule: "alert x".into(), error: "no".into() };
    assert_eq!(failed, [expected]);
}

#[tokio::test]
async fn a_refusal_keeps_the_connection() {
    const BUSY: &str = r#"{"message":"Reload already in progress","return":"NOK"}"#;
    let mut suricata = suricata("refusal", &[Peer::Says(BUSY)]);
    for _ in 0..2 {
        let error = suricata.commands.reload_rules().await.expect_err("busy").to_string();
        let words = "Suricata refused 'ruleset-reload-nonblocking': Reload already in progress";
        assert_eq!(error, words);
    }
}

#[tokio::test]
async fn retries_a_reload_until_it_starts() {
    const PEERS: &[Peer] = &[Peer::Closes, Peer::Says(r#"{"message":"done","return":"OK"}"#)];
    const BUSY: &str = r#"{"message":"Reload already in progress","return":"NOK"}"#;
    let mut begins = suricata("begins", PEERS);
    begins.commands.reload_rules_within(2, Duration::from_millis(1)).await.unwrap();
    let mut busy = suricata("busy", &[Peer::Says(BUSY)]);
    let error = busy.commands.reload_rules_within(3, Duration::from_millis(1)).await;
    assert!(matches!(error, Err(CommandError::Refused { .. })), "{error:?}");
}

#[tokio::test]
async fn reconnects_after_a_timeout() {
    const PEERS: &[Peer] = &[Peer::Hangs, Peer::Says(r#"{"message":5,"return":"OK"}"#)];
    let mut suricata = suricata("hang", PEERS);
    let error = suricata.commands.uptime().await.expect_err("no answer");
    assert!(matches!(error, CommandError::TimedOut { .. }), "{error}");
    assert!(suricata.commands.uptime().await.is_ok());
}

#[tokio::test]
async fn refuses_an_endless_answer() {
    let mut suricata = suricata("flood", &[Peer::Floods]);
    suricata.commands.limit = Duration::from_secs(20);
    let error = suricata.commands.uptime().await.expect_err("no line");
    assert!(matches!(error, CommandError::TooLong { .. }), "{error}");
}

#[tokio::test]
async fn reconnects_after_a_truncated_answer() {
    const WHOLE: &str = r#"{"message":5,"return":"OK"}"#;
    const PEERS: &[Peer] = &[Peer::Breaks(WHOLE), Peer::Says(WHOLE)];
    let mut suricata = suricata("half", PEERS);
    let error = suricata.commands.uptime().await.expect_err("a truncated line");
    assert!(matches!(error, CommandError::Broken { .. }), "{error}");
    assert_eq!(suricata.commands.uptime().await.unwrap(), Duration::from_secs(5));
}

#[test]
fn refuses_deeply_nested_brackets() {
    let line = "[".repeat(MAX_ANSWER_LEN);
    let error = read_answer("uptime", line.as_bytes()).expect_err("no end").to_string();
    assert_eq!(error, "Suricata's answer to 'uptime' is not a JSON object");
}

#[tokio::test]
async fn reports_each_failure() {
    const NONSENSE: [(&str, &str); 6] = [
        ("nothing", "is not a JSON object"),
        ("[]", "is not a JSON object"),
        ("{}", "says neither OK nor NOK"),
        (r#"{"return":1}"#, "says neither OK nor NOK"),
        (r#"{"return":"OK"}"#, "is not a number"),
        (r#"{"return":"OK","message":-1}"#, "is not a number"),
    ];
    const PEERS: &[Peer] = &[
        Peer::Says(NONSENSE[0].0),
        Peer::Says(NONSENSE[1].0),
        Peer::Says(NONSENSE[2].0),
        Peer::Says(NONSENSE[3].0),
        Peer::Says(NONSENSE[4].0),
        Peer::Says(NONSENSE[5].0),
        Peer::Closes,
    ];
    let mut suricata = suricata("wrong", PEERS);
    for (line, words) in NONSENSE {
        let error = suricata.commands.uptime().await.expect_err(line).to_string();
        assert_eq!(error, format!("Suricata's answer to 'uptime' {words}"), "{line}");
        suricata.commands.stream = None;
    }
    let error = suricata.commands.uptime().await.expect_err("closed");
    assert!(matches!(error, CommandError::Broken { .. }), "{error}");
    std::fs::remove_file(&suricata.path).unwrap();
    let error = suricata.commands.uptime().await.expect_err("gone").to_string();
    assert!(error.starts_with("cannot connect to Suricata's command socket /"), "{error}");
}

#[test]
fn truncates_long_texts_and_lists() {
    let rule = json!({"rule": "x".repeat(9999), "filename": "y".repeat(9999)});
    let failed = read_failed_rules(&json!(vec![rule; 500])).unwrap();
    assert_eq!((failed.len(), failed[0].rule.len(), failed[0].file.len()), (32, 256, 256));
    let line = json!({"return": "NOK", "message": vec!["z"; 9999]}).to_string();
    let error = read_answer("x", line.as_bytes()).expect_err("refused").to_string();
    assert!(error.len() < 400);
}

proptest! {
    #[test]
    fn reads_any_answer_without_a_panic(bytes: Vec<u8>, text in "[{}\\[\\]\":,a-z0-9]{0,60}") {
        for line in [&bytes, text.as_bytes()] {
            if let Ok(message) = read_answer("x", line) {
                let _ = read_rules(&message);
                let _ = read_failed_rules(&message);
                let _ = SuricataCounters::read(&message);
            }
        }
    }
}
