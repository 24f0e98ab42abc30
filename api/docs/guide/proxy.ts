/** `/guide/proxy`. */
import { knowsAdmin, shellWord, type Block, type GuideFacts, type GuidePage, type Section } from './page.ts';

/** Ports that are told where this admin has no proxies. Source: docs/settings.md. */
const USUAL_PORTS = { http: 43_128, socks5: 41_080 };

/**
 * Where the proxies are, as seen by who reads this: the admin's own host. With https, TLS is taken to stand before them
 * too.
 */
export function knowsProxy({ adminUrl, proxyPorts }: GuideFacts): readonly Block[] {
  const { protocol, hostname } = new URL(adminUrl);
  const { http } = proxyPorts ?? USUAL_PORTS;
  return [
    {
      kind: 'shell',
      commands: `export EDGE_PROXY_URL=${shellWord(`${protocol}//${hostname}:${http}`)}\nread -rs EDGE_PROXY_KEY && export EDGE_PROXY_KEY`,
      asks: 'EDGE_PROXY_KEY',
    },
    {
      kind: 'text',
      text: `The key of the proxies is \`PROXY_KEY\` or \`MASTER_KEY\`. ${proxyPorts === null ? 'This admin has no proxies now: `ADMIN_PROXY_ENABLED` is `false`, or they could not listen.' : protocol === 'https:' ? 'The proxies speak plain HTTP and SOCKS5; as this admin stands behind TLS they should too, and this URL is a guess.' : 'The proxies speak plain HTTP and SOCKS5: across networks that are not yours put TLS before them.'}`,
    },
  ];
}

/** The page. */
export function proxyPage(facts: GuideFacts): GuidePage {
  return {
    name: 'Proxy',
    title: 'Proxy',
    lead: 'This admin has an HTTP and a SOCKS5 proxy. What is sent to them goes to a port of a machine, or through a machine into the network that it stands in. The admin itself connects to nothing else.',
    sections: [
      { title: 'Before you begin', blocks: [...knowsAdmin(facts), ...knowsProxy(facts)] },
      aPortOfAMachine(facts),
      THE_NETWORK_OF_A_MACHINE,
      A_LOCAL_PORT,
      withoutEdge(facts),
      WHAT_A_REFUSAL_MEANS,
      WHAT_A_MACHINE_DIALS,
      PROXIES_OF_A_MACHINE,
      SETTINGS,
    ],
  };
}

function aPortOfAMachine({ domain }: GuideFacts): Section {
  return {
    title: 'A port of a machine',
    blocks: [
      {
        kind: 'text',
        text: 'To try it, something that listens on the loopback of web-1, which nobody else reaches:',
      },
      {
        kind: 'shell',
        where: 'machine',
        commands: String.raw`node -e "http.createServer((_, answer) => answer.end('hello from web-1\n')).listen(8080, '127.0.0.1', () => console.log('listening'))"`,
        lasts: 'now',
        prints: 'listening',
      },
      {
        kind: 'text',
        text: 'The destination is the name of the machine. A port that listens on loopback only is reached as well.',
      },
      {
        kind: 'shell',
        commands: `(eval "$(edge proxy-url --export)"; curl -sS http://web-1.prod.${domain}:8080/)`,
        prints: 'hello from web-1',
      },
      {
        kind: 'text',
        text: '`--export` sets `http_proxy` and its siblings, which curl and most programs know; the brackets keep them from the rest of your terminal. So no key is in a list of processes. Any program that takes a URL of a proxy takes `edge proxy-url`.',
      },
    ],
  };
}

const THE_NETWORK_OF_A_MACHINE: Section = {
  title: 'The network of a machine',
  blocks: [
    {
      kind: 'text',
      text: 'With a machine named, connections come out of that machine: it looks names up and dials. Here the router of the network that web-1 is in:',
    },
    { kind: 'shell', commands: '(eval "$(edge proxy-url web-1 --export)"; curl -sS http://192.168.1.1/)' },
  ],
};

const A_LOCAL_PORT: Section = {
  title: 'A local port',
  blocks: [
    {
      kind: 'text',
      text: 'For programs that know no proxy. `localhost` is the machine; any other host is reached from there.',
    },
    {
      kind: 'shell',
      where: 'another',
      commands: 'edge forward web-1 8081:localhost:8080 8082:192.168.1.1:80',
      lasts: 'now',
      prints:
        'LOCAL           LEADS TO         BY\n127.0.0.1:8081  localhost:8080   web-1.prod.…\n127.0.0.1:8082  192.168.1.1:80   web-1.prod.…',
    },
    { kind: 'shell', commands: 'curl -sS http://127.0.0.1:8081/', prints: 'hello from web-1' },
    { kind: 'text', text: 'For pipes there is `edge connect`, which joins stdin and stdout to a port:' },
    {
      kind: 'shell',
      commands: String.raw`printf 'GET / HTTP/1.0\r\n\r\n' | edge connect web-1 8080`,
      prints: 'HTTP/1.1 200 OK\n…\n\nhello from web-1',
    },
  ],
};

function withoutEdge(facts: GuideFacts): Section {
  const { domain, adminUrl } = facts;
  const { http, socks5 } = facts.proxyPorts ?? USUAL_PORTS;
  const host = new URL(adminUrl).hostname;
  return {
    title: 'Without edge',
    blocks: [
      { kind: 'text', text: 'The user name says where a connection goes:' },
      {
        kind: 'list',
        items: [
          `\`_\`: to a machine itself. The destination is \`ALIAS.CLUSTER.${domain}\` or \`node-ID.CLUSTER.${domain}\`, and any port.`,
          'The name of a machine: out of that machine, to any destination.',
        ],
      },
      {
        kind: 'text',
        text: `The password is the key. The HTTP proxy, port ${http}, takes CONNECT and requests for \`http://\` URLs; the SOCKS5 proxy, port ${socks5}, takes names, IPv4 and IPv6.`,
      },
      {
        kind: 'shell',
        commands: `curl -sS -x "$EDGE_PROXY_URL" --proxy-user "_:$EDGE_PROXY_KEY" http://web-1.prod.${domain}:8080/`,
        prints: 'hello from web-1',
      },
      {
        kind: 'shell',
        commands: `curl -sS --socks5-hostname ${shellWord(`${host}:${socks5}`)} --proxy-user "web-1.prod.${domain}:$EDGE_PROXY_KEY" http://192.168.1.1/`,
      },
    ],
  };
}

const WHAT_A_REFUSAL_MEANS: Section = {
  title: 'What a refusal means',
  blocks: [
    {
      kind: 'text',
      text: 'The body of an HTTP answer says it in a sentence, the header `Proxy-Status` for programs.',
    },
    {
      kind: 'table',
      head: ['Why', 'HTTP', 'SOCKS5'],
      rows: [
        ['no or wrong credentials', '407', 'login refused'],
        ['too many wrong ones from this address', '429', 'login refused'],
        ['nothing listens there', '502', '5'],
        ['no way there, or no such name', '502', '4'],
        ['no such node or alias', '502', '4'],
        ['no answer in time', '504', '6'],
        ["the machine's policy forbids it", '403', '2'],
        ['it would come back to the proxy', '508', '2'],
        ['the machine is not connected', '503', '3'],
        ['a limit is reached', '503', '1'],
      ],
    },
    {
      kind: 'text',
      text: 'A connection is cut after 10 minutes without a byte and after a day. What is cut is reset, so that nobody takes half a file for a whole one.',
    },
  ],
};

const WHAT_A_MACHINE_DIALS: Section = {
  title: 'What a machine dials',
  blocks: [
    {
      kind: 'list',
      items: [
        'Its own network and the internet.',
        'Never metadata services of clouds, link-local, multicast or reserved addresses, nor IPv6 addresses that hide an IPv4 one.',
        'Its own loopback only for the user name `_` and for [users who are logged in](/guide/ssh).',
        'Operators close more, and open what they name, by the settings below. The addresses that were checked are the ones that are dialled.',
      ],
    },
  ],
};

const PROXIES_OF_A_MACHINE: Section = {
  title: 'Proxies of a machine',
  blocks: [
    {
      kind: 'text',
      text: 'Each agent has the same two proxies for clients near it, on loopback unless `AGENT_PROXY_HOST` says otherwise. The user name is `_`, and the password is `proxy_password` in `identity.json` in its `AGENT_DATA_DIR`. They dial what the machine dials and know nothing of other machines.',
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
        ['ADMIN_PROXY_ENABLED', '`true`', 'Whether the proxies listen.'],
        ['ADMIN_PROXY_HOST', '`0.0.0.0`', 'Address on which they listen.'],
        ['ADMIN_HTTP_PROXY_PORT', '`43128`', 'Port of the HTTP proxy.'],
        ['ADMIN_SOCKS5_PROXY_PORT', '`41080`', 'Port of the SOCKS5 proxy.'],
        ['PROXY_KEY', 'MASTER_KEY', 'Their password.'],
        ['PROXY_AUTH_ENABLED', 'ALL_AUTH_ENABLED', 'Whether they demand one.'],
      ],
    },
    {
      kind: 'settings',
      program: 'edge-agent',
      rows: [
        ['PROXY_BLOCKED_PORTS', '`25`', 'Ports to which nobody gets through the machine.'],
        ['PROXY_CUSTOM_BLOCKED_HOSTS', 'none', 'Hosts to which nobody gets.'],
        ['PROXY_CUSTOM_ALLOWED_HOSTS', 'none', 'Hosts that are reached though they are closed otherwise.'],
        ['AGENT_PROXY_ENABLED', '`true`', 'Whether the machine has proxies of its own.'],
      ],
    },
  ],
};
