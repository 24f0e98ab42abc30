/**
 * Brings a repository of releases to an admin: files that it does not have, in pieces, and the signed metadata last.
 */
import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { RELEASE_FILES_PATH, RELEASE_PIECE_BYTES_MAX } from '../../transport/protocol/releases.ts';
import type { Api, Outputs } from '../service/client.ts';
import type { Connection } from '../service/connection.ts';
import { EXIT, Problem } from '../problem.ts';
import { Patience } from '../service/patience.ts';
import { hashOf, type Repository } from './repository.ts';

/** Tries of one piece, and the wait before each further one, in ms: an admin that restarts is back within this time. */
const TRIES_MAX = 8;
const RETRY_MS = 1_000;

/** One piece is brought within this time, in ms: 4 MiB over a line of 1 Mbit/s. */
const PIECE_MS_MAX = 60_000;

/** Where it goes, and who hears how far it is. */
export interface Publishing {
  readonly api: Pick<Api, 'publish_release_metadata'>;
  readonly connection: Connection;
  /** Told of each file that is brought, and of how much of it is there. */
  readonly progress?: (path: string, received: number, bytes: number) => void;
  /** Default: RETRY_MS. */
  readonly retryMs?: number;
}

/** What was done. */
export interface Published {
  readonly releases: Outputs['publish_release_metadata'];
  /** Files that the admin lacked, and their bytes. */
  readonly files: number;
  readonly bytes: number;
}

/**
 * Publishes what is signed. Throws a Problem for a file that is not the one that was signed, before anything is sent.
 */
export async function publishRepository(repository: Repository, publishing: Publishing): Promise<Published> {
  const texts = repository.metadata();
  const targets = repository.signedTargets();
  for (const { path, sha256, bytes } of targets) {
    const found = await hashOf(repository.pathOf(path)).catch(() => null);
    if (found?.sha256 !== sha256 || found.bytes !== bytes)
      throw new Problem(
        `${repository.pathOf(path)} is not the file that was signed: edge release sign signs what is there`,
      );
  }
  const done = new Set<string>();
  let sent = { files: 0, bytes: 0 };
  for (const target of targets) {
    if (done.has(target.sha256)) continue;
    done.add(target.sha256);
    const bytes = await bring(repository.pathOf(target.path), target, publishing);
    if (bytes > 0) sent = { files: sent.files + 1, bytes: sent.bytes + bytes };
  }
  const { api, retryMs = RETRY_MS } = publishing;
  // the same metadata may be published twice: it is tried for as long as a piece
  const patience = new Patience({
    signal: AbortSignal.timeout(TRIES_MAX * retryMs),
    failing() {}, // the last failure is told
    againMs: retryMs,
  });
  const releases = await patience.ask(() => api.publish_release_metadata.mutate({ ...texts, roots: [...texts.roots] }));
  return { releases, ...sent };
}

interface FileToBring {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** Answers how many bytes were sent: 0 where the file is there. It goes on where an earlier try ended. */
async function bring(from: string, { path, sha256, bytes }: FileToBring, publishing: Publishing): Promise<number> {
  let there = await call(publishing, 'GET', sha256);
  if (there?.is_complete === true) return 0;
  if (there !== null && there.bytes !== bytes)
    throw new Problem(
      `${publishing.connection.url} has the beginning of ${path} as a file of ${there.bytes} bytes, and it has ${bytes}: publish again in a day, when that is forgotten`,
    );
  const file = await open(from);
  try {
    let sent = 0;
    let stuck = 0;
    do {
      const offset = there?.received ?? 0;
      const piece = Buffer.alloc(Math.min(RELEASE_PIECE_BYTES_MAX, bytes - offset));
      await file.read(piece, 0, piece.length, offset);
      there = await call(publishing, 'PUT', `${sha256}?offset=${offset}&bytes=${bytes}`, piece);
      sent += piece.length;
      if (there?.is_complete !== true && (there?.received ?? 0) <= offset) {
        stuck += 1;
        if (stuck >= TRIES_MAX)
          throw new Problem(
            `${publishing.connection.url} takes no more of ${path} than ${offset} of ${bytes} bytes: publish again when nobody else does`,
          );
        await delay(publishing.retryMs ?? RETRY_MS);
      }
      publishing.progress?.(path, there?.received ?? 0, bytes);
    } while (there?.is_complete !== true);
    return sent;
  } finally {
    await file.close();
  }
}

interface Brought {
  readonly bytes: number;
  readonly received: number;
  readonly is_complete: boolean;
}

/** Null: nothing of the file is there. A conflict says where the file goes on: somebody else brings it too. */
async function call(
  publishing: Publishing,
  method: 'GET' | 'PUT',
  named: string,
  body?: Buffer,
): Promise<Brought | null> {
  const { connection, retryMs = RETRY_MS } = publishing;
  const url = `${connection.url}${RELEASE_FILES_PATH}${named}`;
  for (let tries = 1; ; tries += 1) {
    const answer = await fetch(url, {
      method,
      headers: {
        ...(connection.key !== null && { authorization: `Bearer ${connection.key}` }),
        ...(body !== undefined && { 'content-type': 'application/octet-stream' }),
      },
      ...(body !== undefined && { body: new Uint8Array(body) }),
      signal: AbortSignal.timeout(PIECE_MS_MAX),
      redirect: 'error',
    }).catch((error: unknown) => error as Error);
    if (answer instanceof Response && answer.ok) return ((await answer.json()) as { readonly data: Brought }).data;
    if (answer instanceof Response && answer.status === 404 && method === 'GET') return null;
    if (answer instanceof Response && answer.status === 409 && method === 'PUT') {
      const there = await call(publishing, 'GET', named.split('?', 1)[0] ?? '');
      if (tries < TRIES_MAX && there !== null) return there;
    }
    const isPassing = !(answer instanceof Response) || answer.status >= 500 || answer.status === 429;
    if (!isPassing || tries >= TRIES_MAX) throw await problemIn(answer, connection);
    await delay(retryMs);
  }
}

async function problemIn(answer: Response | Error, { url, key }: Connection): Promise<Problem> {
  if (answer instanceof Error)
    return new Problem(`cannot reach ${url} (${answer.message}): edge release publish goes on where it was`);
  const body = (await answer.json().catch(() => null)) as {
    readonly error?: {
      readonly message?: string;
      readonly details?: Readonly<Record<string, readonly string[]>> | null;
    };
  } | null;
  if (answer.status === 401 || answer.status === 403)
    return new Problem(
      key === null
        ? `no key was given, and ${url} wants one: set EDGE_API_KEY, give --key, or run edge login`
        : `${url} does not accept this key: set EDGE_API_KEY, give --key, or run edge login`,
      EXIT.auth,
    );
  const details = Object.entries(body?.error?.details ?? {}).map(([field, said]) => `${field} ${said.join(', ')}`);
  return new Problem(
    `${url} refuses a file (${answer.status}): ${details.length > 0 ? details.join('; ') : (body?.error?.message ?? 'it gives no reason')}`,
  );
}
