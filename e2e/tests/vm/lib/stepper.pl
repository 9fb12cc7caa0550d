# SPDX-License-Identifier: GPL-2.0-or-later
# stepper.pl NUMBER COMMAND…: runs COMMAND on x86-64 and stops it after its NUMBERth file operation
# or request to another process. Prints `cut NUMBER NAME`, leaving COMMAND stopped, or `ended COUNT
# NAME…` if it has ended before. COMMAND prints to stderr. `each` instead of NUMBER stops after
# every operation, prints `at NUMBER NAME` and waits for a line on stdin.
use strict;
use warnings;

# System calls that change files or send requests to rpcd. openat counts if it creates a file.
my %names = (
    1 => 'write', 44 => 'sendto', 46 => 'sendmsg', 20 => 'writev', 74 => 'fsync',
    75 => 'fdatasync', 82 => 'rename', 264 => 'renameat', 316 => 'renameat2', 83 => 'mkdir',
    258 => 'mkdirat', 87 => 'unlink', 263 => 'unlinkat', 257 => 'openat',
);
use constant {
    PTRACE => 101, WAIT4 => 61, TRACEME => 0, PEEKUSER => 3, GO_ON => 24, KILL_WITH_US => 0x100000,
    SET_OPTIONS => 0x4200, SYSGOOD => 1, ORIG_RAX => 15 * 8, RDX => 12 * 8, O_CREAT => 0100,
    ANY_CHILD => 0x40000000,
};

sub ptrace {
    my ($what, $pid, $address, $data) = @_;
    syscall(PTRACE, $what, $pid, $address, $data) >= 0 or die "ptrace $what: $!\n";
}

sub register {
    my ($pid, $which) = @_;
    my $value = "\0" x 8;
    # The kernel writes into the string itself, so do not copy it.
    syscall(PTRACE, PEEKUSER, $pid, $which, $value) == 0 or die "ptrace: $!\n";
    return unpack 'q', $value;
}

# waited PID: returns the wait status, including stops, which waitpid of perl hides.
sub waited {
    my ($pid) = @_;
    my $status = "\0" x 4;
    syscall(WAIT4, $pid, $status, ANY_CHILD, 0) == $pid or die "wait4: $!\n";
    return unpack 'L', $status;
}

my $until = shift;
my $pid = fork // die "fork: $!\n";
if (!$pid) {
    open STDOUT, '>&', \*STDERR or die "$!\n";
    ptrace(TRACEME, 0, 0, 0);
    kill STOP => $$;
    exec @ARGV or die "$ARGV[0]: $!\n";
}
$| = 1;
waited($pid);
ptrace(SET_OPTIONS, $pid, 0, SYSGOOD | KILL_WITH_US);
my ($count, $inside, $signal) = (0, 0, 0);
my @said;
while (1) {
    ptrace(GO_ON, $pid, 0, $signal);
    my $status = waited($pid);
    if (($status & 0xff) != 0x7f) {
        print "ended $count @said\n";
        exit 0;
    }
    $signal = $status >> 8;
    if ($signal != (5 | 0x80)) {
        # The SIGTRAP after exec is only for the tracer.
        $signal = 0 if $signal == 5;
        next;
    }
    $signal = 0;
    $inside = !$inside;
    next if $inside;
    my $name = $names{ register($pid, ORIG_RAX) } or next;
    next if $name eq 'openat' && !(register($pid, RDX) & O_CREAT);
    push @said, $name;
    $count++;
    if ($until eq 'each') {
        print "at $count $name\n";
        <STDIN> // exit 1;
    } elsif ($count == $until) {
        print "cut $count $name\n";
        sleep;
    }
}
