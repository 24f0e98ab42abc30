/**
 * Hands finished recordings to an admin, one after the other, behind everything else. One leaves this machine's disk
 * only when an admin has stored it.
 */
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { encodeRecordingDescription, RECORDING_HEADER, RECORDING_TYPE } from '../../../transport/protocol/recording.ts';
import { RECORDING_PATH } from '../../../transport/protocol/version.ts';
import { reconnectDelayMs } from '../../session/backoff.ts';
import type { SessionClock } from '../../ports.ts';
import type { Log } from '../../../transport/net/log.ts';
import { networkProblem } from '../../problem.ts';
import type { FinishedRecording, RecordingSpool } from './spool.ts';

/** One upload takes at most so long, in ms. The admin itself gives a request 30 s. */
export const UPLOAD_MS_MAX = 60_000;

/**
 * Answers that would be the same every time: the recording is not kept any longer. Of others a later try may be better.
 */
const LASTING: ReadonlySet<number> = new Set([400, 409, 413, 415, 422, 431]);

/** What uploads need. */
export interface UploadOptions {
  readonly spool: Pick<RecordingSpool, 'list' | 'read' | 'remove'>;
  /** The API token of this node. */
  readonly token: string;
  readonly clock: Pick<SessionClock, 'after'>;
  /** Uniform in [0, 1), for the jitter. */
  readonly random: () => number;
  readonly log: Log;
}

/** The uploads of this agent. No method throws. */
export interface Uploads {
  /** A session with the admin at this URL is live: what waits goes there, now. */
  start(adminUrl: string): void;
  /** A recording was finished. */
  wake(): void;
  /** Cuts what is under way, which stays for the next start. Resolves when nothing runs any more. */
  close(): Promise<void>;
}

/** Nothing is uploaded before the first `start`. */
export function createUploads({ spool, token, clock, random, log }: UploadOptions): Uploads {
  const closing = new AbortController();
  let url: string | null = null;
  let round = 0;
  let running: Promise<void> | null = null;
  let stopWaiting: (() => void) | null = null;

  function go(): void {
    if (running !== null || stopWaiting !== null || url === null || closing.signal.aborted) return;
    running = uploadAll(url).finally(() => {
      running = null;
    });
  }

  /** Until none is left, or one has to wait; then another one is tried first, so that none stands in the way of all. */
  async function uploadAll(first: string): Promise<void> {
    for (;;) {
      const waiting = spool.list();
      const next = waiting[round % Math.max(1, waiting.length)];
      if (next === undefined) return;
      const outcome = await upload(url ?? first, next);
      if (closing.signal.aborted) return;
      if (typeof outcome === 'number' || outcome.isLasting) {
        if (typeof outcome !== 'number')
          log.warn({ recording: next.id, problem: outcome.problem }, 'A recording of an SSH session was given up');
        spool.remove(next.id);
        round = 0;
        continue;
      }
      if (round === 0)
        log.warn(
          {
            recording: next.id,
            problem: outcome.problem,
          },
          'A recording of an SSH session was not uploaded; it is tried again',
        );
      wait(reconnectDelayMs(round, random()));
      return;
    }
  }

  function wait(ms: number): void {
    round += 1;
    const cancel = clock.after(ms, () => {
      stopWaiting = null;
      go();
    });
    stopWaiting = () => {
      stopWaiting = null;
      cancel();
    };
  }

  async function upload(adminUrl: string, recording: FinishedRecording): Promise<number | Failure> {
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(UPLOAD_MS_MAX)]);
    let isReadable = true;
    const body = spool.read(recording.id).once('error', () => {
      isReadable = false;
    });
    try {
      const status = await put(uploadUrl(adminUrl, recording.id), token, recording, body, signal);
      return status === 200 || status === 201
        ? status
        : { problem: `the admin answered ${status}`, isLasting: LASTING.has(status) };
    } catch (error) {
      body.destroy();
      if (!isReadable) return { problem: 'it cannot be read any more', isLasting: true };
      return {
        problem: signal.aborted ? `no answer within ${UPLOAD_MS_MAX / 1_000} s` : networkProblem(error),
        isLasting: false,
      };
    }
  }

  return {
    start(adminUrl) {
      url = adminUrl;
      round = 0;
      stopWaiting?.();
      go();
    },
    wake: go,
    async close() {
      closing.abort();
      stopWaiting?.();
      await running;
    },
  };
}

/** Why it is still here. */
interface Failure {
  readonly problem: string;
  readonly isLasting: boolean;
}

/** The status of the answer, which may come before all of the body went. By `node:http`: see agent/session/post.ts. */
async function put(
  url: string,
  token: string,
  recording: FinishedRecording,
  body: NodeJS.ReadableStream,
  signal: AbortSignal,
): Promise<number> {
  const { request: send } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  const { id: _id, bytes, ...description } = recording;
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': RECORDING_TYPE,
    'content-length': bytes,
    [RECORDING_HEADER]: encodeRecordingDescription(description),
  };
  const request = send(url, { method: 'PUT', headers, signal, agent: false });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject);
  });
  const sent = pipeline(body, request).catch((error: unknown) => error);
  const answer = await Promise.race([
    answered,
    sent.then((error) => {
      if (error !== undefined) throw error;
      return answered;
    }),
  ]);
  answer.resume().on('error', () => {});
  request.destroy();
  return answer.statusCode ?? 0;
}

function uploadUrl(adminUrl: string, id: string): string {
  const url = new URL(adminUrl);
  url.pathname = url.pathname.replace(/\/+$/u, '') + RECORDING_PATH + id;
  return url.href;
}
