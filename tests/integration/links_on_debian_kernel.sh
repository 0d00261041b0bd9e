#!/bin/bash
# Runs as process 1 of a virtual machine (debian_kernel.py): shapes tunnel devices of every kind that the kernel has, while
# pings and TCP pass both ways, and kills headgated. Says what it found in lines "RESULT kind.name value", and turns the
# machine off.
# Arguments: the directory of the programs, where the kernel's modules are.
programs=$1
modules=$2
here=${BASH_SOURCE[0]%/*}
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devices /dev
mkdir -p /dev/pts && mount -t devpts devpts /dev/pts
mount -t tmpfs run /run
mkdir -p /lib/modules /run/netns /run/headgate /run/lock
mount --bind "$modules/lib/modules" /lib/modules
trap 'echo o >/proc/sysrq-trigger; sleep 60' EXIT

result() { echo "RESULT $kind.$1 $2"; }
on() { ip netns exec "$@"; }
control() { "$programs/headgatectl" --control /run/control.sock "$@"; }

for module in veth sch_ingress cls_bpf tun ipip ip_gre ip6_gre sit ip6_tunnel wireguard ppp_generic ppp_async geneve vxlan; do
  modprobe $module
done
[[ -e /dev/ppp ]] || mknod /dev/ppp c 108 0
kind=kernel
result version "$(uname -r)"
ip netns add host
ip netns add peer
ip link add eth0 netns host type veth peer name eth0 netns peer
address_ends() {  # device, network's beginnings
  ip -n host link set "$1" up
  ip -n peer link set "$1" up
  for net in "${@:2}"; do
    local length=24
    [[ $net == *:* ]] && length=64
    ip -n host addr add "${net}1/$length" dev "$1" $([[ $length == 64 ]] && echo nodad)
    ip -n peer addr add "${net}2/$length" dev "$1" $([[ $length == 64 ]] && echo nodad)
  done
}
ip -n host link set lo up
ip -n peer link set lo up
address_ends eth0 10.77.0. fd77::

both() {  # type, network's beginning of the outer addresses, options
  ip -n host link add t0 type "$1" local "${2}1" remote "${2}2" "${@:3}"
  ip -n peer link add t0 type "$1" local "${2}2" remote "${2}1" "${@:3}"
}
external() {  # type, options of the peer's: the host's takes its tunnel from the route
  ip -n host link add t0 type "$1" external
  ip -n peer link add t0 type "$1" "${@:2}"
  ip -n host addr add 10.79.0.1/32 dev t0
  ip -n peer addr add 10.79.0.2/24 dev t0
  ip -n host link set t0 up
  ip -n peer link set t0 up
  ip -n host route add 10.79.0.2 encap ip id 7 key dst 10.77.0.2 dev t0
  for end in host peer; do
    [[ $end == host ]] && other=peer far=10.79.0.2 || { other=host; far=10.79.0.1; }
    local mac=$(ip -n $other -br link show t0 | tr -s ' ' | cut -d ' ' -f 3)
    [[ $mac == ??:??:??:??:??:?? ]] && ip -n $end neigh add $far lladdr "$mac" dev t0
  done
}
wireguard() {
  for end in host peer; do wg genkey >/run/$end.key; done
  for end in host peer; do
    ip -n $end link add t0 type wireguard
    [[ $end == host ]] && other=peer far=10.77.0.2 || { other=host; far=10.77.0.1; }
    on $end wg set t0 listen-port 51820 private-key /run/$end.key peer "$(wg pubkey </run/$other.key)" \
      endpoint $far:51820 allowed-ips 0.0.0.0/0,::/0
  done
}
ppp() {
  local options="nodetach noauth local nodefaultroute noipv6 nocrtscts ifname t0 noccp novj nopcomp noaccomp"
  ip netns exec host pppd $options 10.79.0.1:10.79.0.2 pty "ip netns exec peer pppd notty $options" &
  for _ in $(seq 100); do
    ip -n host -o -4 addr show dev t0 2>/dev/null | grep -q 10.79.0.1 && break
    sleep 0.2
  done
}

shape() { printf '[[shape]]\ninterface = "t0"\ndirection = "%s"\ncapture = "bpf"\nsegmentation = "auto"\n[[shape.class]]\nname = "all"\nrate = "50mbit"\nqueue = ["2000p", "2s"]\n' "$1"; }
as=()  # who headgated runs as; nothing: root
start() {
  ip netns exec host "${as[@]}" "$programs/headgated" --config /run/headgate.toml --control /run/control.sock &
  daemon=$!
  for _ in $(seq 150); do
    [[ $(control -j show 2>/dev/null | grep -o '"diverting": true' | wc -l) == $# ]] && return
    kill -0 $daemon 2>/dev/null || return
    sleep 0.2
  done
}
pings() { on host ping -n -q -c "$1" -i 0.2 -W 5 "$2" | sed -n 's/.* \([0-9]*\) received.*/\1/p'; }

exercise() {  # kind; directions; addresses' beginnings
  kind=$1
  local directions=$2 nets=$3 pings= tcp=
  for direction in $directions; do shape $direction; done >/run/headgate.toml
  start $directions
  for net in $nets; do
    pings+="$(pings 10 "${net}2") "
    tcp+="$(on peer python3 "$here/bulk.py" receive "${net}2" 7001 & sleep 1.5; on host python3 "$here/bulk.py" send "${net}2" 7001; wait) "
    tcp+="$(on host python3 "$here/bulk.py" receive "${net}1" 7002 & sleep 1.5; on peer python3 "$here/bulk.py" send "${net}1" 7002; wait) "
  done
  result pings "$pings"
  result tcp "$tcp"
  result show "$(control -j show | tr -d '\n')"
  kill -9 $daemon
  set -- $nets
  pings 5 "${1}2" >/dev/null
  result killed "$(pings 5 "${1}2")"
  on host "$programs/headgated" --cleanup
  ip -n host link delete t0 2>/dev/null
  ip -n peer link delete t0 2>/dev/null
}

both ipip 10.77.0.; address_ends t0 10.79.0.; exercise ipip "egress ingress" "10.79.0."
both gre 10.77.0.; address_ends t0 10.79.0. fd79::; exercise gre "egress" "10.79.0. fd79::"
both sit 10.77.0.; address_ends t0 fd79::; exercise sit "egress" "fd79::"
both ip6tnl fd77:: mode any; address_ends t0 10.79.0. fd79::; exercise ip6tnl "egress ingress" "10.79.0. fd79::"
both ip6gre fd77::; address_ends t0 10.79.0. fd79::; exercise ip6gre "egress ingress" "10.79.0. fd79::"
external gre key 7 local 10.77.0.2 remote 10.77.0.1; exercise external-gre "egress" "10.79.0."
external gretap key 7 local 10.77.0.2 remote 10.77.0.1; exercise external-gretap "egress" "10.79.0."
external geneve id 7 remote 10.77.0.1; exercise external-geneve "egress" "10.79.0."
# As the service runs: a verifier that trusts nobody judges the programs.
forget_who_ran() { rm -rf /run/control.sock* /run/headgate/*; }
caps=net_admin,+net_raw,+bpf
forget_who_ran
chmod 777 /run
as=(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set "-all,+$caps" --inh-caps "-all,+$caps" --ambient-caps "-all,+$caps")
both gre 10.77.0.; address_ends t0 10.79.0. fd79::; exercise unprivileged "egress" "10.79.0. fd79::"
as=()
forget_who_ran
wireguard; address_ends t0 10.79.0. fd79::; exercise wireguard "egress ingress" "10.79.0. fd79::"
ppp; exercise ppp "egress ingress" "10.79.0."
kind=all
result done 1
