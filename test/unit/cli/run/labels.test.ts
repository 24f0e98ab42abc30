/** What nodes of a run are called where the service tells their names late, or not at all. */
import test from 'ava';
import type { Api } from '../../../../cli/service/client.ts';
import { labelsInTime } from '../../../../cli/run/labels.ts';
import { refused, unreachable } from '../../../support/api/failures.ts';
import { idOf } from '../../../support/api/rows.ts';

const [FIRST, SECOND] = [idOf(0), idOf(1)];

const never = (): AbortSignal => new AbortController().signal;
const soon = (): AbortSignal => AbortSignal.timeout(50);

type List = (signal: AbortSignal, call: number) => Promise<object>;

const named = async () => ({
  data: [FIRST, SECOND].map((id, place) => ({ id, name: `web-${place + 1}`, aliases: [{ name: `web-${place + 1}` }] })),
});

/** What the two nodes are called by a service that answers so, and what was told of missing names. */
async function labelled(
  list: List,
  { limit = never, leave = new AbortController(), more = [] as readonly string[] } = {},
) {
  const told: string[] = [];
  let calls = 0;
  const query = (_input: object, { signal }: { readonly signal: AbortSignal }): Promise<object> => {
    calls += 1;
    return list(signal, calls);
  };
  const label = await labelsInTime({ list_nodes: { query } } as unknown as Api, [FIRST, SECOND, ...more], {
    leave: leave.signal,
    unknown: (error) => told.push((error as Error).message),
    limit,
  });
  return { called: [label(FIRST), label(SECOND)], told, calls };
}

test('names that cannot be had in one moment are asked for again', async (t) => {
  const { called, told, calls } = await labelled(async (_signal, call) => {
    if (call === 1) throw unreachable();
    return named();
  });

  t.deepEqual(called, ['web-1', 'web-2']);
  t.deepEqual([told, calls], [[], 2]);
});

test('each page of names has its time, and is kept while a later one is asked for again', async (t) => {
  const limits: AbortController[] = [];
  const limit = (): AbortSignal => {
    limits.push(new AbortController());
    return limits.at(-1)!.signal;
  };
  const more = Array.from({ length: 100 }, (_none, place) => idOf(place + 2));

  const { called, told, calls } = await labelled(
    async (_signal, call) => {
      if (call === 1) return named();
      limits[0]?.abort(); // the first page was asked for that long ago
      if (call === 2) throw unreachable();
      return { data: [] };
    },
    { limit, more },
  );

  t.deepEqual(called, ['web-1', 'web-2']);
  t.deepEqual([told, calls], [[], 3]);
});

test('ids stand for names that do not come in time, whether the service stands still or is away, and that is told once', async (t) => {
  const standing = await labelled(
    (signal) => new Promise((_answer, reject) => signal.addEventListener('abort', () => reject(unreachable()))),
    { limit: soon },
  );
  const away = await labelled(() => Promise.reject(unreachable()), { limit: soon });

  for (const { called, told } of [standing, away]) {
    t.is(new Set(called).size, 2);
    t.true(FIRST.startsWith(called[0]!) && SECOND.startsWith(called[1]!), called.join());
    t.is(told.length, 1);
  }
});

test('names that somebody may not know are not waited for', async (t) => {
  const { told, calls } = await labelled(() => Promise.reject(refused('forbidden', 'Not with this key')));

  t.deepEqual([told, calls], [['Not with this key'], 1]);
});

test('who has left hears nothing of names', async (t) => {
  const leave = new AbortController();

  const { told } = await labelled(
    () => {
      leave.abort();
      return Promise.reject(unreachable());
    },
    { leave },
  );

  t.deepEqual(told, []);
});
