// SPDX-License-Identifier: GPL-2.0-or-later
//! Renders inspection: exception policies, table sizes, streams, bypass, application protocols,
//! body limits, detection.

use super::Overlay;

pub(super) fn render(overlay: &Overlay<'_>) -> String {
    [exceptions(overlay), tables(overlay), stream(overlay), protocols(overlay), DETECT.to_owned()]
        .concat()
}

fn exceptions(overlay: &Overlay<'_>) -> String {
    let policy = flow_policy(overlay);
    format!("\nexception-policy: {policy}\n")
}

fn flow_policy(overlay: &Overlay<'_>) -> &'static str {
    if overlay.drops_uninspected() { "drop-flow" } else { "ignore" }
}

fn packet_policy(overlay: &Overlay<'_>) -> &'static str {
    if overlay.drops_uninspected() { "drop-packet" } else { "ignore" }
}

/// Half of the memory is for stream reassembly, a quarter for flows. Preallocation is a fraction of
/// the memory, because Suricata refuses a limit below it.
fn tables(overlay: &Overlay<'_>) -> String {
    let kib = overlay.settings.memory * 1024;
    let [flow, part] = [kib / 4, kib / 16];
    let policy = packet_policy(overlay);
    // A bucket takes up to 128 bytes, so all buckets take at most an eighth of the table's memory.
    let buckets = 1_u32 << flow.ilog2().min(20);
    let prealloc = (flow / 4).min(10_000);
    format!(
        "
flow:
  memcap: {flow}KiB
  memcap-policy: {policy}
  hash-size: {buckets}
  prealloc: {prealloc}
  emergency-recovery: 30
  managers: 1
  recyclers: 1

defrag:
  memcap: {part}KiB
  memcap-policy: {policy}
  hash-size: {fragments}
  trackers: {fragments}
  max-frags: {fragments}
  prealloc: yes
  timeout: 60

host:
  hash-size: 4096
  prealloc: 256
  memcap: {part}KiB
",
        fragments = part.clamp(1024, 16_384),
    )
}

/// `midstream` inspects connections that began before Suricata's start. `drop-invalid` would also
/// drop valid segments after a gap in inspection (open gate, re-inspection), so it is only enabled
/// if uninspected traffic has to be dropped.
fn stream(overlay: &Overlay<'_>) -> String {
    let kib = overlay.settings.memory * 1024;
    let yes_no = |yes| if yes { "yes" } else { "no" };
    let policy = flow_policy(overlay);
    format!(
        "
stream:
  memcap: {sessions}KiB
  memcap-policy: {policy}
  checksum-validation: yes
  prealloc-sessions: 512
  midstream: true
  midstream-policy: ignore
  async-oneside: false
  inline: {inline}
  drop-invalid: {strict}
  bypass: {bypass}
  reassembly:
    memcap: {segments}KiB
    memcap-policy: {policy}
    depth: {depth}
    urgent:
      policy: oob
      oob-limit-policy: drop
    toserver-chunk-size: 2560
    toclient-chunk-size: 2560
    randomize-chunk-size: yes
    raw: yes
    segment-prealloc: 512
",
        sessions = kib / 8,
        segments = kib / 2,
        inline = yes_no(overlay.is_inline()),
        strict = yes_no(overlay.drops_uninspected()),
        bypass = yes_no(overlay.may_bypass()),
        depth = overlay.depth(),
    )
}

/// Enables protocols of homes and offices. Industrial protocols stay off, Suricata's default.
fn protocols(overlay: &Overlay<'_>) -> String {
    let policy = flow_policy(overlay);
    let set_enabled = |names: &[&str], to: &str| -> String {
        names.iter().flat_map(|name| ["    ", name, ":\n      enabled: ", to, "\n"]).collect()
    };
    let on = set_enabled(&ENABLED, "yes");
    let off = set_enabled(&["modbus", "dnp3", "enip", "pgsql"], "no");
    let head = format!("\napp-layer:\n  error-policy: {policy}\n  protocols:\n{on}{off}");
    let depth = overlay.depth();
    [head, HANDSHAKES.to_owned(), streams(depth), SERVICES.to_owned(), http(depth)].concat()
}

/// Keeps full inspection: `bypass` and `track-only` would trust the header of a single record.
/// `encrypted.rules` decides by content instead.
const HANDSHAKES: &str = "    imap:
      enabled: detection-only
    tls:
      enabled: yes
      detection-ports:
        dp: 443
      ja4-fingerprints: yes
      encryption-handling: full
    ssh:
      enabled: yes
      hassh: no
      encryption-handling: full
";

/// Limits the depth of protocols that Suricata inspects to the end by default, so that inspection
/// of large SMB copies ends.
fn streams(depth: u32) -> String {
    format!(
        "    pop3:
      enabled: yes
      detection-ports:
        dp: 110
      stream-depth: {depth}
    smb:
      enabled: yes
      detection-ports:
        dp: 139, 445
      stream-depth: {depth}
"
    )
}

const SERVICES: &str = "    dns:
      tcp:
        enabled: yes
        detection-ports:
          dp: 53
      udp:
        enabled: yes
        detection-ports:
          dp: 53
    ldap:
      tcp:
        enabled: yes
        detection-ports:
          dp: 389, 3268
      udp:
        enabled: yes
        detection-ports:
          dp: 389, 3268
    smtp:
      enabled: yes
      raw-extraction: no
      mime:
        decode-mime: yes
        decode-base64: yes
        decode-quoted-printable: yes
        header-value-depth: 2000
        extract-urls: yes
        body-md5: no
      inspected-tracker:
        content-limit: 100000
        content-inspect-min-size: 32768
        content-inspect-window: 4096
";

/// Sets the body limits to the depth, so that `always inspect` covers whole bodies.
fn http(depth: u32) -> String {
    format!(
        "    http:
      enabled: yes
      libhtp:
        default-config:
          personality: IDS
          request-body-limit: {depth}
          response-body-limit: {depth}
          request-body-minimal-inspect-size: 32KiB
          request-body-inspect-window: 4KiB
          response-body-minimal-inspect-size: 40KiB
          response-body-inspect-window: 16KiB
          response-body-decompress-layer-limit: 2
          http-body-inline: auto
          double-decode-path: no
          double-decode-query: no
          swf-decompression:
            enabled: no
"
    )
}

const ENABLED: [&str; 20] = [
    "telnet",
    "rfb",
    "mqtt",
    "krb5",
    "bittorrent-dht",
    "snmp",
    "ike",
    "dcerpc",
    "ftp",
    "websocket",
    "rdp",
    "doh2",
    "http2",
    "nfs",
    "tftp",
    "ntp",
    "quic",
    "dhcp",
    "sip",
    "mdns",
];

/// `delayed-detect` would let packets pass until the rules are loaded. `sgh-mpm-caching` would
/// write compiled rules to the disk.
const DETECT: &str = "
detect:
  profile: medium
  sgh-mpm-context: auto
  sgh-mpm-caching: no
  delayed-detect: no
  inspection-recursion-limit: 3000
  prefilter:
    default: mpm
  thresholds:
    hash-size: 4096
    memcap: 4MiB
";
