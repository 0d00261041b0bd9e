#!/bin/bash
# Runs as process 1 of a virtual machine (debian_kernel.py): shapes both directions of an interface while pings come through
# an IPsec tunnel, kills headgated, stops another. Says what it found in lines "RESULT name value", and turns the machine off.
# Arguments: the directory of the programs, where the kernel's modules are.
programs=$1
modules=$2
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devices /dev
mount -t tmpfs run /run
mkdir -p /lib/modules /run/netns /run/headgate
mount --bind "$modules/lib/modules" /lib/modules
trap 'echo o >/proc/sysrq-trigger; sleep 60' EXIT

result() { echo "RESULT $1 $2"; }
on() { ip netns exec "$@"; }
pings() { on peer ping -n -q -c "$1" -i 0.2 -W 5 10.99.0.1 | sed -n 's/.* \([0-9]*\) received.*/\1/p'; }
control() { "$programs/headgatectl" --control /run/control.sock "$@"; }
start() {
  ip netns exec host "$programs/headgated" --config /run/headgate.toml --control /run/control.sock &
  daemon=$!
  for _ in $(seq 100); do
    [[ $(control -j show 2>/dev/null | grep -o '"diverting": true' | wc -l) == 2 ]] && return
    sleep 0.2
  done
}
left_over() { ip -n host -o link | grep -c hg; tc -n host filter show dev eth0 ingress; tc -n host filter show dev eth0 egress; }

result kernel "$(uname -r)"
for module in veth esp4 xfrm_user sch_ingress cls_bpf authenc cbc sha256 hmac; do modprobe $module; done

# Each host sends from its loopback's address to the other's through a tunnel.
ip netns add host
ip netns add peer
ip link add eth0 netns host type veth peer name eth0 netns peer
set_up() {  # namespace, number, number of the other
  local here=10.77.0.$2 there=10.77.0.$3 inside=10.99.0.$2 beyond=10.99.0.$3
  local keys=(auth 'hmac(sha256)' "0x$(printf '5%.0s' {1..64})" enc 'cbc(aes)' "0x$(printf '6%.0s' {1..32})")
  ip -n "$1" link set lo up
  ip -n "$1" link set eth0 up
  ip -n "$1" addr add "$here/24" dev eth0
  ip -n "$1" addr add "$inside/32" dev lo
  ip -n "$1" route add "$beyond/32" dev eth0 src "$inside"
  ip -n "$1" xfrm state add src "$here" dst "$there" proto esp spi "$2" mode tunnel "${keys[@]}"
  ip -n "$1" xfrm state add src "$there" dst "$here" proto esp spi "$3" mode tunnel "${keys[@]}"
  ip -n "$1" xfrm policy add src "$inside" dst "$beyond" dir out tmpl src "$here" dst "$there" proto esp mode tunnel
  ip -n "$1" xfrm policy add src "$beyond" dst "$inside" dir in tmpl src "$there" dst "$here" proto esp mode tunnel
}
set_up host 1 2
set_up peer 2 1
result undiverted "$(pings 3)"

for direction in ingress egress; do
  printf '[[shape]]\ninterface = "eth0"\ndirection = "%s"\n[[shape.class]]\nname = "all"\nrate = "1000pps"\n' $direction
done >/run/headgate.toml
start
result shaped "$(pings 20)"
result show "$(control -j show | tr -d '\n')"
kill -9 $daemon
pings 10 >/dev/null  # by clsact each direction is lost until its dead-man switch opens, 500 ms after its first packet
result killed "$(pings 5)"
on host "$programs/headgated" --cleanup
result left_after_cleanup "$(left_over | tr '\n' ' ')"
start
result again "$(pings 5)"
kill $daemon
wait $daemon
result exit_code $?
result left_after_stop "$(left_over | tr '\n' ' ')"
result open "$(pings 5)"
result done 1
