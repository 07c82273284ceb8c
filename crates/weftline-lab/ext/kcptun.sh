#!/bin/sh
# TCP through kcptun (Debian: kcptun), to the contract of `weftline load`:
#
#   weftline load recv kcptun stream b 5000 --ext kcptun=crates/weftline-lab/ext/kcptun.sh
#
# KCPTUN has the flags of both of its ends, WEFTLINE the program that measures TCP. Ports PORT+1
# (receiving end) and PORT+2 (sending end) must be free too.
set -eu
: "${KCPTUN:=--mode fast3 --nocomp --datashard 10 --parityshard 3 --sndwnd 1024 --rcvwnd 1024}"
: "${WEFTLINE:=weftline}"
side=$1 mode=$2 host=$3 port=$4
shift 4

# shellcheck disable=SC2086 # the flags are several words
case $side in
recv)
    near=$((port + 1))
    kcptun-server --listen ":$port" --target "127.0.0.1:$near" $KCPTUN >&2 &
    ;;
send)
    near=$((port + 2))
    kcptun-client --localaddr "127.0.0.1:$near" --remoteaddr "$host:$port" $KCPTUN >&2 &
    ;;
*)
    echo '{"error":"recv or send"}'
    exit 2
    ;;
esac
tunnel=$!
trap 'kill $tunnel 2>/dev/null || true' EXIT
trap 'exit 143' TERM INT
# It says nothing when it is ready.
sleep 0.5
"$WEFTLINE" load "$side" tcp "$mode" 127.0.0.1 "$near" "$@"
