# The wait until the node is healthy, and the line of the end.

# Enrolment, the first session and its first report take 2 s; an admin that is busy or far away takes longer.
HEALTHY_S_MAX=60

wait_until_healthy() {
  if ! is_real; then
    echo 'would wait until the node is healthy'
    return
  fi
  if [ "$NEEDS_PROGRAMS$is_key_given$IS_KEY_WRITTEN" = noyesno ]; then note 'This machine is a node already: the key was not needed.'; fi
  until state=$(how_it_is) && [ "${state%% *}" = healthy ]; do
    why_ended
    problem=${state#* }
    [ "$(($(now) - BEGAN))" -lt $((HEALTHY_S_MAX + DOWNLOAD_S)) ] || fail "The agent runs and is not healthy after $HEALTHY_S_MAX s: ${problem:-$(why_outside)}."
    pause
  done
  forget_key
  trap - EXIT
  rm -rf "$WORK"
  printf '%s: healthy after %s s\n' "${state#* }" "$(($(now) - BEGAN))"
  [ "$INIT" != none ] || note "Nothing on this machine starts services: put $LIB/edge-agentctl start$(with_updater " and $LIB/edge-agentctl start updater") where they are started at boot."
  [ "$SCOPE$INIT" != usersystemd ] || note "It ends when you log out, unless root runs: loginctl enable-linger $(id -un)"
}

now() {
  date +%s
}

# Whether an admin has let the agent in as the node that it is.
has_session() {
  case $(how_it_is) in healthy\ * | unwell\ *) return 0 ;; *) return 1 ;; esac
}

# "healthy edge-agent 0.1.0 runs as node NAME (ID) in cluster C"; "unwell", or without a session "alone", and what is wrong;
# nothing before it says anything.
how_it_is() {
  # shellcheck disable=SC2016 # a program for Node
  "$STATE/current/runtime/node" -e '
    const { readFileSync } = require("node:fs");
    const read = (name) => JSON.parse(readFileSync(process.argv[1] + "/" + name, "utf8"));
    try {
      const { node_id: id, enrollment } = read("identity.json");
      const health = read("health.json");
      const name = process.argv[2].split(",")[0] || require("node:os").hostname();
      process.kill(health.pid, 0);
      if (health.connected_since === null) console.log("alone It has no session with an admin");
      else if (!health.services_ok) console.log(`unwell ${health.problems.join("; ") || "a service is down"}`);
      else if (health.last_answer_at === null) console.log("unwell No admin has answered it");
      else console.log(`healthy edge-agent ${health.version} runs as node ${name} (${id}) in cluster ${enrollment.cluster_name}`);
    } catch {}' "$DATA" "$(setting_in "$AGENT_ENV" AGENT_ALIASES)" 2>/dev/null
}

# "it has not enrolled", and what the log says last of a try.
why_outside() {
  # shellcheck disable=SC2016 # a program for Node
  log_end | "$STATE/current/runtime/node" -e '
    let last = "";
    for (const line of require("node:fs").readFileSync(0, "utf8").split("\n"))
      try {
        const { msg, admin, problem } = JSON.parse(line);
        if (msg.startsWith("Enrolment did not succeed")) last = `: ${admin}: ${problem}`;
      } catch {} // no line of the log: what else the agent printed
    console.log(`it has not enrolled${last}`);' 2>/dev/null || echo 'it has not enrolled'
}

# An agent that ended for good says why in its last line.
why_ended() {
  case $INIT in
  systemd)
    case $(control show -p ActiveState --value edge-agent.service 2>/dev/null) in
    failed | inactive) ;;
    *) return 0 ;;
    esac
    ;;
  *)
    ! "$LIB/edge-agentctl" status agent >/dev/null 2>&1 || return 0
    ;;
  esac
  problem=$(log_end | grep '^edge-agent: ' | sed -n '$ s/^edge-agent: //p')
  fail "The agent ended: ${problem:-$(log_end | tail -n 1)}."
}

log_end() {
  if [ "$INIT" = systemd ]; then
    if [ "$SCOPE" = user ]; then
      journalctl --user-unit edge-agent.service -n 50 -o cat --no-pager 2>/dev/null
    else
      journalctl -u edge-agent.service -n 50 -o cat --no-pager 2>/dev/null
    fi
  else
    tail -n 50 "$LOGS/agent.log" 2>/dev/null
  fi
}
