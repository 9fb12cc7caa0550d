// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Plugin of QEMU 9.0 or newer (plugin API 2): counts the instructions of all virtual CPUs. The
 * argument to=FIFO names a pipe; each program that opens it reads the count.
 * The declarations are those of QEMU's qemu-plugin.h, which Debian does not package.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_scoreboard;
typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
uint64_t qemu_plugin_u64_sum(qemu_plugin_u64 entry);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
					   void (*cb)(uint64_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb, int op,
						       qemu_plugin_u64 entry, uint64_t imm);

EXPORT int qemu_plugin_version = 2;
static qemu_plugin_u64 count;
static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	/* QEMU_PLUGIN_INLINE_ADD_U64 is 0. */
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, 0, count, qemu_plugin_tb_n_insns(tb));
}

static void *answer(void *fifo)
{
	sigset_t pipe;
	int fd;

	/* A reader may be gone before the write. */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	while ((fd = open(fifo, O_WRONLY)) >= 0) {
		dprintf(fd, "%llu\n", (unsigned long long)qemu_plugin_u64_sum(count));
		close(fd);
		/* The reader has to close the pipe before it is opened again. */
		usleep(10000);
	}
	return NULL;
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	pthread_t thread;

	(void)info;
	if (argc != 1 || strncmp(argv[0], "to=", 3))
		return 1;
	count.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return pthread_create(&thread, NULL, answer, strdup(argv[0] + 3));
}
