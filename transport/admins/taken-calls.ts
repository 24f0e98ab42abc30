/** Calls of other admins that were let in: done once each, bounded in number, and answered whatever happens. */
import type { PeerAnswer, PeerCall, PeerCallHandler } from '../../api/forwarding/ports.ts';
import type { Log } from '../net/log.ts';
import { Places } from '../net/places.ts';
import type { PeerHeader } from './peer-header.ts';
import type { Peers } from './peers.ts';
import { decodeCall, encodeAnswer } from './protocol/call.ts';
import { PONG } from './protocol/pong.ts';
import { PING } from './protocol/version.ts';
import { RecentAnswers, type WrittenAnswer } from './recent-answers.ts';
import {
  ANSWER_BYTES_MAX,
  ANSWER_KEPT_BYTES_MAX,
  ANSWER_KEPT_MS,
  ANSWERS_KEPT_BYTES_MAX,
  ANSWERS_KEPT_MAX,
  PEER_CALLS_MAX,
} from './limits.ts';

/** What it takes to do them. */
export interface TakenCallsPorts {
  readonly peers: Pick<Peers, 'nameOf'>;
  readonly handler: PeerCallHandler;
  readonly monotonicMs: () => number;
  readonly log: Log;
  /** Default: PEER_CALLS_MAX of one process. */
  readonly callsMax?: number;
}

/** None at first. Whichever way they came. */
export class TakenCalls {
  readonly #ports: TakenCallsPorts;
  readonly #answers: RecentAnswers;
  readonly #ofProcess: Places;
  #isClosing = false;

  constructor(ports: TakenCallsPorts) {
    this.#ports = ports;
    this.#ofProcess = new Places({ ofOneMax: ports.callsMax ?? PEER_CALLS_MAX });
    this.#answers = new RecentAnswers(
      {
        answersMax: ANSWERS_KEPT_MAX,
        ms: ANSWER_KEPT_MS,
        answerBytesMax: ANSWER_KEPT_BYTES_MAX,
        bytesMax: ANSWERS_KEPT_BYTES_MAX,
      },
      ports.monotonicMs,
    );
  }

  /** No more are begun. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Makes room for one of a process; what is to be called once it is answered. Null: it is to be told BUSY. */
  begin(instance: string): (() => void) | null {
    return this.#isClosing ? null : this.#ofProcess.take(instance);
  }

  /**
   * Does the call in these bytes, unless it was done before. `isDetour`: it may have come by the link before, and where
   * that was forgotten it is in doubt. Never rejects.
   */
  async answered({ fromAdmin, fromInstance }: PeerHeader, body: Buffer, isDetour = false): Promise<Buffer> {
    const { peers, log } = this.#ports;
    const call = decodeCall(body);
    if (call === null) {
      log.warn({ admin: peers.nameOf(fromAdmin) ?? fromAdmin }, 'a call of an admin of another version cannot be read');
      return UNKNOWN;
    }
    const isRepeat = isDetour || call.attempt > 1;
    return await this.#answers.once(fromInstance, call.call_id, isRepeat, () => this.#done(call, fromAdmin));
  }

  /** New calls are told that this admin is busy. */
  close(): void {
    this.#isClosing = true;
  }

  /** Forgets what is too old to matter. */
  sweep(): void {
    this.#answers.sweep();
  }

  async #done(call: PeerCall, from: string): Promise<WrittenAnswer> {
    const { handler, log } = this.#ports;
    const { operation, request_id } = call;
    let answer: PeerAnswer;
    try {
      answer = operation === PING ? PONG_ANSWER : await handler(call, from);
    } catch (error) {
      log.error({ error, operation, request_id }, 'a call of another admin failed');
      answer = FAILED;
    }
    const bytes = encodeAnswer(answer);
    if (bytes.byteLength <= ANSWER_BYTES_MAX) return { bytes, isFinal: answer.type === 'answered' };
    log.error(
      { operation, request_id, bytes: bytes.byteLength, bytes_max: ANSWER_BYTES_MAX },
      'the answer to a call of another admin is too large',
    );
    return { bytes: encodeAnswer(FAILED), isFinal: true };
  }
}

const PONG_ANSWER: PeerAnswer = { type: 'answered', result: { ok: true, value: PONG } };
const FAILED: PeerAnswer = {
  type: 'answered',
  result: {
    ok: false,
    refusal: {
      code: 'internal_error',
      message: 'Something went wrong at the admin that owns this. Its log has it under the request id.',
    },
  },
};
const UNKNOWN = encodeAnswer({ type: 'unknown_operation' });

/** Said where none can be begun. */
export const BUSY = encodeAnswer({ type: 'busy' });
