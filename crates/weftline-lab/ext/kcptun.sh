#!/bin/sh
# TCP through kcptun (Debian: kcptun), to the contract of `weftline-lab load`:
#
#   weftline-lab load recv kcptun stream b 5000 --ext kcptun=crates/weftline-lab/ext/kcptun.sh
#
# The setting window= (packets, 1024 unless given) is kcptun's. KCPTUN has the other flags of both of
# its ends, WEFTLINE the program that measures TCP. Ports PORT+1 (receiving end) and PORT+2 (sending
# end) must be free too.
set -eu
: "${KCPTUN:=--mode fast3 --nocomp --datashard 10 --parityshard 3}"
: "${WEFTLINE:=weftline-lab}"
side=$1 mode=$2 host=$3 port=$4
shift 4
window=1024
for setting; do
    shift
    case $setting in
    window=*) window=${setting#window=} ;;
    *) set -- "$@" "$setting" ;;
    esac
done
KCPTUN="--sndwnd $window --rcvwnd $window $KCPTUN"

# shellcheck disable=SC2086 # the flags are several words
case $side in
recv)
    near=$((port + 1)) kind=udp awaited=$port
    kcptun-server --listen ":$port" --target "127.0.0.1:$near" $KCPTUN >&2 &
    ;;
send)
    near=$((port + 2)) kind=tcp awaited=$near
    kcptun-client --localaddr "127.0.0.1:$near" --remoteaddr "$host:$port" $KCPTUN >&2 &
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
    grep -qs "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$awaited") " "/proc/net/$kind" "/proc/net/${kind}6" && break
    sleep 0.05
done
"$WEFTLINE" load "$side" tcp "$mode" 127.0.0.1 "$near" "$@"
# The last answer is still on its way through it.
[ "$side" = send ] || sleep 1
