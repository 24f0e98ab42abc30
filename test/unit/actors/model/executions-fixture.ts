/**
 * All that is around one node: its actor as the kit runs it, rows with the guards of the database, an agent with a
 * journal, and a network that delays, cuts and forgets. Everything waits until it is told to happen, so that a test may
 * let it happen in any order.
 */
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import { OPEN_EXECUTIONS_MAX, type NodeState } from '../../../../actors/node/state.ts';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import type { Effect } from '../../../../actors/step.ts';
import { decideBatch } from '../../../../supervisors/runtime/batch.ts';
import { Mailbox } from '../../../../supervisors/runtime/mailbox.ts';
import type { AdminFrameBody, AgentFrameBody } from '../../../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';
import { HEALTHY, nodeRecord, nodeState, NOW_MS, REGISTRATION, session, SETTINGS } from '../../../support/actors.ts';
import { AgentMachine } from './agent-machine.ts';
import { ExecutionRows } from './execution-rows.ts';

/** What a commit may do. `lost`: it is stored, and nobody is told. `failed`: it is not stored, and nobody can tell. */
export type Fate = 'stored' | 'lost' | 'failed';

const behaviour = nodeBehaviour(SETTINGS);

/** Methods are things that happen; each does nothing when it cannot happen now. */
export class Fixture {
  readonly rows = new ExecutionRows();
  readonly machine = new AgentMachine();
  /** Reads under way: what they will say, or null before the database looked. */
  #reads: { read(): NodeMessage; answer: NodeMessage | null }[] = [];
  #state: NodeState;
  #mailbox = new Mailbox<NodeMessage>(100_000);
  #connection: {
    id: number;
    up: AgentFrameBody[];
    down: AdminFrameBody[];
    isOpen: boolean;
    sent: Set<ExecutionId>;
  } | null = null;
  #sessions = 0;

  constructor() {
    this.#state = this.#loaded();
  }

  get open(): number {
    return this.#state.open.size;
  }

  /** Executions that the live session is known to have. */
  get delivered(): number {
    return this.#state.session?.delivered.size ?? 0;
  }

  /** Stores executions; `isTold`: the command told the node. */
  create(count: number, isTold: boolean): void {
    const executions = this.rows.create(count);
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
      holding: [...this.machine.holding],
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
      this.#mailbox.push({
        type: 'executions-acknowledged',
        session: id,
        executions: frame.executions,
        atMs: NOW_MS,
      });
    if (frame.type === 'result') this.#mailbox.push({ type: 'results-arrived', session: id, results: frame.results });
  }

  /** One frame of the admin reaches the agent. */
  down(): void {
    const frame = this.#connection?.down.shift();
    if (frame?.type === 'deliver') {
      const executions = frame.deliveries.map((delivery) => delivery.execution);
      this.machine.receive(executions);
      this.#connection?.up.push({ type: 'acknowledge', executions });
    }
    if (frame?.type === 'confirm') this.machine.confirmed(frame.executions);
    if (frame?.type === 'settle') this.machine.settle(frame.executions);
    if (frame?.type === 'cancel') this.machine.cancel(frame.executions);
    this.#sendResults();
  }

  /** The agent starts the oldest that waits. */
  start(): void {
    this.machine.start();
  }

  /** A process ends. */
  end(): void {
    this.machine.end();
    this.#sendResults();
  }

  /** The agent's machine goes down: what ran is over, its journal stays. */
  reboot(): void {
    this.cut();
    this.machine.reboot();
  }

  /** The agent's disk is lost. What it had not acknowledged may be delivered and started anew on the next one. */
  loseJournal(): void {
    this.cut();
    this.machine.lose((id) => this.rows.all.get(id)?.status === 'pending');
  }

  /** Someone asks to cancel an execution. */
  cancel(pick: number): void {
    const id = this.rows.pick(pick);
    if (id !== undefined) this.#mailbox.push({ type: 'cancel', executions: [id], replyTo: 1 as never });
  }

  /**
   * A command is cancelled as a whole: the intent is stored, then the node is told, unless the admin dies in between.
   */
  cancelCommand(pick: number, isTold: boolean): void {
    const picked = this.rows.pickOpen(pick);
    if (picked === null) return;
    const [id, row] = picked;
    row.cancelRequested = true;
    if (isTold) this.#mailbox.push({ type: 'cancel', executions: [id], replyTo: null });
  }

  /** The sweep ends an execution. */
  expire(pick: number): void {
    const picked = this.rows.pickOpen(pick);
    if (picked === null) return;
    const [id, row] = picked;
    row.status = 'expired';
    this.#mailbox.push({ type: 'executions-expired', executions: [id] });
  }

  /** The sweep for executions that stand still. */
  rescan(): void {
    this.#mailbox.push({ type: 'rescan' });
    for (const { id, cancelRequestedAtMs } of this.rows.open())
      if (cancelRequestedAtMs !== null && this.#state.open.get(id)?.cancelRequestedAtMs === null)
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
      if (fate === 'lost') for (const change of batch.changes) this.rows.store(change);
      this.#mailbox.putBack(batch.messages.filter((message) => !('replyTo' in message) || message.replyTo === null));
      return this.#recover(before);
    }
    const refused = batch.changes.filter((change) => !this.rows.store(change));
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
    const waiting = this.#mailbox.size() + up.length + down.length + this.#reads.length;
    return waiting === 0 && this.machine.isIdle;
  }

  #sendResults(): void {
    const connection = this.#connection;
    const results = this.machine.results.filter(({ execution }) => connection?.sent.has(execution) === false);
    if (connection === null || results.length === 0) return;
    for (const result of results) connection.sent.add(result.execution);
    connection.up.push({ type: 'result', results });
  }

  #recover(live: NodeState): void {
    this.#state = behaviour.refreshed(live, this.#loaded());
    this.#perform(behaviour.recoveryEffects(this.#state, NOW_MS));
  }

  #loaded(): NodeState {
    const all = this.rows.open();
    return nodeState({
      record: nodeRecord({ status: 'healthy' }),
      open: new Map(all.slice(0, OPEN_EXECUTIONS_MAX).map((one) => [one.id, one])),
      backlog: all.length > OPEN_EXECUTIONS_MAX,
    });
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
            executions: this.rows.open((id) => effect.executions.includes(id)),
            leftMs: new Map(),
            retry: effect.retry,
          }),
        });
    }
  }

  #readOpen(limit: number, except: ReadonlySet<string>): NodeMessage {
    const found = this.rows.open((id) => !except.has(id));
    return { type: 'executions-loaded', executions: found.slice(0, limit), more: found.length > limit };
  }
}
