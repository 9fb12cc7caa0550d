/* SPDX-License-Identifier: GPL-2.0-only */
/* TC program. Unlike XDP, it handles tags in the metadata, partial checksums and GRO packets. */
#ifndef FASTPATH_TC_H
#define FASTPATH_TC_H

#include "resize.h"

/* Result for a packet that the kernel sends when the program ends. */
#define SENT OUT_NUMBER

always int is_verified(struct __sk_buff *skb)
{
	return bpf_csum_level(skb, BPF_CSUM_LEVEL_QUERY) >= 0;
}

/*
 * Updates the transport checksum for new addresses and ports. A partial checksum
 * (CHECKSUM_PARTIAL) covers only the pseudo header, so the ports must not count. A program cannot
 * query the kind, but the result of bpf_l4_csum_replace() reveals it unless the delta is 0: the
 * helper adds a delta to a partial checksum and subtracts it from a complete one. Adding the ports
 * in place saves the 80 instructions of a second call. Invalidates all packet pointers.
 */
always int check_l4_tc(struct __sk_buff *skb, struct packet *p, const struct entry *to,
		       __u32 ip_len, __u16 *check)
{
	__u32 at = p->l2_len + ip_len + check_at(p->l4);
	__u64 udp = p->l4 == IPPROTO_UDP ? BPF_F_MARK_MANGLED_0 : 0;
	void *data, *end;
	__u16 complete;

	/* UDP over IPv4 without a checksum; a partial checksum is never 0. */
	if (unlikely(!*check) && udp) {
		bpf_csum_update(skb, to->port_delta);
		return 1;
	}
	if (is_verified(skb)) {
		p->verified = 1;
		*check = updated_l4_check(p->l4, *check, to->l4_delta);
		return 1;
	}
	if (!to->address_delta) {
		p->partial = 1;
		return !bpf_l4_csum_replace(skb, at, 0, to->port_delta, udp);
	}
	complete = updated_l4_check(p->l4, *check, to->address_delta);
	if (bpf_l4_csum_replace(skb, at, 0, to->address_delta, BPF_F_PSEUDO_HDR | udp))
		return 0;
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	check = data + at;
	if ((void *)(check + 1) > end)
		return 0;
	if (*check == complete)
		*check = updated_l4_check(p->l4, *check, to->port_delta);
	else
		p->partial = 1;
	return 1;
}

/*
 * Updates the device's sum of the whole packet (CHECKSUM_COMPLETE) for the new hop limit and
 * addresses of IPv6. IPv4 needs no update, because the header checksum compensates each change.
 */
always void update_sum6(struct __sk_buff *skb, const struct packet *p, const struct entry *to)
{
	if (p->verified)
		return;
	bpf_csum_update(skb, (__u32)to->address_delta + bpf_htons(0xfffe));
}

/* Counts a packet and sends it when the program ends. */
always int redirect(const struct __sk_buff *skb, const struct entry *to)
{
	count_exit(OUT_FORWARDED, skb->ifindex);
	bpf_redirect(to->ifindex, 0);
	return SENT;
}

always int tc_send(struct __sk_buff *skb, struct packet *p, struct entry *to)
{
	void *data, *end;

	if (!resize_headers(skb, p, to))
		leave(OUT_NO_ROOM);
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	if (!put_header(data, end, to, p->length))
		leave(OUT_NO_ROOM);
	if (unlikely(to->flags & FLOW_PPPOE && p->partial) && !set_pppoe_protocol(skb))
		leave(OUT_NO_ROOM);
	if (!push_tags(skb, to))
		leave(OUT_NO_ROOM);
	return redirect(skb, to);
}

/* Returns the length of the largest IP packet after segmentation. */
always __u32 max_ip_len(const struct packet *p, __u32 headers)
{
	return p->gso_size ? headers + p->gso_size : p->length;
}

always void count_skb(struct __sk_buff *skb, const struct packet *p, struct entry *to,
		      __u32 headers, __u64 now)
{
	__u32 packets = p->gso_size ? skb->gso_segs : 1;

	if (packets > 1)
		count_flow(to, now, packets, p->length + (packets - 1) * headers);
	else
		count_flow(to, now, 1, p->length);
}

/* Like may_forward(), but also rejects GRO packets that the kernel cannot segment. */
always int may_forward_tc(const struct entry *to, const struct packet *p, const __u8 *at,
			  __u32 headers, __u64 now)
{
	int out = may_forward(to, p, at, max_ip_len(p, headers), now);

	/* The kernel cannot segment packets with a PPPoE header or a switch tag. */
	if (out == IS_FLOW && p->gso_size && to->header_len != ETH_HLEN)
		return OUT_GSO;
	return out;
}

always int forged_exit_tc(const struct entry *to, const struct packet *p, __u32 headers)
{
	int out = forged_exit(to, p, max_ip_len(p, headers));

	return out == IS_FLOW && p->gso_size && to->header_len != ETH_HLEN ? OUT_GSO : out;
}

/* Invalidates all packet pointers. */
always int translate4_tc(struct __sk_buff *skb, struct packet *p, const struct entry4 *to,
			 __u32 word, void *at, void *l4, __u16 *check)
{
	if (word & NAT) {
		translate4(at, l4, to);
		return check_l4_tc(skb, p, &to->e, sizeof(struct iphdr), check);
	}
	if (to->e.flags & FLOW_PPPOE)
		p->partial = !is_verified(skb);
	return 1;
}

/* Invalidates all packet pointers. */
always int translate6_tc(struct __sk_buff *skb, struct packet *p, const struct entry6 *to,
			 __u32 word, void *at, void *l4, __u16 *check)
{
	if (word & NAT) {
		translate6(at, l4, to);
		return check_l4_tc(skb, p, &to->e, sizeof(struct ipv6hdr), check);
	}
	if (to->e.flags & FLOW_PPPOE)
		p->partial = !is_verified(skb);
	return 1;
}

/* Returns the fields that forward4() and forward6() need, so that no other ones stay live. */
always struct packet forward_fields(const struct packet *p)
{
	return (struct packet){
		.encap = p->encap,
		.l4 = p->l4,
		.l2_len = p->l2_len,
		.proto = p->proto,
		.length = p->length,
	};
}

/* Forwards a packet with any ingress and egress encapsulation. */
static __noinline int forward4(struct __sk_buff *skb, struct packet *p, struct entry4 *to)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	void *at = data + p->l2_len, *l4 = at + sizeof(struct iphdr);
	__u16 *check = l4 + check_at(p->l4);

	if (l4 + UDP_LEN > end || (void *)(check + 1) > end)
		leave(OUT_NO_ROOM);
	rewrite4(at, to);
	if (!translate4_tc(skb, p, to, to->e.word, at, l4, check))
		leave(OUT_NO_ROOM);
	return tc_send(skb, p, &to->e);
}

always int is_plain(const struct packet *p)
{
	return p->l2_len == ETH_HLEN && !p->encap.outer;
}

/* Replaces the ingress header by one that is Ethernet only. */
always int send_plain(struct __sk_buff *skb, const struct packet *p, const struct entry *to)
{
	void *data, *end;

	if (p->l2_len != ETH_HLEN ? !shrink_to_ethernet(skb, p) : bpf_skb_vlan_pop(skb))
		leave(OUT_NO_ROOM);
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	if (data + ETH_HLEN > end)
		leave(OUT_NO_ROOM);
	put_ethernet(data, to->header);
	return redirect(skb, to);
}

always int tc4(struct __sk_buff *skb, struct packet *p)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct key4 key = { .ifindex = skb->ifindex, .encap = p->encap, .port = p->port };
	void *at = data + p->l2_len, *l4 = at + sizeof(struct iphdr);
	struct packet rest;
	__u32 word;
	__u64 now;
	struct entry4 *to;
	__u32 headers;
	int out = parse4(data, at, end, skb->len - p->l2_len, p, &key);

	if (out != IS_FLOW)
		return out;
	key.proto = p->l4;
	to = find4(&key);
	if (unlikely(!to) || unlikely(!is_own_mac(data, p, &to->e)))
		leave(OUT_UNKNOWN);
	if (unlikely(!is_valid_checksum(at)))
		leave(OUT_MALFORMED);
	now = bpf_jiffies64();
	word = to->e.word;
	if (p->known && likely((word & (SPECIAL | PLAIN)) == PLAIN)) {
		if (!may_forward_common(&to->e, p, now))
			return OUT_NOT_IP;
		count_flow(&to->e, now, 1, p->length);
		note_position(&to->e, p, l4);
		if (is_plain(p))
			put_ethernet(data, to->e.header);
		rewrite4(at, to);
		if (!translate4_tc(skb, p, to, word, at, l4, l4 + check_at(p->l4)))
			leave(OUT_NO_ROOM);
		return is_plain(p) ? redirect(skb, &to->e) : send_plain(skb, p, &to->e);
	}
	if (p->known) {
		if (word & SPECIAL || !may_forward_common(&to->e, p, now))
			return OUT_NOT_IP;
		count_flow(&to->e, now, 1, p->length);
		note_position(&to->e, p, l4);
		rest = forward_fields(p);
		return forward4(skb, &rest, to);
	}
	headers = sizeof(struct iphdr) + p->l4_len;
	out = may_forward_tc(&to->e, p, at, headers, now);
	if (unlikely(is_end(out, p)) && !end4(&key, to, p, l4, now))
		out = forged_exit_tc(&to->e, p, headers);
	if (unlikely(out != IS_FLOW)) {
		if (out == OUT_DROPPED)
			count_skb(skb, p, &to->e, headers, now);
		if (out == OUT_MTU || out == OUT_GSO || out == OUT_UNKNOWN)
			note_position(&to->e, p, l4);
		return out;
	}
	count_skb(skb, p, &to->e, headers, now);
	note_position(&to->e, p, l4);
	/* Pass a copy: taking the address of `p` would spill its fields to the stack. */
	rest = forward_fields(p);
	return forward4(skb, &rest, to);
}

static __noinline int forward6(struct __sk_buff *skb, struct packet *p, struct entry6 *to)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	void *at = data + p->l2_len, *l4 = at + sizeof(struct ipv6hdr);
	__u16 *check = l4 + check_at(p->l4);

	if (l4 + UDP_LEN > end || (void *)(check + 1) > end)
		leave(OUT_NO_ROOM);
	rewrite6(at);
	if (!translate6_tc(skb, p, to, to->e.word, at, l4, check))
		leave(OUT_NO_ROOM);
	update_sum6(skb, p, &to->e);
	return tc_send(skb, p, &to->e);
}

always int tc6(struct __sk_buff *skb, struct packet *p)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct key6 key = { .ifindex = skb->ifindex, .encap = p->encap, .port = p->port };
	void *at = data + p->l2_len, *l4 = at + sizeof(struct ipv6hdr);
	struct packet rest;
	__u32 word;
	__u64 now;
	struct entry6 *to;
	__u32 headers;
	int out = parse6(data, at, end, skb->len - p->l2_len, p, &key);

	if (out != IS_FLOW)
		return out;
	key.proto = p->l4;
	to = find6(&key);
	if (unlikely(!to) || unlikely(!is_own_mac(data, p, &to->e)))
		leave(OUT_UNKNOWN);
	now = bpf_jiffies64();
	word = to->e.word;
	if (p->known && likely((word & (SPECIAL | PLAIN)) == PLAIN)) {
		if (!may_forward_common(&to->e, p, now))
			return OUT_NOT_IP;
		count_flow(&to->e, now, 1, p->length);
		note_position(&to->e, p, l4);
		if (is_plain(p))
			put_ethernet(data, to->e.header);
		rewrite6(at);
		if (!translate6_tc(skb, p, to, word, at, l4, l4 + check_at(p->l4)))
			leave(OUT_NO_ROOM);
		update_sum6(skb, p, &to->e);
		return is_plain(p) ? redirect(skb, &to->e) : send_plain(skb, p, &to->e);
	}
	if (p->known) {
		if (word & SPECIAL || !may_forward_common(&to->e, p, now))
			return OUT_NOT_IP;
		count_flow(&to->e, now, 1, p->length);
		note_position(&to->e, p, l4);
		rest = forward_fields(p);
		return forward6(skb, &rest, to);
	}
	headers = sizeof(struct ipv6hdr) + p->l4_len;
	out = may_forward_tc(&to->e, p, at, headers, now);
	if (unlikely(is_end(out, p)) && !end6(&key, to, p, l4, now))
		out = forged_exit_tc(&to->e, p, headers);
	if (unlikely(out != IS_FLOW)) {
		if (out == OUT_DROPPED)
			count_skb(skb, p, &to->e, headers, now);
		if (out == OUT_MTU || out == OUT_GSO || out == OUT_UNKNOWN)
			note_position(&to->e, p, l4);
		return out;
	}
	count_skb(skb, p, &to->e, headers, now);
	note_position(&to->e, p, l4);
	/* Pass a copy: taking the address of `p` would spill its fields to the stack. */
	rest = forward_fields(p);
	return forward6(skb, &rest, to);
}

/* Makes the headers contiguous; drivers may leave them in a page fragment. */
always void pull_headers(struct __sk_buff *skb)
{
	__u32 linear = (__u32)((long)skb->data_end - (long)skb->data);
	__u32 wanted = skb->len < HEADERS ? skb->len : HEADERS;

	if (unlikely(linear < wanted))
		bpf_skb_pull_data(skb, wanted);
}

always int tc_flow(struct __sk_buff *skb, struct packet *p)
{
	if (p->proto == bpf_htons(ETH_P_IP))
		return tc4(skb, p);
	if (p->proto == bpf_htons(ETH_P_IPV6))
		return tc6(skb, p);
	return OUT_NOT_IP;
}

always int tc_known(struct __sk_buff *skb, const void *data, struct packet *p, __be16 type)
{
	const struct iphdr *ip4 = data + p->l2_len;
	const struct ipv6hdr *ip6 = data + p->l2_len;

	if (is_ip4(type)) {
		p->proto = bpf_htons(ETH_P_IP);
		if (ip4->protocol == IPPROTO_TCP) {
			p->l4 = IPPROTO_TCP;
			return tc4(skb, p);
		}
		if (ip4->protocol == IPPROTO_UDP) {
			p->l4 = IPPROTO_UDP;
			return tc4(skb, p);
		}
	} else if (type == bpf_htons(ETH_P_IPV6)) {
		p->proto = bpf_htons(ETH_P_IPV6);
		if (ip6->nexthdr == IPPROTO_TCP) {
			p->l4 = IPPROTO_TCP;
			return tc6(skb, p);
		}
		if (ip6->nexthdr == IPPROTO_UDP) {
			p->l4 = IPPROTO_UDP;
			return tc6(skb, p);
		}
	}
	return OUT_NOT_IP;
}

/*
 * Fast copy of tc_any() for packets with contiguous headers, and with PPPoE or a tag in the
 * metadata at most. Check the result with needs_full_parse().
 */
always int tc_common(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct packet p = { .pppoe_payload = 0xffff };
	__be16 type;

	if (skb->gso_size || !is_common(data, end))
		return OUT_MALFORMED;
	type = type_at(data, ETH_HLEN - 2);
	/* Some kernels keep the vlan_proto of a removed tag. */
	if (likely(!skb->vlan_proto) && is_ip(type)) {
		known_at(data, end, &p, ETH_HLEN);
		return tc_known(skb, data, &p, type);
	}
	if (skb->vlan_present)
		note_tag(&p, bpf_htons(skb->vlan_tci), skb->vlan_proto);
	if (type != bpf_htons(ETH_P_PPP_SES)) {
		known_at(data, end, &p, ETH_HLEN);
		return tc_known(skb, data, &p, type);
	}
	p.l2_len = ETH_HLEN;
	if (parse_pppoe(data, end, &p, &type) != IS_FLOW ||
	    !known_at(data, end, &p, ETH_HLEN + PPPOE_LEN))
		return OUT_MALFORMED;
	return tc_known(skb, data, &p, type);
}

always int tc_any(struct __sk_buff *skb)
{
	struct packet p = { .gso_size = skb->gso_size };
	int out;

	pull_headers(skb);
	if (skb->vlan_present)
		note_tag(&p, bpf_htons(skb->vlan_tci), skb->vlan_proto);
	out = parse_l2((void *)(long)skb->data, (void *)(long)skb->data_end, &p);
	return out == IS_FLOW ? tc_flow(skb, &p) : out;
}

/* Handles a packet that tc_common() has not sent. */
static __noinline int tc_other(struct __sk_buff *skb, int out)
{
	if (needs_full_parse(out)) {
		out = tc_any(skb);
		if (out == SENT)
			return TC_ACT_REDIRECT;
	} else {
		out = common_exit((void *)(long)skb->data, (void *)(long)skb->data_end, out);
	}
	count_exit(out, skb->ifindex);
	/* TC_ACT_OK would skip later programs at this hook, such as policers or an ifb. */
	return out == OUT_DROPPED || out == OUT_NO_ROOM ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

SEC("classifier")
int fastpath_tc(struct __sk_buff *skb)
{
	int out = tc_common(skb);

	return likely(out == SENT) ? TC_ACT_REDIRECT : tc_other(skb, out);
}

#endif
