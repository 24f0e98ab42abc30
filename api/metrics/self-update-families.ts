/** Metrics of self-update requests: how far they are, whether one stands still, and how soon nodes are triggered. */
import { by, gauge, histogram, one, type Family } from './family.ts';

/** In the order in which they are written. */
export const SELF_UPDATE_FAMILIES: readonly Family[] = [
  gauge(
    'self_update_requests',
    'Self-update requests that are kept, by status, in the whole database.',
    ['status'],
    ({ totals }) => by('status', totals?.selfUpdates?.requests),
  ),
  gauge(
    'self_update_nodes',
    'Nodes of the requests that are not completed, by state; due ones have their turn and have not answered.',
    ['state'],
    ({ totals }) => by('state', totals?.selfUpdates?.nodes),
  ),
  gauge(
    'self_update_overdue_seconds',
    'For how long the request that is latest should have gone on: 0 while all of them wait for what is in time.',
    [],
    ({ totals }) => one(totals?.selfUpdates?.overdueS),
  ),
  histogram(
    'self_update_trigger_seconds',
    "From a node's turn until its updater took the signal, as stored here.",
    [],
    ({ live }) => one(live.updateTriggers),
  ),
];
