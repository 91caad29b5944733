# What a session of a page begins with: the commands that the pages name, as far as they cannot be run as they stand.
# Given: ROOT, this repository; NODE, a Node that reads TypeScript; HTTP_PORT, PROXY_PORT and the service's other settings.
set -u -o pipefail
SERVICE=
# Each that was started, by the number of its group.
STARTED=()

# A refusal is a failure; what never ends is followed until something is seen.
curl() {
  noted "$@"
  case " $* " in
    *' -N '*) follow curl -sS "$@" ;;
    *' -f '* | *' --fail '* | *' -fOJ '*) command curl -sS --max-time 60 "$@" ;;
    *) command curl -sS --max-time 60 --fail-with-body "$@" ;;
  esac
}

# What was sent where, for whoever holds it against the API's description.
noted() {
  local n url='' body=''
  for ((n = 1; n <= $#; n++)); do
    case "${!n}" in
      -d | --data) n=$((n + 1)) && body=${!n} ;;
      *localhost:*) url=${!n} ;;
    esac
  done
  if [[ $body ]]; then printf '%s\t%s\n' "$url" "${body//$'\n'/ }" >>calls.log; fi
}

follow() {
  local line seen pid
  exec {seen}< <(exec setsid "$@")
  pid=$!
  IFS= read -r -t 60 -u "$seen" line && printf '%s\n' "$line"
  local answered=$?
  kill -- "-$pid" 2>/dev/null
  exec {seen}<&-
  return "$answered"
}

# What is installed is this repository's: `ci` only sees that the list of packages is in order.
npm() {
  case "$*" in
    ci) command npm ci --dry-run --ignore-scripts --offline >/dev/null ;;
    start) service_starts ;;
    *) command npm "$@" ;;
  esac
}

npx() {
  case " $* " in
    *' -f '*) follow npx "$@" ;;
    *) command npx "$@" ;;
  esac
}

# In the background, where a reader takes a second terminal.
service_starts() {
  setsid npm -s start </dev/null >>service.log 2>&1 &
  SERVICE=$!
  STARTED+=("$SERVICE")
  until command curl -sf "localhost:$HTTP_PORT/readyz" >/dev/null; do
    kill -0 "$SERVICE" || return 1
    sleep 0.1
  done
}

# As by Ctrl-C.
service_stops() {
  kill -INT -- "-$SERVICE"
  while kill -0 -- "-$SERVICE" 2>/dev/null; do sleep 0.05; done
  SERVICE=
}

# The premise of most pages: the service runs at $URL, and $KEY is its key.
started() {
  service_starts && URL=http://localhost:$HTTP_PORT && KEY=$(command node -p 'require("./data/first-run.json").apiKey')
}

# server NAME [MORE JSON FIELDS]: a sandbox server.
server() {
  curl -H "x-api-key: $KEY" "localhost:$HTTP_PORT/v1/servers" -d "{\"name\":\"$1\",\"ramMb\":512${2:+,$2}}"
}

# joins PLAYER SERVER [ADDRESS]: who types the address in Minecraft, stays a moment, and leaves.
joins() {
  "$NODE" "$ROOT/test/docs/join.ts" "$1" "$2" "${3:-localhost}" "$KEY"
}

# Where others in the network find this machine; one that is in none has another address of its own.
home_address() {
  command node -p "Object.values(os.networkInterfaces()).flat().find((each) => each.family === 'IPv4' && !each.internal)?.address ?? '127.0.0.2'"
}

# reaches SERVER STATE
reaches() {
  local n
  for n in {1..600}; do
    curl -H "x-api-key: $KEY" "localhost:$HTTP_PORT/v1/servers/$1" | grep -q "\"state\":\"$2\"" && return
    sleep 0.1
  done
  return 1
}

# Who types the password that the last answer told, and asks for nothing.
sftp() {
  printf '#!/bin/sh\nexec "%s" -p %s\n' "$NODE" "'JSON.parse(fs.readFileSync(\"$PWD/sftp.json\")).password'" >home/askpass
  chmod 700 home/askpass
  SSH_ASKPASS="$PWD/home/askpass" SSH_ASKPASS_REQUIRE=force command sftp -o StrictHostKeyChecking=no \
    -o UserKnownHostsFile=/dev/null -o NumberOfPasswordPrompts=1 "$@"
}

# As sudo has it: the folders of system programs, too.
sudo() { PATH=$PATH:/usr/sbin:/sbin "$@"; }

# The newer release is the one that is tested.
git() { [[ $* = pull ]]; }

# Of the engine's part, `docker compose` is held against the file that it reads.
docker() {
  case "$1 $2" in
    'compose up') "$NODE" "$ROOT/test/docs/compose.ts" up ;;
    'compose exec') "$NODE" "$ROOT/test/docs/compose.ts" exec "$3" ;;
    'compose run') "$NODE" "$ROOT/test/docs/compose.ts" run dormouse && [[ "$*" = *' dormouse run '* ]] && command npm pkg get "scripts.${*: -1}" | grep -q node ;;
    *) return 1 ;;
  esac
}

# No service manager runs here: what it would be given is held by its own check.
systemctl() {
  case "$*" in
    daemon-reload) ;;
    'enable --now '*) systemd-analyze verify --man=no "/etc/systemd/system/$3.service" && DATA_DIR=/var/lib/dormouse service_starts ;;
    *) return 1 ;;
  esac
}

# For `unshare --mount`: what is written to the machine's folders is gone with the session.
own_folders() {
  mount -t tmpfs tmpfs /mnt && cp -a /etc /mnt/ && mount --bind /mnt/etc /etc && mount -t tmpfs tmpfs /var/lib && mount -t tmpfs tmpfs /srv
}

# Runs however the session ends, with the test that holds its input too.
ended() {
  trap - EXIT
  local group
  for group in "${STARTED[@]}"; do kill -KILL -- "-$group" 2>/dev/null; done
  "$NODE" "$ROOT/test/docs/leave.ts"
}
trap ended EXIT
