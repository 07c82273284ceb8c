#!/bin/sh
# Datagrams through RIST (Debian: rist-tools), to the contract of `weftline-lab load`; `stream` only:
#
#   weftline-lab load recv rist stream b 5000 --ext rist=crates/weftline-lab/ext/rist.sh
#
# In a lab with several links RIST shares the load among all of them, by equal weights. The setting buffer= is
# RIST's: ms for which packets wait for those sent again, 500 unless given. Every message is that late, for
# that is how RIST delivers. RIST has the other flags of both of its ends, WEFTLINE the program that measures.
# Ports PORT+1 (receiving end) and PORT+2 (sending end) must be free too.
set -eu
: "${RIST:=-p 1 -v 4 -S 0}"
: "${WEFTLINE:=weftline-lab}"
side=$1 mode=$2 host=$3 port=$4
shift 4
if [ "$mode" != stream ]; then
    echo '{"error":"RIST carries a stream only"}'
    exit 2
fi
buffer=500
for setting; do
    shift
    case $setting in
    buffer=*) buffer=${setting#buffer=} ;;
    *) set -- "$@" "$setting" ;;
    esac
done

# shellcheck disable=SC2086 # the flags are several words
case $side in
recv)
    near=$((port + 1)) awaited=$port
    ristreceiver -i "rist://@0.0.0.0:$port?buffer=$buffer" -o "udp://127.0.0.1:$near" $RIST >&2 &
    ;;
send)
    near=$((port + 2)) awaited=$near
    output="rist://$host:$port?buffer=$buffer&weight=5"
    # A lab names the addresses of further links there.
    for address in $(awk -v host="$host" '$1 ~ /[.]/ && $2 ~ "^" host "[.]lab[1-9]$" { print $1 }' /etc/hosts); do
        output="$output,rist://$address:$port?buffer=$buffer&weight=5"
    done
    ristsender -i "udp://@127.0.0.1:$near" -o "$output" $RIST >&2 &
    ;;
*)
    echo '{"error":"recv or send"}'
    exit 2
    ;;
esac
tunnel=$!
# It is waited for, so that its processor time counts as this script's.
trap 'kill $tunnel 2>/dev/null && wait $tunnel 2>/dev/null || true' EXIT
trap 'exit 143' TERM INT
# It says nothing when it is ready: its socket is there, at most 10 s later.
for _ in $(seq 200); do
    grep -qs "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$awaited") " /proc/net/udp /proc/net/udp6 && break
    sleep 0.05
done
if ! kill -0 "$tunnel" 2>/dev/null; then
    echo '{"error":"RIST ended before it was ready"}'
    exit 1
fi
# Its handshake takes a moment, and what comes before is lost.
[ "$side" = recv ] || sleep 1
"$WEFTLINE" load "$side" udp "$mode" 127.0.0.1 "$near" "$@"
