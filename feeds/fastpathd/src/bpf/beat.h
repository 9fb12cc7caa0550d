/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon's beat (BPF_PROG_TEST_RUN): until when entries are used, in jiffies, which are known
 * to programs only; the version of the layout. */
#ifndef FASTPATH_BEAT_H
#define FASTPATH_BEAT_H

#include "maps.h"

/*
 * Run by BPF_PROG_TEST_RUN. The mark is for how many jiffies from now on entries are used. Returns
 * the layout of entries that the other programs expect.
 */
SEC("classifier")
int fastpath_beat(struct __sk_buff *skb)
{
	__u64 now = bpf_jiffies64();

	control.layout = LAYOUT;
	control.now = now;
	control.alive_until = now + skb->mark;
	return LAYOUT;
}

#endif
