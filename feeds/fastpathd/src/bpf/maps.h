/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps of the programs. */
#ifndef FASTPATH_MAPS_H
#define FASTPATH_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "layout.h"

/* `fastpath-bpf load` overrides max_entries. Memory is allocated per entry. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct entry4);
} flows4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct entry6);
} flows6 SEC(".maps");

/* The only variable in .bss; unlike a map, it needs no lookup, which takes 14 instructions. */
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
