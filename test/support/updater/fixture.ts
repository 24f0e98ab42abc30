/** A machine with an updater: a signed repository, a mirror of it, directories, and an agent that is kept running. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLog } from '../../../agent/log.ts';
import { bootstrap } from '../../../agent/updater/commands.ts';
import { layoutOf, type Layout } from '../../../agent/updater/layout.ts';
import { openUpdater } from '../../../agent/updater/open.ts';
import type { UpdaterParts } from '../../../agent/updater/parts.ts';
import { UPDATER_SETTINGS } from '../../../agent/updater/settings.ts';
import type { State, Trigger } from '../../../agent/updater/state.ts';
import { drive, stateOf } from '../../../agent/updater/updater.ts';
import { linkedVersion } from '../../../agent/updater/versions.ts';
import { readSettings } from '../../../settings/environment.ts';
import { mirrorReleases, type ReleaseMirror } from '../releases/release-mirror.ts';
import { createReleases, type ReleaseFixture } from '../releases/releases.ts';
import type { Scope } from '../scope.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { SHELL_RUNTIME, smallAgent, smallUpdater, type Behaviour, type Serving } from './small-agent.ts';
import { Supervisor } from './supervisor.ts';
import { TIMES } from './times.ts';

/** A machine. */
export interface UpdaterFixture {
  readonly releases: ReleaseFixture;
  readonly mirror: ReleaseMirror;
  readonly layout: Layout;
  readonly dataDirectory: string;
  /** Settings of the updater. */
  readonly env: Readonly<Record<string, string>>;
  readonly agent: Supervisor;
  /** What the updater logged. */
  readonly lines: readonly string[];
  /** What the steps work with, with some of it changed. */
  parts(changes?: Partial<UpdaterParts>): UpdaterParts;
  /** Signs a release and has the channel name it. */
  publish(version: string, behaviour?: Behaviour, updater?: Serving): Promise<void>;
  /** Installs what the channel names and starts the agent. */
  install(): Promise<void>;
  /** Asks for an update and waits for its end. */
  update(trigger?: Partial<Trigger>, changes?: Partial<UpdaterParts>): Promise<State>;
  /** The version that is current. */
  current(): string | null;
  /** The version that the agent which runs now says it has. */
  running(): string | null;
}

/** Makes one; nothing is published or installed. `directory`: where the updater has its files. */
export async function updaterFixture(scope: Scope, directory?: string): Promise<UpdaterFixture> {
  const place = temporaryDirectory(scope);
  const releases = await createReleases(join(place, 'releases'));
  const mirror = await mirrorReleases(scope, releases.directory);
  const dataDirectory = join(place, 'agent');
  mkdirSync(dataDirectory);
  const layout = layoutOf(directory ?? join(place, 'updater'));
  const env = {
    UPDATER_DIR: layout.directory,
    UPDATER_MIRRORS: mirror.url,
    UPDATER_AGENT_DATA_DIR: dataDirectory,
    UPDATER_RESTART_COMMAND: `pid=$(cat ${join(place, 'agent.pid')}); kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.02; done`,
    UPDATER_LISTEN: '127.0.0.1:0',
  };
  const agentEnv = { UPDATER_DIR: layout.directory, AGENT_DATA_DIR: dataDirectory };
  const agent = new Supervisor(scope, 'agent', agentEnv, join(place, 'agent.pid'));
  const lines: string[] = [];
  const log = createLog('debug', false, (line) => void lines.push(line), 'edge-updater');
  const parts = (changes: Partial<UpdaterParts> = {}): UpdaterParts => {
    const read = readSettings(UPDATER_SETTINGS, env);
    if (!read.ok) throw new Error(read.problems.join('; '));
    const opened = openUpdater(read.settings, log, new AbortController().signal);
    const service = {
      restart: () => agent.restart(),
      logTail: async () => agent.output.slice(-200),
      isStopped: async () => false,
      isAbandoned: async () => false,
    };
    return { ...opened, times: TIMES, lookMs: 25, againMs: 100, service, ...changes };
  };
  return {
    releases,
    mirror,
    layout,
    dataDirectory,
    env,
    agent,
    lines,
    parts,
    async publish(version, behaviour = 'well', updater = 'ends') {
      const files = {
        node: SHELL_RUNTIME,
        'edge-agent.cjs': smallAgent(version, behaviour),
        'edge-updater.cjs': smallUpdater(version, updater),
      };
      await releases.add({ version, files });
      await releases.promote(version, { allowDowngrade: false });
    },
    async install() {
      const root = join(place, 'root.json');
      if (!existsSync(root)) writeFileSync(root, releases.root);
      await bootstrap(parts(), root);
      agent.start();
    },
    update: (trigger = {}, changes = {}) => {
      const asked: Trigger = { by: 'request', request: null, force: false, asked_at: Date.now(), ...trigger };
      return drive(parts(changes), { type: 'asked', trigger: asked });
    },
    current: () => linkedVersion(layout, layout.current)?.version ?? null,
    running() {
      try {
        const health = JSON.parse(readFileSync(join(dataDirectory, 'health.json'), 'utf8')) as {
          version: string;
          pid: number;
        };
        return health.pid === agent.pid ? health.version : null; // not of one that ended
      } catch {
        return null;
      }
    },
  };
}

/** A machine with 0.1.0 installed and 0.2.0 published. */
export async function outdatedFixture(scope: Scope): Promise<UpdaterFixture> {
  const machine = await updaterFixture(scope);
  await machine.publish('0.1.0');
  await machine.install();
  await machine.publish('0.2.0');
  return machine;
}

/** The state as it stands on the disk. */
export function storedState(fixture: UpdaterFixture): State {
  return stateOf(fixture.parts());
}
