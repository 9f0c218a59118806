# A dumbbell in ns-2: N flows, each with access links of its own, over one bottleneck.
#
#   ns tests/differential/ns2/dumbbell.tcl law sack queue red duration 200 seed 1
#
# Arguments are pairs; the defaults stand below, those that every network shares in network.tcl. Delays are one way and
# per link, sizes are IP bytes. `reverse` adds as many flows in the other direction. The buffer counts waiting packets,
# the one in transmission excluded; 0 takes one bandwidth-delay product. Flows start at times drawn uniformly from
# [0, spread). `far` flows more have access links of `far_delay_ms`; `transfers` is the number of transfers of
# `transfer_pkts` packets, which share a pair of hosts and start at times drawn uniformly from the whole run, or from
# the first `transfer_span_s` seconds. `cbr_mbps` is the rate of datagrams beside the flows; XCP's routers queue these
# by themselves, or with the flows (`cbr_queue xcp`). `bin_s 10` also prints the utilisation of each ten seconds.
#
# `cpu_at "10 30"` prints the CPU seconds that the process has taken when it reaches those instants, at once.
#
# `monitor 0` leaves ns-2's queue monitor out, which is how its speed is measured; only acknowledged packets are
# printed then. Output: lines "key value"; flows in the other direction are back_1, back_2, .... Totals cover
# [warmup, duration), those that end in _all the whole run.
source [file join [file dirname [info script]] network.tcl]
read_arguments $argv {
	rate_mbps 54  delay_ms 80  access_factor 2  access_delay_ms 8  flows 10  reverse 0  buffer_pkts 0
	monitor 1  bin_s 0  cpu_at {}  far 0  far_delay_ms 0  cbr_mbps 0  cbr_queue own
	transfers 0  transfer_pkts 0  transfer_span_s 0
}

set rate_bps [expr {$arg(rate_mbps) * 1e6}]
set rtt_s [expr {2 * ($arg(delay_ms) + 2 * $arg(access_delay_ms)) / 1e3}]
if {$arg(buffer_pkts) == 0} {
	set arg(buffer_pkts) [buffer_of $rate_bps $rtt_s]
}
open_network
set left [$ns node]
set right [$ns node]
add_hop $left $right $rate_bps $arg(delay_ms) $arg(buffer_pkts)
set access_bps [expr {$arg(access_factor) * $rate_bps}]
set near_ms $arg(access_delay_ms)
foreach {name from to count delay_ms} [list \
		flow $left $right $arg(flows) $near_ms  back $right $left $arg(reverse) $near_ms \
		far $left $right $arg(far) $arg(far_delay_ms)] {
	for {set i 0} {$i < $count} {incr i} {
		add_flow $name $from $to $access_bps $delay_ms [start_time]
	}
}
if {$arg(cbr_mbps) > 0 || $arg(transfers) > 0} {
	set host [$ns node]
	set peer [$ns node]
	$ns duplex-link $host $left ${access_bps}bps ${near_ms}ms DropTail
	$ns duplex-link $right $peer ${access_bps}bps ${near_ms}ms DropTail
}
if {$arg(cbr_mbps) > 0} { add_cbr $host $peer [expr {$arg(cbr_mbps) * 1e6}] }
set span_s [expr {$arg(transfer_span_s) > 0 ? $arg(transfer_span_s) : $arg(duration)}]
for {set i 0} {$i < $arg(transfers)} {incr i} {
	add_transfer $host $peer $arg(transfer_pkts) [$start_rng uniform 0 $span_s]
}
if {$arg(monitor)} {
	watch "" $left $right $rate_bps
	watch back_ $right $left $rate_bps
}

# Prints the bottleneck's utilisation since the last call, and comes again.
proc bin {start sent_before} {
	global ns arg monitors rate_bps
	set sent [[lindex $monitors 1] set bdepartures_]
	set utilisation [expr {($sent - $sent_before) * 8 / $rate_bps / $arg(bin_s)}]
	puts "bin_$start [format %.4f $utilisation]"
	$ns at [expr {[$ns now] + $arg(bin_s)}] "bin [$ns now] $sent"
}
if {$arg(bin_s) > 0} { $ns at $arg(bin_s) "bin 0 0" }

# Prints the CPU time so far, user and system, which the kernel counts in hundredths of a second.
proc cpu {at_s} {
	set file [open /proc/self/stat]
	# The name in the second field may contain spaces, but only it has brackets.
	set fields [lrange [split [lindex [split [read $file] ")"] end]] 12 13]
	close $file
	puts "cpu_$at_s [expr {([lindex $fields 0] + [lindex $fields 1]) / 100.0}]"
	flush stdout
}
foreach at_s $arg(cpu_at) { $ns at $at_s "cpu $at_s" }
puts "buffer_pkts $arg(buffer_pkts)"
run_network
