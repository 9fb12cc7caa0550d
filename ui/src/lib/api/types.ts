// SPDX-License-Identifier: GPL-2.0-or-later
// Made by `npm run types` from feeds/fastpathd/src/schema. Do not edit.

/**
 * the reason whose English text is value; null: value does not repeat a reason, or the daemon reports no code
 */
export type DoctorCause = {
  /**
   * engine: EngineCause, ips: IpsCause, link: cause of a link in topology, rules: rules.cause in ips
   */
  kind: 'engine' | 'ips' | 'link' | 'rules';
  code: string;
  params: {
    [k: string]: string;
  };
  /**
   * with rules: rules.sources in ips
   */
  sources?: {}[];
} | null;
export type DoctorGain = {
  text: string;
  source: string;
} | null;
/**
 * the action of method fix of fastpath.doctor
 */
export type DoctorFix = {
  /**
   * change: settings, rolled back unless confirmed; step: effective immediately
   */
  kind: 'change' | 'step';
  label: string;
  /**
   * of a change, as for fastpath.change
   */
  edits?: {}[];
} | null;
/**
 * How established flows are offloaded.
 */
export type Engine = 'off' | 'flowtable' | 'flowtable-hw' | 'ebpf';
/**
 * Ports of the flowtable, by what their drivers say; null: another engine, or the kernel cannot be asked
 */
export type HardwarePorts = {
  /**
   * hw-tc-offload is on. A flow is in hardware only between two of them
   */
  able: string[];
  /**
   * how many ports there are
   */
  present: number;
} | null;
/**
 * The path of a flow's packets: slow (the whole stack and every rule), inspect (in the IPS queue), flowtable (software flowtable), hardware (a driver has taken at least one direction, see the method flow), ebpf; ended: the connection is over (reset, or FIN from both sides), and conntrack keeps its entry until the timeout.
 */
export type Path = 'ended' | 'slow' | 'inspect' | 'flowtable' | 'hardware' | 'ebpf';
/**
 * Why a flow is on the slow path or in inspection; empty on another path.
 */
export type Reason =
  | ''
  | 'inspecting'
  | 'always-inspected'
  | 'uninspected'
  | 'stopped'
  | 'engine-off'
  | 'local'
  | 'multicast'
  | 'unsupported-protocol'
  | 'helper'
  | 'sequence-adjust'
  | 'excluded'
  | 'rule-per-packet'
  | 'not-established'
  | 'closing'
  | 'policy-routed'
  | 'no-route'
  | 'no-device'
  | 'no-neighbour'
  | 'tunnel'
  | 'ipsec'
  | 'roaming'
  | 'same-side'
  | 'mtu'
  | 'shaped'
  | 'table-full'
  | 'first-packets'
  | 'idle'
  | 'pending'
  | 'entry-missed'
  | 'not-taken';
/**
 * Inspection state of a flow: none (not subject to inspection), inspecting (packets wait for Suricata's verdict until Suricata bypasses the flow or the budget is spent), always (every packet), bypassed (ended by Suricata), spent (ended by the budget), uninspected (subject to inspection, but passes uninspected), stopped (subject to inspection, but Suricata does not answer: its packets are dropped).
 */
export type Inspection =
  'none' | 'inspecting' | 'always' | 'bypassed' | 'spent' | 'uninspected' | 'stopped';
/**
 * How a host moved: port (behind another port of a bridge), mac (another MAC for the same address).
 */
export type MoveKind = 'port' | 'mac';
/**
 * off; starting (Suricata loads its rules); inline (every inspected packet waits for its verdict); inline-degraded (inline, but packets are lost or late, or rules are missing); failing-open (Suricata does not answer, connections pass uninspected); failing-closed (it does not answer, connections to be inspected are dropped); rules-rejected (Suricata refused the rules or the configuration); watching (mode ids: it receives copies and drops nothing).
 */
export type IpsState =
  | 'off'
  | 'starting'
  | 'inline'
  | 'inline-degraded'
  | 'failing-open'
  | 'failing-closed'
  | 'rules-rejected'
  | 'watching';
/**
 * inspect (until Suricata bypasses the connection or the budget is spent, then offload), none, always (every packet, never offloaded).
 */
export type IpsAction = 'inspect' | 'none' | 'always';
/**
 * null: not all checks have run since the router started; why has the reason
 */
export type DoctorSeen = {
  /**
   * start of the run, Unix ms
   */
  at_ms: number;
  took_ms: number;
  counts: DoctorSummary;
  /**
   * errors, warnings and recommendations that are not accepted, most severe first
   *
   * @maxItems 8
   */
  worst: DoctorNamed[];
  /**
   * checks of the report whose finding is over, as the daemon sees it now; counted as ok
   */
  ended: string[];
} | null;
/**
 * Severity of a health finding.
 */
export type Level = 'ok' | 'notice' | 'warning' | 'error';

/**
 * Arguments and answers of each method of the ubus object `fastpath`.
 */
export interface FastpathApi {
  /**
   * Notification: new alerts. The first one immediately, in a flood about once a second; method alerts lists all that the ring holds.
   */
  alert: {
    request: {};
    reply: AlertNews;
  };
  /**
   * Alerts, newest first: the last 600 about packets that passed and the last 400 about dropped ones; of too many, the oldest of the rule or source with the most go first. They survive a restart of the daemon, not of the router. Texts come from the network: display them, never interpret them.
   */
  alerts: {
    request: AlertsQuery;
    reply: Alerts;
  };
  /**
   * Ends a block. Status 4 (not found) when the source is not blocked.
   */
  block_release: {
    request: BlockRelease;
    reply: BlockReleased;
  };
  /**
   * Sources that are blocked for a time because they triggered a drop rule on a TCP connection whose handshake Suricata saw. Other protocols prove no source and block none.
   */
  blocks: {
    request: {};
    reply: Blocks;
  };
  /**
   * The CPU plan, the current state, and the differences. Sets of CPUs are lists in the kernel's format, such as 0-3,8; empty: none. Loads are in status.
   */
  cpu: {
    request: {};
    reply: CpuPlan;
  };
  /**
   * Ends forwarded connections between zones: their conntrack entries are deleted, and their next packets have to pass the rules as those of new connections. Connections of the router itself go on. Called by `fastpath.change`.
   */
  disconnect: {
    request: DisconnectRequest;
    reply: Disconnected;
  };
  /**
   * Checks of the router's performance and security, with English texts: the answer of method run of fastpath.doctor, and of last, which has no arguments, runs nothing and answers the last report of all checks since the router started (refused with code none without one). fix and pmtu are further methods of that object, for callers who may change settings. system-password and system-sessions show their findings only to sessions with the right to fix, and are unknown to all others, and without a session; callers are served one at a time. Takes seconds: load and counters are sampled. Status 4 (not found) when rpcd has no fastpath.doctor. docs/doctor.md lists the checks.
   */
  doctor: {
    request: DoctorRequest;
    reply: Doctor;
  };
  /**
   * The programs of engine ebpf: attach points, connections, and packet verdicts.
   */
  ebpf: {
    request: {};
    reply: EbpfState;
  };
  /**
   * Choose the engine. Applied at once: checked, applied, read back; when the kernel refuses, the old one stays and `why` has the reason. Until the configuration names another one; a change of its option `engine` is for good.
   */
  engine: {
    request: EngineChange;
    reply: EngineState;
  };
  /**
   * Collectors of flow records (IPFIX) and of Suricata's events (syslog), of sections export in /etc/config/fastpath. Counts are since the exporter began: with the daemon, or with its settings.
   */
  exports: {
    request: {};
    reply: Exports;
  };
  /**
   * One flow with its history. Status 4 (not found) when it has ended.
   */
  flow: {
    request: FlowQuery;
    reply: FlowDetail;
  };
  /**
   * One page of the flow table: filtered, sorted, grouped in the daemon.
   */
  flows: {
    request: FlowsQuery;
    reply: FlowPage;
  };
  /**
   * Empties the fast path: the table is loaded again and eBPF entries are removed, so that no connection stays offloaded until its next packet has passed the rules.
   */
  flush: {
    request: FlushRequest;
    reply: Flushed;
  };
  /**
   * Time series kept in a ring: 1 s for 5 minutes, 10 s for an hour, 1 min for a day.
   */
  history: {
    request: HistoryQuery;
    reply: History;
  };
  /**
   * Intrusion prevention: state of Suricata, counters, visibility, rules and policies.
   */
  ips: {
    request: {};
    reply: Ips;
  };
  /**
   * All metrics, for a collector that prints them without knowing each one: families in the order of subjects. Values are text, so that 64 bits stay exact. At most 3,000 series.
   */
  metrics: {
    request: {};
    reply: Metrics;
  };
  /**
   * Inspects every connection again that had left inspection, with a new budget: marks and counters in conntrack are reset, the flowtable is flushed.
   */
  reinspect: {
    request: ReinspectRequest;
    reply: Reinspected;
  };
  /**
   * Starts a rule update now: fetch, verify, unpack, test, swap, load. The result is in ips, rules.
   */
  rules_update: {
    request: RulesUpdateRequest;
    reply: RulesUpdate;
  };
  /**
   * Summary for a dashboard.
   */
  status: {
    request: {};
    reply: Status;
  };
  /**
   * Notification, once a second while a subscriber exists: the values that change.
   */
  tick: {
    request: {};
    reply: Tick;
  };
  /**
   * Top users of the WAN: hosts behind the router, services, VLANs or paths, busiest first.
   */
  top: {
    request: TopQuery;
    reply: Top;
  };
  /**
   * Ports, bridges, VLANs, PPPoE sessions and networks as the daemon sees them, and which devices are in the flowtable.
   */
  topology: {
    request: {};
    reply: Topology;
  };
}
export interface AlertNews {
  /**
   * id of the newest
   */
  last: number;
  /**
   * since the previous notification
   */
  new: number;
  /**
   * the newest of them, newest first, at most 10
   */
  alerts: Alert[];
}
/**
 * One rule that matched one packet.
 */
export interface Alert {
  /**
   * grows by one; restarts with the daemon
   */
  id: number;
  /**
   * Unix ms, by Suricata's clock
   */
  at_ms: number;
  /**
   * blocked: the packet was dropped
   */
  action: 'allowed' | 'blocked';
  gid: number;
  sid: number;
  rev: number;
  signature: string;
  category: string;
  /**
   * 1 is the highest
   */
  severity: number;
  proto: string;
  /**
   * application protocol; empty if unknown
   */
  app: string;
  /**
   * sender of the packet
   */
  src: string;
  sport: number;
  dst: string;
  dport: number;
  src_name: string;
  dst_name: string;
  direction: 'to_server' | 'to_client' | '';
  /**
   * HTTP host and path, TLS server name or DNS name, if there is one
   */
  target: string;
  /**
   * ingress device of the packet
   */
  device: string;
  /**
   * id of the flow while it exists; 0: it has ended
   */
  flow: number;
}
export interface AlertsQuery {
  filter?: AlertFilter;
  /**
   * only alerts with a larger id
   */
  since?: number;
  /**
   * default 100
   */
  limit?: number;
}
export interface AlertFilter {
  /**
   * in signature, category, addresses, host names or the requested name, case-insensitive
   */
  text?: string;
  action?: 'allowed' | 'blocked';
  /**
   * this severity or higher; 1 is the highest
   */
  severity?: number;
  /**
   * either end
   */
  address?: string;
  sid?: number;
  /**
   * id of an active flow
   */
  flow?: number;
}
export interface Alerts {
  /**
   * matching alerts in the ring
   */
  total: number;
  /**
   * since the daemon's start, kept or not
   */
  seen: number;
  /**
   * id of the newest; 0: none
   */
  last: number;
  alerts: Alert[];
}
export interface BlockRelease {
  /**
   * the address of the block, or one within it
   */
  address: string;
}
export interface BlockReleased {
  address: string;
}
export interface Blocks {
  enabled: boolean;
  /**
   * how long a block lasts
   */
  time_s: number;
  /**
   * maximum number of sources of a family; those of one /24 or /48 take a sixteenth of it at most (but four), those of one /16 or /32 a quarter (but sixteen)
   */
  limit: number;
  /**
   * sources not blocked because they are unproven (no handshake seen), exempt, own addresses, or over the limit or the share of their network
   */
  refused: number;
  /**
   * packets dropped by blocks
   */
  packets: number;
  /**
   * newest first
   */
  blocks: Block[];
}
export interface Block {
  /**
   * IPv4 address or IPv6 /64; a single IPv6 address where the /64 has the router's own or exempt addresses
   */
  address: string;
  /**
   * host name, if known
   */
  name: string;
  /**
   * rule that matched
   */
  sid: number;
  /**
   * its message
   */
  reason: string;
  since_ms: number;
  until_ms: number;
}
export interface CpuPlan {
  /**
   * option enabled of section cpu
   */
  enabled: boolean;
  /**
   * interrupts, queues and threads are pinned
   */
  active: boolean;
  /**
   * the reason if it is not active, in English; empty while active
   */
  why: string;
  cause: CpuCause;
  profile: 'auto' | 'forward' | 'inspect';
  cpus: CpuRole[];
  /**
   * inspection queues, numbered from 0; empty while inspection is off
   */
  queues: CpuQueue[];
  suricata: CpuSuricata;
  /**
   * devices with interrupts and queues of their own
   */
  devices: CpuDevice[];
  steering: CpuSteering;
  differences: CpuDifference[];
}
export interface CpuCause {
  /**
   * stable name of why; empty: no reason
   */
  code: '' | 'disabled' | 'one-cpu';
  /**
   * values of the text: none yet
   */
  params: {
    [k: string]: string;
  };
}
export interface CpuRole {
  cpu: number;
  /**
   * control: Suricata's management threads; shared: everything, because nothing is pinned; unused: offline, isolated or in no list
   */
  role: 'forwarding' | 'inspection' | 'control' | 'shared' | 'unused';
  online: boolean;
  /**
   * by isolcpus; used only if it is configured
   */
  isolated: boolean;
  /**
   * relative capacity, about 1024 for the fastest; 1024 where the kernel reports none
   */
  capacity: number;
  /**
   * lowest CPU of the same core
   */
  core: number;
  /**
   * NUMA node; absent: unknown
   */
  node?: number;
}
export interface CpuQueue {
  /**
   * from 0; option queue_first is added for the kernel's number
   */
  queue: number;
  /**
   * of the worker that reads it; absent while nothing is pinned
   */
  cpu?: number;
}
export interface CpuSuricata {
  pinned: boolean;
  /**
   * CPUs of the management threads
   */
  management: string;
  /**
   * CPUs of the workers: the lowest reads queue 0
   */
  workers: string;
}
export interface CpuDevice {
  device: string;
  /**
   * ports whose packets it receives, such as those of a switch behind it
   */
  carries: string[];
  irqs: CpuIrq[];
  /**
   * kernel threads that poll it (threaded NAPI)
   */
  threads: CpuThread[];
  /**
   * CPUs that handle the packets of a receive queue; an empty set: RPS is off
   */
  rps: CpuRps[];
  /**
   * CPUs that send through a transmit queue; empty where there is only one
   */
  xps: CpuXps[];
}
export interface CpuIrq {
  irq: number;
  name: string;
  /**
   * absent if its name has none
   */
  queue?: number;
  /**
   * absent: unchanged
   */
  wanted?: string;
  have: string;
}
export interface CpuThread {
  pid: number;
  name: string;
  /**
   * absent: unchanged
   */
  wanted?: string;
  have: string;
}
export interface CpuRps {
  queue: number;
  /**
   * absent: unchanged
   */
  wanted?: string;
  have: string;
}
export interface CpuXps {
  queue: number;
  /**
   * absent: unchanged
   */
  wanted?: string;
  have: string;
}
export interface CpuSteering {
  /**
   * network.globals.packet_steering; empty: not set
   */
  uci: string;
  /**
   * owner of the script that OpenWrt's packet steering runs first
   */
  hook: 'absent' | 'ours' | 'foreign';
  /**
   * the plan is in force and OpenWrt's packet steering is suspended
   */
  taken_over: boolean;
  /**
   * which program controls packet steering, in English
   */
  text: string;
  cause: SteeringCause;
}
export interface SteeringCause {
  /**
   * stable name of text
   */
  code: 'alone' | 'suspended' | 'no-hook' | 'foreign-hook' | 'service' | 'off';
  /**
   * values of the text: none yet
   */
  params: {
    [k: string]: string;
  };
}
export interface CpuDifference {
  /**
   * file of sysfs or procfs
   */
  where: string;
  wanted: string;
  have: string;
  /**
   * with the reason if the kernel refuses it, in English
   */
  text: string;
  cause: DifferenceCause;
}
export interface DifferenceCause {
  /**
   * stable name of text
   */
  code:
    | 'irq'
    | 'irq-unnamed'
    | 'thread'
    | 'rps'
    | 'rps-off'
    | 'rps-on'
    | 'xps'
    | 'xps-off'
    | 'xps-on'
    | 'rejected'
    | 'ignored'
    | 'irq-fixed'
    | 'rps-isolated'
    | 'thread-fixed';
  /**
   * values of the text: irq, pid, name, device, queue, have, wanted; said: the message of the kernel, in English; inner: with rejected, ignored, irq-fixed, rps-isolated and thread-fixed the codes of what they explain, the outer one first
   */
  params: {
    [k: string]: string;
  };
}
export interface DisconnectRequest {
  /**
   * the zone of the initiator and that of the responder, after destination NAT; `*`: any, also none
   *
   * @minItems 1
   * @maxItems 256
   */
  pairs: [[string, string], ...[string, string][]];
}
export interface Disconnected {
  /**
   * how many end
   */
  connections: number;
}
export interface DoctorRequest {
  /**
   * only these checks; absent or empty: all
   */
  checks?: string[];
  /**
   * at the lowest priority; without a session, as the daemon calls it, the kept report also gets what only administrators see
   */
  background?: boolean;
  /**
   * time between two readings of counters; default 1000; 0: checks that need two readings are unknown
   */
  sample_ms?: number;
}
export interface Doctor {
  /**
   * start of the run, Unix ms
   */
  at_ms: number;
  took_ms: number;
  summary: DoctorSummary;
  /**
   * one for each check, most severe first, passed ones too
   */
  findings: DoctorFinding[];
}
/**
 * Number of checks by result.
 */
export interface DoctorSummary {
  error: number;
  warning: number;
  advice: number;
  info: number;
  ok: number;
  unknown: number;
  /**
   * findings that the administrator accepts; not counted by severity
   */
  accepted: number;
}
export interface DoctorFinding {
  /**
   * of the check, stable
   */
  id: string;
  group: string;
  /**
   * names the texts: the id, or id/CASE
   */
  code: string;
  /**
   * unknown: the check could not run, consequence has the reason
   */
  severity: 'error' | 'warning' | 'advice' | 'info' | 'ok' | 'unknown';
  title: string;
  /**
   * objects of the finding, such as ports: list about of a section accepted in /etc/config/fastpath
   */
  about: string[];
  /**
   * sections accepted of /etc/config/fastpath that cover the finding, by uci's name; empty: not accepted
   */
  accepted: string[];
  evidence: DoctorEvidence[];
  consequence: string;
  /**
   * Commands and file names are between backticks.
   */
  remedy: string;
  gain: DoctorGain;
  fix: DoctorFix;
  /**
   * parameters of the texts; why: the reason of an unknown
   */
  params: {};
}
export interface DoctorEvidence {
  /**
   * of the fact, stable in its group
   */
  code: string;
  params: {
    /**
     * object of the fact, such as a port; may be empty
     */
    of: string;
  };
  what: string;
  value: string;
  /**
   * file, command or document it comes from
   */
  source: string;
  cause: DoctorCause;
}
export interface EbpfState {
  /**
   * a device has a program
   */
  active: boolean;
  /**
   * the reason if a planned device has no program, in English; empty: all have one
   */
  why: string;
  cause: EbpfCause;
  /**
   * planned devices, by name; empty with another engine
   */
  devices: EbpfDevice[];
  /**
   * connections with entries in the maps
   */
  flows: number;
  /**
   * capacity in connections, of IPv4 and of IPv6 each; 0: no map
   */
  capacity: number;
  /**
   * connections evicted from a full table
   */
  evicted: number;
  /**
   * packets that reached a program
   */
  seen: number;
  /**
   * verdicts of all packets: their sum is seen
   */
  exits: EbpfExit[];
  /**
   * dropped packets by rule
   */
  dropped: EbpfDropped[];
}
/**
 * Why a device has no eBPF program, or has it elsewhere than at native XDP; `why` has its English text.
 */
export interface EbpfCause {
  /**
   * stable name; empty: no reason
   */
  code:
    | ''
    | 'not-installed'
    | 'not-loaded'
    | 'loader'
    | 'maps'
    | 'device'
    | 'virtual'
    | 'no-xdp'
    | 'no-xdp-redirect'
    | 'no-driver-features'
    | 'xdp-rejected'
    | 'open-program'
    | 'attach'
    | 'no-such-device'
    | 'pin'
    | 'vlan-offload'
    | 'detach';
  /**
   * values of the text: device, index, hook, path; said: the message of the loader of eBPF programs or the kernel, in English; inner: with device the code of its reason, whose values are here, too
   */
  params: {
    [k: string]: string;
  };
}
export interface EbpfDevice {
  device: string;
  /**
   * attach point of its program; empty: none, the device is in the flowtable
   */
  hook: '' | 'xdp' | 'xdp-generic' | 'tcx' | 'clsact';
  /**
   * the reason if it is not native XDP, or if there is none, in English
   */
  why: string;
  cause: EbpfCause;
}
export interface EbpfExit {
  /**
   * forwarded; dropped (by a rule); no-room (dropped, out of memory); all others went to the stack
   */
  exit:
    | 'forwarded'
    | 'dropped'
    | 'stale'
    | 'unknown'
    | 'not-ip'
    | 'multicast'
    | 'malformed'
    | 'options'
    | 'fragment'
    | 'protocol'
    | 'ttl'
    | 'mtu'
    | 'gso'
    | 'tcp'
    | 'no-device'
    | 'no-room';
  packets: number;
}
export interface EbpfDropped {
  rule: number;
  packets: number;
  bytes: number;
}
export interface EngineChange {
  set: Engine;
}
/**
 * The requested engine and the one in force.
 */
export interface EngineState {
  wanted: Engine;
  active: Engine;
  /**
   * the reason if active differs from wanted or the last change was refused; empty otherwise. In English
   */
  why: string;
  cause: EngineCause;
  /**
   * config: from /etc/config/fastpath; command: set by the method engine since
   */
  source: 'config' | 'command';
  /**
   * lowest devices in the flowtable in force, or with an eBPF program, sorted
   */
  devices: string[];
  /**
   * when the rule set in force was applied, Unix ms; 0: never
   */
  applied_ms: number;
  revocation: Revocation;
  /**
   * rules of other tables that act on each packet: flows whose packets reach one stay on the slow path (reason rule-per-packet). `FAMILY TABLE CHAIN handle NUMBER (COMMENT)`, at most 32
   */
  packet_rules: string[];
  /**
   * flowtable-hw is in force, and for a minute of traffic no flow was in hardware
   */
  hardware_unused: boolean;
  hardware_ports: HardwarePorts;
}
/**
 * Why the active engine is not the wanted one, or the last change was refused; `why` has its English text.
 */
export interface EngineCause {
  /**
   * stable name; empty: no reason
   */
  code: '' | 'waiting' | 'no-device' | 'applying' | 'gone' | 'refused' | 'no-program' | 'unread';
  /**
   * values of the text: devices; said: the message of nft or the kernel, in English; inner: with no-program the codes of EbpfCause, the outer one first, whose values are here, too
   */
  params: {
    [k: string]: string;
  };
}
/**
 * Offloaded flows that returned to the slow path because of a change, until their packets have passed the rules in force.
 */
export interface Revocation {
  /**
   * revocations since the daemon started
   */
  count: number;
  /**
   * offloaded flows at the last one
   */
  flows: number;
  /**
   * when the last one was, Unix ms; 0: never
   */
  at_ms: number;
  /**
   * the cause of the last one, in English; empty: there was none
   */
  why: string;
  cause: RevocationCause;
}
/**
 * The change because of which offloaded flows had to pass the rules again; `why` has its English text.
 */
export interface RevocationCause {
  /**
   * stable name; empty: there was none. rules: another program changed rules of nftables; elements: elements of sets; mtu: the MTU of a link is smaller; ipsec: policies of IPsec were changed; forwarding: forwarding was switched off, or a reverse path filter on, or a bridge port is off, blocks or is locked; stations: a host is behind another port or has another MAC; flush: the method flush
   */
  code:
    '' | 'rules' | 'elements' | 'routes' | 'mtu' | 'ipsec' | 'forwarding' | 'stations' | 'flush';
  /**
   * always empty
   */
  params: {
    [k: string]: string;
  };
}
export interface Exports {
  /**
   * in the order of the configuration
   */
  exports: Export[];
}
export interface Export {
  name: string;
  /**
   * ipfix: flow records; syslog: events of Suricata
   */
  kind: 'ipfix' | 'syslog';
  protocol: 'udp' | 'tcp';
  /**
   * address
   */
  host: string;
  port: number;
  /**
   * off: disabled; connecting: not reached yet; down: it cannot be reached; no-route: nothing is sent, since its interface is down or the route to its private address leads to the Internet
   */
  state: 'off' | 'connecting' | 'up' | 'down' | 'no-route';
  /**
   * begin of the state, Unix ms
   */
  since_ms: number;
  /**
   * records or events sent; UDP and syslog: nothing has refused them for half a second
   */
  sent: number;
  /**
   * records or events lost: the queue was full, or the collector has refused records
   */
  lost: number;
  /**
   * records or events that wait
   */
  queued: number;
  /**
   * the last failure, in English; empty: there was none since the collector was last reached
   */
  why: string;
  cause: ExportCause;
}
export interface ExportCause {
  code: '' | 'refused' | 'closed' | 'stalled' | 'unreachable' | 'no-route' | 'interface-down';
  /**
   * values of the text; why is the kernel's text
   */
  params: {};
}
export interface FlowQuery {
  id: number;
}
export interface FlowDetail {
  flow: Flow;
  /**
   * bytes of both directions that an engine has forwarded
   */
  offloaded_bytes: number;
  /**
   * directions in hardware: empty: none; up: from the initiator alone; down: to it alone; either: at least one of them: conntrack has one bit for both, and the kernel does not tell which
   */
  hardware: '' | 'up' | 'down' | 'either';
  /**
   * lowest devices at the initiator's and the responder's end; empty: unknown
   */
  ports: string[];
  /**
   * oldest first, at most 16
   */
  events: FlowEvent[];
  /**
   * moves of its hosts since it began, of the last hour, oldest first, at most 16; its entries were renewed after each
   */
  moves: HostMove[];
  /**
   * with the reason rule-per-packet: the rule that its packets reach, `FAMILY TABLE CHAIN handle NUMBER (COMMENT)`; otherwise empty
   */
  rule: string;
}
export interface Flow {
  id: number;
  proto: string;
  family: 4 | 6;
  src: string;
  sport: number;
  dst: string;
  dport: number;
  nat_src: string;
  nat_sport: number;
  nat_dst: string;
  nat_dport: number;
  in_dev: string;
  in_vlan: number;
  in_zone: string;
  out_dev: string;
  out_vlan: number;
  out_zone: string;
  path: Path;
  reason: Reason;
  state: string;
  up_bytes: number;
  down_bytes: number;
  up_packets: number;
  down_packets: number;
  up_bps: number;
  down_bps: number;
  age_s: number;
  idle_s: number;
  src_name: string;
  dst_name: string;
  inspection: Inspection;
}
/**
 * One event in a flow's history.
 */
export interface FlowEvent {
  /**
   * Unix ms
   */
  at_ms: number;
  path: Path;
  reason: Reason;
  state: string;
}
/**
 * A move of a host.
 */
export interface HostMove {
  /**
   * Unix ms
   */
  at_ms: number;
  kind: MoveKind;
  /**
   * of the host
   */
  address: string;
  /**
   * the former port or MAC
   */
  from: string;
  /**
   * the new one
   */
  to: string;
}
export interface FlowsQuery {
  filter?: FlowFilter;
  /**
   * a column of the answer, or bps / bytes (both directions); default bps
   */
  sort?: string;
  /**
   * default true
   */
  desc?: boolean;
  /**
   * empty: single flows
   */
  group?: '' | 'host' | 'service' | 'vlan' | 'path';
  offset?: number;
  /**
   * default 100
   */
  limit?: number;
}
/**
 * All conditions must hold.
 */
export interface FlowFilter {
  /**
   * search terms; each must occur in the addresses, ports, names, devices, zones or protocol
   */
  text?: string;
  path?: Path[];
  reason?: Reason[];
  inspection?: Inspection[];
  /**
   * names of IP protocols in any case (`tcp`, `udp`, `icmp`, `icmpv6`, `igmp`, `gre`, `esp`, `ah`, `sctp`, `dccp`, `ipip`, `ipv6`), or numbers
   */
  proto?: string[];
  /**
   * either side
   */
  vlan?: number;
  /**
   * either side
   */
  zone?: string;
  /**
   * an address, any of the four; an IPv4 address may be mapped to IPv6
   */
  host?: string;
  family?: 4 | 6;
  /**
   * false: only local flows (reasons local and multicast); true: all others
   */
  forwarded?: boolean;
}
export interface FlowPage {
  /**
   * flows known
   */
  total: number;
  /**
   * flows (or groups) that match the filter
   */
  matched: number;
  epoch: number;
  now_ms: number;
  /**
   * names of the row's fields. Flows: id, proto, family, src, sport, dst, dport (as the initiator sent), nat_src, nat_sport, nat_dst, nat_dport (as the other side sees it), in_dev, in_vlan, in_zone, out_dev, out_vlan, out_zone, path, reason, state, up_bytes, down_bytes, up_packets, down_packets (up: from the initiator), up_bps, down_bps, age_s, idle_s, src_name, dst_name, inspection. Groups: key, name, flows, offloaded (flows), bytes, up_bps, down_bps, ratio.
   */
  cols: string[];
  rows: (string | number)[][];
}
export interface FlushRequest {}
export interface Flushed {
  /**
   * false: the fast path is off, nothing can be in it
   */
  flushed: boolean;
}
export interface HistoryQuery {
  /**
   * rate: bits per second by path; flows: number of flows by path. Default rate
   */
  series?: 'rate' | 'flows';
  /**
   * default 1
   */
  step_s?: 1 | 10 | 60;
  /**
   * only samples after this Unix ms
   */
  from_ms?: number;
}
export interface History {
  series: 'rate' | 'flows';
  step_s: number;
  /**
   * at_ms, slow, inspect, flowtable, hardware, ebpf
   */
  cols: string[];
  /**
   * oldest first
   */
  rows: number[][];
}
export interface Ips {
  state: IpsState;
  /**
   * when the state began, Unix ms
   */
  since_ms: number;
  /**
   * description of the state, in English; never empty
   */
  why: string;
  cause: IpsCause;
  /**
   * enabled by the configuration
   */
  enabled: boolean;
  /**
   * nfq: inline (NFQUEUE); ids: watches ports; inline: bridges two ports
   */
  mode: 'nfq' | 'ids' | 'inline';
  /**
   * fail policy while Suricata does not answer: open: connections pass uninspected; closed: they are dropped
   */
  fail: 'open' | 'closed';
  /**
   * sources that trigger a drop rule are blocked for a time
   */
  block: boolean;
  suricata: IpsEngine;
  queues: IpsQueue[];
  /**
   * empty: not pinned
   */
  management_cpus: number[];
  counters: IpsCounters;
  events: IpsEvents;
  /**
   * Visibility of ended flows, by kind.
   */
  visible: IpsVisible[];
  rules: IpsRules;
  policy: IpsPolicy;
}
/**
 * Why inspection is in its state; `why` has its English text.
 */
export interface IpsCause {
  /**
   * stable name; empty: no reason
   */
  code:
    | ''
    | 'off'
    | 'rejected'
    | 'not-started'
    | 'loading'
    | 'absent'
    | 'crashed'
    | 'no-queue'
    | 'rules-pass'
    | 'hangs'
    | 'never-ready'
    | 'kept'
    | 'watching'
    | 'inline'
    | 'queue-drops'
    | 'queue-full-open'
    | 'capture-drops'
    | 'bridge-drops'
    | 'queues-open'
    | 'queues-closed'
    | 'lags'
    | 'late'
    | 'no-events'
    | 'no-rules'
    | 'rule-failed'
    | 'rules-failed';
  /**
   * values of the text: bound, all, n; said: the message of Suricata or the operating system, in English; consequence: the effect on packets meanwhile, one of uninspected, dropped, unmonitored, not-forwarded
   */
  params: {
    [k: string]: string;
  };
}
export interface IpsEngine {
  /**
   * empty while unknown
   */
  version: string;
  /**
   * answers on its command socket
   */
  running: boolean;
  uptime_s: number;
  /**
   * restarts since the daemon started
   */
  restarts: number;
  /**
   * error of suricata -T about the configuration, in its own English text; empty: none
   */
  refused: string;
}
export interface IpsQueue {
  /**
   * NFQUEUE number
   */
  queue: number;
  /**
   * CPU of its worker; -1: not pinned
   */
  cpu: number;
  /**
   * Suricata is attached to the queue
   */
  bound: boolean;
  /**
   * packets in the queue now
   */
  depth: number;
  /**
   * packets with a verdict
   */
  handled: number;
  /**
   * packets lost because the queue or the reader's memory was full
   */
  dropped: number;
}
export interface IpsCounters {
  /**
   * handed to Suricata
   */
  inspected_packets: number;
  inspected_bytes: number;
  /**
   * passed uninspected because Suricata did not answer, or a queue was full
   */
  uninspected_packets: number;
  uninspected_bytes: number;
  /**
   * packets, by Suricata's verdict
   */
  accepted: number;
  /**
   * packets dropped by Suricata's verdict
   */
  blocked: number;
  /**
   * alerts since Suricata started
   */
  alerts: number;
  /**
   * flows bypassed by Suricata
   */
  bypassed_flows: number;
  /**
   * flows that have spent their budget
   */
  spent_flows: number;
  /**
   * packets lost in the queues
   */
  queue_drops: number;
}
/**
 * Lines of Suricata's event stream since the daemon started.
 */
export interface IpsEvents {
  connected: boolean;
  lines: number;
  /**
   * counted but not read, because of a rate limit
   */
  not_read: number;
  /**
   * of them, alerts about packets that passed: all, those of one source and those of one rule have limits
   */
  not_read_alerts: number;
  /**
   * of them, alerts about dropped packets, which have limits of their own, and again those of proven sources
   */
  not_read_blocked: number;
  unparsable: number;
  oversized: number;
  /**
   * refused connections from processes of other users than root and suricata
   */
  strangers: number;
}
export interface IpsVisible {
  /**
   * plain: content; tls: names and fingerprints of the handshake; encrypted: only sizes and addresses
   */
  kind: 'plain' | 'tls' | 'encrypted';
  flows: number;
  /**
   * as seen by Suricata
   */
  bytes: number;
  /**
   * tls: handshakes, of connections that may still go on
   */
  handshakes: number;
  /**
   * tls: handshakes with a server name
   */
  named: number;
  /**
   * tls: handshakes with a JA4 fingerprint
   */
  fingerprinted: number;
}
export interface IpsRules {
  /**
   * builtin: only the built-in rules, nothing was fetched yet; failed: the last update was refused as a whole, and the previous rules are in force; or sources of it were, and the rules of all others are new (`sources`)
   */
  state: 'builtin' | 'good' | 'updating' | 'failed';
  /**
   * rules in force, as counted by Suricata
   */
  loaded: number;
  /**
   * rules Suricata could not load
   */
  failed: number;
  /**
   * creation of the set in force, Unix ms; 0: never
   */
  updated_ms: number;
  /**
   * when the sources with rules in force were last reached with success, Unix ms; of several the one for which that is longest ago; 0: only the built-in rules are in force
   */
  checked_ms: number;
  /**
   * next scheduled update, Unix ms; 0: none
   */
  next_ms: number;
  /**
   * step of the update under way, or message of the last one, with source, file and line of refused rules; in English
   */
  message: string;
  cause: RulesCause;
  sources: IpsSource[];
}
export interface RulesCause {
  /**
   * stable name of message; empty: there is no message, or it is of an earlier version
   */
  code:
    | ''
    | 'download'
    | 'unpack'
    | 'test'
    | 'swap'
    | 'sources'
    | 'no-rules'
    | 'nothing-usable'
    | 'test-failed'
    | 'test-start'
    | 'test-late'
    | 'test-wait'
    | 'busy'
    | 'store'
    | 'no-previous'
    | 'restored'
    | 'request'
    | 'updater'
    | 'no-result'
    | 'state';
  /**
   * values of the text: source, program, seconds, what, path, status; said: the message of Suricata or the operating system, in English; with sources and no-rules the messages of the sources
   */
  params: {
    [k: string]: string;
  };
}
export interface IpsSource {
  /**
   * section of /etc/config/fastpath
   */
  name: string;
  /**
   * without user and password
   */
  url: string;
  enabled: boolean;
  state: 'new' | 'good' | 'failed' | 'off';
  /**
   * why it is not used, or not as it is now; in English
   */
  message: string;
  cause: SourceCause;
  rules: number;
  updated_ms: number;
}
export interface SourceCause {
  /**
   * stable name of message; empty: there is no message, or it is of an earlier version
   */
  code:
    | ''
    | 'no-download-program'
    | 'unreachable'
    | 'certificate'
    | 'server-error'
    | 'download-failed'
    | 'too-large'
    | 'not-stored'
    | 'download-start'
    | 'download-late'
    | 'download-wait'
    | 'checksum'
    | 'no-checksum'
    | 'public-key'
    | 'signature-form'
    | 'other-key'
    | 'signature'
    | 'older'
    | 'unreadable'
    | 'file'
    | 'settings'
    | 'nothing-yet'
    | 'unpacked'
    | 'entries'
    | 'archive-entry'
    | 'format'
    | 'truncated'
    | 'truncated-entry'
    | 'damaged'
    | 'none-selected'
    | 'pass-rules'
    | 'none-usable'
    | 'rule-line'
    | 'rule'
    | 'rules';
  /**
   * values of the text: url, program, seconds, limit, expected, found, file, line, path, option, name, more, number, sid; said: the message of Suricata, the download program or the operating system, in English; inner: with archive-entry, none-usable and rule-line the code of a SourceFault, whose values follow
   */
  params: {
    [k: string]: string;
  };
}
export interface IpsPolicy {
  default: IpsAction;
  /**
   * of a connection, both directions; 0: unlimited
   */
  budget_bytes: number;
  budget_packets: number;
  /**
   * networks never inspected
   */
  exempt: string[];
  /**
   * zones available to policies
   */
  zones: string[];
  /**
   * VLANs available to policies
   */
  vlans: number[];
  /**
   * in order; the first that matches a connection's initiator decides
   */
  policies: IpsRule[];
}
export interface IpsRule {
  /**
   * section of /etc/config/fastpath, by its uci name
   */
  section: string;
  name: string;
  enabled: boolean;
  /**
   * zone of the initiator; empty: any
   */
  src: string;
  /**
   * zone of the responder; empty: any
   */
  dest: string;
  /**
   * 0: any
   */
  src_vlan: number;
  /**
   * 0: any
   */
  dest_vlan: number;
  action: IpsAction;
}
export interface Metrics {
  families: MetricFamily[];
}
export interface MetricFamily {
  /**
   * by Prometheus' rules: counters end in _total, units are bytes and seconds
   */
  name: string;
  type: 'counter' | 'gauge';
  /**
   * in English
   */
  help: string;
  /**
   * never empty
   */
  samples: MetricSample[];
}
export interface MetricSample {
  /**
   * values as they are, not escaped; the same names in all samples of a family
   */
  labels: {
    [k: string]: string;
  };
  /**
   * a decimal number
   */
  value: string;
}
export interface ReinspectRequest {}
export interface Reinspected {
  /**
   * connections that return to inspection
   */
  flows: number;
}
export interface RulesUpdateRequest {}
export interface RulesUpdate {
  /**
   * false: an update is running
   */
  started: boolean;
}
export interface Status {
  version: string;
  /**
   * release of the running kernel
   */
  kernel: string;
  hostname: string;
  /**
   * the router's clock, Unix ms
   */
  now_ms: number;
  /**
   * start of the daemon, Unix ms
   */
  started_ms: number;
  engine: EngineState;
  paths: Paths;
  /**
   * flows that are not forwarded (reasons local and multicast): on the slow path, but in no figure of paths
   */
  local_flows: number;
  /**
   * connections that are over (path ended): in no figure of paths
   */
  ended_flows: number;
  ratio: Ratio;
  conntrack: ConntrackState;
  latency: Latency;
  doctor: DoctorState;
  wan: Wan[];
  cpu: Cpu[];
  ips: IpsSummary;
  configuration: ConfigurationState;
  /**
   * why a newer /etc/config/fastpath, or a section of it, is not used
   */
  problems: ConfigurationProblem[];
  /**
   * most severe first; empty if there are no findings
   */
  health: Health[];
}
/**
 * Totals by path.
 */
export interface Paths {
  slow: PathTotals;
  inspect: PathTotals;
  flowtable: PathTotals;
  hardware: PathTotals;
  ebpf: PathTotals;
}
/**
 * Traffic on one path now and since the daemon started.
 */
export interface PathTotals {
  /**
   * forwarded flows on this path now
   */
  flows: number;
  /**
   * bytes forwarded on this path since the start, both directions
   */
  bytes: number;
  /**
   * packets, likewise
   */
  packets: number;
  /**
   * bits per second now, both directions
   */
  bps: number;
  /**
   * packets per second now
   */
  pps: number;
}
/**
 * Offloaded bytes divided by all forwarded bytes, 0 to 1; absent while nothing was forwarded.
 */
export interface Ratio {
  /**
   * over the last 10 seconds; absent below 10 kB
   */
  now?: number;
  /**
   * since the daemon started
   */
  total?: number;
}
export interface ConntrackState {
  /**
   * flows known
   */
  count: number;
  /**
   * connections of conntrack, in the flow table or not
   */
  total: number;
  /**
   * nf_conntrack_max; 0: unknown
   */
  limit: number;
  /**
   * connections that the last refresh left out because the flow table is full
   */
  unlisted: number;
  /**
   * connections that conntrack refused or ended early because its table was full, since the router's start
   */
  refused: number;
  /**
   * time between counter refreshes now; grows with their cost
   */
  refresh_ms: number;
  /**
   * CPU time of the last refresh
   */
  dump_ms: number;
  /**
   * full re-reads forced by lost events
   */
  resyncs: number;
}
/**
 * CAKE for both directions of the WAN, of section latency in /etc/config/fastpath.
 */
export interface Latency {
  /**
   * configured
   */
  enabled: boolean;
  /**
   * CAKE limits both directions
   */
  active: boolean;
  /**
   * interface of /etc/config/network; empty while not active, as are the devices
   */
  interface: string;
  /**
   * lowest device of the WAN, where packets to the Internet are queued
   */
  port: string;
  /**
   * device where packets from the Internet are queued
   */
  ingress: string;
  /**
   * ports whose packets from the Internet pass that device
   */
  hosts: string[];
  /**
   * kbit/s from the Internet, with overhead; in force or else configured; 0: not configured
   */
  download_kbps: number;
  /**
   * kbit/s to the Internet, likewise
   */
  upload_kbps: number;
  /**
   * bytes that count for each packet besides its own; 0 while not active
   */
  overhead: number;
  /**
   * why it is not in force as configured; empty: it is, or it is off. In English
   */
  why: string;
  cause: LatencyCause;
}
/**
 * Why latency is not kept low as configured; `why` has its English text.
 */
export interface LatencyCause {
  /**
   * stable name; empty: no reason
   */
  code:
    | ''
    | 'waiting'
    | 'applying'
    | 'no-wan'
    | 'no-interface'
    | 'no-port'
    | 'port-shared'
    | 'no-hosts'
    | 'hardware'
    | 'sqm'
    | 'foreign'
    | 'no-module'
    | 'refused';
  /**
   * values of the text: interface, port, device, devices, kind, module; said: the message of the kernel, in English
   */
  params: {
    [k: string]: string;
  };
}
/**
 * Runs of the doctor and its last report, as a reader gets it: the daemon has all checks run minutes after its start, daily, and after changes of the configuration.
 */
export interface DoctorState {
  last: DoctorSeen;
  /**
   * a run of the daemon's is under way
   */
  running: boolean;
  /**
   * the reason that no report exists, or no newer one, in English; empty: there is a report
   */
  why: string;
  cause: DoctorStateCause;
}
export interface DoctorNamed {
  /**
   * of the check
   */
  id: string;
  /**
   * the id, or id/CASE
   */
  code: string;
  severity: 'error' | 'warning' | 'advice';
  /**
   * in English
   */
  title: string;
}
export interface DoctorStateCause {
  /**
   * stable name of the reason; empty: none
   */
  code: '' | 'first' | 'running' | 'failed';
  /**
   * said: the message of the doctor or of ubus, in English
   */
  params: {
    [k: string]: string;
  };
}
/**
 * One WAN interface.
 */
export interface Wan {
  /**
   * interface of /etc/config/network
   */
  name: string;
  /**
   * layer 3 device, such as pppoe-wan
   */
  device: string;
  /**
   * lowest device below it, such as wan; empty if unknown
   */
  port: string;
  /**
   * pppoe, dhcp, static, …
   */
  proto: string;
  /**
   * VLAN tag of its packets; 0: none
   */
  vlan: number;
  up: boolean;
  /**
   * the port has a link
   */
  carrier: boolean;
  /**
   * why it is down: disconnected (switched off; its port may be down only for that), port-down (the port is administratively down), no-link (the port is up without carrier), failed (netifd reports an error); empty: unknown
   */
  hindrance: '' | 'disconnected' | 'port-down' | 'no-link' | 'failed';
  /**
   * code of netifd's last error while it is down, such as DEVICE_CLAIM_FAILED; empty: none
   */
  error: string;
  /**
   * Unix ms; 0 while down
   */
  up_since_ms: number;
  /**
   * with prefix length
   */
  addresses: string[];
  /**
   * PPPoE: MAC of the access concentrator; empty otherwise
   */
  peer: string;
  /**
   * PPPoE session id; 0: none
   */
  session: number;
  /**
   * bits per second from the Internet
   */
  rx_bps: number;
  /**
   * bits per second to the Internet
   */
  tx_bps: number;
}
/**
 * Load of one CPU over the last second, as fractions of 1.
 */
export interface Cpu {
  cpu: number;
  /**
   * everything but idle and iowait
   */
  busy: number;
  /**
   * of that, softirq: where packets are forwarded
   */
  softirq: number;
  /**
   * of that, programs; the rest is the kernel for them
   */
  user: number;
}
/**
 * Summary of intrusion prevention.
 */
export interface IpsSummary {
  state: IpsState;
  /**
   * description of the state, in English
   */
  why: string;
  cause: IpsCause;
  /**
   * id of the newest alert
   */
  alerts: number;
  /**
   * alerts that `alerts` lists without a filter; restarts of the daemon keep them
   */
  alerts_kept: number;
  /**
   * when the oldest of them was raised, Unix ms; 0 without any
   */
  alerts_since_ms: number;
  /**
   * sources blocked now
   */
  blocks: number;
  /**
   * when the sources with rules in force were last reached with success, Unix ms; of several the one for which that is longest ago; 0: only built-in test rules are in force
   */
  rules_ms: number;
}
export interface ConfigurationState {
  /**
   * of the /etc/config/fastpath in use, its secrets masked; empty: none has been read yet
   */
  digest: string;
  /**
   * of a newer one that is not used; empty: the newest is used
   */
  refused: string;
}
/**
 * Something wrong in /etc/config/fastpath, as `fastpathd --check --json` prints it too.
 */
export interface ConfigurationProblem {
  config: 'fastpath';
  /**
   * as uci names it; empty: the file
   */
  section: string;
  /**
   * empty: all of the section
   */
  option: string;
  /**
   * as found, without secrets
   */
  value: string;
  /**
   * stable name of the fault
   */
  code:
    | 'list-given'
    | 'list-entry'
    | 'not-a-list'
    | 'missing'
    | 'duplicate'
    | 'not-a-number'
    | 'too-large'
    | 'out-of-range'
    | 'not-a-switch'
    | 'not-listed'
    | 'too-long'
    | 'name-character'
    | 'not-a-folder'
    | 'unreadable'
    | 'no-sections'
    | 'not-a-section'
    | 'no-type'
    | 'unknown-type'
    | 'type-twice'
    | 'not-an-option'
    | 'unknown-option'
    | 'not-an-address'
    | 'not-a-network'
    | 'prefix-length'
    | 'host-bits'
    | 'device-name'
    | 'unknown-device'
    | 'vlan-range'
    | 'unknown-zone'
    | 'no-zones'
    | 'redis-removed'
    | 'reverse-enterprise'
    | 'not-a-port'
    | 'ports-descend'
    | 'protocol'
    | 'other-family'
    | 'excludes-all'
    | 'mask-width'
    | 'mask-empty'
    | 'mask-inspection'
    | 'mask-ebpf'
    | 'inline-ports'
    | 'inline-mtu'
    | 'inline-bridge'
    | 'inline-used'
    | 'inline-address'
    | 'ids-ports'
    | 'too-many-ports'
    | 'cpu-list'
    | 'cpu-range'
    | 'cpu-largest'
    | 'cpus-overlap'
    | 'cpus-unknown'
    | 'cpus-offline'
    | 'cpus-unpinned'
    | 'no-cpu-forwards'
    | 'no-cpu-inspects'
    | 'source-twice'
    | 'source-name'
    | 'source-reserved'
    | 'url-scheme'
    | 'url-host'
    | 'url-characters'
    | 'category-name'
    | 'selector'
    | 'public-key'
    | 'checksum'
    | 'checksum-plain'
    | 'unverified-plain'
    | 'unverified'
    | 'update-hour';
  /**
   * parameters of the text: value, and by code names, first, last, longest, character, network, device, zone, known, src, bits, mtu, other, other_mtu, bridge, most, range, largest, cpus, present, name, selector, why (unreadable: of the operating system, rpcd or the parser of UCI, in English)
   */
  params: {
    [k: string]: string;
  };
  /**
   * in English, with its place
   */
  text: string;
}
/**
 * One finding about the daemon or the router.
 */
export interface Health {
  /**
   * stable name; flowtable-differs, flowtable-fw4, conntrack-full, accounting-off and system-wan-open are checks of the doctor, too
   */
  code:
    | 'config-refused'
    | 'config-left-out'
    | 'flowtable-differs'
    | 'nft-refused'
    | 'ebpf-partly'
    | 'flowtable-fw4'
    | 'wan-down'
    | 'wan-disconnected'
    | 'conntrack-full'
    | 'resync'
    | 'flows-full'
    | 'system-wan-open'
    | 'accounting-off'
    | 'forwarding-off';
  level: Level;
  /**
   * values of the text: why (in English; for config-refused and config-left-out the reasons are in problems, for flowtable-differs and nft-refused in engine.cause, for ebpf-partly inner has the codes of EbpfCause, the outer one first, whose values are here, too); wanted, active; name, port, hindrance, device, error; count, limit; n
   */
  params: {
    [k: string]: string | number;
  };
  /**
   * in English
   */
  text: string;
  /**
   * with system-wan-open: openings in the firewall's configuration without limits; absent otherwise
   */
  open?: Open[];
}
/**
 * Reachable from the Internet by a zone's policy, a forwarding, or a rule without port and address.
 */
export interface Open {
  /**
   * the zone that leads to the Internet
   */
  zone: string;
  /**
   * the zone that is open from there; *: every zone; empty: the router itself
   */
  to: string;
}
export interface Tick {
  now_ms: number;
  /**
   * changes whenever the answer of flows can have changed
   */
  epoch: number;
  engine: EngineState;
  paths: Paths;
  /**
   * as in status
   */
  local_flows: number;
  /**
   * as in status
   */
  ended_flows: number;
  ratio: Ratio;
  wan: Wan[];
  cpu: Cpu[];
  ips: IpsSummary;
  health: Health[];
}
export interface TopQuery {
  /**
   * default host
   */
  by?: 'host' | 'service' | 'vlan' | 'path';
  /**
   * default 10
   */
  limit?: number;
}
export interface Top {
  by: 'host' | 'service' | 'vlan' | 'path';
  rows: TopRow[];
}
export interface TopRow {
  /**
   * address, proto/port, VLAN or path
   */
  key: string;
  /**
   * host or service name; empty if unknown
   */
  name: string;
  flows: number;
  /**
   * of these, offloaded flows
   */
  offloaded: number;
  bytes: number;
  up_bps: number;
  down_bps: number;
  /**
   * share of the group's bytes that was offloaded, 0 to 1
   */
  ratio: number;
}
export interface Topology {
  /**
   * changes with every change below
   */
  generation: number;
  links: Link[];
  bridges: Bridge[];
  pppoe: PppoeSession[];
  interfaces: Interface[];
  /**
   * neighbours in use, at most 500
   */
  hosts: Host[];
  /**
   * routing by more than the destination: VRFs and routing rules, as ip rule prints them; the kernel is asked for the routes of flows that one of them may match
   */
  policies: string[];
  /**
   * hosts that moved within the last hour, those with the most moves first
   */
  roaming: RoamingHost[];
}
export interface Link {
  index: number;
  name: string;
  /**
   * ethernet, bridge, vlan, ppp, loopback, wireguard, …
   */
  kind: string;
  mac: string;
  mtu: number;
  /**
   * administratively
   */
  up: boolean;
  carrier: boolean;
  /**
   * bridge it is a port of; empty: none
   */
  master: string;
  /**
   * device below it; empty: none
   */
  lower: string;
  /**
   * tag of a VLAN device; 0: none
   */
  vlan: number;
  addresses: string[];
  /**
   * a device that can be in the flowtable
   */
  lowest: boolean;
  in_flowtable: boolean;
  /**
   * a queueing discipline or filter that the flowtable would bypass for this device, such as `tbf on pppoe-wan`; its flows stay on the slow path then; empty: none
   */
  shaped: string;
  /**
   * the reason why it is or is not in the flowtable, in English
   */
  why: string;
  cause: LinkCause;
}
export interface LinkCause {
  /**
   * stable name of why; empty: no reason
   */
  code:
    | ''
    | 'bridge-port'
    | 'addressed'
    | 'underlying'
    | 'kept'
    | 'loopback'
    | 'bridge'
    | 'vlan'
    | 'ppp-unknown'
    | 'ppp'
    | 'not-a-port'
    | 'bridge-unused'
    | 'member'
    | 'unused'
    | 'named-missing'
    | 'engine-off'
    | 'ignored'
    | 'impossible'
    | 'unwritable'
    | 'not-named'
    | 'held'
    | 'tunnel';
  /**
   * values of the text: bridge, devices, kind, master, hook; inner: with engine-off and impossible the code of the reason otherwise, whose values are here, too
   */
  params: {
    [k: string]: string;
  };
}
export interface Bridge {
  name: string;
  vlan_filtering: boolean;
  ports: BridgePort[];
}
export interface BridgePort {
  /**
   * the port; the bridge's own name for the bridge itself
   */
  name: string;
  vlans: PortVlan[];
}
export interface PortVlan {
  vid: number;
  tagged: boolean;
  pvid: boolean;
}
export interface PppoeSession {
  /**
   * the ppp device; empty while unknown
   */
  device: string;
  /**
   * device it runs over
   */
  lower: string;
  session: number;
  /**
   * MAC of the access concentrator
   */
  peer: string;
}
export interface Interface {
  /**
   * of /etc/config/network
   */
  name: string;
  /**
   * firewall zone; empty: none
   */
  zone: string;
  /**
   * layer 3 device
   */
  device: string;
  proto: string;
  up: boolean;
}
export interface Host {
  address: string;
  mac: string;
  name: string;
  device: string;
  vlan: number;
  port: string;
}
export interface RoamingHost {
  /**
   * empty if its address has another MAC
   */
  mac: string;
  /**
   * at its last move; may be empty
   */
  addresses: string[];
  kind: MoveKind;
  /**
   * within the last hour; 64 or more are 64
   */
  moves: number;
  /**
   * its last move, Unix ms
   */
  last_ms: number;
  /**
   * port or MAC before the last move
   */
  from: string;
  to: string;
}
