/** Waits until an admin that drains owns nothing, and says how far it is. */
import { setTimeout as pause } from 'node:timers/promises';
import type { PeerAdmin } from './admins.ts';
import { tell } from './output.ts';
import { plainText } from './plain-text.ts';
import { EXIT, Problem, problemOf } from './problem.ts';
import type { Session } from './session.ts';
import { durationText } from './table/ages.ts';

/** Between two looks, in ms: clusters are handed over a few at a time. */
const LOOK_MS = 500;

/**
 * The admin once it owns nothing. Says what it still owns on a line of stderr that is rewritten in place, where that is
 * a terminal. Throws a Problem when the time is over, or somebody resumed it meanwhile; a service that is away is told
 * of once, and asked again.
 */
export async function drained(
  { api, connection }: Pick<Session, 'api' | 'connection'>,
  draining: PeerAdmin,
  waitMs: number,
): Promise<PeerAdmin> {
  const beganMs = performance.now();
  const line = createLine(process.stderr);
  let now = draining;
  let isFailing = false;
  try {
    while (now.cluster_count > 0) {
      const passedMs = performance.now() - beganMs;
      line.show(`${owns(now)}, ${durationText(passedMs)}`);
      if (passedMs >= waitMs) throw new Problem(`after ${durationText(waitMs)} ${owns(now)}`);
      await pause(Math.min(LOOK_MS, waitMs - passedMs));
      try {
        now = await api.get_peer_admin.query({ name: draining.id });
        isFailing = false;
      } catch (error) {
        const { status, message } = problemOf(error, connection);
        if (status !== EXIT.failed) throw error;
        line.clear();
        if (!isFailing) tell(`${message}; trying again`);
        isFailing = true;
      }
      if (now.draining_since === null) throw new Problem(`${now.name} takes clusters again: somebody resumed it`);
    }
    return now;
  } finally {
    line.clear();
  }
}

function owns({ name, cluster_count: clusters, node_count: nodes }: PeerAdmin): string {
  return `${plainText(name)} still owns ${clusters} ${clusters === 1 ? 'cluster' : 'clusters'} with ${nodes} ${nodes === 1 ? 'node' : 'nodes'}`;
}

interface Line {
  show(text: string): void;
  clear(): void;
}

function createLine(stream: { readonly isTTY?: boolean; write(text: string): unknown }): Line {
  if (stream.isTTY !== true) return { show() {}, clear() {} };
  return {
    show: (text) => void stream.write(`\r\u001B[2K${text}`),
    clear: () => void stream.write('\r\u001B[2K'),
  };
}
