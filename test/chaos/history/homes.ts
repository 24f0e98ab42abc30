/** Clusters that stay: some created at each admin, with nodes that have agents. */
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import { REGISTRATION } from '../../../bench/product/simulated-agent.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { until } from '../../support/until.ts';
import type { Fixture } from '../fixture.ts';
import { askAt } from './client.ts';
import type { Call, Request } from './history.ts';
import type { Home } from './landscape.ts';
import type { Recorder } from './recorder.ts';
import type { SimulatedNodes } from './simulated-nodes.ts';

/** Nodes in each. */
const NODES = 2;

/** Created at each admin: so many that one more admin is to have some of them. */
const HOMES = 2;

interface Ground {
  readonly fixture: Fixture;
  readonly recorder: Recorder;
  readonly nodes: SimulatedNodes;
  readonly seed: number;
}

/** Opens HOMES at each admin; resolves when all their nodes are connected. */
export async function openHomes(ground: Ground): Promise<readonly Home[]> {
  const homes: Home[] = [];
  const { admins } = ground.fixture.fleet;
  for (let place = 0; place < HOMES * admins.length; place += 1) {
    const admin = admins[place % admins.length];
    if (admin !== undefined) homes.push(await openHome(ground, admin, place));
  }
  const all = homes.flatMap(({ nodes }) => nodes);
  await until('the sessions of all nodes', () => ground.nodes.live(all) === all.length);
  return homes;
}

async function openHome(ground: Ground, admin: AdminProgram, place: number): Promise<Home> {
  const cluster = `home-${place}`;
  const keyName = `${cluster}-key`;
  const named = { verb: 'create', scope: '', value: null, node: null } as const;
  await done(ground, admin, { ...named, resource: 'cluster', name: cluster, key: cluster }, null);
  const created = await done(
    ground,
    admin,
    { ...named, resource: 'enrollment_key', scope: cluster, name: keyName, key: keyName },
    cluster,
  );
  const id = created.outcome.type === 'ok' ? created.outcome.shown?.[0]?.id : undefined;
  const { key: blob } = await ground.fixture.fleet.rest.get<EnrollmentKeyResource>(`/enrollment_keys/${id}`);
  const ids = Array.from({ length: NODES }, (_, index) => idOf(ground.seed, place, index));
  for (const node of ids) await enrol(ground, admin, { node, cluster, keyName, blob, place });
  return { cluster, keyName, blob, nodes: ids };
}

async function enrol(
  ground: Ground,
  admin: AdminProgram,
  {
    node,
    cluster,
    keyName,
    blob,
    place,
  }: {
    readonly node: string;
    readonly cluster: string;
    readonly keyName: string;
    readonly blob: string;
    readonly place: number;
  },
): Promise<void> {
  const machine = `machine-of-${node}-of-a-home`;
  const body = { ...REGISTRATION, enrollment_key: blob, node_id: node, machine_secret: machine };
  const { outcome } = await done(
    ground,
    admin,
    { verb: 'enrol', node, cluster, keyName, machine, recovery: null },
    cluster,
    body,
  );
  if (outcome.type === 'ok') ground.nodes.start(node, outcome.secret ?? '', place);
}

/** Asks until it is done. */
async function done(
  { recorder }: Ground,
  { name, url }: AdminProgram,
  request: Request,
  cluster: string | null,
  body?: object,
): Promise<Call> {
  const rest = restClient(() => url, FLEET_KEYS.MASTER_KEY);
  return until(`${request.verb} at ${name}`, async () => {
    const call = await askAt({ name, rest, recorder, client: 0 }, request, cluster, body);
    if (call.outcome.type !== 'ok') throw new Error(`it was answered ${JSON.stringify(call.outcome)}`);
    return call;
  });
}

/** The same for the same seed. */
function idOf(seed: number, home: number, index: number): string {
  return `${seed.toString(16).padStart(8, '0').slice(-8)}-0000-4000-8000-${(home * 256 + index).toString(16).padStart(12, '0')}`;
}
