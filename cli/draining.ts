/** Waits until an admin that drains owns nothing and does no task for all, and says how far it is. */
import { setTimeout as pause } from 'node:timers/promises';
import type { PeerAdmin } from './names/admins.ts';
import { tell } from './output/output.ts';
import { plainText } from './output/plain-text.ts';
import { EXIT, Problem, problemOf } from './problem.ts';
import type { Session } from './service/session.ts';
import { durationText } from './table/ages.ts';

/** Between two looks, in ms: clusters are handed over a few at a time. */
const LOOK_MS = 500;

/**
 * Longest wait for the tasks of one that owns nothing any more, in ms: it leaves them within three rounds of a second,
 * or with the lease of 3 s. One of a release before keeps them until it is stopped, and they go elsewhere then.
 */
const TASKS_MS_MAX = 30_000;

/**
 * The admin once it owns nothing and does no task for all, or keeps its tasks for `tasksMsMax`, which is told. Says
 * what it still has on a line of stderr that is rewritten in place, where that is a terminal. Throws a Problem when the
 * time is over, or somebody resumed it meanwhile; a service that is away is told of once, and asked again.
 */
export async function drained(
  { api, connection }: Pick<Session, 'api' | 'connection'>,
  draining: PeerAdmin,
  waitMs: number,
  tasksMsMax: number = TASKS_MS_MAX,
): Promise<PeerAdmin> {
  const beganMs = performance.now();
  const line = createLine(process.stderr);
  let now = draining;
  let isFailing = false;
  let emptyAtMs: number | null = null;
  try {
    for (;;) {
      const left = leftAt(now);
      if (left === null) return now;
      const nowMs = performance.now();
      emptyAtMs = now.cluster_count === 0 ? (emptyAtMs ?? nowMs) : null;
      const passedMs = nowMs - beganMs;
      line.show(`${left}, ${durationText(passedMs)}`);
      if (passedMs >= waitMs) throw new Problem(`after ${durationText(waitMs)} ${left}`);
      if (emptyAtMs !== null && nowMs - emptyAtMs >= tasksMsMax) {
        line.clear();
        tell(`${left}: others do so once it is stopped`);
        return now;
      }
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
  } finally {
    line.clear();
  }
}

/**
 * What it still has, in words; null: nothing. An admin of a release that tells no tasks is not waited for with them.
 */
function leftAt({ name, cluster_count: clusters, node_count: nodes, tasks = [] }: Answered): string | null {
  const [admin, still] = [plainText(name), tasks.map(plainText).join(', ')];
  if (clusters === 0) return still === '' ? null : `${admin} still does what one admin does for all: ${still}`;
  return `${admin} still owns ${clusters} ${clusters === 1 ? 'cluster' : 'clusters'} with ${nodes} ${nodes === 1 ? 'node' : 'nodes'}`;
}

type Answered = Omit<PeerAdmin, 'tasks'> & Partial<Pick<PeerAdmin, 'tasks'>>;

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
