# SPDX-License-Identifier: GPL-2.0-or-later
# stale.pl ebpf|flowtable 4|6 PORT: waits for an rtnetlink event about a link, or about an address
# or route of that family, and prints its Unix time. Then waits until the engine has no entry for
# the connection from PORT, and prints the milliseconds since the event. A single process, so that
# both times have the same clock.
use strict;
use warnings;
use Socket;

# x86-64: clock_gettime, bpf; AF_NETLINK; BPF_MAP_GET_NEXT_KEY, BPF_OBJ_GET.
use constant {CLOCK => 228, BPF => 321, NETLINK => 16, NEXT_KEY => 4, OBJ_GET => 7};
# RTMGRP_LINK, RTMGRP_IPV4_* or RTMGRP_IPV6_* of addresses and routes.
my %groups = (4 => 0x51, 6 => 0x501);
# Size and offset of `dport` in struct key4 and struct key6 (layout.h).
my %keys = (4 => [24, 10], 6 => [48, 34]);

my ($engine, $family, $port) = @ARGV;
my ($key_length, $dport_at) = @{$keys{$family}};

sub now {
    my $time = pack 'qq', 0, 0;
    syscall CLOCK, 0, $time;
    my ($seconds, $nanos) = unpack 'qq', $time;
    return $seconds + $nanos / 1e9;
}

my $map;
if ($engine eq 'ebpf') {
    my $path = "/sys/fs/bpf/fastpath/flows$family\0";
    my $attributes = pack 'pQQ', $path, 0, 0;
    $map = syscall BPF, OBJ_GET, $attributes, length $attributes;
    $map >= 0 or die "$path: $!\n";
}

# answers: returns the keys of the reply direction. The original direction may already have an entry
# with its new route.
sub answers {
    my ($key, $next, @found) = (undef, "\0" x $key_length);
    while (1) {
        my $attributes = pack 'LLpp', $map, 0, $key, $next;
        return @found if 0 > syscall BPF, NEXT_KEY, $attributes, length $attributes;
        $key = substr $next, 0;
        push @found, $key if $port == unpack 'n', substr $key, $dport_at, 2;
    }
}
my %first = $map ? map({ $_ => 1 } answers()) : ();
sub in_map { return grep { $first{$_} } answers() }

sub in_flowtable {
    open my $file, '<', '/proc/net/nf_conntrack' or die "conntrack: $!\n";
    return grep { / sport=$port / && /\[OFFLOAD\]/ } <$file>;
}

my $there = $engine eq 'ebpf' ? \&in_map : \&in_flowtable;
$there->() or die "nothing is there for port $port\n";
socket my $socket, NETLINK, SOCK_RAW, 0 or die "netlink: $!\n";
bind $socket, pack 'SSLL', NETLINK, 0, 0, $groups{$family} or die "netlink: $!\n";
$| = 1;
print "ready\n";
recv $socket, my $news, 65536, 0;
my $at = now();
printf "%.6f\n", $at;
select undef, undef, undef, 0.002 while $there->();
printf "%.1f\n", (now() - $at) * 1000;
