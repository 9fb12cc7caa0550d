// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * accept QUEUE: receives complete packets from an NFQUEUE and accepts them, to measure inspection
 * without an engine. Prints a line once it listens.
 */
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct request {
	struct nlmsghdr head;
	struct nfgenmsg gen;
	struct nlattr attr;
	char value[16];
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void ask(int fd, int type, unsigned queue, int attribute, const void *value, size_t len)
{
	struct request r = {
		.head.nlmsg_type = NFNL_SUBSYS_QUEUE << 8 | type,
		.head.nlmsg_flags = NLM_F_REQUEST,
		.gen.version = NFNETLINK_V0,
		.gen.res_id = htons(queue),
		.attr.nla_type = attribute,
		.attr.nla_len = sizeof(r.attr) + len,
	};

	memcpy(r.value, value, len);
	r.head.nlmsg_len = offsetof(struct request, value) + NLA_ALIGN(len);
	if (send(fd, &r, r.head.nlmsg_len, 0) < 0)
		fail("accept: send");
}

static void listen_at(int fd, unsigned queue)
{
	struct nfqnl_msg_config_cmd bind = { .command = NFQNL_CFG_CMD_BIND };
	struct nfqnl_msg_config_params params = {
		.copy_range = htonl(0xffff),
		.copy_mode = NFQNL_COPY_PACKET,
	};
	__be32 most = htonl(16384);

	ask(fd, NFQNL_MSG_CONFIG, queue, NFQA_CFG_CMD, &bind, sizeof(bind));
	ask(fd, NFQNL_MSG_CONFIG, queue, NFQA_CFG_PARAMS, &params, sizeof(params));
	ask(fd, NFQNL_MSG_CONFIG, queue, NFQA_CFG_QUEUE_MAXLEN, &most, sizeof(most));
}

static void accept_all(int fd, unsigned queue, struct nlmsghdr *at, int len)
{
	for (; NLMSG_OK(at, (unsigned)len); at = NLMSG_NEXT(at, len)) {
		struct nlattr *attr = (void *)((char *)NLMSG_DATA(at) + sizeof(struct nfgenmsg));
		struct nfqnl_msg_verdict_hdr verdict = { .verdict = htonl(NF_ACCEPT) };
		struct nfqnl_msg_packet_hdr *packet = (void *)(attr + 1);

		/* Packet messages start with this attribute. */
		if (at->nlmsg_type != (NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_PACKET) ||
		    attr->nla_type != NFQA_PACKET_HDR)
			continue;
		verdict.id = packet->packet_id;
		ask(fd, NFQNL_MSG_VERDICT, queue, NFQA_VERDICT_HDR, &verdict, sizeof(verdict));
	}
}

int main(int argc, char **argv)
{
	static char buffer[1 << 17] __attribute__((aligned(8)));
	unsigned queue = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER), size = 64 << 20, len;

	if (fd < 0)
		fail("accept: socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	listen_at(fd, queue);
	puts("listening");
	fflush(stdout);
	while ((len = recv(fd, buffer, sizeof(buffer), 0)) > 0)
		accept_all(fd, queue, (struct nlmsghdr *)buffer, len);
	fail("accept: recv");
}
