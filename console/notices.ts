/** Which notices stand at once. Pure. */

/** Those that only say something. One more sends the oldest of them away. */
export const SAID_MAX = 4;

/**
 * Those with a way back, whose actions wait: they keep their time, whatever is said meanwhile. One more than so many
 * has the oldest done.
 */
export const WAITING_MAX = 12;

/** The one that goes, as there are too many; undefined: none has to. The oldest stands first. */
export function surplusOf<Notice extends { readonly undo?: object }>(standing: readonly Notice[]): Notice | undefined {
  const waiting = standing.filter(({ undo }) => undo !== undefined);
  const said = standing.filter(({ undo }) => undo === undefined);
  if (said.length > SAID_MAX) return said[0];
  return waiting.length > WAITING_MAX ? waiting[0] : undefined;
}
