/**
 * Two WireGuard interfaces in user space that know each other, each in a network of its own. Needs root, a TUN device
 * and the peers `wireguard-go`, `wg` and `ip`.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Scope } from '../scope.ts';
import { reapAfterDeath } from '../networks/reaper.ts';
import { until } from '../until.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** Where wireguard-go has its sockets, whatever the network that it is in. */
export const WIREGUARD_SOCKETS = '/var/run/wireguard';

/** Why there can be no interfaces here; null when there can. */
export const wireguardProblem =
  process.getuid?.() !== 0 ? 'needs root' : existsSync('/dev/net/tun') ? null : 'needs /dev/net/tun';

/** One end. */
export interface WireguardEnd {
  readonly name: string;
  /** Base64, as `wg` writes them. */
  readonly publicKey: string;
  readonly privateKey: string;
  readonly address: string;
  /** The fields of `wg show dump`, one row a line: of the interface first, then of its one peer. */
  dump(): Promise<string[][]>;
  /** Sends so many bytes to the other end, which nobody reads there. */
  send(bytes: number): Promise<void>;
  /** As `kill -9` of wireguard-go. */
  kill(): Promise<void>;
}

/** Both, and the key that they share. */
export interface WireguardPair {
  readonly ends: readonly [WireguardEnd, WireguardEnd];
  readonly presharedKey: string;
}

const run = promisify(execFile);

/** Makes the networks and interfaces, and removes them at the end of the scope. */
export async function startWireguard(scope: Scope): Promise<WireguardPair> {
  const directory = temporaryDirectory(scope);
  const tag = `${process.pid}`.slice(-6);
  reapAfterDeath({ namespaces: `edge-wg-${tag}?`, paths: [join(WIREGUARD_SOCKETS, `edge${tag}?.sock`), directory] });
  const presharedKey = await said('wg', ['genpsk']);
  await writeFile(join(directory, 'psk'), `${presharedKey}\n`); // before both ends read it: an empty file is no key
  const [one, other] = await Promise.all(
    ['a', 'b'].map(async (letter, index) => {
      const privateKey = await said('wg', ['genkey']);
      return {
        name: `edge${tag}${letter}`,
        network: `edge-wg-${tag}${letter}`,
        privateKey,
        publicKey: await said('wg', ['pubkey'], privateKey),
        outer: `198.51.100.${index + 1}`,
        address: `10.231.77.${index + 1}`,
        port: 51_000 + index,
      };
    }),
  );
  if (one === undefined || other === undefined) throw new Error('two ends');
  const both = [one, other];
  for (const { network } of both) {
    await ip('netns', 'add', network);
    scope.teardown(async () => {
      await ip('netns', 'delete', network);
    });
  }
  await ip(
    'link',
    'add',
    'outer',
    'netns',
    one.network,
    'type',
    'veth',
    'peer',
    'name',
    'outer',
    'netns',
    other.network,
  );
  const ends = await Promise.all(
    both.map(async (end, index) => {
      const peer = both[1 - index] ?? end;
      await ip('-n', end.network, 'addr', 'add', `${end.outer}/24`, 'dev', 'outer');
      await ip('-n', end.network, 'link', 'set', 'outer', 'up');
      const kill = await startInterface(scope, end.network, end.name);
      await writeFile(join(directory, end.name), `${end.privateKey}\n`);
      await run('wg', [
        'set',
        end.name,
        'listen-port',
        String(end.port),
        'private-key',
        join(directory, end.name),
        'peer',
        peer.publicKey,
        'preshared-key',
        join(directory, 'psk'),
        'allowed-ips',
        `${peer.address}/32`,
        'endpoint',
        `${peer.outer}:${peer.port}`,
      ]);
      await ip('-n', end.network, 'addr', 'add', `${end.address}/24`, 'dev', end.name);
      await ip('-n', end.network, 'link', 'set', end.name, 'up');
      return {
        name: end.name,
        publicKey: end.publicKey,
        privateKey: end.privateKey,
        address: end.address,
        kill,
        dump: async () => (await said('wg', ['show', end.name, 'dump'])).split('\n').map((line) => line.split('\t')),
        send: (bytes: number) =>
          inNetwork(
            end.network,
            `const socket = require('dgram').createSocket('udp4'); socket.send(Buffer.alloc(${bytes}), 9, '${peer.address}', () => socket.close())`,
          ),
      };
    }),
  );
  return { ends: ends as [WireguardEnd, WireguardEnd], presharedKey };
}

async function startInterface(scope: Scope, network: string, name: string): Promise<() => Promise<void>> {
  const socket = join(WIREGUARD_SOCKETS, `${name}.sock`);
  const program = spawn('ip', ['netns', 'exec', network, 'wireguard-go', '-f', name], {
    stdio: 'ignore',
    env: { ...process.env, LOG_LEVEL: 'silent' },
  });
  const exited = new Promise<void>((resolve) => {
    program.once('close', () => resolve());
  });
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    program.kill(signal);
    await exited;
  };
  scope.teardown(async () => {
    await kill('SIGTERM');
    await rm(socket, { force: true });
  });
  await until(`the interface ${name}`, () => existsSync(socket));
  return () => kill('SIGKILL');
}

async function inNetwork(network: string, script: string): Promise<void> {
  await run('ip', ['netns', 'exec', network, process.execPath, '-e', script]);
}

async function ip(...words: readonly string[]): Promise<void> {
  await run('ip', words);
}

async function said(program: string, words: readonly string[], input = ''): Promise<string> {
  const running = run(program, words);
  running.child.stdin?.on('error', () => {}).end(input); // most of its commands read nothing
  return (await running).stdout.trim();
}
