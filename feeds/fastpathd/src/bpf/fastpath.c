// SPDX-License-Identifier: GPL-2.0-only
/* The object with all programs. TC (`tc.h`, clsact or TCX) and XDP (`xdp.h`) rewrite and forward
 * packets of known flows before the stack sees them; all other packets go to the stack. The
 * programs need no BTF of the kernel. */
#include <linux/pkt_cls.h>

#include "flow.h"

/* Bytes of a frame that must be contiguous: Ethernet, DSA, two tags, PPPoE, IPv6, TCP. */
#define HEADERS (ETH_HLEN + 8 + 2 * 4 + PPPOE_LEN + 40 + TCP_LEN)

#include "tc.h"
#include "xdp.h"
#include "beat.h"

char _license[] SEC("license") = "GPL";
