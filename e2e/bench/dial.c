// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dial ADDRESS COUNT RATE: opens COUNT UDP connections to port 9 of ADDRESS, RATE per second, from
 * consecutive source ports starting at 1024. Each has three sequential round trips. Fails if an
 * answer is missing.
 * dial: runs the server.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SERVER 9
#define FIRST_PORT 1024
#define ROUND_TRIPS 3

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int bound(unsigned port)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0)
		fail("socket");
	if (bind(fd, (struct sockaddr *)&own, sizeof(own)))
		fail("bind");
	return fd;
}

static void serve(void)
{
	struct sockaddr_in from;
	char buffer[64];
	int fd = bound(SERVER);

	for (;;) {
		socklen_t size = sizeof(from);
		ssize_t n = recvfrom(fd, buffer, sizeof(buffer), 0, (struct sockaddr *)&from, &size);

		if (n < 0)
			fail("recvfrom");
		if (sendto(fd, buffer, n, 0, (struct sockaddr *)&from, size) != n)
			fail("sendto");
	}
}

static void dial(struct in_addr server, unsigned port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SERVER),
				  .sin_addr = server };
	struct timeval limit = { .tv_sec = 2 };
	char buffer[18] = { 0 };
	int fd = bound(port);

	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		fail("connect");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		fail("setsockopt");
	for (int trip = 0; trip < ROUND_TRIPS; trip++) {
		if (send(fd, buffer, sizeof(buffer), 0) != sizeof(buffer))
			fail("send");
		if (recv(fd, buffer, sizeof(buffer), 0) != sizeof(buffer))
			fail("no answer");
	}
	close(fd);
}

int main(int argc, char **argv)
{
	struct timespec next;
	struct in_addr server;

	if (argc == 1)
		serve();
	if (argc != 4 || inet_pton(AF_INET, argv[1], &server) != 1 || atol(argv[3]) <= 0) {
		fprintf(stderr, "usage: dial [ADDRESS COUNT RATE]\n");
		return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long i = 0; i < atol(argv[2]); i++) {
		dial(server, FIRST_PORT + i);
		next.tv_nsec += 1000000000 / atol(argv[3]);
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return 0;
}
