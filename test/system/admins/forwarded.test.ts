/**
 * Every operation that only an owner can do, asked at an admin that owns nothing: it answers as the owner does, also
 * when the owner dies in the middle.
 */
import test from 'ava';
import { randomBytes, randomUUID } from 'node:crypto';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import { CLUSTER, FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { enrollment } from '../../support/fleet/raw-agent.ts';
import { restClient, timelyAnswer, type Answer, type Rest } from '../../support/fleet/rest.ts';
import { openCuttable, type Cuttable } from '../../support/net/cuttable.ts';
import { createScope } from '../../support/scope.ts';
import { hangAfter, isCrowded } from '../../support/busy.ts';
import { until } from '../../support/until.ts';
import { newKey } from '../../support/ssh/ssh-keys.ts';

/** Nodes that lose a label while their owner is killed. */
const NODES = 12;

/** What says that nobody knows whether it was done. */
const IN_DOUBT = /^It is not known whether this was done/u;

const scope = createScope();
let fleet: Fleet;
let owner: Rest;
let other: Rest;
/** From the admin that owns nothing to the owner. */
let way: Cuttable;

test.before('two admins start that reach each other by ways that can be cut, and an agent', async () => {
  fleet = await startFleet(scope, { admins: 2, agents: 1 });
  const ways = await Promise.all(fleet.admins.map(({ url }) => openCuttable(scope, () => url)));
  for (const admin of fleet.admins) await admin.kill();
  for (const [place, admin] of fleet.admins.entries()) await admin.start({ ADMIN_PEER_URL: ways[place]?.url ?? '' });
  const owned = await until('an owner', () => ownership(fleet));
  way = ways[fleet.admins.indexOf(owned.owner)] as Cuttable;
  await until('the agent', async () => (await fleet.node()).status === 'healthy');
  owner = restClient(() => owned.owner.url, FLEET_KEYS.MASTER_KEY);
  other = restClient(() => owned.other.url, FLEET_KEYS.MASTER_KEY);
});
test.after.always('they end', () => scope.end());

test.serial('whatever is asked elsewhere is answered as at the owner', async (t) => {
  const there = await story(owner);
  const here = await story(other);

  t.deepEqual(here, there);
  t.deepEqual(
    here.filter(({ status }) => status >= 400).map(({ what, status }) => [what, status]),
    [
      ['the name again', 409],
      ['an alias that is gone', 404],
      ['a limit below the count', 409],
      ['what was cancelled is not again', 409],
      ['its recovery key again', 409],
      ['leaving as the machine that is lost', 401],
      ['leaving twice', 401],
    ],
  );
});

for (const how of ['broken', 'silent'] as const) {
  test.serial(
    `with nothing cut but the way between the two, which is ${how}, all is answered as at the owner`,
    async (t) => {
      t.timeout(hangAfter(120_000));
      const there = await story(owner);

      way.cut(how);
      const here = await story(other);
      way.mend();

      t.deepEqual(here, there);
    },
  );
}

test.serial('a key that was used at one admin has the same answer at the other', async (t) => {
  const node = await enrolled(owner);
  const sent = { body: { username: 'twice' }, headers: { 'idempotency-key': randomUUID() } };

  const [first, second] = [
    await timelyAnswer(() => other.call('POST', `/nodes/${node.node_id}/ssh_usernames`, sent)),
    await timelyAnswer(() => owner.call('POST', `/nodes/${node.node_id}/ssh_usernames`, sent)),
  ];

  t.is(first.status, 201, first.text);
  t.deepEqual(second.data, first.data);
});

test.serial(
  'an owner that is killed in the middle of calls: nothing is lost, nothing twice, doubt is told',
  async (t) => {
    const nodes = await Promise.all(Array.from({ length: NODES }, () => enrolled(owner)));
    const dying = (await ownership(fleet)).owner;
    const asked = nodes.map(async ({ node_id }, place) => ({
      alias: await other.call('POST', `/nodes/${node_id}/aliases`, { body: { name: `killed-${place}` } }),
      deleted:
        place % 2 === 0
          ? null
          : await other.call('PATCH', `/nodes/${node_id}/labels`, { body: { labels: { a: 'b' } } }),
    }));
    await dying.kill();

    const answers = await Promise.all(asked);

    const aliases = await other.get<readonly { name: string }[]>('/aliases?page_size=100');
    for (const [place, { alias, deleted }] of answers.entries()) {
      const there = aliases.filter(({ name }) => name === `killed-${place}`).length;
      if (alias.status === 201) t.is(there, 1, `alias ${place}`);
      else t.true(isToldAsDoubt(alias) || there === 0, `${alias.text} and ${there} of them`);
      if (deleted !== null) t.true(deleted.status === 200 || deleted.status === 503, deleted.text);
    }
    t.true(isCrowded() || answers.some(({ alias }) => alias.status === 201));
  },
);

function isToldAsDoubt({ status, error }: Answer<unknown>): boolean {
  return status === 503 && IN_DOUBT.test(error?.message ?? '');
}

interface Step {
  readonly what: string;
  readonly status: number;
  readonly body: unknown;
}

/** One of each, at this admin; ids, secrets and times are left out of what is compared. */
async function story(at: Rest): Promise<readonly Step[]> {
  const steps: Step[] = [];
  const ask = async (what: string, method: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const { status, data, error } = await answered(at, method, path, body);
    steps.push({ what, status, body: masked(data ?? error?.code ?? null) });
    return data ?? {};
  };
  const { node_id: node, api_token: first } = await enrolled(at, steps);
  const name = `of-${node.slice(-12)}`;
  const alias = await ask('an alias', 'POST', `/nodes/${node}/aliases`, { name });
  await ask('the name again', 'POST', `/nodes/${node}/aliases`, { name });
  await ask('no alias', 'DELETE', `/aliases/${String(alias['id'])}`);
  await ask('an alias that is gone', 'DELETE', `/aliases/${String(alias['id'])}`);
  await ask('labels', 'PATCH', `/nodes/${node}/labels`, { labels: { env: 'prod', tier: 'web' } });
  await ask('no label', 'DELETE', `/nodes/${node}/labels/tier`);
  await ask('labels of many', 'POST', '/nodes/labels', {
    targeting: { type: 'nodes', node_ids: [node] },
    set: { many: 'yes' },
  });
  await ask('a recovery key', 'POST', `/nodes/${node}/recovery_key`);
  await ask('no recovery key', 'DELETE', `/nodes/${node}/recovery_key`);
  const user = await ask('a username', 'POST', `/nodes/${node}/ssh_usernames`, {
    username: 'ada',
    password: 'twelve-or-more',
  });
  const key = await ask('a key of it', 'POST', `/ssh_usernames/${String(user['id'])}/ssh_public_keys`, {
    key_name: 'laptop',
    public_key: newKey().line,
  });
  await ask('no key of it', 'DELETE', `/ssh_public_keys/${String(key['id'])}`);
  await ask('no username', 'DELETE', `/ssh_usernames/${String(user['id'])}`);
  await ask('a limit', 'PATCH', `/clusters/${CLUSTER}`, { node_limit: 100 });
  await ask('a limit below the count', 'PATCH', `/clusters/${CLUSTER}`, { node_limit: 1 });
  const enrolmentKey = await ask('a key of the cluster', 'POST', `/clusters/${CLUSTER}/enrollment_keys`, {
    name: 'one',
  });
  await ask('its name', 'PATCH', `/enrollment_keys/${String(enrolmentKey['id'])}`, { name: 'two' });
  await ask('no key of the cluster', 'DELETE', `/enrollment_keys/${String(enrolmentKey['id'])}`);
  await ask('another cluster', 'POST', '/clusters', { name });
  await ask('a move', 'POST', `/nodes/${node}/change_cluster`, { cluster_name: name });
  await ask('back', 'POST', `/nodes/${node}/change_cluster`, { cluster_name: CLUSTER });
  await ask('no other cluster', 'DELETE', `/clusters/${name}`);
  const command = await ask('a command', 'POST', '/commands', {
    command_text: 'sleep 60',
    targeting: { type: 'nodes', node_ids: [node] },
  });
  const [execution] = await at.get<readonly { id: string }[]>(
    `/command_executions?command_id__in=${String(command['id'])}`,
  );
  await ask('its execution is cancelled', 'POST', `/command_executions/${execution?.id ?? ''}/cancel`);
  await ask('what was cancelled is not again', 'POST', `/command_executions/${execution?.id ?? ''}/cancel`);
  const { recovery_key } = await ask('a recovery key of a machine that is lost', 'POST', `/nodes/${node}/recovery_key`);
  await replaced({ at, node, token: first, recoveryKey: String(recovery_key) }, steps);
  const second = await enrolled(at);
  await ask('a node is deleted', 'DELETE', `/nodes/${second.node_id}`);
  return steps;
}

/** Another machine becomes this node by its recovery key, and leaves. */
async function replaced(
  { at, node, token, recoveryKey }: Readonly<Record<'node' | 'token' | 'recoveryKey', string>> & { readonly at: Rest },
  steps: Step[],
): Promise<void> {
  const again = await comesAs('its machine comes again', at, { node, recoveryKey }, steps);
  await comesAs('its recovery key again', at, { node, recoveryKey }, steps);
  for (const [what, shown] of [
    ['leaving as the machine that is lost', token],
    ['leaving', again.api_token],
    ['leaving twice', again.api_token],
  ] as const) {
    const headers = { authorization: `Bearer ${shown}` };
    const { status } = await timelyAnswer(() => at.call('DELETE', '/agents/me', { headers }));
    steps.push({ what, status, body: null });
  }
}

/** The answer; on a crowded machine, where an admin may not have had the time for it, asked for again under its key. */
async function answered(
  at: Rest,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<Record<string, unknown>>> {
  const sent = { ...(body !== undefined && { body }), headers: { 'idempotency-key': randomUUID() } };
  return timelyAnswer(() => at.call(method, path, sent));
}

/** Lets a node in at this admin, without a program. */
async function enrolled(at: Rest, steps: Step[] = []): Promise<EnrollAnswer> {
  const data = await comesAs('a node comes', at, {}, steps);
  if (steps.at(-1)?.status !== 201) throw new Error(JSON.stringify(steps.at(-1)));
  return data;
}

/** A machine that was never there before enrols at this admin: as a new node, or as this one by its recovery key. */
async function comesAs(
  what: string,
  at: Rest,
  { node, recoveryKey }: { readonly node?: string; readonly recoveryKey?: string },
  steps: Step[],
): Promise<EnrollAnswer> {
  const { key } = await fleet.key();
  const machine_secret = randomBytes(32).toString('base64url');
  const shown = recoveryKey === undefined ? {} : { recovery_key: recoveryKey };
  const body = { ...enrollment(key, node), machine_secret, ...shown };
  const { status, data, error } = await timelyAnswer(() => at.call<EnrollAnswer>('POST', '/agents/enroll', { body }));
  steps.push({ what, status, body: masked(data ?? error?.code ?? null) });
  return data;
}

/** What differs between two things of one kind, taken out: ids, names made of them, secrets and times. */
function masked(body: unknown): unknown {
  return JSON.parse(
    JSON.stringify(body, (name, value: unknown) =>
      MADE_UP.has(name) ||
      (typeof value === 'string' && /^of-|^[0-9a-f]{8}$|-[0-9a-f]{12}(\.|$)|^\d{4}-\d\d-\d\dT/u.test(value))
        ? '…'
        : value,
    ),
  ) as unknown;
}

/** Fields whose value is new each time. */
const MADE_UP: ReadonlySet<string> = new Set([
  'key',
  'recovery_key',
  'api_token',
  'proxy_password',
  'fingerprint',
  'public_key',
  'ipv4_range',
  'ipv6_range',
  'node_count',
  'nodes',
  'settings',
  'admin_urls',
  'mesh_ip',
  'ipv4_address',
  'ipv6_address',
  'status_reason',
]);
