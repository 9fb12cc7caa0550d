// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Usage: strict OBJECT. Loads all programs of an object with strict alignment checks, which apply
 * on machines without unaligned access, such as MIPS and older ARM.
 */
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdio.h>

static const char *const small[] = { "flows4", "flows6" };

int main(int argc, char **argv)
{
	struct bpf_object *object = argc == 2 ? bpf_object__open(argv[1]) : NULL;
	struct bpf_program *program;

	if (!object)
		return 2;
	for (int i = 0; i < 2; i++)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(object, small[i]), 16);
	bpf_object__for_each_program(program, object)
		bpf_program__set_flags(program,
				       bpf_program__flags(program) | BPF_F_STRICT_ALIGNMENT);
	return bpf_object__load(object) ? 1 : 0;
}
