/**
 * A machine of a test: a plain Debian in namespaces of its own, on the network of this one. What is changed on it is in
 * memory and goes with it; nothing is started on it but what a test starts.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { peerPath } from '../run/peers.ts';
import type { Scope } from '../scope.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { until } from '../until.ts';

/** Its path, unless a test gives another. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What a command said, and how it ended. */
export interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a command is run there. */
export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Default: root. */
  readonly uid?: number;
}

/** A running machine. */
export interface Machine {
  /** Its root, as this machine sees it. */
  readonly root: string;
  /** Runs a script by /bin/sh. Resolves with its end. */
  run(script: string, options?: RunOptions): Promise<Outcome>;
  read(path: string): string;
  write(path: string, text: string, mode?: number): void;
  /** Mounts a directory of it at another place, which is made, and takes it away again. It has no program for that. */
  bind(from: string, at: string): Promise<void>;
  unbind(at: string): Promise<void>;
  /** Every file but those of /proc, /dev, /sys and /tmp: path, kind, mode, and of files when they were written. */
  files(): Promise<readonly string[]>;
}

/** How it is made. `mib`: room on it. */
export interface MachineOptions {
  readonly mib?: number;
}

/** Starts one, which ends with the scope. Needs the peers `root` and `debian-root`. */
export async function startMachine(scope: Scope, { mib = 1_024 }: MachineOptions = {}): Promise<Machine> {
  const lower = await peerPath('debian-root');
  const place = temporaryDirectory(scope);
  const inside = join(place, 'root');
  const script = [
    'set -e',
    'cd "$1"',
    'mkdir changes root',
    `mount -t tmpfs -o size=${mib}m changes changes`,
    'mkdir changes/upper changes/work',
    'mount -t overlay -o "lowerdir=$2,upperdir=changes/upper,workdir=changes/work" root root',
    'mount -t proc proc root/proc',
    'mount --rbind /dev root/dev',
    'mount -t tmpfs -o mode=1777 tmp root/tmp',
    'echo ready',
    'exec sleep infinity',
  ].join('\n');
  const holder = spawn(
    'unshare',
    ['--pid', '--mount', '--fork', '--kill-child=KILL', 'sh', '-c', script, 'sh', place, lower],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const ended = new Promise<void>((resolve) => {
    holder.once('exit', () => resolve());
  });
  scope.teardown(async () => {
    holder.kill('SIGKILL');
    await ended;
  });
  let said = '';
  for (const stream of [holder.stdout, holder.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  await until('the machine', () => {
    if (holder.exitCode !== null) throw new Error(said.trim());
    return said.includes('ready');
  });
  const pid = Number(readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').trim());
  const root = `/proc/${pid}/root${inside}`;
  const enter = ['--target', String(pid), '--mount', '--pid', 'chroot'];
  const run: Machine['run'] = (command, { env = {}, stdin = '', uid = 0 } = {}) =>
    new Promise((resolve) => {
      const variables = Object.entries({ PATH, HOME: '/root', ...env }).map(([name, value]) => `${name}=${value}`);
      const words = [`--userspec=${uid}:${uid}`, inside, '/usr/bin/env', '-i', ...variables, '/bin/sh', '-c', command];
      const child = execFile('nsenter', [...enter, ...words], { maxBuffer: 64 * 1_048_576 }, (error, stdout, stderr) =>
        resolve({
          status: error === null ? 0 : typeof error.code === 'number' ? error.code : null,
          stdout,
          stderr,
        }),
      );
      child.stdin?.on('error', () => {}); // it may end before it has read all
      child.stdin?.end(stdin);
    });
  const outside = async (...words: readonly string[]): Promise<void> => {
    await promisify(execFile)('nsenter', ['--target', String(pid), '--mount', ...words]);
  };
  return {
    root,
    run,
    async bind(from, at) {
      mkdirSync(join(root, at), { recursive: true });
      await outside('mount', '--bind', join(inside, from), join(inside, at));
    },
    unbind: (at) => outside('umount', join(inside, at)),
    read: (path) => readFileSync(join(root, path), 'utf8'),
    write(path, text, mode = 0o644) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text, { mode });
    },
    async files() {
      const { stdout } = await run(
        "find / \\( -path /proc -o -path /dev -o -path /sys -o -path /tmp \\) -prune -o \\( -type f -printf '%p %y %m %s %T@\\n' -o -printf '%p %y %m %l\\n' \\)",
      );
      return stdout.trim().split('\n').toSorted();
    },
  };
}
