/** `/guide/clusters`. */
import { knowsAdmin, type GuideFacts, type GuidePage, type Section } from './page.ts';

/** The page. */
export function clustersPage(facts: GuideFacts): GuidePage {
  return {
    name: 'Clusters',
    title: 'Clusters',
    lead: 'A cluster is a group of machines. Each machine is in exactly one, and joins with a key of that cluster.',
    sections: [
      { title: 'Before you begin', blocks: knowsAdmin(facts) },
      makeOne(facts),
      ENROLMENT_KEYS,
      BY_THE_API,
      {
        title: 'Remove one',
        blocks: [
          { kind: 'text', text: 'Only a cluster without machines can be removed. Its keys go with it.' },
          { kind: 'shell', commands: 'edge cluster rm lab' },
        ],
      },
      networks(facts),
      SEVERAL_ADMINS,
      SETTINGS,
      {
        title: 'Operations',
        blocks: [{ kind: 'operations', picks: (path) => /^\/(?:clusters|enrollment_keys)/u.test(path) }],
      },
    ],
  };
}

function makeOne(facts: GuideFacts): Section {
  return {
    title: 'Make one',
    blocks: [
      {
        kind: 'text',
        text: `A name has at most 24 lower-case letters, digits and hyphens, with a letter or digit at both ends; \`default\` is taken. It stays, as the names of machines hold it: \`web-1.lab.${facts.domain}\`.`,
      },
      {
        kind: 'shell',
        commands: 'edge cluster create lab --limit 50',
        prints: '…\nname          lab\n…\nnode_limit    50\nnode_count    0\n…',
      },
      {
        kind: 'shell',
        commands: 'edge cluster ls',
        prints:
          'NAME  NODES  LIMIT  CREATED  IPV4  IPV6\nlab   0      50     1s       …\nprod  1      -      1m       …',
      },
      {
        kind: 'text',
        text: 'A limit is the most machines that the cluster takes. It can be changed, but not below the machines that are there. 50 to 100 machines are advised; nothing enforces it.',
      },
      {
        kind: 'shell',
        commands: 'edge cluster limit lab 100\nedge cluster limit lab unlimited',
        prints: '…\nnode_limit    100\n…\nnode_limit    -\n…',
      },
    ],
  };
}

const ENROLMENT_KEYS: Section = {
  title: 'Enrolment keys',
  blocks: [
    {
      kind: 'text',
      text: 'Unless you say otherwise a key lets in one machine and never expires. It is printed alone, so that a script can take it. Whoever has it can add a machine to the cluster, and nothing else.',
    },
    { kind: 'shell', commands: "edge key create lab --uses 20 --expires 1h --name 'rack 7'", prints: 'eyJ…' },
    {
      kind: 'shell',
      commands: 'edge key ls',
      prints:
        'ID        CLUSTER  NAME    USES LEFT  CREATED  EXPIRES  LAST USED\n01a1ff65-0560  lab  rack 7  20         1s       in 59m   -\n…',
    },
    {
      kind: 'text',
      text: 'Lists show keys masked. Removing a key stops further machines from joining by it; those that did stay. What became of each try is told as [edge.enrollment_key.verified](/asyncdoc#edge.enrollment_key.verified).',
    },
    {
      kind: 'table',
      head: ['A machine is refused with', 'Because'],
      rows: [
        ['`invalid_key`', 'There is no such key. It was removed, or is of another service.'],
        ['`key_expired`', 'Its time is over.'],
        ['`key_spent`', 'As many machines as it was made for have joined by it.'],
        ['`node_limit_reached`', 'The cluster is full. The machine asks again by itself, after an hour at most.'],
      ],
    },
  ],
};

const BY_THE_API: Section = {
  title: 'By the API',
  blocks: [
    {
      kind: 'shell',
      commands: `curl -sS "$EDGE_URL/api/v1/clusters/lab" -H "Authorization: Bearer $EDGE_API_KEY"`,
      prints: '{"data":{"id":"…","name":"lab",…"node_limit":null,"node_count":0,…',
    },
    {
      kind: 'shell',
      commands: `curl -sS "$EDGE_URL/api/v1/clusters/lab/enrollment_keys" -H "Authorization: Bearer $EDGE_API_KEY" \\\n  -H 'Content-Type: application/json' -H 'Idempotency-Key: rack-8' -d '{"uses_remaining": 20, "name": "rack 8"}'`,
      prints:
        '{"data":{"id":"…","cluster_name":"lab","name":"rack 8","key":"eyJ…","expired_at":null,"uses_remaining":20,…',
    },
    {
      kind: 'text',
      text: 'A create with an `Idempotency-Key` can be sent again after a lost answer: within 24 hours it gets the first answer and makes nothing new.',
    },
  ],
};

function networks(facts: GuideFacts): Section {
  return {
    title: 'Networks',
    blocks: [
      {
        kind: 'text',
        text: `Each cluster has an IPv4 and an IPv6 range of its own, given with \`--ipv4\` and \`--ipv6\` or taken from what is free. Its machines whose agents run as root are one WireGuard network in them, and reach each other by name, such as \`ping web-1.prod.${facts.domain}\`; nothing has to be opened for that. From elsewhere machines are reached [through the admin](/guide/proxy), by the same names.`,
      },
    ],
  };
}

const SEVERAL_ADMINS: Section = {
  title: 'Several admins',
  blocks: [
    {
      kind: 'text',
      text: 'Admins that share one database share the fleet. Each cluster belongs to one of them at a time; when that one fails another takes it over within seconds. Ask any of them: agents are sent to the right one by themselves.',
    },
  ],
};

const SETTINGS: Section = {
  title: 'Settings',
  blocks: [
    {
      kind: 'settings',
      program: 'edge-admin',
      rows: [
        ['DEFAULT_CLUSTER_NAME', 'none', 'The cluster that is meant by `default` where a key is made.'],
        [
          'PUBLIC_ENROLLMENT_KEY_ENABLED',
          '`false`',
          'Whether anyone may make a one-use key for it, valid for an hour, without a key of their own.',
        ],
        ['EDGE_VPN_DEFAULT_DOMAIN', '`edge.internal`', 'Domain of the names of machines.'],
        ['CLUSTER_AUTO_GENERATED_V4_RANGES', '`100.64.0.0/10`', 'Where ranges of clusters are taken from.'],
        [
          'ADMIN_URLS',
          'http://HOST_NAME:PORT, https:// with ADMIN_TLS_CERT_FILE',
          'URLs in every enrolment key. Machines must reach them.',
        ],
      ],
    },
  ],
};
