/** What nodes of a run are called where the service tells their names late, or not at all. */
import test from 'ava';
import type { Api } from '../../../../cli/service/client.ts';
import { labelsInTime } from '../../../../cli/run/labels.ts';
import { refused, unreachable } from '../../../support/api/failures.ts';
import { idOf } from '../../../support/api/rows.ts';

const [FIRST, SECOND] = [idOf(0), idOf(1)];

/** A limit that no test here reaches, in ms. */
const NEVER = 300_000;

type List = (signal: AbortSignal, call: number) => Promise<object>;

const named = async () => ({
  data: [FIRST, SECOND].map((id, place) => ({ id, name: `web-${place + 1}`, aliases: [{ name: `web-${place + 1}` }] })),
});

/** What the two nodes are called by a service that answers so, and what was told of missing names. */
async function labelled(list: List, { msMax = NEVER, leave = new AbortController() } = {}) {
  const told: string[] = [];
  let calls = 0;
  const query = (_input: object, { signal }: { readonly signal: AbortSignal }): Promise<object> => {
    calls += 1;
    return list(signal, calls);
  };
  const label = await labelsInTime({ list_nodes: { query } } as unknown as Api, [FIRST, SECOND], {
    leave: leave.signal,
    unknown: (error) => told.push((error as Error).message),
    msMax,
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

test('ids stand for names that do not come in time, whether the service stands still or is away, and that is told once', async (t) => {
  const standing = await labelled(
    (signal) => new Promise((_answer, reject) => signal.addEventListener('abort', () => reject(unreachable()))),
    { msMax: 50 },
  );
  const away = await labelled(() => Promise.reject(unreachable()), { msMax: 50 });

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
