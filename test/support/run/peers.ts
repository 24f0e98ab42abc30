/**
 * Peers: programs that are not ours and that tests talk to (brokers, their command-line clients, a browser).
 *
 * A test file names what it needs in one literal call, `const test = await peerTest('nats-server')` (see peer-test.ts).
 * `test/run.ts` reads these names in the files that it is about to run and prepares the peers once, before ava starts:
 * so running a file that needs none costs nothing. Tests start their own processes, on their own ports and directories;
 * nothing is ever run as a system service.
 *
 * To add a peer: write `test/support/peers/<name>.ts` that exports a Peer (see peers/peer.ts), and put it in PEERS.
 * `found` is asked by every test process and must be quick (look for a file); `install` runs under a lock, in one
 * process at a time. What it downloads belongs into `peerCache(name)`, complete or not at all: work in a directory
 * beside it, then rename. Versions are pinned, waits bounded.
 */
import { mkdir } from 'node:fs/promises';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { debianPeers } from '../peers/debian.ts';
import { debianRootPeer } from '../peers/debian-root.ts';
import { derpPeer } from '../peers/derp.ts';
import { helmPeer } from '../peers/helm.ts';
import { kafkaPeer } from '../peers/kafka.ts';
import { kubernetesValidatePeer } from '../peers/kubernetes-validate.ts';
import { motoPeer } from '../peers/moto.ts';
import { peerCache, type Peer } from '../peers/peer.ts';
import { pubSubPeer } from '../peers/pubsub.ts';
import { resolvedPeer } from '../peers/resolved.ts';
import { rightPeers } from '../peers/rights.ts';
import { schemathesisPeer } from '../peers/schemathesis.ts';
import { watchtowerPeer } from '../peers/watchtower.ts';
import { tufPeer } from '../peers/tuf.ts';
import { until } from '../until.ts';

/** Every peer. */
export const PEERS: readonly Peer[] = [
  ...debianPeers,
  debianRootPeer,
  derpPeer,
  ...rightPeers,
  helmPeer,
  kafkaPeer,
  kubernetesValidatePeer,
  motoPeer,
  pubSubPeer,
  resolvedPeer,
  schemathesisPeer,
  watchtowerPeer,
  tufPeer,
];

/** How long one process may prepare peers while another waits for it, in ms. */
const LOCK_MS_MAX = 1_200_000;

/** Ava's options that take a value: what follows them is no file. Source: ava/lib/cli.js. */
const AVA_VALUES = {
  match: { type: 'string', short: 'm', multiple: true },
  timeout: { type: 'string', short: 'T' },
  concurrency: { type: 'string', short: 'c' },
  config: { type: 'string' },
  'node-arguments': { type: 'string' },
} as const;

/** Where a peer is. Throws when it is missing: for tests that were declared by `peerTest`. */
export async function peerPath(name: string): Promise<string> {
  const path = await peer(name).found();
  if (path === null) throw new Error(`The peer ${name} is not on this machine.`);
  return path;
}

/** Those of the names that are not on this machine. */
export async function missingPeers(names: readonly string[]): Promise<string[]> {
  const found = await Promise.all(names.map((name) => peer(name).found()));
  return names.filter((_, index) => found[index] === null);
}

/** Names in the calls of `peerTest` in the test files that these arguments of ava select. */
export function neededPeers(avaArguments: readonly string[]): string[] {
  const calls = selectedFiles(avaArguments).flatMap((path) => [
    ...readFileSync(path, 'utf8').matchAll(/\bpeerTest\((?<names>[^)]*)\)/gu),
  ]);
  return [
    ...new Set(
      calls.flatMap(({ groups }) =>
        [...(groups?.['names'] ?? '').matchAll(/'(?<name>[^']+)'/gu)].map((match) => match.groups?.['name'] ?? ''),
      ),
    ),
  ];
}

/**
 * Prepares what the test files need that these arguments of ava select. Returns those that stay missing, each with the
 * reason.
 */
export async function preparePeers(avaArguments: readonly string[], say: (line: string) => void): Promise<string[]> {
  const missing = await missingPeers(neededPeers(avaArguments));
  if (missing.length === 0) return [];
  return alone(async () => {
    const problems: string[] = [];
    for (const name of await missingPeers(missing)) {
      // another process may have installed some meanwhile
      say(`The tests need ${name}: installing it, where that can be done.`);
      const problem = await peer(name)
        .install()
        .then(
          () => null,
          (error: unknown) => firstLine(error),
        );
      if ((await peer(name).found()) === null)
        problems.push(`${name} (${problem ?? 'its installation left nothing behind'})`);
    }
    return problems;
  });
}

function peer(name: string): Peer {
  const found = PEERS.find((entry) => entry.name === name);
  if (!found) throw new Error(`There is no peer ${name}: see test/support/run/peers.ts.`);
  return found;
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}

/** Whether a test file starts no program of ours, no database and no peer: `npm run test:unit` runs these. */
export function isUnitTest(path: string): boolean {
  return !relative('test/unit', path).startsWith('..');
}

/**
 * The test files that these arguments of ava select. A directory means all in it, and `file:12` is a line of a file.
 */
export function selectedFiles(avaArguments: readonly string[]): string[] {
  const { positionals } = parseArgs({
    args: [...avaArguments],
    options: AVA_VALUES,
    allowPositionals: true,
    strict: false,
  });
  const patterns = positionals
    .map((pattern) => pattern.replace(/:[\d,*-]+$/u, ''))
    .map((pattern) => (statSync(pattern, { throwIfNoEntry: false })?.isDirectory() ? `${pattern}/**` : pattern));
  return globSync(patterns.length > 0 ? patterns : ['test/**']).filter((path) => path.endsWith('.test.ts'));
}

/**
 * Runs the task while no other process does. The lock is an SQLite transaction, since that ends with its process,
 * however it ends.
 */
async function alone<T>(task: () => Promise<T>): Promise<T> {
  const directory = peerCache('lock');
  await mkdir(directory, { recursive: true });
  const lock = new DatabaseSync(join(directory, 'lock.sqlite'), { timeout: 0 });
  try {
    await until(
      'other processes that prepare peers',
      () => {
        lock.exec('BEGIN EXCLUSIVE');
        return true;
      },
      LOCK_MS_MAX,
    );
    return await task();
  } finally {
    lock.close();
  }
}
