/** The feed of nodes where there are more than a page can follow: one cluster, until there are fewer. */
import { mock } from 'node:test';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ROOT } from '../../../support/source/source-text.ts';

/** As much of it as is looked at here: all of it is written for a browser. */
interface Feed {
  readonly problem: { readonly value: { readonly kind: string } | null };
  follow(cluster: string | null, isAsked?: boolean): void;
}

Object.assign(globalThis, { document: { hidden: true } });
const { Fleet, TOO_MANY_MS } = (await import(join(ROOT, 'console/fleet/feed.ts'))) as {
  readonly Fleet: new (api: object) => Feed;
  readonly TOO_MANY_MS: number;
};

interface Handlers {
  onData(message: object): void;
  onError(error: Error): void;
}

const TOO_MANY = Object.assign(new Error('There are too many.'), { data: { code: 'bad_request' } });
const SNAPSHOT = { id: '1', data: { type: 'snapshot', page: 1, pages: 1, total: 0, nodes: [] } };

/** A feed of a service that refuses all nodes as long as they are too many. `asked`: clusters, null for all nodes. */
function following(t: ExecutionContext) {
  let nowMs = 1_000_000;
  mock.method(performance, 'now', () => nowMs);
  t.teardown(() => mock.restoreAll());
  const service = { isTooMany: true, asked: [] as (string | null)[], later: (ms: number) => (nowMs += ms) };
  const subscribe = ({ cluster_name: name }: { readonly cluster_name?: string }, handlers: Handlers) => {
    const cluster = name ?? null;
    service.asked.push(cluster);
    queueMicrotask(() =>
      cluster === null && service.isTooMany ? handlers.onError(TOO_MANY) : handlers.onData(SNAPSHOT),
    );
    return { unsubscribe() {} };
  };
  return { service, fleet: new Fleet({ nodes: { watch: { subscribe } } }) };
}

const answered = () => new Promise<void>((resolve) => setImmediate(resolve));

test.serial('where all nodes were too many they are followed again once there are fewer', async (t) => {
  const { service, fleet } = following(t);
  const follow = async (cluster: string | null, isAsked = false) => {
    fleet.follow(cluster, isAsked);
    await answered();
  };
  await follow(null);
  t.is(fleet.problem.value?.kind, 'too-many');
  await follow('prod');
  await follow(null);
  t.is(fleet.problem.value?.kind, 'too-many');
  t.deepEqual(service.asked, [null, 'prod'], 'they were counted a moment ago');

  service.later(TOO_MANY_MS);
  await follow(null);
  t.is(fleet.problem.value?.kind, 'too-many');
  await follow(null);
  t.deepEqual(service.asked, [null, 'prod', null]);
  service.isTooMany = false;
  service.later(TOO_MANY_MS);
  await follow(null);

  t.is(fleet.problem.value, null);
  await follow('prod');
  t.deepEqual(service.asked, [null, 'prod', null, null], 'all of them are followed, one cluster among them');
});

test.serial('somebody may ask for all nodes at any time, and what is drawn meanwhile does not end it', async (t) => {
  const { service, fleet } = following(t);
  fleet.follow(null);
  await answered();
  service.isTooMany = false;

  fleet.follow(null, true);
  fleet.follow(null);
  await answered();

  t.is(fleet.problem.value, null);
  t.deepEqual(service.asked, [null, null]);
});
