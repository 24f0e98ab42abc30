/** Admission by asking a URL, as derper does with --verify-client-url: for relays that stand alone. */
import { z } from 'zod';
import { rememberingAdmission, type RelayAdmission } from './admission.ts';

/** Timeout of one answer, in ms, and its largest size, in bytes. */
const ANSWER_MS_MAX = 5_000;
const ANSWER_BYTES_MAX = 65_536;

/** Clusters in one answer at most: those of a gateway. */
const CLUSTERS_MAX = 1_000;

/**
 * What is answered. Source: tailcfg.DERPAdmitClientResponse; `Clusters` is ours: opaque words, of which two keys must
 * have one in common. Without it all may reach all.
 */
const Answer = z.object({
  Allow: z.boolean().optional(),
  Clusters: z.array(z.string().max(64)).max(CLUSTERS_MAX).optional(),
});

/**
 * Asks the URL with POST for each key. Whatever is not a clear answer is none: who is connected stays, and nobody new
 * gets in.
 */
export function createUrlAdmission(url: string): RelayAdmission {
  return rememberingAdmission(async (publicKey, address) => {
    const answer = await fetch(url, {
      method: 'POST',
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        NodePublic: `nodekey:${Buffer.from(publicKey, 'base64').toString('hex')}`,
        Source: address,
      }),
    });
    if (answer.status !== 200) {
      await answer.body?.cancel();
      throw new Error(`the admission URL answered with status ${answer.status}`);
    }
    const read = Answer.safeParse(JSON.parse(await bounded(answer)));
    if (!read.success) throw new Error('the admission URL gave no answer that is known');
    if (read.data.Allow !== true) return null;
    return { clusters: read.data.Clusters === undefined ? null : new Set(read.data.Clusters) };
  });
}

async function bounded(answer: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of answer.body ?? []) {
    bytes += (piece as Uint8Array).length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error('the admission URL answers too much');
    pieces.push(piece as Uint8Array);
  }
  return Buffer.concat(pieces).toString('utf8');
}
