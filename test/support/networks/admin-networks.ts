/**
 * Networks in which several admins, their database, their clients and their agents can be cut from one another: each
 * admin has a network of its own, and all are plugged into one bridge in that of this process, which is to be its own.
 * Needs root and the peers `root`, `ip` and `nft`. Ends with this process, however that ends.
 */
import { execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Program } from '../fleet/program.ts';
import { peerPath } from '../run/peers.ts';
import type { Scope } from '../scope.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { until } from '../until.ts';
import { cable, inNetworkOf, ipIn, ownNetwork, type NetworkOwner } from './cable.ts';

/** Who is at the bridge besides admins, each with an address, so that an admin can be cut from one of them alone. */
export const ADDRESSES = { clients: '10.77.0.2', database: '10.77.0.1', agents: '10.77.0.3' } as const;

/** Addresses of admins follow this one. */
const FIRST_ADMIN = 11;

/** Port of the database. */
const DATABASE_PORT = 5_432;

/** One command, on a busy machine, in ms. */
const COMMAND_MS_MAX = 30_000;

const BRIDGE = 'fleet';

/** Where one admin stands. */
export interface AdminPlace {
  readonly address: string;
  /** Words that lead into its network, before those of a command. */
  readonly entry: readonly string[];
}

/**
 * What of its network an admin misses. `both`: packets to and from an address. `deaf`: those that come from there.
 * `calls`: what it sends to a port there, so that it cannot ask, and can be asked. `how`: packets are lost without a
 * word, or answered with a reset.
 */
export interface Cut {
  readonly from: string;
  readonly which: 'both' | 'deaf' | 'calls';
  /** Of `calls`. */
  readonly port?: number;
  readonly how: 'drop' | 'reset';
}

/**
 * A slow link: each way takes half of the delay where the kernel has netem, and loses so many packets of a hundred,
 * which come after a pause of TCP.
 */
export interface Slowness {
  readonly roundTripMs: number;
  readonly lossPercent: number;
}

/** The networks of a fleet. */
export interface AdminNetworks {
  /** One that no admin has yet. */
  place(): AdminPlace;
  /** From now on it misses this and nothing else; nothing is the end of all cuts. */
  cut(place: AdminPlace, cuts: readonly Cut[]): Promise<void>;
  /** Whether slow links have a delay of their own. */
  readonly hasDelays: boolean;
  /** Null: as fast as ever. It has no cuts meanwhile. */
  slow(place: AdminPlace, slowness: Slowness | null): Promise<void>;
  /** Puts the database that listens on this Unix socket at its address; resolves with the URL for admins. */
  serveDatabase(scope: Scope, socketFile: string, user: string, database: string): Promise<string>;
}

/** Joins what comes to an address with a Unix socket that may go and come back. An end of either is that of both. */
const FORWARDER = `const [host, port, path] = process.argv.slice(2);
const { connect, createServer } = require('node:net');
createServer({ allowHalfOpen: true, noDelay: true }, (outer) => {
  const inner = connect({ path, allowHalfOpen: true });
  outer.pipe(inner).pipe(outer);
  outer.on('error', () => inner.destroy()).on('close', () => inner.destroy());
  inner.on('error', () => outer.destroy()).on('close', () => outer.destroy());
}).listen(Number(port), host, () => process.stdout.write('serves the database\\n'));`;

const run = promisify(execFile);

/** Makes the bridge. `admins`: as many places as are ever asked for. */
export async function openAdminNetworks(scope: Scope, admins: number): Promise<AdminNetworks> {
  const self = { pid: process.pid };
  ipIn(self, 'link', 'set', 'lo', 'up');
  ipIn(self, 'link', 'add', BRIDGE, 'type', 'bridge', 'stp_state', '0', 'forward_delay', '0');
  scope.teardown(() => ipIn(self, 'link', 'delete', BRIDGE));
  // The first one is that from which clients call.
  for (const address of Object.values(ADDRESSES)) ipIn(self, 'addr', 'add', `${address}/24`, 'dev', BRIDGE);
  ipIn(self, 'link', 'set', BRIDGE, 'up');
  const nft = await peerPath('nft');
  const owners = new Map<AdminPlace, { readonly owner: NetworkOwner; readonly port: string }>();
  for (let number = 0; number < admins; number += 1) {
    const owner = await ownNetwork(scope);
    const port = `admin${number + 1}`;
    const address = `10.77.0.${FIRST_ADMIN + number}`;
    cable(port, self, owner);
    ipIn(self, 'link', 'set', port, 'master', BRIDGE);
    ipIn(owner, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    owners.set({ address, entry: ['nsenter', ...inNetworkOf(owner), '--'] }, { owner, port });
  }
  const free = [...owners.keys()];
  const known = (place: AdminPlace) => {
    const found = owners.get(place);
    if (found === undefined) throw new Error(`nobody stands at ${place.address}`);
    return found;
  };
  const ruled = (place: AdminPlace, rules: string): Promise<void> =>
    withInput('nsenter', [...inNetworkOf(known(place).owner), nft, '-f', '-'], rules);
  const hasDelays = await run('tc', ['qdisc', 'replace', 'dev', 'lo', 'root', 'netem', 'delay', '0ms']).then(
    () => true,
    () => false,
  );
  return {
    place() {
      const next = free.shift();
      if (next === undefined) throw new Error('these networks have no place left');
      return next;
    },
    cut: (place, cuts) => ruled(place, rulesOf(cuts)),
    hasDelays,
    async slow(place, slowness) {
      await ruled(place, slowness === null ? rulesOf([]) : lossOf(slowness));
      if (!hasDelays) return;
      const { owner, port } = known(place);
      const words = slowness === null ? ['del'] : ['replace'];
      const how = slowness === null ? [] : ['netem', 'delay', `${slowness.roundTripMs / 2}ms`];
      for (const [enter, device] of [
        [inNetworkOf(owner), 'eth0'],
        [inNetworkOf(self), port],
      ] as const)
        await run('nsenter', [...enter, 'tc', 'qdisc', ...words, 'dev', device, 'root', ...how], {
          timeout: COMMAND_MS_MAX,
        });
    },
    async serveDatabase(servedIn, socketFile, user, database) {
      const file = join(temporaryDirectory(servedIn), 'forwarder.cjs');
      await writeFile(file, FORWARDER);
      const words = [file, ADDRESSES.database, String(DATABASE_PORT), socketFile];
      const program = Program.run(servedIn, process.execPath, words);
      await until('the port of the database', () => program.output.includes('serves'));
      return `postgresql://${user}@${ADDRESSES.database}:${DATABASE_PORT}/${database}`;
    },
  };
}

/** In the network of the admin itself, where a reset can be sent both ways. */
function rulesOf(cuts: readonly Cut[]): string {
  const incoming: string[] = [];
  const outgoing: string[] = [];
  for (const { from, which, port, how } of cuts) {
    const verdict = how === 'drop' ? 'drop' : 'reject with tcp reset';
    if (which !== 'calls') incoming.push(`ip saddr ${from} meta l4proto tcp ${verdict}`);
    if (which === 'both') outgoing.push(`ip daddr ${from} meta l4proto tcp ${verdict}`);
    if (which === 'calls') outgoing.push(`ip daddr ${from} tcp dport ${port ?? 0} ${verdict}`);
  }
  return tableOf(incoming, outgoing);
}

function lossOf({ lossPercent }: Slowness): string {
  const lost = `meta l4proto tcp numgen random mod 100 < ${lossPercent} drop`;
  return tableOf([lost], [lost]);
}

function tableOf(incoming: readonly string[], outgoing: readonly string[]): string {
  const chain = (hook: string, rules: readonly string[]): string =>
    `chain ${hook} {\n type filter hook ${hook} priority 0; policy accept;\n${rules.join('\n')}\n}\n`;
  return `table inet faults\ndelete table inet faults\ntable inet faults {\n${chain('input', incoming)}${chain('output', outgoing)}}\n`;
}

/** Runs a command that reads this. Rejects with what it said. */
async function withInput(command: string, words: readonly string[], input: string): Promise<void> {
  const child = spawn(command, words, { stdio: ['pipe', 'ignore', 'pipe'], timeout: COMMAND_MS_MAX });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  child.stdin.on('error', () => {}).end(input); // it may have failed before it read all
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  if (code !== 0) throw new Error(`${said.trim()}, from:\n${input}`);
}
