/* SPDX-License-Identifier: GPL-2.0-only */
/* XDP programs. Frames contain all tags, and checksums are complete. */
#ifndef FASTPATH_XDP_H
#define FASTPATH_XDP_H

/* Resizes the frame for the egress header. Invalidates all packet pointers. */
always int resize_head(struct xdp_md *ctx, const struct packet *p, const struct entry *to)
{
	int delta = (int)p->l2_len - (int)to->header_len;

	return delta && bpf_xdp_adjust_head(ctx, delta) ? OUT_NO_ROOM : IS_FLOW;
}

always void check_l4(void *l4, void *end, const struct packet *p, const struct entry *to)
{
	__u16 *check = l4 + check_at(p->l4);

	if ((void *)(check + 1) > end || (p->l4 == IPPROTO_UDP && !*check))
		return;
	*check = updated_l4_check(p->l4, *check, to->l4_delta);
}

always int xdp_send(struct xdp_md *ctx, struct packet *p, struct entry *to)
{
	int out = resize_head(ctx, p, to);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (out == IS_FLOW && !put_header(data, end, to, p->length))
		out = OUT_NO_ROOM;
	return out;
}

always int xdp4(struct xdp_md *ctx, struct packet *p, __u32 frame)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct key4 key = { .ifindex = ctx->ingress_ifindex, .encap = p->encap, .port = p->port };
	void *at = data + p->l2_len, *l4 = at + sizeof(struct iphdr);
	struct entry4 *to;
	__u64 now;
	int out = parse4(data, at, end, frame - p->l2_len, p, &key);

	if (out != IS_FLOW)
		return out;
	key.proto = p->l4;
	to = find4(&key);
	if (unlikely(!to) || unlikely(!is_own_mac(data, p, &to->e)))
		leave(OUT_UNKNOWN);
	if (unlikely(!is_valid_checksum(at)))
		leave(OUT_MALFORMED);
	now = bpf_jiffies64();
	if (p->known) {
		if (to->e.word & SPECIAL || !may_forward_common(&to->e, p, now))
			return OUT_NOT_IP;
		goto forward;
	}
	out = may_forward(&to->e, p, at, p->length, now);
	if (unlikely(is_end(out, p)) && !end4(&key, to, p, l4, now))
		out = forged_exit(&to->e, p, p->length);
	if (unlikely(out != IS_FLOW)) {
		if (out == OUT_DROPPED)
			count_flow(&to->e, now, 1, p->length);
		if (out == OUT_MTU || out == OUT_UNKNOWN)
			note_position(&to->e, p, l4);
		return out;
	}
forward:
	/* Check the device before the first write: the stack must not get a changed frame. */
	if (bpf_redirect_map(&devices, to->e.ifindex, 0) != XDP_REDIRECT)
		return OUT_NO_DEVICE;
	rewrite4(at, to);
	if (to->e.flags & FLOW_NAT) {
		check_l4(l4, end, p, &to->e);
		translate4(at, l4, to);
	}
	count_flow(&to->e, now, 1, p->length);
	note_position(&to->e, p, l4);
	if (p->known && p->l2_len == ETH_HLEN && likely(to->e.flags & FLOW_PLAIN)) {
		put_ethernet(data, to->e.header);
		return OUT_FORWARDED;
	}
	out = xdp_send(ctx, p, &to->e);
	return out == IS_FLOW ? OUT_FORWARDED : out;
}

always int xdp6(struct xdp_md *ctx, struct packet *p, __u32 frame)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct key6 key = { .ifindex = ctx->ingress_ifindex, .encap = p->encap, .port = p->port };
	void *at = data + p->l2_len, *l4 = at + sizeof(struct ipv6hdr);
	struct entry6 *to;
	__u64 now;
	int out = parse6(data, at, end, frame - p->l2_len, p, &key);

	if (out != IS_FLOW)
		return out;
	key.proto = p->l4;
	to = find6(&key);
	if (unlikely(!to) || unlikely(!is_own_mac(data, p, &to->e)))
		leave(OUT_UNKNOWN);
	now = bpf_jiffies64();
	if (p->known) {
		if (to->e.word & SPECIAL || !may_forward_common(&to->e, p, now))
			return OUT_NOT_IP;
		goto forward;
	}
	out = may_forward(&to->e, p, at, p->length, now);
	if (unlikely(is_end(out, p)) && !end6(&key, to, p, l4, now))
		out = forged_exit(&to->e, p, p->length);
	if (unlikely(out != IS_FLOW)) {
		if (out == OUT_DROPPED)
			count_flow(&to->e, now, 1, p->length);
		if (out == OUT_MTU || out == OUT_UNKNOWN)
			note_position(&to->e, p, l4);
		return out;
	}
forward:
	/* Check the device before the first write: the stack must not get a changed frame. */
	if (bpf_redirect_map(&devices, to->e.ifindex, 0) != XDP_REDIRECT)
		return OUT_NO_DEVICE;
	rewrite6(at);
	if (to->e.flags & FLOW_NAT) {
		check_l4(l4, end, p, &to->e);
		translate6(at, l4, to);
	}
	count_flow(&to->e, now, 1, p->length);
	note_position(&to->e, p, l4);
	if (p->known && p->l2_len == ETH_HLEN && likely(to->e.flags & FLOW_PLAIN)) {
		put_ethernet(data, to->e.header);
		return OUT_FORWARDED;
	}
	out = xdp_send(ctx, p, &to->e);
	return out == IS_FLOW ? OUT_FORWARDED : out;
}

/* Returns the XDP action of a verdict. OUT_NO_ROOM drops, because the frame is already changed. */
always int xdp_verdict(int out)
{
	switch (out) {
	case OUT_FORWARDED:
		return XDP_REDIRECT;
	case OUT_DROPPED:
	case OUT_NO_ROOM:
		return XDP_DROP;
	}
	return XDP_PASS;
}

always int xdp_flow(struct xdp_md *ctx, struct packet *p, __u32 frame)
{
	if (p->proto == bpf_htons(ETH_P_IP))
		return xdp4(ctx, p, frame);
	if (p->proto == bpf_htons(ETH_P_IPV6))
		return xdp6(ctx, p, frame);
	return OUT_NOT_IP;
}

always int xdp_known(struct xdp_md *ctx, struct packet *p, __u32 at, __be16 type)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	const struct iphdr *ip4 = data + at;
	const struct ipv6hdr *ip6 = data + at;
	__u32 frame = (__u32)((long)end - (long)data);

	if (!known_at(data, end, p, at))
		return OUT_MALFORMED;
	if (is_ip4(type)) {
		if (ip4->protocol == IPPROTO_TCP) {
			p->l4 = IPPROTO_TCP;
			return xdp4(ctx, p, frame);
		}
		if (ip4->protocol == IPPROTO_UDP) {
			p->l4 = IPPROTO_UDP;
			return xdp4(ctx, p, frame);
		}
	} else if (type == bpf_htons(ETH_P_IPV6)) {
		if (ip6->nexthdr == IPPROTO_TCP) {
			p->l4 = IPPROTO_TCP;
			return xdp6(ctx, p, frame);
		}
		if (ip6->nexthdr == IPPROTO_UDP) {
			p->l4 = IPPROTO_UDP;
			return xdp6(ctx, p, frame);
		}
	}
	return OUT_NOT_IP;
}

always int xdp_session(struct xdp_md *ctx, struct packet *p, __u32 at)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__be16 type;

	p->l2_len = at;
	if (parse_pppoe(data, end, p, &type) != IS_FLOW)
		return OUT_MALFORMED;
	return xdp_known(ctx, p, at + PPPOE_LEN, type);
}

/* Fast copy of xdp_any() for common headers. Check the result with needs_full_parse(). */
always int xdp_common(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct packet p = { .pppoe_payload = 0xffff };
	__be16 type;

	if (!is_common(data, end))
		return OUT_MALFORMED;
	type = type_at(data, ETH_HLEN - 2);
	if (is_ip(type))
		return xdp_known(ctx, &p, ETH_HLEN, type);
	if (type == bpf_htons(ETH_P_PPP_SES))
		return xdp_session(ctx, &p, ETH_HLEN);
	if (type != bpf_htons(ETH_P_8021Q))
		return OUT_NOT_IP;
	p.encap.outer = tag_of(type_at(data, ETH_HLEN), type);
	type = type_at(data, ETH_HLEN + 2);
	if (type == bpf_htons(ETH_P_PPP_SES))
		return xdp_session(ctx, &p, ETH_HLEN + sizeof(struct vlan_tag));
	return xdp_known(ctx, &p, ETH_HLEN + sizeof(struct vlan_tag), type);
}

always int xdp_any(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct packet p = {};
	int out = parse_l2(data, end, &p);

	return out == IS_FLOW ? xdp_flow(ctx, &p, bpf_xdp_get_buff_len(ctx)) : out;
}

SEC("xdp.frags")
int fastpath_xdp(struct xdp_md *ctx)
{
	int out = xdp_common(ctx);

	if (unlikely(out != OUT_FORWARDED)) {
		if (needs_full_parse(out))
			out = xdp_any(ctx);
		else
			out = common_exit((void *)(long)ctx->data, (void *)(long)ctx->data_end, out);
	}
	count_exit(out, ctx->ingress_ifindex);
	return xdp_verdict(out);
}

/* Passes all frames. Some drivers send redirected frames only while a program is attached. */
SEC("xdp.frags")
int fastpath_pass(struct xdp_md *ctx __attribute__((unused)))
{
	return XDP_PASS;
}

#endif
