// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drops every packet at ingress, to measure the cost outside the measured code; or redirects it by
 * its addresses, as an offload of a bridge does.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

SEC("tc")
int drop_tc(struct __sk_buff *skb __attribute__((unused)))
{
	return TC_ACT_SHOT;
}

SEC("xdp.frags")
int drop_xdp(struct xdp_md *ctx __attribute__((unused)))
{
	return XDP_DROP;
}

/* A station behind a port, as the bridge has learnt it, and the port of the other station. */
struct stations {
	unsigned char dest[ETH_ALEN], source[ETH_ALEN];
	__u32 ifindex;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct stations);
	__type(value, __u32);
} stations SEC(".maps");

SEC("tc")
int bridge_tc(struct __sk_buff *skb)
{
	struct ethhdr *eth = (void *)(long)skb->data;
	struct stations key = { .ifindex = skb->ifindex };
	__u32 *to;

	if ((void *)(eth + 1) > (void *)(long)skb->data_end)
		return TC_ACT_OK;
	__builtin_memcpy(key.dest, eth, sizeof(key.dest) + sizeof(key.source));
	to = bpf_map_lookup_elem(&stations, &key);
	return to ? bpf_redirect(*to, 0) : TC_ACT_OK;
}

char _license[] SEC("license") = "GPL";
