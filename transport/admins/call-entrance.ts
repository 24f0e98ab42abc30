/**
 * Where other admins come in with calls. Whoever cannot prove to be one finds no such route, and nothing of what it
 * sends is read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PeerAnswer, PeerCall, PeerCallHandler } from '../../api/forwarding-ports.ts';
import type { Log } from '../net/log.ts';
import type { ReceivedHeader } from './peer-header.ts';
import type { PeerKeys } from './peer-key.ts';
import type { PeerProofs } from './peer-proofs.ts';
import type { Peers } from './peers.ts';
import { decodeCall, encodeAnswer } from './protocol/call.ts';
import { CALL_PATH, PING, REACHED_HEADER } from './protocol/version.ts';
import { RecentAnswers, type WrittenAnswer } from './recent-answers.ts';
import {
  ANSWER_BYTES_MAX,
  ANSWER_KEPT_BYTES_MAX,
  ANSWER_KEPT_MS,
  ANSWERS_KEPT_BYTES_MAX,
  ANSWERS_KEPT_MAX,
  PEER_CALLS_MAX,
} from './limits.ts';

/** What the proof of a call is bound to besides its header. */
export const CALL_ROUTE = `POST ${CALL_PATH}`;

/** Type of what is sealed. */
export const SEALED_TYPE = 'application/octet-stream';

/** What the entrance needs. */
export interface CallEntrancePorts {
  /** Id of this admin. */
  readonly adminId: string;
  readonly keys: PeerKeys;
  readonly proofs: PeerProofs;
  readonly peers: Pick<Peers, 'nameOf'>;
  readonly handler: PeerCallHandler;
  /** Largest call, in bytes, with its seal. */
  readonly callBytesMax: number;
  readonly monotonicMs: () => number;
  readonly log: Log;
  /** Default: PEER_CALLS_MAX of one process. */
  readonly callsMax?: number;
}

/** What came in so far. */
export interface EntranceCounters {
  /** Calls that proved to be an admin's. */
  taken: number;
  /** Requests that did not. */
  refused: number;
}

/** Calls of other admins come in here. */
export class CallEntrance {
  readonly counters: EntranceCounters = { taken: 0, refused: 0 };
  readonly #ports: CallEntrancePorts;
  readonly #answers: RecentAnswers;
  readonly #callsMax: number;
  readonly #openOf = new Map<string, number>();
  #isClosing = false;

  constructor(ports: CallEntrancePorts) {
    this.#ports = ports;
    this.#callsMax = ports.callsMax ?? PEER_CALLS_MAX;
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

  /**
   * Takes a request for CALL_PATH and answers it. False: it is no admin's, and to be answered as one to a path that
   * there is not. Nothing of its body was read then, unless its header was proven and its body was not that header's.
   */
  async take(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    if (request.method !== 'POST') return this.#refused(request);
    const proof = this.#ports.proofs.judge(CALL_ROUTE, request);
    if (proof.type === 'unproven') return this.#refused(request);
    if (proof.type === 'misdirected') return this.#misdirected(response);
    const { header } = proof;
    const length = Number(request.headers['content-length'] ?? Number.NaN);
    if (!(length <= this.#ports.callBytesMax)) return end(response, 413);
    const instance = header.said.fromInstance;
    const open = this.#openOf.get(instance) ?? 0;
    if (proof.type === 'full' || this.#isClosing || open >= this.#callsMax)
      return this.#answer(response, header, encodeAnswer({ type: 'busy' }));
    this.#openOf.set(instance, open + 1);
    try {
      return await this.#taken(request, response, header);
    } finally {
      const left = (this.#openOf.get(instance) ?? 1) - 1;
      if (left > 0) this.#openOf.set(instance, left);
      else this.#openOf.delete(instance);
    }
  }

  /** New calls are told that this admin is busy, and what is under way ends its connection with its answer. */
  close(): void {
    this.#isClosing = true;
  }

  /** Forgets what is too old to matter. */
  sweep(): void {
    this.#answers.sweep();
  }

  async #taken(request: IncomingMessage, response: ServerResponse, header: ReceivedHeader): Promise<boolean> {
    const { keys, log, peers } = this.#ports;
    const { fromAdmin, fromInstance } = header.said;
    const sealed = await bodyOf(request);
    if (sealed === null) return true; // whoever asked is gone
    const body = keys.openCall(header, sealed);
    if (body === null) return this.#refused(request);
    this.counters.taken += 1;
    const call = decodeCall(body);
    if (call === null) {
      log.warn({ admin: peers.nameOf(fromAdmin) ?? fromAdmin }, 'a call of an admin of another version cannot be read');
      return this.#answer(response, header, encodeAnswer({ type: 'unknown_operation' }));
    }
    const answer = await this.#answers.once(fromInstance, call.call_id, call.attempt > 1, () =>
      this.#done(call, fromAdmin),
    );
    return this.#answer(response, header, answer);
  }

  async #done(call: PeerCall, from: string): Promise<WrittenAnswer> {
    const { handler, log } = this.#ports;
    const { operation, request_id } = call;
    let answer: PeerAnswer;
    try {
      answer = operation === PING ? PONG : await handler(call, from);
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

  #refused(request: IncomingMessage): false {
    this.counters.refused += 1;
    this.#ports.proofs.refused(request);
    return false;
  }

  /** Only who proves to be an admin is told who this is. */
  #misdirected(response: ServerResponse): true {
    response.setHeader(REACHED_HEADER, this.#ports.adminId);
    return end(response, 421);
  }

  #answer(response: ServerResponse, header: ReceivedHeader, answer: Buffer): true {
    const body = this.#ports.keys.sealAnswer(header, answer);
    if (this.#isClosing) response.setHeader('connection', 'close');
    response.writeHead(200, { 'content-type': SEALED_TYPE, 'content-length': body.byteLength });
    response.end(body);
    return true;
  }
}

const PONG: PeerAnswer = { type: 'answered', result: { ok: true, value: null } };
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

function end(response: ServerResponse, status: number): true {
  response.writeHead(status, { 'content-length': 0 });
  response.end();
  return true;
}

/** As long as the request says, which Node holds it to. Null: it broke off. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of request) pieces.push(piece as Buffer);
  } catch {
    return null;
  }
  return Buffer.concat(pieces);
}
