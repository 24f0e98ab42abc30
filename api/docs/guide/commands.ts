/** `/guide/commands`. */
import { knowsAdmin, type GuideFacts, type GuidePage, type Section } from './page.ts';

/** The page. */
export function commandsPage(facts: GuideFacts): GuidePage {
  return {
    name: 'Commands',
    title: 'Commands',
    lead: 'A command is a shell script and the machines that it is for. Each of them gets one execution, which runs at most once and keeps its result until it is stored.',
    sections: [
      { title: 'Before you begin', blocks: knowsAdmin(facts) },
      RUN,
      HOW_IT_ENDED,
      BOUNDS,
      BY_THE_API,
      WHAT_BECOMES_OF_AN_EXECUTION,
      CANCEL_AND_REMOVE,
      SETTINGS,
      { title: 'Operations', blocks: [{ kind: 'operations', picks: (path) => path.startsWith('/command') }] },
    ],
  };
}

const RUN: Section = {
  title: 'Run',
  blocks: [
    {
      kind: 'shell',
      commands: "edge run -c prod -- 'for i in 1 2 3; do echo $i; done'",
      prints:
        'edge: command 01a1ff65-6c50-7000-8998-fa490292f846 runs on 1 node\nweb-1: 1\nweb-1: 2\nweb-1: 3\nedge: 1 of 1 succeeded, … s (01a1ff65-6c50)',
    },
    {
      kind: 'text',
      text: '`-c` takes clusters, `-n` machines, `--all` everything. Outputs come as they are written; `-b` waits and shows identical ones once, which reads better with many machines.',
    },
    {
      kind: 'shell',
      commands: 'edge run -n web-1 -b -- uname -s',
      prints:
        'edge: command 01a1ff65-6c50-7000-8998-fa490292f846 runs on 1 node\n---------------\nweb-1\n---------------\nLinux\nedge: 1 of 1 succeeded, … s (01a1ff65-6c50)',
    },
    {
      kind: 'text',
      text: 'A script of several lines comes from stdin. It runs by `/bin/sh`, or by what its first line asks for.',
    },
    {
      kind: 'shell',
      commands: `edge run -c prod - <<'EOF'\n#!/bin/sh\nset -e\ncd /\nls -d etc\nEOF`,
      prints:
        'edge: command 01a1ff65-6c50-7000-8998-fa490292f846 runs on 1 node\nweb-1: etc\nedge: 1 of 1 succeeded, … s (01a1ff65-6c50)',
    },
    { kind: 'text', text: 'Ctrl-C cancels on all machines, and a second one leaves without waiting.' },
  ],
};

const HOW_IT_ENDED: Section = {
  title: 'How it ended',
  blocks: [
    {
      kind: 'shell',
      commands: 'edge run -c prod -- \'echo no; exit 3\'; echo "edge: $?"',
      prints:
        'edge: command 01a1ff65-6c50-7000-8998-fa490292f846 runs on 1 node\nweb-1: no\nedge: web-1: exited with 3\nedge: 0 of 1 succeeded, 1 failed, … s (01a1ff65-6c50)\nedge: 6',
    },
    {
      kind: 'table',
      head: ['`edge run` ends with', 'When'],
      rows: [
        ['0', 'All machines succeeded.'],
        ['6', 'Some failed.'],
        ['7', 'Some did not finish: cancelled, expired or dropped.'],
        ['130', 'You left with a second Ctrl-C; the command goes on.'],
        ['1, 2, 3, 4', 'It could not be done; wrong usage; the key is not accepted; nothing matches.'],
      ],
    },
    {
      kind: 'table',
      head: ['Exit code of an execution', 'Means'],
      rows: [
        ['0 to 255', 'That of the script. 128 + n: it was killed by signal n.'],
        ['124', 'Its `timeout` was over.'],
        ['143', 'It was cancelled, by someone or because the agent was stopped.'],
        ['137 and `cancelled`', 'The machine went down while it ran. It is never run again.'],
      ],
    },
  ],
};

const BOUNDS: Section = {
  title: 'Bounds',
  blocks: [
    {
      kind: 'text',
      text: 'A timeout ends the script and all of its processes on a machine: TERM, and KILL after 5 seconds. An expiry ends the command wherever it is not over by then: machines that are away never start it, those that run it end it. Without one, machines that are away get it when they are back.',
    },
    {
      kind: 'shell',
      commands: 'edge run -n web-1 --timeout 1s --expires 5m -- \'sleep 60\'; echo "edge: $?"',
      prints:
        'edge: command 01a1ff65-6c50-7000-8998-fa490292f846 runs on 1 node\nedge: web-1: exited with 124 (timed out)\nedge: 0 of 1 succeeded, 1 failed, … s (01a1ff65-6c50)\nedge: 6',
    },
  ],
};

const BY_THE_API: Section = {
  title: 'By the API',
  blocks: [
    {
      kind: 'text',
      text: 'The answer comes when the command and all of its executions are stored. The targets are those that match at that moment; machines that enrol later are not among them, and no match is no execution.',
    },
    {
      kind: 'shell',
      commands: `curl -sS "$EDGE_URL/api/v1/commands" -H "Authorization: Bearer $EDGE_API_KEY" \\\n  -H 'Content-Type: application/json' -H "Idempotency-Key: $RANDOM-$RANDOM" -d @- <<'EOF'\n{ "command_text": "uptime",\n  "targeting": { "type": "clusters", "cluster_names": ["prod"], "node_filters": { "status": "healthy" } },\n  "timeout": 30000 }\nEOF`,
      prints: '{"data":{"id":"…","command_text":"uptime",…"summary":{"total":1,…',
    },
    {
      kind: 'table',
      head: ['`targeting`', 'Means'],
      rows: [
        ['`{"type": "all"}`', 'Every node.'],
        ['`{"type": "nodes", "node_ids": […]}`', 'These.'],
        ['`{"type": "clusters", "cluster_names": […]}`', 'All of these clusters.'],
        ['`{"type": "group", "group": "web"}`', 'A [saved group](/guide/nodes#labels-and-groups).'],
        ['`"labels"`', 'Beside `type`: only nodes that this selector means, such as `env=prod,!gpu`.'],
        [
          '`"cluster_filters"`',
          'Beside `type`: only in clusters with this `name` (`prod*`), `node_count__gte`, `has_node_limit`, …',
        ],
        [
          '`"node_filters"`',
          'Beside `type`: only nodes with this `status`, `version` (`1.*`), `os`, `arch`, `hostname`, `id_type`, `last_seen_at__gte`, …',
        ],
      ],
    },
    {
      kind: 'shell',
      commands: 'COMMAND=$(edge command ls --limit 1 -q)\nedge command output "$COMMAND"',
      prints: '…web-1:…load average: …',
    },
    {
      kind: 'shell',
      commands: `curl -sS "$EDGE_URL/api/v1/command_executions?command_id__in=$COMMAND" -H "Authorization: Bearer $EDGE_API_KEY"`,
      prints:
        '{"data":[{"id":"…"status":"completed","exit_code":0,"output_truncated":false,"target_all":false,"output":"…load average…',
    },
  ],
};

const WHAT_BECOMES_OF_AN_EXECUTION: Section = {
  title: 'What becomes of an execution',
  blocks: [
    {
      kind: 'table',
      head: ['Status', 'Means'],
      rows: [
        ['`pending`', 'Stored. The machine has not got it yet; it may be away.'],
        ['`sent`', 'The agent has it in its journal on disk. It runs, or waits for its turn: 10 run at a time.'],
        ['`completed`', 'It ended by itself or by its timeout. `exit_code` tells whether it succeeded.'],
        ['`cancelled`', 'Someone cancelled it, or the agent was stopped, or the machine went down.'],
        ['`expired`', 'Its `expired_at` passed before it was over.'],
        ['`dropped`', 'Its node was removed.'],
      ],
    },
    {
      kind: 'text',
      text: 'The last four are final. Each change is an [event](/guide/events). Of the output, stdout and stderr as they came, up to 1 MiB is kept: of more the first and last halves, and `output_truncated` says so. Finished executions are deleted after `EXECUTION_RETENTION_DAYS`.',
    },
  ],
};

const CANCEL_AND_REMOVE: Section = {
  title: 'Cancel and remove',
  blocks: [
    {
      kind: 'shell',
      commands: `curl -sS "$EDGE_URL/api/v1/commands" -H "Authorization: Bearer $EDGE_API_KEY" \\\n  -H 'Content-Type: application/json' -d '{"command_text": "sleep 300", "targeting": {"type": "all"}}' > /dev/null\nCOMMAND=$(edge command ls --limit 1 -q)\nedge command cancel "$COMMAND"\nedge command get "$COMMAND"`,
      prints: '…\ncommand_text  sleep 300\n…',
    },
    { kind: 'shell', commands: 'edge command rm "$COMMAND"   # when nothing of it is open' },
    {
      kind: 'text',
      text: 'A cancelled script has ended with all of its processes when its execution is `cancelled`. One on a machine that is away is cancelled when the agent is back.',
    },
  ],
};

const SETTINGS: Section = {
  title: 'Settings',
  blocks: [
    {
      kind: 'settings',
      program: 'edge-agent',
      rows: [
        ['COMMAND_EXECUTION_CONCURRENCY', '`10`', 'Commands that run at the same time on the machine.'],
        ['COMMAND_OUTPUT_MAX_BYTES', '`1048576`', 'Output that is kept of one.'],
      ],
    },
    {
      kind: 'settings',
      program: 'edge-admin',
      rows: [['EXECUTION_RETENTION_DAYS', '`30`', 'Days for which finished executions are kept.']],
    },
  ],
};
