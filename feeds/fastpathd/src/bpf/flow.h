/* SPDX-License-Identifier: GPL-2.0-only */
/* What both hooks do with a packet and its entry. */
#ifndef FASTPATH_FLOW_H
#define FASTPATH_FLOW_H

#include "maps.h"
#include "rewrite.h"

/* The key of maps of one element: in the object, it need not be put on the stack each time. */
const __u32 zero = 0;

always void count_out(int out)
{
	struct exits *n = bpf_map_lookup_elem(&exits, (void *)&zero);

	if (!n)
		return;
	n->seen++;
	if (out >= 0 && out < OUT_NUMBER)
		n->out[out]++;
}

/* Entries of a daemon that is gone grow old: routes change, and nobody follows. */
always int is_stale(__u64 now)
{
	return (__s64)(control.alive_until - now) < 0;
}

always void close_back4(const struct key4 *key, struct entry4 *to)
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

	if (other)
		other->e.state = STATE_CLOSING;
}

always void close_back6(const struct key6 *key, struct entry6 *to)
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
	if (other)
		other->e.state = STATE_CLOSING;
}

/* may_go: whether the entry can carry this packet; `largest`: its largest IP packet on the wire. */
always int may_go(const struct entry *to, const struct packet *p, __u32 largest, __u64 now)
{
	if (unlikely(is_stale(now)))
		leave(OUT_STALE);
	if (unlikely((to->flags & FLOW_DROP) | to->state |
		     (p->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST))))
		return to->flags & FLOW_DROP ? OUT_DROPPED : OUT_TCP;
	if (unlikely(largest > to->mtu))
		leave(OUT_MTU);
	return IS_FLOW;
}

always void count_flow(struct entry *to, __u64 now, __u32 packets, __u64 bytes)
{
	to->used = now;
	__sync_fetch_and_add(&to->packets, packets);
	__sync_fetch_and_add(&to->bytes, bytes);
}

#endif
