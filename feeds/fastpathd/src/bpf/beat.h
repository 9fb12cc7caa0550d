/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon runs this program with BPF_PROG_TEST_RUN to renew the heartbeat, because user space
 * cannot read jiffies, and to start waiting entries. */
#ifndef FASTPATH_BEAT_H
#define FASTPATH_BEAT_H

#include "maps.h"

/*
 * Starts both directions, unless one has ended. Done in a program, because an update from user
 * space would overwrite a concurrent change of `ended`.
 */
always int start(struct entry *one, struct entry *other)
{
	if (one->ended || other->ended)
		return 0;
	one->waiting = 0;
	other->waiting = 0;
	return 1;
}

always int start4(struct __sk_buff *skb)
{
	struct key4 keys[2];
	struct entry4 *one, *other;

	if (bpf_skb_load_bytes(skb, 0, keys, sizeof(keys)))
		return 0;
	one = find4(&keys[0]);
	other = find4(&keys[1]);
	return one && other && start(&one->e, &other->e);
}

always int start6(struct __sk_buff *skb)
{
	struct key6 keys[2];
	struct entry6 *one, *other;

	if (bpf_skb_load_bytes(skb, 0, keys, sizeof(keys)))
		return 0;
	one = find6(&keys[0]);
	other = find6(&keys[1]);
	return one && other && start(&one->e, &other->e);
}

/*
 * With a mark, extends the lifetime of entries to `mark` jiffies from now, and returns LAYOUT. The
 * packet begins with the secret of the entries; 0 keeps the last one. A new secret hides all entries
 * that were written with another one.
 * Without a mark, starts the connection whose two keys are the packet, and returns 1 on success.
 */
SEC("classifier")
int fastpath_beat(struct __sk_buff *skb)
{
	__u64 secret = 0, now = bpf_jiffies64();

	if (!skb->mark)
		return skb->len == 2 * sizeof(struct key4) ? start4(skb) : start6(skb);
	bpf_skb_load_bytes(skb, 0, &secret, sizeof(secret));
	if (secret)
		control.secret = secret;
	else if (!control.secret)
		control.secret = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
	control.layout = LAYOUT;
	control.now = now;
	control.alive_until = now + skb->mark;
	return LAYOUT;
}

#endif
