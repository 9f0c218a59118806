# What the networks here share: arguments, hops with a queue and a channel, flows, and the counters they print.

# The arguments of every network. `law` is the sender: sack, newreno, reno, xcp, or a congestion control of TCP/Linux
# such as cubic; `queue` droptail, red, rem (both mark: ECN is on), xcp, or auto: xcp for xcp and droptail for others.
# `loss` is the probability that a hop loses a data packet after its transmission. `tick_s` is the clock of TCP's RTT
# samples, 10 ms being ns-2's default; `delayed_ack_s`, if not 0, lets every second segment be acknowledged, at the
# latest after this time. If `session_s` is not 0, flows write for an exponential time of that mean, pause for one of
# mean `pause_s`, and begin again. With `timestamps` 1 a sender takes an RTT sample from each ACK, to the microsecond,
# and none of the clock. RED's thresholds are thirds of the buffer; all its settings are of packets.
array set arg {
	law sack  queue auto  loss 0  packet_bytes 1040  duration 200  warmup 50  spread 1  seed 1  tick_s 0.01
	delayed_ack_s 0  session_s 0  pause_s 0  timestamps 0
	red_q_weight 0.002  red_max_p 0.1  red_use_mark_p 1
	rem_gamma 0.001  rem_phi 1.001  rem_target_pkts 20  rem_interval_s 0.002
}

# Sets `arg` from the defaults of this network and from the command line.
proc read_arguments {given defaults} {
	global arg
	array set arg $defaults
	foreach {key value} $given {
		if {![info exists arg($key)]} {
			puts stderr "[info script]: no argument '$key'; known: [lsort [array names arg]]"
			exit 2
		}
		set arg($key) $value
	}
	if {$arg(queue) eq "auto"} {
		set arg(queue) [expr {$arg(law) eq "xcp" ? "xcp" : "droptail"}]
	}
}

# One bandwidth-delay product in whole packets.
proc buffer_of {rate_bps rtt_s} {
	return [expr {int($rate_bps * $rtt_s / 8 / $::arg(packet_bytes))}]
}

# ns-2's names for the sender, the receiver and the queue.
proc classes {} {
	global arg source sink queue_class
	switch $arg(law) {
		sack { set source TCP/Sack1; set sink TCPSink/Sack1 }
		newreno { set source TCP/Newreno; set sink TCPSink }
		reno { set source TCP/Reno; set sink TCPSink }
		xcp { set source TCP/Reno/XCP; set sink TCPSink/XCPSink }
		cubic - bic - veno - westwood { set source TCP/Linux; set sink TCPSink/Sack1 }
		default {
			puts stderr "law '$arg(law)' is none of sack, newreno, reno, xcp, cubic, bic, veno, westwood"
			exit 2
		}
	}
	if {$arg(delayed_ack_s) > 0} {
		set sink [expr {$arg(law) eq "sack" ? "TCPSink/Sack1/DelAck" : "TCPSink/DelAck"}]
	}
	switch $arg(queue) {
		droptail { set queue_class DropTail }
		red { set queue_class RED }
		rem { set queue_class REM }
		xcp { set queue_class XCP }
		default { puts stderr "queue '$arg(queue)' is none of auto, droptail, red, rem, xcp"; exit 2 }
	}
}

# What both simulators must take alike; the rest is ns-2's defaults. A header's 40 bytes come on top of packetSize_.
proc set_defaults {} {
	global arg
	Agent/TCP set packetSize_ [expr {$arg(packet_bytes) - 40}]
	# TCP/Reno/XCP alone has timestamps, whose 10 bytes would come on top.
	Agent/TCP set ts_option_size_ 0
	Agent/TCP set timestamps_ $arg(timestamps)
	Agent/TCP set window_ 100000
	Agent/TCP set tcpTick_ $arg(tick_s)
	Agent/TCP set ecn_ [expr {$arg(queue) in {red rem}}]
	Agent/TCPSink/DelAck set interval_ $arg(delayed_ack_s)
	Agent/TCPSink/Sack1/DelAck set interval_ $arg(delayed_ack_s)
	Queue set limit_ 100000
	foreach {name value} [list setbit_ true bytes_ false queue_in_bytes_ false mean_pktsize_ $arg(packet_bytes) \
			q_weight_ $arg(red_q_weight) linterm_ [expr {1 / double($arg(red_max_p))}] gentle_ true wait_ true \
			use_mark_p_ $arg(red_use_mark_p) adaptive_ 0] {
		Queue/RED set $name $value
	}
	foreach {name value} [list markpkts_ true mean_pktsize_ $arg(packet_bytes) gamma_ $arg(rem_gamma) \
			phi_ $arg(rem_phi) pbo_ $arg(rem_target_pkts) pupdtime_ $arg(rem_interval_s) inw_ 1.0 qib_ false] {
		Queue/REM set $name $value
	}
}

proc open_network {} {
	global ns arg start_rng sources sinks names monitors completion_s
	classes
	ns-random $arg(seed)
	# Packet headers are memory that each packet carries: only those in use stay.
	remove-all-packet-headers
	add-packet-header IP TCP Flags XCP RTP
	set ns [new Simulator]
	set start_rng [new RNG]
	$start_rng seed $arg(seed)
	set_defaults
	foreach list {sources sinks names monitors completion_s} { set $list {} }
}

# A pair of links between routers. Drop-tail, REM and XCP hold limit_ - 1 waiting packets: they drop the arrival that
# would make limit_; RED drops the one after. RED reads its thresholds when its link is made.
proc add_hop {left right rate_bps delay_ms buffer_pkts} {
	global ns arg queue_class
	Queue/RED set thresh_ [expr {$buffer_pkts / 3.0}]
	Queue/RED set maxthresh_ [expr {$buffer_pkts * 2 / 3.0}]
	$ns duplex-link $left $right ${rate_bps}bps ${delay_ms}ms $queue_class
	set limit [expr {$arg(queue) eq "red" ? $buffer_pkts : $buffer_pkts + 1}]
	foreach {from to} [list $left $right $right $left] {
		$ns queue-limit $from $to $limit
		if {$arg(queue) eq "xcp"} {
			[[$ns link $from $to] queue] set-link-capacity $rate_bps
		}
	}
	if {$arg(loss) > 0} { add_loss $left $right }
}

# Losses behind the transmitter: a lost packet has taken its time on the link. ns-2 would show it to the monitor of the
# queue as a drop of the queue, which it is not; it goes elsewhere once the model stands in the link.
proc add_loss {from to} {
	global ns arg
	set errors [new ErrorModel]
	$errors unit pkt
	$errors set rate_ $arg(loss)
	$errors ranvar [new RandomVariable/Uniform]
	$ns link-lossmodel $errors $from $to
	$errors drop-target [new Agent/Null]
}

proc start_time {} {
	return [$::start_rng uniform 0 $::arg(spread)]
}

# One greedy flow from a node of its own behind one router to a node of its own behind the other.
proc add_flow {name from to access_bps access_delay_ms start_s} {
	global ns arg source sink sources sinks names
	set host [$ns node]
	set peer [$ns node]
	$ns duplex-link $host $from ${access_bps}bps ${access_delay_ms}ms DropTail
	$ns duplex-link $to $peer ${access_bps}bps ${access_delay_ms}ms DropTail
	set tcp [new Agent/$source]
	set end [new Agent/$sink]
	$ns attach-agent $host $tcp
	$ns attach-agent $peer $end
	$ns connect $tcp $end
	if {$source eq "TCP/Linux"} { $ns at 0 "$tcp select_ca $arg(law)" }
	set ftp [new Application/FTP]
	$ftp attach-agent $tcp
	$ns at $start_s [expr {$arg(session_s) > 0 ? "session $ftp" : "$ftp start"}]
	lappend sources $tcp
	lappend sinks $end
	lappend names $name
}

# Writes for a while, pauses, and comes again.
proc session {ftp} {
	global ns arg start_rng
	$ftp start
	set end_s [expr {[$ns now] + $arg(session_s) * [$start_rng exponential]}]
	$ns at $end_s "$ftp stop"
	$ns at [expr {$end_s + $arg(pause_s) * [$start_rng exponential]}] "session $ftp"
}

# A transfer of `pkts` packets, the SYN before them not counted, between two hosts that others share. How long it
# takes, until all of it is acknowledged, is noted if it starts after the warm-up.
proc add_transfer {host peer pkts start_s} {
	global ns arg source sink sources
	set tcp [new Agent/$source]
	set end [new Agent/$sink]
	$ns attach-agent $host $tcp
	$ns attach-agent $peer $end
	$ns connect $tcp $end
	# ns-2 calls it when the last packet is acknowledged.
	$tcp proc done {} [subst -nocommands {
		global ns completion_s arg
		if {$start_s >= \$arg(warmup)} { lappend completion_s [expr {[\$ns now] - $start_s}] }
	}]
	$ns at $start_s "$tcp advanceby $pkts"
	lappend sources $tcp
}

# Packets at a constant bit rate, headers of 28 bytes included, from one host to another. ns-2's XCP routers queue what
# is neither XCP nor TCP by itself, unless its priority is the code of XCP's queue (CP_XCP, 10). Other queues know no
# such codes.
proc add_cbr {host peer bps} {
	global ns arg
	set udp [new Agent/UDP]
	set null [new Agent/Null]
	$ns attach-agent $host $udp
	$ns attach-agent $peer $null
	$ns connect $udp $null
	# UDP cuts what it is given into packets of its own size.
	$udp set packetSize_ $arg(packet_bytes)
	if {$arg(cbr_queue) eq "xcp"} { $udp set prio_ 10 }
	set cbr [new Application/Traffic/CBR]
	$cbr set packetSize_ $arg(packet_bytes)
	$cbr set rate_ $bps
	$cbr attach-agent $udp
	$ns at [start_time] "$cbr start"
}

# Counts what crosses a link; its totals are printed with `prefix` before their names.
proc watch {prefix from to rate_bps} {
	global ns monitors
	lappend monitors $prefix [$ns monitor-queue $from $to ""] $rate_bps
}

# The counters that the totals are differences of.
proc counters {} {
	global monitors sources
	set result {}
	set retransmitted 0
	set timeouts 0
	foreach tcp $sources {
		lappend result acked [$tcp set ack_]
		incr retransmitted [$tcp set nrexmitpack_]
		incr timeouts [$tcp set nrexmit_]
	}
	lappend result retransmitted_pkts $retransmitted timeouts $timeouts
	foreach {prefix monitor rate_bps} $monitors {
		lappend result ${prefix}sent_pkts [$monitor set pdepartures_] ${prefix}sent_bytes [$monitor set bdepartures_]
		lappend result ${prefix}dropped_pkts [$monitor set pdrops_] ${prefix}arrived_pkts [$monitor set parrivals_]
		lappend result ${prefix}marked_pkts [$monitor set pmarks_]
		lappend result ${prefix}queue_pkt_s [[$monitor get-pkts-integrator] set sum_]
	}
	return $result
}

# Ratios that follow from the totals of a link.
proc print_ratios {seconds totals} {
	global monitors
	array set total $totals
	foreach {prefix monitor rate_bps} $monitors {
		set utilisation [expr {$total(${prefix}sent_bytes) * 8 / $rate_bps / $seconds}]
		puts "${prefix}utilisation [format %.5f $utilisation]"
		puts "${prefix}queue_pkts_mean [format %.3f [expr {$total(${prefix}queue_pkt_s) / $seconds}]]"
	}
}

# How many transfers were completed, and how long they took on average.
proc print_completions {} {
	global completion_s
	if {[llength $completion_s] == 0} { return }
	puts "completions [llength $completion_s]"
	puts "completion_s_mean [format %.6f [expr ([join $completion_s +]) / [llength $completion_s]]]"
}

proc finish {} {
	global before arg names monitors
	set seconds [expr {$arg(duration) - $arg(warmup)}]
	puts "duration_s $arg(duration)"
	array set flows {}
	set acked 0
	set totals {}
	foreach {key old} $before {ignored new} [counters] {
		set total [expr {$new - $old}]
		if {$key ne "acked"} {
			puts "$key $total"
			lappend totals $key $total
			continue
		}
		set name [lindex $names 0]
		set names [lrange $names 1 end]
		set mbps [format %.6f [expr {$total * $arg(packet_bytes) * 8 / 1e6 / $seconds}]]
		puts "${name}_[incr flows($name)]_mbps $mbps"
		incr acked $new
	}
	print_ratios $seconds $totals
	print_completions
	puts "acked_pkts_all $acked"
	if {[llength $monitors] > 0} { puts "sent_pkts_all [[lindex $monitors 1] set pdepartures_]" }
	exit 0
}

proc run_network {} {
	global ns arg
	$ns at $arg(warmup) { set before [counters] }
	$ns at $arg(duration) finish
	$ns run
}
