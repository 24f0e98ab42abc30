/** Lines to copy that reach one node: with `edge`, with curl, with Prometheus. Pure. */
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { NODE } from '../../texts/node.ts';

/** A line, or some, and what it is for. */
export interface Line {
  readonly name: keyof (typeof NODE)['reach']['names'];
  readonly text: string;
}

/** What `edge` calls a node: its first alias where it is that of no other, else its id. */
export function edgeName({ aliases, id, cluster_name: cluster }: NodeResource): string {
  const [first] = aliases;
  return first === undefined ? id : `${first.name}.${cluster}`;
}

/**
 * All lines. `origin` is that of this page; `user` an SSH username of the node, where there is one. None of the words
 * in them needs quotes: ids, host names, aliases and usernames are of letters, digits, dots, `_` and `-`.
 */
export function linesOf(node: NodeResource, origin: string, user: string | null): readonly Line[] {
  const { id, vpn_hostname: host } = node;
  const name = edgeName(node);
  const url = `${origin}/api/v1/nodes/${id}`;
  const { protocol, host: target } = new URL(origin);
  return [
    { name: 'ssh', text: `edge ssh ${user === null ? '' : `${user}@`}${name}` },
    { name: 'run', text: `edge run -n ${name} -- uptime` },
    { name: 'doctor', text: `edge doctor ${name}` },
    { name: 'forward', text: `edge forward ${name} 8080:localhost:80` },
    { name: 'proxyNode', text: `curl -x "$(edge proxy-url)" http://${host}:8080/` },
    { name: 'proxyNetwork', text: `curl -x "$(edge proxy-url ${name} --socks5)" http://192.168.1.1/` },
    { name: 'api', text: `curl -H "Authorization: Bearer $EDGE_API_KEY" ${url}` },
    { name: 'metrics', text: `curl -H "Authorization: Bearer $METRICS_KEY" ${url}/metrics/host/raw` },
    {
      name: 'prometheus',
      text: [
        '- job_name: edge-host',
        `  scheme: ${protocol.slice(0, -1)}`,
        `  metrics_path: /api/v1/nodes/${id}/metrics/host/raw`,
        '  authorization: { credentials_file: metrics-key }',
        `  static_configs: [{ targets: ['${target}'] }]`,
      ].join('\n'),
    },
  ];
}
