/**
 * A world around one node: its actor as the kit runs it, rows with the guards of the database, an agent with a journal,
 * and a network that delays, cuts and forgets. Everything waits until it is told to happen, so that a test may let it
 * happen in any order.
 */
import { Mailbox } from '../../../../supervisors/runtime/mailbox.ts';
import { decideBatch } from '../../../../supervisors/runtime/batch.ts';
import type { Change, Effect } from '../../../../actors/step.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import { NOTHING_READ, OPEN_EXECUTIONS_MAX, type NodeState } from '../../../../actors/node/state.ts';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import type { OpenExecution } from '../../../../actors/records.ts';
import { isTerminal, type ExecutionStatus } from '../../../../actors/resources/command.ts';
import { FULL_LOOK_UPS } from '../../../../actors/node/look-ups.ts';
import { FULL_VPN_ALLOWANCES } from '../../../../actors/node/vpn-state.ts';
import { FULL_ALLOWANCE } from '../../../../actors/ssh/login-attempts.ts';
import type { AdminFrameBody, AgentFrameBody, ExecutionResult } from '../../../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';
import {
  execution,
  HEALTHY,
  nodeRecord,
  NOW_MS,
  open,
  REGISTRATION,
  session,
  SETTINGS,
} from '../../../support/actors.ts';

/** The only edges of an execution. Source: docs/promises.md, C6. */
const EDGES: Readonly<Record<string, readonly string[]>> = {
  pending: ['sent', 'completed', 'cancelled', 'expired', 'dropped'],
  sent: ['completed', 'cancelled', 'expired', 'dropped'],
};

interface Row {
  readonly number: number;
  status: ExecutionStatus;
  cancelRequested: boolean;
}

type Journalled = 'received' | 'running' | 'finished';

/** What a commit may do. `lost`: it is stored, and nobody is told. `failed`: it is not stored, and nobody can tell. */
export type Fate = 'stored' | 'lost' | 'failed';

const behaviour = nodeBehaviour(SETTINGS);

/** One world. Methods are things that happen; each does nothing when it cannot happen now. */
export class Fixture {
  readonly rows = new Map<ExecutionId, Row>();
  readonly events: string[] = [];
  /**
   * How often the process of an execution was started, since the agent's machine last lost its journal or it was
   * acknowledged.
   */
  readonly starts = new Map<ExecutionId, number>();
  /** Reads under way: what they will say, or null before the database looked. */
  #reads: { read(): NodeMessage; answer: NodeMessage | null }[] = [];
  #state: NodeState;
  #mailbox = new Mailbox<NodeMessage>(100_000);
  #journal = new Map<ExecutionId, { state: Journalled; result: ExecutionResult | null }>();
  #connection: {
    id: number;
    up: AgentFrameBody[];
    down: AdminFrameBody[];
    isOpen: boolean;
    sent: Set<ExecutionId>;
  } | null = null;
  #sessions = 0;
  #created = 0;

  constructor() {
    this.#state = this.#loaded();
  }

  get open(): number {
    return this.#state.open.size;
  }

  get idempotencyRecord(): number {
    return this.#state.session?.delivered.size ?? 0;
  }

  get journalled(): number {
    return this.#journal.size;
  }

  /** Stores executions; `isTold`: the command told the node. */
  create(count: number, isTold: boolean): void {
    const executions: OpenExecution[] = [];
    for (let index = 0; index < count; index += 1) {
      this.#created += 1;
      this.rows.set(execution(this.#created), { number: this.#created, status: 'pending', cancelRequested: false });
      executions.push(open(this.#created));
    }
    if (isTold) this.#mailbox.push({ type: 'run', executions });
  }

  /** The agent connects, or connects again while the admin still believes in its older session. */
  connect(): void {
    this.#sessions += 1;
    this.#connection = { id: this.#sessions, up: [], down: [], isOpen: true, sent: new Set() };
    this.#connection.up.push({
      type: 'hello',
      protocol: 1,
      node: nodeRecord().id,
      registration: REGISTRATION,
      report: HEALTHY,
      holding: [...this.#journal.keys()],
    });
    this.#sendResults();
  }

  /** The connection is cut: what was on its way is gone. The admin notices. */
  cut(): void {
    if (this.#connection === null) return;
    this.#mailbox.push({
      type: 'agent-disconnected',
      session: session(this.#connection.id),
      lastHeardMs: NOW_MS,
      isOurs: false,
    });
    this.#connection = null;
  }

  /** One frame of the agent reaches the admin. */
  up(): void {
    const connection = this.#connection;
    const frame = connection?.up.shift();
    if (connection === null || frame === undefined) return;
    const id = session(connection.id);
    if (frame.type === 'hello')
      this.#mailbox.push({
        type: 'agent-connected',
        session: id,
        hello: { registration: frame.registration, report: frame.report, holding: frame.holding },
      });
    if (frame.type === 'acknowledge')
      this.#mailbox.push({ type: 'executions-acknowledged', session: id, executions: frame.executions });
    if (frame.type === 'result') this.#mailbox.push({ type: 'results-arrived', session: id, results: frame.results });
  }

  /** One frame of the admin reaches the agent. */
  down(): void {
    const frame = this.#connection?.down.shift();
    if (frame?.type === 'deliver') this.#receive(frame.deliveries.map((delivery) => delivery.execution));
    if (frame?.type === 'confirm')
      for (const id of frame.executions) if (this.#journal.get(id)?.state === 'finished') this.#journal.delete(id);
    if (frame?.type === 'settle') for (const id of frame.executions) this.#journal.delete(id);
    if (frame?.type === 'cancel')
      for (const id of frame.executions)
        if (this.#journal.has(id) && this.#journal.get(id)?.state !== 'finished')
          this.#finish(id, { outcome: 'cancelled', exit_code: 143 });
  }

  /** The agent starts the oldest that waits. */
  start(): void {
    const found = [...this.#journal].find(([, entry]) => entry.state === 'received');
    if (found === undefined) return;
    const [id, entry] = found;
    this.starts.set(id, (this.starts.get(id) ?? 0) + 1);
    entry.state = 'running';
  }

  /** A process ends. */
  end(): void {
    const found = [...this.#journal].find(([, entry]) => entry.state === 'running');
    if (found !== undefined) this.#finish(found[0], { outcome: 'completed', exit_code: 0 });
  }

  /** The agent's machine goes down: what ran is over, its journal stays. */
  reboot(): void {
    this.cut();
    for (const [id, entry] of this.#journal)
      if (entry.state === 'running') this.#finish(id, { outcome: 'cancelled', exit_code: 137 });
  }

  /** The agent's disk is lost. What it had not acknowledged may be delivered and started anew on the next one. */
  loseJournal(): void {
    this.cut();
    for (const id of this.#journal.keys()) if (this.rows.get(id)?.status === 'pending') this.starts.delete(id);
    this.#journal = new Map();
  }

  /** Someone asks to cancel an execution. */
  cancel(pick: number): void {
    const id = this.#pick(pick);
    if (id !== undefined) this.#mailbox.push({ type: 'cancel', executions: [id], replyTo: 1 as never });
  }

  /**
   * A command is cancelled as a whole: the intent is stored, then the node is told, unless the admin dies in between.
   */
  cancelCommand(pick: number, isTold: boolean): void {
    const id = this.#pick(pick);
    const row = id === undefined ? undefined : this.rows.get(id);
    if (id === undefined || row === undefined || isTerminal(row.status)) return;
    row.cancelRequested = true;
    if (isTold) this.#mailbox.push({ type: 'cancel', executions: [id], replyTo: null });
  }

  /** The sweep ends an execution. */
  expire(pick: number): void {
    const id = this.#pick(pick);
    const row = id === undefined ? undefined : this.rows.get(id);
    if (id === undefined || row === undefined || isTerminal(row.status)) return;
    row.status = 'expired';
    this.#mailbox.push({ type: 'executions-expired', executions: [id] });
  }

  /** The sweep for executions that stand still. */
  rescan(): void {
    this.#mailbox.push({ type: 'rescan' });
    for (const [id, row] of this.rows)
      if (row.cancelRequested && !isTerminal(row.status) && this.#state.open.get(id)?.cancelRequestedAtMs === null)
        this.#mailbox.push({ type: 'cancel', executions: [id], replyTo: null });
  }

  /** The admin is killed and starts again from its rows. */
  killAdmin(): void {
    this.#mailbox = new Mailbox<NodeMessage>(100_000);
    this.#reads = [];
    this.#connection = null;
    this.#state = this.#loaded();
    this.#perform(behaviour.recoveryEffects(this.#state, NOW_MS));
  }

  /** The actor decides a round, and its commit has this fate. */
  decide(fate: Fate = 'stored'): void {
    const before = this.#state;
    const batch = decideBatch(behaviour, before, this.#mailbox, NOW_MS);
    if (batch.messages.length === 0) return;
    if (batch.changes.length > 0 && fate !== 'stored') {
      if (fate === 'lost') for (const change of batch.changes) this.#store(change);
      this.#mailbox.putBack(batch.messages.filter((message) => !('replyTo' in message) || message.replyTo === null));
      return this.#recover(before);
    }
    const refused = batch.changes.filter((change) => !this.#store(change));
    if (refused.length > 0 && batch.alone && 'replyTo' in (batch.messages[0] ?? {})) return this.#recover(before);
    this.#state = batch.state;
    this.#perform(batch.effects);
    if (refused.length === 0) return;
    this.#mailbox.putBack(
      refused.map((change) => ({ type: 'refused', write: change.write, refusal: { code: 'conflict', message: '' } })),
    );
    this.#recover(batch.state);
  }

  /** The database looks at the rows for the oldest read that it has not looked at. */
  look(): void {
    const read = this.#reads.find((one) => one.answer === null);
    if (read !== undefined) read.answer = read.read();
  }

  /** The answer of the oldest read arrives. */
  arrive(): void {
    const index = this.#reads.findIndex((one) => one.answer !== null);
    const [read] = index === -1 ? [] : this.#reads.splice(index, 1);
    if (read?.answer) this.#mailbox.push(read.answer);
  }

  /** Everything is connected and works for as long as anything happens. */
  settle(): void {
    if (this.#connection === null) this.connect();
    this.rescan();
    for (let batch = 0; batch < 20_000; batch += 1) {
      for (const happen of ['up', 'decide', 'look', 'arrive', 'decide', 'down', 'start', 'end'] as const)
        this[happen]();
      if (this.#isIdle()) return;
    }
    throw new Error('it never comes to rest');
  }

  #isIdle(): boolean {
    const { up, down } = this.#connection ?? { up: [], down: [] };
    return (
      this.#mailbox.size() + up.length + down.length + this.#reads.length === 0 &&
      [...this.#journal.values()].every((entry) => entry.state === 'finished')
    );
  }

  #pick(pick: number): ExecutionId | undefined {
    return this.#created === 0 ? undefined : execution(1 + (pick % this.#created));
  }

  #receive(deliveries: readonly ExecutionId[]): void {
    for (const id of deliveries) if (!this.#journal.has(id)) this.#journal.set(id, { state: 'received', result: null });
    this.#connection?.up.push({ type: 'acknowledge', executions: [...deliveries] });
  }

  #finish(id: ExecutionId, how: Pick<ExecutionResult, 'outcome' | 'exit_code'>): void {
    this.#journal.set(id, {
      state: 'finished',
      result: { execution: id, output: '', parts: 0, output_truncated: false, ...how },
    });
    this.#sendResults();
  }

  #sendResults(): void {
    const connection = this.#connection;
    const results = [...this.#journal.values()].flatMap(({ result }) =>
      result !== null && connection?.sent.has(result.execution) === false ? [result] : [],
    );
    if (connection === null || results.length === 0) return;
    for (const result of results) connection.sent.add(result.execution);
    connection.up.push({ type: 'result', results });
  }

  /** False when its guard finds the row in another state. An edge that does not exist is an error. */
  #store({ write, events }: Change): boolean {
    if (!('execution' in write)) return true;
    const row = this.rows.get(write.execution);
    if (row === undefined || isTerminal(row.status) || (write.kind === 'execution-sent' && row.status !== 'pending'))
      return false;
    if (write.kind === 'execution-cancel-requested') row.cancelRequested = true;
    const next =
      write.kind === 'execution-sent' ? 'sent' : write.kind === 'execution-finished' ? write.status : row.status;
    if (next !== row.status && !EDGES[row.status]?.includes(next)) throw new Error(`from ${row.status} to ${next}`);
    row.status = next;
    this.events.push(...events.map((event) => `${event.subject} ${event.type}`));
    return true;
  }

  #recover(live: NodeState): void {
    this.#state = behaviour.refreshed(live, this.#loaded());
    this.#perform(behaviour.recoveryEffects(this.#state, NOW_MS));
  }

  #loaded(): NodeState {
    const all = this.#openRows(() => true);
    return {
      record: nodeRecord({ status: 'healthy' }),
      aliases: [],
      vpn: null,
      session: null,
      open: new Map(all.slice(0, OPEN_EXECUTIONS_MAX).map((one) => [one.id, one])),
      backlog: all.length > OPEN_EXECUTIONS_MAX,
      ...NOTHING_READ,
      sshAllowance: FULL_ALLOWANCE,
      lookUps: FULL_LOOK_UPS,
      vpnAllowances: FULL_VPN_ALLOWANCES,
    };
  }

  #openRows(wanted: (id: ExecutionId) => boolean): OpenExecution[] {
    return [...this.rows]
      .filter(([id, row]) => !isTerminal(row.status) && wanted(id))
      .map(([, row]) =>
        open(row.number, row.status as 'pending' | 'sent', {
          cancelRequestedAtMs: row.cancelRequested ? NOW_MS : null,
        }),
      );
  }

  #perform(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === 'tell') this.#mailbox.push(effect.told.message as NodeMessage);
      if (effect.type === 'send' && this.#connection?.id === (effect.session as number))
        this.#connection.down.push(effect.frame);
      if (effect.type === 'load-open')
        this.#reads.push({ answer: null, read: () => this.#readOpen(effect.limit, new Set(effect.except)) });
      if (effect.type === 'look-up')
        this.#reads.push({
          answer: null,
          read: () => ({
            type: 'executions-looked-up',
            asked: effect.executions,
            executions: this.#openRows((id) => effect.executions.includes(id)),
            retry: effect.retry,
          }),
        });
    }
  }

  #readOpen(limit: number, except: ReadonlySet<string>): NodeMessage {
    const found = this.#openRows((id) => !except.has(id));
    return { type: 'executions-loaded', executions: found.slice(0, limit), more: found.length > limit };
  }
}
