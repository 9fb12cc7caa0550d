// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stream                             serves: receives TCP streams at port 5201
 * stream ADDRESS PORT FLOWS BLOCKS   connects FLOWS sockets from PORT and up, prints a line, waits
 *                                    for one, and sends BLOCKS of 128 KiB by each
 *
 * The server answers each block with a byte, for which the client waits: on one CPU, the size of
 * batches would otherwise depend on when the scheduler runs which end, and costs vary by a tenth.
 * iperf3 cannot do that, and it cannot wait between the connection, after which a program gets its
 * entries, and the data.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVER 5201
#define BLOCK (128 << 10)

static char block[BLOCK];

static void check(long result, const char *what)
{
	if (result >= 0)
		return;
	perror(what);
	exit(1);
}

/* Buffers of a fixed size, because their growth differs from run to run. */
static int stream_socket(struct sockaddr_in *to)
{
	int yes = 1, size = 256 << 10, fd = socket(AF_INET, SOCK_STREAM, 0);

	check(fd, "socket");
	check(setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)), "SO_SNDBUF");
	check(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)), "SO_RCVBUF");
	check(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), "SO_REUSEADDR");
	check(bind(fd, (struct sockaddr *)to, sizeof(*to)), "bind");
	return fd;
}

static void serve(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(SERVER) };
	int fd = stream_socket(&at);

	check(listen(fd, 64), "listen");
	for (;;) {
		int from = accept(fd, NULL, NULL);

		check(from, "accept");
		if (!fork()) {
			while (recv(from, block, BLOCK, MSG_WAITALL) == BLOCK)
				check(write(from, block, 1), "write");
			exit(0);
		}
		close(from);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static void send_blocks(int fd, long blocks)
{
	char answer;

	for (; blocks; blocks--) {
		check(write(fd, block, BLOCK) == BLOCK ? 0 : -1, "write");
		check(read(fd, &answer, 1) == 1 ? 0 : -1, "read");
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in from = { .sin_family = AF_INET }, to = {
		.sin_family = AF_INET,
		.sin_port = htons(SERVER),
	};
	int flows, status, failed = 0, *fds;

	if (argc < 5)
		serve();
	flows = atoi(argv[3]);
	fds = calloc(flows, sizeof(*fds));
	if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 || !fds)
		return 1;
	for (int i = 0; i < flows; i++) {
		from.sin_port = htons(atoi(argv[2]) + i);
		fds[i] = stream_socket(&from);
		check(connect(fds[i], (struct sockaddr *)&to, sizeof(to)), "connect");
	}
	puts("connected");
	fflush(stdout);
	check(read(STDIN_FILENO, block, BLOCK), "stdin");
	for (int i = 0; i < flows; i++) {
		if (!fork()) {
			send_blocks(fds[i], atol(argv[4]));
			exit(0);
		}
		close(fds[i]);
	}
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}
