/**
 * In which region a member waits for packets: where a question is answered soonest, as long as it does not change for
 * little.
 */
import { request } from 'node:http';
import { refuseUpgrade } from '../../net/streams/unasked-upgrade.ts';
import { DERP_PORT, type RelayMap, type RelayNode, type RelayReach, type RelayRegion } from '../relay-map/map.ts';
import { openRelaySocket } from './socket.ts';

/** Path that is asked for. Source: derphttp, derper. */
const LATENCY_PATH = '/derp/latency-check';

/** Questions to one relay: the first also pays for what both sides make at first use. */
const QUESTIONS = 3;

/** Wait for one region, and for all of them, in ms. */
const REGION_MS_MAX = 5_000;
const ALL_MS_MAX = 15_000;

/** Regions that are asked at once. */
const ASKED_MAX = 8;

/**
 * A home is left for another when that is faster by so much: in ms, and as a part of the home's own. Source: netcheck,
 * which stays within two thirds.
 */
const FASTER_MS_MIN = 10;
const FASTER_PART = 2 / 3;

/** By region, in ms. Regions that did not answer are missing. */
export type Latencies = ReadonlyMap<number, number>;

/**
 * How long each region that may be a home takes to answer one question, without the making of the connection. Never
 * rejects.
 */
export async function measureRegions(
  { regions }: RelayMap,
  reach: RelayReach,
  signal?: AbortSignal,
): Promise<Latencies> {
  const limit = AbortSignal.any([AbortSignal.timeout(ALL_MS_MAX), ...(signal === undefined ? [] : [signal])]);
  const waiting = [...regions.values()].filter(({ isHome }) => isHome);
  const latencies = new Map<number, number>();
  const worker = async (): Promise<void> => {
    for (let region = waiting.shift(); region !== undefined && !limit.aborted; region = waiting.shift()) {
      const ms = await latencyOf(region, reach, limit);
      if (ms !== null) latencies.set(region.id, ms);
    }
  };
  await Promise.all(Array.from({ length: ASKED_MAX }, worker));
  return latencies;
}

/** The home: the present one, unless it is gone or another is clearly faster. Null: no region answered. */
export function chooseHome(present: number | null, latencies: Latencies, { regions }: RelayMap): number | null {
  const scored = [...latencies]
    .flatMap(([id, ms]) => {
      const region = regions.get(id);
      return region?.isHome === true ? [{ id, ms: ms * region.score }] : [];
    })
    .toSorted((one, other) => one.ms - other.ms || one.id - other.id);
  const [best] = scored;
  const own = scored.find(({ id }) => id === present);
  if (best === undefined || own === undefined) return best?.id ?? null;
  return own.ms - best.ms > FASTER_MS_MIN && best.ms < own.ms * FASTER_PART ? best.id : own.id;
}

/** Of the first of its relays that answers. */
async function latencyOf(region: RelayRegion, reach: RelayReach, signal: AbortSignal): Promise<number | null> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(REGION_MS_MAX)]);
  for (const node of region.nodes) {
    const ms = await latencyOfNode(node, reach, limit).catch(() => null);
    if (ms !== null || limit.aborted) return ms;
  }
  return null;
}

/** The fastest of a few answers over one connection; whatever they say, they came. */
async function latencyOfNode(node: RelayNode, reach: RelayReach, signal: AbortSignal): Promise<number> {
  const socket = await openRelaySocket(node, reach, signal);
  try {
    let fastestMs = Number.POSITIVE_INFINITY;
    for (let asked = 0; asked < QUESTIONS && !socket.destroyed; asked += 1) {
      const startedMs = performance.now();
      const isAnswered = await new Promise<boolean>((resolve, reject) => {
        const question = request({
          createConnection: () => socket,
          path: LATENCY_PATH,
          method: 'HEAD',
          signal,
          headers: {
            host: node.port === DERP_PORT ? node.hostName : `${node.hostName}:${node.port}`,
            connection: 'keep-alive',
          },
        });
        refuseUpgrade(question)
          .on('response', (answer) =>
            answer
              .resume()
              .on('end', () => resolve(true))
              .on('error', reject),
          )
          .on('error', (error) => {
            // the other side may close after one answer
            if (fastestMs === Number.POSITIVE_INFINITY) reject(error);
            else resolve(false);
          })
          .end();
      });
      if (isAnswered) fastestMs = Math.min(fastestMs, performance.now() - startedMs);
    }
    return fastestMs;
  } finally {
    socket.on('error', () => {}).destroy();
  }
}
