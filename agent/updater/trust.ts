/** What this machine may install: metadata by TUF, verified from the root keys that it got when it was installed. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { hash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Updater, type Fetcher, type TargetFile } from 'tuf-js';
import { DownloadHTTPError, ExpiredMetadataError } from 'tuf-js/dist/error.js';
import { TrustedMetadataStore } from 'tuf-js/dist/store.js';
import {
  RELEASE_DESCRIPTION_BYTES_MAX,
  RELEASE_METADATA_BYTES_MAX,
  RELEASES_METADATA_PATH,
  RELEASES_TARGETS_PATH,
} from '../../transport/protocol/releases.ts';
import { metadataProblem } from '../../transport/releases/repository/metadata.ts';
import { writeDurably } from '../durable-file.ts';
import { readBytes, StatusProblem, type MirrorOptions } from './mirror.ts';
import { isBusy, whileBusy, type Waiting } from './mirror-retry.ts';
import { reasonOf, UpdateProblem } from './problem.ts';
import { compareVersions, parseRelease, type Release } from './release.ts';

/** Largest files of metadata, in bytes. */
const METADATA_BYTES_MAX = {
  rootMaxLength: RELEASE_METADATA_BYTES_MAX,
  timestampMaxLength: 16_384, // of tuf-js: it names one file
  snapshotMaxLength: RELEASE_METADATA_BYTES_MAX,
  targetsMaxLength: RELEASE_METADATA_BYTES_MAX,
};

/** New roots that are followed at once. */
export const ROOTS_MAX = 64;

/** The metadata that is kept, in the order in which it is replaced: an older one below a newer one is fetched again. */
const ROLES = ['root', 'timestamp', 'snapshot', 'targets'] as const;

type SignedRoot = TrustedMetadataStore['root'];

/** A clock that is so much before the day of a release is wrong, in ms: releases are made in all time zones. */
const CLOCK_BEHIND_MS_MAX = 86_400_000;

/** What a mirror has is not what it had signed a moment ago: it may have been given something newer in between. */
export class ChangedProblem extends UpdateProblem {}

/** How metadata is asked for. */
export type TrustOptions = MirrorOptions & Waiting;

/** What was verified at one mirror. */
export interface Trusted {
  /** The mirror's URL. */
  readonly mirror: string;
  /** The hash and length that a file must have. Null: no such file is signed. */
  target(path: string): Promise<TargetFile | null>;
  /** The description under this path. Null: none is signed. */
  release(path: string): Promise<Release | null>;
}

/**
 * Verifies what one mirror has now, from what is trusted here, and keeps it, unless it is only looked at. Refuses what
 * is forged, expired, older than what was seen before, or does not belong together, with an UpdateProblem.
 */
export async function refreshTrust(
  trust: string,
  mirror: string,
  options: TrustOptions,
  nowMs: number,
  purpose: 'keep' | 'look' = 'keep',
): Promise<Trusted> {
  if (!existsSync(join(trust, 'root.json')))
    throw new UpdateProblem(`${trust} has no root.json: install again, or: edge-updater bootstrap --root FILE`);
  // Who only looks may do so while an update is under way, and so not where that works.
  const work = purpose === 'look' ? mkdtempSync(join(tmpdir(), 'edge-updater-')) : workOf(trust);
  for (const file of readdirSync(trust)) if (isRole(file)) copyFileSync(join(trust, file), join(work, file));
  const fetching = new Fetching(options);
  let isVerified = false;
  try {
    const updater = openClient(work, mirror, fetching);
    await updater.refresh();
    isVerified = true;
    return { mirror, ...reading(updater, mirror, options, nowMs) };
  } catch (error) {
    throw fetching.busy ?? trustProblem(mirror, error, fetching.seen, work, nowMs);
  } finally {
    if (purpose === 'keep') keep(work, trust, isVerified ? ROLES : ['root']); // each new root was signed by the one before
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Makes this the root that is trusted. Where one of its chain is trusted already, that stays: it may be newer. Throws
 * an UpdateProblem for what is no root, and for one of another chain, as its keys were not those that this machine
 * trusts.
 */
export function trustRoot(trust: string, text: string): 'trusted' | 'kept' {
  const path = join(trust, 'root.json');
  const given = rootOf('this', text);
  if (existsSync(path)) {
    if (!isOfOneChain(rootOf(path, stored(path)), given))
      throw new UpdateProblem(
        `${path} is another root, which neither signed this one nor is signed by it, and stays trusted: remove ${trust} to trust this one instead`,
      );
    return 'kept';
  }
  mkdirSync(trust, { recursive: true, mode: 0o700 });
  writeDurably(path, text);
  return 'trusted';
}

/** A root that its own keys signed. */
function rootOf(what: string, text: string): SignedRoot {
  try {
    refuseLarge('it', text);
    return new TrustedMetadataStore(Buffer.from(text)).root;
  } catch (error) {
    throw new UpdateProblem(`${what} is no signed root.json: ${reasonOf(error)}`, { cause: error });
  }
}

/** Whether they are the same, or the keys of the one signed the other. */
function isOfOneChain(one: SignedRoot, other: SignedRoot): boolean {
  return hasSigned(one, other) || hasSigned(other, one);
}

function hasSigned(before: SignedRoot, after: SignedRoot): boolean {
  try {
    before.verifyDelegate('root', after);
    return true;
  } catch {
    return false;
  }
}

/**
 * Why a machine with `current` may not have this release; null: it may. Only a signed `allow_downgrade` leads to an
 * older one.
 */
export function downgradeProblem(current: string | null, release: Release): string | null {
  if (current === null || release.allow_downgrade === true || compareVersions(release.version, current) >= 0)
    return null;
  return `${release.version} is older than ${current}, and nobody signed that machines go back to it`;
}

/** tuf-js writes in place, where a crash would leave a piece of a root: so it works on a copy. */
function workOf(trust: string): string {
  const work = `${trust}.new`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true, mode: 0o700 });
  return work;
}

function openClient(metadataDir: string, mirror: string, fetcher: Fetcher): Updater {
  return new Updater({
    metadataDir,
    metadataBaseUrl: `${mirror}${RELEASES_METADATA_PATH}`,
    config: { ...METADATA_BYTES_MAX, maxRootRotations: ROOTS_MAX, prefixTargetsWithHash: false },
    fetcher,
  });
}

function reading(
  updater: Updater,
  mirror: string,
  options: TrustOptions,
  nowMs: number,
): Pick<Trusted, 'target' | 'release'> {
  const target = async (path: string): Promise<TargetFile | null> => (await updater.getTargetInfo(path)) ?? null;
  return {
    target,
    async release(path) {
      const signed = await target(path);
      if (signed === null) return null;
      const url = `${mirror}${RELEASES_TARGETS_PATH}${path}`;
      const bytesMax = Math.min(signed.length, RELEASE_DESCRIPTION_BYTES_MAX);
      const bytes = await whileBusy(() => readBytes(url, bytesMax, options), options);
      if (bytes.length !== signed.length || hash('sha256', bytes) !== signed.hashes['sha256'])
        throw new ChangedProblem(`${url} is not what was signed`);
      const release = parseRelease(bytes.toString('utf8'), path);
      const releasedMs = Date.parse(release.released_at);
      if (nowMs < releasedMs - CLOCK_BEHIND_MS_MAX)
        throw new UpdateProblem(clockLine(nowMs, `the release ${release.version} was made at ${release.released_at}`));
      return release;
    },
  };
}

/** Says both times, as either may be wrong: TUF needs a clock, and a machine without one trusts for too long. */
function clockLine(nowMs: number, fact: string): string {
  return `this machine's clock says ${new Date(nowMs).toISOString()}, but ${fact}: set the clock, or have new metadata signed`;
}

function trustProblem(
  mirror: string,
  error: unknown,
  seen: ReadonlyMap<string, string>,
  work: string,
  nowMs: number,
): Error {
  if (!(error instanceof ExpiredMetadataError) && !reasonOf(error).includes('is expired'))
    return error instanceof UpdateProblem
      ? error
      : new UpdateProblem(`${mirror}: ${reasonOf(error)}`, { cause: error });
  const [, role = 'root'] = /(root|timestamp|snapshot|targets)(?:\.json)? is expired/u.exec(reasonOf(error)) ?? [];
  const expires = expiryIn(seen.get(role) ?? stored(join(work, `${role}.json`)));
  return new UpdateProblem(clockLine(nowMs, `the ${role}.json of ${mirror} expired at ${expires}`), { cause: error });
}

/** Throws an UpdateProblem for what tuf-js would read for minutes before it looks at a signature. */
function refuseLarge(what: string, text: string): void {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new UpdateProblem(`${what} is no JSON: ${reasonOf(error)}`, { cause: error });
  }
  const problem = metadataProblem(json);
  if (problem !== null) throw new UpdateProblem(`${what} ${problem}`);
}

function expiryIn(text: string): string {
  return /"expires"\s*:\s*"([\d:TZ.+-]{1,40})"/u.exec(text)?.[1] ?? 'a time that it does not say';
}

function stored(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function keep(work: string, trust: string, roles: readonly string[]): void {
  for (const role of roles) {
    const [from, to] = [stored(join(work, `${role}.json`)), stored(join(trust, `${role}.json`))];
    if (from !== '' && from !== to) writeDurably(join(trust, `${role}.json`), from);
  }
}

function isRole(file: string): boolean {
  return ROLES.some((role) => file === `${role}.json`);
}

/** What tuf-js fetches by: bounded, without files of its own, and it remembers what came, for messages. */
class Fetching implements Fetcher {
  readonly #options: TrustOptions;
  /** By role. */
  readonly seen = new Map<string, string>();
  /** Why nothing came, where the mirror is busy: tuf-js makes another error of it. */
  busy: StatusProblem | null = null;

  constructor(options: TrustOptions) {
    this.#options = options;
  }

  async downloadBytes(url: string, maxLength: number): Promise<Buffer> {
    try {
      const bytes = await whileBusy(() => readBytes(url, maxLength, this.#options), this.#options);
      const [, role = ''] = /(?:^|[/.])(root|timestamp|snapshot|targets)\.json$/u.exec(url) ?? [];
      const text = bytes.toString('utf8');
      refuseLarge(url, text);
      this.seen.set(role, text);
      return bytes;
    } catch (error) {
      if (isBusy(error)) this.busy = error;
      if (error instanceof StatusProblem) throw new DownloadHTTPError(error.message, error.status);
      throw error;
    }
  }

  /** Only files are downloaded so, which the updater does itself. */
  downloadFile(): Promise<never> {
    return Promise.reject(new Error('not used'));
  }
}
