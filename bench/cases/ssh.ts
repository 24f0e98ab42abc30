/**
 * `ssh`: logins and copies of a large file at the agent's own SSH server, beside OpenSSH's sshd with the same client,
 * key, account and algorithms.
 */
import { chmod, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SSH_ATTEMPTS_BURST_MAX, SSH_ATTEMPTS_PER_SECOND } from '../../actors/ssh/login-attempts.ts';
import { createScope } from '../../test/support/scope.ts';
import { startBenchServer } from '../fleet/database.ts';
import { freePort } from '../fleet/ports.ts';
import { buildLoad } from '../load/program.ts';
import { interleave, type Side } from '../method/interleave.ts';
import { cpuWithChildrenMs } from '../method/usage.ts';
import { findProgram, missingPackages } from '../peers/programs.ts';
import { startSshFleet } from '../peers/ssh-fleet.ts';
import { clientKey, copyPlaces, sshClients, SSH_ALGORITHMS, type SshClients } from '../peers/ssh-server.ts';
import type { AgentProcess } from '../product/agent-program.ts';
import { profileReach, startReachProduct, type ReachProduct } from '../product/reach.ts';
import { compare, verdict } from './findings.ts';
import type { CaseOptions } from './options.ts';

/** Clients at once, and logins of one run. */
const AT_ONCE = [1, 4] as const;
const LOGINS = 16;
const REPEATS = 5;

/** What a login takes of a node's allowance: the client asks whether the key would do, then signs. */
const ATTEMPTS_PER_LOGIN = 2;

/** The file that is copied, in MiB. Source: docs/performance.md. */
const MIB = 1_024;
const COPY_REPEATS = 3;

/** The server's processes of a session end a moment after its client; their processor time is known then. In ms. */
const SESSION_END_MS = 300;

/** Target, of sshd's speed, for logins and for copies. Source: docs/performance.md. */
const RATIO_MIN = 0.5;

/** Where files live in memory, if they do. */
const MEMORY_DIR = '/dev/shm';

interface Host {
  readonly name: string;
  readonly agent?: AgentProcess;
  readonly pids: readonly number[];
}

/**
 * Both parts, or the one that is named behind the case: `logins`, or `copies` (`--mib` sets the size of the file).
 * Needs root: sshd and the agent change to an account.
 */
export async function ssh(options: CaseOptions): Promise<void> {
  const missing = await missingPackages(options.install, ['ssh', 'sshd', 'cc']);
  const sshd = await findProgram('sshd');
  if (missing.length > 0 || sshd === undefined || process.getuid?.() !== 0) {
    return options.report.note(
      `ssh needs root and ${missing.join(' ') || 'nothing else'} (--install installs with apt): it is left out`,
    );
  }
  const scope = createScope();
  try {
    const postgres = await startBenchServer();
    scope.teardown(() => postgres.stop());
    const port = await freePort();
    const fleet = await startSshFleet(sshd, port, 1);
    scope.teardown(() => fleet.end());
    const product = await startReachProduct(postgres);
    scope.teardown(() => product.end());
    const load = await buildLoad();
    const { admin, agent, optimizing } = product;
    for (const { node } of [agent, optimizing]) {
      const { id } = await admin.http.call<{ id: string }>('POST', `/nodes/${node}/ssh_usernames`, {
        username: fleet.account,
      });
      await admin.http.call('POST', `/ssh_usernames/${id}/ssh_public_keys`, {
        key_name: 'bench',
        public_key: await clientKey(fleet),
      });
    }
    const clients = await sshClients(fleet, {
      sshd: { port },
      product: { port: agent.sshPort },
      optimizing: { port: optimizing.sshPort },
      through: { proxyCommand: [load.path, 'pipe', ...product.through(agent, agent.sshPort).map(String)] },
    });
    const hosts: Host[] = [
      { name: 'sshd', pids: [fleet.pid] },
      { name: 'product', agent, pids: [agent.pid] },
      { name: 'optimizing', agent: optimizing, pids: [optimizing.pid] },
      { name: 'through', agent, pids: [agent.pid, admin.pid] },
    ];
    options.report.note(
      `for all: ${Object.entries(SSH_ALGORITHMS)
        .map((pair) => pair.join(' '))
        .join(', ')}`,
    );
    const isWanted = (part: string): boolean => options.names.length === 0 || options.names.includes(part);
    if (isWanted('logins')) await logins(clients, hosts, product, options);
    if (isWanted('copies')) {
      const root = await mkdtemp(
        join(
          await stat(MEMORY_DIR).then(
            () => MEMORY_DIR,
            () => tmpdir(),
          ),
          'edge-bench-',
        ),
      );
      scope.teardown(() => rm(root, { recursive: true, force: true }));
      await chmod(root, 0o755);
      await copies(clients, hosts, product, { ...(await copyPlaces(fleet, root)), options });
    }
  } finally {
    await scope.end();
  }
}

async function logins(
  clients: SshClients,
  hosts: readonly Host[],
  product: ReachProduct,
  options: CaseOptions,
): Promise<void> {
  const allowances = new Map(
    hosts.flatMap(({ agent }) => (agent === undefined ? [] : [[agent.node, createAllowance()] as const])),
  );
  for (const atOnce of AT_ONCE) {
    const one = (host: Host) =>
      measured(
        host,
        () => logIn(clients, host.name, atOnce),
        (seconds) => ({ logins_per_s: LOGINS / seconds }),
      );
    const rest = async ({ agent }: Host): Promise<void> => {
      if (agent !== undefined) await allowances.get(agent.node)?.(LOGINS * ATTEMPTS_PER_LOGIN);
    };
    const sides = hosts.map((host): Side => ({ name: host.name, enter: () => rest(host), run: () => one(host) }));
    await judge('ssh logins', { at_once: atOnce, logins: LOGINS }, sides, options.repeats ?? REPEATS, options);
    for (const host of hosts) {
      if (host.name !== 'product') continue;
      if (options.profileDir !== undefined) await rest(host);
      await profileReach(product, [product.admin.pid, ...host.pids], `ssh-logins-${atOnce}`, options.profileDir, () =>
        one(host),
      );
    }
  }
}

async function logIn(clients: SshClients, host: string, atOnce: number): Promise<void> {
  let left = LOGINS;
  const loop = async (): Promise<void> => {
    for (; left > 0;) {
      left -= 1;
      await clients.login(host);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, loop));
}

/** Waits, untimed, until an admin looks at so many more attempts of a node: it lets 120 pass, then two a second. */
function createAllowance(): (attempts: number) => Promise<void> {
  let left = SSH_ATTEMPTS_BURST_MAX;
  let sinceMs = performance.now();
  return async (attempts) => {
    const nowMs = performance.now();
    left = Math.min(SSH_ATTEMPTS_BURST_MAX, left + ((nowMs - sinceMs) / 1_000) * SSH_ATTEMPTS_PER_SECOND);
    sinceMs = nowMs;
    if (left < attempts) await delay(((attempts - left) / SSH_ATTEMPTS_PER_SECOND) * 1_000);
    left -= attempts;
  };
}

async function copies(
  clients: SshClients,
  hosts: readonly Host[],
  product: ReachProduct,
  { local, remote, options }: { local: string; remote: string; options: CaseOptions },
): Promise<void> {
  const mib = options.mib ?? MIB;
  const bytes = mib * 1_048_576;
  for (const [direction, directory] of [
    ['down', remote],
    ['up', local],
  ] as const) {
    const source = join(directory, 'source');
    await fill(source, mib);
    const copyOf = join(direction === 'down' ? local : remote, 'copy');
    const one = async (host: Host) => {
      const sample = await measured(
        host,
        () =>
          direction === 'down'
            ? clients.copy(host.name, `:${source}`, copyOf)
            : clients.copy(host.name, source, `:${copyOf}`),
        (seconds) => ({ mib_per_s: mib / seconds }),
      );
      const { size } = await stat(copyOf);
      await rm(copyOf);
      if (size !== bytes) throw new Error(`scp by ${host.name} made ${size} bytes of ${bytes}`);
      return sample;
    };
    await judge(
      'ssh copies',
      { direction, mib },
      hosts.map((host): Side => ({ name: host.name, run: () => one(host) })),
      options.repeats ?? COPY_REPEATS,
      options,
    );
    const ours = hosts.find(({ name }) => name === 'product');
    if (ours !== undefined)
      await profileReach(product, ours.pids, `ssh-copy-${direction}`, options.profileDir, () => one(ours));
    await rm(source);
  }
}

async function fill(path: string, mib: number): Promise<void> {
  const file = await open(path, 'w', 0o644);
  const chunk = Buffer.alloc(1_048_576, 'edge');
  for (let index = 0; index < mib; index += 1) await file.write(chunk);
  await file.close();
}

/** Processor time is the server's and that of the processes it started and saw end. */
async function measured({ pids }: Host, work: () => Promise<void>, more: (seconds: number) => Record<string, number>) {
  const before = pids.map(cpuWithChildrenMs);
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1_000;
  await delay(SESSION_END_MS);
  const used = pids.map((pid, index) => cpuWithChildrenMs(pid) - (before[index] ?? 0));
  return { seconds, readings: { ...more(seconds), cpu_ms: used.reduce((sum, ms) => sum + ms, 0) } };
}

async function judge(
  name: string,
  fields: Readonly<Record<string, number | string>>,
  sides: readonly Side[],
  repeats: number,
  { report }: CaseOptions,
): Promise<void> {
  const result = await interleave(sides, repeats);
  for (const finding of compare(name, fields, result, undefined, 'sshd')) {
    report.add({
      ...finding,
      verdict:
        finding.side === 'product' ? verdict(result.calmBefore.quiet, (finding.ratio ?? 0) >= RATIO_MIN) : 'none',
    });
  }
}
