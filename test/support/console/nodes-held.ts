/** What a page of the console keeps of nodes: leaks show there. */
import type { CDPSession } from 'playwright-core';

/** How many objects that are nodes a page holds once all garbage is gone, and how many of them are of this round. */
export async function nodesHeld(
  devTools: CDPSession,
  round: string,
): Promise<{ readonly held: number; readonly current: number }> {
  await devTools.send('HeapProfiler.collectGarbage');
  const { result: plain } = await devTools.send('Runtime.evaluate', { expression: 'Object.prototype' });
  const { objects } = await devTools.send('Runtime.queryObjects', { prototypeObjectId: plain.objectId ?? '' });
  const { result } = await devTools.send('Runtime.callFunctionOn', {
    objectId: objects.objectId ?? '',
    functionDeclaration: `function (round) {
      const nodes = this.filter((one) => Object.hasOwn(one, 'vpn_hostname'));
      return { held: nodes.length, current: nodes.filter(({ labels }) => labels.round === round).length };
    }`,
    arguments: [{ value: round }],
    returnByValue: true,
  });
  await devTools.send('Runtime.releaseObject', { objectId: objects.objectId ?? '' });
  return result.value as { held: number; current: number };
}
