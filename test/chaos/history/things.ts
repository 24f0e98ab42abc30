/**
 * A history taken apart into the things that it is about: each is looked at by itself, with the rows as a last read.
 */
import { DATABASE, type Call, type Named, type Request } from './history.ts';
import { labelMachine, NAME, NODE } from './machines.ts';
import { contradictionIn, type Contradiction, type Machine } from './linearization.ts';
import type { Rows } from './rows.ts';
import { subjectOf } from './words.ts';

/** One of them. */
export interface Thing {
  readonly what: string;
  readonly calls: readonly Call[];
  contradiction(): Contradiction | null;
}

/** All of them that were asked for, each with the calls that may have changed or shown it. */
export function thingsIn(calls: readonly Call[], rows: Rows): Thing[] {
  const told = withCommonEnds(calls.filter(({ outcome }) => outcome.type !== 'unavailable'));
  const endMs = 1 + Math.max(0, ...calls.map(({ answeredMs }) => answeredMs));
  const deletions = byNode(told.filter(({ request, outcome }) => isDeletion(request) && outcome.type !== 'refused'));
  return [...names(told, rows, endMs, deletions), ...nodes(told, rows, endMs)];
}

/**
 * A delete that another admin was asked for, and whose answer that admin lost, is asked for again; where nothing is
 * there then, its first try did it, as far as anybody can know (docs/architecture/several-admins.md, The link between
 * admins). So of two that meet both may be told that it is done: it is gone. Those that were not asked at the owner are
 * in doubt.
 */
function withCommonEnds(calls: readonly Call[]): readonly Call[] {
  const ends = calls.filter(({ request, outcome }) => isEnd(request) && outcome.type === 'ok');
  const meets = (one: Call): boolean =>
    ends.some(
      (other) =>
        other !== one &&
        subjectOf(other.request) === subjectOf(one.request) &&
        other.invokedMs <= one.answeredMs &&
        one.invokedMs <= other.answeredMs,
    );
  return calls.map((call) =>
    ends.includes(call) && call.place !== 'owner' && call.place !== 'any' && meets(call)
      ? { ...call, outcome: { type: 'doubt', why: 'somebody else deleted it meanwhile' } }
      : call,
  );
}

function isEnd({ verb }: Request): boolean {
  return verb === 'delete' || verb === 'delete-node' || verb === 'clear-recovery';
}

function names(
  calls: readonly Call[],
  rows: Rows,
  endMs: number,
  deletions: ReadonlyMap<string, readonly Call[]>,
): Thing[] {
  const stored = Map.groupBy(rows.named, placeOf);
  const asked = new Map<string, { readonly of: Named; readonly calls: Call[] }>();
  for (const call of calls) {
    const of = namedIn(call.request);
    if (of === null) continue;
    const one = asked.get(placeOf(of)) ?? { of, calls: [] };
    one.calls.push(call);
    asked.set(placeOf(of), one);
  }
  return [...asked].map(([place, { of, calls: own }]) => {
    const nodes = new Set(
      own.flatMap(({ request }) => (request.verb === 'create' && request.node !== null ? [request.node] : [])),
    );
    const { resource, scope, name } = of;
    const last = read({ verb: 'show', resource, scope, name }, endMs, {
      type: 'ok',
      status: 200,
      shown: stored.get(place) ?? [],
    });
    const all = [...own, ...[...nodes].flatMap((node) => deletions.get(node) ?? []), last];
    return thing(subjectOf(last.request), NAME, all);
  });
}

function nodes(calls: readonly Call[], rows: Rows, endMs: number): Thing[] {
  return [...byNode(calls)].flatMap(([node, own]) => {
    const last = read({ verb: 'show-node', node }, endMs, {
      type: 'ok',
      status: 200,
      node: rows.nodes.get(node) ?? null,
    });
    const labels = new Set(own.flatMap(({ request }) => (request.verb === 'label' ? [request.label] : [])));
    const shows = [...own.filter(({ request }) => request.verb === 'show-node' || isDeletion(request)), last];
    return [
      thing(subjectOf(last.request), NODE, [...own.filter(({ request }) => request.verb !== 'label'), last]),
      ...[...labels].map((label) => {
        const writes = own.filter(({ request }) => request.verb === 'label' && request.label === label);
        const firstMs = Math.min(...writes.map(({ invokedMs }) => invokedMs));
        const seen = shows.filter(({ request, answeredMs }) => isDeletion(request) || answeredMs >= firstMs);
        return thing(`label ${label} of ${subjectOf(last.request)}`, labelMachine(label), [...writes, ...seen]);
      }),
    ];
  });
}

function thing<S>(what: string, machine: Machine<S>, calls: readonly Call[]): Thing {
  return { what, calls, contradiction: () => contradictionIn(machine, calls) };
}

function read(request: Request, atMs: number, outcome: Call['outcome']): Call {
  return {
    client: DATABASE,
    admin: 'the database',
    place: 'any',
    owner: null,
    operation: 'read',
    request,
    invokedMs: atMs,
    answeredMs: atMs,
    outcome,
  };
}

/** An enrolment is of its node, and of its key. */
function namedIn(request: Request): Named | null {
  if ('resource' in request) return request;
  return request.verb === 'enrol' && request.recovery === null
    ? { resource: 'enrollment_key', scope: request.cluster, name: request.keyName }
    : null;
}

function byNode(calls: readonly Call[]): Map<string, Call[]> {
  const found = new Map<string, Call[]>();
  for (const call of calls) {
    if ('resource' in call.request) continue;
    const own = found.get(call.request.node);
    if (own === undefined) found.set(call.request.node, [call]);
    else own.push(call);
  }
  return found;
}

function isDeletion({ verb }: Request): boolean {
  return verb === 'delete-node';
}

/** Where a thing stands among all others. */
export function placeOf({ resource, scope, name }: Named): string {
  return `${resource} ${scope} ${name}`;
}
