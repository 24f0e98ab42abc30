/** Two admins: the owner of the cluster dies or freezes at its work, and the other takes over (O1, O2). */
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../support/until.ts';
import { holdCommit } from './commit-hold.ts';
import { load, type KillPoint } from './kill-points.ts';
import type { Fixture } from './fixture.ts';

/**
 * Longest time without an owner after a kill, in ms, with a second for a busy machine. Source: docs/promises.md, O2.
 */
const OWNERLESS_MS_MAX = 6_000;

/** Longest pause of a random moment, in ms. */
const MOMENT_MS_MAX = 250;

/** What may happen to an owner. */
export const TAKEOVERS: readonly KillPoint[] = [
  { name: 'the owner dies under load', strike: ownerDies },
  { name: 'the owner freezes under load, and wakes when another owns the cluster', strike: ownerFreezes },
  {
    name: 'the owner freezes in the commit of a result, and wakes when another owns the cluster',
    strike: ownerFreezesInCommit,
  },
  { name: 'the owner dies, and is back before its lease has run out', strike: ownerComesBack },
];

async function ownerDies(fixture: Fixture): Promise<void> {
  const { owner } = await roles(fixture);
  const created = await load(fixture, owner);
  await delay(Math.random() * MOMENT_MS_MAX);
  await fixture.killAdmin(owner);
  await Promise.all(created);
  await takenOver(fixture);
}

async function ownerFreezes(fixture: Fixture): Promise<void> {
  const { owner, other } = await roles(fixture);
  const created = await load(fixture, owner);
  await delay(Math.random() * MOMENT_MS_MAX);
  owner.program.pause();
  try {
    await takenOver(fixture, owner.name);
    await fixture.create('quick', { at: other });
  } finally {
    owner.program.resume();
  }
  await Promise.all(created);
}

/** Its transaction is open when it freezes: the takeover waits for that, or the database ends it. */
async function ownerFreezesInCommit(fixture: Fixture): Promise<void> {
  const { owner, other } = await roles(fixture);
  const hold = await holdCommit(fixture.postgres.connection, 'execution-finished');
  await fixture.create('quick', { at: owner });
  await hold.caught;
  owner.program.pause();
  await hold.release();
  try {
    await takenOver(fixture, owner.name);
    await fixture.create('quick', { at: other });
  } finally {
    owner.program.resume();
  }
}

async function ownerComesBack(fixture: Fixture): Promise<void> {
  const { owner, other } = await roles(fixture);
  const created = await load(fixture, owner);
  await delay(Math.random() * MOMENT_MS_MAX);
  await fixture.killAdmin(owner);
  await Promise.all(created);
  await owner.start();
  await fixture.create('quick', { at: other });
}

async function roles(fixture: Fixture) {
  const owner = (await until('an owner', () => fixture.owner())).admin;
  return { owner, other: fixture.fleet.admin(owner === fixture.fleet.admin() ? 1 : 0) };
}

/** Resolves when somebody else owns the cluster; rejects when that takes too long. */
async function takenOver(fixture: Fixture, from?: string): Promise<void> {
  await until(
    'another owner (O2)',
    async () => {
      const now = await fixture.owner();
      return now !== null && now.admin.name !== from && now.admin.program.exit === null;
    },
    OWNERLESS_MS_MAX,
  );
}
