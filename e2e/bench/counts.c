// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Plugin of QEMU: counts the instructions of each CPU in a file of 64-bit numbers,
 * -plugin counts.so,to=PATH. qemu-plugin.h is in no package of Debian, so its prototypes are here.
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CPUS 8

struct qemu_plugin_tb;
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
					   void (*call)(uint64_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*call)(unsigned cpu, void *data), int flags,
					  void *data);

/* QEMU 9 and later refuse 1, older ones refuse 2. */
int qemu_plugin_version = API;

static uint64_t *counts;

static void executed(unsigned cpu, void *instructions)
{
	if (cpu < CPUS)
		counts[cpu] += (uintptr_t)instructions;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, 0,
					     (void *)(uintptr_t)qemu_plugin_tb_n_insns(tb));
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	const size_t size = CPUS * sizeof(*counts);
	int fd;

	(void)info;
	if (argc != 1 || strncmp(argv[0], "to=", 3))
		return -1;
	fd = open(argv[0] + 3, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || ftruncate(fd, size))
		return -1;
	counts = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
