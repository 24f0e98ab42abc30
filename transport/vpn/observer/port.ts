/**
 * One port of the observer: handshakes of members and what follows them. It takes what a responder must take, and never
 * sends anything but answers to members.
 */
import type { RemoteInfo } from 'node:dgram';
import { randomInt } from 'node:crypto';
import type { ObserverCounters, PacketOutcome } from './counters.ts';
import { HANDSHAKE_EVERY_MS_MIN, LOOK_UPS_MAX, MEMBERS_MAX, SESSION_MS_MAX } from './limits.ts';
import { isKeepaliveOf, readKeepalive } from './noise.ts';
import type { Initiation, Initiator, Responder } from './noise.ts';
import type { HandshakeQuota } from './quota.ts';

/** Indexes of sessions: 32 bits, where `randomInt` needs less than 48. */
const INDEX_MAX = 2 ** 32;

/** The state of a member at this port. */
interface Contact<Member> {
  readonly member: Member;
  readonly initiator: Initiator;
  /** Of the last handshake that was answered. */
  readonly timestamp: Buffer;
  readonly answeredMs: number;
  /** Answered, and used by nobody yet. */
  readonly offered: number | null;
  /** In use. */
  readonly current: number | null;
}

interface Session {
  readonly publicKey: string;
  readonly receiveKey: Buffer;
  readonly sinceMs: number;
  /** Null: nothing came yet. */
  readonly counter: bigint | null;
}

/** What a port is given. */
export interface PortOptions<Member> {
  readonly responder: Responder;
  readonly quota: HandshakeQuota;
  readonly counters: ObserverCounters;
  readonly monotonicMs: () => number;
  /** Who has this key; null: no member. May reject. */
  readonly memberOf: (publicKey: string) => Promise<Member | null>;
  readonly send: (packet: Buffer, to: RemoteInfo) => void;
  /** A packet that only this member can have made came from there just now. */
  readonly seen: (publicKey: string, member: Member, from: RemoteInfo) => void;
}

/** A port. */
export interface ObserverPort {
  /** Takes any packet; never throws. */
  take(packet: Buffer, from: RemoteInfo): void;
  /** Forgets those that were silent for SESSION_MS_MAX. */
  sweep(): void;
  members(): number;
}

/** A port that knows nobody yet. */
export function createObserverPort<Member>({
  responder,
  quota,
  counters,
  monotonicMs,
  memberOf,
  send,
  seen,
}: PortOptions<Member>): ObserverPort {
  const contacts = new Map<string, Contact<Member>>();
  const sessions = new Map<number, Session>();
  const lookedUp = new Set<string>();

  function take(packet: Buffer, from: RemoteInfo): void {
    const keepalive = readKeepalive(packet);
    if (keepalive !== null) count(heard(packet, keepalive.index, keepalive.counter, from));
    else if (!responder.isMeantForUs(packet)) count('garbage');
    else if (!quota(from.address, monotonicMs())) count('limited');
    else begin(packet, from);
  }

  function count(outcome: PacketOutcome): void {
    counters.packets[outcome] += 1;
  }

  function heard(packet: Buffer, index: number, counter: bigint, from: RemoteInfo): PacketOutcome {
    const session = sessions.get(index);
    const contact = session === undefined ? undefined : contacts.get(session.publicKey);
    if (session === undefined || contact === undefined || monotonicMs() - session.sinceMs > SESSION_MS_MAX)
      return 'unknown_session';
    // Late ones say where the member was, not where it is.
    if (session.counter !== null && counter <= session.counter) return 'replayed';
    if (!isKeepaliveOf(session.receiveKey, packet, counter)) return 'forged';
    sessions.set(index, { ...session, counter });
    if (index === contact.offered) {
      if (contact.current !== null) sessions.delete(contact.current);
      contacts.set(session.publicKey, { ...contact, offered: null, current: index });
    }
    seen(session.publicKey, contact.member, from);
    return 'seen';
  }

  /** The sender is looked up each time: it may have left. One that is being looked up is not looked up twice. */
  function begin(packet: Buffer, from: RemoteInfo): void {
    const initiation = responder.read(packet);
    if (initiation === null) return count('forged');
    const { publicKey } = initiation;
    if (lookedUp.size >= LOOK_UPS_MAX || lookedUp.has(publicKey)) return count('limited');
    lookedUp.add(publicKey);
    void answered(initiation, from)
      .then(count)
      .finally(() => lookedUp.delete(publicKey));
  }

  async function answered(initiation: Initiation, from: RemoteInfo): Promise<PacketOutcome> {
    const { publicKey } = initiation;
    let member: Member | null;
    try {
      member = await memberOf(publicKey);
    } catch {
      member = contacts.get(publicKey)?.member ?? null; // the rows are away: who was a member a moment ago still is
      if (member === null) return 'unanswered';
    }
    if (member === null) {
      forget(publicKey);
      return 'stranger';
    }
    return respond(initiation, member, from);
  }

  function respond(initiation: Initiation, member: Member, from: RemoteInfo): PacketOutcome {
    const { publicKey } = initiation;
    const nowMs = monotonicMs();
    const contact = contacts.get(publicKey);
    if (
      (contact === undefined && contacts.size >= MEMBERS_MAX) ||
      (contact !== undefined && nowMs - contact.answeredMs < HANDSHAKE_EVERY_MS_MIN)
    )
      return 'limited';
    const initiator = contact?.initiator ?? responder.initiator(publicKey);
    const proven = initiator === null ? null : responder.prove(initiation, initiator);
    if (initiator === null || proven === null) return 'forged';
    if (contact !== undefined && Buffer.compare(proven.timestamp, contact.timestamp) <= 0) return 'replayed';

    const index = freeIndex();
    const { packet, receiveKey } = responder.respond(proven, initiator, index);
    if (contact !== undefined && contact.offered !== null) sessions.delete(contact.offered);
    sessions.set(index, { publicKey, receiveKey, sinceMs: nowMs, counter: null });
    contacts.set(publicKey, {
      member,
      initiator,
      timestamp: proven.timestamp,
      answeredMs: nowMs,
      offered: index,
      current: contact?.current ?? null,
    });
    send(packet, from);
    return 'answered';
  }

  function freeIndex(): number {
    for (;;) {
      const index = randomInt(INDEX_MAX);
      if (!sessions.has(index)) return index;
    }
  }

  function forget(publicKey: string): void {
    const contact = contacts.get(publicKey);
    if (contact === undefined) return;
    contacts.delete(publicKey);
    for (const index of [contact.offered, contact.current]) if (index !== null) sessions.delete(index);
  }

  return {
    take,
    /**
     * With its session goes the time of its last handshake: a member whose clock was set back would else never be
     * answered again.
     */
    sweep() {
      const nowMs = monotonicMs();
      for (const [publicKey, { answeredMs }] of contacts) if (nowMs - answeredMs > SESSION_MS_MAX) forget(publicKey);
    },
    members: () => contacts.size,
  };
}
