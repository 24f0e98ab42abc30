/**
 * The loop of a member: one turn after another reads the interface, tells the paths, and carries out what they ask for.
 */
import type { RelayReach } from '../derp/socket.ts';
import type { MeshPeer } from '../../protocol/mesh.ts';
import type { DevicePeer, PeerReading, WireguardDevice } from '../wireguard/device.ts';
import { publicKeyOf } from '../wireguard/keys.ts';
import { candidatesOf, type OwnPlace } from './candidates.ts';
import { perform, type Wish } from './deeds.ts';
import {
  ADDRESSES_MS,
  ATTEMPT_MS,
  INBOX_MAX,
  KEEPALIVE_SECONDS,
  READ_BUSY_MS,
  READ_EAGER_MS,
  READ_GREETING_MS,
  READ_IDLE_MS,
  RELAY_START_MS_MAX,
  REPLACED_MS,
  ROTATED_MS,
  REPAIR_MS,
  SESSION_MS_MAX,
  SLEEP_MS_MIN,
  UNHEARD_MS_MAX,
} from './limits.ts';
import { createHandshakeAges } from './handshake-ages.ts';
import { localAddresses, localEndpoints, type Interfaces } from './local-endpoints.ts';
import {
  NOTHING_REFUSED,
  type MemberPlace,
  type MemberPorts,
  type MemberRefusals,
  type PeerPath,
  type WantedMember,
} from './member.ts';
import { meet, transition } from './paths.ts';
import type { PathMessage, PathReading, PathState, PathStep } from './path-state.ts';
import { allowedIpsOf, changeOf } from './peer-set.ts';
import { createRelays } from './relays.ts';
import { createShims } from './shims.ts';
import { Turns } from './turns.ts';
import { decodeWord, encodeWord, isWord, type Word } from './words.ts';

/** Between two looks at whether the own relay is reached, in ms. */
const PLACED_LOOK_MS = 20;

/** What stays the same for the whole life of a member. */
export interface PeersOptions {
  readonly listenPort: number;
  readonly interfaceName: string;
  readonly interfaces: () => Interfaces;
  readonly wanted: WantedMember;
  readonly relayReach?: RelayReach;
}

/** The peers of a member, and the paths to them. */
export interface Peers {
  /** From now on on this device; null: there is none now. All paths begin anew, but those that the device has alive. */
  use(device: WireguardDevice | null): void;
  become(wanted: WantedMember): void;
  tryDirect(publicKey: string, inMs: number): void;
  paths(): readonly PeerPath[];
  place(): MemberPlace;
  refused(): MemberRefusals;
  problem(): string | null;
  /** Once it is known where others find this member, or that this will take long. */
  placed(): Promise<void>;
  close(end: { readonly isKept: boolean }): Promise<void>;
}

interface Peer {
  readonly publicKey: string;
  wanted: MeshPeer;
  state: PathState;
  reading: PeerReading | null;
}

/** Does nothing before it has a device. */
export function startPeers(
  { listenPort, interfaceName, interfaces, wanted: first, relayReach }: PeersOptions,
  ports: MemberPorts,
): Peers {
  const peers = new Map<string, Peer>();
  const startedAtMs = performance.now();
  const ages = createHandshakeAges();
  let wanted = first;
  let wishes: Wish[] = [];
  let inbox: { readonly publicKey: string; readonly message: PathMessage }[] = [];
  let device: WireguardDevice | null = null;
  /** What the device was told last; null: nothing. */
  let told: { readonly privateKey: string; readonly addresses: string; readonly mtu: number } | null = null;
  let isWantedNew = true;
  let readAtMs = 0;
  let heededAtMs = 0;
  let repairAtMs = 0;
  let lookAtMs = 0;
  let lastTurnMs = startedAtMs;
  let own: OwnPlace = { addresses: [], listenPort, meshRanges: [] };
  let ownPublicKey = publicKeyOf(wanted.privateKey);
  let toldPlace = '';
  let problem: string | null = null;
  const ending = new AbortController();
  const turns = new Turns();
  let toldRefused = '';

  const shims = createShims({
    wireguardPort: listenPort,
    send(publicKey, packet) {
      const region = peers.get(publicKey)?.wanted.relay_region ?? null;
      if (region !== null) relays.send(region, publicKey, packet);
    },
    straggled(publicKey) {
      const state = peers.get(publicKey)?.state;
      if (state?.path === 'direct')
        // the next reading repairs it
        device?.setEndpoints([{ publicKey, endpoint: state.endpoint, isKicked: false }]).catch(() => {});
    },
  });
  const relays = createRelays({
    received(publicKey, packet) {
      if (!peers.has(publicKey)) return;
      if (!isWord(packet)) return shims.deliver(publicKey, packet);
      const word = decodeWord(packet);
      if (word !== null) put(publicKey, messageOf(word));
    },
    changed: () => turns.wake(),
    ...(relayReach === undefined ? {} : { reach: relayReach }),
  });
  const running = run();

  return {
    use(next) {
      device = next;
      told = null;
      isWantedNew = true;
      peers.clear();
      ages.forget(() => false);
      wishes = [];
      turns.renew();
    },
    become(next) {
      wanted = next;
      isWantedNew = true;
      turns.renew();
    },
    tryDirect: (publicKey, inMs) => put(publicKey, { type: 'agreed', inMs }),
    paths: () => [...peers.values()].map(pathOf),
    place: () => ({ listenPort, endpoints: localEndpoints(own.addresses, listenPort), relayRegion: relays.home() }),
    refused: refusedNow,
    problem: () => problem ?? (wanted.peers.size > 0 ? relays.problem() : null),
    async placed() {
      while (
        !ending.signal.aborted &&
        wanted.relayMap != null &&
        relays.home() === null &&
        performance.now() - startedAtMs < RELAY_START_MS_MAX
      ) {
        await new Promise((resolve) => {
          setTimeout(resolve, PLACED_LOOK_MS);
        });
      }
    },
    async close({ isKept }) {
      ending.abort();
      turns.end();
      await running;
      relays.close();
      if (isKept) await leaveDirect().catch(() => {}); // the next start repairs it
      shims.close();
      await (isKept ? device?.release() : device?.remove());
    },
  };

  function put(publicKey: string, message: PathMessage): void {
    if (!peers.has(publicKey) || inbox.length >= INBOX_MAX) return;
    inbox.push({ publicKey, message });
    turns.wake();
  }

  /** Never rejects. */
  async function run(): Promise<void> {
    for (;;) {
      await turns.next(
        Math.min(
          readAtMs,
          repairAtMs,
          lookAtMs,
          relays.isSearching ? performance.now() + READ_EAGER_MS : Infinity,
          ...[...peers.values()].map(({ state }) => state.dueMs),
        ),
      );
      if (ending.signal.aborted) return;
      try {
        await turn(performance.now());
        problem = null;
        turns.succeeded();
      } catch (error) {
        // The device says for itself when it is gone; anything else is tried again, later each time.
        problem = device === null ? null : (error as Error).message;
        isWantedNew = true;
        repairAtMs = 0;
        turns.failed();
      }
    }
  }

  async function turn(nowMs: number): Promise<void> {
    const hasSlept = nowMs - lastTurnMs > SLEEP_MS_MIN;
    lastTurnMs = nowMs;
    relays.become(wanted.relayMap ?? null, wanted.privateKey);
    relays.sweep();
    if (hasSlept || nowMs >= lookAtMs) look(nowMs, hasSlept);
    const using = device;
    if (using === null) {
      readAtMs = nowMs + READ_IDLE_MS;
      repairAtMs = nowMs + READ_IDLE_MS;
      return;
    }
    if (isWantedNew || nowMs >= repairAtMs) await repair(using, nowMs);
    // Whoever is greeted next may have greeted meanwhile: handshakes that cross lead nowhere, and a peer that is added
    // anew forgets the one under way.
    else if (
      nowMs >= readAtMs ||
      (nowMs >= heededAtMs + READ_GREETING_MS &&
        [...peers.values()].some(({ state }) => state.path === 'none' && state.dueMs <= nowMs))
    )
      await readAll(using);
    for (const { publicKey, message } of inbox.splice(0)) tell(publicKey, message);
    for (const {
      publicKey,
      wanted: { relay_region: region },
      state,
    } of peers.values()) {
      const carries = relays.carries(region);
      if (carries !== state.hasRelay) tell(publicKey, { type: carries ? 'relay-opened' : 'relay-lost' });
    }
    for (const { publicKey, state } of peers.values())
      if (state.dueMs <= nowMs) tell(publicKey, { type: 'time-passed' });
    await perform(taken(), deedPorts(using));
    shims.sweep(
      (publicKey) => peers.has(publicKey),
      (publicKey) => peers.get(publicKey)?.state.path !== 'direct',
    );
    readAtMs = Math.max(Math.min(readAtMs, performance.now() + cadence()), lastTurnMs);
    tellPlace();
  }

  function deedPorts(using: WireguardDevice): Parameters<typeof perform>[1] {
    return {
      device: using,
      shims,
      taken,
      wantsTry: (publicKey) => ports.wantsTry(publicKey),
      say(publicKey, word) {
        const region = peers.get(publicKey)?.wanted.relay_region ?? null;
        if (region !== null) relays.send(region, publicKey, encodeWord(word));
      },
      strange(publicKey) {
        const peer = peers.get(publicKey);
        const ageMs = ages.of(publicKey, performance.now());
        return peer === undefined || (ageMs !== null && ageMs < SESSION_MS_MAX)
          ? null
          : { allowedIps: allowedIpsOf(peer.wanted) };
      },
      read: () => readAll(using),
    };
  }

  function taken(): readonly Wish[] {
    const open = wishes;
    wishes = [];
    return open;
  }

  function tell(publicKey: string, message: PathMessage): void {
    const peer = peers.get(publicKey);
    if (peer !== undefined) take(peer, transition(peer.state, message, performance.now()));
  }

  function take(peer: Peer, { state, effects }: PathStep): void {
    const hasChanged = peer.state.path !== state.path;
    peer.state = state;
    for (const effect of effects) wishes.push({ publicKey: peer.publicKey, effect });
    if (hasChanged) ports.changed();
  }

  /** The addresses of this machine, and what follows from them. */
  function look(nowMs: number, hasSlept: boolean): void {
    lookAtMs = nowMs + ADDRESSES_MS;
    const meshRanges = wanted.addresses;
    const addresses = localAddresses(interfaces(), interfaceName, meshRanges);
    const isSame = JSON.stringify([addresses, meshRanges]) === JSON.stringify([own.addresses, own.meshRanges]);
    if (isSame && !hasSlept) return;
    if (hasSlept || own.addresses.some((address) => !addresses.includes(address))) relays.renew();
    own = { addresses, listenPort, meshRanges };
    for (const {
      publicKey,
      wanted: { endpoints },
    } of peers.values()) {
      tell(publicKey, { type: 'candidates-changed', candidates: candidatesOf(endpoints, own) });
      tell(publicKey, { type: 'moved' });
    }
    if (hasSlept) readAtMs = nowMs;
  }

  /** Makes the interface what is wanted. Who is to go goes first: nothing that may fail comes before. */
  async function repair(using: WireguardDevice, nowMs: number): Promise<void> {
    const isRegular = nowMs >= repairAtMs;
    const target = wanted;
    isWantedNew = false;
    repairAtMs = nowMs + REPAIR_MS;
    look(nowMs, false);
    ownPublicKey = publicKeyOf(target.privateKey);
    const isRotated = told !== null && told.privateKey !== target.privateKey;
    const before = await using.read();
    const { removed } = changeOf(target, before, ownPublicKey);
    if (removed.length > 0) await using.apply({ removed, set: [] });
    if (isRotated) {
      await using.setPrivateKey(target.privateKey);
      // Sessions begin anew, and so do peers: WireGuard leaves one that it greeted with the old key alone for 5 s.
      await using.apply({ removed: [...peers.keys()], set: [] });
      peers.clear();
      ages.forget(() => false);
    }
    const addresses = JSON.stringify(target.addresses);
    if (isRegular || told?.addresses !== addresses) await using.setAddresses(target.addresses);
    if (isRegular || told?.mtu !== target.mtu) await using.setMtu(target.mtu);
    told = { privateKey: target.privateKey, addresses, mtu: target.mtu };
    const unheard = unheardFor(nowMs).filter(({ publicKey }) => target.peers.has(publicKey));
    if (unheard.length > 0) await using.apply({ removed: unheard.map(({ publicKey }) => publicKey), set: unheard });
    const readings = removed.length === 0 && !isRotated && unheard.length === 0 ? before : await using.read();
    const change = changeOf(target, readings, ownPublicKey);
    ages.forget((publicKey) => target.peers.has(publicKey) && !change.met.includes(publicKey));
    if (change.set.length + change.removed.length > 0) await using.apply(change);
    become(target, readings, new Set(change.met), isRotated);
    readAtMs = nowMs;
    heed(readings);
    tellRefused(using);
  }

  /** Peers as the interface has them now; `met` are those that were not there before. */
  function become(
    target: WantedMember,
    readings: readonly PeerReading[],
    met: ReadonlySet<string>,
    isRotated: boolean,
  ): void {
    const refused = device?.refusals().peers;
    const readingOfKey = new Map(readings.map((reading) => [reading.publicKey, reading]));
    const replaced = new Set<string | null>();
    for (const [
      publicKey,
      {
        wanted: { node },
      },
    ] of peers) {
      if (target.peers.has(publicKey) && !met.has(publicKey)) continue;
      peers.delete(publicKey);
      replaced.add(node);
    }
    for (const peer of target.peers.values()) {
      const { public_key: publicKey } = peer;
      if (publicKey === ownPublicKey || (met.has(publicKey) && refused?.has(publicKey) === true)) continue;
      const known = peers.get(publicKey);
      if (known === undefined)
        meetPeer(
          peer,
          readingOfKey.get(publicKey) ?? null,
          isRotated ? ROTATED_MS : replaced.has(peer.node) ? REPLACED_MS : null,
        );
      else if (known.wanted !== peer) {
        known.wanted = peer;
        tell(publicKey, { type: 'candidates-changed', candidates: candidatesOf(peer.endpoints, own) });
      }
    }
  }

  function refusedNow(): MemberRefusals {
    if (device === null) return NOTHING_REFUSED;
    const { peers: refused, addresses } = device.refusals();
    return {
      peers: [...refused].flatMap(([key, reason]) => {
        const peer = wanted.peers.get(key);
        return peer === undefined ? [] : [{ node: peer.node, reason }];
      }),
      addresses: [...addresses.keys()],
    };
  }

  function tellRefused(using: WireguardDevice): void {
    const { peers: refused, addresses } = using.refusals();
    const text = JSON.stringify([...refused.keys(), ...addresses.keys()]);
    if (text === toldRefused || (text === '[]' && toldRefused === '')) return;
    toldRefused = text;
    ports.changed();
  }

  /** Those that had a session and are not heard any more, as they are to be added again. */
  function unheardFor(nowMs: number): readonly DevicePeer[] {
    return [...peers.values()]
      .filter(
        ({ publicKey, state }) =>
          state.path === 'none' && nowMs - state.sinceMs >= UNHEARD_MS_MAX && ages.of(publicKey, nowMs) !== null,
      )
      .map(({ publicKey, wanted: peer, reading }) => ({
        publicKey,
        allowedIps: allowedIpsOf(peer),
        endpoint: reading?.endpoint ?? null,
        keepaliveSeconds: KEEPALIVE_SECONDS,
      }));
  }

  /**
   * `silentMs`: the key of one of both is new, and this side waits for so long with its first word; null: it is not.
   */
  function meetPeer(peer: MeshPeer, reading: PeerReading | null, silentMs: number | null): void {
    const publicKey = peer.public_key;
    const seen = reading === null || silentMs !== null ? null : readingOf(reading);
    // At the start the own relay is about to be reached, and a handshake that is sent elsewhere meanwhile would not
    // come again for 5 s.
    const isEarly = relays.isSearching && performance.now() - startedAtMs < RELAY_START_MS_MAX;
    const { state, effects } = meet(
      {
        candidates: candidatesOf(peer.endpoints, own),
        hasRelay: relays.carries(peer.relay_region),
        isFirst: ownPublicKey < publicKey,
        reading: seen,
      },
      performance.now(),
    );
    const dueMs = silentMs !== null ? performance.now() + silentMs : isEarly ? startedAtMs + RELAY_START_MS_MAX : null;
    const waiting = dueMs !== null && state.path === 'none' ? { ...state, attempt: -1, dueMs } : null;
    peers.set(publicKey, { publicKey, wanted: peer, state: waiting ?? state, reading });
    if (waiting === null) for (const effect of effects) wishes.push({ publicKey, effect });
    ports.changed();
  }

  async function readAll(using: WireguardDevice): Promise<void> {
    heed(await using.read());
    readAtMs = performance.now() + cadence();
  }

  function heed(readings: readonly PeerReading[]): void {
    heededAtMs = performance.now();
    for (const reading of readings) {
      const peer = peers.get(reading.publicKey);
      if (peer === undefined) continue;
      peer.reading = reading;
      tell(reading.publicKey, { type: 'read', reading: readingOf(reading) });
    }
  }

  function readingOf({ publicKey, endpoint, handshakeAtMs, receivedBytes, sentBytes }: PeerReading): PathReading {
    const isShim = endpoint !== null && endpoint.startsWith('127.');
    const isOurs = isShim && endpoint === shims.endpointOf(publicKey);
    return {
      way: endpoint === null || (isShim && !isOurs) ? null : isOurs ? { kind: 'relay' } : { kind: 'direct', endpoint },
      handshakeAgeMs: ages.read(publicKey, handshakeAtMs, performance.now(), Date.now()),
      receivedBytes,
      sentBytes,
    };
  }

  function cadence(): number {
    const soonMs = performance.now() + ATTEMPT_MS;
    let isBusy = false;
    for (const { state } of peers.values()) {
      if (
        state.path === 'trying' ||
        (state.path === 'none' && state.dueMs <= soonMs) ||
        (state.path === 'direct' && state.silentSinceMs !== null)
      )
        return READ_EAGER_MS;
      isBusy ||= state.path === 'direct' && state.isBusy;
    }
    return isBusy ? READ_BUSY_MS : READ_IDLE_MS;
  }

  function pathOf({ publicKey, state, reading, wanted: { relay_region: region } }: Peer): PeerPath {
    const handshakeAgeMs = ages.of(publicKey, performance.now());
    const isAlive = handshakeAgeMs !== null && handshakeAgeMs < SESSION_MS_MAX;
    const path = !isAlive || state.path === 'none' ? 'none' : state.path === 'direct' ? 'direct' : 'relayed';
    return {
      publicKey,
      path,
      relayRegion: path === 'relayed' ? region : null,
      handshakeAgeMs,
      receivedBytes: reading?.receivedBytes ?? 0,
      sentBytes: reading?.sentBytes ?? 0,
    };
  }

  function tellPlace(): void {
    const place = { listenPort, endpoints: localEndpoints(own.addresses, listenPort), relayRegion: relays.home() };
    const text = JSON.stringify(place);
    if (text === toldPlace) return;
    toldPlace = text;
    ports.moved(place);
  }

  /** Before its shims end: who was relayed is left at the likeliest endpoint. */
  async function leaveDirect(): Promise<void> {
    const changes = [...peers.values()].flatMap(({ publicKey, state }) => {
      const [endpoint] = state.candidates;
      return state.path === 'direct' || endpoint === undefined ? [] : [{ publicKey, endpoint, isKicked: false }];
    });
    if (changes.length > 0) await device?.setEndpoints(changes);
  }
}

function messageOf(word: Word): PathMessage {
  switch (word.type) {
    case 'ask':
      return { type: 'asked' };
    case 'agreed':
      return { type: 'answered', inMs: word.inMs };
    case 'heard':
      return { type: 'heard' };
    default:
      throw new Error(`no such word: ${(word satisfies never as Word).type}`);
  }
}
