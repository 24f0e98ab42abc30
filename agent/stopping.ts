/** How the agent of one enrolment stops: what runs is ended and reported, and every part lets go in its turn. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../transport/net/log.ts';
import type { Reach } from './access/reach.ts';
import type { Executor } from './execution/executor.ts';
import type { Journal } from './execution/journal/journal.ts';
import type { Reports } from './observability/doctor/reports.ts';
import type { Visibility } from './observability/visibility.ts';
import { EXIT_STATUS, type ExitStatus } from './problem.ts';
import type { Enrolled } from './enrollment/joining.ts';
import type { Session } from './session/session.ts';
import type { AgentUpdates } from './update/open-updates.ts';
import type { AgentVpn } from './vpn/vpn.ts';

/**
 * After a signal, results that the admin has not confirmed are waited for this long at most, in ms. The journal keeps
 * the rest.
 */
const CONFIRMATION_MS_MAX = 10_000;

/**
 * Commands that do not end, or whose ends the disk does not take, are left to the next start after this, in ms: TERM,
 * KILL and what follows take 10 s at most.
 */
export const CLOSE_MS_MAX = 12_000;

/** An admin let this machine in again: everything that holds the old credentials starts anew. */
export interface Rejoined {
  readonly rejoined: Enrolled;
}

/** How it ended: the exit status of the program, or the next enrolment. */
export type AgentEnd = ExitStatus | Rejoined;

/** What runs until then. */
export interface RunningParts {
  readonly journal: Journal;
  readonly executor: Pick<Executor, 'close' | 'detach'>;
  readonly reach: Pick<Reach, 'close'>;
  readonly visibility: Pick<Visibility, 'close'>;
  readonly reports: Pick<Reports, 'close'>;
  readonly vpn: Pick<AgentVpn, 'close'> | null;
  readonly session: Pick<Session, 'isLive' | 'stop'>;
  readonly updates: Pick<AgentUpdates, 'isUnderWay' | 'close'>;
  /** Calls it once admins have confirmed every result in the journal; asked for when there is one. */
  readonly whenConfirmed: (act: () => void) => void;
  readonly log: Log;
}

/** Resolves when the program is told to stop, or its journal cannot be read: then its service starts it anew. */
export async function stopped(signal: AbortSignal, { unreadable }: Pick<Journal, 'unreadable'>): Promise<AgentEnd> {
  const aborted = new Promise<AgentEnd>((resolve) => {
    if (signal.aborted) resolve(EXIT_STATUS.ok);
    else signal.addEventListener('abort', () => resolve(EXIT_STATUS.ok), { once: true });
  });
  return Promise.race([aborted, unreadable.then(() => EXIT_STATUS.failed)]);
}

/**
 * Resolves when nothing of it is left that holds the process. Where an update ends it, or a failure, or it has joined
 * again, what runs goes on: the next one takes it up, as after a restart.
 */
export async function stopParts(parts: RunningParts, end: AgentEnd): Promise<void> {
  const { journal, executor, session, updates, log } = parts;
  const isUpdate = end === EXIT_STATUS.ok && updates.isUnderWay;
  if (isUpdate) log.info({}, 'Stopping for an update: running commands go on, and the next agent takes them up');
  else if (end === EXIT_STATUS.ok) log.info({}, 'Stopping: running commands are ended and reported');
  const deadline = sleep(CONFIRMATION_MS_MAX);
  const goesOn = typeof end !== 'number' || end === EXIT_STATUS.failed || isUpdate;
  const keepsWaiting = end === EXIT_STATUS.revoked;
  const ended = [
    ends('updates', () => updates.close(), log),
    ends('metrics', () => parts.visibility.close(), log),
    ends('reports', () => parts.reports.close(), log),
    ends('commands', () => (goesOn ? executor.detach() : executor.close({ keepsWaiting })), log),
    ends('access', () => parts.reach.close(), log),
  ];
  await Promise.race([Promise.all(ended), sleep(CLOSE_MS_MAX)]);
  // after an update the next agent sends what is left: the machine is away for as short as can be
  if (session.isLive && journal.finished().length > 0 && !isUpdate)
    await Promise.race([deadline, new Promise<void>(parts.whenConfirmed)]);
  await ends('vpn', () => parts.vpn?.close({ isKept: end !== EXIT_STATUS.revoked }), log);
  await ends('session', () => session.stop(), log);
  const kept = journal.holding().length;
  if (kept > 0) log.info({ executions: kept }, 'The next start goes on with what is left');
}

/** Resolves also where this part cannot let go, which keeps no other from ending. */
async function ends(what: string, letGo: () => Promise<void> | void, log: Log): Promise<void> {
  try {
    await letGo();
  } catch (error) {
    log.error({ error, what }, 'A part of the agent could not end as it should');
  }
}
