/** `GET /install.sh`: the installation of an agent in one line, without a key. */
import type { FastifyInstance } from 'fastify';
import { readPieces } from './pieces.ts';
import { installScript, plainUrls, type InstallRelease } from './script.ts';

/** Where it is. */
export const INSTALL_PATH = '/install.sh';

/** Says of the answer whether there is anything to install: `edge node add` asks for it. Values: `yes`, `no`. */
export const RELEASE_HEADER = 'edge-release';

/** The URLs by which machines reach the admins, in order, with spaces between them. */
export const ADMIN_URLS_HEADER = 'edge-admin-urls';

/**
 * What is published is asked of the database once in this time, in ms, for however many machines: nobody needs a key
 * here.
 */
const RELEASE_MS = 2_000;

/** Answers what is published now, by channel and architecture; null: nothing is. Rejects when the database is away. */
export type PublishedRelease = () => Promise<InstallRelease | null>;

/** What the script is made of. */
export interface Installing {
  readonly adminUrls: () => readonly string[];
  readonly published: PublishedRelease;
  readonly nowMs: () => number;
}

/** Offers the script. */
export function registerInstallation(app: FastifyInstance, { adminUrls, published, nowMs }: Installing): void {
  const release = remembered(published, nowMs);
  let pieces: ReturnType<typeof readPieces> | undefined;
  app.get(INSTALL_PATH, async (_request, reply) => {
    pieces ??= readPieces();
    const found = await release();
    return reply
      .header('content-type', 'text/x-shellscript; charset=utf-8')
      .header('cache-control', 'no-store')
      .header(RELEASE_HEADER, found === null || found.files.length === 0 ? 'no' : 'yes')
      .header(ADMIN_URLS_HEADER, plainUrls(adminUrls()).join(' '))
      .send(installScript(pieces, { adminUrls: adminUrls(), release: found }));
  });
}

/** The same answer for RELEASE_MS. A failure is not kept. */
function remembered(published: PublishedRelease, nowMs: () => number): PublishedRelease {
  let last: { readonly atMs: number; readonly answer: Promise<InstallRelease | null> } | null = null;
  return () => {
    if (last !== null && nowMs() - last.atMs < RELEASE_MS) return last.answer;
    const answer = published();
    const asked = { atMs: nowMs(), answer };
    last = asked;
    answer.catch(() => {
      if (last === asked) last = null;
    });
    return answer;
  };
}
