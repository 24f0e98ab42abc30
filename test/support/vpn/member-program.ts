/**
 * A member of a VPN as a process of its own, on a machine of a test's internet. Answers one JSON line with another on
 * a UNIX socket.
 */
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { createMember } from '../../../transport/vpn/member/create-member.ts';
import type { Member, WantedMember } from '../../../transport/vpn/member/member.ts';
import type { VpnPeer } from '../../../transport/protocol/vpn.ts';
import type { RelayMap } from '../../../transport/vpn/relay-map/map.ts';
import { mapOf } from './relay.ts';

/** What the process is started with, as its one argument. */
export interface MemberProgramOptions {
  readonly interfaceName: string;
  readonly listenPort: number;
  readonly socketPath: string;
  readonly wanted: ProgramWanted;
}

/** `WantedMember` as JSON. */
export interface ProgramWanted {
  readonly privateKey: string;
  readonly addresses: readonly string[];
  readonly mtu: number;
  readonly peers: readonly VpnPeer[];
  /** A DERPMap; null: none. */
  readonly derpMap: unknown;
}

/** What it may be asked. */
export type MemberQuestion =
  | { readonly type: 'look' }
  | { readonly type: 'become'; readonly wanted: ProgramWanted }
  | { readonly type: 'try'; readonly publicKey: string; readonly inMs: number }
  | { readonly type: 'close'; readonly isKept: boolean };

/** What it answers. `triesWanted` are the peers with which a simultaneous try is wanted since it was asked last. */
export interface MemberLook {
  readonly paths: ReturnType<Member['paths']>;
  readonly place: ReturnType<Member['place']>;
  readonly problem: string | null;
  readonly taken: readonly string[];
  readonly triesWanted: readonly string[];
  readonly cpuMs: number;
  readonly upMs: number;
}

const options = JSON.parse(process.argv[2] ?? '') as MemberProgramOptions;
let triesWanted: string[] = [];
let map: { readonly text: string; readonly map: RelayMap | null } = { text: '', map: null };

const created = await createMember(
  {
    interfaceName: options.interfaceName,
    listenPort: options.listenPort,
    wanted: wantedOf(options.wanted),
    hasMtuDiscovery: true,
  },
  {
    wantsTry: (publicKey) => void triesWanted.push(publicKey),
    moved: () => true,
    changed: () => {},
  },
);
if (!created.ok) throw new Error(created.problem);
const { member } = created;

createServer((socket) => {
  socket.on('error', () => {});
  createInterface({ input: socket })
    .on('error', () => {})
    .on('line', (line) => {
      void answer(JSON.parse(line) as MemberQuestion).then((said) => socket.write(`${JSON.stringify(said)}\n`));
    });
}).listen(options.socketPath, () => console.log(JSON.stringify({ msg: 'running' })));

async function answer(question: MemberQuestion): Promise<MemberLook> {
  if (question.type === 'become') member.become(wantedOf(question.wanted));
  if (question.type === 'try') member.tryDirect(question.publicKey, question.inMs);
  if (question.type === 'close') {
    await member.close({ isKept: question.isKept });
    setImmediate(() => process.exit(0));
  }
  const cpu = process.cpuUsage();
  const look = {
    paths: member.paths(),
    place: member.place(),
    problem: member.problem(),
    taken: member.refused().taken,
    triesWanted,
    cpuMs: (cpu.user + cpu.system) / 1_000,
    upMs: performance.now(),
  };
  triesWanted = [];
  return look;
}

function wantedOf({ derpMap, peers, ...wanted }: ProgramWanted): WantedMember {
  const text = JSON.stringify(derpMap);
  if (text !== map.text) map = { text, map: derpMap === null ? null : mapOf(derpMap) };
  return { ...wanted, peers: new Map(peers.map((peer) => [peer.public_key, peer])), observers: [], relayMap: map.map };
}
