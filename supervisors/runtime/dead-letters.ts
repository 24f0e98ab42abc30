/** Messages that found no actor: who waits is answered, and an agent whom nobody hears is hung up. */
import { actorFields, type Address, type Message } from '../../actors/messages.ts';
import { UNAVAILABLE, type Refusal } from '../../actors/refusal.ts';
import type { Log } from '../../transport/net/log.ts';
import { CLOSE, IN_DOUBT_REASON } from '../../transport/protocol/close-codes.ts';
import type { SessionLink } from '../ports.ts';
import { replyToOf, type Asks } from './asks.ts';
import { NOT_FOUND } from './revival.ts';

/** Whom they concern. */
export interface DeadLetterPorts {
  readonly asks: Pick<Asks, 'answer'>;
  readonly sessions: Pick<SessionLink, 'hangUp'>;
  readonly log: Log;
}

/** None at first. */
export class DeadLetters {
  readonly #ports: DeadLetterPorts;
  #count = 0;

  constructor(ports: DeadLetterPorts) {
    this.#ports = ports;
  }

  /** So many so far. */
  get count(): number {
    return this.#count;
  }

  /** One more, and why it found nobody. */
  take(to: Address, message: Message, refusal: Refusal): void {
    const { asks, sessions, log } = this.#ports;
    this.#count += 1;
    const replyTo = replyToOf(message as { replyTo?: never });
    if (replyTo !== null) asks.answer(replyTo, { ok: false, refusal });
    const isGone = refusal === NOT_FOUND;
    // An agent that nobody welcomes: its node was deleted behind the gate (E5), or another admin owns it now.
    if (message.type === 'agent-connected')
      sessions.hangUp(message.session, isGone ? CLOSE.revoked : CLOSE.elsewhere, '');
    else if (isGone && 'session' in message) sessions.hangUp(message.session, CLOSE.shuttingDown, IN_DOUBT_REASON);
    // whoever gave its cluster away, or has no room for it, knew its session by another one: the node moved behind the
    // gate, which sends agents of such a cluster away too. Where it is only UNAVAILABLE its actor may be here
    else if (refusal !== UNAVAILABLE && 'session' in message) sessions.hangUp(message.session, CLOSE.elsewhere, '');
    log.debug({ ...actorFields(to), message_type: message.type, code: refusal.code }, 'a message found no actor');
  }
}
