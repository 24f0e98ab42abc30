/** Worlds one after another, and what happens in each. */
import type { Scope } from '../test/support/scope.ts';
import { DELIVERY_ENV, openDeliveries, type Deliveries } from './deliveries.ts';
import { deliveryPauses, deliveryPoints, DELIVERY_KILL_NAMES, DELIVERY_PAUSE_NAMES } from './delivery-points.ts';
import { deliveryTakeovers, DELIVERY_TAKEOVER_NAMES } from './delivery-takeovers.ts';
import { KILL_POINTS, type KillPoint } from './kill-points.ts';
import { PAUSES } from './pauses.ts';
import { TAKEOVERS } from './takeovers.ts';
import type { World } from './world.ts';

/** A world with what happens there. */
export interface Act {
  readonly admins: number;
  /** Settings of its admins. */
  readonly env: Readonly<Record<string, string>>;
  /** Part of all kills after which the next act begins. */
  readonly upTo: number;
  /** Names of its points. */
  readonly names: readonly string[];
  begin(scope: Scope, world: World): Promise<Play>;
}

/** What happens in a world: some points once, others again and again. */
export interface Play {
  readonly once: readonly KillPoint[];
  readonly again: readonly KillPoint[];
  /** What was broken besides what every world looks at. */
  readonly alsoBroken: () => Promise<readonly string[]>;
  /** Figures besides those of every world, in words; null: none. */
  readonly told: () => Promise<string | null>;
}

const namesOf = (points: readonly KillPoint[]): readonly string[] => points.map(({ name }) => name);

/** All of them, in order. */
export const ACTS: readonly Act[] = [
  plain({ admins: 1, upTo: 0.55, once: PAUSES, again: KILL_POINTS }),
  plain({ admins: 2, upTo: 0.6, once: [], again: TAKEOVERS }),
  delivering({ admins: 1, upTo: 0.95, names: [...DELIVERY_PAUSE_NAMES, ...DELIVERY_KILL_NAMES], points: (all) => ({ once: deliveryPauses(all), again: deliveryPoints(all) }) }),
  delivering({ admins: 2, upTo: 1, names: DELIVERY_TAKEOVER_NAMES, points: (all) => ({ once: [], again: deliveryTakeovers(all) }) }),
];

function plain({ admins, upTo, once, again }: { readonly admins: number; readonly upTo: number; readonly once: readonly KillPoint[]; readonly again: readonly KillPoint[] }): Act {
  return {
    admins, upTo, env: {}, names: namesOf([...once, ...again]),
    begin: async () => Promise.resolve({ once, again, alsoBroken: async () => Promise.resolve([]), told: async () => Promise.resolve(null) }),
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
    ...act, env: DELIVERY_ENV,
    async begin(scope, world) {
      const deliveries = await openDeliveries(scope, world);
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
