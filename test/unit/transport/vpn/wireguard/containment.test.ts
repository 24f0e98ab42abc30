/** What is refused of a change is found and left out. */
import test from 'ava';
import * as fc from 'fast-check';
import { inPieces, perItem, SEARCHES_MAX } from '../../../../../transport/vpn/wireguard/containment.ts';
import { DeviceGone, DeviceProblem, DeviceRefusal } from '../../../../../transport/vpn/wireguard/problem.ts';

/** An interface that takes any change without these, and what it was asked. */
async function change(all: readonly number[], bad: ReadonlySet<number>, check: (item: number) => void = () => {}) {
  const [taken, refused, asked] = [[] as number[], [] as number[], [] as number[]];
  await perItem(
    all,
    check,
    (items) => {
      asked.push(items.length);
      return items.some((item) => bad.has(item)) ? Promise.reject(new DeviceRefusal('no')) : Promise.resolve();
    },
    { taken: (item) => taken.push(item), refused: (item) => refused.push(item) },
  );
  return { taken, refused, asked };
}

test('all but those that are refused is done, in order, whichever they are', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 300 }),
      fc.array(fc.nat({ max: 300 }), { maxLength: 12 }),
      async (count, some) => {
        const all = Array.from({ length: count }, (_, index) => index);
        const bad = new Set(some);
        const { taken, refused } = await change(all, bad);
        t.deepEqual([taken, refused], [all.filter((one) => !bad.has(one)), all.filter((one) => bad.has(one))]);
      },
    ),
  );
});

test('a bad item among a thousand is found in few requests; an interface that refuses all gets boundedly many', async (t) => {
  const all = Array.from({ length: 5_000 }, (_, index) => index);

  const one = await change(all, new Set([77]));
  const every = await change(all, new Set(all));

  t.deepEqual([one.refused, one.taken.length], [[77], 4_999]);
  t.true(one.asked.length <= 5 + 2 * 11, `${one.asked.length}`);
  t.deepEqual([every.taken, every.refused.length], [[], 5_000]);
  t.true(every.asked.length <= 5 + SEARCHES_MAX, `${every.asked.length}`);
});

test('what fails a check is never asked; any other problem than a refusal is one of all', async (t) => {
  const { asked, refused } = await change([1, 2, 3], new Set(), (item) => {
    if (item === 2) throw new DeviceProblem('none');
  });
  t.deepEqual([asked, refused], [[2], [2]]);

  const gone = perItem(
    [1, 2],
    () => {},
    () => Promise.reject(new DeviceGone('gone')),
    { taken: () => {}, refused: () => {} },
  );
  await t.throwsAsync(gone, { instanceOf: DeviceGone });
});

test('pieces hold everything once', (t) => {
  t.deepEqual(
    inPieces(Array.from({ length: 2_049 }, (_, index) => index)).map((piece) => piece.length),
    [1_024, 1_024, 1],
  );
  t.deepEqual(inPieces([]), []);
});
