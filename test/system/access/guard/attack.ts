/** Tries URLs as somebody would who gives one for a webhook: is it taken, and where does a request to it lead? */
import { isIPv6 } from 'node:net';
import { Agent, buildConnector, request } from 'undici';
import { AddressRefused, NameUnresolved, type Guard } from '../../../../transport/net/outbound-guard/guard.ts';
import type { Resolve } from '../../../../transport/net/outbound-guard/resolution.ts';
import type { HostileUrl } from './corpus.ts';

/** What the guard decides about: a URL when it is given, and a dial. */
export type Guarding = Pick<Guard, 'check' | 'connector'>;

/** What came of it: all was refused if both lists are empty. */
export interface Attack {
  /** URLs that the check took. */
  readonly taken: string[];
  /** URLs whose dial was not refused by the guard: answered, or failed in another way, with that. */
  readonly dialled: string[];
}

const AT_ONCE = 16;

/**
 * Longest wait for a connection or an answer, in ms. Long, as a refusal that comes late on a busy machine is one all
 * the same.
 */
const WAIT_MS = 10_000;

/** Checks each URL, and dials it even so where its host is what is bad. */
export async function attack(guarding: Guarding, urls: readonly HostileUrl[]): Promise<Attack> {
  const agent = new Agent({
    connect: guarding.connector({ connectMsMax: WAIT_MS }),
    headersTimeout: WAIT_MS,
    bodyTimeout: WAIT_MS,
  });
  const found: Attack = { taken: [], dialled: [] };
  const waiting = urls.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const { url, isDialled } of waiting) {
        if ((await guarding.check(url)).ok) found.taken.push(url);
        const outcome = isDialled && URL.canParse(url) ? await outcomeOf(url, agent) : 'refused';
        if (outcome !== 'refused') found.dialled.push(`${url}: ${outcome}`);
      }
    }),
  );
  await agent.destroy();
  return found;
}

async function outcomeOf(url: string, agent: Agent): Promise<string> {
  try {
    const answer = await request(url, { dispatcher: agent });
    await answer.body.dump();
    return `${answer.statusCode}`;
  } catch (error) {
    return error instanceof AddressRefused || error instanceof NameUnresolved ? 'refused' : String(error);
  }
}

/** No guard at all, to see that what watches for packets sees them. Names are asked of `resolve`. */
export function unguarded(resolve: Resolve): Guarding {
  return {
    check: (url) => Promise.resolve({ ok: true, url: new URL(url) }),
    connector: () =>
      buildConnector({
        timeout: WAIT_MS,
        lookup: (name, _options, callback) => {
          void answer();

          async function answer(): Promise<void> {
            const addresses = await resolve(name, AbortSignal.timeout(WAIT_MS)).catch(() => []);
            if (addresses.length === 0) callback(new Error('no address'), '', 0);
            else
              callback(
                null,
                addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 })),
              );
          }
        },
      }),
  };
}
