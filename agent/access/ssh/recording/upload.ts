/**
 * Hands finished recordings to an admin, one after the other, behind everything else. One leaves this machine's disk
 * only when an admin has stored it.
 */
import type { Agent, IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import {
  encodeRecordingDescription,
  RECORDING_HEADER,
  RECORDING_TYPE,
} from '../../../../transport/protocol/recording.ts';
import { RECORDING_PATH } from '../../../../transport/protocol/version.ts';
import { reconnectDelayMs } from '../../../session/backoff.ts';
import type { SessionClock } from '../../../session/ports.ts';
import type { Log } from '../../../../transport/net/log.ts';
import { refuseUpgrade } from '../../../../transport/net/streams/unasked-upgrade.ts';
import { DIRECT, type Outbound } from '../../../outbound/outbound.ts';
import { networkProblem } from '../../../problem.ts';
import type { FinishedRecording, RecordingSpool } from './spool.ts';

/** One upload takes at most so long, in ms. The admin itself gives a request 30 s. */
export const UPLOAD_MS_MAX = 60_000;

/**
 * Answers that would be the same every time: the recording is not kept any longer. Of others a later try may be better.
 */
const LASTING: ReadonlySet<number> = new Set([400, 409, 413, 415, 422, 431]);

/** Codes of a file that is gone, or that its disk has no more. For other reasons it is tried again. */
const LOST: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'EIO']);

/** What uploads need. */
export interface UploadOptions {
  readonly spool: Pick<RecordingSpool, 'list' | 'read' | 'remove'>;
  /** The API token of this node. */
  readonly token: string;
  /** How it reaches admins; directly unless said otherwise. */
  readonly outbound?: Outbound;
  readonly clock: Pick<SessionClock, 'after'>;
  /** Uniform in [0, 1), for the jitter. */
  readonly random: () => number;
  readonly log: Log;
}

/** The uploads of this agent. No method throws. Nothing is uploaded before the first `start`. */
export class RecordingUploads {
  readonly #options: UploadOptions;
  readonly #closing = new AbortController();
  #url: string | null = null;
  /** Tries since the last that succeeded. */
  #round = 0;
  #running: Promise<void> | null = null;
  #stopWaiting: (() => void) | null = null;

  constructor(options: UploadOptions) {
    this.#options = options;
  }

  /** A session with the admin at this URL is live: what waits goes there, now. */
  start(adminUrl: string): void {
    this.#url = adminUrl;
    this.#round = 0;
    this.#stopWaiting?.();
    this.wake();
  }

  /** A recording was finished. */
  wake(): void {
    if (this.#running !== null || this.#stopWaiting !== null || this.#url === null || this.#closing.signal.aborted)
      return;
    this.#running = this.#uploadAll(this.#url).finally(() => {
      this.#running = null;
    });
  }

  /** Cuts what is under way, which stays for the next start. Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#stopWaiting?.();
    await this.#running;
  }

  /** Until none is left, or one has to wait; then another one is tried first, so that none stands in the way of all. */
  async #uploadAll(first: string): Promise<void> {
    const { spool, random, log } = this.#options;
    for (;;) {
      const waiting = spool.list();
      const next = waiting[this.#round % Math.max(1, waiting.length)];
      if (next === undefined) return;
      const failure = await this.#upload(this.#url ?? first, next);
      if (this.#closing.signal.aborted) return;
      if (failure !== null && !failure.isLasting) {
        if (this.#round === 0)
          log.warn(
            { recording: next.id, problem: failure.problem },
            'A recording of an SSH session was not uploaded; it is tried again',
          );
        return this.#wait(reconnectDelayMs(this.#round, random()));
      }
      if (failure !== null)
        log.warn({ recording: next.id, problem: failure.problem }, 'A recording of an SSH session was given up');
      spool.remove(next.id);
      this.#round = 0;
    }
  }

  #wait(ms: number): void {
    this.#round += 1;
    const cancel = this.#options.clock.after(ms, () => {
      this.#stopWaiting = null;
      this.wake();
    });
    this.#stopWaiting = () => {
      this.#stopWaiting = null;
      cancel();
    };
  }

  /** Null: the admin has it. */
  async #upload(adminUrl: string, recording: FinishedRecording): Promise<Failure | null> {
    const { spool, token, outbound = DIRECT } = this.#options;
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(UPLOAD_MS_MAX)]);
    const body = spool.read(recording.id).on('error', () => {}); // the pipeline rejects with it
    try {
      const url = uploadUrl(adminUrl, recording.id);
      const status = await put(url, recording, body, { token, signal, agent: outbound.agentFor(url) });
      return status === 200 || status === 201
        ? null
        : { problem: `the admin answered ${status}`, isLasting: LASTING.has(status) };
    } catch (error) {
      body.destroy();
      if (error instanceof FileUnread) return error.failure;
      return {
        problem: signal.aborted ? `no answer within ${UPLOAD_MS_MAX / 1_000} s` : networkProblem(error),
        isLasting: false,
      };
    }
  }
}

/** Why it is still here. */
interface Failure {
  readonly problem: string;
  readonly isLasting: boolean;
}

/** What failed is the file, and not the connection. */
class FileUnread extends Error {
  get failure(): Failure {
    const { code = '' } = this.cause as NodeJS.ErrnoException;
    return LOST.has(code)
      ? { problem: 'it cannot be read any more', isLasting: true }
      : { problem: `its file cannot be read now (${code})`, isLasting: false };
  }
}

/**
 * The status of the answer, which may come before all of the body went. By `node:http`: see
 * agent/outbound/http-exchange.ts. Throws FileUnread where it is the body that fails.
 */
async function put(
  url: string,
  recording: FinishedRecording,
  body: NodeJS.ReadableStream,
  { token, signal, agent }: { readonly token: string; readonly signal: AbortSignal; readonly agent: Agent | false },
): Promise<number> {
  const { request: send } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  const { id: _id, bytes, ...description } = recording;
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': RECORDING_TYPE,
    'content-length': bytes,
    [RECORDING_HEADER]: encodeRecordingDescription(description),
  };
  const request = refuseUpgrade(send(url, { method: 'PUT', headers, signal, agent }));
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject);
  });
  let unread: Error | null = null;
  body.once('error', (error: Error) => {
    if (!request.destroyed) unread = error; // else it is the request's, with which the pipeline ends both
  });
  const sent = pipeline(body, request).catch((error: unknown) => error);
  const answer = await Promise.race([
    answered,
    sent.then((error) => {
      if (error !== undefined) throw error;
      return answered;
    }),
  ]).catch((error: unknown) => {
    throw unread === null ? error : new FileUnread('the recording cannot be read', { cause: unread });
  });
  answer.resume().on('error', () => {});
  request.destroy();
  return answer.statusCode ?? 0;
}

function uploadUrl(adminUrl: string, id: string): string {
  const url = new URL(adminUrl);
  url.pathname = url.pathname.replace(/\/+$/u, '') + RECORDING_PATH + id;
  return url.href;
}
