/** A path as a test plays it: with a clock of its own, told one message after another. */
import { meet, transition } from '../../../../../transport/vpn/member/path-transition.ts';
import {
  RELAY,
  type PathEffect,
  type PathMessage,
  type PathReading,
  type PathState,
  type Way,
} from '../../../../../transport/vpn/member/path-state.ts';

/** Where the peer is, best first: on a network of this machine, and as others see it. */
export const LAN = '192.168.1.7:20007';
/** The second of them. */
export const OUTSIDE = '198.51.100.7:20007';

/** A path with a clock of its own, and what it asked for since it was looked at last. */
export class Path {
  state: PathState;
  nowMs = 1_000;
  way: Way | null = null;
  received = 0;
  sent = 0;
  handshakeAgeMs: number | null = null;
  effects: PathEffect[] = [];

  constructor({
    candidates = [LAN, OUTSIDE],
    hasRelay = true,
    isFirst = true,
    reading = null as PathReading | null,
  } = {}) {
    const { state, effects } = meet({ candidates, hasRelay, isFirst, reading }, this.nowMs);
    this.state = state;
    this.effects = [...effects];
  }

  tell(message: PathMessage): this {
    const { state, effects } = transition(this.state, message, this.nowMs);
    this.state = state;
    this.effects.push(...effects);
    for (const effect of effects) if (effect.type === 'use') this.way = effect.way;
    return this;
  }

  /** What it does in its time, in steps. */
  pass(ms: number): this {
    const endMs = this.nowMs + ms;
    while (this.state.dueMs <= endMs) {
      this.nowMs = Math.max(this.nowMs, this.state.dueMs);
      this.tell({ type: 'time-passed' });
    }
    this.nowMs = endMs;
    return this;
  }

  /** A reading after so many bytes each way. */
  read(way: Way | null, { received = 0, sent = 0 } = {}): this {
    this.received += received;
    this.sent += sent;
    if (received > 0) this.handshakeAgeMs ??= 0;
    return this.tell({
      type: 'read',
      reading: { way, handshakeAgeMs: this.handshakeAgeMs, receivedBytes: this.received, sentBytes: this.sent },
    });
  }

  taken(): PathEffect[] {
    return this.effects.splice(0);
  }
}

/** The way to that endpoint. */
export const direct = (endpoint: string): Way => ({ kind: 'direct', endpoint });

/** A path on which the peer was just heard over the relay. */
export function relayed(options?: ConstructorParameters<typeof Path>[0]): Path {
  const path = new Path(options).read(RELAY, { received: 148, sent: 148 });
  path.taken();
  return path;
}
