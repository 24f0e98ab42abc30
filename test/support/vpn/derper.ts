/** A real derper and its module's client, as processes of a test. Needs the peer `derper`. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../net/free-ports.ts';
import { peerPath } from '../run/peers.ts';
import { mapOf } from './relay.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import type { RelayRegion } from '../../../transport/vpn/relay-map/map.ts';
import { ownRelayMap } from '../../../transport/vpn/relay/map.ts';
import { certificateSha256, selfSigned } from '../../../transport/vpn/relay/self-signed.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** A derper that listens. */
export interface Derper {
  readonly region: RelayRegion;
  readonly derpMap: unknown;
  /** What it said so far. */
  readonly log: () => string;
}

/** Region of its map. */
const REGION = 901;

/**
 * Starts it on a port of 127.0.0.1, where nobody else needs STUN or plain HTTP. `verifyUrl`: whom it asks who may
 * enter.
 */
export async function startDerper(scope: Scope, { verifyUrl }: { readonly verifyUrl?: string } = {}): Promise<Derper> {
  const directory = temporaryDirectory(scope);
  const host = 'relay.test';
  const { certificate, key } = selfSigned(host, Date.now());
  await writeFile(join(directory, `${host}.crt`), certificate);
  await writeFile(join(directory, `${host}.key`), key);
  const port = await freePort();
  const program = spawn(
    await peerPath('derper'),
    [
      '-a',
      `127.0.0.1:${port}`,
      '-hostname',
      host,
      '-certmode',
      'manual',
      '-certdir',
      directory,
      '-http-port',
      '-1',
      '-stun=false',
      '-c',
      join(directory, 'derper.json'),
      ...(verifyUrl === undefined ? [] : ['-verify-client-url', verifyUrl]),
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  endWith(scope, program);
  let said = '';
  for (const stream of [program.stdout, program.stderr])
    stream.on('data', (text: Buffer) => {
      said += text.toString();
    });
  const published = ownRelayMap({
    id: REGION,
    code: 'derper',
    hostName: host,
    port,
    pin: certificateSha256(certificate),
  }) as { Regions: Record<string, { Nodes: { IPv4?: string }[] }> };
  for (const node of published.Regions[REGION]?.Nodes ?? []) node.IPv4 = '127.0.0.1';
  await until('derper', async () => {
    if (program.exitCode !== null) throw new Error(said);
    return (await fetchStatus(port)) !== null;
  });
  const region = mapOf(published).regions.get(REGION);
  if (region === undefined) throw new Error('no region');
  return { region, derpMap: published, log: () => said };
}

/** The module's client under a key of its own. */
export interface GoClient {
  readonly publicKey: string;
  readonly packets: { readonly from: string; readonly packet: Buffer }[];
  /** All that it said. */
  readonly lines: string[];
  send(publicKey: string, packet: Buffer): void;
}

/** Starts it with a map as it is published; resolves when it is connected. */
export async function startGoClient(scope: Scope, derpMap: unknown, region: number): Promise<GoClient> {
  const directory = temporaryDirectory(scope);
  await writeFile(join(directory, 'map.json'), JSON.stringify(derpMap));
  const program = spawn(
    join(dirname(await peerPath('derper')), 'derp'),
    ['-map', join(directory, 'map.json'), '-region', String(region)],
    { stdio: 'pipe' },
  );
  endWith(scope, program);
  program.stdin.on('error', () => {});
  const lines: string[] = [];
  const packets: { readonly from: string; readonly packet: Buffer }[] = [];
  for (const stream of [program.stdout, program.stderr]) {
    createInterface(stream).on('line', (line) => {
      lines.push(line);
      const [word, from, data] = line.split(' ');
      if (word === 'packet' && from !== undefined) packets.push({ from, packet: Buffer.from(data ?? '', 'base64') });
    });
  }
  const publicKey = await until('the client of the Go module', () => {
    if (program.exitCode !== null) throw new Error(lines.join(' | '));
    return lines.includes('info') ? lines.find((line) => line.startsWith('key '))?.slice(4) : null;
  });
  return {
    publicKey,
    packets,
    lines,
    send: (to, packet) => void program.stdin.write(`send ${to} ${packet.toString('base64')}\n`),
  };
}

function endWith(scope: Scope, program: ChildProcess): void {
  const exited = once(program, 'exit');
  scope.teardown(async () => {
    program.kill('SIGKILL');
    await exited;
  });
}

/** Null: nothing listens. Its own certificate is nobody's business here. */
async function fetchStatus(port: number): Promise<number | null> {
  const { request } = process.getBuiltinModule('node:https');
  return await new Promise((resolve) => {
    request(
      {
        host: '127.0.0.1',
        port,
        path: '/derp/probe',
        rejectUnauthorized: false,
        servername: 'relay.test',
        agent: false,
      },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? null);
      },
    )
      .on('error', () => resolve(null))
      .end();
  });
}
