/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps: entries of IPv4 and IPv6 flows, control values, exit counters, and devices that XDP may
 * send to. */
#ifndef FASTPATH_MAPS_H
#define FASTPATH_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "layout.h"

/* `fastpath-bpf load` sets max_entries from fastpathd.init. Memory is allocated per entry. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct key4);
	__type(value, struct entry4);
} flows4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct key6);
	__type(value, struct entry6);
} flows6 SEC(".maps");

/*
 * The only variable in section .bss, a map of one element. Reading it as a variable saves the 14
 * instructions of a lookup.
 */
struct control control;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EXIT_PORTS);
	__type(key, __u32);
	__type(value, struct exits);
} exits SEC(".maps");

/* Devices that XDP may send to, by ifindex. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} devices SEC(".maps");

#endif
