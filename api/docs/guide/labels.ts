/** The part of `/guide/nodes` about labels and groups. */
import type { Section } from './page.ts';

/** How machines are labelled, picked and saved as a group. */
export const LABELS_AND_GROUPS: Section = {
  title: 'Labels and groups',
  blocks: [
    {
      kind: 'text',
      text: 'Labels are `key=value` in the syntax of Kubernetes, at most 64 on a node. A machine brings those of `AGENT_LABELS` when it enrols for the first time, and its enrolment key may have some for every machine that it lets in; later operators change them.',
    },
    {
      kind: 'shell',
      commands: `NODE=$(edge node get web-1 -o id)\ncurl -sS -X PATCH "$EDGE_URL/api/v1/nodes/$NODE/labels" -H "Authorization: Bearer $EDGE_API_KEY" \\\n  -H 'Content-Type: application/json' -d '{"labels": {"env": "prod", "zone": "a"}}'`,
      prints: '{"data":{"id":"…"labels":{"env":"prod","zone":"a"}…',
    },
    {
      kind: 'table',
      head: ['Selector', 'Means: nodes that'],
      rows: [
        ['`env=prod`', 'have this value.'],
        ['`env!=prod`', 'have another one, or no such label.'],
        ['`zone in (a,b)`', 'have one of these values; `notin` is the opposite.'],
        ['`gpu`, `!gpu`', 'have the label; do not have it.'],
        ['`env=prod,!gpu`', 'All of it must hold.'],
      ],
    },
    {
      kind: 'shell',
      commands: `curl -sS -G "$EDGE_URL/api/v1/nodes" -H "Authorization: Bearer $EDGE_API_KEY" --data-urlencode 'labels=env=prod,!gpu'`,
      prints: '{"data":[{"id":"…"name":"web-1"…',
    },
    {
      kind: 'text',
      text: 'A group is a targeting with a name, for commands: `{"type": "group", "group": "web"}`. Which machines are in it is found when it is used; the preview shows it before.',
    },
    {
      kind: 'shell',
      commands: `curl -sS "$EDGE_URL/api/v1/groups" -H "Authorization: Bearer $EDGE_API_KEY" -H 'Content-Type: application/json' \\\n  -d '{"name": "web", "targeting": {"type": "all", "labels": "env=prod,!gpu"}}'\ncurl -sS "$EDGE_URL/api/v1/targeting/preview" -H "Authorization: Bearer $EDGE_API_KEY" -H 'Content-Type: application/json' \\\n  -d '{"targeting": {"type": "group", "group": "web"}}'`,
      prints: '…"name":"web"…"node_count":1,"nodes":[{"id":"…"name":"web-1"…',
    },
  ],
};
