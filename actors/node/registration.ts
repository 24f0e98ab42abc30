/** What an agent says of itself whenever it connects, and what of it is news. */
import type { Registration } from '../../transport/protocol/agent-description.ts';
import { isSameFacts } from '../../transport/protocol/facts.ts';
import type { DomainEvent } from '../event-catalogue.ts';
import type { NodeRecord } from '../records.ts';
import { step, unchanged, type Change, type Step } from '../step.ts';
import { shownFacts } from './shown-facts.ts';
import { nodeSnapshot } from './snapshots.ts';
import type { NodeState } from './state.ts';
import { seen } from './status.ts';

/**
 * Stores what the agent says of itself when it is news. One that says nothing of its machine is of before version 7.
 */
export function registration(state: NodeState, reported: Registration, nowMs: number): Step<NodeState> {
  const said = {
    ...state.record,
    version: reported.version,
    idType: reported.id_type,
    ports: reported.ports,
    selfUpdateEnabled: reported.self_update_enabled,
    facts: reported.facts === undefined ? null : shownFacts(reported.facts),
  };
  return isSame(state.record, said) ? unchanged(state) : nodeRegistered(state, said, nowMs);
}

/** The node with what its agent said of itself, and the change that stores and tells it. */
export function nodeRegistered(state: NodeState, said: NodeRecord, nowMs: number): Step<NodeState> {
  const known = state.record;
  const record: NodeRecord = { ...said, lastSeenAtMs: seen(state, nowMs).lastSeenAtMs, updatedAtMs: nowMs };
  const data = nodeSnapshot(record, state.aliases);
  const events: DomainEvent[] = [{ type: 'edge.node.reregistered', subject: record.id, atMs: nowMs, data }];
  if (known.version !== record.version)
    events.push({
      type: 'edge.node.version_changed',
      subject: record.id,
      atMs: nowMs,
      data: { ...data, previous_version: known.version },
    });
  const change: Change = {
    write: {
      kind: 'node-registered',
      node: record.id,
      version: record.version,
      idType: record.idType,
      ports: record.ports,
      selfUpdateEnabled: record.selfUpdateEnabled,
      facts: record.facts,
      atMs: nowMs,
    },
    events,
    notices: [{ type: 'node-changed', node: record.id }, { type: 'events-stored' }],
  };
  return step({ ...state, record }, [change]);
}

function isSame(known: NodeRecord, said: NodeRecord): boolean {
  const ports = Object.keys(said.ports) as (keyof NodeRecord['ports'])[];
  return (
    known.version === said.version &&
    known.idType === said.idType &&
    known.selfUpdateEnabled === said.selfUpdateEnabled &&
    ports.every((port) => known.ports[port] === said.ports[port]) &&
    isSameFacts(known.facts, said.facts)
  );
}
