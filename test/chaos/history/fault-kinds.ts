/** The kinds of faults: what each does to an admin, a link or the database, and that it is undone when it resolves. */
import { setTimeout as delay } from 'node:timers/promises';
import { FLEET_KEYS } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { ADDRESSES, type Cut } from '../../support/networks/admin-networks.ts';
import { until } from '../../support/until.ts';
import type { Fixture } from '../fixture.ts';
import { frozenAtWork } from './frozen-commits.ts';
import type { Stage } from './stage.ts';
import { beginVisit } from './visits.ts';

/** An admin that was killed is away for as long as this and up to twice as long, in ms: about a lease. */
const AWAY_MS = 1_500;

/** A frozen admin loses its clusters: longer than a lease, in ms. */
const FROZEN_MS = 4_500;

/** A standstill that costs no lease, or nearly, in ms, at the least and at the most. */
const STALL_MS = { least: 300, most: 3_300 } as const;

/** The database stands still for as long as this, and up to twice as long, in ms. */
const STANDSTILL_MS = 1_000;

/** A cut costs a lease where it is from the database: as long as this and up to twice as long, in ms. */
const CUT_MS = 3_000;

/** A link is slow for so long, in ms. */
const SLOW_MS = 6_000;

/** As over a bad link around the world. */
const SLOW = { roundTripMs: 200, lossPercent: 5 } as const;

/** An admin that joined, or drains, does so for as long as this and up to twice as long, in ms. */
const VISIT_MS = 4_000;

/** A clock is wrong for so long, in ms. */
const WRONG_MS = 2_000;

/** Offsets of clocks, in turns. */
const OFFSETS = ['+5h', '-7h', '+30', '-30'] as const;

/** One kind. */
export interface FaultKind {
  /** `link`: of two admins that both are well, each by itself. `guest`: of the one that comes and goes. */
  readonly of: 'admin' | 'link' | 'guest' | 'database' | 'clocks';
  /** Frames that left the admin come to its agents late, or when it is over. */
  readonly holdsFrames?: boolean;
  /** It locks rows and tables: writes of any admin may wait for them. */
  readonly holdsRows?: boolean;
  /** What a run needs for it, besides admins and a database. */
  readonly needs?: 'networks' | 'clocks';
  readonly act: (stage: Stage) => Promise<Vain | null>;
}

/** Why a fault had nothing to do; null where it did what it does. */
export type Vain = string;

const KINDS = {
  kill: {
    of: 'admin',
    act: async ({ fixture, admin, chance }) => {
      await fixture.killAdmin(admin);
      await delay(AWAY_MS * (1 + chance));
      await admin.start();
      return null;
    },
  },
  freeze: {
    of: 'admin',
    act: ({ fixture, admin }) => frozen(fixture, admin, FROZEN_MS),
  },
  'freeze at work': { of: 'admin', holdsRows: true, act: frozenAtWork },
  stall: {
    of: 'admin',
    act: ({ fixture, admin, chance }) =>
      frozen(fixture, admin, STALL_MS.least + chance * (STALL_MS.most - STALL_MS.least)),
  },
  terminate: {
    of: 'admin',
    act: async ({ admin }) => {
      admin.program.terminate();
      await admin.program.ended();
      await admin.start();
      return null;
    },
  },
  join: {
    of: 'guest',
    act: async (stage) => {
      const { fixture, chance, joined } = stage;
      const { fleet } = fixture;
      const known = fleet.admins.find(({ name }) => name === GUEST);
      const visit = await beginVisit(stage, GUEST);
      const guest = known ?? (await fleet.addAdmin());
      if (known === undefined) joined(guest);
      else if (guest.program.exit !== null) await guest.start();
      await visit.hasShare();
      await delay(VISIT_MS * (1 + chance));
      guest.program.terminate();
      await guest.program.ended();
      return null;
    },
  },
  drain: {
    of: 'admin',
    act: async ({ fixture, admin, other, chance }) => {
      const path = `/admins/${admin.name}`;
      const isTaken = await isDoneAtOne([other, ...fixture.fleet.admins], `${path}/drain`);
      if (isTaken) await delay(VISIT_MS * (1 + chance));
      // also of one that nobody took: its answer may have been lost
      await until('the end of a drain', () => isDoneAtOne(fixture.fleet.admins, `${path}/resume`));
      return isTaken ? null : 'no admin took the drain';
    },
  },
  'clock jump': {
    of: 'clocks',
    needs: 'clocks',
    act: async ({ fixture, chance }) => {
      if (fixture.clocks === null) return 'clocks cannot be set';
      fixture.clocksSet += 1;
      await fixture.clocks.admins.set(OFFSETS[Math.floor(chance * OFFSETS.length)] ?? '+5h');
      await delay(WRONG_MS);
      await fixture.clocks.admins.set('+0');
      return null;
    },
  },
  'database standstill': {
    of: 'database',
    act: async ({ fixture, chance }) => {
      if (await isDatabaseAway(fixture)) return NO_DATABASE;
      const thaw = await fixture.pausePostgres();
      await delay(STANDSTILL_MS * (1 + chance));
      thaw();
      return null;
    },
  },
  'database failover': {
    of: 'database',
    act: async ({ fixture }) => {
      if (fixture.failOver === null) return 'the database has no standby';
      await fixture.failOver();
      return null;
    },
  },
  'database kill': {
    of: 'database',
    act: async ({ fixture }) => {
      if (await isDatabaseAway(fixture)) return NO_DATABASE;
      await fixture.killPostgres();
      return null;
    },
  },
  'cut from the database': cutFrom('database', 'drop'),
  'reset from the database': cutFrom('database', 'reset'),
  'cut from its agents': cutFrom('agents', 'drop'),
  'reset from its agents': cutFrom('agents', 'reset'),
  'cut from an admin': between(({ other }) => ({ from: addressOf(other), which: 'both', how: 'drop' })),
  'reset from an admin': between(({ other }) => ({ from: addressOf(other), which: 'both', how: 'reset' })),
  'deaf to an admin': between(({ other }) => ({ from: addressOf(other), which: 'deaf', how: 'drop' })),
  'cannot ask an admin': between(({ other }) => ({ ...callsTo(other), how: 'drop' })),
  'refused by an admin': between(({ other }) => ({ ...callsTo(other), how: 'reset' })),
  'slow link': {
    of: 'admin',
    needs: 'networks',
    holdsFrames: true,
    act: async ({ fixture: { networks }, admin }) => {
      if (networks === null) return NO_NETWORKS;
      const place = networks.placeOf(admin);
      await networks.slow(place, SLOW);
      await delay(SLOW_MS);
      await networks.slow(place, null);
      return null;
    },
  },
} as const satisfies Readonly<Record<string, FaultKind>>;

/** The name of one kind. */
export type FaultName = keyof typeof KINDS;

/** All kinds. */
export const FAULTS: Readonly<Record<FaultName, FaultKind>> = KINDS;

/** Their names. */
export const FAULT_NAMES = Object.keys(FAULTS) as readonly FaultName[];

/** The admin that comes and goes, beside three that stay. */
export const GUEST = 'admin-4';

const NO_NETWORKS: Vain = 'admins have no networks of their own';
const NO_DATABASE: Vain = 'the database does not run';

async function isDatabaseAway({ postgres }: Fixture): Promise<boolean> {
  return (await postgres.pid()) === undefined;
}

async function frozen(fixture: Fixture, { program }: AdminProgram, ms: number): Promise<null> {
  fixture.freezes += 1;
  program.pause();
  await delay(ms).finally(() => program.resume());
  return null;
}

/** Asks one after another until one has done it: the others may be away, be cut off, or refuse. */
async function isDoneAtOne(admins: readonly AdminProgram[], path: string): Promise<boolean> {
  for (const { url } of admins) {
    const asked = restClient(() => url, FLEET_KEYS.MASTER_KEY).call('POST', path);
    if ((await asked.catch(() => null))?.status === 200) return true;
  }
  return false;
}

/** An admin misses the database, or its agents, and nothing else. */
function cutFrom(what: 'database' | 'agents', how: Cut['how']): FaultKind {
  return cutting(() => ({ from: ADDRESSES[what], which: 'both', how }), {
    of: 'admin',
    holdsFrames: what === 'agents',
  });
}

/** Two admins miss each other, or one of them the other, and nothing else. */
function between(cutOf: (stage: Stage) => Cut): FaultKind {
  return cutting(cutOf, { of: 'link' });
}

function cutting(cutOf: (stage: Stage) => Cut, kind: Pick<FaultKind, 'of' | 'holdsFrames'>): FaultKind {
  return {
    ...kind,
    needs: 'networks',
    act: async (stage) => {
      const { networks } = stage.fixture;
      if (networks === null) return NO_NETWORKS;
      if (kind.of === 'link' && stage.other === stage.admin) return 'no other admin runs';
      const place = networks.placeOf(stage.admin);
      await networks.cut(place, [cutOf(stage)]);
      await delay(CUT_MS * (1 + stage.chance));
      await networks.cut(place, []);
      return null;
    },
  };
}

function addressOf({ url }: AdminProgram): string {
  return new URL(url).hostname;
}

function callsTo({ url }: AdminProgram): Pick<Cut, 'from' | 'which' | 'port'> {
  const { hostname, port } = new URL(url);
  return { from: hostname, which: 'calls', port: Number(port) };
}
