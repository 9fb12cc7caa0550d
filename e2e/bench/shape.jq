# SPDX-License-Identifier: GPL-2.0-or-later
# Converts results of guest/shape to a report with rows and faults (violated bounds).
def percent: .carried * 100 / .rate;
def part: if .one + .many > 0 then .one / (.one + .many) else 0 end;
def outside($what; $from; $to): select(. < $from or . > $to) |
    "\($what) is \(. * 1000 | round / 1000), not between \($from) and \($to)";

def faults_of_load:
    "\(.line), \(.direction), \(if .fast then "" else "without " end)fast path: " as $where |
    # Without idle time the machine would be the bottleneck.
    (.spare | outside($where + "idle part of the time"; 0.05; 1)),
    if .fast then
        (percent | outside($where + "percent of the rate"; 93; 100.5)),
        (.p95 - .idle_p95 | outside($where + "p95 of pings above that of an idle line, ms"; -20; 20)),
        (.offloaded | outside($where + "offloaded part"; 0.95; 1))
    else
        # The stack also counts packets that CAKE drops.
        (.offloaded | outside($where + "offloaded part"; -1; 0.1))
    end;
def faults: if .one then
        .line as $line | part | outside("\($line): part of the host with one flow"; 0.45; 0.55)
    else faults_of_load end;

{
    rows: .,
    faults: ([.[] | faults] +
        if ([.[] | select(.one)] | length) == 2 and length == 10 then []
        else ["\(length) of 10 rows"] end)
}
