/**
 * The behaviour of a self-update request: it is stored with all of its nodes; from then on it counts, and gives nodes
 * their turn, until nothing is left to do.
 */
import type { Behaviour } from '../behaviour.ts';
import { type Change, type Effect, type Step, answer, refuse, step, unchanged, unreachable } from '../step.ts';
import { idempotencyRecord } from '../node/administration.ts';
import { ok } from '../refusal.ts';
import { instant } from '../resources/instant.ts';
import type { SelfUpdateRequestResource, SelfUpdateStatus, SelfUpdateSummary } from '../resources/self-update.ts';
import { COUNT_AGAIN_MS, COUNT_EVERY_MS_MIN } from './limits.ts';
import type { SelfUpdateMessage } from './messages.ts';
import { nextMove } from './next-move.ts';
import { uncounted, type CountedSelfUpdate, type SelfUpdateRecord, type SelfUpdateState } from './state.ts';
import type { SelfUpdateMove } from './writes.ts';
import type { DomainEvent } from '../event-catalogue.ts';

type MessageOf<T extends SelfUpdateMessage['type']> = Extract<SelfUpdateMessage, { type: T }>;

const COUNT: Effect = { type: 'count-self-update' };
const COUNT_LATER: Effect = {
  type: 'remind',
  key: 'count',
  afterMs: COUNT_AGAIN_MS,
  message: { type: 'count-again' },
};
const WAKE: Effect = { type: 'wake-self-update' };
const NOBODY: SelfUpdateSummary = { total: 0, triggered: 0, failed: 0 };

/** What a self-update request does with one message. Pure: `nowMs` is Unix time in ms. */
export const selfUpdateBehaviour: Behaviour<SelfUpdateState, SelfUpdateMessage> = {
  transition(state, message, nowMs) {
    switch (message.type) {
      case 'create':
        return create(state, message);
      case 'nodes-changed':
        return changed(state, nowMs);
      case 'nodes-counted':
        return counted(state, message, nowMs);
      case 'count-failed':
        return step(state, [], [COUNT_LATER]); // it counts until then: news have it counted no earlier
      case 'count-again':
        return step(state, [], [COUNT]);
      case 'refused':
        return unchanged(state); // another one moved it: its rows are counted anew
      default:
        return unreachable(message);
    }
  },
  recoveryEffects: (state) => (state.record === null ? [] : [COUNT]),
  refreshed: (_live, rows) => rows,
};

/** One transaction stores the request and every node (C1). Whoever holds the task brings it to life. */
function create(state: SelfUpdateState, { replyTo, request, targets, idempotency }: MessageOf<'create'>) {
  if (state.record !== null)
    return step(state, [], [refuse(replyTo, { code: 'conflict', message: 'The request exists already.' })]);
  const isOver = targets.length === 0;
  const resource = selfUpdateResource(request, isOver ? 'completed' : 'pending', isOver ? NOBODY : null);
  const change: Change = {
    write: { kind: 'self-update-created', request, targets },
    events: isOver ? [completedEvent(request, NOBODY, request.insertedAtMs)] : [],
    notices: [isOver ? { type: 'events-stored' } : { type: 'self-update-created', request: request.id }],
    idempotencyRecord: idempotencyRecord(idempotency, resource),
  };
  return step(uncounted(state.id, request), [change], [answer(replyTo, ok(resource)), { type: 'stop' }]);
}

/** Many nodes answer within a moment: they are counted together. */
function changed(state: SelfUpdateState, nowMs: number): Step<SelfUpdateState> {
  if (state.record === null) return step(state, [], [{ type: 'stop' }]);
  if (state.isCounting) return state.isStale ? unchanged(state) : step({ ...state, isStale: true }, []);
  const waitMs = state.countedAtMs + COUNT_EVERY_MS_MIN - nowMs;
  if (waitMs > 0 && waitMs <= COUNT_EVERY_MS_MIN) return state.isStale ? unchanged(state) : countSoon(state, waitMs);
  return step({ ...state, isCounting: true, isStale: false }, [], [COUNT]);
}

function countSoon(state: SelfUpdateState, waitMs: number): Step<SelfUpdateState> {
  const remind: Effect = { type: 'remind', key: 'count', afterMs: waitMs, message: { type: 'nodes-changed' } };
  return step({ ...state, isStale: true, countedAtMs: state.countedAtMs }, [], [remind]);
}

function counted(
  state: SelfUpdateState,
  { counted: found }: MessageOf<'nodes-counted'>,
  nowMs: number,
): Step<SelfUpdateState> {
  const { record } = state;
  if (record === null || found === null || found.status === 'completed') return step(state, [], [{ type: 'stop' }]);
  if (state.movedAt !== null && found.revision <= state.movedAt) return unchanged(state); // the count that follows it comes
  const next: SelfUpdateState = {
    ...state,
    counted: found,
    isCounting: false,
    isStale: false,
    countedAtMs: nowMs,
  };
  const move = nextMove(record, found);
  if (move !== null) return moving(next, found, move, nowMs);
  const again = state.isStale ? countSoon(next, COUNT_EVERY_MS_MIN) : step(next, []);
  return step(again.state, [], found.counts.quiet > 0 ? [WAKE, ...again.effects] : again.effects);
}

function moving(
  state: SelfUpdateState,
  { revision }: CountedSelfUpdate,
  move: SelfUpdateMove,
  nowMs: number,
): Step<SelfUpdateState> {
  const change: Change = {
    write: { kind: 'self-update-moved', request: state.id, revision, move, atMs: nowMs },
    events: [], // that of the end is made of the rows, which know the summary
    notices: move.type === 'complete' ? [{ type: 'events-stored' }] : [],
  };
  if (move.type === 'complete') return step(state, [{ ...change, onceStored: [{ type: 'stop' }] }]);
  const onceStored = move.type === 'due' ? [WAKE, COUNT] : [COUNT];
  return step({ ...state, movedAt: revision, isCounting: true }, [{ ...change, onceStored }]);
}

/** Tells that a request is over. Source: docs/events.md. */
export function completedEvent(request: SelfUpdateRecord, summary: SelfUpdateSummary, atMs: number): DomainEvent {
  return {
    type: 'edge.self_update_request.completed',
    subject: request.id,
    atMs,
    data: {
      self_update_request_id: request.id,
      status: 'completed',
      targeting: request.targeting,
      summary,
      inserted_at: instant(request.insertedAtMs),
      updated_at: instant(atMs),
    },
  };
}

/** The resource of a request that is just created. */
function selfUpdateResource(
  request: SelfUpdateRecord,
  status: SelfUpdateStatus,
  summary: SelfUpdateSummary | null,
): SelfUpdateRequestResource {
  return {
    id: request.id,
    targeting: request.targeting,
    batch_size: request.batchSize,
    max_failures: request.maxFailures,
    health_timeout: request.healthTimeoutMs / 1_000,
    status,
    summary,
    inserted_at: instant(request.insertedAtMs),
    updated_at: instant(request.insertedAtMs),
  };
}
