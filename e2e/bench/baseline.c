// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drops every packet at ingress, to measure the cost outside the measured code.
 */
#include <linux/bpf.h>
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

char _license[] SEC("license") = "GPL";
