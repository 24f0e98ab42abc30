/** What an admin hears of the commits of another one, over real HTTP servers. */
import test from 'ava';
import type { Notice } from '../../../../actors/notice.ts';
import { NEWS_WAITING_MAX, WRONG_PROOFS_PER_MINUTE_MAX } from '../../../../transport/admins/limits.ts';

import { NEWS_PATH } from '../../../../transport/admins/protocol/version.ts';
import { routeOf } from '../../../../transport/admins/sealed-connections.ts';
import type { CommandId, ExecutionId, NodeId } from '../../../../transport/protocol/ids.ts';
import { keysOf, linkedAdmins, type LinkedAdmin } from '../../../support/linked-admins.ts';
import { until } from '../../../support/until.ts';
import { upgradeTo } from '../../../support/net/written-calls.ts';

const id = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
const [COMMAND, OTHER_COMMAND] = [id(1) as CommandId, id(2) as CommandId];
const nodeChanged = (n: number): Notice => ({ type: 'node-changed', node: id(n) as NodeId });
const changed = (command: CommandId, status: 'sent' | 'completed' = 'sent'): Notice => ({
  type: 'execution-changed',
  execution: id(7) as ExecutionId,
  command,
  node: id(8) as NodeId,
  clusterName: 'c',
  status,
  exitCode: status === 'completed' ? 3 : null,
});

/** All that it hears from now on. */
function hearing({ news }: LinkedAdmin): Notice[] {
  const heard: Notice[] = [];
  news.subscribe((notices) => void heard.push(...notices));
  return heard;
}

const wantNodes = (admin: LinkedAdmin): void => admin.links.news.want('feeds', { nodes: true, commands: new Set() });
const NODES_MISSED: Notice = { type: 'missed', what: 'nodes' };
const COMMANDS_MISSED: Notice = { type: 'missed', what: 'commands' };
const isMissed = ({ type }: Notice): boolean => type === 'missed';

test('what one admin commits the other hears, in order, once it is told that nothing is left out from now on', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const heard = hearing(a);

  a.links.news.want('feeds', { nodes: true, commands: new Set([COMMAND]) });
  await until('word that it is told', () => heard.length === 2);
  b.bus.publish([nodeChanged(1), changed(COMMAND)]);
  b.bus.publish([changed(COMMAND, 'completed'), { type: 'node-removed', node: id(1) as NodeId }]);
  b.bus.publish([{ type: 'command-removed', command: COMMAND }]);
  await until('all of it', () => heard.length === 7);

  t.deepEqual(heard, [
    NODES_MISSED,
    COMMANDS_MISSED,
    nodeChanged(1),
    { ...changed(COMMAND), again: true },
    { ...changed(COMMAND, 'completed'), again: true },
    { type: 'node-removed', node: id(1) },
    { type: 'command-removed', command: COMMAND },
  ]);
});

test('only what is wanted crosses, and nothing that others would act on', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const heard = hearing(a);
  a.links.news.want('feeds', { nodes: false, commands: new Set([COMMAND]) });
  await until('word that it is told', () => heard.length === 1);

  b.bus.publish([
    nodeChanged(1),
    changed(OTHER_COMMAND),
    { type: 'node-revoked', node: id(1) as NodeId },
    { type: 'command-created', command: COMMAND },
    { type: 'cluster-created', cluster: id(3) as never, epoch: 1 },
    { type: 'events-stored' },
    changed(COMMAND),
  ]);
  await until('what is wanted', () => heard.length === 2);

  t.deepEqual(heard, [COMMANDS_MISSED, { ...changed(COMMAND), again: true }]);
});

test('nobody is dialled while nothing is wanted, and news of others is not told on', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const atB = hearing(b);
  await until('a probe both ways', () => a.links.peers.isReached(b.id) && b.links.peers.isReached(a.id));
  t.deepEqual([a.upgraded.length, b.upgraded.length], [0, 0]);

  wantNodes(a);
  await until('a connection', () => b.upgraded.length === 1);
  b.links.news.want('actors', { nodes: false, commands: 'all' });
  await until('word that it is told', () => b.links.news.coverage(COMMAND) !== null);
  a.news.publish([changed(COMMAND)]);
  a.bus.publish([changed(OTHER_COMMAND)]);
  await until('what a committed', () => atB.some(({ type }) => type === 'execution-changed'));

  t.deepEqual(
    atB.filter(({ type }) => type === 'execution-changed'),
    [{ ...changed(OTHER_COMMAND), again: true }],
  );
});

test('a lost connection is dialled again; possible gaps are announced at once, and again once news flow', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const heard = hearing(a);
  wantNodes(a);
  await until('word that it is told', () => heard.length === 2);

  b.upgraded[0]?.destroy();
  await until('word of the loss, and of what is told again', () => heard.length === 6);
  b.bus.publish([nodeChanged(9)]);
  await until('what came then', () => heard.length === 7);

  t.deepEqual(heard.slice(2), [NODES_MISSED, COMMANDS_MISSED, NODES_MISSED, COMMANDS_MISSED, nodeChanged(9)]);
  t.is(b.upgraded.length, 2);
});

test('more than may wait is left out, and the other admin is told so; what comes then is told', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const heard = hearing(a);
  wantNodes(a);
  await until('word that it is told', () => heard.length === 2);

  b.bus.publish(Array.from({ length: NEWS_WAITING_MAX + 1 }, (_, n) => nodeChanged(n)));
  b.bus.publish([nodeChanged(77)]);
  await until('the last of it', () => heard.length >= 5);
  b.bus.publish(Array.from({ length: NEWS_WAITING_MAX }, (_, n) => nodeChanged(n)));
  await until('all that may wait', () => heard.length === 5 + NEWS_WAITING_MAX);

  t.deepEqual(heard.slice(2, 5), [NODES_MISSED, COMMANDS_MISSED, nodeChanged(77)]);
});

test('what is covered has a number, which is another one after each gap', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const { news } = a.links;
  const coverages: (number | null)[] = []; // at each word: two may come before anybody looks
  a.news.subscribe((notices) => void (notices.some(isMissed) && coverages.push(news.coverage(COMMAND))));
  const told = (count: number) => until('word that it is told', () => coverages.length >= count);

  const before = news.coverage(COMMAND);
  news.want('actors', { nodes: false, commands: new Set([COMMAND]) });
  const unanswered = news.coverage(COMMAND);
  await told(1);
  const first = news.coverage(COMMAND);
  news.want('feeds', { nodes: false, commands: new Set([OTHER_COMMAND]) });
  const meanwhile = news.coverage(COMMAND);
  await told(2);
  const both = [news.coverage(COMMAND), news.coverage(OTHER_COMMAND)];
  b.upgraded[0]?.destroy();
  await until('word that all is told again', () => coverages.length >= 4 && coverages.at(-1) !== null);
  const [lost, again] = [coverages[2], coverages.at(-1) ?? null];

  t.deepEqual([before, unanswered, lost], [null, null, null]);
  t.not(first, null);
  t.deepEqual([meanwhile, both[0]], [first, first]);
  t.not(both[1], null);
  t.true(again !== null && again !== first);
});

test('an admin of before news, or one that is not reached, leaves everything uncovered', async (t) => {
  const { a, b } = await linkedAdmins(t);
  a.saw(a.row, b.row, { ...b.row, id: id(9), name: 'old', instanceId: null, peerUrl: null, linkVersion: null });
  a.links.news.want('feeds', { nodes: false, commands: new Set([COMMAND]) });
  await until('a connection', () => b.upgraded.length === 1);

  const uncovered = a.links.news.coverage(COMMAND);
  a.saw(a.row, b.row);
  await until('all', () => a.links.news.coverage(COMMAND) !== null);

  t.is(uncovered, null);
});

test('whoever is no admin finds no such path, also with a proof for calls, one that was used, or of another key', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const proof = keysOf(a).header(routeOf(NEWS_PATH), b.instanceId, Date.now()).text;
  const first = await upgradeTo(b, NEWS_PATH, proof);

  const refused = [
    await upgradeTo(b, NEWS_PATH, undefined),
    await upgradeTo(b, NEWS_PATH, proof),
    await upgradeTo(b, NEWS_PATH, keysOf(a).header('POST /internal/v1/call', b.instanceId, Date.now()).text),
    await upgradeTo(
      b,
      NEWS_PATH,
      keysOf(a, Buffer.alloc(32, 9)).header(routeOf(NEWS_PATH), b.instanceId, Date.now()).text,
    ),
    await upgradeTo(b, NEWS_PATH, keysOf(a).header(routeOf(NEWS_PATH), b.instanceId, Date.now() - 16_000).text),
    await upgradeTo(
      b,
      NEWS_PATH,
      keysOf({ ...a, id: id(5) }).header(routeOf(NEWS_PATH), b.instanceId, Date.now()).text,
    ),
  ];
  const unknown = await upgradeTo(b, '/internal/v1/nothing', proof);
  const astray = await upgradeTo(b, NEWS_PATH, keysOf(a).header(routeOf(NEWS_PATH), id(6), Date.now()).text);

  t.deepEqual([first, unknown, astray], [101, 404, 421]);
  t.deepEqual(
    refused,
    refused.map(() => 404),
  );
});

test('an address that keeps asking for news with wrong proofs is named in the log once, with those of its calls', async (t) => {
  const { a, b } = await linkedAdmins(t);
  const wrong = (): string => keysOf(a, Buffer.alloc(32, 9)).header(routeOf(NEWS_PATH), b.instanceId, Date.now()).text;

  for (let count = 0; count <= WRONG_PROOFS_PER_MINUTE_MAX + 5; count += 1) await upgradeTo(b, NEWS_PATH, wrong());
  const right = await upgradeTo(b, NEWS_PATH, keysOf(a).header(routeOf(NEWS_PATH), b.instanceId, Date.now()).text);

  t.is(right, 101);
  t.deepEqual(
    b.log.lines.filter(({ message }) => message.startsWith('somebody keeps calling')).map(({ fields }) => fields),
    [{ address: '127.0.0.1' }],
  );
});
