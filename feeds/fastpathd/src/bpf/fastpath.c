// SPDX-License-Identifier: GPL-2.0-only
/* TC (`tc.h`, clsact or TCX) and XDP (`xdp.h`) programs forward packets of known flows and pass all
 * other packets to the stack. The programs need no kernel BTF. */
#include <linux/pkt_cls.h>

#include "flow.h"

/* Length of the longest headers: Ethernet, DSA, two tags, PPPoE, IPv6, TCP. */
#define HEADERS (ETH_HLEN + 8 + 2 * 4 + PPPOE_LEN + 40 + TCP_LEN)

#include "tc.h"
#include "xdp.h"
#include "beat.h"

char _license[] SEC("license") = "GPL";
