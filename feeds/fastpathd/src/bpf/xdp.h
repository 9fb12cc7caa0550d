/* SPDX-License-Identifier: GPL-2.0-only */
/* The XDP side: the frame as it came off the wire, checksums complete. */
#ifndef FASTPATH_XDP_H
#define FASTPATH_XDP_H

/*
 * make_room: the frame begins with room for the new header. After it all pointers are new.
 */
always int make_room(struct xdp_md *ctx, const struct packet *p, const struct entry *to)
{
	int delta = (int)p->l2_len - (int)to->header_len;

	return delta && bpf_xdp_adjust_head(ctx, delta) ? OUT_NO_ROOM : IS_FLOW;
}

always void check_l4(void *l4, void *end, const struct packet *p, const struct entry *to)
{
	__u32 delta = (__u32)to->address_delta + to->port_delta;
	__u16 *check = l4 + p->check_at;

	if ((void *)(check + 1) > end || (p->l4 == IPPROTO_UDP && !*check))
		return;
	*check = moved_l4(p->l4, *check, delta);
}

always int xdp_send(struct xdp_md *ctx, struct packet *p, struct entry *to)
{
	int out = make_room(ctx, p, to);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (out == IS_FLOW && !put_header(data, end, to, p->length))
		out = OUT_NO_ROOM;
	return out;
}

always int xdp4(struct xdp_md *ctx, struct packet *p, __u32 frame)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct key4 key = { .ifindex = ctx->ingress_ifindex, .way = p->way, .port = p->port };
	void *at = data + p->l2_len;
	struct entry4 *to;
	int out = parse4(at, end, frame - p->l2_len, p, &key);

	if (out != IS_FLOW)
		return out;
	key.proto = p->l4;
	to = bpf_map_lookup_elem(&flows4, &key);
	if (!to)
		return OUT_UNKNOWN;
	out = may_go(&to->e, p, p->length);
	if (unlikely(out != IS_FLOW)) {
		if (out == OUT_TCP && p->tcp_flags & (TCP_FIN | TCP_RST)) {
			to->e.state = STATE_CLOSING;
			close_back4(&key, to);
		}
		if (out == OUT_DROPPED)
			count_flow(&to->e, 1, p->length);
		return out;
	}
	/* Nothing is written before it is sure that the frame can be sent. */
	if (bpf_redirect_map(&devices, to->e.ifindex, 0) != XDP_REDIRECT)
		return OUT_NO_DEVICE;
	rewrite4(at, to);
	if (to->e.flags & FLOW_NAT) {
		check_l4(at + sizeof(struct iphdr), end, p, &to->e);
		translate4(at, at + sizeof(struct iphdr), to);
	}
	count_flow(&to->e, 1, p->length);
	out = xdp_send(ctx, p, &to->e);
	return out == IS_FLOW ? OUT_FORWARDED : out;
}

always int xdp6(struct xdp_md *ctx, struct packet *p, __u32 frame)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct key6 key = { .ifindex = ctx->ingress_ifindex, .way = p->way, .port = p->port };
	void *at = data + p->l2_len;
	struct entry6 *to;
	int out = parse6(at, end, frame - p->l2_len, p, &key);

	if (out != IS_FLOW)
		return out;
	key.proto = p->l4;
	to = bpf_map_lookup_elem(&flows6, &key);
	if (!to)
		return OUT_UNKNOWN;
	out = may_go(&to->e, p, p->length);
	if (unlikely(out != IS_FLOW)) {
		if (out == OUT_TCP && p->tcp_flags & (TCP_FIN | TCP_RST)) {
			to->e.state = STATE_CLOSING;
			close_back6(&key, to);
		}
		if (out == OUT_DROPPED)
			count_flow(&to->e, 1, p->length);
		return out;
	}
	if (bpf_redirect_map(&devices, to->e.ifindex, 0) != XDP_REDIRECT)
		return OUT_NO_DEVICE;
	rewrite6(at);
	if (to->e.flags & FLOW_NAT) {
		check_l4(at + sizeof(struct ipv6hdr), end, p, &to->e);
		translate6(at, at + sizeof(struct ipv6hdr), to);
	}
	count_flow(&to->e, 1, p->length);
	out = xdp_send(ctx, p, &to->e);
	return out == IS_FLOW ? OUT_FORWARDED : out;
}

/* What becomes of a frame that left so. One whose header is half written must not go on. */
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

/* xdp_plain: as xdp_any, of a frame that lies in one piece; MALFORMED when it may not. */
always int xdp_plain(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct packet p = {};

	if (!is_plain(data, end, &p))
		return OUT_MALFORMED;
	return xdp_flow(ctx, &p, (__u32)((long)end - (long)data));
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
	int out = xdp_plain(ctx);

	if (unlikely(out == OUT_MALFORMED))
		out = xdp_any(ctx);
	count_out(out);
	return xdp_verdict(out);
}

/* For the device that frames are sent to: some drivers send only if they have a program, too. */
SEC("xdp.frags")
int fastpath_pass(struct xdp_md *ctx __attribute__((unused)))
{
	return XDP_PASS;
}

#endif
