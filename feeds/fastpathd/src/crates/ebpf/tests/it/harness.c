// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sets and reports VLAN tags in the metadata of a packet, which BPF_PROG_TEST_RUN cannot do. The
 * mark selects the metadata to set before the TC program runs. A second run of the same packet
 * copies the resulting metadata to the control buffer.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MARK_TAG 0x10000
#define MARK_8021AD 0x20000
#define MARK_VERIFIED 0x40000

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} subject SEC(".maps");

SEC("classifier")
int harness(struct __sk_buff *skb)
{
	__u32 mark = skb->mark;

	if (skb->cb[0]) {
		skb->cb[1] = skb->vlan_present;
		skb->cb[2] = skb->vlan_tci;
		skb->cb[3] = bpf_ntohs(skb->vlan_proto);
		skb->cb[4] = bpf_ntohs(skb->protocol);
		return TC_ACT_OK;
	}
	skb->cb[0] = 1;
	if (mark & MARK_TAG)
		bpf_skb_vlan_push(skb, bpf_htons(mark & MARK_8021AD ? ETH_P_8021AD : ETH_P_8021Q),
				  mark & 0xffff);
	if (mark & MARK_VERIFIED)
		bpf_csum_level(skb, BPF_CSUM_LEVEL_INC);
	bpf_tail_call(skb, &subject, 0);
	return TC_ACT_SHOT + 100;
}

char _license[] SEC("license") = "GPL";
