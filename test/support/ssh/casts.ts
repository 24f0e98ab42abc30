/** Recordings as agents make and send them. */
import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import {
  encodeRecordingDescription,
  RECORDING_HEADER,
  RECORDING_TYPE,
  type RecordingDescription,
} from '../../../transport/protocol/recording.ts';
import { RECORDING_PATH } from '../../../transport/protocol/version.ts';

/** One event of an asciicast: seconds, kind, text. */
export type CastEvent = readonly [seconds: number, code: string, data: string];

/** An asciicast, version 2, of 80 by 24. */
export function castOf(events: readonly CastEvent[] = [[0.1, 'o', 'hello\r\n']], header: object = {}): string {
  return [{ version: 2, width: 80, height: 24, timestamp: 1_767_225_600, ...header }, ...events]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
}

/** What an agent would say of a recording. */
export function descriptionOf(told: Partial<RecordingDescription> = {}): RecordingDescription {
  return {
    ssh_username_id: '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d02',
    username: 'ada',
    started_at_ms: Date.UTC(2026, 0, 1),
    duration_ms: 1_500,
    width: 80,
    height: 24,
    command: null,
    truncated: false,
    ...told,
  };
}

/** What is sent; the rest is as it should be. */
export interface Upload {
  readonly id?: string;
  readonly description?: RecordingDescription | string;
  readonly cast?: string;
  readonly body?: Uint8Array;
  readonly type?: string;
}

/** Sends a recording and answers what came of it. A null token sends none. */
export async function upload(
  url: string,
  token: string | null,
  {
    id = randomUUID(),
    description = descriptionOf(),
    cast = castOf(),
    body = gzipSync(cast),
    type = RECORDING_TYPE,
  }: Upload = {},
) {
  const response = await fetch(`${url}${RECORDING_PATH}${id}`, {
    method: 'PUT',
    headers: {
      'content-type': type,
      [RECORDING_HEADER]: typeof description === 'string' ? description : encodeRecordingDescription(description),
      ...(token !== null && { authorization: `Bearer ${token}` }),
    },
    body: new Uint8Array(body),
  });
  const answer = (await response.json()) as {
    readonly data?: { readonly id: string };
    readonly error?: { readonly code: string; readonly details: Readonly<Record<string, readonly string[]>> | null };
  };
  return { status: response.status, id, headers: response.headers, ...answer };
}
