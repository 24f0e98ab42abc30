/**
 * Where the relay map comes from: the first of several URLs that gives a usable one, or the last good one from the
 * disk. Maps are never put together. Source: docs/relays.md.
 */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { Vet } from '../../net/outbound-guard/vetting.ts';
import { refuseUpgrade } from '../../net/streams/unasked-upgrade.ts';
import { MAP_BYTES_MAX, readRelayMap, type RelayMap } from './map.ts';

/** URLs that are tried. Source: transport/protocol/agent-settings.ts, DERP_MAP_URLS_MAX. */
const URLS_MAX = 32;

/** Timeout of one URL, in ms, its name and its whole answer included. */
const FETCH_MS_MAX = 10_000;

/** What became of one URL: a map with its text, or half a sentence that says why there is none. */
export type FetchedMap =
  | { readonly ok: true; readonly map: RelayMap; readonly text: string }
  | { readonly ok: false; readonly problem: string };

/** Whom maps may be fetched from. */
export interface MapReach {
  /** Whether a host may be asked (R2). */
  readonly vet: Vet;
  /** URLs of hosts that are asked for other things anyway, and may be anywhere: those of the admins. */
  readonly trusted: () => readonly string[];
}

/** What is known of the relays now. */
export interface KnownMap {
  /** The same object for as long as the same is published. */
  readonly map: RelayMap;
  /** Null: it is the one from the disk, as no URL gave one since the start. */
  readonly url: string | null;
  /** Why URLs before it gave none; all of them when it is from the disk. */
  readonly problems: readonly string[];
}

/**
 * One URL, bounded in time and bytes. No redirect is followed, and what was checked is what is dialled. Never rejects.
 */
export async function fetchMap(text: string, { vet, trusted }: MapReach, signal?: AbortSignal): Promise<FetchedMap> {
  const limit = AbortSignal.any([AbortSignal.timeout(FETCH_MS_MAX), ...(signal === undefined ? [] : [signal])]);
  try {
    const url = new URL(text);
    if (!['http:', 'https:'].includes(url.protocol)) return failed('it is no URL of http or https');
    const isTrusted = trusted().some((one) => URL.canParse(one) && new URL(one).origin === url.origin);
    const vetted = isTrusted ? null : await vet(url.hostname, limit);
    if (vetted !== null && !vetted.ok)
      return failed(
        vetted.kind === 'refused'
          ? 'its address must not be reached'
          : limit.aborted
            ? 'no answer in time'
            : 'its name cannot be resolved',
      );
    const answer = await answerOf(url, vetted === null ? null : vetted.addresses[0], limit);
    if (answer.statusCode !== 200) {
      answer.destroy();
      return failed(`it answered with status ${answer.statusCode ?? 0}`);
    }
    const body = await bodyOf(answer);
    if (body === null) return failed('it is too large');
    const read = readRelayMap(body);
    return read.ok ? { ok: true, map: read.map, text: body } : failed(read.problem);
  } catch (error) {
    return failed(limit.aborted ? 'no answer in time' : ((error as NodeJS.ErrnoException).code ?? 'it cannot be read'));
  }
}

/** Where the map is had from. */
export class MapSource {
  readonly #reach: MapReach;
  readonly #cacheFile: string | null;
  #known: KnownMap | null = null;
  /** What the known map was read from. */
  #text: string | null = null;
  /** What is in the file. */
  #stored: string | null = null;
  #problems: readonly string[] = [];
  #turn: Promise<KnownMap | null> = Promise.resolve(null);

  /** `cacheFile` holds the last good map, readable by its owner only; null: none is kept. */
  constructor(reach: MapReach, cacheFile: string | null) {
    this.#reach = reach;
    this.#cacheFile = cacheFile;
  }

  /**
   * Fetches anew from these, in order; of none, nothing is remembered any more. Null: none of them gave one, and none
   * is remembered. Calls come one after another. Never rejects.
   */
  refresh(urls: readonly string[], signal?: AbortSignal): Promise<KnownMap | null> {
    this.#turn = this.#turn.then(() => this.#refreshed(urls, signal));
    return this.#turn;
  }

  /** The last good one, before any URL is asked; null: none is on the disk. Never rejects. */
  remembered(): Promise<KnownMap | null> {
    this.#turn = this.#turn.then(async () => (this.#known ??= await this.#fromDisk()));
    return this.#turn;
  }

  /** Why the last refresh got none from a URL; empty: it did, or there was none to ask. */
  problems(): readonly string[] {
    return this.#problems;
  }

  async #refreshed(urls: readonly string[], signal?: AbortSignal): Promise<KnownMap | null> {
    const failures: string[] = [];
    for (const url of urls.slice(0, URLS_MAX)) {
      const fetched = await fetchMap(url, this.#reach, signal);
      if (fetched.ok) return this.#use({ map: fetched.map, url, problems: failures }, fetched.text);
      failures.push(`${originOf(url)}: ${fetched.problem}`);
    }
    this.#problems = failures;
    if (urls.length === 0) return this.#forget();
    const last = this.#known ?? (await this.#fromDisk());
    this.#known = last === null ? null : { ...last, problems: failures };
    return this.#known;
  }

  async #use(fetched: KnownMap, text: string): Promise<KnownMap> {
    const known = this.#known !== null && this.#text === text ? { ...fetched, map: this.#known.map } : fetched;
    this.#problems = [];
    this.#known = known;
    this.#text = text;
    await this.#store(text);
    return known;
  }

  /** Relays are not wanted any more, also not those from the disk at the next start. */
  async #forget(): Promise<null> {
    // A file that stays: they are wanted until an admin answers.
    if (this.#cacheFile !== null) await rm(this.#cacheFile, { force: true }).catch(() => {});
    this.#known = null;
    this.#text = null;
    this.#stored = null;
    return null;
  }

  async #fromDisk(): Promise<KnownMap | null> {
    if (this.#cacheFile === null) return null;
    const kept = await readFile(this.#cacheFile, 'utf8').catch(() => null);
    const read = kept === null ? null : readRelayMap(kept);
    if (read?.ok !== true) return null;
    this.#text = kept;
    this.#stored = kept;
    return { map: read.map, url: null, problems: [] };
  }

  /** Whole or not at all. A disk that is full costs only the memory of the map. */
  async #store(text: string): Promise<void> {
    if (this.#cacheFile === null || text === this.#stored) return;
    try {
      await writeFile(`${this.#cacheFile}.new`, text, { mode: 0o600 });
      await rename(`${this.#cacheFile}.new`, this.#cacheFile);
      this.#stored = text;
    } catch {
      // it is fetched again at the next start
    }
  }
}

async function answerOf(
  url: URL,
  address: { readonly address: string; readonly family: 4 | 6 } | null,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { request: send } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  return await new Promise<IncomingMessage>((resolve, reject) => {
    const asked = send(
      url,
      {
        signal,
        agent: false,
        ...(address !== null && {
          lookup: (_host, options, done) =>
            options.all === true ? done(null, [address]) : done(null, address.address, address.family),
        }),
      },
      resolve,
    );
    refuseUpgrade(asked).on('error', reject).end();
  });
}

/** Null: it is larger than any map. */
async function bodyOf(answer: IncomingMessage): Promise<string | null> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer) {
    bytes += (piece as Buffer).length;
    if (bytes > MAP_BYTES_MAX) {
      answer.destroy();
      return null;
    }
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** What of a URL is told: a path or a query may hold a secret. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'a URL that is none';
}

function failed(problem: string): FetchedMap {
  return { ok: false, problem };
}

/** A map that is followed. */
export interface FollowedMap {
  /** Looks for it at these URLs, in order; none: there are no relays. Returns at once. */
  refresh(urls: readonly string[]): void;
}

/**
 * The relay map in force: begins with the one that is on the disk. `mapped` is told of each that is another than the
 * last; null: there are no relays.
 */
export function followMap(source: MapSource, mapped: (map: RelayMap | null) => void): FollowedMap {
  let map: RelayMap | null = null;
  const settle = (known: KnownMap | null): void => {
    const next = known?.map ?? null;
    if (next === map) return;
    map = next;
    mapped(map);
  };
  void source.remembered().then(settle);
  return {
    refresh: (urls) => void source.refresh(urls).then(settle),
  };
}
