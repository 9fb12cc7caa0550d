/* SPDX-License-Identifier: GPL-2.0-only */
/* What an entry does to a packet. */
#ifndef FASTPATH_REWRITE_H
#define FASTPATH_REWRITE_H

#include "parse.h"

/* A UDP checksum that comes out as 0 is sent as this; 0 means "none". */
#define MANGLED_0 0xffff

#define TCP_CHECK_AT 16
#define UDP_CHECK_AT 6

always __u16 fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return sum + (sum >> 16);
}

/* RFC 1624, equation 3: `delta` is the sum of ~old and new words. */
always __u16 moved(__u16 check, __u32 delta)
{
	return ~fold((__u16)~check + delta);
}

always __u16 moved_l4(__u8 l4, __u16 check, __u32 delta)
{
	check = moved(check, delta);
	return l4 == IPPROTO_UDP && !check ? MANGLED_0 : check;
}

always void rewrite4(void *at, const struct entry4 *to)
{
	struct iphdr *ip = at;

	ip->ttl--;
	ip->check = moved(ip->check, to->e.l3_delta);
	if (to->e.flags & FLOW_NAT) {
		ip->saddr = to->src;
		ip->daddr = to->dst;
	}
}

always void rewrite6(void *at, const struct entry6 *to)
{
	struct ipv6hdr *ip = at;

	ip->hop_limit--;
	if (to->e.flags & FLOW_NAT) {
		__builtin_memcpy(&ip->saddr, to->src, sizeof(to->src));
		__builtin_memcpy(&ip->daddr, to->dst, sizeof(to->dst));
	}
}

always void rewrite_ports(void *l4, const struct entry *to)
{
	__be16 *ports = l4;

	ports[0] = to->sport;
	ports[1] = to->dport;
}

/* The header ends at END: where PPPoE has its length is known then. */
#define HEADER_END(end_at)                                                   \
	do {                                                                 \
		if (to->flags & FLOW_PPPOE)                                  \
			*(__be16 *)(data + (end_at) - 4) = bpf_htons(length + 2); \
		return 1;                                                    \
	} while (0)

/* Four bytes, or the last two, at I. */
#define HEADER_STEP(i)                                                      \
	do {                                                                \
		if (len == (i) + 2) {                                       \
			*(__u16 *)(data + (i)) = *(__u16 *)(header + (i)); \
			HEADER_END((i) + 2);                                \
		}                                                           \
		*(__u32 *)(data + (i)) = *(__u32 *)(header + (i));         \
		if (len == (i) + 4)                                         \
			HEADER_END((i) + 4);                                \
	} while (0)

/*
 * The new header, from the beginning of the frame on: lengths are even, 14 at least. The frame goes
 * on behind it with an IP and a transport header, so that its longest form fits before `end`.
 */
always int put_header(void *data, void *end, const struct entry *to, __u32 length)
{
	const __u8 *header = to->header;
	__u32 len = to->header_len;

	if (data + HEADER_MAX > end)
		return 0;
	__builtin_memcpy(data, header, 12);
	HEADER_STEP(12);
	HEADER_STEP(16);
	HEADER_STEP(20);
	HEADER_STEP(24);
	HEADER_STEP(28);
	HEADER_STEP(32);
	HEADER_STEP(36);
	return 0;
}

#endif
