/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way of packets through the switch; part of mock_switch.c. */
struct packet {
	struct flow_key key;
	unsigned int at, transport;
};

/* Reads the headers of a frame; false for packets that hardware leaves to the CPU. */
static bool read_packet(struct sk_buff *skb, int ingress, struct packet *packet)
{
	struct flow_key *key = &packet->key;
	unsigned int at = ETH_HLEN;
	__be16 proto = eth_hdr(skb)->h_proto;

	memset(packet, 0, sizeof(*packet));
	key->ingress = ingress;
	while (eth_type_vlan(proto)) {
		if (at > ETH_HLEN + VLAN_HLEN || !pskb_may_pull(skb, at + VLAN_HLEN))
			return false;
		proto = ((struct vlan_hdr *)(skb->data + at))->h_vlan_encapsulated_proto;
		at += VLAN_HLEN;
	}
	if (proto == htons(ETH_P_PPP_SES)) {
		if (!pskb_may_pull(skb, at + PPPOE_SES_HLEN))
			return false;
		switch (get_unaligned_be16(skb->data + at + sizeof(struct pppoe_hdr))) {
		case PPP_IP:
			proto = htons(ETH_P_IP);
			break;
		case PPP_IPV6:
			proto = htons(ETH_P_IPV6);
			break;
		default:
			return false;
		}
		at += PPPOE_SES_HLEN;
	}
	packet->at = at;
	key->l3 = proto;
	if (proto == htons(ETH_P_IP)) {
		struct iphdr *ip;

		if (!pskb_may_pull(skb, at + sizeof(*ip)))
			return false;
		ip = (void *)(skb->data + at);
		if (ip->ihl != 5 || ip_is_fragment(ip) || ip->ttl <= 1)
			return false;
		key->l4 = ip->protocol;
		key->source.s6_addr32[0] = ip->saddr;
		key->destination.s6_addr32[0] = ip->daddr;
		at += sizeof(*ip);
	} else if (proto == htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip;

		if (!pskb_may_pull(skb, at + sizeof(*ip)))
			return false;
		ip = (void *)(skb->data + at);
		if (ip->hop_limit <= 1)
			return false;
		key->l4 = ip->nexthdr;
		key->source = ip->saddr;
		key->destination = ip->daddr;
		at += sizeof(*ip);
	} else {
		return false;
	}
	packet->transport = at;
	if (key->l4 == IPPROTO_TCP) {
		struct tcphdr *tcp;

		if (!pskb_may_pull(skb, at + sizeof(*tcp)))
			return false;
		tcp = (void *)(skb->data + at);
		if (tcp->fin || tcp->rst || tcp->syn)
			return false;
	} else if (key->l4 != IPPROTO_UDP || !pskb_may_pull(skb, at + sizeof(struct udphdr))) {
		return false;
	}
	memcpy(&key->sport, skb->data + at, sizeof(__be16));
	memcpy(&key->dport, skb->data + at + sizeof(__be16), sizeof(__be16));
	return true;
}

static unsigned int transport_length(const struct flow_key *key)
{
	return key->l4 == IPPROTO_TCP ? sizeof(struct tcphdr) : sizeof(struct udphdr);
}

static __sum16 *checksum(struct sk_buff *skb, const struct packet *packet)
{
	void *transport = skb->data + packet->transport;

	if (packet->key.l4 == IPPROTO_TCP)
		return &((struct tcphdr *)transport)->check;
	if (!((struct udphdr *)transport)->check && skb->ip_summed != CHECKSUM_PARTIAL)
		return NULL;
	return &((struct udphdr *)transport)->check;
}

static void rewrite(struct sk_buff *skb, const struct packet *packet, const struct entry *entry)
{
	__sum16 *sum = checksum(skb, packet);
	int i;

	for (i = 0; i < entry->mangle_count; i++) {
		const struct mangle *mangle = &entry->mangles[i];
		bool ip4 = mangle->header == FLOW_ACT_MANGLE_HDR_TYPE_IP4;
		bool address = ip4 || mangle->header == FLOW_ACT_MANGLE_HDR_TYPE_IP6;
		unsigned int at = address ? packet->at : packet->transport;
		__be32 *word, before;

		if (mangle->header == FLOW_ACT_MANGLE_HDR_TYPE_ETH)
			at = 0;
		word = (void *)(skb->data + at + mangle->offset);
		before = *word;
		*word = (__force __be32)(((__force u32)before & mangle->mask) | mangle->value);
		if (mangle->header == FLOW_ACT_MANGLE_HDR_TYPE_ETH)
			continue;
		if (ip4)
			csum_replace4(&((struct iphdr *)(skb->data + packet->at))->check, before,
				      *word);
		if (sum)
			inet_proto_csum_replace4(sum, skb, before, *word, address);
	}
	if (sum && !*sum && packet->key.l4 == IPPROTO_UDP)
		*sum = CSUM_MANGLED_0;
	if (packet->key.l3 == htons(ETH_P_IP))
		ip_decrease_ttl((struct iphdr *)(skb->data + packet->at));
	else
		((struct ipv6hdr *)(skb->data + packet->at))->hop_limit--;
}

/* Replaces the headers between Ethernet and IP. */
static bool encapsulate(struct sk_buff *skb, const struct packet *packet, const struct entry *entry)
{
	unsigned int new = ETH_HLEN + (entry->ppp ? PPPOE_SES_HLEN : 0);
	unsigned int length = skb->len - packet->at;
	u8 addresses[2 * ETH_ALEN];
	int i;

	memcpy(addresses, skb->data, sizeof(addresses));
	__vlan_hwaccel_clear_tag(skb);
	skb_postpull_rcsum(skb, skb->data, packet->at);
	__skb_pull(skb, packet->at);
	if (skb_cow_head(skb, new + MAX_TAGS * VLAN_HLEN))
		return false;
	skb_reset_network_header(skb);
	__skb_push(skb, new);
	skb_reset_mac_header(skb);
	skb->mac_len = ETH_HLEN;
	memcpy(skb->data, addresses, sizeof(addresses));
	eth_hdr(skb)->h_proto = packet->key.l3;
	if (entry->ppp) {
		struct pppoe_hdr *header = (void *)(skb->data + ETH_HLEN);

		eth_hdr(skb)->h_proto = htons(ETH_P_PPP_SES);
		header->ver = 1;
		header->type = 1;
		header->code = 0;
		header->sid = htons(entry->session);
		header->length = htons(length + 2);
		put_unaligned_be16(packet->key.l3 == htons(ETH_P_IP) ? PPP_IP : PPP_IPV6,
				   header + 1);
	}
	skb->protocol = eth_hdr(skb)->h_proto;
	if (skb->ip_summed == CHECKSUM_COMPLETE)
		skb->ip_summed = CHECKSUM_NONE;
	/* The first tag is the outer one. */
	for (i = entry->tags - 1; i >= 0; i--) {
		skb = vlan_insert_tag_set_proto(skb, htons(ETH_P_8021Q), entry->vid[i]);
		if (!skb)
			return false;
	}
	return true;
}

/* Forwards the packet; false if the CPU has to. */
static bool forward(struct sk_buff *skb, struct net_device *port)
{
	struct net_device *out = NULL;
	struct entry *entry;
	struct packet packet;

	skb_reset_mac_header(skb);
	if (is_multicast_ether_addr(eth_hdr(skb)->h_dest) ||
	    !read_packet(skb, port->ifindex, &packet) ||
	    skb_ensure_writable(skb, packet.transport + transport_length(&packet.key)))
		return false;
	spin_lock(&lock);
	hash_for_each_possible(by_key, entry, by_key, key_hash(&packet.key)) {
		if (memcmp(&entry->key, &packet.key, sizeof(packet.key)))
			continue;
		if (skb->len - packet.at + (entry->ppp ? PPPOE_SES_HLEN : 0) > entry->out->mtu)
			break;
		entry->bytes += skb->len - packet.at;
		entry->packets++;
		entry->last = get_jiffies_64();
		hits++;
		rewrite(skb, &packet, entry);
		out = encapsulate(skb, &packet, entry) ? entry->out : ERR_PTR(-ENOMEM);
		break;
	}
	spin_unlock(&lock);
	if (!out)
		return false;
	if (IS_ERR(out) || !netif_running(out)) {
		kfree_skb(skb);
		return true;
	}
	skb->dev = out;
	skb_set_queue_mapping(skb, 0);
	veth_ops->ndo_start_xmit(skb, out);
	return true;
}

static netdev_tx_t cable_xmit(struct sk_buff *skb, struct net_device *cable)
{
	struct net_device *port = veth_ops->ndo_get_peer_dev(cable);

	if (!port || !netif_running(port) || !is_port(port))
		return veth_ops->ndo_start_xmit(skb, cable);
	/* A wire carries no segments to be. */
	if (skb_is_gso(skb)) {
		struct sk_buff *segment, *next, *segments = skb_gso_segment(skb, 0);

		if (!IS_ERR_OR_NULL(segments)) {
			consume_skb(skb);
			skb_list_walk_safe(segments, segment, next) {
				skb_mark_not_on_list(segment);
				cable_xmit(segment, cable);
			}
			return NETDEV_TX_OK;
		}
	}
	if (forward(skb, port))
		return NETDEV_TX_OK;
	return veth_ops->ndo_start_xmit(skb, cable);
}
