# A greedy TCP over a link that loses data packets at random: 8 Mbit/s, 20 ms, 600 s, no limit to the buffer.
# Usage: ns tests/differential/ns2/loss.tcl KIND LOSS SEED, e.g. `sack 0.03 1` or `newreno 0.01 2`.
lassign $argv kind loss seed
set ns [new Simulator]
ns-random $seed
set from [$ns node]
set to [$ns node]
$ns duplex-link $from $to 8Mb 20ms DropTail
foreach {a b} [list $from $to $to $from] { $ns queue-limit $a $b 100000 }

set errors [new ErrorModel]
$errors unit pkt
$errors set rate_ $loss
set uniform [new RandomVariable/Uniform]
$uniform set min_ 0
$uniform set max_ 1
$errors ranvar $uniform
$errors drop-target [new Agent/Null]
$ns lossmodel $errors $from $to

if {$kind eq "sack"} {
	set sender [new Agent/TCP/Sack1]
	set sink [new Agent/TCPSink/Sack1]
} else {
	set sender [new Agent/TCP/Newreno]
	set sink [new Agent/TCPSink]
}
$sender set window_ 100000
$sender set packetSize_ 1000
$ns attach-agent $from $sender
$ns attach-agent $to $sink
$ns connect $sender $sink
set ftp [new Application/FTP]
$ftp attach-agent $sender

proc finish {} {
	global sender
	puts "acknowledged_pkts [$sender set ack_]"
	puts "retransmitted_pkts [$sender set nrexmitpack_]"
	puts "timeouts [$sender set nrexmit_]"
	exit 0
}
$ns at 0 "$ftp start"
$ns at 600 finish
$ns run
