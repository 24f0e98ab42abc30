/** What clients may expect of one name, one label and one node, one call at a time: the model of the service. */
import { unreachable } from '../../../actors/step.ts';
import type { Call, Shown } from './history.ts';
import type { Machine } from './linearization.ts';

/** A name, and who has it. */
export interface NameState {
  readonly holder: { readonly key: string; readonly value: string | null; readonly node: string | null } | null;
  /** What was created under which Idempotency-Key: its id, or null while nobody was told of it. */
  readonly made: Readonly<Record<string, string | null>>;
  /** Nodes that were deleted: nothing of them comes back. */
  readonly gone: readonly string[];
  /** Nodes that an enrolment key let in. */
  readonly joined: readonly string[];
}

/** Code of the refusal of what has expired before it was asked for. Source: api/operations/commands.ts. */
const EXPIRED = 'validation_failed';

/**
 * A name that one thing has at a time, under whose Idempotency-Key nothing is made twice: a cluster, a group, an alias,
 * an SSH username; and what has a name of its own that nobody else asks for: a command, a webhook, an enrolment key,
 * whose value is how many uses are left (E1).
 */
export const NAME: Machine<NameState> = {
  start: { holder: null, made: {}, gone: [], joined: [] },
  after(state, { request, outcome, answeredMs }) {
    const isDone = outcome.type !== 'refused';
    switch (request.verb) {
      case 'create': {
        const made = state.made[request.key];
        const id = outcome.type === 'ok' ? (outcome.shown?.[0]?.id ?? null) : null;
        if (made !== undefined) return isDone && isSame(made, id) ? named(state, request.key, id) : null;
        const isFree = state.holder === null && !(request.node !== null && state.gone.includes(request.node));
        const isExpired =
          outcome.type === 'refused' && outcome.code === EXPIRED && answeredMs >= (request.expiresMs ?? Infinity);
        if (!isDone) return isFree && !isExpired ? null : state;
        if (!isFree) return null;
        const { key, value, node } = request;
        return { ...state, holder: { key, value, node }, made: { ...state.made, [key]: id } };
      }
      case 'show':
        return outcome.type === 'ok' ? shown(state, outcome.shown ?? []) : state;
      case 'update':
      case 'delete':
      case 'cancel':
        return changed(state, { request, outcome }, request.id);
      case 'delete-node': {
        const holder = state.holder?.node === request.node ? null : state.holder;
        return { ...state, holder, gone: [...state.gone, request.node] };
      }
      case 'enrol':
        return joined(state, { request, outcome });
      case 'label':
      case 'move':
      case 'show-node':
      case 'set-recovery':
      case 'clear-recovery':
        return state;
      default:
        return unreachable(request);
    }
  },
};

function changed(
  state: NameState,
  { request, outcome }: Pick<Call, 'request' | 'outcome'>,
  id: string | null,
): NameState | null {
  const { holder } = state;
  const isThere = holder !== null && isSame(state.made[holder.key] ?? null, id);
  // A conflict is of what is there: a cluster with nodes, a command that runs.
  if (outcome.type === 'refused') return isThere === (outcome.code !== 'not_found') ? state : null;
  if (!isThere) return null;
  const known = named(state, holder.key, id);
  if (request.verb === 'delete') return { ...known, holder: null };
  return request.verb === 'update' ? { ...known, holder: { ...holder, value: request.value } } : known;
}

function shown(state: NameState, rows: readonly Shown[]): NameState | null {
  const [row, ...more] = rows;
  if (row === undefined) return state.holder === null ? state : null;
  const { holder } = state;
  if (holder === null || more.length > 0 || row.value !== holder.value || row.node !== holder.node) return null;
  return isSame(state.made[holder.key] ?? null, row.id) ? named(state, holder.key, row.id) : null;
}

function joined(state: NameState, { request, outcome }: Pick<Call, 'request' | 'outcome'>): NameState | null {
  if (request.verb !== 'enrol' || request.recovery !== null) return state;
  const { holder } = state;
  const isKnown = state.joined.includes(request.node);
  if (outcome.type === 'refused') {
    if (outcome.code === 'invalid_key') return holder === null ? state : null;
    if (outcome.code === 'key_spent') return holder?.value === '0' && !isKnown ? state : null;
    return state; // for the node or its cluster to say
  }
  if (holder === null) return null;
  if (isKnown || holder.value === null) return state;
  if (holder.value === '0') return null;
  return {
    ...state,
    holder: { ...holder, value: String(Number(holder.value) - 1) },
    joined: [...state.joined, request.node],
  };
}

function isSame(known: string | null, id: string | null): boolean {
  return known === null || id === null || known === id;
}

function named(state: NameState, key: string, id: string | null): NameState {
  return id === null || state.made[key] === id ? state : { ...state, made: { ...state.made, [key]: id } };
}

/** A label of a node. */
export interface LabelState {
  readonly value: string | null;
  readonly isGone: boolean;
}

/** One label of one node that is enrolled: what was written last is what is read, until the node is deleted. */
export function labelMachine(label: string): Machine<LabelState> {
  return {
    start: { value: null, isGone: false },
    after(state, { request, outcome }) {
      if (request.verb === 'delete-node') return { value: null, isGone: true };
      if (request.verb === 'label') {
        if (outcome.type === 'refused') return state.isGone || request.value === null ? state : null;
        return state.isGone ? null : { ...state, value: request.value };
      }
      if (request.verb !== 'show-node' || outcome.type !== 'ok') return state;
      if (outcome.node == null) return state.isGone ? state : null;
      return !state.isGone && (outcome.node.labels[label] ?? null) === state.value ? state : null;
    },
  };
}

/** A node, from before its enrolment to after its end. */
export interface NodeState {
  readonly cluster: string | null;
  readonly isDeleted: boolean;
  /** Which enrolled or recovered it last: it may ask again. */
  readonly machine: string | null;
  /** Its recovery key; null: it has none. `unknown`: one that nobody was told of. */
  readonly recovery: { readonly secret: string } | 'unknown' | null;
}

/** A node: in one cluster at a time, with one recovery key that works once (E2), and never back when it was deleted. */
export const NODE: Machine<NodeState> = {
  start: { cluster: null, isDeleted: false, machine: null, recovery: null },
  after(state, call) {
    const { request, outcome } = call;
    const isDone = outcome.type !== 'refused';
    const isThere = state.cluster !== null;
    switch (request.verb) {
      case 'enrol':
        return enrolled(state, call);
      case 'move':
        if (!isDone) return isThere === (outcome.code !== 'not_found') ? state : null;
        if (!isThere) return null;
        return state.cluster === request.cluster ? state : { ...state, cluster: request.cluster, recovery: null };
      case 'show-node':
        if (outcome.type !== 'ok') return state;
        return (outcome.node?.cluster ?? null) === state.cluster ? state : null;
      case 'delete-node':
        if (!isDone) return isThere ? null : state;
        return isThere ? { cluster: null, isDeleted: true, machine: null, recovery: null } : null;
      case 'set-recovery': {
        if (!isDone) return isThere ? null : state;
        const secret = outcome.type === 'ok' ? outcome.secret : undefined;
        return isThere ? { ...state, recovery: secret === undefined ? 'unknown' : { secret } } : null;
      }
      case 'clear-recovery':
        if (!isDone) return isThere && state.recovery !== null ? null : state;
        return isThere && state.recovery !== null ? { ...state, recovery: null } : null;
      case 'create':
      case 'show':
      case 'update':
      case 'delete':
      case 'cancel':
      case 'label':
        return state;
      default:
        return unreachable(request);
    }
  },
};

function enrolled(state: NodeState, { request, outcome }: Call): NodeState | null {
  if (request.verb !== 'enrol') return state;
  const { cluster, machine, recovery } = request;
  const isBack = state.cluster !== null && state.machine === machine;
  const isRecovered =
    recovery !== null &&
    state.recovery !== null &&
    state.recovery !== 'unknown' &&
    state.recovery.secret === recovery &&
    state.cluster === cluster;
  const isNew = state.cluster === null && !state.isDeleted && recovery === null;
  if (outcome.type === 'refused') {
    if (outcome.code !== 'conflict') return state; // a key without uses and a full cluster are for them to say
    return isRecovered || isNew || (isBack && state.cluster === cluster) ? null : state;
  }
  if (isBack) return state.cluster === cluster ? state : null;
  if (isRecovered) return { ...state, machine, recovery: null };
  return isNew ? { ...state, cluster, machine } : null;
}
