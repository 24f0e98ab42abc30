/** A short name for a text. Pure. */

/** Seeds of the two halves; any would do. */
const SEEDS = [0x9e37_79b9, 0x85eb_ca6b] as const;

/**
 * 106 bits of a text and its length: two that differ have the same with a chance of 1 in 10^31. It is no proof against
 * somebody who wants two texts to have the same: a machine that does could as well say what others say. `crypto.subtle`
 * is not there over plain HTTP, and answers later. Source: cyrb53, public domain.
 */
export function hashOf(text: string): string {
  return `${SEEDS.map((seed) => halfOf(text, seed)).join('')}${text.length.toString(36)}`;
}

function halfOf(text: string, seed: number): string {
  let high = 0xdead_beef ^ seed;
  let low = 0x41c6_ce57 ^ seed;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 2_654_435_761);
    low = Math.imul(low ^ unit, 1_597_334_677);
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return (4_294_967_296 * (2_097_151 & low) + (high >>> 0)).toString(36);
}
