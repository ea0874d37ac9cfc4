#!/usr/bin/env bash
# A fleet on one machine, for a try: PostgreSQL, a development server of Temporal, two workers and the API with its board,
# for the folder that is given (the current one).
#
#	examples/fleet.sh up [FOLDER]
#	examples/fleet.sh down
#
# It needs Go, and PostgreSQL's programs (Debian: apt install postgresql).
set -euo pipefail
base=${XDG_STATE_HOME:-$HOME/.local/state}/pawl-fleet-try
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export PATH=$base/bin:$PATH

down() {
	for pid in "$base"/*.pid; do
		[ -e "$pid" ] && kill "$(cat "$pid")" 2>/dev/null || true
	done
	for pid in "$base"/*.pid; do
		[ -e "$pid" ] || continue
		for _ in $(seq 100); do kill -0 "$(cat "$pid")" 2>/dev/null || break; sleep 0.1; done
		rm -f "$pid"
	done
}

# start NAME COMMAND …: in the background, with its output in a file.
start() {
	local name=$1
	shift
	setsid "$@" >"$base/$name.log" 2>&1 </dev/null &
	echo $! >"$base/$name.pid"
}

# await NAME WHAT COMMAND …: waits until the command succeeds, as long as the process lives.
await() {
	local name=$1 what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		kill -0 "$(cat "$base/$name.pid")" 2>/dev/null || { echo "$what did not start:"; tail -n 5 "$base/$name.log"; exit 1; }
		sleep 0.2
	done
}

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1"); }

# free: a port that nothing listens on, below those that clients get.
free() {
	for port in $(seq "$1" $(($1 + 200))); do
		listens "$port" 2>/dev/null || { echo "$port"; return; }
	done
}

up() {
	local folder postgres bin as=()
	folder=$(cd "${1:-.}" && pwd)
	bin=$(dirname "$(command -v initdb || ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -n 1)")
	[ -x "$bin/initdb" ] || { echo "PostgreSQL is needed: apt install postgresql"; exit 1; }
	down
	mkdir -p "$base/bin"
	echo "building pawl-fleet"
	(cd "$source" && CGO_ENABLED=0 go build -o "$base/bin/pawl-fleet" ./cmd/pawl-fleet)
	if ! command -v temporal >/dev/null; then
		echo "building Temporal's development server, once: some 5 minutes"
		GOBIN=$base/bin CGO_ENABLED=0 go install -ldflags '-s -w' github.com/temporalio/cli/cmd/temporal@v1.5.1
	fi
	postgres=$base/postgres
	if [ "$(id -u)" = 0 ]; then # PostgreSQL does not run as root
		as=(setpriv --reuid postgres --regid postgres --clear-groups)
		postgres=/var/tmp/pawl-fleet-try
	fi
	if [ ! -e "$postgres/PG_VERSION" ]; then
		mkdir -p "$postgres"
		[ ${#as[@]} = 0 ] || chown postgres "$postgres"
		chmod 700 "$postgres"
		(cd / && "${as[@]}" "$bin/initdb" -D "$postgres" -A trust -U pawl -E UTF8 --locale=C >"$base/initdb.log")
	fi
	local database temporal
	database=$(free 21000) temporal=$(free 21300)
	(cd / && start postgres "${as[@]}" "$bin/postgres" -D "$postgres" -p "$database" -c listen_addresses=127.0.0.1 -c "unix_socket_directories=")
	start temporal temporal server start-dev --headless --ip 127.0.0.1 --port "$temporal" --db-filename "$base/temporal.db" --log-level error
	await postgres PostgreSQL listens "$database"
	await temporal Temporal temporal operator cluster health --address "127.0.0.1:$temporal"
	export PAWL_STORE="postgres://pawl@127.0.0.1:$database/postgres?sslmode=disable" PAWL_TEMPORAL=127.0.0.1:$temporal
	start worker-1 pawl-fleet -C "$folder" worker
	start worker-2 pawl-fleet -C "$folder" worker
	start server pawl-fleet -C "$folder" serve --address "127.0.0.1:$(free 21600)"
	for name in worker-1 worker-2; do await $name "$name" grep -q "working on the queue" "$base/$name.log"; done
	await server "the server" grep -q "serving" "$base/server.log"
	printf 'For commands in %s:\n  export PAWL_STORE=%q PAWL_TEMPORAL=%s\n  PATH=%q:$PATH\nLogs are in %s. End with: %s down\nThe board:\n' "$folder" "$PAWL_STORE" "$PAWL_TEMPORAL" "$base/bin" "$base" "$0"
	pawl-fleet -C "$folder" serve link
}

case ${1:-} in
up) shift; up "$@" ;;
down) down ;;
*) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
