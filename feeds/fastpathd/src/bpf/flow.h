/* SPDX-License-Identifier: GPL-2.0-only */
/* For both hooks: decides whether an entry may forward a packet and whether a SYN, FIN or RST ends
 * its flow, and counts packets of flows and exits. */
#ifndef FASTPATH_FLOW_H
#define FASTPATH_FLOW_H

#include "maps.h"
#include "rewrite.h"

/* Counts the exit of a packet for its ingress device. */
always void count_out(int out, __u32 ifindex)
{
	__u32 port = likely(ifindex < EXIT_PORTS) ? ifindex : 0;
	struct exits *n = bpf_map_lookup_elem(&exits, &port);

	if (!n)
		return;
	n->seen++;
	if (out >= 0 && out < OUT_NUMBER)
		n->out[out]++;
}

/* Without a heartbeat, entries are stale: nothing updates them when routes change. */
always int is_stale(__u64 now)
{
	return (__s64)(control.alive_until - now) < 0;
}

/*
 * Maximum distance of a FIN or RST from the other end's acknowledgement and sequence number. A RST
 * further ahead, with more bytes in flight, is followed by one with the exact number after the
 * other end has acknowledged those bytes. Nothing follows a FIN.
 */
#define RST_WINDOW (1 << 20)
#define FIN_WINDOW (1 << 24)
/* Data that may precede a FIN in its packet, merged by GRO or retransmitted. */
#define FIN_BEFORE (1 << 18)

/* Records the position of this direction, which validates FIN and RST of the other one. */
always void note_position(struct entry *to, const struct packet *p, const void *l4)
{
	/* Not by the protocol, which the verifier of 6.1 does not connect with the length. */
	if (p->least != TCP_LEN)
		return;
	to->seq_high = *(__be16 *)(l4 + TCP_SEQ_AT);
	to->ack = *(__be32 *)(l4 + TCP_ACK_AT);
}

/*
 * Returns whether a FIN or RST may come from the end itself. Conntrack does not know, because it
 * has not seen the numbers advance. A sender who only forges this direction's source cannot send
 * packets of the other direction, which set `other`. Without such packets, every end is genuine.
 */
always int is_genuine(const struct packet *p, const void *l4, const struct entry *other)
{
	__u32 ahead, window, before;
	__u16 apart;

	if (!other || !other->used)
		return 1;
	ahead = bpf_ntohl(*(__be32 *)(l4 + TCP_SEQ_AT)) - bpf_ntohl(other->ack);
	if (p->tcp_flags & TCP_RST) {
		/* The answer to a packet has exactly the number that it acknowledged. */
		if (!ahead)
			return 1;
		window = RST_WINDOW;
		before = 0;
	} else {
		window = FIN_WINDOW;
		before = FIN_BEFORE;
	}
	if (!(p->tcp_flags & TCP_ACK) || ahead + before >= window)
		return 0;
	apart = bpf_ntohs(*(__be16 *)(l4 + TCP_ACK_AT)) - bpf_ntohs(other->seq_high);
	return (__u16)(apart + (window >> 16)) <= 2 * (window >> 16);
}

/*
 * Ends both directions for a SYN, FIN or RST. Returns 0 and ends nothing if a FIN or RST is forged.
 * Entries that do not forward have no position to compare with, so they end in any case.
 */
always int end(struct entry *to, struct entry *other, const struct packet *p, const void *l4,
	       __u64 now)
{
	__u16 how = ENDED_RESTARTED;

	if (p->tcp_flags & (TCP_FIN | TCP_RST)) {
		if (!to->state && !is_stale(now) && !is_genuine(p, l4, other))
			return 0;
		if (!to->waiting)
			how = ENDED_CLOSING;
	}
	to->ended |= how;
	if (other)
		other->ended |= how;
	return 1;
}

always int end4(const struct key4 *key, struct entry4 *to, const struct packet *p, const void *l4,
		__u64 now)
{
	struct key4 back = {
		.src = to->dst,
		.dst = to->src,
		.sport = to->e.dport,
		.dport = to->e.sport,
		.ifindex = to->e.back_ifindex,
		.encap = to->e.back,
		.proto = key->proto,
		.port = to->e.back_port,
	};
	struct entry4 *other = bpf_map_lookup_elem(&flows4, &back);

	return end(&to->e, other ? &other->e : 0, p, l4, now);
}

always int end6(const struct key6 *key, struct entry6 *to, const struct packet *p, const void *l4,
		__u64 now)
{
	struct key6 back = {
		.sport = to->e.dport,
		.dport = to->e.sport,
		.ifindex = to->e.back_ifindex,
		.encap = to->e.back,
		.proto = key->proto,
		.port = to->e.back_port,
	};
	struct entry6 *other;

	__builtin_memcpy(back.src, to->dst, sizeof(back.src));
	__builtin_memcpy(back.dst, to->src, sizeof(back.dst));
	other = bpf_map_lookup_elem(&flows6, &back);
	return end(&to->e, other ? &other->e : 0, p, l4, now);
}

/* Returns whether a frame has the gateway's MAC at the flow's ingress as its destination. */
always int is_own(const void *data, const struct packet *p, const struct entry *to)
{
	const void *at = data + (!p->known && dsa == DSA_GSWIP ? 8 : 0);

	return *(__be32 *)(at + 2) == to->own_end && *(__be16 *)at == to->own_begin;
}

/*
 * Returns the exit of a packet that needs a closer check: the entry drops, waits, has ended or is
 * for one priority, or the packet has SYN, FIN or RST. `at` is the IP header.
 */
always int special(const struct entry *to, const struct packet *p, const __u8 *at, __u64 now)
{
	if (to->flags & FLOW_DROP)
		return is_stale(now) ? OUT_STALE : OUT_DROPPED;
	/* Record FIN and RST even without a heartbeat: the daemon may return before the next SYN. */
	if (p->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST) || to->ended)
		return OUT_TCP;
	if (to->state || at[1] & SERVICE_BITS)
		return OUT_UNKNOWN;
	return IS_FLOW;
}

/* Returns IS_FLOW or the packet's exit. `largest` is its largest IP packet on the wire. */
always int may_go(const struct entry *to, const struct packet *p, const __u8 *at, __u32 largest,
		  __u64 now)
{
	int out;

	if (unlikely((to->flags & (FLOW_DROP | FLOW_BEST_EFFORT)) | to->state |
		     (p->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST)))) {
		out = special(to, p, at, now);
		if (out != IS_FLOW)
			return out;
	}
	if (unlikely(is_stale(now)))
		leave(OUT_STALE);
	if (unlikely(largest > to->mtu))
		leave(OUT_MTU);
	return IS_FLOW;
}

/* Returns whether may_go() returned OUT_TCP because of a SYN, FIN or RST. */
always int is_end(int out, const struct packet *p)
{
	return out == OUT_TCP && p->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST);
}

/* Returns the exit of a forged FIN or RST. It is forwarded, and the destination judges it. */
always int forged(const struct entry *to, const struct packet *p, __u32 largest)
{
	if (p->tcp_flags & TCP_SYN)
		return OUT_TCP;
	return largest > to->mtu ? OUT_MTU : IS_FLOW;
}

always void count_flow(struct entry *to, __u64 now, __u32 packets, __u64 bytes)
{
	to->used = now;
	__sync_fetch_and_add(&to->packets, packets);
	__sync_fetch_and_add(&to->bytes, bytes);
}

#endif
