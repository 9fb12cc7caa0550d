/* SPDX-License-Identifier: GPL-2.0-only */
/* The contract of programs and daemon: version, keys and entries of the maps, flags, verdicts,
 * control. The crate `ebpf` mirrors it in `layout.rs`; a test there compares sizes and offsets.
 * Numbers that packets carry are in network order, all others in the machine's. */
#ifndef FASTPATH_LAYOUT_H
#define FASTPATH_LAYOUT_H

#include <linux/types.h>

/* Grows when anything below changes its place or its meaning. */
#define LAYOUT 6

/* A VLAN tag in a key: its VID, that it is there (VID 0 is a tag, too), whether it is 802.1ad. */
#define TAG_THERE 0x1000
#define TAG_8021AD 0x2000

/* Encapsulation at ingress: VLAN tags and PPPoE session; 0 without. */
struct encap {
	__u16 outer;
	__u16 inner;
	__be16 session;
};

/*
 * 24 bytes: jhash2 takes 13 to 24 in one round and its end, so that no field of it could be spared
 * to any gain but the last word.
 */
struct key4 {
	__be32 src;
	__be32 dst;
	__be16 sport;
	__be16 dport;
	__u32 ifindex;
	struct encap encap;
	__u8 proto;
	/* Of a DSA switch, from 1 on; 0 without one. */
	__u8 port;
};

struct key6 {
	__be32 src[4];
	__be32 dst[4];
	__be16 sport;
	__be16 dport;
	__u32 ifindex;
	struct encap encap;
	__u8 proto;
	/* Of a DSA switch, from 1 on; 0 without one. */
	__u8 port;
};

/* Longest new header: Ethernet, DSA (8), two tags, PPPoE. */
#define HEADER_MAX 40

#define FLOW_NAT 0x01
#define FLOW_PPPOE 0x02
/* Its packets are dropped here, for `rule`. */
#define FLOW_DROP 0x04
/* `header` is Ethernet's only, and TC pushes no tag. */
#define FLOW_PLAIN 0x08
/* IPv4: the tags have the 802.1p priority of packets without SERVICE_BITS. */
#define FLOW_BEST_EFFORT 0x10

/* The bits by which ip_forward() chooses the priority of a packet. */
#define SERVICE_BITS 0x18

/*
 * Bits of `ended`, which programs set and nobody clears: one of the ends has sent a FIN or RST.
 * Those that only carry the right addresses and ports do not count (flow.h).
 */
#define ENDED_CLOSING 1
/* A SYN, or any of them before the start: conntrack knows which connection is there now. */
#define ENDED_RESTARTED 2

struct entry {
	/* Written by the programs. Jiffies of the last packet; 0: none yet. */
	__u64 used;
	__u64 packets;
	/* From the IP header on; of a packet merged by GRO, those that came over the wire. */
	__u64 bytes;
	/* 0: packets may be forwarded. */
	union {
		__u32 state;
		struct {
			/* 1 in a new entry, which notes the end only, until the daemon starts it. */
			__u16 waiting;
			__u16 ended;
		};
	};

	/* The action. Lowest egress device. */
	__u32 ifindex;
	/* The largest IP packet. */
	__u16 mtu;
	__u8 flags;
	/* Of `header`. */
	__u8 header_len;
	__be16 sport;
	__be16 dport;
	/* Tags that a TC program pushes: TCI, and protocol or 0 for none. */
	__u16 outer_tci;
	__be16 outer_proto;
	__u16 inner_tci;
	__be16 inner_proto;
	/*
	 * Differences of the ones' complement sums of the new bytes and the old ones, folded, 0 for
	 * none: of the IPv4 header (addresses, and a TTL of one less), of the pseudo header, of the
	 * ports; `l4_delta`: of the last two.
	 */
	__u16 l3_delta;
	__u16 address_delta;
	__u16 port_delta;
	/* How the other direction comes in: with the new addresses, its key. */
	struct encap back;
	__u32 back_ifindex;
	__u8 back_port;
	__u8 zero;
	__u16 l4_delta;
	/* The address of the gateway where packets come in: its last four bytes, its first two. */
	__be32 own_end;
	__be16 own_begin;
	/*
	 * The bytes before the IP header; PPPoE's length is filled in. They begin two bytes after a
	 * 32-bit boundary, as frames do, so that IP headers are aligned.
	 */
	__u8 header[HEADER_MAX];
	/*
	 * Written by the programs. TCP: the upper half of the sequence number, and the
	 * acknowledgement, of the last packet.
	 */
	__be16 seq_high;
	__be32 ack;
};

struct entry4 {
	struct entry e;
	__be32 src;
	__be32 dst;
};

struct entry6 {
	struct entry e;
	__be32 src[4];
	__be32 dst[4];
};

/* The outcome of a program for a packet. */
enum verdict {
	OUT_FORWARDED,
	/* Entry with FLOW_DROP. */
	OUT_DROPPED,
	/* The daemon has been silent for too long. */
	OUT_STALE,
	/* No entry, one that waits, or one for frames to another address, or of another priority. */
	OUT_UNKNOWN,
	/* Neither IPv4 nor IPv6, or more than two tags. */
	OUT_NOT_IP,
	/* Group address of the link layer. */
	OUT_MULTICAST,
	/* Truncated, lengths that contradict each other, a wrong checksum of the IPv4 header. */
	OUT_MALFORMED,
	/* IPv4 with options, IPv6 with an extension header. */
	OUT_OPTIONS,
	OUT_FRAGMENT,
	/* Neither TCP nor UDP. */
	OUT_PROTOCOL,
	OUT_TTL,
	OUT_MTU,
	/* Put together by GRO, and the egress cannot take it apart. */
	OUT_GSO,
	/* SYN, FIN, RST, and packets after them. */
	OUT_TCP,
	/* XDP may not send to the egress device. */
	OUT_NO_DEVICE,
	/* The kernel had no memory for the new header: dropped. */
	OUT_NO_ROOM,
	OUT_NUMBER,
};

/* Ports whose packets are counted apart: those with a lower ifindex. Element 0 has the others. */
#define EXIT_PORTS 64

struct exits {
	__u64 seen;
	__u64 out[OUT_NUMBER];
};

struct control {
	/* Jiffies until which entries are used. */
	__u64 alive_until;
	/* Jiffies at the last beat, to compare `used` of an entry with. */
	__u64 now;
	/* LAYOUT of the programs that beat: maps of another are not adopted. */
	__u64 layout;
};

#endif
