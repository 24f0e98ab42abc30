/**
 * The checker is done in seconds with what clients do in an hour, also where much is in doubt, and still sees one wrong
 * answer in it.
 *
 * Promises: O3.
 */
import test from 'ava';
import { scaled } from '../../support/busy.ts';
import { seededNumbers } from '../../support/seeded.ts';
import { violations } from './checker.ts';
import { NOTHING, type Call, type Named } from './history.ts';
import { NO_ROWS, type Rows } from './rows.ts';
import { DEADLINES, done, LOST, NONE, refused, shown } from './written-history.ts';

/** Operations of the history that is judged for its time. */
const MANY = 10_000;

/** Longest for them, in ms, on a machine that does nothing else. */
const JUDGED_MS_MAX = 3_000;

test(`${MANY} operations of six clients with some in doubt are judged in seconds, and one wrong answer is found`, (t) => {
  const { history, rows } = servedRightly(MANY);
  const startedMs = performance.now();

  t.deepEqual(violations({ ...NOTHING, calls: history }, rows, DEADLINES), []);
  const tookMs = performance.now() - startedMs;
  t.true(tookMs < scaled(JUDGED_MS_MAX), `${tookMs} ms`);

  const place = history.findLastIndex(({ request, outcome }) => request.verb === 'create' && outcome.type === 'ok');
  const wrong = history.with(place, { ...(history[place] as Call), outcome: refused() });
  t.is(violations({ ...NOTHING, calls: wrong }, rows, DEADLINES).length, 1);
});

/** What six clients are told by a service that does each thing at some moment between call and answer. */
function servedRightly(count: number): { history: Call[]; rows: Rows } {
  const number = seededNumbers(14);
  const chance = (): number => number() / 2 ** 32;
  const holders = new Map<string, { readonly named: Named; readonly id: string }>();
  const history: Call[] = [];
  for (let place = 0; place < count; place += 1) {
    const doneMs = place;
    const named: Named = { resource: 'group', scope: '', name: `g-${Math.floor(place / 500)}-${number() % 12}` };
    const holder = holders.get(named.name);
    const verb = (['create', 'show', 'show', 'delete'] as const)[number() % 4] ?? 'show';
    const id = `id-${place}`;
    if (verb === 'create' && holder === undefined) holders.set(named.name, { named, id });
    if (verb === 'delete') holders.delete(named.name);
    const isLost = verb !== 'show' && chance() < 0.02;
    const told = {
      create: holder === undefined ? done(shown(id, { node: null })) : refused(),
      show: holder === undefined ? NONE : done(shown(holder.id, { node: null })),
      delete: holder === undefined ? refused('not_found') : done(),
    }[verb];
    history.push({
      client: place % 6,
      admin: `admin-${number() % 3}`,
      place: 'any',
      owner: null,
      operation: verb,
      request:
        verb === 'create'
          ? { verb, ...named, key: id, value: null, node: null }
          : verb === 'show'
            ? { verb, ...named }
            : { verb, ...named, id: null },
      invokedMs: doneMs - chance() * 6,
      answeredMs: doneMs + chance() * 6,
      outcome: isLost ? LOST : told,
    });
  }
  const rows = [...holders.values()].map(({ named, id }) => ({ ...named, ...shown(id, { node: null }) }));
  return { history, rows: { ...NO_ROWS, named: rows } };
}
