/** The part of `/guide/nodes` about self-updates. */
import type { Section } from './page.ts';

/** How nodes are told to update themselves, and what becomes of it. */
export const SELF_UPDATES: Section = {
  title: 'Self-updates',
  blocks: [
    {
      kind: 'text',
      text: 'A self-update request tells healthy nodes that take part (`self_update_enabled`) to fetch the newest stable agent. Who is meant is found once, as of a command. With `batch_size` so many are under way at once, and after `max_failures` no further one is told.',
    },
    {
      kind: 'shell',
      commands: `curl -sS "$EDGE_URL/api/v1/self_update_requests" -H "Authorization: Bearer $EDGE_API_KEY" -H 'Content-Type: application/json' \\\n  -d '{"targeting": {"type": "all"}, "batch_size": 10, "max_failures": 2}'`,
      prints: '{"data":{"id":"…"targeting":{"type":"all"}…',
    },
    {
      kind: 'table',
      head: ['Result', 'Means'],
      rows: [
        ['`waiting`', 'its turn has not come, or it has not answered yet.'],
        ['`triggered`', 'its updater took the signal.'],
        ['`updated`', 'its agent is back with another version.'],
        ['`rolled_back`', 'the new version did not work, and the updater went back.'],
        ['`failed`', 'it was not reached, its updater refused or could do nothing, or it was not healthy in time.'],
        ['`skipped`', 'too many others failed before, or it was deleted.'],
      ],
    },
    { kind: 'shell', commands: 'edge update ls', prints: 'ID …STATUS…' },
    { kind: 'operations', picks: (path) => path.startsWith('/self_update_requests') },
    {
      kind: 'text',
      text: 'Which agent is the newest is what a release says that you signed: `edge release init` makes and publishes the first one.',
    },
    { kind: 'operations', picks: (path) => path.startsWith('/release') },
  ],
};
