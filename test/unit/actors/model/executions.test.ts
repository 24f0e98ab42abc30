/** Executions against a world in which anything happens at any time: what must hold whatever the order. */
import test from 'ava';
import * as fc from 'fast-check';
import { OPEN_EXECUTIONS_MAX } from '../../../../actors/node/state.ts';
import { isTerminal } from '../../../../actors/resources/command.ts';
import { World, type Fate } from './executions-fixture.ts';

type Happening = (world: World) => void;

const pick = fc.nat(400);
const fate: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 6, arbitrary: fc.constant('stored' as const) },
  { weight: 1, arbitrary: fc.constant('lost' as const) },
  { weight: 1, arbitrary: fc.constant('failed' as const) },
);

function often(
  weight: number,
  name: string,
  happen: Happening,
): { weight: number; arbitrary: fc.Arbitrary<{ name: string; happen: Happening }> } {
  return { weight, arbitrary: fc.constant({ name, happen }) };
}

function picked(weight: number, name: string, happen: (world: World, number: number) => void) {
  return {
    weight,
    arbitrary: pick.map((number) => ({ name: `${name} ${number}`, happen: (world: World) => happen(world, number) })),
  };
}

const happening = fc
  .oneof(
    picked(6, 'create', (world, number) => world.create(1 + (number % 3), number % 5 > 0)),
    picked(1, 'create many', (world, number) => world.create(100 + number, true)),
    often(4, 'connect', (world) => world.connect()),
    often(2, 'cut', (world) => world.cut()),
    often(14, 'up', (world) => world.up()),
    often(14, 'down', (world) => world.down()),
    {
      weight: 22,
      arbitrary: fate.map((how) => ({ name: `decide ${how}`, happen: (world: World) => world.decide(how) })),
    },
    often(8, 'look', (world) => world.look()),
    often(8, 'arrive', (world) => world.arrive()),
    often(8, 'start', (world) => world.start()),
    often(8, 'end', (world) => world.end()),
    picked(4, 'cancel', (world, number) => world.cancel(number)),
    picked(3, 'cancel command', (world, number) => world.cancelCommand(number, number % 4 > 0)),
    picked(4, 'expire', (world, number) => world.expire(number)),
    often(1, 'rescan', (world) => world.rescan()),
    often(1, 'kill the admin', (world) => world.killAdmin()),
    often(1, 'reboot the agent', (world) => world.reboot()),
    often(1, 'lose the journal', (world) => world.loseJournal()),
  )
  .map(({ name, happen }) => ({ happen, toString: () => name }));

test('whatever happens in whatever order: an execution starts once, a terminal state stays, and all become terminal once everything is connected', (t) => {
  fc.assert(
    fc.property(fc.array(happening, { minLength: 20, maxLength: 250 }), (happenings) => {
      const world = new World();
      const ended = new Map<string, string>();
      for (const { happen } of happenings) {
        happen(world);
        for (const [id, row] of world.rows) {
          if (ended.has(id) && ended.get(id) !== row.status)
            throw new Error(`${id} was ${ended.get(id)} and is ${row.status}`);
          if (isTerminal(row.status)) ended.set(id, row.status);
        }
        if (world.open > OPEN_EXECUTIONS_MAX + world.journalled + 1_000)
          throw new Error(`${world.open} executions are held`);
        if (world.idempotencyRecord > world.open + 1_024)
          throw new Error(`${world.idempotencyRecord} executions are remembered for ${world.open}`);
      }

      world.settle();

      const left = [...world.rows].filter(([, row]) => !isTerminal(row.status));
      if (left.length > 0) throw new Error(`not over: ${JSON.stringify(left.slice(0, 5))}`);
      const again = [...world.starts].filter(([, count]) => count > 1);
      if (again.length > 0) throw new Error(`started more than once: ${JSON.stringify(again)}`);
      if (world.journalled > 0) throw new Error(`the agent still holds ${world.journalled}`);
      const counts = Map.groupBy(world.events, (event) => event);
      const twice = [...counts].filter(([, events]) => events.length > 1);
      if (twice.length > 0) throw new Error(`told more than once: ${JSON.stringify(twice[0])}`);
    }),
    { numRuns: Number(process.env['EDGE_MODEL_RUNS'] ?? 400), includeErrorInReport: true },
  );
  t.pass();
});
