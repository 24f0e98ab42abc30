import test from 'ava';
import * as fc from 'fast-check';
import { createChangeLog, type ChangeLog } from '../../../../api/feeds/change-log.ts';

interface Thing {
  readonly id: string;
  readonly size: number;
  readonly colour: string;
}

/** A reader as clients are: patches are merged by id, removed ones are dropped. */
class Reader {
  position: number;
  /** Where it last had everything. */
  base: number;
  state: Map<string, Thing>;
  snapshots = 1;

  constructor(log: ChangeLog<Thing>) {
    this.base = this.position = log.head;
    this.state = new Map([...log.values()].map((thing) => [thing.id, thing]));
  }

  catchUp(log: ChangeLog<Thing>): void {
    do this.readSome(log, 2);
    while (this.position < log.head);
  }

  readSome(log: ChangeLog<Thing>, max: number): void {
    const changes = log.after(this.position, max, this.base);
    if (changes === null) {
      this.state = new Map([...log.values()].map((thing) => [thing.id, thing]));
      this.snapshots += 1;
    } else {
      for (const patch of changes.patches) this.state.set(patch.id, { ...this.state.get(patch.id), ...patch } as Thing);
      for (const id of changes.removed) this.state.delete(id);
    }
    this.position = changes?.upTo ?? log.head;
    if (this.position === log.head) this.base = log.head;
  }
}

const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('put' as const),
      id: fc.integer({ min: 0, max: 7 }).map(String),
      size: fc.integer({ min: 0, max: 2 }),
      colour: fc.constantFrom('red', 'blue'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('remove' as const), id: fc.integer({ min: 0, max: 7 }).map(String) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('read some' as const), reader: fc.integer({ min: 0, max: 2 }) }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('read' as const), reader: fc.integer({ min: 0, max: 2 }) }) },
);

test('whenever readers catch up they have exactly what is there, however little is remembered', (t) => {
  fc.assert(
    fc.property(
      fc.array(operation, { maxLength: 200 }),
      fc.integer({ min: 2, max: 20 }),
      (operations, rememberedMax) => {
        const log = createChangeLog<Thing>([{ id: '0', size: 0, colour: 'red' }], rememberedMax);
        const model = new Map<string, Thing>([...log.values()].map((thing) => [thing.id, thing]));
        const readers = [new Reader(log), new Reader(log), new Reader(log)];
        const isRight = (reader: Reader | undefined): boolean => {
          reader?.catchUp(log);
          return (
            JSON.stringify([...(reader?.state.values() ?? [])].toSorted(byId)) ===
            JSON.stringify([...model.values()].toSorted(byId))
          );
        };

        for (const one of operations) {
          if (one.type === 'put') {
            const { id, size, colour } = one;
            model.set(id, { id, size, colour });
            log.put({ id, size, colour });
          } else if (one.type === 'remove') {
            model.delete(one.id);
            log.remove(one.id);
          } else if (one.type === 'read some') readers[one.reader]?.readSome(log, 1);
          else if (!isRight(readers[one.reader])) return false;
        }
        return readers.every(isRight) && log.size === model.size;
      },
    ),
    { numRuns: 500 },
  );
  t.pass();
});

test('a patch holds only what changed, and all of a thing that is new to the reader', (t) => {
  const log = createChangeLog<Thing>([{ id: 'a', size: 1, colour: 'red' }], 10);

  log.put({ id: 'a', size: 2, colour: 'red' });
  log.put({ id: 'b', size: 1, colour: 'blue' });
  const since = log.head;
  log.put({ id: 'b', size: 1, colour: 'red' });

  t.deepEqual(log.after(0), {
    patches: [
      { id: 'a', size: 2 },
      { id: 'b', size: 1, colour: 'red' },
    ],
    removed: [],
    upTo: 3,
  });
  t.deepEqual(log.after(since), { patches: [{ id: 'b', colour: 'red' }], removed: [], upTo: 3 });
});

test('what is put again unchanged is no change', (t) => {
  const log = createChangeLog<Thing>([{ id: 'a', size: 1, colour: 'red' }], 10);

  t.false(log.put({ id: 'a', size: 1, colour: 'red' }));
  t.is(log.head, 0);
});

test('a position older than what is remembered, or of another log, is not answered', (t) => {
  const log = createChangeLog<Thing>([], 4);
  for (let n = 0; n < 20; n += 1) log.put({ id: String(n), size: n, colour: 'red' });

  t.is(log.after(0), null);
  t.is(log.after(log.head + 1), null);
  t.is(log.after(Number.NaN), null);
  t.deepEqual(log.after(log.head), { patches: [], removed: [], upTo: 20 });
});

test('one thing that changes for ever does not grow what is remembered', (t) => {
  const log = createChangeLog<Thing>(
    [
      { id: 'a', size: 0, colour: 'red' },
      { id: 'b', size: 0, colour: 'red' },
    ],
    10,
  );
  log.put({ id: 'b', size: 1, colour: 'red' });
  const position = log.head;

  for (let n = 1; n <= 10_000; n += 1) log.put({ id: 'a', size: n, colour: 'red' });

  t.deepEqual(log.after(position), {
    patches: [{ id: 'a', size: 10_000 }],
    removed: [],
    upTo: 10_001,
  });
});

function byId(left: Thing, right: Thing): number {
  return left.id.localeCompare(right.id);
}
