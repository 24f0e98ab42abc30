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

/** A port that knows nobody yet. */
export class ObserverPort<Member> {
  readonly #options: PortOptions<Member>;
  readonly #contacts = new Map<string, Contact<Member>>();
  readonly #sessions = new Map<number, Session>();
  readonly #lookedUp = new Set<string>();

  constructor(options: PortOptions<Member>) {
    this.#options = options;
  }

  /** Takes any packet; never throws. */
  take(packet: Buffer, from: RemoteInfo): void {
    const { responder, quota, monotonicMs } = this.#options;
    const keepalive = readKeepalive(packet);
    if (keepalive !== null) this.#count(this.#heard(packet, keepalive.index, keepalive.counter, from));
    else if (!responder.isMeantForUs(packet)) this.#count('garbage');
    else if (!quota(from.address, monotonicMs())) this.#count('limited');
    else this.#begin(packet, from);
  }

  /**
   * Forgets those that were silent for SESSION_MS_MAX. With its session goes the time of its last handshake: a member
   * whose clock was set back would else never be answered again.
   */
  sweep(): void {
    const nowMs = this.#options.monotonicMs();
    for (const [publicKey, { answeredMs }] of this.#contacts)
      if (nowMs - answeredMs > SESSION_MS_MAX) this.#forget(publicKey);
  }

  members(): number {
    return this.#contacts.size;
  }

  #count(outcome: PacketOutcome): void {
    this.#options.counters.packets[outcome] += 1;
  }

  #heard(packet: Buffer, index: number, counter: bigint, from: RemoteInfo): PacketOutcome {
    const session = this.#sessions.get(index);
    const contact = session === undefined ? undefined : this.#contacts.get(session.publicKey);
    if (
      session === undefined ||
      contact === undefined ||
      this.#options.monotonicMs() - session.sinceMs > SESSION_MS_MAX
    )
      return 'unknown_session';
    // Late ones say where the member was, not where it is.
    if (session.counter !== null && counter <= session.counter) return 'replayed';
    if (!isKeepaliveOf(session.receiveKey, packet, counter)) return 'forged';
    this.#sessions.set(index, { ...session, counter });
    if (index === contact.offered) {
      if (contact.current !== null) this.#sessions.delete(contact.current);
      this.#contacts.set(session.publicKey, { ...contact, offered: null, current: index });
    }
    this.#options.seen(session.publicKey, contact.member, from);
    return 'seen';
  }

  /** The sender is looked up each time: it may have left. One that is being looked up is not looked up twice. */
  #begin(packet: Buffer, from: RemoteInfo): void {
    const initiation = this.#options.responder.read(packet);
    if (initiation === null) return this.#count('forged');
    const { publicKey } = initiation;
    if (this.#lookedUp.size >= LOOK_UPS_MAX || this.#lookedUp.has(publicKey)) return this.#count('limited');
    this.#lookedUp.add(publicKey);
    void this.#answered(initiation, from)
      .then((outcome) => this.#count(outcome))
      .finally(() => this.#lookedUp.delete(publicKey));
  }

  async #answered(initiation: Initiation, from: RemoteInfo): Promise<PacketOutcome> {
    const { publicKey } = initiation;
    let member: Member | null;
    try {
      member = await this.#options.memberOf(publicKey);
    } catch {
      // The rows are away: who was a member a moment ago still is.
      member = this.#contacts.get(publicKey)?.member ?? null;
      if (member === null) return 'unanswered';
    }
    if (member === null) {
      this.#forget(publicKey);
      return 'stranger';
    }
    return this.#respond(initiation, member, from);
  }

  #respond(initiation: Initiation, member: Member, from: RemoteInfo): PacketOutcome {
    const { responder, monotonicMs, send } = this.#options;
    const { publicKey } = initiation;
    const nowMs = monotonicMs();
    const contact = this.#contacts.get(publicKey);
    if (!this.#mayAnswer(contact, nowMs)) return 'limited';
    const initiator = contact?.initiator ?? responder.initiator(publicKey);
    const proven = initiator === null ? null : responder.prove(initiation, initiator);
    if (initiator === null || proven === null) return 'forged';
    if (contact !== undefined && Buffer.compare(proven.timestamp, contact.timestamp) <= 0) return 'replayed';

    const index = this.#freeIndex();
    const { packet, receiveKey } = responder.respond(proven, initiator, index);
    if (contact !== undefined && contact.offered !== null) this.#sessions.delete(contact.offered);
    this.#sessions.set(index, { publicKey, receiveKey, sinceMs: nowMs, counter: null });
    this.#contacts.set(publicKey, {
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

  #mayAnswer(contact: Contact<Member> | undefined, nowMs: number): boolean {
    return contact === undefined
      ? this.#contacts.size < MEMBERS_MAX
      : nowMs - contact.answeredMs >= HANDSHAKE_EVERY_MS_MIN;
  }

  #freeIndex(): number {
    for (;;) {
      const index = randomInt(INDEX_MAX);
      if (!this.#sessions.has(index)) return index;
    }
  }

  #forget(publicKey: string): void {
    const contact = this.#contacts.get(publicKey);
    if (contact === undefined) return;
    this.#contacts.delete(publicKey);
    for (const index of [contact.offered, contact.current]) if (index !== null) this.#sessions.delete(index);
  }
}
