/**
 * Self-updates as the agent has them: each request of an admin becomes one signal to the updater of this machine, and
 * what the updater says comes back, over restarts of either.
 */
import type { Log } from '../../transport/net/log.ts';
import { UPDATE_ERROR_CHARS_MAX } from '../../transport/protocol/limits.ts';
import type { UpdateOutcome } from '../../transport/protocol/updates.ts';
import type { AgentUpdateFrameBody, SessionUpdates } from '../session/ports.ts';
import { Outcomes, type Outcome } from './outcomes.ts';
import type { signalUpdate } from './signal.ts';
import { UpdateRecords, RECORDS_MAX, type UpdateRecord } from './update-records.ts';
import { isUpdateTime, pinOf } from './update-time.ts';
import type { UpdaterPlace } from './updater-exchange.ts';

/** Since the start of the agent, for metrics. */
export interface UpdateCounters {
  /** Requests of admins, each once. */
  asked: number;
  /** What they were answered. */
  accepted: number;
  refused: number;
  /** What came of the last update that is known of; null: none. */
  lastOutcome: Outcome['outcome'] | null;
}

/** What it is made of. */
export interface UpdatesOptions {
  readonly isEnabled: boolean;
  /** Null: there is no token to ask with. */
  readonly place: UpdaterPlace | null;
  /** Files of the data directory. */
  readonly paths: { readonly updates: string; readonly updating: string; readonly pin: string };
  /** Of this agent. */
  readonly version: string;
  /** Says something to the admin of now. False: it is not heard. */
  readonly say: (message: AgentUpdateFrameBody) => boolean;
  readonly signalUpdate: typeof signalUpdate;
  /** Unix time, in ms. */
  readonly wallMs: () => number;
  readonly log: Log;
  /** Tests wait less for outcomes, in ms. */
  readonly outcomeWaitMsMin?: number;
}

/** No method throws. */
export class Updates implements SessionUpdates {
  readonly counters: UpdateCounters = { asked: 0, accepted: 0, refused: 0, lastOutcome: null };
  readonly #options: UpdatesOptions;
  readonly #records: UpdateRecords;
  readonly #outcomes: Outcomes | null;
  readonly #over = new AbortController();
  /** Requests that wait, the one first for which the updater is asked now. */
  readonly #queue: string[] = [];

  constructor(options: UpdatesOptions) {
    const { place, log, paths, outcomeWaitMsMin: waitMsMin } = options;
    this.#options = options;
    this.#records = new UpdateRecords(paths.updates, log);
    this.counters.lastOutcome =
      this.#records.all
        .map(({ outcome }) => outcome?.outcome)
        .filter((outcome) => outcome !== undefined)
        .at(-1) ?? null;
    this.#outcomes =
      place === null
        ? null
        : new Outcomes({
            place,
            awaited: () => this.#awaited(),
            found: (request, outcome) => this.#found(request, outcome),
            log,
            ...(waitMsMin !== undefined && { waitMsMin }),
          });
  }

  /** After a start: what an agent before was asked for may be over. */
  begin(): void {
    this.#outcomes?.begin();
  }

  asked(request: string): void {
    const known = this.#records.find(request);
    if (this.#queue.includes(request)) return; // its answer comes when it is there
    if (known !== null) return this.#answer(known.state === 'asked' ? this.#accepted(known) : known);
    this.counters.asked += 1;
    const problem = this.#problem();
    if (problem !== null) return this.#refused(this.#newRecord(request), problem);
    this.#queue.push(request);
    if (this.#queue.length === 1) void this.#work();
  }

  outcomes(): readonly UpdateOutcome[] {
    return this.#records.all.flatMap(({ request, outcome, is_told: isTold }) =>
      outcome === null || isTold ? [] : [{ request, ...outcome }],
    );
  }

  outcomeStored(request: string): void {
    const record = this.#records.find(request);
    if (record !== null && record.outcome !== null && !record.is_told) this.#records.put({ ...record, is_told: true });
  }

  /** Whether an update may be what ends this agent now. */
  get isUnderWay(): boolean {
    const { paths, version, wallMs } = this.#options;
    return isUpdateTime({ updating: paths.updating, records: this.#records.all, version, nowMs: wallMs() });
  }

  close(): void {
    this.#over.abort();
    this.#outcomes?.close();
  }

  /** Why no updater is asked; null: nothing speaks against it. */
  #problem(): string | null {
    const { isEnabled, place, paths } = this.#options;
    if (!isEnabled) return 'self-updates are switched off on this machine (AGENT_SELF_UPDATE_ENABLED)';
    const pin = pinOf(paths.pin);
    if (pin !== null)
      return `this machine is pinned to its version by the file ${paths.pin}${pin === '' ? '' : ` (${pin})`}: remove it to have it updated`;
    if (place === null) return 'AGENT_UPDATER_TOKEN is not set: set it to the token of the updater of this machine';
    return this.#queue.length >= RECORDS_MAX ? `${RECORDS_MAX} update requests wait on this machine already` : null;
  }

  /** One after the other: an updater does one thing at a time. */
  async #work(): Promise<void> {
    for (let [request] = this.#queue; request !== undefined; [request] = this.#queue) {
      await this.#tell(request);
      this.#queue.shift();
      if (this.#over.signal.aborted) return;
    }
  }

  async #tell(request: string): Promise<void> {
    const { place, signalUpdate } = this.#options;
    const record = this.#newRecord(request);
    if (place === null) return;
    // Before the updater is asked: it may end this agent at any time from then on.
    if (!this.#records.put(record))
      return this.#refused(record, 'that it is asked for could not be written down, so the updater was not asked');
    try {
      const problem = await signalUpdate(place, request, this.#over.signal);
      if (problem !== null) return this.#refused(record, problem);
      this.#options.log.info({ request }, 'The updater was told to update this machine');
      this.#answer(this.#accepted(record));
      this.#outcomes?.begin();
    } catch (error) {
      // The agent stops meanwhile: the next one says accepted.
      if (!this.#over.signal.aborted) this.#refused(record, (error as Error).message);
    }
  }

  #newRecord(request: string): UpdateRecord {
    const { version, wallMs } = this.#options;
    return {
      request,
      state: 'asked',
      error: null,
      from: version,
      at_ms: Math.round(wallMs()),
      outcome: null,
      is_told: false,
    };
  }

  #accepted(record: UpdateRecord): UpdateRecord {
    const accepted: UpdateRecord = { ...record, state: 'accepted' };
    this.counters.accepted += 1;
    this.#records.put(accepted);
    return accepted;
  }

  #refused(record: UpdateRecord, problem: string): void {
    const refused: UpdateRecord = { ...record, state: 'refused', error: problem.slice(0, UPDATE_ERROR_CHARS_MAX) };
    this.counters.refused += 1;
    this.#options.log.warn({ request: record.request, problem }, 'The updater was not told to update this machine');
    this.#records.put(refused);
    this.#answer(refused);
  }

  /** Not heard: the admin asks again, and gets the same. */
  #answer({ request, state, error }: UpdateRecord): void {
    this.#options.say({ type: 'update-answer', request, accepted: state === 'accepted', error });
  }

  /** Also where it is not known whether the updater heard: what came of it says so. */
  #awaited(): readonly string[] {
    return this.#records.all
      .filter(({ state, outcome }) => state !== 'refused' && outcome === null)
      .map(({ request }) => request);
  }

  /** An updater does one thing at a time, for whoever asked last: what came of that came of those before. */
  #found(request: string, outcome: Outcome): void {
    const awaited = this.#awaited();
    for (const one of awaited.slice(0, awaited.indexOf(request) + 1)) this.#ended(one, outcome);
  }

  #ended(request: string, outcome: Outcome): void {
    const record = this.#records.find(request);
    if (record === null) return;
    this.counters.lastOutcome = outcome.outcome;
    const { from, to, error: problem } = outcome;
    if (outcome.outcome === 'rolled_back')
      this.#options.log.warn({ request, from, to, problem }, 'The updater took an update back');
    else this.#options.log.info({ request, outcome: outcome.outcome, from, to }, 'The updater is done');
    this.#records.put({ ...record, outcome });
    this.#options.say({ type: 'update-outcome', request, ...outcome });
  }
}
