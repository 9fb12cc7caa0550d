/* SPDX-License-Identifier: GPL-2.0-only */
/* The TC side: tags in the metadata, room for the new header, checksums that hardware may finish,
 * packets merged by GRO, and the TC action of each verdict. */
#ifndef FASTPATH_TC_H
#define FASTPATH_TC_H

/* Exits of forwarded packets: SENT plus the egress device. */
#define SENT OUT_NUMBER

/* The query returns 0 to 3 if the device has verified the checksum. */
always int is_verified(struct __sk_buff *skb)
{
	return bpf_csum_level(skb, BPF_CSUM_LEVEL_QUERY) >= 0;
}

/*
 * Updates the transport checksum for new addresses and ports. It is complete, or only the
 * pseudo-header sum if the device is to finish it (CHECKSUM_PARTIAL); then the ports must not
 * count. A program cannot see which, but bpf_l4_csum_replace() knows: it subtracts a pseudo-header
 * delta from a complete checksum and adds it to a partial one. The results differ unless the delta
 * is 0, so one call shows the kind and the ports are added in place; a second call costs 80
 * instructions. Invalidates all packet pointers.
 */
always int check_l4_tc(struct __sk_buff *skb, struct packet *p, const struct entry *to,
		       __u32 ip_len, __u16 *check)
{
	__u32 at = p->l2_len + ip_len + check_at(p->l4);
	__u64 udp = p->l4 == IPPROTO_UDP ? BPF_F_MARK_MANGLED_0 : 0;
	void *data, *end;
	__u16 complete;

	/* UDP over IPv4 may have no checksum (0). A partial checksum is never 0. */
	if (unlikely(!*check) && udp) {
		bpf_csum_update(skb, to->port_delta);
		return 1;
	}
	if (is_verified(skb)) {
		p->verified = 1;
		*check = moved_l4(p->l4, *check, to->l4_delta);
		return 1;
	}
	if (!to->address_delta) {
		p->unfinished = 1;
		return !bpf_l4_csum_replace(skb, at, 0, to->port_delta, udp);
	}
	complete = moved_l4(p->l4, *check, to->address_delta);
	if (bpf_l4_csum_replace(skb, at, 0, to->address_delta, BPF_F_PSEUDO_HDR | udp))
		return 0;
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	check = data + at;
	if ((void *)(check + 1) > end)
		return 0;
	if (*check == complete)
		*check = moved_l4(p->l4, *check, to->port_delta);
	else
		p->unfinished = 1;
	return 1;
}

/*
 * Corrects the sum of the whole packet, if the device has computed one (CHECKSUM_COMPLETE). The
 * checksum of an IPv4 header keeps it right. In IPv6, the hop limit and the addresses change it,
 * and bpf_l4_csum_replace() has assumed that the addresses are balanced.
 */
always void sum6_moved(struct __sk_buff *skb, const struct packet *p, const struct entry *to)
{
	if (p->verified)
		return;
	bpf_csum_update(skb, (__u32)to->address_delta + bpf_htons(0xfffe));
}

/*
 * Sets the packet's protocol for the kernel, which is still IP here, to PPPoE. Pushing and popping
 * tags sets it from the packet's bytes. The kernel then finishes the checksum for devices that
 * cannot do so behind PPPoE.
 */
always int name_pppoe(struct __sk_buff *skb)
{
	__be16 any = bpf_htons(ETH_P_8021Q);

	return !bpf_skb_vlan_push(skb, any, 1) && !bpf_skb_vlan_push(skb, any, 1) &&
	       !bpf_skb_vlan_pop(skb) && !bpf_skb_vlan_pop(skb);
}

/*
 * Shrinks the headers before IP to Ethernet. The kernel shrinks only IP packets, but this one has
 * PPPoE or a switch tag. Pushing and popping a tag sets the protocol from the packet's bytes.
 */
always int take_off(struct __sk_buff *skb, const struct packet *p)
{
	void *data, *end;
	__be16 *type;

	/* The first push only sets the metadata; the second one moves that tag into the packet. */
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
	/* The first pop moves the tag from packet to metadata; the second one removes it. */
	if (bpf_skb_vlan_pop(skb) || bpf_skb_vlan_pop(skb))
		return 0;
	return !bpf_skb_adjust_room(skb, ETH_HLEN - (int)p->l2_len, BPF_ADJ_ROOM_MAC,
				    BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET);
}

/* Removes tags and makes room for the new header before the IP header. */
always int change_room(struct __sk_buff *skb, struct packet *p, const struct entry *to)
{
	__u32 len = to->header_len;

	/* Behind a switch tag, both tags are within the packet and are removed with it. */
	if (p->encap.inner && skb->vlan_present) {
		/* This pop moves the inner tag to the metadata; the code below removes it. */
		if (bpf_skb_vlan_pop(skb))
			return 0;
		p->l2_len -= sizeof(struct vlan_tag);
	}
	if (p->l2_len > ETH_HLEN && p->l2_len != len) {
		if (!take_off(skb, p))
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
	/* Without an outer tag there is no inner one. */
	if (likely(!to->outer_proto))
		return 1;
	if (to->inner_proto && bpf_skb_vlan_push(skb, to->inner_proto, to->inner_tci))
		return 0;
	return !bpf_skb_vlan_push(skb, to->outer_proto, to->outer_tci);
}

always int tc_send(struct __sk_buff *skb, struct packet *p, struct entry *to)
{
	void *data, *end;

	if (!change_room(skb, p, to))
		leave(OUT_NO_ROOM);
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	if (!put_header(data, end, to, p->length))
		leave(OUT_NO_ROOM);
	if (unlikely(to->flags & FLOW_PPPOE && p->unfinished) && !name_pppoe(skb))
		leave(OUT_NO_ROOM);
	if (!push_tags(skb, to))
		leave(OUT_NO_ROOM);
	return SENT + (int)to->ifindex;
}

/* Returns the size of the largest IP packet on the wire. */
always __u32 largest(const struct packet *p, __u32 headers)
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

/* Like may_go(), but also rejects packets merged by GRO, which only TC receives. */
always int may_go_tc(const struct entry *to, const struct packet *p, const __u8 *at, __u32 headers,
		     __u64 now)
{
	int out = may_go(to, p, at, largest(p, headers), now);

	/* The kernel cannot segment packets behind the header of PPPoE or of a switch. */
	if (out == IS_FLOW && p->gso_size && to->header_len != ETH_HLEN)
		return OUT_GSO;
	return out;
}

/* Like forged(), but also for packets merged by GRO. */
always int forged_tc(const struct entry *to, const struct packet *p, __u32 headers)
{
	int out = forged(to, p, largest(p, headers));

	return out == IS_FLOW && p->gso_size && to->header_len != ETH_HLEN ? OUT_GSO : out;
}

/* Invalidates all packet pointers. */
always int translate4_tc(struct __sk_buff *skb, struct packet *p, const struct entry4 *to,
			 void *at, void *l4, __u16 *check)
{
	if (to->e.flags & FLOW_NAT) {
		translate4(at, l4, to);
		return check_l4_tc(skb, p, &to->e, sizeof(struct iphdr), check);
	}
	if (to->e.flags & FLOW_PPPOE)
		p->unfinished = !is_verified(skb);
	return 1;
}

/* Invalidates all packet pointers. */
always int translate6_tc(struct __sk_buff *skb, struct packet *p, const struct entry6 *to,
			 void *at, void *l4, __u16 *check)
{
	if (to->e.flags & FLOW_NAT) {
		translate6(at, l4, to);
		return check_l4_tc(skb, p, &to->e, sizeof(struct ipv6hdr), check);
	}
	if (to->e.flags & FLOW_PPPOE)
		p->unfinished = !is_verified(skb);
	return 1;
}

/* Returns only the fields that forward4() and forward6() need, so that no others are kept. */
always struct packet rest_of(const struct packet *p)
{
	return (struct packet){
		.encap = p->encap,
		.l4 = p->l4,
		.l2_len = p->l2_len,
		.proto = p->proto,
		.length = p->length,
	};
}

/* Forwards a packet from any encapsulation to any other. */
static __noinline int forward4(struct __sk_buff *skb, struct packet *p, struct entry4 *to)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	void *at = data + p->l2_len, *l4 = at + sizeof(struct iphdr);
	__u16 *check = l4 + check_at(p->l4);

	if (l4 + UDP_LEN > end || (void *)(check + 1) > end)
		leave(OUT_NO_ROOM);
	rewrite4(at, to);
	if (!translate4_tc(skb, p, to, at, l4, check))
		leave(OUT_NO_ROOM);
	return tc_send(skb, p, &to->e);
}

always int tc4(struct __sk_buff *skb, struct packet *p)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct key4 key = { .ifindex = skb->ifindex, .encap = p->encap, .port = p->port };
	void *at = data + p->l2_len, *l4 = at + sizeof(struct iphdr);
	struct packet rest;
	__u64 now;
	struct entry4 *to;
	__u32 headers;
	int out = parse4(data, at, end, skb->len - p->l2_len, p, &key);

	if (out != IS_FLOW)
		return out;
	key.proto = p->l4;
	to = bpf_map_lookup_elem(&flows4, &key);
	if (unlikely(!to) || unlikely(!is_own(data, p, &to->e)))
		leave(OUT_UNKNOWN);
	if (unlikely(!right_sum(at)))
		leave(OUT_MALFORMED);
	now = bpf_jiffies64();
	headers = sizeof(struct iphdr) + p->l4_len;
	out = may_go_tc(&to->e, p, at, headers, now);
	if (unlikely(is_end(out, p)) && !end4(&key, to, p, l4, now))
		out = forged_tc(&to->e, p, headers);
	if (unlikely(out != IS_FLOW)) {
		if (out == OUT_DROPPED)
			count_skb(skb, p, &to->e, headers, now);
		if (out == OUT_MTU || out == OUT_GSO || out == OUT_UNKNOWN)
			note_position(&to->e, p, l4);
		return out;
	}
	count_skb(skb, p, &to->e, headers, now);
	note_position(&to->e, p, l4);
	if (p->known && likely(to->e.flags & FLOW_PLAIN)) {
		put_ethernet(data, to->e.header);
		rewrite4(at, to);
		if (!translate4_tc(skb, p, to, at, l4, l4 + check_at(p->l4)))
			leave(OUT_NO_ROOM);
		return SENT + (int)to->e.ifindex;
	}
	/* A copy: the address of `p` would force the hot path's values into memory. */
	rest = rest_of(p);
	return forward4(skb, &rest, to);
}

/* Forwards a packet from any encapsulation to any other. */
static __noinline int forward6(struct __sk_buff *skb, struct packet *p, struct entry6 *to)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	void *at = data + p->l2_len, *l4 = at + sizeof(struct ipv6hdr);
	__u16 *check = l4 + check_at(p->l4);

	if (l4 + UDP_LEN > end || (void *)(check + 1) > end)
		leave(OUT_NO_ROOM);
	rewrite6(at);
	if (!translate6_tc(skb, p, to, at, l4, check))
		leave(OUT_NO_ROOM);
	sum6_moved(skb, p, &to->e);
	return tc_send(skb, p, &to->e);
}

always int tc6(struct __sk_buff *skb, struct packet *p)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct key6 key = { .ifindex = skb->ifindex, .encap = p->encap, .port = p->port };
	void *at = data + p->l2_len, *l4 = at + sizeof(struct ipv6hdr);
	struct packet rest;
	__u64 now;
	struct entry6 *to;
	__u32 headers;
	int out = parse6(data, at, end, skb->len - p->l2_len, p, &key);

	if (out != IS_FLOW)
		return out;
	key.proto = p->l4;
	to = bpf_map_lookup_elem(&flows6, &key);
	if (unlikely(!to) || unlikely(!is_own(data, p, &to->e)))
		leave(OUT_UNKNOWN);
	now = bpf_jiffies64();
	headers = sizeof(struct ipv6hdr) + p->l4_len;
	out = may_go_tc(&to->e, p, at, headers, now);
	if (unlikely(is_end(out, p)) && !end6(&key, to, p, l4, now))
		out = forged_tc(&to->e, p, headers);
	if (unlikely(out != IS_FLOW)) {
		if (out == OUT_DROPPED)
			count_skb(skb, p, &to->e, headers, now);
		if (out == OUT_MTU || out == OUT_GSO || out == OUT_UNKNOWN)
			note_position(&to->e, p, l4);
		return out;
	}
	count_skb(skb, p, &to->e, headers, now);
	note_position(&to->e, p, l4);
	if (p->known && likely(to->e.flags & FLOW_PLAIN)) {
		put_ethernet(data, to->e.header);
		rewrite6(at);
		if (!translate6_tc(skb, p, to, at, l4, l4 + check_at(p->l4)))
			leave(OUT_NO_ROOM);
		sum6_moved(skb, p, &to->e);
		return SENT + (int)to->e.ifindex;
	}
	/* A copy: the address of `p` would force the hot path's values into memory. */
	rest = rest_of(p);
	return forward6(skb, &rest, to);
}

/* Makes the headers contiguous before anything is read; drivers may leave them in a page. */
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

/*
 * Like tc_any(), for packets without tags and with contiguous headers. The exit of any other packet
 * is_unsure().
 */
always int tc_plain(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct packet p = { .carried = 0xffff };

	/* Some kernels keep vlan_proto of a removed tag; such packets take the general path. */
	if (skb->vlan_proto || skb->gso_size || !is_usual(data, end) ||
	    !known_at(data, end, &p, ETH_HLEN, type_at(data, ETH_HLEN - 2)))
		return OUT_MALFORMED;
	return tc_flow(skb, &p);
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

always int tc_sent(const struct __sk_buff *skb, int out)
{
	count_out(OUT_FORWARDED, skb->ifindex);
	return bpf_redirect(out - SENT, 0);
}

SEC("classifier")
int fastpath_tc(struct __sk_buff *skb)
{
	int out = tc_plain(skb);

	/* Compared twice, so that the compiler spares most packets the second check. */
	if (likely(out > SENT))
		return tc_sent(skb, out);
	if (is_unsure(out)) {
		out = tc_any(skb);
		if (out > SENT)
			return tc_sent(skb, out);
	}
	count_out(out, skb->ifindex);
	/* Not TC_ACT_OK, which would hide the packet from others at this hook: policers, an ifb. */
	return out == OUT_DROPPED || out == OUT_NO_ROOM ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

#endif
