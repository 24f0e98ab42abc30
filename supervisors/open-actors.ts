/** The actors of an admin: opened with nobody in them, connected to what they reach, brought to life at the end. */
import type { AgentSettings } from '../transport/protocol/agent-settings.ts';
import type { ActorKind } from '../actors/messages.ts';
import { isDegraded } from '../actors/standing.ts';
import { createOutwardLinks, type OutwardLinks } from './outward-links.ts';
import { createInspection, type Inspection } from './runtime/inspection.ts';
import type { HandOverReadings } from './ownership/hand-over.ts';
import { createTree, type Tree, type TreePorts } from './tree.ts';
import { HeardWakeUps, type WokenRows } from './wake-ups.ts';

/**
 * So many times WEBHOOK_CONCURRENCY deliveries are handed over, so that a connection has its next request while the
 * last one is stored.
 */
const HANDED_OVER_FACTOR = 6;

/** The settings that behaviours depend on, under their names. */
export interface ActorSettings {
  readonly NODE_UNREACHABLE_AFTER_MS: number;
  readonly NODE_STATUS_DAMPING_MS: number;
  readonly EDGE_VPN_DEFAULT_DOMAIN: string;
  readonly WEBHOOK_CONCURRENCY: number;
  readonly WEBHOOK_RETRY_BASE_MS: number;
  readonly ADMIN_BALANCE_AFTER_MS: number;
}

/** What they need from the start. */
export interface OpenActorsPorts extends Omit<
  TreePorts,
  keyof OutwardLinks | 'settings' | 'settledMs' | 'kinds' | 'wakeSelfUpdate' | 'missed'
> {
  /** Tells the other admins whose nodes have their turn in this self-update request. Returns at once. */
  readonly wakeOwners: (request: string) => void;
  /** What other admins stored for nodes of this one. */
  readonly woken: WokenRows;
  /** What agents are told now. */
  readonly agentSettings: () => AgentSettings;
}

/** The actors, and whoever looks at them. */
export interface OpenActors {
  readonly tree: Tree;
  readonly inspection: Inspection;
  /** Where other admins say that they stored something for them. */
  readonly wakeUps: HeardWakeUps;
  /** What they reach from now on. Before `tree.ownership.start()`. */
  connect(links: OutwardLinks): void;
  /** For metrics. */
  readings(): ActorReadings;
}

/** What happened so far, and who lives here. */
export interface ActorReadings {
  readonly actors: Readonly<
    Record<ActorKind, { readonly count: number; readonly messages: number; readonly messagesMax: number }>
  >;
  readonly deadLetters: number;
  readonly crashes: number;
  readonly escalations: number;
  readonly ended: Tree['ended'];
  readonly updateTriggers: Tree['updateTriggers'];
  readonly ownership: {
    readonly clusters: number;
    readonly gained: number;
    readonly lost: number;
    readonly leaseAgeMs: number;
    readonly isDegraded: boolean;
    readonly handOvers: HandOverReadings;
  };
}

/** Nobody lives in it. */
export function openActors(settings: ActorSettings, { agentSettings, woken, ...ports }: OpenActorsPorts): OpenActors {
  const { connect, ...links } = createOutwardLinks();
  const tree: Tree = createTree({
    ...ports,
    ...links,
    wakeSelfUpdate(request) {
      wakeUps.due([request]);
      ports.wakeOwners(request);
    },
    missed: () => wakeUps.missed(),
    settledMs: settings.ADMIN_BALANCE_AFTER_MS,
    settings: {
      unreachableAfterMs: settings.NODE_UNREACHABLE_AFTER_MS,
      dampingMs: settings.NODE_STATUS_DAMPING_MS,
      vpnDomain: settings.EDGE_VPN_DEFAULT_DOMAIN,
      get agent() {
        return agentSettings();
      },
      concurrency: settings.WEBHOOK_CONCURRENCY * HANDED_OVER_FACTOR,
      retryBaseMs: settings.WEBHOOK_RETRY_BASE_MS,
    },
  });
  const inspection = createInspection(tree.directory);
  const { clock, log } = ports;
  const wakeUps = new HeardWakeUps({ rows: woken, directory: tree.directory, clock, log });
  return { tree, inspection, wakeUps, connect, readings: () => readingsOf(tree, inspection) };
}

function readingsOf(
  { directory, ownership, held, ended, updateTriggers }: Tree,
  { families }: Inspection,
): ActorReadings {
  const { deadLetters, crashes, escalations } = directory.counters;
  const actors = Object.fromEntries(
    families().map(({ kind, actors: count, mailboxMessages: messages, mailboxMessagesMax: messagesMax }) => [
      kind,
      { count, messages, messagesMax },
    ]),
  ) as ActorReadings['actors'];
  return {
    actors,
    deadLetters,
    crashes,
    escalations,
    ended,
    updateTriggers,
    ownership: {
      clusters: held.all().length,
      ...held.counters,
      leaseAgeMs: ownership.quietMs(),
      isDegraded: isDegraded(ownership.standing()),
      handOvers: ownership.handOvers(),
    },
  };
}
