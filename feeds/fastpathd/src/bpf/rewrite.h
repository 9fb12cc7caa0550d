/* SPDX-License-Identifier: GPL-2.0-only */
/* Rewrites TTL, addresses, ports, checksums (RFC 1624) and link-layer header of a packet. */
#ifndef FASTPATH_REWRITE_H
#define FASTPATH_REWRITE_H

#include "parse.h"

/*
 * Updates a checksum (RFC 1624, equation 3). `delta` is the folded sum of the complemented old and
 * the new 16-bit words, so the result needs only one fold.
 */
always __u16 updated_check(__u16 check, __u16 delta)
{
	__u32 sum = (__u16)~check + delta;

	return ~(sum + (sum >> 16));
}

/*
 * UDP sends a computed checksum of 0 as 0xffff, because 0 means "no checksum" (RFC 768). Equation 2
 * of RFC 1624 never changes another checksum to 0.
 */
always __u16 updated_l4_check(__u8 l4, __u16 check, __u16 delta)
{
	__u32 sum = check + (delta ^ 0xffff);

	return l4 == IPPROTO_UDP ? sum + (sum >> 16) : updated_check(check, delta);
}

always void rewrite4(void *at, const struct entry4 *to)
{
	struct iphdr *ip = at;

	ip->ttl--;
	ip->check = updated_check(ip->check, to->e.l3_delta);
}

always void rewrite6(void *at)
{
	struct ipv6hdr *ip = at;

	ip->hop_limit--;
}

always void translate4(void *at, void *l4, const struct entry4 *to)
{
	struct iphdr *ip = at;

	copy_words(&ip->saddr, &to->src, 8);
	copy_words(l4, &to->e.sport, 4);
}

always void translate6(void *at, void *l4, const struct entry6 *to)
{
	struct ipv6hdr *ip = at;

	copy_words(&ip->saddr, to->src, 32);
	copy_words(l4, &to->e.sport, 4);
}

/* Fills in the PPPoE length. END_AT is a constant, as the verifier requires. */
#define HEADER_END(end_at)                                                   \
	do {                                                                 \
		if (to->flags & FLOW_PPPOE)           \
			*(__be16 *)(data + (end_at) - 4) = bpf_htons(length + 2); \
		return 1;                                                    \
	} while (0)

/*
 * Writes the first 14 bytes. Frame and `header` both begin two bytes after a 32-bit boundary, so
 * all accesses are aligned, which kernels of some machines require.
 */
always void put_ethernet(void *data, const __u8 *header)
{
	*(__u16 *)data = *(__u16 *)header;
	copy_words(data + 2, header + 2, ETH_HLEN - 2);
}

/* Copies the four bytes at I, or the last two bytes of the header. */
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
 * Writes the egress header, an even number of at least 14 bytes, at the beginning of the frame.
 * Every frame has HEADER_MAX bytes, because the IP and transport headers follow.
 */
always int put_header(void *data, void *end, const struct entry *to, __u32 length)
{
	const __u8 *header = to->header;
	__u32 len = to->header_len;

	if (data + HEADER_MAX > end)
		return 0;
	put_ethernet(data, header);
	if (likely(len == ETH_HLEN))
		return 1;
	HEADER_STEP(14);
	HEADER_STEP(18);
	HEADER_STEP(22);
	HEADER_STEP(26);
	HEADER_STEP(30);
	HEADER_STEP(34);
	if (len == HEADER_MAX) {
		*(__u16 *)(data + 38) = *(__u16 *)(header + 38);
		HEADER_END(HEADER_MAX);
	}
	return 0;
}

#endif
