/** Runs inside of a machine for names (machine.ts): one call a line on stdin, one answer a line on stdout. */
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { decode, encode } from 'dns-packet';
import { createNames, removeNames } from '../../../../agent/vpn/names/names.ts';
import type { Names } from '../../../../agent/vpn/names/names.ts';
import type { NameMode } from '../../../../agent/config.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import type { VpnMembership, VpnPeer } from '../../../../transport/protocol/vpn.ts';
import { SYSTEM_PLACES } from '../../../../agent/vpn/names/system/places.ts';
import { SELF } from '../../../support/agent/names-fixture.ts';

/** What can be asked of it. `node` is SELF unless given. */
export type Call =
  | {
      readonly do: 'start';
      readonly mode: NameMode;
      readonly mayUseResolvConf: boolean;
      readonly node: NodeId | undefined;
    }
  | {
      readonly do: 'update';
      readonly network: VpnMembership;
      readonly peers: readonly VpnPeer[];
      readonly node: NodeId | undefined;
    }
  | { readonly do: 'state' | 'close' | 'forget' | 'remove'; readonly node: NodeId | undefined }
  | { readonly do: 'run'; readonly words: readonly string[] }
  | {
      readonly do: 'time';
      readonly network: VpnMembership;
      readonly peers: readonly VpnPeer[];
      readonly name: string;
      readonly address: string;
    }
  | { readonly do: 'occupy'; readonly address: string };

/** How a program ended. */
export interface Ran {
  readonly status: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

/** One program, in ms. */
const PROGRAM_MS_MAX = 30_000;

const [interfaceName = '', upstream = ''] = process.argv.slice(2);
const places = {
  ...SYSTEM_PLACES,
  resolvectl: process.env['RESOLVED'] ? `${process.env['RESOLVED']}/usr/bin/resolvectl` : '/nowhere/resolvectl',
};
const names = new Map<NodeId, Names>();
/** What each of them may touch. */
const reach = new Map<NodeId, typeof places>();
const log: string[] = [];
const occupied = new Map<string, Socket>();

await startUpstream();
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await carryOut(JSON.parse(line) as Call).then(
    (result) => ({ result }),
    (error: unknown) => ({ error: (error as Error).stack }),
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(); // everything in here ends with this process

async function carryOut(call: Call): Promise<unknown> {
  switch (call.do) {
    case 'start': {
      const say = (fields: object, message: string) => {
        log.push(`${message} ${JSON.stringify(fields)}`);
      };
      const node = call.node ?? SELF;
      const own = { ...places };
      reach.set(node, own);
      names.set(
        node,
        createNames({
          mode: call.mode,
          mayUseResolvConf: call.mayUseResolvConf,
          node,
          interfaceName,
          log: { debug: say, info: say, warn: say, error: say },
          places: own,
        }),
      );
      return null;
    }
    case 'update':
      return named(call.node).update(call.network, call.peers);
    case 'state':
      return { problem: named(call.node).problem(), way: named(call.node).way, log };
    case 'close': {
      await named(call.node).close();
      return await named(call.node).close();
    }
    case 'forget': {
      // What looks after them goes on here, as a killed agent would not: it reaches nothing any more.
      Object.assign(reach.get(call.node ?? SELF) ?? {}, {
        hosts: '/nowhere/hosts',
        resolvConf: '/nowhere/resolv.conf',
        resolvectl: '/nowhere/resolvectl',
      });
      return void names.delete(call.node ?? SELF);
    }
    case 'remove':
      return await removeNames({
        node: call.node ?? SELF,
        interfaceName,
        log: {
          debug() {},
          info() {},
          warn: (_fields, message) => {
            log.push(message);
          },
          error() {},
        },
        places,
      });
    case 'run':
      return await run(call.words);
    case 'time':
      return await timeTo(call);
    case 'occupy':
      return await occupy(call.address);
    default:
      throw new Error('no such call');
  }
}

function named(node: NodeId = SELF): Names {
  const found = names.get(node);
  if (found === undefined) throw new Error('not started');
  return found;
}

function run([program = '', ...words]: readonly string[]): Promise<Ran> {
  const startMs = performance.now();
  const { promise, resolve } = Promise.withResolvers<Ran>();
  execFile(program, words, { timeout: PROGRAM_MS_MAX }, (error, stdout, stderr) => {
    resolve({
      status: error === null ? 0 : (error.code ?? error.signal ?? null),
      stdout,
      stderr,
      ms: performance.now() - startMs,
    });
  });
  return promise;
}

/** By the C library, as any program. */
async function timeTo({ network, peers, name, address }: Extract<Call, { readonly do: 'time' }>): Promise<number> {
  const startMs = performance.now();
  named().update(network, peers);
  for (;;) {
    const found = await lookup(name, { family: 4 }).catch(() => null);
    if (found?.address === address) return performance.now() - startMs;
    if (performance.now() - startMs > PROGRAM_MS_MAX) throw new Error(`${name} is ${found?.address ?? 'nothing'}`);
  }
}

async function occupy(address: string): Promise<void> {
  const taken = occupied.get(address);
  if (taken !== undefined) {
    occupied.delete(address);
    taken.close();
    await once(taken, 'close');
    return;
  }
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4').bind(53, address);
  await once(socket, 'listening');
  occupied.set(address, socket);
}

/** A server that says of everything else that it does not exist. */
async function startUpstream(): Promise<void> {
  const socket = createSocket('udp4').bind(53, upstream);
  await once(socket, 'listening');
  socket.on('message', (query, { address, port }) => {
    const { id, questions = [] } = decode(query);
    const [question] = questions;
    const isOutside = question?.name.toLowerCase() === 'outside.test';
    socket.send(
      encode({
        type: 'response',
        id: id ?? 0,
        flags: isOutside ? 0 : 3,
        questions,
        answers:
          isOutside && question.type === 'A' ? [{ type: 'A', name: question.name, ttl: 60, data: '192.0.2.7' }] : [],
      }),
      port,
      address,
    );
  });
}
