// SPDX-License-Identifier: GPL-2.0-or-later
// Wraps ptrace() for user-mode Linux 6.12 on CPUs with AMX; preloaded.
// The kernel accepts a process's extended state (XSAVE, NT_X86_XSTATE) only in full size, otherwise
// fails with EFAULT (xstateregs_set in arch/x86/kernel/fpu/regset.c). User-mode Linux has 2696
// bytes (HOST_FP_SIZE in arch/x86/um/user-offsets.c), up to AVX-512 and PKRU; AMX needs 11008. The
// rest gets its initial state, because processes cannot request AMX.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

// Offset of XSTATE_BV, the components not in their initial state, and the components within 2696
// bytes: x87 (0) to PKRU (9). Intel SDM volume 1, 13.4.
#define XSTATE_BV 512
#define HELD 0x3ffULL

typedef long call(enum __ptrace_request, ...);

// Writes the registers, padded to the size that the kernel requires.
static long set_state(call *real, enum __ptrace_request request, pid_t pid, void *set,
                      const struct iovec *given)
{
	static char full[1 << 16];
	struct iovec state = {full, sizeof full};
	unsigned long long components;

	if (real(PTRACE_GETREGSET, pid, set, &state) < 0)
		return -1;
	if (state.iov_len > given->iov_len) {
		memset(full, 0, state.iov_len);
		memcpy(full, given->iov_base, given->iov_len);
		memcpy(&components, full + XSTATE_BV, sizeof components);
		components &= HELD;
		memcpy(full + XSTATE_BV, &components, sizeof components);
		return real(request, pid, set, &state);
	}
	return real(request, pid, set, given);
}

long ptrace(enum __ptrace_request request, ...)
{
	static call *real;
	va_list arguments;
	pid_t pid;
	void *address, *data;

	if (!real)
		real = (call *)dlsym(RTLD_NEXT, "ptrace");
	va_start(arguments, request);
	pid = va_arg(arguments, pid_t);
	address = va_arg(arguments, void *);
	data = va_arg(arguments, void *);
	va_end(arguments);
	if (request == PTRACE_SETREGSET && (unsigned long)address == NT_X86_XSTATE)
		return set_state(real, request, pid, address, data);
	return real(request, pid, address, data);
}
