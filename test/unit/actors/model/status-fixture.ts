/** One node between an agent and an admin that both come and go: its actor, its row, its reminders and a clock. */
import { AGENT_RETURN_MS_MAX, REMINDER_LATE_MS_MAX } from '../../../../actors/node/reachability.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import type { Behaviour } from '../../../../actors/behaviour.ts';
import type { Effect } from '../../../../actors/step.ts';
import type { NodeRecord } from '../../../../actors/records.ts';
import type { NodeStatus } from '../../../../actors/resources/node.ts';
import type { HealthReport } from '../../../../transport/protocol/agent-description.ts';
import { nodeState, NOW_MS, REGISTRATION, session, SETTINGS, told } from '../../../support/actors.ts';

/** A change as its event told it. */
export interface ToldStatus {
  readonly atMs: number;
  readonly previous: NodeStatus;
  readonly status: NodeStatus;
}

interface Reminder {
  readonly atMs: number;
  readonly message: NodeMessage;
}

/** What happens are its methods; what was told is remembered. */
export class StatusFixture {
  state: NodeState;
  rows: NodeRecord;
  nowMs = NOW_MS;
  readonly events: ToldStatus[] = [];
  /** When a reason was stored without news. */
  readonly refreshes: number[] = [];
  /** When the node was called unreachable, and from when on that was allowed. */
  readonly unreachables: { readonly atMs: number; readonly notBeforeMs: number }[] = [];
  readonly #behaviour: Behaviour<NodeState, NodeMessage>;
  readonly #reminders = new Map<string, Reminder>();
  #sessions = 0;
  #silentMs = NOW_MS;
  #graceMs = SETTINGS.unreachableAfterMs;

  constructor(dampingMs: number) {
    this.#behaviour = nodeBehaviour({ ...SETTINGS, dampingMs });
    this.state = nodeState();
    this.rows = this.state.record;
  }

  connect(bad: readonly string[]): void {
    this.#sessions += 1;
    this.#say({
      type: 'agent-connected',
      session: session(this.#sessions),
      hello: { registration: REGISTRATION, report: reportOf(bad), holding: [] },
    });
  }

  report(bad: readonly string[]): void {
    if (this.state.session !== null)
      this.#say({ type: 'agent-reported', session: this.state.session.id, report: reportOf(bad) });
  }

  late(): void {
    if (this.state.session !== null) this.#say({ type: 'report-late', session: this.state.session.id });
  }

  disconnect(isOurs = false): void {
    if (this.state.session === null) return;
    this.#silentMs = this.nowMs;
    this.#graceMs = isOurs ? AGENT_RETURN_MS_MAX : SETTINGS.unreachableAfterMs;
    this.#say({ type: 'agent-disconnected', session: this.state.session.id, lastHeardMs: this.nowMs, isOurs });
  }

  /** Time passes, and reminders come when they are due. */
  pass(ms: number): void {
    const endMs = this.nowMs + ms;
    for (let next = this.#nextDue(endMs); next !== null; next = this.#nextDue(endMs)) {
      this.nowMs = Math.max(this.nowMs, next.atMs);
      this.#say(next.message);
    }
    this.nowMs = endMs;
  }

  /** The admin stands still: what was due comes late, and the agent is gone. */
  freeze(ms: number): void {
    this.nowMs += ms;
    const dueMs = this.#reminders.get('silence')?.atMs;
    if (dueMs !== undefined && this.nowMs - dueMs > REMINDER_LATE_MS_MAX) {
      this.#silentMs = this.nowMs;
      this.#graceMs = AGENT_RETURN_MS_MAX;
    }
    this.disconnect(true);
    this.pass(0);
  }

  /** Another admin takes over, or this one starts again: from rows, without sessions. */
  restart(): void {
    this.#reminders.clear();
    this.state = { ...nodeState(), record: this.rows };
    this.#silentMs = this.nowMs;
    this.#graceMs = AGENT_RETURN_MS_MAX;
    this.#perform(this.#behaviour.recoveryEffects(this.state, this.nowMs));
  }

  /** The rows are read again under a live session. */
  doubt(): void {
    this.state = this.#behaviour.refreshed(this.state, { ...nodeState(), record: this.rows });
    this.#perform(this.#behaviour.recoveryEffects(this.state, this.nowMs));
    if (this.state.session === null) {
      this.#silentMs = this.nowMs;
      this.#graceMs = AGENT_RETURN_MS_MAX;
    }
  }

  changesWithin(ms: number): number {
    return this.events.filter(({ atMs }) => atMs > this.nowMs - ms).length;
  }

  #nextDue(endMs: number): Reminder | null {
    const [next] = [...this.#reminders]
      .filter(([, { atMs }]) => atMs <= endMs)
      .toSorted(([, a], [, b]) => a.atMs - b.atMs);
    if (next === undefined) return null;
    this.#reminders.delete(next[0]);
    return next[1];
  }

  #say(message: NodeMessage): void {
    const step = this.#behaviour.transition(this.state, message, this.nowMs);
    for (const { write, events } of step.changes) {
      if (write.kind !== 'node-status') throw new Error(`nothing else changes here: ${write.kind}`);
      if (events.length !== (write.status === this.rows.status ? 0 : 1))
        throw new Error(`${events.length} events for ${this.rows.status} to ${write.status}`);
      for (const event of events) {
        const [previous, status] = told(event, 'previous_status', 'status') as readonly [NodeStatus, NodeStatus];
        this.events.push({ atMs: event.atMs, previous, status });
        if (status === 'unreachable')
          this.unreachables.push({ atMs: event.atMs, notBeforeMs: this.#silentMs + this.#graceMs });
      }
      if (events.length === 0) this.refreshes.push(this.nowMs);
      this.rows = {
        ...this.rows,
        status: write.status,
        standing: structuredClone(write.standing),
        updatedAtMs: write.atMs,
      };
    }
    this.state = step.state;
    this.#perform(step.effects);
  }

  #perform(effects: readonly Effect[]): void {
    for (const effect of effects)
      if (effect.type === 'remind')
        this.#reminders.set(effect.key, { atMs: this.nowMs + effect.afterMs, message: effect.message as NodeMessage });
  }
}

function reportOf(bad: readonly string[]): HealthReport {
  return {
    services: ['ssh', 'disk'].map((name) => ({
      name,
      healthy: !bad.includes(name),
      detail: bad.includes(name) ? 'it is broken' : null,
    })),
  };
}
