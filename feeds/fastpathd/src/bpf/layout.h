/* SPDX-License-Identifier: GPL-2.0-only */
/* Layout shared by the programs and the daemon: keys and entries of the maps, flags, verdicts and
 * control values. The crate `ebpf` mirrors it in `layout.rs`; a test there compares sizes and
 * offsets. Numbers of packets are in network order, all others in native order. */
#ifndef FASTPATH_LAYOUT_H
#define FASTPATH_LAYOUT_H

#include <linux/types.h>

/* Version: incremented when anything below changes its place or its meaning. */
#define LAYOUT 6

/* Bits of a VLAN tag in a key: present (VID 0 is a tag, too), 802.1ad. The rest is the VID. */
#define TAG_THERE 0x1000
#define TAG_8021AD 0x2000

/* Encapsulation at ingress: VLAN tags and PPPoE session, each 0 if absent. */
struct encap {
	__u16 outer;
	__u16 inner;
	__be16 session;
};

/*
 * 24 bytes: jhash2 hashes 13 to 24 bytes in one round plus the final one, so leaving out a field
 * would save next to nothing.
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
};

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
};

/* Maximum length of a new header: Ethernet, DSA (8), two tags, PPPoE. */
#define HEADER_MAX 40

#define FLOW_NAT 0x01
#define FLOW_PPPOE 0x02
/* The entry drops its packets. */
#define FLOW_DROP 0x04
/* `header` is Ethernet only, and TC pushes no tag. */
#define FLOW_PLAIN 0x08
/* IPv4: the 802.1p priorities of the tags are right only for packets without SERVICE_BITS. */
#define FLOW_BEST_EFFORT 0x10

/* Bits from which ip_forward() derives the priority of a packet. */
#define SERVICE_BITS 0x18

/*
 * Bits of `ended`, which programs set and nobody clears. CLOSING: either end has sent a FIN or RST.
 * Packets with only the right addresses and ports do not count (flow.h).
 */
#define ENDED_CLOSING 1
/* Either end has sent a SYN, or a FIN or RST before the start: the tuple may have been reused. */
#define ENDED_RESTARTED 2

struct entry {
	/* Programs write the fields up to `ended`. Jiffies of the last packet; 0 before. */
	__u64 used;
	__u64 packets;
	/* From the IP header on; a packet merged by GRO counts as the packets on the wire. */
	__u64 bytes;
	/* Packets may be forwarded while this is 0. */
	union {
		__u32 state;
		struct {
			/* 1 until the daemon starts the entry; only its end is recorded. */
			__u16 waiting;
			__u16 ended;
		};
	};

	/* The action begins here. Lowest egress device. */
	__u32 ifindex;
	/* Largest IP packet in bytes. */
	__u16 mtu;
	__u8 flags;
	/* Bytes of `header` in use. */
	__u8 header_len;
	__be16 sport;
	__be16 dport;
	/* Tags that a TC program pushes: TCI, and protocol or 0 for no tag. */
	__u16 outer_tci;
	__be16 outer_proto;
	__u16 inner_tci;
	__be16 inner_proto;
	/*
	 * Folded ones' complement sums of the changes, 0 for none: of the IPv4 header (addresses
	 * and the decremented TTL), of the pseudo header, and of the ports. `l4_delta` is the sum
	 * of the last two.
	 */
	__u16 l3_delta;
	__u16 address_delta;
	__u16 port_delta;
	/* Ingress of the other direction. With the new addresses, it forms the key. */
	struct encap back;
	__u32 back_ifindex;
	__u8 back_port;
	__u8 zero;
	__u16 l4_delta;
	/* The gateway's MAC at ingress: its last four bytes, then its first two. */
	__be32 own_end;
	__be16 own_begin;
	/*
	 * The bytes before the IP header; each packet's PPPoE length is filled in. They begin two
	 * bytes after a 32-bit boundary, as frames do, so that IP headers are aligned.
	 */
	__u8 header[HEADER_MAX];
	/*
	 * Written by the programs for TCP: the upper half of the last packet's sequence number, and
	 * its acknowledgement number.
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
	/* The destination is a link-layer group address. */
	OUT_MULTICAST,
	/* Truncated, contradictory lengths, or a wrong checksum of the IPv4 header. */
	OUT_MALFORMED,
	/* IPv4 with options, IPv6 with an extension header. */
	OUT_OPTIONS,
	OUT_FRAGMENT,
	/* Neither TCP nor UDP. */
	OUT_PROTOCOL,
	OUT_TTL,
	OUT_MTU,
	/* Merged by GRO, and the egress cannot segment it. */
	OUT_GSO,
	/* SYN, FIN, RST, and packets after them. */
	OUT_TCP,
	/* XDP may not send to the egress device. */
	OUT_NO_DEVICE,
	/* The new header could not be written: dropped. */
	OUT_NO_ROOM,
	OUT_NUMBER,
};

/* Ports with an ifindex below this have their own element; element 0 counts all others. */
#define EXIT_PORTS 64

struct exits {
	__u64 seen;
	__u64 out[OUT_NUMBER];
};

struct control {
	/* Jiffies until which the programs use entries. */
	__u64 alive_until;
	/* Jiffies at the last heartbeat, for comparison with `used` of an entry. */
	__u64 now;
	/* LAYOUT of the programs that received the heartbeat. Other layouts are not adopted. */
	__u64 layout;
};

#endif
