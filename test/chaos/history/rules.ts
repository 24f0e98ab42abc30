/** What must hold of a history besides what each thing does by itself. Names are those of docs/promises.md. */
import { EXECUTION_STATUSES } from '../../../actors/resources/command.ts';
import type { Call, History, ShownNode, Observation } from './history.ts';
import type { Rows } from './rows.ts';
import { placeOf } from './things.ts';
import { told } from './words.ts';

/** How long things may take, in ms; a busy machine grants more. */
export interface Deadlines {
  /** Of a call, while nothing is wrong with the admin that was asked. Source: docs/promises.md, L3. */
  readonly answerMsMax: number;
  /** From the answer that a node is deleted to the end of its session. Source: docs/promises.md, E5. */
  readonly revokedMsMax: number;
  /** From the answer to a cancel to the end of what runs, or until nothing of it is handed out any more. */
  readonly cancelledMsMax: number;
  /** From the moment at which a frame left an admin to that at which it was noted. */
  readonly notedMsMax: number;
}

/** A rule: one line for each place where it is broken. */
export type Rule = (history: History, rows: Rows, deadlines: Deadlines) => string[];

/** No answer is a fault of the service, and none comes too late, but while something was done to who was asked. */
export const answers: Rule = ({ calls, faults }, _rows, { answerMsMax }) =>
  calls.flatMap((call) => {
    const { admin, invokedMs, answeredMs, outcome } = call;
    if (outcome.type !== 'doubt' && 'status' in outcome && outcome.status === 500) return [`L3: ${told(call)}`];
    const tookMs = answeredMs - invokedMs;
    const isHindered = faults.some(
      ({ what, fromMs, toMs }) =>
        (what === admin || what === DATABASE_NAME) && fromMs <= answeredMs && invokedMs <= toMs,
    );
    return tookMs > answerMsMax && !isHindered ? [`L3: it took ${Math.round(tookMs)} ms: ${told(call)}`] : [];
  });

/** As faults call the database of all. */
export const DATABASE_NAME = 'the database';

/** How many there are is how many there are: members of a cluster, and none that nobody asked for. */
export const counts: Rule = ({ calls }, { clusters, nodes, named }) => {
  const members = Map.groupBy(nodes.values(), ({ cluster }) => cluster);
  const asked = new Set(
    calls.flatMap(({ request, outcome }) =>
      request.verb === 'create' && (outcome.type === 'ok' || outcome.type === 'doubt') ? [placeOf(request)] : [],
    ),
  );
  return [
    ...clusters.flatMap(({ name, nodeCount, nodeLimit }) => {
      const count = members.get(name)?.length ?? 0;
      return [
        ...(count === nodeCount ? [] : [`E1: cluster ${name} has ${count} nodes, and says ${nodeCount}`]),
        ...(nodeLimit === null || count <= nodeLimit
          ? []
          : [`E1: cluster ${name} has ${count} nodes, of at most ${nodeLimit}`]),
      ];
    }),
    ...named
      .filter((one) => !asked.has(placeOf(one)))
      .map((one) => `O3: ${placeOf(one)} is stored, and every create of it was refused`),
  ];
};

/** What an execution was seen as, it does not go back from, at whatever admin it was seen (C6). */
export const executions: Rule = ({ observations, calls }, { executions: stored }) => {
  const deleted = new Set(
    calls.flatMap(({ request, outcome }) =>
      request.verb === 'delete' && request.resource === 'command' && request.id !== null && outcome.type !== 'refused'
        ? [request.id]
        : [],
    ),
  );
  const rows = new Map(stored.map((row) => [row.id, row]));
  return [...Map.groupBy(observations, ({ execution }) => execution)].flatMap(([id, seen]) => {
    const last = seen.toSorted((one, other) => one.invokedMs - other.invokedMs);
    const row = rows.get(id);
    if (row === undefined)
      return deleted.has(last[0]?.command ?? '')
        ? stepsBack(last)
        : [...stepsBack(last), `C1: execution ${id} was seen, and is gone`];
    const end: Observation = {
      ...(last[0] as Observation),
      status: row.status,
      exitCode: row.exit_code,
      admin: 'the database',
      invokedMs: Infinity,
      answeredMs: Infinity,
    };
    return stepsBack([...last, end]);
  });
};

/** Of one execution, in the order in which it was asked for. */
function stepsBack(seen: readonly Observation[]): string[] {
  const broken: string[] = [];
  const known = seen.toSorted((one, other) => one.answeredMs - other.answeredMs);
  let [at, before]: [number, Observation | null] = [0, null];
  for (const now of seen) {
    for (; (known[at]?.answeredMs ?? Infinity) < now.invokedMs; at += 1) {
      const one = known[at] as Observation;
      if (before === null || isLater(one.status, before.status)) before = one;
    }
    if (before === null || now.status === before.status) {
      if (before !== null && now.exitCode !== before.exitCode)
        broken.push(
          `C6: execution ${now.execution} ended with ${before.exitCode} at ${before.admin}, and with ${now.exitCode} at ${now.admin}`,
        );
      continue;
    }
    if (isLater(now.status, before.status)) continue;
    broken.push(
      `C6: execution ${now.execution} was ${before.status} at ${before.admin} (${Math.round(before.answeredMs)} ms), and then ${now.status} at ${now.admin} (${Math.round(now.invokedMs)} ms)`,
    );
  }
  return broken;
}

/** Open ones go on; an end is an end. */
function isLater(status: string, than: string): boolean {
  const places: readonly string[] = EXECUTION_STATUSES;
  return places.indexOf(than) < LAST_OPEN && places.indexOf(status) > places.indexOf(than);
}

/** Place behind the last status of an execution that goes on. */
const LAST_OPEN = 2;

/** A node that is deleted is hung up (E5), as soon as its admin can do anything. */
export const revocations: Rule = ({ calls, sessions, faults }, _rows, { revokedMsMax }) =>
  calls.flatMap(({ request, outcome, answeredMs }) => {
    if (request.verb !== 'delete-node' || outcome.type !== 'ok') return [];
    return sessions.flatMap(({ node, admin, endedMs }) => {
      if (node !== request.node) return [];
      const dueMs = faults
        .filter(({ what }) => what === admin || what === DATABASE_NAME)
        .toSorted((one, other) => one.fromMs - other.fromMs)
        .reduce(
          (due, { fromMs, toMs }) => (fromMs < due && toMs > answeredMs ? Math.max(due, toMs + revokedMsMax) : due),
          answeredMs + revokedMsMax,
        );
      if ((endedMs ?? Infinity) <= dueMs) return [];
      const how =
        endedMs === null
          ? `has a session at ${admin} still`
          : `kept its session at ${admin} for ${Math.round(endedMs - answeredMs)} ms`;
      return [`E5: node ${node} was deleted, and ${how}`];
    });
  });

/** One owner an epoch, and epochs rise (O1). */
export const owners: Rule = ({ owners: seen }) =>
  [...Map.groupBy(seen, ({ id }) => id).values()].flatMap((all) => {
    const broken: string[] = [];
    for (const [place, { cluster, admin, epoch }] of all.entries()) {
      const before = all[place - 1];
      if (before === undefined) continue;
      if (epoch < before.epoch) broken.push(`O1: cluster ${cluster} went from epoch ${before.epoch} back to ${epoch}`);
      if (epoch === before.epoch && admin !== before.admin)
        broken.push(`O1: cluster ${cluster} was ${before.admin}'s and ${admin}'s in epoch ${epoch}`);
    }
    return broken;
  });

/**
 * Nobody hands an execution to a node of which another admin is the owner already (O1). Of nodes that never moved:
 * whose the others were at that moment is not known.
 */
export const deliveries: Rule = (
  { handed, owners: seen, calls, faults },
  { executions: stored, nodes },
  { notedMsMax },
) => {
  const moved = new Set(calls.flatMap(({ request }) => (request.verb === 'move' ? [request.node] : [])));
  const nodeOf = new Map(stored.map((row) => [row.id, row.node_id]));
  const owned = Map.groupBy(seen, ({ cluster }) => cluster);
  return handed.flatMap(({ frame, execution, admin, atMs }) => {
    if (frame !== 'deliver' || isHeldUp(faults, admin, atMs)) return [];
    const node = nodeOf.get(execution) ?? '';
    if (moved.has(node)) return [];
    const all = owned.get(nodes.get(node)?.cluster ?? '') ?? [];
    const owner = all.findLast((one) => one.atMs < atMs - notedMsMax);
    const isOwn = all.some((one) => one.admin === admin && Math.abs(one.atMs - atMs) <= notedMsMax);
    if (owner === undefined || owner.admin === admin || isOwn) return [];
    const sinceMs = Math.round(atMs - owner.atMs);
    return [
      `O1: ${admin} handed execution ${execution} to node ${node}, of which ${owner.admin} was the owner for ${sinceMs} ms`,
    ];
  });
};

/** Whether frames that this admin sent before may have come only now. */
function isHeldUp(faults: History['faults'], admin: string, atMs: number): boolean {
  return faults.some(
    ({ what, holdsFrames, fromMs, toMs }) => holdsFrames && what === admin && fromMs <= atMs && atMs <= toMs,
  );
}

/** A reader of events has each once, from the first that it saw to the last, those of a subject in their order (V1). */
export const events: Rule = ({ eventReaders }, { events: stored }) =>
  eventReaders.flatMap(({ name, events: seen }) => {
    const places = new Map(stored.map(({ id }, place) => [id, place]));
    const ids = new Set(seen.map(({ id }) => id));
    const from = Math.min(...seen.map(({ id }) => places.get(id) ?? Infinity));
    const to = Math.max(...seen.map(({ id }) => places.get(id) ?? -1));
    const missed = stored.slice(Number.isFinite(from) ? from : 0, to + 1).filter(({ id }) => !ids.has(id));
    const broken = missed.map(({ id, subject, type }) => `V1: ${name} was never told of ${type} ${id} of ${subject}`);
    if (ids.size < seen.length) broken.push(`V1: ${name} was told of ${seen.length - ids.size} events twice`);
    const subjects = Map.groupBy(seen, ({ id }) => stored[places.get(id) ?? -1]?.subject ?? '');
    for (const [subject, own] of subjects)
      for (const [place, { id, type }] of own.entries())
        if (place > 0 && (places.get(id) ?? 0) < (places.get(own[place - 1]?.id ?? '') ?? 0))
          broken.push(`V1: ${name} was told of ${type} of ${subject} too late: after ${own[place - 1]?.type}`);
    return broken;
  });

/** A watched command only goes on, and what it was last is what is stored. */
export const watchedCommands: Rule = ({ commandReaders }, { executions: stored }) => {
  const rows = new Map(stored.map((row) => [row.id, row]));
  return commandReaders.flatMap(({ command, admin, told: messages, isWhole }) =>
    [...Map.groupBy(messages, ({ execution }) => execution)].flatMap(([execution, own]) => {
      const where = `execution ${execution} of command ${command} in the feed of ${admin}`;
      const broken = own.flatMap(({ status }, place) => {
        const before = own[place - 1]?.status ?? status;
        return status === before || isLater(status, before) ? [] : [`C6: ${where} was ${before}, and then ${status}`];
      });
      const row = rows.get(execution);
      const last = own.at(-1)?.status;
      if (isWhole && row !== undefined && row.status !== last)
        broken.push(`V1: ${where} was ${last} at last, and is ${row.status}`);
      return broken;
    }),
  );
};

/**
 * Who watches all nodes knows them at the end as they are stored: in their clusters, with their labels, and no others.
 */
export const watchedNodes: Rule = ({ nodeReaders }, { nodes: stored }) =>
  nodeReaders.flatMap(({ admin, nodes }) =>
    [...new Set([...stored.keys(), ...nodes.keys()])].flatMap((id) => {
      const [is, seen] = [wordsOf(stored.get(id)), wordsOf(nodes.get(id))];
      return is === seen ? [] : [`V1: node ${id} in the feed of ${admin} is ${seen}, and is ${is}`];
    }),
  );

/** Who reads an output to its end has what is stored, each byte told once. */
export const tailedOutputs: Rule = ({ tailReaders }, { executions: stored }) => {
  const rows = new Map(stored.map((row) => [row.id, row]));
  return tailReaders.flatMap(({ execution, admin, text, problems, isWhole }) => {
    const where = `the output of execution ${execution} at ${admin}`;
    const row = rows.get(execution);
    const is = row?.output ?? '';
    return [
      ...problems.map((problem) => `C10: ${where} came with ${problem}`),
      ...(isWhole && row !== undefined && text !== is
        ? [`C10: ${where} was ${JSON.stringify(text)} at last, and is ${JSON.stringify(is)}`]
        : []),
    ];
  });
};

function wordsOf(node: ShownNode | undefined): string {
  if (node === undefined) return 'none';
  const labels = Object.entries(node.labels).map(([label, value]) => `${label}=${value}`);
  return [node.cluster, ...labels.toSorted((one, other) => one.localeCompare(other))].join(' ');
}

/** How often each operation was answered how, and where. */
export function answersByPlace(calls: readonly Call[]): Map<string, Map<string, number>> {
  const found = new Map<string, Map<string, number>>();
  for (const { operation, place, outcome } of calls) {
    const answer = outcome.type === 'unavailable' ? String(outcome.status) : outcome.type;
    const own = found.get(operation) ?? new Map<string, number>();
    own.set(`${place} ${answer}`, (own.get(`${place} ${answer}`) ?? 0) + 1);
    found.set(operation, own);
  }
  return found;
}
