// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * connect ADDRESS PORT FIRST COUNT: opens COUNT TCP connections to PORT of ADDRESS, one each
 * millisecond, from consecutive source ports starting at FIRST. Closes each after HELD more are
 * open. No data is sent. Fails if the server does not accept or close a connection.
 * connect PORT: runs the server, which closes a connection when its client does.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define HELD 100
#define INTERVAL_NS 1000000

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int bound(unsigned port)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		fail("socket");
	if (bind(fd, (struct sockaddr *)&own, sizeof(own)))
		fail("bind");
	return fd;
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		fail("epoll_ctl");
}

static void serve(unsigned port)
{
	int listener = bound(port), epoll = epoll_create1(0);
	struct epoll_event event;

	if (listen(listener, HELD))
		fail("listen");
	watch(epoll, listener);
	while (epoll_wait(epoll, &event, 1, -1) == 1)
		if (event.data.fd == listener)
			watch(epoll, accept(listener, NULL, NULL));
		else
			close(event.data.fd);
	fail("epoll_wait");
}

static int dial(struct in_addr server, unsigned port, unsigned from)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port),
				  .sin_addr = server };
	struct timeval limit = { .tv_sec = 2 };
	int fd = bound(from);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)))
		fail("setsockopt");
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		fail("connect");
	return fd;
}

static void hang_up(int fd)
{
	char byte;

	if (shutdown(fd, SHUT_WR))
		fail("shutdown");
	if (recv(fd, &byte, 1, 0))
		fail("the server does not close");
	close(fd);
}

int main(int argc, char **argv)
{
	int held[HELD];
	struct timespec next;
	struct in_addr server;
	long i, count;

	if (argc == 2)
		serve(atoi(argv[1]));
	if (argc != 5 || inet_pton(AF_INET, argv[1], &server) != 1 || atol(argv[4]) < HELD) {
		fprintf(stderr, "usage: connect PORT | ADDRESS PORT FIRST COUNT\n");
		return 2;
	}
	count = atol(argv[4]);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (i = 0; i < count; i++) {
		if (i >= HELD)
			hang_up(held[i % HELD]);
		held[i % HELD] = dial(server, atoi(argv[2]), atoi(argv[3]) + i);
		next.tv_nsec += INTERVAL_NS;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	for (; i < count + HELD; i++)
		hang_up(held[i % HELD]);
	return 0;
}
