/** `/guide/nodes`. */
import { LABELS_AND_GROUPS } from './labels.ts';
import { SELF_UPDATES } from './self-updates.ts';
import { BEHIND_A_PROXY, METERED_LINKS, PORTS_OF_A_MACHINE, SETTINGS_OF_NODES } from './node-settings.ts';
import { knowsAdmin, type GuideFacts, type GuidePage, type Section } from './page.ts';

const UNIT = `[Unit]
Description=Edge fleet agent
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/local/bin/edge-agent up
Environment=ENROLLMENT_KEY_FILE=/etc/edge-agent.key
Restart=on-failure
RestartSec=5
# A wrong setting, a refused enrolment, or removed by the admin: trying again changes nothing.
RestartPreventExitStatus=2 3 4
# Commands outlive a crash of the agent, which takes them up again.
KillMode=process

[Install]
WantedBy=multi-user.target
`;

/** The page. */
export function nodesPage(facts: GuideFacts): GuidePage {
  return {
    name: 'Nodes',
    title: 'Nodes',
    lead: 'A node is a machine whose agent has enrolled. The agent dials out to an admin and keeps that connection, so the machine needs no open port, and may stand behind any NAT.',
    sections: [
      { title: 'Before you begin', blocks: knowsAdmin(facts) },
      enrolAMachine(facts),
      AS_A_SERVICE,
      names(facts),
      LABELS_AND_GROUPS,
      SELF_UPDATES,
      HOW_A_MACHINE_IS,
      WHAT_IS_WRONG_WITH_IT,
      MOVE_IT,
      WHEN_ITS_DATA_IS_LOST,
      REMOVE_IT,
      PORTS_OF_A_MACHINE,
      METERED_LINKS,
      BEHIND_A_PROXY,
      SETTINGS_OF_NODES,
      {
        title: 'Operations',
        blocks: [
          {
            kind: 'operations',
            picks: (path) => /^\/(?:nodes|aliases|groups|targeting)/u.test(path) && !/metrics|ssh/u.test(path),
          },
        ],
      },
    ],
  };
}

function enrolAMachine(facts: GuideFacts): Section {
  return {
    title: 'Enrol a machine',
    blocks: [
      {
        kind: 'text',
        text: 'Make a [key](/guide/clusters#enrolment-keys) of the cluster, and start the agent with it on the machine.',
      },
      { kind: 'shell', commands: "edge key create prod --name 'second machine'", prints: 'eyJ…' },
      {
        kind: 'shell',
        where: 'machine2',
        commands: 'read -rs ENROLLMENT_KEY && export ENROLLMENT_KEY && AGENT_ALIASES=web-2 edge-agent up',
        asks: 'ENROLLMENT_KEY',
        lasts: 'now',
        prints: '…"msg":"Enrolled"…\n…"msg":"Connected"…',
      },
      {
        kind: 'text',
        text: 'From then on the machine has an identity and a token of its own in `AGENT_DATA_DIR`, and the key is not needed any more. The agent tries its admins again and again, with pauses of up to 30 seconds.',
      },
      {
        kind: 'shell',
        commands: 'edge node ls -c prod',
        prints: `NAME   CLUSTER  STATUS   SINCE  VERSION  WHY\nweb-1  prod     healthy  20s    ${facts.version}    -\nweb-2  prod     healthy  12s    ${facts.version}    -`,
      },
    ],
  };
}

const AS_A_SERVICE: Section = {
  title: 'As a service',
  blocks: [
    {
      kind: 'text',
      text: 'Once there is a release (`edge release init`), one line makes another machine a node, also one without Node: it installs the agent and its updater as services, enrols the machine and waits until the node is healthy.',
    },
    {
      kind: 'shell',
      commands: 'edge node add prod --name web-3',
      prints: 'curl -fsSL …/install.sh | sudo sh -s -- --key eyJ… --name web-3',
      untested: 'it needs a release',
    },
    {
      kind: 'text',
      text: 'By hand, with systemd, as root or as a user of its own. As root, commands run as root, and SSH users can become [accounts of the machine](/guide/ssh#who-becomes-what).',
    },
    { kind: 'file', name: '/etc/systemd/system/edge-agent.service', content: UNIT },
    {
      kind: 'shell',
      where: 'machine',
      commands: 'install -m 600 /dev/null /etc/edge-agent.key\nread -rs KEY && printf %s "$KEY" > /etc/edge-agent.key',
      asks: 'ENROLLMENT_KEY',
      untested: 'it writes to /etc',
    },
    {
      kind: 'shell',
      where: 'machine',
      commands: 'systemctl enable --now edge-agent\njournalctl -u edge-agent -f',
      untested: 'it needs a machine that systemd started',
    },
    {
      kind: 'text',
      text: 'A stop (SIGTERM) ends the commands that run: they are `cancelled` with exit code 143. Results that no admin has stored yet are kept, and sent after the next start.',
    },
  ],
};

function names(facts: GuideFacts): Section {
  return {
    title: 'Names',
    blocks: [
      {
        kind: 'list',
        items: [
          `\`node-ID.CLUSTER.${facts.domain}\` is the name of every node, \`ALIAS.CLUSTER.${facts.domain}\` that of each of its aliases. They work at the [proxies](/guide/proxy), and between machines that are in the [VPN](/guide/clusters#networks); nobody else's DNS knows them.`,
          'The command line takes an alias, `alias.cluster`, an id, or its beginning.',
          'An alias has 1 to 63 lower-case letters, digits and hyphens, and is unique in its cluster. `AGENT_ALIASES` asks for some at enrolment.',
        ],
      },
      {
        kind: 'shell',
        commands: 'edge alias add web-1 gateway\nedge alias ls',
        prints:
          '…\nvpn_hostname  gateway.prod.…\nNAME     CLUSTER  NODE      CREATED  HOST NAME\ngateway  prod     6fe4ddf2  1s       gateway.prod.…\n…',
      },
      { kind: 'shell', commands: 'edge alias rm gateway' },
    ],
  };
}

const HOW_A_MACHINE_IS: Section = {
  title: 'How a machine is',
  blocks: [
    {
      kind: 'table',
      head: ['Status', 'Means'],
      rows: [
        ['`healthy`', 'The agent is connected, and its last report says that all of its services are up.'],
        ['`unhealthy`', 'It is connected, but a service of it is down, or it has not reported for 30 seconds.'],
        ['`unreachable`', 'It is not connected, and nothing was heard for `NODE_UNREACHABLE_AFTER_MS`.'],
      ],
    },
    {
      kind: 'shell',
      commands: 'edge node ls -s unhealthy,unreachable',
      prints: 'NAME  CLUSTER  STATUS  SINCE  VERSION  WHY',
    },
    {
      kind: 'shell',
      commands: 'edge node get web-1',
      prints:
        'id                      6fe4ddf2-ce12-4626-9ae0-1792c04cf4a6\nname                    web-1\ncluster_name            prod\nstatus                  healthy\n…',
    },
    {
      kind: 'text',
      text: '`status_reason` says in a sentence why it is not healthy, `status_since` since when, `status_evidence` on what that rests. A change is told as [edge.node.status_changed](/asyncdoc#edge.node.status_changed), worse at once; better also, but with many changes in a few minutes only once it has lasted `NODE_STATUS_DAMPING_MS`. Over the API the list takes filters, here all that said something today and may update themselves:',
    },
    {
      kind: 'shell',
      commands: `curl -sS "$EDGE_URL/api/v1/nodes?last_seen_at__gte=$(date -u +%F)&self_update_enabled=true" -H "Authorization: Bearer $EDGE_API_KEY"`,
      prints: '{"data":[],…"total_count":0,…',
    },
  ],
};

const WHAT_IS_WRONG_WITH_IT: Section = {
  title: 'What is wrong with it',
  blocks: [
    {
      kind: 'text',
      text: 'The agent checks its machine, network first, then services, and says what to do. For a machine that is away it is the last report that it stored. Nothing of it changes the status.',
    },
    {
      kind: 'shell',
      commands: 'edge doctor web-1',
      prints:
        'pass  node_session      The agent has a session at this admin. (…)\n…\npass  disk              … MiB are free where the agent keeps its data. (…)\n…',
    },
    { kind: 'text', text: 'On the machine itself, also when the agent does not start:' },
    {
      kind: 'shell',
      where: 'machine',
      commands: 'edge-agent doctor',
      prints: '…\npass  clock             The clock of this machine agrees with that of the admin. (…)\n…',
    },
  ],
};

const MOVE_IT: Section = {
  title: 'Move it',
  blocks: [
    {
      kind: 'text',
      text: 'A node keeps its id, history and connection in another cluster. Its names change, and a recovery key is gone.',
    },
    {
      kind: 'shell',
      commands: 'edge cluster create staging > /dev/null\nedge node move web-2 staging',
      prints: '…\nname                    web-2\ncluster_name            staging\n…',
    },
  ],
};

const WHEN_ITS_DATA_IS_LOST: Section = {
  title: 'When its data is lost',
  blocks: [
    {
      kind: 'text',
      text: 'The identity is in `AGENT_DATA_DIR`. A machine that lost it enrols as a new node, unless it shows a recovery key of the old one: made before or after the loss, good once, for this node in this cluster.',
    },
    {
      kind: 'shell',
      commands: `NODE=$(edge node get web-1 -o id)\ncurl -sS -X POST "$EDGE_URL/api/v1/nodes/$NODE/recovery_key" -H "Authorization: Bearer $EDGE_API_KEY"`,
      prints: '{"data":{"recovery_key":"…"},…',
    },
    {
      kind: 'text',
      text: 'Start the agent with it as `RECOVERY_KEY`, and with an `ENROLLMENT_KEY` of the cluster. Nobody can read the key a second time; making another one replaces it.',
    },
  ],
};

const REMOVE_IT: Section = {
  title: 'Remove it',
  blocks: [
    {
      kind: 'text',
      text: 'What is open for it is dropped, its token is refused from now on and its connections end within a second. Finished executions keep its id.',
    },
    { kind: 'shell', commands: 'edge node rm web-2\nedge cluster rm staging' },
    {
      kind: 'text',
      text: 'On the machine the agent ends with exit status 4. `edge-agent leave` there removes the node at the admin as well, where it still is, and identity, journal and keys on the machine, which can then enrol as a new node. Where no admin answers it removes nothing, unless it is `edge-agent leave --local`.',
    },
  ],
};
