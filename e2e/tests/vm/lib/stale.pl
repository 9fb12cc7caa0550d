# SPDX-License-Identifier: GPL-2.0-or-later
# stale.pl ebpf|flowtable PORT: waits for news of a link, an address or a route, then for the end of
# what the engine has for the connection with that source port. Prints when the news came, in seconds
# since 1970, and how many milliseconds later nothing was left. One process sees both, by one clock.
use strict;
use warnings;
use Socket;

# Of x86-64: clock_gettime, bpf. AF_NETLINK; RTMGRP_LINK, _IPV4_IFADDR and
# _IPV4_ROUTE. BPF_MAP_GET_NEXT_KEY, BPF_OBJ_GET.
use constant {CLOCK => 228, BPF => 321, NETLINK => 16, GROUPS => 0x51, NEXT_KEY => 4, OBJ_GET => 7};

my ($engine, $port) = @ARGV;

sub now {
    my $time = pack 'qq', 0, 0;
    syscall CLOCK, 0, $time;
    my ($seconds, $nanos) = unpack 'qq', $time;
    return $seconds + $nanos / 1e9;
}

my $map;
if ($engine eq 'ebpf') {
    my $path = "/sys/fs/bpf/fastpath/flows4\0";
    my $attributes = pack 'pQQ', $path, 0, 0;
    $map = syscall BPF, OBJ_GET, $attributes, length $attributes;
    $map >= 0 or die "$path: $!\n";
}

# answers: the keys for its answers, of `struct key4` in layout.h. That for its own packets may be
# there again at once, for their new way.
sub answers {
    my ($key, $next, @found) = (undef, "\0" x 24);
    while (1) {
        my $attributes = pack 'LLpp', $map, 0, $key, $next;
        return @found if 0 > syscall BPF, NEXT_KEY, $attributes, length $attributes;
        $key = substr $next, 0;
        push @found, $key if $port == unpack 'n', substr $key, 10, 2;
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
bind $socket, pack 'SSLL', NETLINK, 0, 0, GROUPS or die "netlink: $!\n";
$| = 1;
print "ready\n";
recv $socket, my $news, 65536, 0;
my $at = now();
select undef, undef, undef, 0.002 while $there->();
printf "%.6f %.1f\n", $at, (now() - $at) * 1000;
