/* SPDX-License-Identifier: GPL-2.0-only */
/* Code shared by TC and XDP: decides whether an entry may forward a packet, ends flows on SYN, FIN
 * and RST, and counts packets. */
#ifndef FASTPATH_FLOW_H
#define FASTPATH_FLOW_H

#include "maps.h"
#include "rewrite.h"

always void count_exit(int out, __u32 ifindex)
{
	struct exits *n = bpf_map_lookup_elem(&exits, &ifindex);

	if (unlikely(!n)) {
		ifindex = 0;
		n = bpf_map_lookup_elem(&exits, &ifindex);
	}
	if (n && out >= 0 && out < OUT_NUMBER)
		n->out[out]++;
}

always int is_same(const void *one, const void *other, unsigned size)
{
	const __u64 *a = one, *b = other;

	for (unsigned i = 0; i < size / sizeof(*a); i++)
		if (unlikely(a[i] != b[i]))
			return 0;
	return 1;
}

always struct entry4 *find4(const struct key4 *key)
{
	__u64 hash = flow_hash(key, sizeof(*key), control.secret);
	struct entry4 *to = bpf_map_lookup_elem(&flows4, &hash);

	return likely(to) && is_same(key, &to->key, sizeof(*key)) ? to : 0;
}

always struct entry6 *find6(const struct key6 *key)
{
	__u64 hash = flow_hash(key, sizeof(*key), control.secret);
	struct entry6 *to = bpf_map_lookup_elem(&flows6, &hash);

	return likely(to) && is_same(key, &to->key, sizeof(*key)) ? to : 0;
}

/* Without a heartbeat, entries are stale: nothing updates them when routes change. */
always int is_stale(__u64 now)
{
	return (__s64)(control.alive_until - now) < 0;
}

/*
 * Maximum distance of a FIN or RST from the other end's acknowledgement and sequence number. The
 * FIN window is larger because a rejected FIN is not repeated, but a rejected RST is, with the
 * exact number.
 */
#define RST_WINDOW (1 << 20)
#define FIN_WINDOW (1 << 24)
/* Data that may precede a FIN in its packet, merged by GRO or retransmitted. */
#define FIN_BEFORE (1 << 18)

/* Records the sequence numbers that validate a FIN or RST of the other direction. */
always void note_position(struct entry *to, const struct packet *p, const void *l4)
{
	/* Compare the length: the verifier of Linux 6.1 does not infer it from the protocol. */
	if (p->l4_min != TCP_LEN)
		return;
	to->seq_high = *(__be16 *)(l4 + TCP_SEQ_AT);
	to->ack = *(__be32 *)(l4 + TCP_ACK_AT);
}

/*
 * Returns whether the sequence numbers of a FIN or RST are plausible. Conntrack cannot check them,
 * because it sees no offloaded packets. An off-path attacker can forge this direction, but not the
 * packets of the other direction that set `other`. Before the first such packet, every FIN and
 * RST counts as genuine.
 */
always int is_genuine(const struct packet *p, const void *l4, const struct entry *other)
{
	__u32 ahead, window, before;
	__u16 apart;

	if (!other || !other->used)
		return 1;
	ahead = bpf_ntohl(*(__be32 *)(l4 + TCP_SEQ_AT)) - bpf_ntohl(other->ack);
	if (p->tcp_flags & TCP_RST) {
		/* A RST in reply to a packet has its acknowledgement number (RFC 9293). */
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
 * Ends both directions on a SYN, FIN or RST. Returns 0 and ends nothing if a FIN or RST is forged.
 * Entries that do not forward have no position to compare with, so they always end.
 */
always int end_flow(struct entry *to, struct entry *other, const struct packet *p, const void *l4,
	       __u64 now)
{
	__u8 how = ENDED_RESTARTED;

	if (p->tcp_flags & (TCP_FIN | TCP_RST)) {
		if (!to->waiting && !to->ended && !is_stale(now) && !is_genuine(p, l4, other))
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
	struct entry4 *other = find4(&back);

	return end_flow(&to->e, other ? &other->e : 0, p, l4, now);
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
	other = find6(&back);
	return end_flow(&to->e, other ? &other->e : 0, p, l4, now);
}

/* Returns whether the frame is addressed to the gateway's MAC at the flow's ingress. */
always int is_own_mac(const void *data, const struct packet *p, const struct entry *to)
{
	const void *at = data + (!p->known && dsa == DSA_GSWIP ? 8 : 0);

	return *(__be32 *)(at + 2) == to->own_end && *(__be16 *)at == to->own_begin;
}

/*
 * Returns the exit of a SYN, FIN or RST, or of a packet whose entry drops, waits, has ended or
 * serves only best effort. `at` is the IP header.
 */
always int special_exit(const struct entry *to, const struct packet *p, const __u8 *at, __u64 now)
{
	if (to->flags & FLOW_DROP)
		return is_stale(now) ? OUT_STALE : OUT_DROPPED;
	/* Record FIN and RST of stale entries, too: the daemon may return before the next SYN. */
	if (p->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST) || to->ended)
		return OUT_TCP;
	if (to->waiting || at[1] & SERVICE_BITS)
		return OUT_UNKNOWN;
	return IS_FLOW;
}

/* Mask of `word` in an entry. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define WORD(waiting, ended, flags) ((waiting) | (ended) << 8 | (flags) << 16)
#else
#define WORD(waiting, ended, flags) ((__u32)(waiting) << 24 | (ended) << 16 | (flags) << 8)
#endif
#define SPECIAL WORD(0xff, 0xff, FLOW_DROP | FLOW_BEST_EFFORT)
#define PLAIN WORD(0, 0, FLOW_PLAIN)
#define NAT WORD(0, 0, FLOW_NAT)

/* Returns IS_FLOW or the packet's exit. `max_len` is the largest IP packet after segmentation. */
always int may_forward(const struct entry *to, const struct packet *p, const __u8 *at,
		       __u32 max_len, __u64 now)
{
	int out;

	if (unlikely(to->word & SPECIAL || p->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST))) {
		out = special_exit(to, p, at, now);
		if (out != IS_FLOW)
			return out;
	}
	if (unlikely(is_stale(now)))
		leave(OUT_STALE);
	if (unlikely(max_len > to->mtu))
		leave(OUT_MTU);
	return IS_FLOW;
}

/*
 * Returns whether a packet without GRO may be forwarded, if its entry has no SPECIAL bit. Otherwise
 * the full parser finds the exit.
 */
always int may_forward_common(const struct entry *to, const struct packet *p, __u64 now)
{
	return !(p->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST)) && likely(!is_stale(now)) &&
	       likely(p->length <= to->mtu);
}

always int is_end(int out, const struct packet *p)
{
	return out == OUT_TCP && p->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST);
}

/* Returns the exit of a forged FIN or RST: forwarded, so that the destination checks it. */
always int forged_exit(const struct entry *to, const struct packet *p, __u32 max_len)
{
	if (p->tcp_flags & TCP_SYN)
		return OUT_TCP;
	return max_len > to->mtu ? OUT_MTU : IS_FLOW;
}

always void count_flow(struct entry *to, __u64 now, __u32 packets, __u64 bytes)
{
	to->used = now;
	__sync_fetch_and_add(&to->packets, packets);
	__sync_fetch_and_add(&to->bytes, bytes);
}

#endif
