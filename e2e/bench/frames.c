// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * frames SOCKET: sends frames to a stream socket of QEMU, each after its length. frames DEVICE
 * sends them from a network device; SOCKET contains a slash. Lines on stdin consist of WORD=VALUE:
 *
 *   proto=udp|tcp                  TCP: acknowledged data with consecutive sequence numbers
 *   from=ADDRESS to=ADDRESS        IPv4 or IPv6
 *   sport=N dport=N flows=N        flows: number of source ports, used in turn
 *   count=N size=N                 size: of the frame without VLAN and PPPoE headers
 *   rate=N                         frames per second from a device, by default without pauses
 *   mac=MAC peer=MAC               source and destination
 *   vlan=VID session=N             tags of the frame
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct frame {
	int family, proto;
	unsigned char from[16], to[16], mac[6], peer[6];
	unsigned sport, dport, flows, count, size, rate, vlan, session;
	unsigned char bytes[9216];
	size_t ip, len;
};

static void fail(const char *what, const char *value)
{
	fprintf(stderr, "frames: %s: %s\n", what, value);
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

static void put16(unsigned char *at, unsigned value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static void add16(struct frame *f, unsigned value)
{
	put16(f->bytes + f->len, value);
	f->len += 2;
}

static unsigned sum(const unsigned char *at, size_t len, unsigned start)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		start += at[i] << 8 | at[i + 1];
	if (len & 1)
		start += at[len - 1] << 8;
	return start;
}

static unsigned folded(unsigned value)
{
	while (value >> 16)
		value = (value & 0xffff) + (value >> 16);
	return ~value & 0xffff;
}

static void link_header(struct frame *f)
{
	memcpy(f->bytes, f->peer, 6);
	memcpy(f->bytes + 6, f->mac, 6);
	f->len = 12;
	if (f->vlan) {
		add16(f, 0x8100);
		add16(f, f->vlan);
	}
	add16(f, f->session ? 0x8864 : f->family == 4 ? 0x0800 : 0x86dd);
	if (f->session) {
		add16(f, 0x1100);
		add16(f, f->session);
		add16(f, f->size - f->len - 2);
		add16(f, f->family == 4 ? 0x0021 : 0x0057);
	}
	f->ip = f->len;
}

static void ip_header(struct frame *f)
{
	unsigned char *ip = f->bytes + f->ip;
	unsigned length = f->size - f->ip;

	if (f->family == 4) {
		ip[0] = 0x45;
		put16(ip + 2, length);
		/* DF, because without it GRO requires consecutive IP IDs. */
		put16(ip + 6, 0x4000);
		ip[8] = 64;
		ip[9] = f->proto;
		memcpy(ip + 12, f->from, 4);
		memcpy(ip + 16, f->to, 4);
		put16(ip + 10, folded(sum(ip, 20, 0)));
	} else {
		ip[0] = 0x60;
		put16(ip + 4, length - 40);
		ip[6] = f->proto;
		ip[7] = 64;
		memcpy(ip + 8, f->from, 16);
		memcpy(ip + 24, f->to, 16);
	}
}

static void put32(unsigned char *at, __uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

static unsigned tcp_header(unsigned char *tcp, unsigned length)
{
	static __uint32_t sequence = 1;

	put32(tcp + 4, sequence);
	put32(tcp + 8, 1);
	/* Header of 20 bytes, flag ACK. */
	put16(tcp + 12, 0x5010);
	put16(tcp + 14, 0xffff);
	put32(tcp + 16, 0);
	sequence += length - 20;
	return 16;
}

static unsigned udp_header(unsigned char *udp, unsigned length)
{
	put16(udp + 4, length);
	put16(udp + 6, 0);
	return 6;
}

static void transport_header(struct frame *f, unsigned sport)
{
	size_t at = f->ip + (f->family == 4 ? 20 : 40), addresses = f->family == 4 ? 8 : 32;
	unsigned char *l4 = f->bytes + at;
	unsigned length = f->size - at, check;

	put16(l4, sport);
	put16(l4 + 2, f->dport);
	check = f->proto == IPPROTO_TCP ? tcp_header(l4, length) : udp_header(l4, length);
	put16(l4 + check, folded(sum(l4, length, sum(l4 - addresses, addresses,
						     f->proto + length))));
}

static void word(struct frame *f, const char *name, const char *value)
{
	unsigned number = strtoul(value, NULL, 10);

	if (!strcmp(name, "proto"))
		f->proto = !strcmp(value, "tcp") ? IPPROTO_TCP : IPPROTO_UDP;
	else if (!strcmp(name, "from"))
		f->family = address(value, f->from);
	else if (!strcmp(name, "to"))
		address(value, f->to);
	else if (!strcmp(name, "mac"))
		hardware(value, f->mac);
	else if (!strcmp(name, "peer"))
		hardware(value, f->peer);
	else if (!strcmp(name, "sport"))
		f->sport = number;
	else if (!strcmp(name, "dport"))
		f->dport = number;
	else if (!strcmp(name, "flows"))
		f->flows = number;
	else if (!strcmp(name, "count"))
		f->count = number;
	else if (!strcmp(name, "size"))
		f->size = number;
	else if (!strcmp(name, "rate"))
		f->rate = number;
	else if (!strcmp(name, "vlan"))
		f->vlan = number;
	else if (!strcmp(name, "session"))
		f->session = number;
	else
		fail("unknown word", name);
}

/* The buffer holds all frames, so that the guest never waits for this program. */
static int connected(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int size = 64 << 20, fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (!path || strlen(path) >= sizeof(to.sun_path))
		fail("no socket, or too long a name", path ? path : "");
	strcpy(to.sun_path, path);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		fail("cannot connect to", path);
	return fd;
}

static int bound(const char *device)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = if_nametoindex(device) };
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (!to.sll_ifindex || bind(fd, (struct sockaddr *)&to, sizeof(to)))
		fail("cannot send from", device);
	return fd;
}

static void write_all(int fd, const unsigned char *at, size_t len)
{
	while (len) {
		ssize_t n = write(fd, at, len < 65536 ? len : 65536);

		if (n <= 0)
			fail("cannot write to", "the socket");
		at += n;
		len -= n;
	}
}

#define BATCH 64

/* Each frame in BYTES follows its length, which a device does not get. */
static void send_paced(int fd, unsigned char *bytes, const struct frame *f)
{
	size_t gap = sizeof(__uint32_t), one = gap + f->size;

	for (unsigned sent = 0; sent < f->count;) {
		struct mmsghdr messages[BATCH] = { 0 };
		struct iovec parts[BATCH];
		unsigned number = f->count - sent < BATCH ? f->count - sent : BATCH;
		int done;

		for (unsigned i = 0; i < number; i++) {
			parts[i].iov_base = bytes + (sent + i) * one + gap;
			parts[i].iov_len = f->size;
			messages[i].msg_hdr.msg_iov = parts + i;
			messages[i].msg_hdr.msg_iovlen = 1;
		}
		done = sendmmsg(fd, messages, number, 0);
		if (done < 0 && errno != ENOBUFS)
			fail("cannot send", strerror(errno));
		sent += done < 0 ? 0 : done;
		if (f->rate || done < 0)
			usleep(f->rate ? number * 1000000ull / f->rate : 1000);
	}
}

static void send_frames(int fd, struct frame *f, int paced)
{
	unsigned char *bytes, *at;
	__uint32_t length;
	size_t one;

	f->size += (f->vlan ? 4 : 0) + (f->session ? 8 : 0);
	if (f->size > sizeof(f->bytes) || f->size < (f->family == 4 ? 54u : 74u))
		fail("no frame is of this", "size");
	length = htonl(f->size);
	one = sizeof(length) + f->size;
	bytes = at = malloc(one * f->count);
	if (!bytes)
		fail("no memory for", "the frames");
	link_header(f);
	ip_header(f);
	for (unsigned i = 0; i < f->count; i++, at += one) {
		transport_header(f, f->sport + i % f->flows);
		memcpy(at, &length, sizeof(length));
		memcpy(at + sizeof(length), f->bytes, f->size);
	}
	if (paced)
		send_paced(fd, bytes, f);
	else
		write_all(fd, bytes, at - bytes);
	free(bytes);
}

int main(int argc, char **argv)
{
	static char line[1024];
	int paced = argc > 1 && !strchr(argv[1], '/');
	int fd = paced ? bound(argv[1]) : connected(argc > 1 ? argv[1] : NULL);

	while (fgets(line, sizeof(line), stdin)) {
		struct frame f = { .proto = IPPROTO_UDP, .flows = 1, .count = 1, .size = 60 };

		for (char *at = strtok(line, " \n"); at; at = strtok(NULL, " \n")) {
			char *value = strchr(at, '=');

			if (!value)
				fail("no value", at);
			*value = 0;
			word(&f, at, value + 1);
		}
		send_frames(fd, &f, paced);
	}
	return 0;
}
