/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses a packet: tags of DSA switches, VLANs, PPPoE, IPv4, IPv6, TCP, UDP. The parsers return the
 * packet's exit, or IS_FLOW if the packet may belong to a flow. */
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

/* Without the promised alignment, the compiler would copy byte by byte. */
#define copy_words(to, from, len)                        \
	__builtin_memcpy(__builtin_assume_aligned(to, 4), \
			 __builtin_assume_aligned(from, 4), len)

#define IS_FLOW OUT_NUMBER

/*
 * Returns OUT on a path that packets seldom take. Without the asm statement, the compiler would set
 * the result before the branch, for every packet.
 */
#define leave(out)              \
	do {                    \
		asm volatile(""); \
		return out;     \
	} while (0)

/* Kind of switch that tags the device's frames; set when the program is loaded. */
#define DSA_NONE 0
#define DSA_MTK 1
#define DSA_GSWIP 2
#define DSA_QCA 3
volatile const __u8 dsa = DSA_NONE;

/* Bits of TCP's flags byte, then offsets and lengths of the TCP and UDP headers. */
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
	/* Fields of the end of both keys, in the same order. */
	struct encap encap;
	__u8 l4;
	__u8 port;
	/* Bytes from the beginning of the frame to the IP header. */
	__u32 l2_len;
	/* ETH_P_IP or ETH_P_IPV6, in network order. */
	__be16 proto;
	/* Payload length by the PPPoE header; 0xffff without PPPoE. */
	__u16 carried;
	/* Length of the IP packet, with its header. */
	__u32 length;
	__u8 tcp_flags;
	/* Length of the transport header, and its minimum for the protocol. */
	__u8 l4_len;
	__u8 least;
	/* TC: a device has verified the checksum, so there is no sum of the whole packet. */
	__u8 verified;
	/* TC: a device may still have to finish the checksum. */
	__u8 unfinished;
	/* The compiler knows l2_len, and IPv4 and UDP headers fit behind it. */
	__u8 known;
	/* Payload of each packet that GRO has merged; 0 if none was. */
	__u32 gso_size;
};

/* Returns the offset of the checksum in the transport header. */
always __u32 check_at(__u8 l4)
{
	return l4 == IPPROTO_UDP ? UDP_CHECK_AT : TCP_CHECK_AT;
}

always __u16 tag_of(__be16 tci, __be16 proto)
{
	__u16 ad = proto == bpf_htons(ETH_P_8021AD) ? TAG_8021AD : 0;

	return (bpf_ntohs(tci) & 0xfff) | TAG_THERE | ad;
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
 * Parses the ingress port from a switch's tag, as Linux 6.12 does in net/dsa/tag_mtk.c, tag_gswip.c
 * and tag_qca.c, and adds the tag's length to l2_len. The tags of MTK and QCA precede the
 * EtherType, GSWIP's precedes the frame.
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
		/* Version 2, type 0 is a frame; other types are answers of the switch. */
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
	/* The length includes PPP's two-byte protocol field. */
	length = bpf_ntohs(ppp->length);
	p->carried = length < 2 ? 0 : length - 2;
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
 * Parses Ethernet, tags and PPPoE. `encap` may already hold the outer tag, which TC reads from the
 * metadata. Offsets are numbers, not pointer differences, so that the verifier knows them.
 */
always int parse_l2(void *data, void *end, struct packet *p)
{
	__u8 *group = data + (dsa == DSA_GSWIP ? 8 : 0);
	struct vlan_tag *tag;
	__be16 proto, *type;
	int out;

	p->l2_len = ETH_HLEN;
	p->carried = 0xffff;
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

/* Returns whether the exit chosen by the code for usual packets is not final. */
always int is_unsure(int out)
{
	return out == OUT_MALFORMED || out == OUT_NOT_IP;
}

/* Minimum length behind every header that has its own copy of the code: IPv4 and UDP. */
#define USUAL (sizeof(struct iphdr) + UDP_LEN)

/*
 * Returns whether the frame has no switch tag, one destination station and enough bytes. Copies of
 * the code with constant offsets handle most such frames with a third fewer instructions.
 */
always int is_usual(void *data, void *end)
{
	if (dsa != DSA_NONE)
		leave(0);
	return data + ETH_HLEN + USUAL <= end && !(*(__u8 *)data & 1);
}

/* Records that IP of this type begins at `at`; returns 0 if its headers may not fit. */
always int known_at(void *data, void *end, struct packet *p, __u32 at, __be16 type)
{
	p->known = 1;
	p->proto = type;
	p->l2_len = at;
	return at == ETH_HLEN || data + at + USUAL <= end;
}

always __be16 type_at(void *data, __u32 at)
{
	return *(__be16 *)(data + at);
}

/* Parses ports, TCP flags and header length. `known` says that the frame contains the ports. */
always int parse_l4(void *l4, void *end, struct packet *p, __be16 *ports, int known)
{
	__u8 *bytes = l4;

	if (unlikely(!known && l4 + UDP_LEN > end))
		leave(OUT_MALFORMED);
	if (p->l4 == IPPROTO_TCP) {
		if (unlikely(l4 + TCP_LEN > end))
			leave(OUT_MALFORMED);
		p->tcp_flags = bytes[TCP_FLAGS_AT];
		p->l4_len = bytes[TCP_OFFSET_AT] >> 4 << 2;
		p->least = TCP_LEN;
	} else if (p->l4 == IPPROTO_UDP) {
		p->l4_len = UDP_LEN;
		p->least = UDP_LEN;
	} else {
		leave(OUT_PROTOCOL);
	}
	copy_words(ports, l4, 4);
	return IS_FLOW;
}

/* Ethernet pads shorter frames to this length behind its header and tags. */
#define PADDED 46

/*
 * Returns whether the IP length is right. `there` counts the bytes from the IP header to the end of
 * the frame. Bytes behind the packet must be padding. The kernel gets all other frames and trims
 * them, because nothing would inspect such bytes and the MTU check ignores them.
 */
always int right_length(const struct packet *p, __u32 headers, __u32 there)
{
	headers += p->least;
	if (unlikely(p->length != there) && (p->length > there || there > PADDED))
		return 0;
	return p->length >= headers && p->length <= p->carried;
}

/*
 * Returns whether the ones' complement sum of the IPv4 header is a multiple of 0xffff. Times the
 * inverse of 0xffff modulo 2^64, a multiple becomes its quotient, at most that of five words, and
 * any other number a greater one. Folding would take three times as many instructions.
 */
#define INVERSE 0xfffefffefffeffffULL
#define LARGEST_QUOTIENT (5 * 0x10001ULL)
always int right_sum(const void *at)
{
	const __u32 *words = at;
	__u64 sum = (__u64)words[0] + words[1] + words[2] + words[3] + words[4];

	return sum * INVERSE <= LARGEST_QUOTIENT;
}

/* Returns whether Ethernet fits; for a known packet, compiler and verifier know that it does. */
always int has_ethernet(const void *data, const void *end, const struct packet *p)
{
	return p->known || data + ETH_HLEN + (dsa == DSA_GSWIP ? 8 : 0) <= end;
}

always int parse4(void *data, void *at, void *end, __u32 there, struct packet *p, struct key4 *key)
{
	struct iphdr *ip = at;
	__u8 first;
	int out;

	if (unlikely(!has_ethernet(data, end, p) || (!p->known && (void *)(ip + 1) > end)))
		leave(OUT_MALFORMED);
	first = *(__u8 *)at;
	if (unlikely(first != 0x45))
		return first > 0x45 && first < 0x50 ? OUT_OPTIONS : OUT_MALFORMED;
	/* The flag "more fragments", or an offset. */
	if (unlikely(ip->frag_off & bpf_htons(0x3fff)))
		leave(OUT_FRAGMENT);
	p->l4 = ip->protocol;
	out = parse_l4(ip + 1, end, p, &key->sport, p->known);
	if (unlikely(out != IS_FLOW))
		return out;
	p->length = bpf_ntohs(ip->tot_len);
	if (unlikely(!right_length(p, sizeof(*ip), there)))
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

/* Returns the exit of a frame that is too short for IPv6 and UDP. */
always int short6(void *at, void *end)
{
	struct ipv6hdr *ip = at;

	if ((void *)(ip + 1) > end || *(__u8 *)at >> 4 != 6)
		return OUT_MALFORMED;
	if (ip->nexthdr == IPPROTO_TCP || ip->nexthdr == IPPROTO_UDP)
		return OUT_MALFORMED;
	return next_header(ip->nexthdr);
}

always int parse6(void *data, void *at, void *end, __u32 there, struct packet *p, struct key6 *key)
{
	struct ipv6hdr *ip = at;
	int out;

	if (unlikely(!has_ethernet(data, end, p)))
		leave(OUT_MALFORMED);
	/* One comparison covers both headers. */
	if (unlikely((void *)(ip + 1) + UDP_LEN > end))
		return short6(at, end);
	if (unlikely(*(__u8 *)at >> 4 != 6))
		leave(OUT_MALFORMED);
	p->l4 = ip->nexthdr;
	out = parse_l4(ip + 1, end, p, &key->sport, 1);
	if (unlikely(out != IS_FLOW))
		return out == OUT_PROTOCOL ? next_header(p->l4) : out;
	p->length = sizeof(*ip) + bpf_ntohs(ip->payload_len);
	if (unlikely(!right_length(p, sizeof(*ip), there)))
		leave(OUT_MALFORMED);
	__builtin_memcpy(key->src, &ip->saddr, sizeof(key->src));
	__builtin_memcpy(key->dst, &ip->daddr, sizeof(key->dst));
	if (unlikely(ip->hop_limit <= 1))
		leave(OUT_TTL);
	return IS_FLOW;
}

#endif
