/**
 * The exec shim: the small shell program around every execution that outlives the agent.
 *
 * Why it is built so:
 * - The script's stdout and stderr are one pipe. Not a file: `echo oops >/dev/stderr` reopens what is behind the
 *   descriptor, and on a file that truncates everything written so far. Not a socket: there it fails.
 * - The pipe is read by a process of the execution's own (`dd`, which every Linux has), not by the agent: an agent that
 *   is
 *   killed between reading and writing would lose a piece of output, and its death would stop the script with SIGPIPE.
 * - `dd` stops after READS_MAX reads and is started again, so that the shell can count ("1+511 records in": whole and
 *   partial reads; the last such line, as SIGUSR1 has it say others before): the first bytes go to `first`, what
 *   follows to `ring.0` and `ring.1` in turn. So an output of any length takes a bounded amount of disk, agent or no
 * agent.
 * - The shell ignores signals that the agent sends to the group, and gives them back to the script. It writes the exit
 *   status to `status` when the script's own process ends, whatever that left behind in the background; on a full disk
 * it
 *   tries again until there is room or the directory is gone.
 * - It says who it is in `claim`, made with O_EXCL: an agent that comes back makes the file itself if it can, and then
 *   knows that this exec shim never started anything and never will.
 * - The script lies in a directory of its own below, in which it may leave files by any name: none is one of these.
 * - It is started ahead of need and waits for its job on stdin, where a vanished agent shows as end of file. Starting a
 *   shell, `dd` and two forks takes 1.3 ms more than a bare shell; done ahead, a command costs what a bare shell costs
 * (measured).
 */

/**
 * Bytes that `dd` takes in one read, and reads until the shell looks at sizes again: 4 MiB at most between two looks.
 */
const READ_BYTES = 8_192;
const READS_MAX = 512;

/** What a file of the ring may exceed its size by, in bytes. */
export const OVERSHOOT_BYTES_MAX = READ_BYTES * READS_MAX;

/** Directory in an exec shim's, of the script alone: `dirname "$0"`. Agents of before had it in that one itself. */
export const SCRIPT_DIRECTORY = 'job';

/** Files in an exec shim's directory. */
export const SHIM_FILES = {
  script: `${SCRIPT_DIRECTORY}/script`,
  /** "<pid> <execution>" */
  startLock: 'claim',
  /** The exit status in decimal, with a newline behind it. */
  status: 'status',
  first: 'first',
  ring: ['ring.0', 'ring.1'],
  /** "<number of the ring's file, from 1> <bytes before it>", once the ring is used. */
  segment: 'segment',
  /** Made ahead with a byte in it, and emptied when output was lost, which a disk lets be done that takes no file. */
  whole: 'whole',
  /** Exists when output was lost and this file could be made: all that agents of before look for, and leave. */
  cut: 'cut',
  /** Why the agent began to end the execution, written before the first signal: the next agent goes on with it. */
  ending: 'ending',
  /** "<boot id>" and a line for each process that it saw then. */
  members: 'members',
} as const;

/**
 * Name of the variable that marks the exec shim's own processes; the script's have EXECUTION_MARK instead. It is not
 * renamed, nor is a file: shims that an older agent started are taken up after an update.
 */
export const SHIM_MARK = 'EDGE_KEEPER';
export const EXECUTION_MARK = 'EDGE_EXECUTION_ID';

const SIGNALS = 'HUP INT QUIT USR1 USR2 ALRM TERM';

/**
 * An exec shim that has no start lock and cannot make one, as on a full disk, ends itself by this: it started nothing,
 * and never will. An empty start lock alone does not say so, as a script can empty it.
 */
export const UNSTARTED_SIGNAL = 'SIGVTALRM';

/**
 * Arguments: directory, bytes of `first`, bytes of each ring file. Job on stdin, a line each: execution id,
 * interpreter, its argument (or empty), the traceparent of the process (or empty). The interpreter gets the argument,
 * if any, and the path of the script.
 */
export const SHIM_SCRIPT = `
trap '' ${SIGNALS}
cd "$1" || exit 0
job() {
  IFS= read -r execution && IFS= read -r interpreter && IFS= read -r argument && IFS= read -r traceparent || exit 0
  set -C
  echo "$$ $execution" 2>/dev/null >claim || {
    [ -s claim ] || kill -s ${UNSTARTED_SIGNAL.slice(3)} $$
    exit 0
  }
  set +C
  (
    trap - ${SIGNALS}
    script=$1/${SHIM_FILES.script}
    export ${EXECUTION_MARK}="$execution"
    unset ${SHIM_MARK}
    [ -z "$traceparent" ] || export TRACEPARENT="$traceparent"
    cd "$HOME" 2>/dev/null || cd /
    unset OLDPWD
    exec 0</dev/null 2>&1
    if [ -n "$argument" ]; then exec "$interpreter" "$argument" "$script"; else exec "$interpreter" "$script"; fi
  )
  ended=$?
  until echo $ended >status; do
    [ -e claim ] || exit 0
    sleep 1
  done
}
lost() {
  true >${SHIM_FILES.whole}
  true >${SHIM_FILES.cut}
  exec cat >/dev/null
}
capture() {
  newline='
'
  file=first limit=$2 size=0 before=0 segment=0
  while :; do
    said=$(LC_ALL=C dd bs=${READ_BYTES} count=${READS_MAX} 2>&1 >>"$file") || lost
    reads=\${said% records in*} reads=\${reads##*"$newline"} bytes=\${said##*records out"$newline"} bytes=\${bytes%% *}
    case \${reads%+*}\${reads#*+} in
      ''|*[!0-9]*) [ $(dd bs=1 count=1 2>/dev/null | wc -c) -eq 0 ] || lost; return 0;;
    esac
    case $bytes in ''|*[!0-9]*) bytes=$(($(wc -c <"$file") - size));; esac
    [ $(($reads)) -eq ${READS_MAX} ] || return 0
    size=$((size + bytes))
    if [ $size -ge $limit ]; then
      before=$((before + size)) size=0 limit=$3 segment=$((segment + 1)) file=ring.$((segment % 2))
      true >"$file" && echo "$segment $before" >segment || lost
    fi
  done
}
job "$@" | capture "$@"
`;
