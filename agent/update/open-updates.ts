/**
 * Self-updates of this machine, as its settings want them. What does them is loaded when there is something to do: an
 * admin asks for one, or there was one before. So an agent that is never updated does not have it in its memory.
 */
import { existsSync } from 'node:fs';
import type { Log } from '../../transport/net/log.ts';
import type { UpdateOutcome } from '../../transport/protocol/updates.ts';
import type { GivenConfig } from '../config.ts';
import type { DataDirectory } from '../data-directory.ts';
import type { SessionUpdates } from '../session/ports.ts';
import { isAnnounced } from './announced.ts';
import type { UpdateCounters, Updates, UpdatesOptions } from './updates.ts';
import type { UpdaterPlace } from './updater-exchange.ts';

/** What it takes of the agent. */
export interface OpenUpdatesOptions extends Pick<UpdatesOptions, 'say' | 'version'> {
  readonly config: GivenConfig;
  readonly directory: Pick<DataDirectory, 'updates' | 'updating' | 'pin'>;
  readonly log: Log;
}

/** While nothing is loaded. */
const NONE: UpdateCounters = { asked: 0, accepted: 0, refused: 0, lastOutcome: null };

/** Loads and asks nothing before `begin`. No method throws. */
export class AgentUpdates implements SessionUpdates {
  readonly #options: OpenUpdatesOptions;
  #updates: Updates | null = null;
  #loading: Promise<Updates> | null = null;
  #isOver = false;

  constructor(options: OpenUpdatesOptions) {
    this.#options = options;
  }

  /** After a start, before there is a session: what an agent before was asked for may be over, and is to be told. */
  async begin(): Promise<void> {
    if (existsSync(this.#options.directory.updates)) (await this.#load()).begin();
  }

  get counters(): UpdateCounters {
    return this.#updates?.counters ?? NONE;
  }

  asked(request: string): void {
    if (this.#updates !== null) return this.#updates.asked(request);
    void this.#load().then((updates) => this.#isOver || updates.asked(request));
  }

  outcomes(): readonly UpdateOutcome[] {
    return this.#updates?.outcomes() ?? [];
  }

  outcomeStored(request: string): void {
    this.#updates?.outcomeStored(request);
  }

  /** Whether an update may be what ends this agent now. */
  get isUnderWay(): boolean {
    return this.#updates?.isUnderWay ?? isAnnounced(this.#options.directory.updating, Date.now());
  }

  close(): void {
    this.#isOver = true;
    this.#updates?.close();
  }

  #load(): Promise<Updates> {
    this.#loading ??= this.#loaded();
    return this.#loading;
  }

  async #loaded(): Promise<Updates> {
    const { config, directory: paths, version, say, log } = this.#options;
    const [{ Updates: Loaded }, { signalUpdate }] = await Promise.all([import('./updates.ts'), import('./signal.ts')]);
    this.#updates = new Loaded({
      isEnabled: config.AGENT_SELF_UPDATE_ENABLED,
      place: updaterPlace(config),
      paths,
      version,
      say,
      signalUpdate,
      wallMs: Date.now,
      log,
    });
    return this.#updates;
  }
}

/** Null: there is no token to ask with. */
export function updaterPlace({
  AGENT_UPDATER_URL: url,
  AGENT_UPDATER_TOKEN: token,
}: Pick<GivenConfig, 'AGENT_UPDATER_URL' | 'AGENT_UPDATER_TOKEN'>): UpdaterPlace | null {
  return token === undefined ? null : { url, token };
}
