# A row of routers in ns-2: long flows cross all its hops, local ones a hop each.
#
#   ns tests/differential/ns2/parking-lot.tcl rates_mbps "4 4 2 4" starts_s "0 0 1000 0" duration 1500 warmup 1100
#
# Arguments are pairs; the defaults stand below, those that every network shares in network.tcl. `starts_s` says for
# each hop when its local flows start, within one second. The buffer counts waiting packets, the one in transmission
# excluded; 0 takes one bandwidth-delay product of each hop and the long flows' path. Output: as of dumbbell.tcl, for
# the hops hop1, hop2, ... and the flows long, local1, local2, ...
source [file join [file dirname [info script]] network.tcl]
read_arguments $argv {
	law xcp  rates_mbps {4 4 2 4}  starts_s {0 0 1000 0}  delay_ms 250  access_mbps 20  access_delay_ms 5
	long 30  local 60  buffer_pkts 0
}

open_network
set access_bps [expr {$arg(access_mbps) * 1e6}]
set rtt_s [expr {2 * ([llength $arg(rates_mbps)] * $arg(delay_ms) + 2 * $arg(access_delay_ms)) / 1e3}]
set routers [list [$ns node]]
foreach rate_mbps $arg(rates_mbps) {
	set rate_bps [expr {$rate_mbps * 1e6}]
	set from [lindex $routers end]
	set to [$ns node]
	lappend routers $to
	set buffer_pkts [expr {$arg(buffer_pkts) ? $arg(buffer_pkts) : [buffer_of $rate_bps $rtt_s]}]
	add_hop $from $to $rate_bps $arg(delay_ms) $buffer_pkts
	watch hop[expr {[llength $routers] - 1}]_ $from $to $rate_bps
}
for {set i 0} {$i < $arg(long)} {incr i} {
	add_flow long [lindex $routers 0] [lindex $routers end] $access_bps $arg(access_delay_ms) [start_time]
}
for {set hop 0} {$hop < [llength $arg(rates_mbps)]} {incr hop} {
	set start_s [lindex $arg(starts_s) $hop]
	for {set i 0} {$i < $arg(local)} {incr i} {
		add_flow local[expr {$hop + 1}] [lindex $routers $hop] [lindex $routers $hop+1] \
			$access_bps $arg(access_delay_ms) [expr {$start_s + [start_time]}]
	}
}
run_network
