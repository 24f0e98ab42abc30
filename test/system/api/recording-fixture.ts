/** An admin for recordings of SSH sessions, and nodes that bring them. */
import { randomUUID } from 'node:crypto';
import { request as send, type ClientRequest } from 'node:http';
import type { TestFn } from 'ava';
import { RECORDING_PATH } from '../../../transport/protocol/version.ts';
import { upload, type Upload } from '../../support/ssh/casts.ts';
import type { Scope } from '../../support/scope.ts';
import { shared, startFleet, type Reply } from './fleet.ts';

/** The longest recording that the settings allow, in bytes. */
export const BYTES_MAX = 65_536;

/** One admin for the tests of a file. The returned function gives a test two nodes in a cluster of their own. */
export function recordingFixtures(test: TestFn, bytesMax = BYTES_MAX) {
  const fleet = shared(test, (scope) => startFleet(scope, { SSH_RECORDING_MAX_BYTES: String(bytesMax) }));
  return async () => {
    const { request, admin, node } = fleet();
    const cluster = `c${randomUUID().slice(0, 8)}`;
    await request('POST', '/clusters', { name: cluster });
    const [one, two] = [await node(cluster), await node(cluster)];
    return {
      ...fleet(),
      cluster,
      one,
      two,
      upload: (told?: Upload, token: string | null = one.api_token) => upload(admin.url, token, told),
      /** Recordings of these nodes. */
      list: (query = ''): Promise<Reply> => request('GET', `/ssh_recordings?cluster_name=${cluster}&${query}`),
    };
  };
}

/**
 * Begins an upload of so many bytes that goes no further, again while there is no place for it: the honest one may have
 * had the last. `answered` is the status of what comes instead.
 */
export function drip(
  scope: Scope,
  url: string,
  token: string,
  bytes = 60_000,
): { isCut(): boolean; end(): void; readonly answered: Promise<number | undefined> } {
  let sent: ClientRequest;
  const { promise: answered, resolve } = Promise.withResolvers<number | undefined>();
  const begin = (): void => {
    sent = send(`${url}${RECORDING_PATH}${randomUUID()}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/gzip', 'content-length': bytes },
    });
    sent
      .on('error', () => {})
      .on('response', (response) => {
        response.resume();
        if (response.statusCode === 503) begin();
        else resolve(response.statusCode);
      })
      .write('x');
  };
  begin();
  const end = (): void => void sent.destroy();
  scope.teardown(end);
  return { isCut: () => sent.destroyed || sent.socket?.destroyed === true, end, answered };
}
