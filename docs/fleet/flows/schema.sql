-- SPDX-License-Identifier: GPL-2.0-or-later
-- Flow records of gateways in ClickHouse: clickhouse-client --multiquery <schema.sql
-- Change a TTL by ALTER TABLE fastpath.flows MODIFY TTL toDateTime(ended) + INTERVAL 7 DAY.
-- Tables detect duplicates of the last 1000 files by their tokens, so `load` may retry a file.

CREATE DATABASE IF NOT EXISTS fastpath;

-- Records as printed by nfacctd. The table stores nothing, but feeds the views below.
CREATE TABLE IF NOT EXISTS fastpath.received
(
    peer_ip_src String,
    ip_src String,
    ip_dst String,
    port_src UInt16,
    port_dst UInt16,
    ip_proto String,
    post_nat_ip_src String,
    post_nat_ip_dst String,
    post_nat_port_src UInt16,
    post_nat_port_dst UInt16,
    vlan UInt16,
    iface_in UInt32,
    iface_out UInt32,
    timestamp_start Float64,
    timestamp_end Float64,
    flow_id UInt64,
    end_reason UInt8,
    ingress_zone String,
    egress_zone String,
    path String,
    reason String,
    inspection String,
    packets UInt64,
    bytes UInt64,
    rev_packets UInt64,
    rev_bytes UInt64,
    offloaded_bytes UInt64,
    -- Number of records that nfacctd aggregated into this one.
    flows UInt64
)
ENGINE = Null;

-- A row per printed record, kept for a month. IPv4 addresses are mapped to ::ffff:.
CREATE TABLE IF NOT EXISTS fastpath.flows
(
    gateway LowCardinality(String),
    started DateTime64(3) CODEC(Delta, ZSTD),
    ended DateTime64(3) CODEC(Delta, ZSTD),
    flow_id UInt64,
    protocol LowCardinality(String),
    initiator IPv6,
    responder IPv6,
    initiator_port UInt16,
    responder_port UInt16,
    nat_initiator IPv6,
    nat_responder IPv6,
    nat_initiator_port UInt16,
    nat_responder_port UInt16,
    vlan UInt16,
    ingress_interface UInt32,
    egress_interface UInt32,
    ingress_zone LowCardinality(String),
    egress_zone LowCardinality(String),
    path LowCardinality(String),
    reason LowCardinality(String),
    inspection LowCardinality(String),
    end_reason UInt8,
    -- Number of aggregated records, usually 1.
    records UInt32,
    up_packets UInt64,
    up_bytes UInt64,
    down_packets UInt64,
    down_bytes UInt64,
    offloaded_bytes UInt64
)
ENGINE = MergeTree
PARTITION BY toDate(ended)
ORDER BY (gateway, ended, flow_id)
TTL toDateTime(ended) + INTERVAL 30 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS fastpath.flows_of_received TO fastpath.flows AS
SELECT
    peer_ip_src AS gateway,
    toDateTime64(timestamp_start, 3) AS started,
    toDateTime64(timestamp_end, 3) AS ended,
    flow_id,
    ip_proto AS protocol,
    toIPv6OrDefault(ip_src) AS initiator,
    toIPv6OrDefault(ip_dst) AS responder,
    port_src AS initiator_port,
    port_dst AS responder_port,
    toIPv6OrDefault(post_nat_ip_src) AS nat_initiator,
    toIPv6OrDefault(post_nat_ip_dst) AS nat_responder,
    post_nat_port_src AS nat_initiator_port,
    post_nat_port_dst AS nat_responder_port,
    vlan,
    iface_in AS ingress_interface,
    iface_out AS egress_interface,
    ingress_zone,
    egress_zone,
    path,
    reason,
    inspection,
    end_reason,
    flows AS records,
    packets AS up_packets,
    bytes AS up_bytes,
    rev_packets * flows AS down_packets,
    rev_bytes * flows AS down_bytes,
    offloaded_bytes * flows AS offloaded_bytes
FROM fastpath.received;

-- Traffic by zones, path and reason per minute, kept for three months.
CREATE TABLE IF NOT EXISTS fastpath.paths
(
    gateway LowCardinality(String),
    minute DateTime,
    ingress_zone LowCardinality(String),
    egress_zone LowCardinality(String),
    path LowCardinality(String),
    reason LowCardinality(String),
    inspection LowCardinality(String),
    records UInt64,
    up_bytes UInt64,
    down_bytes UInt64,
    offloaded_bytes UInt64
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(minute)
ORDER BY (gateway, minute, ingress_zone, egress_zone, path, reason, inspection)
TTL minute + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS fastpath.paths_of_flows TO fastpath.paths AS
SELECT
    gateway,
    toStartOfMinute(toDateTime(ended)) AS minute,
    ingress_zone,
    egress_zone,
    path,
    reason,
    inspection,
    sum(records) AS records,
    sum(up_bytes) AS up_bytes,
    sum(down_bytes) AS down_bytes,
    sum(offloaded_bytes) AS offloaded_bytes
FROM fastpath.flows
GROUP BY gateway, minute, ingress_zone, egress_zone, path, reason, inspection;

-- Traffic of each initiator per hour, kept for a year.
CREATE TABLE IF NOT EXISTS fastpath.hosts
(
    gateway LowCardinality(String),
    hour DateTime,
    zone LowCardinality(String),
    host IPv6,
    records UInt64,
    up_bytes UInt64,
    down_bytes UInt64,
    offloaded_bytes UInt64
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (gateway, hour, zone, host)
TTL hour + INTERVAL 365 DAY
SETTINGS non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS fastpath.hosts_of_flows TO fastpath.hosts AS
SELECT
    gateway,
    toStartOfHour(toDateTime(ended)) AS hour,
    ingress_zone AS zone,
    initiator AS host,
    sum(records) AS records,
    sum(up_bytes) AS up_bytes,
    sum(down_bytes) AS down_bytes,
    sum(offloaded_bytes) AS offloaded_bytes
FROM fastpath.flows
GROUP BY gateway, hour, zone, host;
