// SPDX-License-Identifier: GPL-2.0-only
/* The object of all programs: TC (`tc.h`, clsact or TCX) and XDP (`xdp.h`) rewrite packets of known
 * flows and send them on before the stack sees them; everything else goes to the stack. No BTF of
 * the kernel is needed. */
#include <linux/pkt_cls.h>

#include "flow.h"

/* Bytes of a frame that have to be contiguous: Ethernet, DSA, two tags, PPPoE, IPv6, TCP. */
#define HEADERS (ETH_HLEN + 8 + 2 * 4 + PPPOE_LEN + 40 + TCP_LEN)

#include "tc.h"
#include "xdp.h"
#include "beat.h"

char _license[] SEC("license") = "GPL";
