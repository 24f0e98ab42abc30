/** `/`: what this is, and the way from nothing to a command that ran on a machine. */
import { SITE } from '../layout.ts';
import { knowsAdmin, type Block, type GuideFacts, type GuidePage, type Section } from './page.ts';

const CARDS: Readonly<Record<string, string>> = {
  '/guide/clusters': 'Groups of machines, and the keys with which machines join them.',
  '/guide/nodes': 'Enrol a machine, keep its agent running, see how it is, move it, remove it.',
  '/guide/commands': 'Run a script on one machine or all of them, and read every output.',
  '/guide/proxy': 'Reach a port of a machine, or the network that it stands in, with curl and everything else.',
  '/guide/ssh': 'Log in, copy files and forward ports, with the ssh that you have.',
  '/guide/metrics': 'Hosts, agents and this admin, for Prometheus and as JSON.',
  '/guide/events': 'What happens in the fleet, on your terminal, by webhook or message broker.',
  '/guide/integrators': 'The API from TypeScript, Python and Go, and as tools of an assistant.',
  '/api/docs': 'Every operation with its route, fields and answer.',
  '/asyncdoc': 'Every type of event with its fields and an example.',
};

const CLUSTER = `id            01a1ff64-eb8c-7000-8122-b55e2269f945
name          prod
…
ipv4_range    …
ipv6_range    …
node_limit    -
node_count    0
…`;

const HEALTH = `CHECK               STATE  MS  ERROR
database            pass   …  -
peer_membership     pass   …  -
ownership_metadata  pass   …  -
…`;

/** What someone sees who opens the admin's address in a browser. */
export function startPage(facts: GuideFacts): GuidePage {
  return {
    name: 'Start',
    title: 'Edge fleet control',
    lead: `Reach, run and see machines that stand behind NAT and firewalls: a small agent on each of them keeps a connection to this admin, and people and programs talk to the admin.`,
    sections: [
      thisAdmin(facts),
      {
        title: 'Guides',
        blocks: [{ kind: 'cards', cards: SITE.map(([path, name]) => ({ path, name, text: CARDS[path] ?? '' })) }],
      },
      PROGRAMS,
      { title: 'Where the admin is', blocks: knowsAdmin(facts) },
      A_FIRST_CLUSTER,
      aFirstMachine(facts),
      A_FIRST_COMMAND,
      WHETHER_THIS_ADMIN_IS_WELL,
    ],
  };
}

function thisAdmin({ version, hasConsole }: GuideFacts): Section {
  return {
    title: 'This admin',
    blocks: [
      { kind: 'state' },
      {
        kind: 'text',
        text: `It runs version ${version}. These pages need no key, and all that they tell of does: \`MASTER_KEY\` or \`API_KEY\` of this admin. One that was given none made its own, in the file \`master.key\` of its data directory: its log says where.`,
      },
      ...(hasConsole ? [CONSOLE] : []),
      {
        kind: 'text',
        text: 'To go on: get [the programs](#programs), say [where the admin is](#where-the-admin-is), and let [a first machine](#a-first-machine) in. Where machines are there already, `edge status` shows them at a glance.',
      },
    ],
  };
}

const CONSOLE: Block = {
  kind: 'text',
  text: 'The [console](/console) shows the whole fleet as it changes, in a browser: sign in with the same key.',
};

const PROGRAMS: Section = {
  title: 'Programs',
  blocks: [
    {
      kind: 'text',
      text: 'There are three: `edge-admin` is this service, `edge-agent` runs on each machine, and `edge` is the command line for people. They come in one package and need Node 24.7 or later; in a clone of the repository, after `npm ci`, they are in `bin/`, with the Node that comes along: `export PATH=$PWD/bin:$PATH` there. Machines need no open port and the agent no root.',
    },
  ],
};

const A_FIRST_CLUSTER: Section = {
  title: 'A first cluster',
  blocks: [
    {
      kind: 'text',
      text: 'Machines are grouped in [clusters](/guide/clusters). The examples of all pages use this one.',
    },
    { kind: 'shell', commands: 'edge cluster create prod', prints: CLUSTER },
  ],
};

function aFirstMachine(facts: GuideFacts): Section {
  return {
    title: 'A first machine',
    blocks: [
      {
        kind: 'text',
        text: 'A machine joins with an enrolment key. This one lets one machine in and holds the URL of the admin, so it is all that the machine needs.',
      },
      { kind: 'shell', commands: 'edge key create prod', prints: 'eyJ…' },
      {
        kind: 'text',
        text: 'The machine must reach that URL; nobody needs to reach the machine. Paste the key when the agent asks for it. To keep it running, make it [a service](/guide/nodes#as-a-service).',
      },
      {
        kind: 'shell',
        where: 'machine',
        commands: 'read -rs ENROLLMENT_KEY && export ENROLLMENT_KEY && AGENT_ALIASES=web-1 edge-agent up',
        asks: 'ENROLLMENT_KEY',
        lasts: 'now',
        prints: '…"msg":"Enrolled"…\n…"msg":"Connected"…',
      },
      {
        kind: 'shell',
        commands: 'edge node ls',
        prints: `NAME   CLUSTER  STATUS   SINCE  VERSION  WHY\nweb-1  prod     healthy  12s    ${facts.version}    -`,
      },
    ],
  };
}

const A_FIRST_COMMAND: Section = {
  title: 'A first command',
  blocks: [
    {
      kind: 'shell',
      commands: "edge run -c prod -- 'echo hello from $(uname -s)'",
      prints:
        'edge: command 01a1ff65-6c50-7000-8998-fa490292f846 runs on 1 node\nweb-1: hello from Linux\nedge: 1 of 1 succeeded, … s (01a1ff65-6c50)',
    },
    {
      kind: 'text',
      text: 'The [API](/api/docs) has every operation of the command line and more. The same key opens it.',
    },
    {
      kind: 'shell',
      commands: 'curl -sS -H "Authorization: Bearer $EDGE_API_KEY" "$EDGE_URL/api/v1/nodes?status__in=healthy"',
      prints: '{"data":[{"id":"…","cluster_name":"prod","status":"healthy",…',
    },
  ],
};

const WHETHER_THIS_ADMIN_IS_WELL: Section = {
  title: 'Whether this admin is well',
  blocks: [
    {
      kind: 'text',
      text: '[/healthz](/healthz) runs all checks and answers 200 or 503; `/readyz` and `/health` are the same. [/health/cluster](/health/cluster) checks all admins that share the database, [/livez](/livez) only that this process lives. None needs a key.',
    },
    { kind: 'shell', commands: 'edge health', prints: HEALTH },
    {
      kind: 'text',
      text: 'With `ADMIN_DEBUG_DASHBOARD_ENABLED=true` there is the inside of the admin at `/admin/debug`: its actors, sessions, database and memory.',
    },
  ],
};
