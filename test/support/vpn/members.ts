/**
 * Members of one VPN on machines of a test's internet, and what an admin does for them: each learns where the others
 * are, and when to try.
 */
import { rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { makeKeyPair } from '../../../transport/vpn/wireguard/keys.ts';
import type { NodeId } from '../../../transport/protocol/ids.ts';
import type { VpnPeer } from '../../../transport/protocol/vpn.ts';
import type { Program } from '../fleet/program.ts';
import type { Machine } from '../networks/internet.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import type { MemberLook, MemberProgramOptions, MemberQuestion, ProgramWanted } from './member-program.ts';

/** Between two rounds of what an admin does, in ms. */
const ROUND_MS = 100;

/** When both begin to try after one of them asked, in ms. */
const TRY_IN_MS = 300;

/** Where relays are, as a DERPMap. */
export interface TestRelay {
  readonly program: Program;
  readonly regionId: number;
  readonly derpMap: { readonly Regions: Readonly<Record<string, unknown>> };
}

/** Starts a relay on a machine with a public address. */
export async function startRelayOn(machine: Machine, regionId: number, port = 443): Promise<TestRelay> {
  const program = machine.spawn(process.execPath, [
    new URL('relay-program.ts', import.meta.url).pathname,
    machine.address,
    `${port}`,
    `${regionId}`,
  ]);
  const { derpMap } = await program.logged('relaying');
  return { program, regionId, derpMap: derpMap as TestRelay['derpMap'] };
}

/** One map of all of them. */
export function mapOfRelays(relays: readonly TestRelay[]): unknown {
  return relays.length === 0
    ? null
    : { Regions: Object.assign({}, ...relays.map(({ derpMap }) => derpMap.Regions)) as unknown };
}

/** A member and its process. */
export interface TestMember {
  readonly machine: Machine;
  readonly publicKey: string;
  readonly interfaceName: string;
  readonly ipv4: string;
  readonly ipv6: string;
  program: Program;
  look(): Promise<MemberLook>;
  /** How it goes to another one now. */
  pathTo(other: TestMember): Promise<MemberLook['paths'][number] | null>;
  /** After its process ended: again, with the same key, port and interface. */
  restart(): Promise<void>;
  close(isKept: boolean): Promise<void>;
  /** A new key, which the others learn at once. */
  rotate(): Promise<void>;
}

/** A running VPN. */
export interface TestVpn {
  /** `outside`: the address under which others see it, null when it is its own or unknown. */
  join(machine: Machine, outside?: string | null): Promise<TestMember>;
  /** Its NAT has another address now, as the admin sees. */
  moved(member: TestMember, outside: string): void;
  /** The admin has both try now. */
  nudge(one: TestMember, other: TestMember): Promise<void>;
}

interface Known {
  readonly member: TestMember & { publicKey: string };
  readonly options: MemberProgramOptions;
  privateKey: string;
  index: number;
  outside: string | null;
  place: MemberLook['place'] | null;
  told: string;
  socket: Socket | null;
  ask: ((question: MemberQuestion) => Promise<MemberLook>) | null;
}

/** Starts a VPN without members; it ends with the scope. */
export function startVpn(scope: Scope, derpMap: () => unknown): TestVpn {
  const all: Known[] = [];
  let count = 0;
  const ending = new AbortController();
  const coordinating = coordinate();
  scope.teardown(async () => {
    ending.abort();
    await coordinating;
    for (const { socket } of all) socket?.destroy();
  });

  async function coordinate(): Promise<void> {
    while (!ending.signal.aborted) {
      await new Promise((resolve) => {
        setTimeout(resolve, ROUND_MS);
      });
      for (const one of all) await round(one).catch(() => {}); // it is being killed
    }
  }

  async function round(one: Known): Promise<void> {
    if (one.ask === null) return;
    const { place, triesWanted } = await one.ask({ type: 'look' });
    one.place = place;
    const wanted = wantedOf(one);
    const text = JSON.stringify(wanted);
    if (text !== one.told) {
      await one.ask({ type: 'become', wanted });
      one.told = text;
    }
    for (const publicKey of triesWanted) {
      const other = all.find(({ member }) => member.publicKey === publicKey);
      if (other?.ask == null) continue;
      await Promise.all([
        one.ask({ type: 'try', publicKey, inMs: TRY_IN_MS }),
        other.ask({ type: 'try', publicKey: one.member.publicKey, inMs: TRY_IN_MS }),
      ]);
    }
  }

  function wantedOf(one: Known): ProgramWanted {
    return {
      privateKey: one.privateKey,
      addresses: [`${one.member.ipv4}/24`, `${one.member.ipv6}/64`],
      mtu: 1_280,
      derpMap: derpMap(),
      peers: all.filter((other) => other !== one && other.place !== null).map(peerOf),
    };
  }

  function peerOf({ member, place, outside, options }: Known): VpnPeer {
    return {
      node: `00000000-0000-4000-8000-0000000000${member.ipv4.split('.')[3]?.padStart(2, '0') ?? ''}` as NodeId,
      public_key: member.publicKey,
      ipv4: member.ipv4,
      ipv6: member.ipv6,
      aliases: [],
      endpoints: [...(place?.endpoints ?? []), ...(outside === null ? [] : [`${outside}:${options.listenPort}`])],
      relay_region: place?.relayRegion ?? null,
    };
  }

  async function start(one: Known): Promise<void> {
    const { machine } = one.member;
    // what it was told last, as an agent keeps on its disk
    const options: MemberProgramOptions = { ...one.options, wanted: wantedOf(one) };
    await rm(options.socketPath, { force: true }); // of one that was killed
    one.member.program = machine.spawn(process.execPath, [
      new URL('member-program.ts', import.meta.url).pathname,
      JSON.stringify(options),
    ]);
    await one.member.program.logged('running');
    const socket = connect(options.socketPath);
    const answers: ((look: MemberLook) => void)[] = [];
    createInterface({ input: socket })
      .on('error', () => {})
      // a reader has the errors of what it reads, too
      .on('line', (line) => answers.shift()?.(JSON.parse(line) as MemberLook));
    socket
      .setMaxListeners(0)
      .on('error', () => {})
      .on('close', () => {
        if (one.socket === socket) one.ask = null;
      });
    one.socket = socket;
    one.told = '';
    one.ask = (question) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(new Error('the member is gone'));
        socket.once('close', () => reject(new Error('the member is gone')));
        answers.push(resolve);
        socket.write(`${JSON.stringify(question)}\n`);
      });
  }

  return {
    async join(machine, outside = null) {
      count += 1;
      const index = count + 1;
      const { privateKey, publicKey } = makeKeyPair();
      const interfaceName = `em${process.pid % 1_000_000}x${index}`;
      const ask = (question: MemberQuestion): Promise<MemberLook> =>
        known.ask?.(question) ?? Promise.reject(new Error('the member is gone'));
      const member: Known['member'] = {
        machine,
        publicKey,
        interfaceName,
        ipv4: `100.64.0.${index}`,
        ipv6: `fd00:64::${index}`,
        program: undefined as unknown as Program,
        look: () => ask({ type: 'look' }),
        pathTo: async (other) =>
          (await ask({ type: 'look' })).paths.find((path) => path.publicKey === other.publicKey) ?? null,
        async restart() {
          await member.program.ended();
          await start(known);
        },
        async close(isKept) {
          await ask({ type: 'close', isKept });
          await member.program.ended();
        },
        async rotate() {
          const next = makeKeyPair();
          known.privateKey = next.privateKey;
          member.publicKey = next.publicKey;
          await round(known);
        },
      };
      const known: Known = {
        member,
        privateKey,
        index,
        outside,
        place: null,
        told: '',
        socket: null,
        ask: null,
        options: {
          interfaceName,
          listenPort: 20_000 + index,
          socketPath: join(machine.directory, `member-${index}.sock`),
          wanted: {
            privateKey,
            addresses: [`${member.ipv4}/24`, `${member.ipv6}/64`],
            mtu: 1_280,
            peers: [],
            derpMap: null,
          },
        },
      };
      await start(known);
      all.push(known);
      return member;
    },
    moved(member, outside) {
      const known = all.find((one) => one.member === member);
      if (known !== undefined) known.outside = outside;
    },
    async nudge(one, other) {
      const asked = [
        [one, other],
        [other, one],
      ].map(async ([member, peer]) =>
        all
          .find((known) => known.member === member)
          ?.ask?.({ type: 'try', publicKey: peer?.publicKey ?? '', inMs: TRY_IN_MS }),
      );
      await Promise.all(asked);
    },
  };
}

/** Waits until both speak to each other this way, as both say. */
export async function untilPath(one: TestMember, other: TestMember, path: 'direct' | 'relayed'): Promise<void> {
  await until(`${one.machine.name} and ${other.machine.name} ${path}`, async () => {
    const [there, back] = await Promise.all([one.pathTo(other), other.pathTo(one)]);
    return there?.path === path && back?.path === path;
  });
}
