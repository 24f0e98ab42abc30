/** Cold writes: one transaction each, through MikroORM. A guard or a constraint that refuses becomes a Refusal. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { DomainEvent } from '../../actors/event-catalogue.ts';
import type { Lease } from '../../actors/behaviour.ts';
import type { Notice } from '../../actors/notice.ts';
import type { Vault } from '../vault.ts';
import { STALE_EPOCH, type Refusal } from '../../actors/refusal.ts';
import type { Change } from '../../actors/step.ts';
import type { ColdWrite } from '../../actors/writes.ts';
import { asUnavailable } from '../connections/availability.ts';
import { WITNESS, type Witness } from '../incarnations/commit-witnesses.ts';
import type { Database } from '../connections/database.ts';
import { Event } from '../entities/event.ts';
import { refusalOf } from './constraint-refusals.ts';
import { writeCluster } from './cluster-rows.ts';
import { writeEnrollmentKey } from './enrollment-key-rows.ts';
import { EnrollmentRefused, enrollNode } from './enrollment-rows.ts';
import { writeVpn } from './vpn-rows.ts';
import { writeNode } from './node-rows.ts';
import { insertColdIdempotencyRecord } from './idempotency-records.ts';
import { writeSelfUpdate } from './self-update-rows.ts';
import { writeSsh } from './ssh-rows.ts';
import type { WakeUps } from './wake-ups.ts';
import { writeWebhook } from './webhook-rows.ts';
import { GuardRefused, NOTHING_TO_TELL, type Written } from './written.ts';

/** What became of one cold change. `notices` are those that only the rows could tell. */
export interface ColdOutcome {
  readonly refusal: Refusal | null;
  readonly notices: readonly Notice[];
}

/** What cold writes need. `adminId` owns the clusters that it creates. */
export interface ColdPorts {
  readonly database: Database;
  readonly vault: Vault;
  readonly adminId: string;
  readonly wakeUps: Pick<WakeUps, 'ofMove' | 'ofRevoked'>;
}

/** Stores one change with its events and its idempotency record, or tells why not. */
export async function storeCold(
  { database, vault, adminId, wakeUps }: ColdPorts,
  lease: Lease | null,
  change: Change,
): Promise<ColdOutcome> {
  try {
    const { written, witness } = await database.orm.em.fork().transactional(async (em) => {
      if (lease !== null) await checkLease(em, lease);
      const outcome = await perform(em, change.write as ColdWrite, change.events, adminId);
      await insertEvents(em, outcome.events ?? change.events);
      if (change.write.kind === 'node-moved') await wakeUps.ofMove(em, change.write.node, change.write.to);
      await wakeUps.ofRevoked(em, change.notices);
      if (change.idempotencyRecord !== undefined)
        await insertColdIdempotencyRecord(em, vault, change.idempotencyRecord);
      const [last] = database.witnesses.areKept ? await em.execute<Witness[]>(WITNESS) : [];
      return { written: outcome, witness: last };
    });
    if (witness !== undefined) database.witnesses.add(witness);
    return { refusal: null, notices: written.notices };
  } catch (error) {
    if (error instanceof EnrollmentRefused) return turnedAway(database, error);
    const refusal = error instanceof GuardRefused ? error.refusal : refusalOf(error);
    if (refusal !== null) return { refusal, notices: [] };
    throw asUnavailable(error, `storing ${change.write.kind}`);
  }
}

/** The attempt is an event, though nothing else of it is stored (`edge.enrollment_key.verified`). */
async function turnedAway(database: Database, { event, refusal }: EnrollmentRefused): Promise<ColdOutcome> {
  try {
    await database.orm.em.fork().transactional((em) => insertEvents(em, [event]));
  } catch (error) {
    throw asUnavailable(error, 'storing a failed enrolment');
  }
  return { refusal, notices: [{ type: 'events-stored' }] };
}

function perform(
  em: EntityManager,
  write: ColdWrite,
  events: readonly DomainEvent[],
  adminId: string,
): Promise<Written> {
  switch (write.kind) {
    case 'nothing':
      return Promise.resolve(NOTHING_TO_TELL);
    case 'cluster-created':
    case 'cluster-limited':
    case 'cluster-deleted':
      return writeCluster(em, write, adminId);
    case 'key-created':
    case 'key-updated':
    case 'key-deleted':
      return writeEnrollmentKey(em, write);
    case 'node-enrolled':
      return enrollNode(em, write, events);
    case 'node-registered':
    case 'node-moved':
    case 'node-deleted':
    case 'recovery-key-set':
    case 'recovery-key-cleared':
    case 'alias-created':
    case 'alias-deleted':
    case 'command-deleted':
      return writeNode(em, write);
    case 'vpn-member-set':
    case 'vpn-observed':
      return writeVpn(em, write);
    case 'ssh-username-created':
    case 'ssh-username-deleted':
    case 'ssh-public-key-created':
    case 'ssh-public-key-deleted':
      return writeSsh(em, write);
    case 'self-update-created':
    case 'self-update-moved':
      return writeSelfUpdate(em, write, adminId);
    case 'webhook-created':
    case 'webhook-deleted':
      return writeWebhook(em, write, adminId);
    default:
      throw new Error(`no such write: ${JSON.stringify(write satisfies never)}`);
  }
}

/** The lock keeps a takeover away until this transaction ended (O1), and no renewal (ownership/leases.ts). */
async function checkLease(em: EntityManager, lease: Lease): Promise<void> {
  const rows = await em.execute<{ epoch: string }[]>(
    'select epoch::text as epoch from cluster_ownership where cluster_id = ? and lease_until > clock_timestamp() for key share',
    [lease.cluster],
  );
  if (Number(rows[0]?.epoch) !== lease.epoch) throw new GuardRefused(STALE_EPOCH);
}

async function insertEvents(em: EntityManager, events: readonly DomainEvent[]): Promise<void> {
  if (events.length === 0) return;
  await em.insertMany(
    Event,
    events.map((event) => ({
      id: crypto.randomUUID(),
      type: event.type,
      subject: event.subject,
      time: new Date(event.atMs),
      data: event.data,
    })) as never,
  );
}
