# A dumbbell in ns-2: N flows, each with access links of its own, over one bottleneck.
#
#   ns benches/ns2/dumbbell.tcl law sack duration 200 seed 1
#
# Arguments are pairs; the defaults stand below. Delays are one way and per link, sizes are IP bytes. `reverse` adds
# as many flows in the other direction. The buffer counts waiting packets, the one in transmission excluded; 0 takes
# one bandwidth-delay product. Flows start at times drawn uniformly from [0, spread). `tick_s` is the clock of TCP's
# RTT samples, 10 ms being ns-2's default. `bin_s 10` also prints the utilisation of each ten seconds.
#
# `monitor 0` leaves ns-2's queue monitor out, which is how its speed is measured; only acknowledged packets are
# printed then. Output: lines "key value". Totals cover [warmup, duration), those that end in _all the whole run.
array set arg {
	law sack  rate_mbps 54  delay_ms 80  access_factor 2  access_delay_ms 8  packet_bytes 1040
	flows 10  reverse 0  buffer_pkts 0  duration 200  warmup 50  spread 1  seed 1  tick_s 0.01
	monitor 1  bin_s 0
}
foreach {key value} $argv {
	if {![info exists arg($key)]} {
		puts stderr "dumbbell.tcl: no argument '$key'; known: [lsort [array names arg]]"
		exit 2
	}
	set arg($key) $value
}

set rate_bps [expr {$arg(rate_mbps) * 1e6}]
set rtt_s [expr {2 * ($arg(delay_ms) + 2 * $arg(access_delay_ms)) / 1e3}]
if {$arg(buffer_pkts) == 0} {
	set arg(buffer_pkts) [expr {int($rate_bps * $rtt_s / 8 / $arg(packet_bytes))}]
}

switch $arg(law) {
	sack { set source TCP/Sack1; set sink TCPSink/Sack1; set queue DropTail }
	newreno { set source TCP/Newreno; set sink TCPSink; set queue DropTail }
	xcp { set source TCP/Reno/XCP; set sink TCPSink/XCPSink; set queue XCP }
	default { puts stderr "dumbbell.tcl: law '$arg(law)' is none of sack, newreno, xcp"; exit 2 }
}

ns-random $arg(seed)
# Packet headers are memory that each packet carries: only those in use stay.
remove-all-packet-headers
add-packet-header IP TCP Flags XCP

set ns [new Simulator]
set start_rng [new RNG]
$start_rng seed $arg(seed)

# A packet header's size is added to packetSize_ by ns-2's TCP (40 bytes), so that packets have arg(packet_bytes).
Agent/TCP set packetSize_ [expr {$arg(packet_bytes) - 40}]
Agent/TCP set window_ 100000
Agent/TCP set tcpTick_ $arg(tick_s)

# A queue of ns-2 holds limit_ - 1 waiting packets: it drops the arrival that would make limit_.
set limit [expr {$arg(buffer_pkts) + 1}]
Queue set limit_ 100000

set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${rate_bps}bps $arg(delay_ms)ms $queue
foreach {from to} [list $left $right $right $left] {
	$ns queue-limit $from $to $limit
	if {$queue eq "XCP"} {
		[[$ns link $from $to] queue] set-link-capacity $rate_bps
	}
}

# One greedy flow from a node of its own at one end to a node of its own at the other.
proc add_flow {from to} {
	global ns arg rate_bps source sink start_rng sources sinks
	set access_bps [expr {$arg(access_factor) * $rate_bps}]
	set host [$ns node]
	set peer [$ns node]
	$ns duplex-link $host $from ${access_bps}bps $arg(access_delay_ms)ms DropTail
	$ns duplex-link $to $peer ${access_bps}bps $arg(access_delay_ms)ms DropTail
	set tcp [new Agent/$source]
	set end [new Agent/$sink]
	$ns attach-agent $host $tcp
	$ns attach-agent $peer $end
	$ns connect $tcp $end
	set ftp [new Application/FTP]
	$ftp attach-agent $tcp
	$ns at [$start_rng uniform 0 $arg(spread)] "$ftp start"
	lappend sources $tcp
	lappend sinks $end
}
for {set i 0} {$i < $arg(flows)} {incr i} { add_flow $left $right }
for {set i 0} {$i < $arg(reverse)} {incr i} { add_flow $right $left }

if {$arg(monitor)} {
	set monitor [$ns monitor-queue $left $right ""]
	set back [$ns monitor-queue $right $left ""]
}

# The counters that the totals are differences of.
proc counters {} {
	global monitor back sinks sources arg
	set result {}
	foreach tcp $sources { lappend result acked [$tcp set ack_] }
	if {$arg(monitor)} {
		foreach {name m} [list "" $monitor back_ $back] {
			lappend result ${name}sent_pkts [$m set pdepartures_] ${name}sent_bytes [$m set bdepartures_]
			lappend result ${name}dropped_pkts [$m set pdrops_] ${name}arrived_pkts [$m set parrivals_]
			lappend result ${name}queue_pkt_s [[$m get-pkts-integrator] set sum_]
		}
	}
	return $result
}
proc warm {} {
	global before
	set before [counters]
}
proc finish {} {
	global before arg rate_bps
	set after [counters]
	set seconds [expr {$arg(duration) - $arg(warmup)}]
	puts "duration_s $arg(duration)"
	puts "buffer_pkts $arg(buffer_pkts)"
	set flow 0
	set acked 0
	foreach {name old} $before {ignored new} $after {
		set total [expr {$new - $old}]
		if {$name eq "acked"} {
			puts "flow_$flow\_mbps [format %.4f [expr {$total * $arg(packet_bytes) * 8 / 1e6 / $seconds}]]"
			incr flow
			set acked [expr {$acked + $new}]
			continue
		}
		puts "$name $total"
		if {[string match *sent_bytes $name]} {
			puts "[string map {sent_bytes utilisation} $name] [format %.5f [expr {$total * 8 / $rate_bps / $seconds}]]"
		}
		if {[string match *queue_pkt_s $name]} {
			puts "[string map {pkt_s pkts_mean} $name] [format %.3f [expr {$total / $seconds}]]"
		}
	}
	puts "acked_pkts_all $acked"
	if {$arg(monitor)} { puts "sent_pkts_all [$::monitor set pdepartures_]" }
	exit 0
}
# Prints the bottleneck's utilisation since the last call, and comes again.
proc bin {start sent_before} {
	global ns arg monitor rate_bps
	set sent [$monitor set bdepartures_]
	set utilisation [expr {($sent - $sent_before) * 8 / $rate_bps / $arg(bin_s)}]
	puts "bin_$start [format %.4f $utilisation]"
	$ns at [expr {[$ns now] + $arg(bin_s)}] "bin [$ns now] $sent"
}
if {$arg(bin_s) > 0} { $ns at $arg(bin_s) "bin 0 0" }
$ns at $arg(warmup) warm
$ns at $arg(duration) finish
$ns run
