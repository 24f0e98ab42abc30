/** Garbage of bytes that pass is collected young. */
import { constants, PerformanceObserver } from 'node:perf_hooks';
import test from 'ava';
import { COLLECTED_BYTES, createMinorGc } from '../../../../transport/tunnels/minor-gc.ts';

test('the young generation is collected once per so many bytes, not amid marking, by a collector made on first use', (t) => {
  let made = 0;
  const kinds: string[] = [];
  let isMarking = false;
  const passed = createMinorGc(COLLECTED_BYTES, () => {
    made += 1;
    return { collect: ({ type }) => void kinds.push(type), isMarking: () => isMarking };
  });

  passed(COLLECTED_BYTES - 1);
  t.deepEqual([made, kinds], [0, []]);
  passed(1);
  t.deepEqual([made, kinds], [1, ['minor']]);
  for (let chunk = 0; chunk < 32; chunk += 1) passed(COLLECTED_BYTES / 16);
  t.deepEqual([made, kinds], [1, ['minor', 'minor', 'minor']]);

  isMarking = true;
  passed(COLLECTED_BYTES);
  t.is(kinds.length, 3);
  isMarking = false;
  passed(1);
  t.is(kinds.length, 4);
});

test('the collection is one of the young generation alone', async (t) => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      // Node's types leave it out
      const { kind, flags } = (entry as unknown as { detail: { kind: number; flags: number } }).detail;
      if ((flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) !== 0) resolve(kind);
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  createMinorGc(COLLECTED_BYTES)(COLLECTED_BYTES);
  t.is(await promise, constants.NODE_PERFORMANCE_GC_MINOR);
  observer.disconnect();
});
