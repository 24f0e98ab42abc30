/** Worker: simulated members of VPNs, thousands in one process. */
import { nowMs } from '../method/clock.ts';
import { serveQuestions } from '../method/worker.ts';
import { memberKey, simulatedMember, type VpnCounts, type SimulatedMember } from './simulated-member.ts';

/** Connections that are dialled at once. */
const DIALS_AT_ONCE = 128;

const members = new Map<number, SimulatedMember>();
const counts: VpnCounts = { frames: 0, bytes: 0, wholes: 0 };
/** Asked at each change of what a member knows. */
const watched = new Set<() => void>();

/** Resolves with the moment at which it came to be so. */
function when(isSo: () => boolean): Promise<number> {
  if (isSo()) return Promise.resolve(nowMs());
  return new Promise((resolve) => {
    const look = (): void => {
      if (!isSo()) return;
      watched.delete(look);
      resolve(nowMs());
    };
    watched.add(look);
  });
}

let complete = 0;
const isComplete = new Set<number>();

serveQuestions({
  /**
   * Connects members from … to - 1, each to the URL that its number picks, and answers when it began and when each knew
   * as many others as `peers`.
   */
  converge: async ({ urls, from, to, peers }: { urls: readonly string[]; from: number; to: number; peers: number }) => {
    const began = nowMs();
    const target = complete + to - from;
    const done = when(() => complete >= target);
    let next = from;
    const dialler = async (): Promise<void> => {
      for (let index = next; index < to; index = next) {
        next += 1;
        const first = Promise.withResolvers<undefined>();
        const member = simulatedMember(urls[index % urls.length] ?? '', index, counts, () => {
          first.resolve(undefined);
          if (member.peers.size === peers && !isComplete.has(index)) {
            isComplete.add(index);
            complete += 1;
          }
          for (const look of watched) look();
        });
        members.set(index, member);
        member.session.start();
        await first.promise;
      }
    };
    await Promise.all([done, ...Array.from({ length: DIALS_AT_ONCE }, dialler)]);
    return { began, ended: await done };
  },
  /** Answers when all members here have this one among their peers, but itself. */
  knowAll: ({ index }: { index: number }) => {
    const key = memberKey(index);
    const waiting = new Set([...members].filter(([own]) => own !== index).map(([, member]) => member));
    return when(() => {
      for (const member of waiting) if (member.peers.has(key)) waiting.delete(member);
      return waiting.size === 0;
    });
  },
  counts: () => ({ ...counts }),
  stop: () => {
    for (const { session } of members.values()) session.stop();
  },
});
