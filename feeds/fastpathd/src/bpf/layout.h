/* SPDX-License-Identifier: GPL-2.0-only */
/* Map layout shared by the programs and the daemon, mirrored in `layout.rs` of the crate `ebpf`.
 * Packet fields are in network byte order, all other numbers in native order. */
#ifndef FASTPATH_LAYOUT_H
#define FASTPATH_LAYOUT_H

#include <linux/types.h>

/* Layout version: increment when a field moves or changes its meaning. */
#define LAYOUT 8

/* Flags of a VLAN tag in a key, above the 12 bits of the VID: present (VID 0 is valid), 802.1ad. */
#define TAG_PRESENT 0x1000
#define TAG_8021AD 0x2000

/* VLAN tags and PPPoE session at ingress, each 0 if absent. */
struct encap {
	__u16 outer;
	__u16 inner;
	__be16 session;
};

/*
 * A map's key is flow_hash() of the flow's key, because the kernel hashes and compares 8 bytes with
 * a third of the instructions that 24 take. The entry has the whole key, and the programs compare
 * it.
 */
struct key4 {
	__be32 src;
	__be32 dst;
	__be16 sport;
	__be16 dport;
	__u32 ifindex;
	struct encap encap;
	__u8 proto;
	/* Port of a DSA switch, counted from 1; 0 without a switch. */
	__u8 port;
} __attribute__((aligned(8)));

struct key6 {
	__be32 src[4];
	__be32 dst[4];
	__be16 sport;
	__be16 dport;
	__u32 ifindex;
	struct encap encap;
	__u8 proto;
	/* Port of a DSA switch, counted from 1; 0 without a switch. */
	__u8 port;
} __attribute__((aligned(8)));

/* Polynomial of the key's words; hosts cannot make keys collide without knowing the odd secret. */
static inline __attribute__((always_inline)) __u64 flow_hash(const void *key, unsigned size,
							     __u64 secret)
{
	const __u64 *words = key;
	__u64 hash = words[0];

	for (unsigned i = 1; i < size / sizeof(*words); i++)
		hash = hash * secret + words[i];
	return hash;
}

/* Maximum length of an egress header: Ethernet, DSA (8), two tags, PPPoE. */
#define HEADER_MAX 40

#define FLOW_NAT 0x01
#define FLOW_PPPOE 0x02
#define FLOW_DROP 0x04
/* `header` is Ethernet only, and TC pushes no tag. */
#define FLOW_PLAIN 0x08
/* IPv4: the 802.1p priorities in the tags are valid only for packets without SERVICE_BITS. */
#define FLOW_BEST_EFFORT 0x10

/* TOS bits from which ip_forward() derives the priority of a packet. */
#define SERVICE_BITS 0x18

/* Bits of `ended`, never cleared. CLOSING: either end has sent a genuine FIN or RST. */
#define ENDED_CLOSING 1
/* RESTARTED: a SYN, or a FIN or RST before the start, so the tuple may have been reused. */
#define ENDED_RESTARTED 2

struct entry {
	/* Jiffies of the last packet, or 0. The programs write all fields up to `ended`. */
	__u64 used;
	__u64 packets;
	/* IP header and payload; GRO packets count as the packets on the wire. */
	__u64 bytes;
	union {
		/* For the comparison of several fields at once. */
		__u32 word;
		struct {
			/* 1 until the daemon starts the entry. */
			__u8 waiting;
			__u8 ended;
			__u8 flags;
			__u8 header_len;
		};
	};

	/* Lowest egress device. */
	__u32 ifindex;
	/* Largest IP packet in bytes. */
	__u16 mtu;
	__u16 l4_delta;
	__be16 sport;
	__be16 dport;
	/* Tags that TC pushes; the protocol is 0 if there is no tag. */
	__u16 outer_tci;
	__be16 outer_proto;
	__u16 inner_tci;
	__be16 inner_proto;
	/*
	 * Checksum deltas, folded ones' complement sums: IPv4 header (addresses and TTL), pseudo
	 * header, and ports. `l4_delta` is the sum of the last two.
	 */
	__u16 l3_delta;
	__u16 address_delta;
	__u16 port_delta;
	/* Ingress of the other direction, part of that direction's key. */
	struct encap back;
	__u32 back_ifindex;
	__u8 back_port;
	__u8 zero[3];
	/* The gateway's MAC at ingress: its last four bytes, then its first two. */
	__be32 own_end;
	__be16 own_begin;
	/*
	 * Egress header, with PPPoE length 0. Placed two bytes after a 32-bit boundary, like the
	 * header of a frame, so that both have the same alignment.
	 */
	__u8 header[HEADER_MAX];
	/*
	 * TCP: upper half of the last packet's sequence number, and its acknowledgement number.
	 * Written by the programs.
	 */
	__be16 seq_high;
	__be32 ack;
};

struct entry4 {
	struct entry e;
	__be32 src;
	__be32 dst;
	struct key4 key;
};

struct entry6 {
	struct entry e;
	__be32 src[4];
	__be32 dst[4];
	struct key6 key;
};

/* How a packet leaves a program. */
enum verdict {
	OUT_FORWARDED,
	/* Dropped by an entry with FLOW_DROP. */
	OUT_DROPPED,
	/* The daemon has sent no heartbeat for too long. */
	OUT_STALE,
	/* No entry, a waiting entry, or an entry for another MAC or priority. */
	OUT_UNKNOWN,
	/* Neither IPv4 nor IPv6, or more than two tags. */
	OUT_NOT_IP,
	/* Destination MAC is a group address. */
	OUT_MULTICAST,
	/* Truncated, inconsistent lengths, or a wrong IPv4 header checksum. */
	OUT_MALFORMED,
	/* IPv4 with options, IPv6 with an extension header. */
	OUT_OPTIONS,
	OUT_FRAGMENT,
	/* Neither TCP nor UDP. */
	OUT_PROTOCOL,
	OUT_TTL,
	OUT_MTU,
	/* GRO packet that the kernel cannot segment at the egress. */
	OUT_GSO,
	/* SYN, FIN, RST, and packets of an ended entry. */
	OUT_TCP,
	/* The egress device is missing in the map `devices`. */
	OUT_NO_DEVICE,
	/* Dropped because the egress header could not be written. */
	OUT_NO_ROOM,
	OUT_NUMBER,
};

/* Ports with a lower ifindex have their own counters; element 0 counts all other ports. */
#define EXIT_PORTS 64

struct exits {
	__u64 out[OUT_NUMBER];
};

struct control {
	/* Expiry of the heartbeat, in jiffies. */
	__u64 alive_until;
	/* Jiffies at the last heartbeat. */
	__u64 now;
	/* LAYOUT of the programs that received the heartbeat. */
	__u64 layout;
	/* Odd random number of flow_hash(), set by the heartbeat. Entries of another one are hidden. */
	__u64 secret;
};

#endif
