/** The parts of `/guide/nodes` about ports and settings, and about links that cost or lead through a proxy. */
import type { Section } from './page.ts';

/** Where the servers of an agent listen. */
export const PORTS_OF_A_MACHINE: Section = {
  title: 'Ports of a machine',
  blocks: [
    {
      kind: 'text',
      text: 'All are on loopback unless the last column says otherwise; admins reach them through the connection of the agent. Where another program has one of these, the agent takes a free one, says so in one line of its log, and tells the admin. A port that you set stays: one that is taken then makes the node `unhealthy`. A 0 takes a free port.',
    },
    {
      kind: 'table',
      head: ['Port', 'Serves', 'Setting', 'Also listens on'],
      rows: [
        ['44000', "the agent's API: its own metrics", '`AGENT_API_PORT`', '`AGENT_METRICS_HOST`'],
        ['49100', 'metrics of the host', '`AGENT_HOST_METRICS_PORT`', '`AGENT_METRICS_HOST`'],
        ['49586', 'metrics of WireGuard', '`AGENT_WIREGUARD_METRICS_PORT`', '`AGENT_METRICS_HOST`'],
        ['40022', '[SSH](/guide/ssh)', '`AGENT_SSH_PORT`', '`AGENT_SSH_HOST`'],
        ['43128', '[HTTP proxy](/guide/proxy#proxies-of-a-machine)', '`AGENT_HTTP_PROXY_PORT`', '`AGENT_PROXY_HOST`'],
        ['41080', 'SOCKS5 proxy', '`AGENT_SOCKS5_PROXY_PORT`', '`AGENT_PROXY_HOST`'],
      ],
    },
  ],
};

/** What is set for nodes, at the agent and at the admin. */
export const SETTINGS_OF_NODES: Section = {
  title: 'Settings',
  blocks: [
    {
      kind: 'settings',
      program: 'edge-agent',
      rows: [
        [
          'ENROLLMENT_KEY',
          'unset',
          'Key with which the machine joins, until it is enrolled. Also as `ENROLLMENT_KEY_FILE`.',
        ],
        ['RECOVERY_KEY', 'unset', 'Gives the machine its old node back, together with an enrolment key.'],
        ['ADMIN_URLS', 'from the key', 'Admins to use, in order, instead of those that the key and the admins name.'],
        [
          'AGENT_DATA_DIR',
          '/var/lib/edge-agent as root, else ~/.local/share/edge-agent',
          'Identity, journal, and output of running commands.',
        ],
        ['AGENT_ID_TYPE', '`persistent`', '`random` enrols under a new identity at every start.'],
        ['AGENT_ALIASES', 'unset', 'Aliases to take at enrolment.'],
        ['AGENT_LABELS', 'none', 'Labels to take at the first enrolment, such as `env=prod,zone=a`.'],
        ['AGENT_METERED', '`false`', 'For links that are paid by the byte: see below.'],
        ['HTTPS_PROXY', 'unset', 'HTTP proxy on the way to the admins: see below.'],
        ['LOG_LEVEL', '`info`', 'The least severe lines that are logged.'],
      ],
    },
    {
      kind: 'settings',
      program: 'edge-admin',
      rows: [
        ['NODE_UNREACHABLE_AFTER_MS', '`30000`', 'Silence after which a node is unreachable.'],
        ['NODE_STATUS_DAMPING_MS', '`30000`', 'How long a better status must last when it changes often.'],
      ],
    },
    { kind: 'text', text: '`edge-agent --help` lists all of them.' },
  ],
};

/** AGENT_METERED. */
export const METERED_LINKS: Section = {
  title: 'Metered links',
  blocks: [
    {
      kind: 'text',
      text: 'An idle agent exchanges a ping and a report with its admin every 10 s: some 8 MB a day. With `AGENT_METERED=true` it pings every 60 s and reports when something changed: less than 1 MB a day. The price: a machine that lost power is noticed after up to 2 minutes, and it joins no VPN unless you set `VPN_ENABLED=true`, since each peer costs 0.5 MB a day. Commands, SSH and proxies work as ever.',
    },
  ],
};

/** HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
export const BEHIND_A_PROXY: Section = {
  title: 'Behind an HTTP proxy',
  blocks: [
    {
      kind: 'text',
      text: 'Where machines get out by a proxy only, set `HTTPS_PROXY=http://proxy.example:3128`, or `HTTP_PROXY` where the admins have `http://` URLs. Sessions, tunnels, enrolment and uploads go there by CONNECT, so the proxy must let that through to the port of the admin. Credentials stand in the URL, as in `http://user:password@proxy.example:3128`; `HTTPS_PROXY_FILE` names a file that holds it. `NO_PROXY=corp.example,10.0.0.0/8` names admins that are reached directly. The VPN and what others reach through the machine do not use it.',
    },
  ],
};
