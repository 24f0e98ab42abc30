/** Agents by hand that are asked to update: what their updaters say and do is up to the test. */
import type { AdminFrame } from '../../../transport/protocol/frames.ts';
import { PROTOCOL_VERSION } from '../../../transport/protocol/version.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import { rawAgent, reportOf, type RawAgent, type RawSession } from './raw-agent.ts';

/**
 * What an agent does when it is asked: its updater takes the signal, and it is back with a new version; it takes it,
 * and nothing comes of it; it refuses; or nobody says anything.
 */
export type Updater = 'updates' | 'takes' | 'refuses' | 'silent';

/** Version of agents before and after. */
export const OLD = '1.0.0';
export const NEW = '1.1.0';

/** How often agents report, in ms: well before an admin takes them for dead, or their health for unknown. */
const REPORT_EVERY_MS = 5_000;

/** One of them. */
export class UpdatingAgent {
  readonly node: string;
  readonly #scope: Scope;
  /** Requests that it was asked for, each time. */
  readonly asked: string[] = [];
  /** What it does with the next request. */
  updater: Updater;
  version = OLD;
  /** What it reports of itself when it says hello, and from then on. */
  isHealthy = true;
  #session: RawSession | null = null;
  readonly #agent: RawAgent;
  readonly #reporting: NodeJS.Timeout;
  /** Its test is over, or what else it belongs to. */
  #isOver = false;

  constructor(scope: Scope, agent: RawAgent, updater: Updater = 'updates') {
    this.#scope = scope;
    this.#agent = agent;
    this.node = agent.node_id;
    this.updater = updater;
    this.#reporting = setInterval(
      () => this.#session?.send({ type: 'report', report: reportOf(this.isHealthy) }),
      REPORT_EVERY_MS,
    );
    this.#reporting.unref();
    scope.teardown(() => this.#stop());
  }

  /** Comes, or comes again in place of its session. Rejects when nobody welcomes it. */
  async connect(): Promise<RawSession> {
    this.#session = null;
    this.#scope.teardown(() => this.#stop()); // as soon as its session is ended, whatever else is to be undone
    this.#session = await this.#agent.connect({
      protocol: PROTOCOL_VERSION,
      version: this.version,
      selfUpdates: true,
      isHealthy: this.isHealthy,
      heard: (frame) => this.#heard(frame),
    });
    return this.#session;
  }

  /** The same node, whose next sessions are with the admin of this URL. What it was asked for it remembers. */
  movedTo(url: () => string): UpdatingAgent {
    this.cut();
    const moved = new UpdatingAgent(this.#scope, rawAgent(this.#scope, url, this.#agent), this.updater);
    moved.version = this.version;
    moved.asked.push(...this.asked);
    return moved;
  }

  /** Where it is connected. */
  get session(): RawSession {
    if (this.#session === null) throw new Error('it is not connected');
    return this.#session;
  }

  /** Goes without a word. */
  cut(): void {
    this.#session?.cut();
    this.#session = null;
  }

  answer(request: string, error: string | null = null): void {
    this.session.send({ type: 'update-answer', request, accepted: error === null, error });
  }

  #stop(): void {
    this.#isOver = true;
    clearInterval(this.#reporting);
  }

  #heard(frame: AdminFrame): void {
    if (frame.type !== 'update') return;
    this.asked.push(frame.request);
    if (this.updater !== 'silent') void this.#act(frame.request);
  }

  /** The frame may be here before the session is: it comes right behind the welcome. */
  async #act(request: string): Promise<void> {
    await until('it is connected', () => this.#session !== null || this.#isOver);
    if (this.#isOver) return;
    this.answer(request, this.updater === 'refuses' ? 'the updater answered 401' : null);
    if (this.updater === 'updates') await this.#update();
  }

  /** As a real one does: its process ends, and the next one is of another version. */
  async #update(): Promise<void> {
    this.version = NEW;
    await until('it is back', async () => this.#isOver || (await this.connect()));
  }
}
