/** Executions while anything happens at any time: what must hold whatever the order. */
import test from 'ava';
import * as fc from 'fast-check';
import { OPEN_EXECUTIONS_MAX } from '../../../../actors/node/state.ts';
import { isTerminal } from '../../../../actors/resources/command.ts';
import { Fixture, type Fate } from './executions-fixture.ts';

type Happening = (fixture: Fixture) => void;

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

function picked(weight: number, name: string, happen: (fixture: Fixture, number: number) => void) {
  return {
    weight,
    arbitrary: pick.map((number) => ({
      name: `${name} ${number}`,
      happen: (fixture: Fixture) => happen(fixture, number),
    })),
  };
}

const happening = fc
  .oneof(
    picked(6, 'create', (fixture, number) => fixture.create(1 + (number % 3), number % 5 > 0)),
    picked(1, 'create many', (fixture, number) => fixture.create(100 + number, true)),
    often(4, 'connect', (fixture) => fixture.connect()),
    often(2, 'cut', (fixture) => fixture.cut()),
    often(14, 'up', (fixture) => fixture.up()),
    often(14, 'down', (fixture) => fixture.down()),
    {
      weight: 22,
      arbitrary: fate.map((how) => ({ name: `decide ${how}`, happen: (fixture: Fixture) => fixture.decide(how) })),
    },
    often(8, 'look', (fixture) => fixture.look()),
    often(8, 'arrive', (fixture) => fixture.arrive()),
    often(8, 'start', (fixture) => fixture.start()),
    often(8, 'end', (fixture) => fixture.end()),
    picked(4, 'cancel', (fixture, number) => fixture.cancel(number)),
    picked(3, 'cancel command', (fixture, number) => fixture.cancelCommand(number, number % 4 > 0)),
    picked(4, 'expire', (fixture, number) => fixture.expire(number)),
    often(1, 'rescan', (fixture) => fixture.rescan()),
    often(1, 'kill the admin', (fixture) => fixture.killAdmin()),
    often(1, 'reboot the agent', (fixture) => fixture.reboot()),
    often(1, 'lose the journal', (fixture) => fixture.loseJournal()),
  )
  .map(({ name, happen }) => ({ happen, toString: () => name }));

test('in any order of messages an execution starts once, stays terminal, and is terminal once all is connected', (t) => {
  fc.assert(
    fc.property(fc.array(happening, { minLength: 20, maxLength: 250 }), (happenings) => {
      const fixture = new Fixture();
      const ended = new Map<string, string>();
      for (const { happen } of happenings) {
        happen(fixture);
        for (const [id, row] of fixture.rows.all) {
          if (ended.has(id) && ended.get(id) !== row.status)
            throw new Error(`${id} was ${ended.get(id)} and is ${row.status}`);
          if (isTerminal(row.status)) ended.set(id, row.status);
        }
        if (fixture.open > OPEN_EXECUTIONS_MAX + fixture.machine.holding.length + 1_000)
          throw new Error(`${fixture.open} executions are held`);
        if (fixture.delivered > fixture.open + 1_024)
          throw new Error(`${fixture.delivered} executions are remembered for ${fixture.open}`);
      }

      fixture.settle();

      const left = [...fixture.rows.all].filter(([, row]) => !isTerminal(row.status));
      if (left.length > 0) throw new Error(`not over: ${JSON.stringify(left.slice(0, 5))}`);
      const again = [...fixture.machine.starts].filter(([, count]) => count > 1);
      if (again.length > 0) throw new Error(`started more than once: ${JSON.stringify(again)}`);
      if (fixture.machine.holding.length > 0)
        throw new Error(`the agent still holds ${fixture.machine.holding.length}`);
      const counts = Map.groupBy(fixture.rows.events, (event) => event);
      const twice = [...counts].filter(([, events]) => events.length > 1);
      if (twice.length > 0) throw new Error(`told more than once: ${JSON.stringify(twice[0])}`);
    }),
    { numRuns: Number(process.env['EDGE_MODEL_RUNS'] ?? 400), includeErrorInReport: true },
  );
  t.pass();
});
