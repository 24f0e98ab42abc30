/** Worlds one after another, and what happens in each. */
import type { Scope } from '../support/scope.ts';
import { DELIVERY_ENV, openDeliveries, type Deliveries } from './deliveries.ts';
import { deliveryPauses, deliveryPoints, DELIVERY_KILL_NAMES, DELIVERY_PAUSE_NAMES } from './delivery-points.ts';
import { deliveryTakeovers, DELIVERY_TAKEOVER_NAMES } from './delivery-takeovers.ts';
import { CLOCK_JUMPS, wrongMoments } from './clock-jumps.ts';
import { FREEZE_ENV, FREEZES } from './freezes.ts';
import { KILL_POINTS, type KillPoint } from './kill-points.ts';
import { PAUSES } from './pauses.ts';
import { RESTORE_ENV, RESTORES, watchEvents } from './restores.ts';
import { TAKEOVERS } from './takeovers.ts';
import type { Fixture, FixtureOptions } from './fixture.ts';

/**
 * For so many kills the points of an act that happen once happen once more, where they are faults that are no kills.
 */
const KILLS_PER_FAULT = 200;

/** A fixture with what happens there. */
export interface Act extends FixtureOptions {
  /** Part of all kills after which the next act begins. */
  readonly upTo: number;
  /** Names of its points. */
  readonly names: readonly string[];
  /** How often its points that happen once happen, when so many kills are asked for. */
  readonly times: (kills: number) => number;
  /** Programs that are not ours and without which it is left out. */
  readonly peers: readonly string[];
  begin(scope: Scope, fixture: Fixture): Promise<Play>;
}

/** What happens in a fixture: some points once, others again and again. */
export interface Play {
  readonly once: readonly KillPoint[];
  readonly again: readonly KillPoint[];
  /** What was broken besides what every fixture looks at. */
  readonly alsoBroken: () => Promise<readonly string[]>;
  /** Figures besides those of every fixture, in words; null: none. */
  readonly told: () => Promise<string | null>;
}

const namesOf = (points: readonly KillPoint[]): readonly string[] => points.map(({ name }) => name);

/** All of them, in order. */
export const ACTS: readonly Act[] = [
  plain({ admins: 1, upTo: 0.55, once: PAUSES, again: KILL_POINTS }),
  plain({ admins: 2, upTo: 0.6, once: [], again: TAKEOVERS }),
  faulty({ env: RESTORE_ENV, points: RESTORES, alsoBroken: watchEvents }),
  faulty({ agentEnv: FREEZE_ENV, points: FREEZES }),
  faulty({
    hasClocks: true,
    peers: ['faketime'],
    points: CLOCK_JUMPS,
    alsoBroken: async (_, fixture) => Promise.resolve(() => wrongMoments(fixture)),
  }),
  delivering({
    admins: 1,
    upTo: 0.95,
    names: [...DELIVERY_PAUSE_NAMES, ...DELIVERY_KILL_NAMES],
    points: (all) => ({ once: deliveryPauses(all), again: deliveryPoints(all) }),
  }),
  delivering({
    admins: 2,
    upTo: 1,
    names: DELIVERY_TAKEOVER_NAMES,
    points: (all) => ({ once: [], again: deliveryTakeovers(all) }),
  }),
];

function plain({
  admins,
  upTo,
  once,
  again,
}: {
  readonly admins: number;
  readonly upTo: number;
  readonly once: readonly KillPoint[];
  readonly again: readonly KillPoint[];
}): Act {
  return {
    admins,
    upTo,
    names: namesOf([...once, ...again]),
    times: () => 1,
    peers: [],
    begin: async () =>
      Promise.resolve({
        once,
        again,
        alsoBroken: async () => Promise.resolve([]),
        told: async () => Promise.resolve(null),
      }),
  };
}

interface Faulty extends FixtureOptions {
  readonly peers?: readonly string[];
  readonly points: readonly KillPoint[];
  readonly alsoBroken?: (scope: Scope, fixture: Fixture) => Promise<() => Promise<readonly string[]>>;
}

/** Faults that are no kills: they take their time, and happen a few times. */
function faulty({
  points,
  peers = [],
  alsoBroken = async () => Promise.resolve(async () => Promise.resolve([])),
  ...options
}: Faulty): Act {
  return {
    ...options,
    peers,
    upTo: 0,
    names: namesOf(points),
    times: (kills) => Math.ceil(kills / KILLS_PER_FAULT),
    begin: async (scope, fixture) => ({
      once: points,
      again: [],
      alsoBroken: await alsoBroken(scope, fixture),
      told: async () =>
        Promise.resolve(
          `${fixture.restores} restores, ${fixture.freezes} programs frozen, ${fixture.clocksSet} times all clocks set`,
        ),
    }),
  };
}

interface Delivering {
  readonly admins: number;
  readonly upTo: number;
  readonly names: readonly string[];
  readonly points: (deliveries: Deliveries) => Pick<Play, 'once' | 'again'>;
}

function delivering({ points, ...act }: Delivering): Act {
  return {
    ...act,
    env: DELIVERY_ENV,
    times: () => 1,
    peers: [],
    async begin(scope, fixture) {
      const deliveries = await openDeliveries(scope, fixture);
      return {
        ...points(deliveries),
        alsoBroken: () => deliveries.breaches(),
        async told() {
          const { events, delivered, dropped, arrivals } = await deliveries.counts();
          return `${events} events, ${arrivals} requests at receivers, ${delivered} deliveries, ${dropped} dropped`;
        },
      };
    },
  };
}
