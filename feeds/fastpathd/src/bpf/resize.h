/* SPDX-License-Identifier: GPL-2.0-only */
/* TC: removes the ingress header and tags, makes room for the egress header, and pushes tags. */
#ifndef FASTPATH_RESIZE_H
#define FASTPATH_RESIZE_H

#include "parse.h"

/*
 * Sets skb->protocol from IP to PPPoE, so that the kernel completes partial checksums for devices
 * that do not support them in PPPoE. Pushing and popping tags reads the protocol from the packet.
 */
always int set_pppoe_protocol(struct __sk_buff *skb)
{
	__be16 any = bpf_htons(ETH_P_8021Q);

	return !bpf_skb_vlan_push(skb, any, 1) && !bpf_skb_vlan_push(skb, any, 1) &&
	       !bpf_skb_vlan_pop(skb) && !bpf_skb_vlan_pop(skb);
}

/*
 * Removes PPPoE or a switch tag. bpf_skb_adjust_room() accepts only IP packets, so first set
 * skb->protocol to IP: pushing and popping a tag reads the protocol from the packet.
 */
always int shrink_to_ethernet(struct __sk_buff *skb, const struct packet *p)
{
	void *data, *end;
	__be16 *type;

	/* The first push writes the metadata; the second one moves that tag into the packet. */
	if (!skb->vlan_present && bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), 1))
		return 0;
	if (bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), 1))
		return 0;
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	type = data + ETH_HLEN + 2;
	if ((void *)(type + 1) > end)
		return 0;
	*type = p->proto;
	if (bpf_skb_vlan_pop(skb) || bpf_skb_vlan_pop(skb))
		return 0;
	return !bpf_skb_adjust_room(skb, ETH_HLEN - (int)p->l2_len, BPF_ADJ_ROOM_MAC,
				    BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET);
}

/* Removes tags and resizes the packet for the egress header. */
always int resize_headers(struct __sk_buff *skb, struct packet *p, const struct entry *to)
{
	__u32 len = to->header_len;

	if (p->encap.inner && skb->vlan_present) {
		/* Pop the outer tag; the inner one moves to the metadata and is removed below. */
		if (bpf_skb_vlan_pop(skb))
			return 0;
		p->l2_len -= sizeof(struct vlan_tag);
	}
	if (p->l2_len > ETH_HLEN && p->l2_len != len) {
		if (!shrink_to_ethernet(skb, p))
			return 0;
		p->l2_len = ETH_HLEN;
	} else if (p->encap.outer) {
		if (bpf_skb_vlan_pop(skb))
			return 0;
	}
	if (len > p->l2_len)
		return !bpf_skb_change_head(skb, len - p->l2_len, 0);
	return 1;
}

always int push_tags(struct __sk_buff *skb, const struct entry *to)
{
	if (likely(!to->outer_proto))
		return 1;
	if (to->inner_proto && bpf_skb_vlan_push(skb, to->inner_proto, to->inner_tci))
		return 0;
	return !bpf_skb_vlan_push(skb, to->outer_proto, to->outer_tci);
}

#endif
