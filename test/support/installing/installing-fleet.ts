/** A fleet whose admin has the release of now published, for machines that are installed from it. */
import { createClient } from '../../../cli/service/client.ts';
import { publishRepository } from '../../../cli/release/publish.ts';
import { startEdge } from '../edge-program.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../fleet.ts';
import type { ReleaseFixture } from '../releases/releases.ts';
import type { Scope } from '../scope.ts';
import { startMachine, type Machine } from './machine.ts';
import { realRelease } from './real-release.ts';

/** The version that is published. */
export const VERSION = '0.2.0';

/** What tests do with it. */
export interface InstallingFleet {
  readonly fleet: Fleet;
  /** What `edge node add` prints for these words, for root on the machine: without its sudo. */
  readonly line: (...words: readonly string[]) => Promise<string>;
  /** Publishes that version again, signed by other keys. */
  readonly publish: () => Promise<ReleaseFixture>;
  /** Runs `edge`. */
  readonly edge: (...words: readonly string[]) => ReturnType<typeof startEdge>['ended'];
  /**
   * A machine whose agents make no network interface on the network that it shares. With it end its programs, of whose
   * usual ports there is one each.
   */
  readonly machine: (scope: Scope) => Promise<Machine>;
}

/** Starts one. */
export async function startInstallingFleet(scope: Scope): Promise<InstallingFleet> {
  const [release, fleet] = await Promise.all([realRelease(scope, VERSION), startFleet(scope)]);
  const connection = { url: fleet.admin().url, key: FLEET_KEYS.API_KEY };
  const bring = ({ repository }: ReleaseFixture) =>
    publishRepository(repository, { api: createClient(connection), connection });
  await bring(release);
  const edge = (...words: readonly string[]) =>
    startEdge(words, { EDGE_URL: connection.url, EDGE_API_KEY: connection.key }).ended;
  return {
    fleet,
    edge,
    async publish() {
      const other = await realRelease(scope, VERSION);
      await bring(other);
      return other;
    },
    async line(...words) {
      const { status, stdout, stderr } = await edge('node', 'add', ...words, '--public-url', connection.url);
      if (status !== 0) throw new Error(stderr);
      return stdout.trim().replace('| sudo sh', '| sh');
    },
    async machine(ofTest) {
      const machine = await startMachine(ofTest);
      machine.write('/etc/edge-agent/agent.env', SETTINGS, 0o600);
      return machine;
    },
  };
}

/** Settings that are there before stay: here those of a machine that shares its network with others. */
const SETTINGS = "VPN_ENABLED='false'\n";

/** The id of the node that the line of an installation tells of. */
export function nodeIn(said: string): string {
  return /\((?<id>[\da-f-]{36})\)/u.exec(said)?.groups?.['id'] ?? said;
}
