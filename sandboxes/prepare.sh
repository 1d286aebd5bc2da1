#!/bin/sh
# Brings up what container tests need on a bare Debian or Ubuntu machine, as root: a Docker engine, unless one
# answers, and the image `python`. Can be run again at any time. PYTHON names an interpreter that has tracemill.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
logs=${XDG_CACHE_HOME:-$HOME/.cache}/tracemill
if [ -z "${PYTHON:-}" ]; then
    if [ -x "$here/.venv/bin/python" ]; then PYTHON=$here/.venv/bin/python; else PYTHON=python3; fi
fi

answers() { (cd "$here" && "$PYTHON" -m pipeline.sandbox check) >/dev/null 2>&1; }

missing=""
command -v debootstrap >/dev/null 2>&1 || missing="debootstrap"
if ! answers && ! command -v dockerd >/dev/null 2>&1; then missing="$missing docker.io"; fi
if [ -n "$missing" ] && command -v apt-get >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086
    apt-get install -y -qq $missing >/dev/null
fi

if ! answers; then
    mkdir -p "$logs"
    setsid dockerd >"$logs/dockerd.log" 2>&1 </dev/null &
    tries=0
    until answers; do
        tries=$((tries + 1))
        if [ "$tries" -ge 60 ]; then
            echo "The Docker engine did not start; see $logs/dockerd.log" >&2
            exit 1
        fi
        sleep 1
    done
    echo "Docker engine started; its log is $logs/dockerd.log"
fi

cd "$here" && exec "$PYTHON" -m pipeline.sandbox build "${1:-python}"
