/** A network of its own where every address is this machine: what dials there is seen, and reaches nobody. */
import { spawnSync } from 'node:child_process';

const SEAL = ['ip link set lo up', 'ip route add local 0.0.0.0/0 dev lo', 'ip -6 route add local ::/0 dev lo'].join(
  ' && ',
);

/** How a program ended in there, or why there is no such network here, in one line. */
export type Sealed =
  | { readonly ok: true; readonly status: number | null; readonly stdout: string; readonly stderr: string }
  | { readonly ok: false; readonly problem: string };

/**
 * Runs a program of the tests in one, with an argument. Needs unshare and ip, and user namespaces where it is not root.
 */
export function runSealed(program: string, argument = ''): Sealed {
  const inside = (command: string) =>
    spawnSync(
      'unshare',
      [process.getuid?.() === 0 ? '-n' : '-rn', 'sh', '-c', `${SEAL} && ${command}`, 'sh', argument],
      { encoding: 'utf8', maxBuffer: 67_108_864 },
    );
  const sealed = inside('true');
  if (sealed.status !== 0)
    return {
      ok: false,
      problem: `left out, for want of a network of its own (unshare, ip): ${sealed.error?.message ?? sealed.stderr.trim()}`,
    };
  const { status, stdout, stderr } = inside(`exec '${process.execPath}' '${program}' "$1"`);
  return { ok: true, status, stdout, stderr };
}
