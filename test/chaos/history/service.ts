/** What must hold of a service that several admins are: they serve for one another, stop what they say, and share. */
import type { Call, Fault, History, Run } from './history.ts';
import { DATABASE_NAME, type Rule } from './rules.ts';
import { told } from './words.ts';

/** Status of an answer that says that it could not be done now. */
const UNAVAILABLE = 503;

/**
 * Nobody is told that a call cannot be served while whoever was asked, whoever owns what it is about, and the database
 * are well: that another admin owns it is no reason (L3, O3). A link between two admins may be cut: there is another
 * way. Of a node that moves about, whose it is at that moment is not known: any fault may be the reason.
 */
export const served: Rule = ({ calls, faults }) => {
  const moved = movedIn(calls);
  return calls.flatMap((call) => {
    const { admin, owner, place, request, outcome, invokedMs, answeredMs } = call;
    if (outcome.type !== 'unavailable' || outcome.status !== UNAVAILABLE || place === 'ownerless') return [];
    const isAnywhere = 'node' in request && request.node !== null && moved.has(request.node);
    const isHindered = faults.some(
      (fault) =>
        overlaps(fault, invokedMs, answeredMs) &&
        (isAnywhere || fault.holdsRows || [admin, owner, DATABASE_NAME].includes(fault.what)),
    );
    if (isHindered) return [];
    const whose = owner === null ? 'of no owner' : `of ${owner}, which lives`;
    return [`O3: turned away, ${whose}: ${told(call)} (${outcome.why})`];
  });
};

/** A time in which nothing stood in the way, and what ended it. */
interface Window {
  readonly node: string;
  readonly cluster: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * A cancel that was answered with a 2xx is one (C9): what runs ends before it would by itself, once its node had a
 * session for a while with everybody well; and what waits is handed out no more. Of nodes that stay in their cluster.
 */
export const cancels: Rule = (history, { executions: stored, nodes }, { cancelledMsMax }) => {
  const { calls, runs, handed } = history;
  const cancelled = new Map<string, number>();
  for (const { request, outcome, answeredMs } of calls)
    if (request.verb === 'cancel' && outcome.type === 'ok' && request.id !== null)
      cancelled.set(request.id, Math.min(answeredMs, cancelled.get(request.id) ?? Infinity));
  const moved = movedIn(calls);
  const ran = new Map(runs.map((run) => [run.execution, run]));
  const handedOf = Map.groupBy(handed, ({ execution }) => execution);
  return stored.flatMap(({ id, command_id: command, node_id: node }) => {
    const [atMs, run, cluster] = [cancelled.get(command), ran.get(id), nodes.get(node)?.cluster];
    if (atMs === undefined || run === undefined || cluster === undefined || moved.has(node)) return [];
    const what = `execution ${id} of command ${command} on node ${node}, whose cancel was answered at ${Math.round(atMs)} ms`;
    const late = handedLate(history, run, handedOf.get(id) ?? [], atMs + cancelledMsMax, cancelledMsMax);
    if (late !== null) return [`C9: ${late} handed out ${what}, and it started at ${Math.round(run.startedMs)} ms`];
    if (run.end !== 'completed' || run.endedMs === null) return [];
    const fromMs = Math.max(atMs, run.startedMs);
    return isCalmIn(history, { node, cluster, fromMs, toMs: run.endedMs }, cancelledMsMax)
      ? [`C9: nobody stopped ${what}: it ran from ${Math.round(run.startedMs)} to ${Math.round(run.endedMs)} ms`]
      : [];
  });
};

/** Who handed it out for this start, if that was later than this and nothing was done to it for `calmMs` before. */
function handedLate(
  { faults }: History,
  { startedMs }: Run,
  handed: History['handed'],
  overMs: number,
  calmMs: number,
): string | null {
  const last = handed.findLast(({ frame, atMs }) => frame === 'deliver' && atMs <= startedMs);
  if (last === undefined || last.atMs <= overMs) return null;
  const isHindered = faults.some(
    (fault) => overlaps(fault, last.atMs - calmMs, last.atMs) && [last.admin, DATABASE_NAME].includes(fault.what),
  );
  return isHindered ? null : last.admin;
}

/**
 * Whether for so long in this time the node had one session, its cluster one owner, and nothing was done to the admins
 * of both, nor to the database.
 */
function isCalmIn(
  { sessions, owners, faults }: History,
  { node, cluster, fromMs, toMs }: Window,
  calmMs: number,
): boolean {
  const own = sessions.filter((session) => session.node === node);
  const owned = owners.filter((one) => one.cluster === cluster);
  for (let beginMs = fromMs; beginMs + calmMs <= toMs;) {
    const endMs = beginMs + calmMs;
    const session = own.findLast(({ liveMs }) => liveMs <= beginMs);
    const isThere = session !== undefined && (session.endedMs ?? Infinity) >= endMs;
    const others = owned.findLast(({ atMs }) => atMs <= beginMs);
    const change = owned.find(({ atMs }) => atMs > beginMs && atMs < endMs);
    const about = [session?.admin, others?.admin, DATABASE_NAME];
    const fault = faults.find((one) => overlaps(one, beginMs, endMs) && about.includes(one.what));
    if (isThere && change === undefined && fault === undefined) return true;
    const next = isThere ? beginMs : (own.find(({ liveMs }) => liveMs > beginMs)?.liveMs ?? Infinity);
    beginMs = Math.max(next, change?.atMs ?? 0, fault === undefined ? 0 : fault.toMs + 1);
  }
  return false;
}

/** An admin that comes is given a cluster by those that live. */
export const shares: Rule = ({ visits }) =>
  visits
    .filter(({ isGiven, isDue }) => isDue && !isGiven)
    .map(
      ({ admin, fromMs, toMs }) =>
        `Balance: ${admin} came at ${Math.round(fromMs)} ms, and was given nothing until ${Math.round(toMs)} ms, while all were well`,
    );

/** Nodes that were moved, deleted, or came back as another machine. */
function movedIn(calls: readonly Call[]): ReadonlySet<string> {
  return new Set(
    calls.flatMap(({ request }) =>
      request.verb === 'move' ||
      request.verb === 'delete-node' ||
      (request.verb === 'enrol' && request.recovery !== null)
        ? [request.node]
        : [],
    ),
  );
}

function overlaps({ fromMs, toMs }: Pick<Fault, 'fromMs' | 'toMs'>, beginMs: number, endMs: number): boolean {
  return fromMs <= endMs && beginMs <= toMs;
}
