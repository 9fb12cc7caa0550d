// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * entries WORD=VALUE…: writes entries to the pinned maps like the daemon, with one bpf(2) call
 * each. Prints the nanoseconds of the calls.
 *
 *   hook=tc|xdp                    hook of the header: tags in metadata or in the frame
 *   proto=udp|tcp
 *   from=ADDRESS to=ADDRESS        addresses of the packet, IPv4 or IPv6
 *   sport=N dport=N count=N        count: number of flows, with consecutive source ports
 *   in=IFINDEX in_vlan=VID in_session=N own=MAC    own: the gateway's MAC at ingress
 *   new_from=… new_to=… new_sport=… new_dport=…     default: unchanged
 *   out=IFINDEX vlan=VID session=N
 *   mac=MAC peer=MAC mtu=N
 */
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "layout.h"

struct side {
	unsigned char from[16], to[16];
	unsigned sport, dport;
};

struct flow {
	int family, is_xdp, proto;
	struct side old, new;
	unsigned count, in, in_vlan, in_session;
	unsigned out, vlan, session, mtu;
	int has_vlan, has_session;
	unsigned char own[6], mac[6], peer[6];
};

static void fail(const char *what, const char *value)
{
	fprintf(stderr, "entries: %s: %s\n", what, value);
	exit(1);
}

static int address(const char *text, unsigned char *to)
{
	if (inet_pton(AF_INET, text, to) == 1)
		return 4;
	if (inet_pton(AF_INET6, text, to) == 1)
		return 6;
	fail("no address", text);
	return 0;
}

static void hardware(const char *text, unsigned char *to)
{
	if (sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", to, to + 1, to + 2, to + 3, to + 4,
		   to + 5) != 6)
		fail("no MAC address", text);
}

static unsigned fold(unsigned sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	/* Ones' complement: 0 and 0xffff both mean no change. */
	return sum == 0xffff ? 0 : sum;
}

static unsigned delta(const void *old, const void *new, size_t len)
{
	unsigned sum = 0;

	for (size_t i = 0; i < len; i += 2) {
		__u16 a, b;

		memcpy(&a, (const char *)old + i, 2);
		memcpy(&b, (const char *)new + i, 2);
		sum += (__u16)~a + b;
	}
	return fold(sum);
}

static void put16(unsigned char **at, unsigned value)
{
	*(*at)++ = value >> 8;
	*(*at)++ = value;
}

static void header(const struct flow *f, struct entry *e)
{
	unsigned char *at = e->header;
	unsigned type = f->family == 4 ? 0x0800 : 0x86dd;

	memcpy(at, f->peer, 6);
	memcpy(at + 6, f->mac, 6);
	at += 12;
	if (f->has_vlan && f->is_xdp) {
		put16(&at, 0x8100);
		put16(&at, f->vlan);
	} else if (f->has_vlan) {
		e->outer_tci = f->vlan;
		e->outer_proto = htons(0x8100);
	}
	put16(&at, f->has_session ? 0x8864 : type);
	if (f->has_session) {
		e->flags |= FLOW_PPPOE;
		put16(&at, 0x1100);
		put16(&at, f->session);
		put16(&at, 0);
		put16(&at, f->family == 4 ? 0x0021 : 0x0057);
	}
	e->header_len = at - e->header;
	if (e->header_len == 14 && !e->outer_proto)
		e->flags |= FLOW_PLAIN;
}

static void common(const struct flow *f, const struct side *old, const struct side *new,
		   struct entry *e)
{
	unsigned char ttl[2] = { 1, 0 }, less[2] = { 0, 0 };
	__be16 was[2] = { htons(old->sport), htons(old->dport) };
	__be16 is[2] = { htons(new->sport), htons(new->dport) };
	unsigned addresses = delta(old->from, new->from, 16) + delta(old->to, new->to, 16);

	e->ifindex = f->out;
	e->mtu = f->mtu;
	e->sport = is[0];
	e->dport = is[1];
	e->address_delta = fold(addresses);
	e->port_delta = delta(was, is, 4);
	e->l4_delta = fold(e->address_delta + e->port_delta);
	e->l3_delta = fold(addresses + delta(ttl, less, 2));
	if (memcmp(old, new, sizeof(*old)))
		e->flags |= FLOW_NAT;
	memcpy(&e->own_begin, f->own, 2);
	memcpy(&e->own_end, f->own + 2, 4);
	e->back_ifindex = f->out;
	e->back.outer = f->has_vlan ? f->vlan | TAG_PRESENT : 0;
	e->back.session = htons(f->session);
	header(f, e);
}

static __u64 pointer(const void *to)
{
	return (unsigned long)to;
}

static int map_at(const char *path)
{
	union bpf_attr ask = { .pathname = pointer(path) };
	int map = syscall(__NR_bpf, BPF_OBJ_GET, &ask, sizeof(ask));

	if (map < 0)
		fail("cannot open", path);
	return map;
}

static __u64 secret(void)
{
	struct control control = { 0 };
	__u32 zero = 0;
	union bpf_attr ask = {
		.map_fd = map_at("/bpf/m/fastpath_bss"),
		.key = pointer(&zero),
		.value = pointer(&control),
	};

	if (syscall(__NR_bpf, BPF_MAP_LOOKUP_ELEM, &ask, sizeof(ask)))
		fail("cannot read", "the secret");
	return control.secret;
}

static unsigned long long now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000ull + at.tv_nsec;
}

static unsigned long long put(int map, __u64 key, const void *entry)
{
	union bpf_attr ask = { .map_fd = map, .key = pointer(&key), .value = pointer(entry) };
	unsigned long long start = now();

	if (syscall(__NR_bpf, BPF_MAP_UPDATE_ELEM, &ask, sizeof(ask)))
		fail("cannot put", "an entry");
	return now() - start;
}

static unsigned long long one(const struct flow *f, int map, __u64 hidden,
			      const struct side *old, const struct side *new)
{
	struct encap encap = {
		.outer = f->in_vlan ? f->in_vlan | TAG_PRESENT : 0,
		.session = htons(f->in_session),
	};

	if (f->family == 4) {
		struct key4 key = { .ifindex = f->in, .encap = encap, .proto = f->proto };
		struct entry4 entry = { 0 };

		memcpy(&key.src, old->from, 4);
		memcpy(&key.dst, old->to, 4);
		key.sport = htons(old->sport);
		key.dport = htons(old->dport);
		common(f, old, new, &entry.e);
		memcpy(&entry.src, new->from, 4);
		memcpy(&entry.dst, new->to, 4);
		entry.key = key;
		return put(map, flow_hash(&key, sizeof(key), hidden), &entry);
	} else {
		struct key6 key = { .ifindex = f->in, .encap = encap, .proto = f->proto };
		struct entry6 entry = { 0 };

		memcpy(&key.src, old->from, 16);
		memcpy(&key.dst, old->to, 16);
		key.sport = htons(old->sport);
		key.dport = htons(old->dport);
		common(f, old, new, &entry.e);
		memcpy(&entry.src, new->from, 16);
		memcpy(&entry.dst, new->to, 16);
		entry.key = key;
		return put(map, flow_hash(&key, sizeof(key), hidden), &entry);
	}
}

static void word(struct flow *f, const char *name, const char *value)
{
	unsigned number = strtoul(value, NULL, 10);

	if (!strcmp(name, "hook"))
		f->is_xdp = !strcmp(value, "xdp");
	else if (!strcmp(name, "proto"))
		f->proto = !strcmp(value, "tcp") ? IPPROTO_TCP : IPPROTO_UDP;
	else if (!strcmp(name, "from"))
		f->family = address(value, f->old.from), address(value, f->new.from);
	else if (!strcmp(name, "to"))
		address(value, f->old.to), address(value, f->new.to);
	else if (!strcmp(name, "sport"))
		f->old.sport = f->new.sport = number;
	else if (!strcmp(name, "dport"))
		f->old.dport = f->new.dport = number;
	else if (!strcmp(name, "count"))
		f->count = number;
	else if (!strcmp(name, "in"))
		f->in = number;
	else if (!strcmp(name, "in_vlan"))
		f->in_vlan = number;
	else if (!strcmp(name, "in_session"))
		f->in_session = number;
	else if (!strcmp(name, "new_from"))
		address(value, f->new.from);
	else if (!strcmp(name, "new_to"))
		address(value, f->new.to);
	else if (!strcmp(name, "new_sport"))
		f->new.sport = number;
	else if (!strcmp(name, "new_dport"))
		f->new.dport = number;
	else if (!strcmp(name, "out"))
		f->out = number;
	else if (!strcmp(name, "vlan"))
		f->vlan = number, f->has_vlan = 1;
	else if (!strcmp(name, "session"))
		f->session = number, f->has_session = 1;
	else if (!strcmp(name, "own"))
		hardware(value, f->own);
	else if (!strcmp(name, "mac"))
		hardware(value, f->mac);
	else if (!strcmp(name, "peer"))
		hardware(value, f->peer);
	else if (!strcmp(name, "mtu"))
		f->mtu = number;
	else
		fail("unknown word", name);
}

int main(int argc, char **argv)
{
	struct flow f = { .count = 1, .mtu = 1500, .proto = IPPROTO_UDP };
	unsigned long long took = 0;
	__u64 hidden;
	int map;

	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			fail("no value", argv[i]);
		*value = 0;
		word(&f, argv[i], value + 1);
	}
	map = map_at(f.family == 4 ? "/bpf/m/flows4" : "/bpf/m/flows6");
	hidden = secret();
	for (unsigned i = 0; i < f.count; i++) {
		struct side old = f.old, new = f.new;

		old.sport += i;
		new.sport += i;
		took += one(&f, map, hidden, &old, &new);
	}
	printf("%llu\n", took);
	return 0;
}
