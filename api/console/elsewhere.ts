/**
 * Files of the console that another admin has: while admins are upgraded one after the other, a balancer leads a page
 * of one build to an admin of another. They are asked of those who are alive, and kept for a while. Whoever asks shows
 * no key, so that only names as the build makes them are looked for, so often, and in vain once in some seconds.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { z } from 'zod';
import type { Clock } from '../../actors/ports.ts';
import { ok, refuse } from '../../actors/refusal.ts';
import { fullBucket, take, type TokenBucket } from '../../transport/net/token-bucket.ts';
import { createAddressLimiter, type WindowLimiter } from '../../transport/net/window-limiter.ts';
import { callToAdmin } from '../forwarding/call-to-admin.ts';
import type { PeerAnswer, PeerCallHandler, PeerCalls, PeerOutcome } from '../forwarding/ports.ts';
import { assetOf, type Asset, type Assets, type AssetsElsewhere } from './assets.ts';
import {
  ASSET_ADMINS_ASKED_MAX,
  ASSET_BYTES_MAX,
  ASSET_KEPT_MS,
  ASSET_MISSED_MS,
  ASSET_MS_MAX,
  ASSETS_ASKED,
  ASSETS_ASKED_BY_ONE,
  ASSETS_KEPT_BYTES_MAX,
  ASSETS_KEPT_MAX,
} from './limits.ts';

/** By this name admins ask each other for a file. */
export const ASSET_CALL = 'console_asset';

/** A name that holds a hash, as esbuild makes it. */
const Name = z.string().regex(/^[\w-]{1,64}-[A-Z2-7]{8}\.(?:js|css)$/u);

const Body = z.base64().max(Math.ceil(ASSET_BYTES_MAX / 3) * 4);

/** A file of an admin of another version may have more. */
const File = z.object({ br: Body, gzip: Body });

/** How other admins are asked. */
export interface AssetPeers {
  /** The others that are alive. */
  readonly peers: { states(): readonly { readonly id: string; readonly name: string }[] };
  readonly calls: PeerCalls;
}

/** What one of a name is until when: null where no admin has it. */
interface Kept {
  readonly asset: Asset | null;
  readonly bytes: number;
  readonly untilMs: number;
}

/** Answers calls for files of this admin alone, and hands on all others. Null: it serves no console. */
export function withConsoleAssets(
  assets: (() => Promise<Assets | null>) | null,
  next: PeerCallHandler,
): PeerCallHandler {
  return async (call, from) => (call.operation === ASSET_CALL ? answered(assets, call.input) : next(call, from));
}

async function answered(assets: (() => Promise<Assets | null>) | null, input: unknown): Promise<PeerAnswer> {
  const name = Name.safeParse(input);
  const asset = name.success ? (await assets?.())?.get(`assets/${name.data}`) : undefined;
  if (asset === undefined) return { type: 'answered', result: NO_FILE };
  const bodyOf = (wanted: 'br' | 'gzip') =>
    asset.bodies.find(({ encoding }) => encoding === wanted)?.body.toString('base64');
  return { type: 'answered', result: ok({ br: bodyOf('br'), gzip: bodyOf('gzip') }) };
}

/** Files of others, asked by a call. */
export class PeerAssets implements AssetsElsewhere {
  readonly #others: AssetPeers;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #byAddress: WindowLimiter;
  #bucket: TokenBucket = fullBucket(ASSETS_ASKED);
  /** By name, the oldest first. */
  readonly #kept = new Map<string, Kept>();
  #keptBytes = 0;
  /** By name: whoever wants one meanwhile shares the answer. No more than the bucket lets begin. */
  readonly #underWay = new Map<string, Promise<Asset | null>>();

  /** `clock`: a monotonic one, as what is kept ends by it. */
  constructor(others: AssetPeers, clock: Pick<Clock, 'nowMs'>) {
    this.#others = others;
    this.#clock = clock;
    this.#byAddress = createAddressLimiter(ASSETS_ASKED_BY_ONE, clock);
  }

  async find(name: string, address: string): Promise<Asset | null> {
    if (!Name.safeParse(name).success || this.#others.peers.states().length === 0) return null;
    const kept = this.#kept.get(name);
    if (kept !== undefined && this.#clock.nowMs() < kept.untilMs) return kept.asset;
    const underWay = this.#underWay.get(name);
    if (underWay !== undefined) return underWay;
    if (!this.#mayAsk(address)) return null;
    const asked = this.#ask(name).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, asked);
    return asked;
  }

  #mayAsk(address: string): boolean {
    if (this.#byAddress.add(address) > 0) return false;
    const { isTaken, bucket } = take(this.#bucket, ASSETS_ASKED, 1, this.#clock.nowMs());
    this.#bucket = bucket;
    return isTaken;
  }

  /** Of those who have it, the first that answers. */
  async #ask(name: string): Promise<Asset | null> {
    const { peers, calls } = this.#others;
    const ending = new AbortController();
    const tries = peers
      .states()
      .slice(0, ASSET_ADMINS_ASKED_MAX)
      .map(async (peer) => {
        const call = callToAdmin({
          operation: ASSET_CALL,
          input: name,
          principal: 'anonymous',
          surface: 'console',
          name: peer.name,
          msMax: ASSET_MS_MAX,
        });
        return assetIn(name, await calls.call(peer.id, call, ending.signal));
      });
    const asset = await Promise.any(tries).catch(nobodyHasIt);
    ending.abort();
    this.#keep(name, asset);
    return asset;
  }

  #keep(name: string, asset: Asset | null): void {
    this.#forget(name);
    const bytes = asset?.bodies.reduce((sum, { body }) => sum + body.length, 0) ?? 0;
    const untilMs = this.#clock.nowMs() + (asset === null ? ASSET_MISSED_MS : ASSET_KEPT_MS);
    this.#kept.set(name, { asset, bytes, untilMs });
    this.#keptBytes += bytes;
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= ASSETS_KEPT_MAX && this.#keptBytes <= ASSETS_KEPT_BYTES_MAX) return;
      this.#forget(oldest);
    }
  }

  #forget(name: string): void {
    this.#keptBytes -= this.#kept.get(name)?.bytes ?? 0;
    this.#kept.delete(name);
  }
}

/** Whatever kept each of them from sending it, its reader is told the same: a 404, and asks again. */
function nobodyHasIt(error: unknown): null {
  if (error instanceof AggregateError) return null;
  throw error;
}

/** Rejects where it is none. */
async function assetIn(name: string, outcome: PeerOutcome): Promise<Asset> {
  if (outcome.type !== 'answered' || !outcome.result.ok) throw new Error('that admin does not have it');
  const file = File.parse(outcome.result.value);
  const [br, gzip] = [file.br, file.gzip].map((body) => Buffer.from(body, 'base64')) as [Buffer, Buffer];
  const identity = await promisify(gunzip)(gzip, { maxOutputLength: ASSET_BYTES_MAX });
  return assetOf(name, { br, gzip, identity });
}

const NO_FILE = refuse('not_found', 'That admin has no such file of the console.');
