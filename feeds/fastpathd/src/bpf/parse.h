/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses DSA tags, VLAN tags, PPPoE, IP, TCP and UDP. Parsers return the packet's exit, or IS_FLOW
 * if the packet may belong to a flow. */
#ifndef FASTPATH_PARSE_H
#define FASTPATH_PARSE_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "layout.h"

#define always static __always_inline
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Copies 32-bit words; without the alignment hint, the compiler would copy single bytes. */
#define copy_words(to, from, len)                        \
	__builtin_memcpy(__builtin_assume_aligned(to, 4), \
			 __builtin_assume_aligned(from, 4), len)

#define IS_FLOW OUT_NUMBER

/*
 * Returns OUT on an unlikely path. The asm statement keeps the compiler from loading the result
 * before the branch, which would cost an instruction for every packet.
 */
#define leave(out)              \
	do {                    \
		asm volatile(""); \
		return out;     \
	} while (0)

/* Kind of switch that tags the frames of the device; set when the program is loaded. */
#define DSA_NONE 0
#define DSA_MTK 1
#define DSA_GSWIP 2
#define DSA_QCA 3
volatile const __u8 dsa = DSA_NONE;

/* TCP flags, then field offsets and lengths of the TCP and UDP headers. */
#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10
#define TCP_SEQ_AT 4
#define TCP_ACK_AT 8
#define TCP_OFFSET_AT 12
#define TCP_FLAGS_AT 13
#define TCP_LEN 20
#define UDP_LEN 8
#define TCP_CHECK_AT 16
#define UDP_CHECK_AT 6

#define PPP_IP 0x0021
#define PPP_IPV6 0x0057
#define PPPOE_LEN 8

struct vlan_tag {
	__be16 tci;
	__be16 proto;
};

struct pppoe_session {
	__u8 version;
	__u8 code;
	__be16 session;
	__be16 length;
	__be16 proto;
};

struct packet {
	struct encap encap;
	__u8 l4;
	__u8 port;
	/* Offset of the IP header in the frame. */
	__u32 l2_len;
	/* ETH_P_IP or ETH_P_IPV6, in network order. */
	__be16 proto;
	/* Payload length from the PPPoE header; 0xffff without PPPoE. */
	__u16 pppoe_payload;
	/* IP length, including the IP header. */
	__u32 length;
	__u8 tcp_flags;
	/* Length of the TCP or UDP header, and its minimum. */
	__u8 l4_len;
	__u8 l4_min;
	/* TC: the device has verified the checksum (CHECKSUM_UNNECESSARY). */
	__u8 verified;
	/* TC: the checksum may be CHECKSUM_PARTIAL. */
	__u8 partial;
	/* l2_len, proto and l4 are constants, and IPv4 and UDP headers fit behind l2_len. */
	__u8 known;
	/* Payload of each segment of a GRO packet; 0 for other packets. */
	__u32 gso_size;
};

always __u32 check_at(__u8 l4)
{
	return l4 == IPPROTO_UDP ? UDP_CHECK_AT : TCP_CHECK_AT;
}

always __u16 tag_of(__be16 tci, __be16 proto)
{
	__u16 ad = proto == bpf_htons(ETH_P_8021AD) ? TAG_8021AD : 0;

	return (bpf_ntohs(tci) & 0xfff) | TAG_PRESENT | ad;
}

always int is_tag(__be16 proto)
{
	return proto == bpf_htons(ETH_P_8021Q) || proto == bpf_htons(ETH_P_8021AD);
}

/* Records a VLAN tag; returns 0 for a third one. */
always int note_tag(struct packet *p, __be16 tci, __be16 proto)
{
	__u16 tag = tag_of(tci, proto);

	if (!p->encap.outer)
		p->encap.outer = tag;
	else if (!p->encap.inner)
		p->encap.inner = tag;
	else
		return 0;
	return 1;
}

/*
 * Parses the ingress port from a DSA tag and adds the tag's length to l2_len. MTK and QCA tags
 * precede the EtherType, a GSWIP tag precedes the frame. Formats: net/dsa/tag_mtk.c, tag_gswip.c
 * and tag_qca.c of Linux 6.12.
 */
always int parse_dsa(void *data, void *end, struct packet *p)
{
	__u8 *tag = data;

	if (dsa == DSA_GSWIP) {
		if (data + 8 + ETH_HLEN > end)
			return OUT_MALFORMED;
		p->port = 1 + ((tag[7] >> 4) & 7);
		p->l2_len += 8;
	} else if (dsa == DSA_MTK) {
		if (data + ETH_HLEN + 4 > end)
			return OUT_MALFORMED;
		p->port = 1 + (tag[13] & 7);
		p->l2_len += 4;
	} else if (dsa == DSA_QCA) {
		if (data + ETH_HLEN + 2 > end)
			return OUT_MALFORMED;
		/* Version 2, type 0 is a frame; other types are replies of the switch. */
		if ((tag[12] >> 6) != 2 || (tag[12] & 7) || (tag[13] & 0xc0))
			return OUT_NOT_IP;
		p->port = 1 + (tag[13] & 7);
		p->l2_len += 2;
	}
	return IS_FLOW;
}

always int parse_pppoe(void *data, void *end, struct packet *p, __be16 *proto)
{
	struct pppoe_session *ppp = data + p->l2_len;
	__u16 length;

	if ((void *)(ppp + 1) > end)
		return OUT_MALFORMED;
	if (ppp->version != 0x11 || ppp->code)
		return OUT_NOT_IP;
	p->encap.session = ppp->session;
	/* The PPPoE length includes the two-byte PPP protocol field. */
	length = bpf_ntohs(ppp->length);
	p->pppoe_payload = length < 2 ? 0 : length - 2;
	if (ppp->proto == bpf_htons(PPP_IP))
		*proto = bpf_htons(ETH_P_IP);
	else if (ppp->proto == bpf_htons(PPP_IPV6))
		*proto = bpf_htons(ETH_P_IPV6);
	else
		return OUT_NOT_IP;
	p->l2_len += PPPOE_LEN;
	return IS_FLOW;
}

/*
 * Parses Ethernet, tags and PPPoE. TC has already stored a tag from the metadata in `encap`.
 * Offsets are numbers, because the verifier does not track pointer differences.
 */
always int parse_l2(void *data, void *end, struct packet *p)
{
	__u8 *group = data + (dsa == DSA_GSWIP ? 8 : 0);
	struct vlan_tag *tag;
	__be16 proto, *type;
	int out;

	p->l2_len = ETH_HLEN;
	p->pppoe_payload = 0xffff;
	out = parse_dsa(data, end, p);
	if (out != IS_FLOW)
		return out;
	type = data + p->l2_len - 2;
	if (unlikely((void *)(type + 1) > end))
		return OUT_MALFORMED;
	if (unlikely(*group & 1))
		return OUT_MULTICAST;
	proto = *type;
	if (likely(proto == bpf_htons(ETH_P_IP)))
		goto ip;

#pragma unroll
	for (int i = 0; i < 2; i++) {
		if (!is_tag(proto))
			break;
		tag = data + p->l2_len;
		if ((void *)(tag + 1) > end)
			return OUT_MALFORMED;
		if (!note_tag(p, tag->tci, proto))
			return OUT_NOT_IP;
		proto = tag->proto;
		p->l2_len += sizeof(*tag);
	}
	if (proto == bpf_htons(ETH_P_PPP_SES)) {
		out = parse_pppoe(data, end, p, &proto);
		if (out != IS_FLOW)
			return out;
	}
ip:
	p->proto = proto;
	return IS_FLOW;
}

/* Returns whether the code for common headers could not parse the packet. */
always int needs_full_parse(int out)
{
	return out == OUT_MALFORMED || out == OUT_NOT_IP;
}

/* Bytes that a common frame has behind its link-layer header: IPv4 and UDP. */
#define COMMON_LEN (sizeof(struct iphdr) + UDP_LEN)

/*
 * Returns whether the frame is untagged by a switch and long enough for code with constant offsets,
 * which takes a third fewer instructions.
 */
always int is_common(void *data, void *end)
{
	/* The jump keeps this path separate, so that the verifier removes it with the condition. */
	if (unlikely(dsa != DSA_NONE)) {
		asm volatile("goto +0");
		return 0;
	}
	return data + ETH_HLEN + COMMON_LEN <= end;
}

/* Sets the constant offset of the IP header; returns 0 if the frame is too short. */
always int known_at(void *data, void *end, struct packet *p, __u32 at)
{
	p->known = 1;
	p->l2_len = at;
	return at == ETH_HLEN || data + at + COMMON_LEN <= end;
}

/*
 * The code for common headers does not check for a group address, because no entry has one. Returns
 * the exit of a packet that this code does not forward.
 */
always int common_exit(const void *data, const void *end, int out)
{
	/* This frame already has its egress header. */
	if (out == OUT_NO_ROOM)
		return out;
	return data + 1 <= end && *(__u8 *)data & 1 ? OUT_MULTICAST : out;
}

/* Compares with IPv4 first. The probability keeps the compiler from taking IPv6 for rare. */
always int is_ip4(__be16 type)
{
	return __builtin_expect_with_probability(type == bpf_htons(ETH_P_IP), 1, 0.6);
}

always int is_ip(__be16 type)
{
	return is_ip4(type) || type == bpf_htons(ETH_P_IPV6);
}

always __be16 type_at(void *data, __u32 at)
{
	return *(__be16 *)(data + at);
}

/* Parses ports, TCP flags and header length. `has_ports` skips the length check for the ports. */
always int parse_l4(void *l4, void *end, struct packet *p, __be16 *ports, int has_ports)
{
	__u8 *bytes = l4;

	if (unlikely(!has_ports && l4 + UDP_LEN > end))
		leave(OUT_MALFORMED);
	if (p->l4 == IPPROTO_TCP) {
		if (unlikely(l4 + TCP_LEN > end))
			leave(OUT_MALFORMED);
		p->tcp_flags = bytes[TCP_FLAGS_AT];
		p->l4_len = bytes[TCP_OFFSET_AT] >> 4 << 2;
		p->l4_min = TCP_LEN;
	} else if (p->l4 == IPPROTO_UDP) {
		p->l4_len = UDP_LEN;
		p->l4_min = UDP_LEN;
	} else {
		leave(OUT_PROTOCOL);
	}
	copy_words(ports, l4, 4);
	return IS_FLOW;
}

/* Minimum Ethernet payload; shorter frames are padded. */
#define PADDED 46

/*
 * Returns whether the IP length fits the `available` bytes of the frame. Trailing bytes beyond
 * Ethernet padding are left to the kernel, which trims them: the MTU check does not count them.
 */
always int is_valid_length(const struct packet *p, __u32 headers, __u32 available)
{
	headers += p->l4_min;
	if (unlikely(p->length != available) && (p->length > available || available > PADDED))
		return 0;
	return p->length >= headers && p->length <= p->pppoe_payload;
}

/*
 * Checks that the sum of the IPv4 header is a multiple of 0xffff, by multiplying it by the inverse
 * of 0xffff modulo 2^64: only multiples give a quotient that five words can have. Folding would
 * take three times as many instructions.
 */
#define INVERSE_OF_0XFFFF 0xfffefffefffeffffULL
#define MAX_QUOTIENT (5 * 0x10001ULL)
always int is_valid_checksum(const void *at)
{
	const __u32 *words = at;
	__u64 sum = (__u64)words[0] + words[1] + words[2] + words[3] + words[4];

	return sum * INVERSE_OF_0XFFFF <= MAX_QUOTIENT;
}

always int has_ethernet(const void *data, const void *end, const struct packet *p)
{
	return p->known || data + ETH_HLEN + (dsa == DSA_GSWIP ? 8 : 0) <= end;
}

always int parse4(void *data, void *at, void *end, __u32 available, struct packet *p,
		  struct key4 *key)
{
	struct iphdr *ip = at;
	__u8 first;
	int out;

	if (unlikely(!has_ethernet(data, end, p) || (!p->known && (void *)(ip + 1) > end)))
		leave(OUT_MALFORMED);
	first = *(__u8 *)at;
	if (unlikely(first != 0x45))
		return first > 0x45 && first < 0x50 ? OUT_OPTIONS : OUT_MALFORMED;
	/* More fragments, or a fragment offset. */
	if (unlikely(ip->frag_off & bpf_htons(0x3fff)))
		leave(OUT_FRAGMENT);
	if (!p->known)
		p->l4 = ip->protocol;
	out = parse_l4(ip + 1, end, p, &key->sport, p->known);
	if (unlikely(out != IS_FLOW))
		return out;
	p->length = bpf_ntohs(ip->tot_len);
	if (unlikely(!is_valid_length(p, sizeof(*ip), available)))
		leave(OUT_MALFORMED);
	key->src = ip->saddr;
	key->dst = ip->daddr;
	if (unlikely(ip->ttl <= 1))
		leave(OUT_TTL);
	return IS_FLOW;
}

/* Returns the exit for an IPv6 next header other than TCP and UDP. */
always int next_header(__u8 type)
{
	switch (type) {
	case IPPROTO_FRAGMENT:
		return OUT_FRAGMENT;
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_DSTOPTS:
		return OUT_OPTIONS;
	}
	return OUT_PROTOCOL;
}

always int short6(void *at, void *end)
{
	struct ipv6hdr *ip = at;

	if ((void *)(ip + 1) > end || *(__u8 *)at >> 4 != 6)
		return OUT_MALFORMED;
	if (ip->nexthdr == IPPROTO_TCP || ip->nexthdr == IPPROTO_UDP)
		return OUT_MALFORMED;
	return next_header(ip->nexthdr);
}

always int parse6(void *data, void *at, void *end, __u32 available, struct packet *p,
		  struct key6 *key)
{
	struct ipv6hdr *ip = at;
	int out;

	if (unlikely(!has_ethernet(data, end, p)))
		leave(OUT_MALFORMED);
	if (unlikely((void *)(ip + 1) + UDP_LEN > end))
		return short6(at, end);
	if (unlikely(*(__u8 *)at >> 4 != 6))
		leave(OUT_MALFORMED);
	if (!p->known)
		p->l4 = ip->nexthdr;
	out = parse_l4(ip + 1, end, p, &key->sport, 1);
	if (unlikely(out != IS_FLOW))
		return out == OUT_PROTOCOL ? next_header(p->l4) : out;
	p->length = sizeof(*ip) + bpf_ntohs(ip->payload_len);
	if (unlikely(!is_valid_length(p, sizeof(*ip), available)))
		leave(OUT_MALFORMED);
	__builtin_memcpy(key->src, &ip->saddr, sizeof(key->src));
	__builtin_memcpy(key->dst, &ip->daddr, sizeof(key->dst));
	if (unlikely(ip->hop_limit <= 1))
		leave(OUT_TTL);
	return IS_FLOW;
}

#endif
