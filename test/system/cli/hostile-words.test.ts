/** What `edge` makes of words that no honest service says. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { Problem } from '../../../cli/problem.ts';
import { checkedHostName } from '../../../cli/reach/host-names.ts';
import { openEdge } from '../../support/edge-terminal.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

import { ADMIN, NODE, edge, service, stranger } from './foreign-service.ts';

const HOSTILE_NAMES = [
  'x\n  ProxyCommand touch HACKED',
  'x\r\nMatch exec "touch HACKED"',
  '*',
  'a b',
  '',
  '-x.y',
  'a"b',
  '$(touch HACKED)',
  '`id`',
  'a;b',
  '%h',
  'x'.repeat(300),
  5,
  null,
];

test('a host name is one, and holds no line and no command', (t) => {
  for (const name of HOSTILE_NAMES)
    t.throws(
      () => checkedHostName(name),
      { instanceOf: Problem, message: /^the service says .+, which is no host name: nothing was written or started$/u },
      String(name),
    );
  for (const name of ['edge.internal', 'node-1.prod.edge.internal', 'a', '1.2']) t.is(checkedHostName(name), name);
});

test('nothing that a service says becomes a line or a command of ssh', async (t) => {
  for (const domain of HOSTILE_NAMES.slice(0, 2)) {
    const cluster = { name: 'prod', vpn_domain: domain };
    const { url } = await service(t, {
      get_cluster: cluster,
      list_clusters: {
        data: [{ ...cluster, vpn_domain: typeof domain === 'string' ? `prod.${domain}` : domain }],
        pagination: { total_count: 1 },
      },
    });
    const env = stranger(t, url);
    const file = join(env['XDG_CONFIG_HOME'] ?? '', 'config');

    for (const words of [
      ['ssh-config', '--write', file],
      ['ssh-config', '--cluster', 'prod', '--write', file],
    ]) {
      const ended = await edge(env, ...words);
      t.deepEqual(
        [ended.status === 0, ended.stdout, existsSync(file)],
        [false, '', false],
        `${JSON.stringify(domain)}: ${ended.stderr}`,
      );
      t.regex(ended.stderr, /^edge: [^\n]+\n$/u);
    }
  }
});

test('a domain that is one is written', async (t) => {
  const { url } = await service(t, { get_cluster: { name: 'prod', vpn_domain: 'prod.edge.internal' } });
  const { status, stdout } = await edge(stranger(t, url), 'ssh-config', '--cluster', 'prod');

  t.is(status, 0);
  t.regex(stdout, /^Host \*\.prod\.edge\.internal$/mu);
  const env = stranger(t, url);
  const file = join(env['XDG_CONFIG_HOME'] ?? '', 'config');
  const written = await edge(env, 'ssh-config', '--cluster', 'prod', '--write', file);
  t.regex(written.stderr, /^edge: ssh goes by edge to every host \*\.prod\.edge\.internal from then on\n/u);
});

test('all hosts of a top-level domain are not those of a service', async (t) => {
  const { url } = await service(t, { list_clusters: { data: [{ name: 'prod', vpn_domain: 'prod.com' }] } });
  const { status, stdout, stderr } = await edge(stranger(t, url), 'ssh-config');

  t.deepEqual([status, stdout], [1, '']);
  t.is(stderr, 'edge: the service says that its nodes are all hosts *.com: nothing was written\n');
});

test('ssh is started for host names and ports only', async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'ssh'), `#!/bin/sh\necho "$@" > ${join(directory, 'started')}\n`, { mode: 0o755 });
  const honest = {
    id: NODE,
    vpn_hostname: 'node-1.prod.edge.internal',
    ssh_port: 40_022,
    status: 'healthy',
    aliases: [],
  };
  const lies = [
    { vpn_hostname: '$(touch${IFS}HACKED).a.b' },
    { vpn_hostname: '-oProxyCommand=id' },
    { ssh_port: '22\nProxyCommand=id' },
  ];

  const usernames = { data: [{ username: 'ada' }], pagination: { total_count: 1, has_next: false } };
  const ssh = async (node: object) => {
    const { url } = await service(t, { get_node: node, list_ssh_usernames: usernames });
    return edge({ ...stranger(t, url), PATH: `${directory}:${process.env['PATH'] ?? ''}` }, 'ssh', NODE);
  };

  for (const lie of lies) {
    const ended = await ssh({ ...honest, ...lie });
    t.deepEqual([ended.status, existsSync(join(directory, 'started'))], [1, false], ended.stderr);
    t.regex(ended.stderr, /^edge: the service says [^\n]+\n$/u);
  }
  const services = [{ name: 'ssh', problem: 'port taken\u001b[2J' }];
  t.deepEqual(await ssh({ ...honest, status_evidence: { services } }), {
    status: 1,
    stdout: '',
    stderr: `edge: the SSH server of ${NODE} does not work (port taken [2J): edge doctor ${NODE}\n`,
  });
  await ssh(honest);
  t.regex(readFileSync(join(directory, 'started'), 'utf8'), /-- node-1\.prod\.edge\.internal\n$/u);
});

test('what turns text round or orders a terminal about reaches none of the formats', async (t) => {
  const sly = 'web\u202egpj.exe\u2066\u009b31m\u001b[2J\u2028\u200b\u{e0041}';
  const rows = {
    data: [
      {
        id: NODE,
        name: sly,
        aliases: [{ name: sly }],
        cluster_name: sly,
        status: 'healthy',
        version: sly,
        status_reason: sly,
      },
    ],
    pagination: { total_count: 1, has_next: false },
  };
  const { url } = await service(t, { list_nodes: rows, get_node: rows.data[0] });
  const env = stranger(t, url);

  for (const words of [
    ['node', 'ls'],
    ['node', 'get', NODE],
    ['-o', 'json', 'node', 'ls'],
    ['-o', 'ndjson', 'node', 'ls'],
  ]) {
    const { status, stdout } = await edge(env, ...words);
    t.is(status, 0);
    t.notRegex(stdout.replaceAll('\n', ''), /[\p{Cc}\p{Zl}\p{Bidi_Control}\u{200b}\u{e0041}]/u, words.join(' '));
  }
  t.deepEqual(
    (JSON.parse((await edge(env, '-o', 'json', 'node', 'ls')).stdout) as readonly unknown[])[0],
    rows.data[0],
  );
});

test('no sentence of the service orders a terminal about', async (t) => {
  const sly = 'web\u202egpj.exe\u2066\u009b31m\u001b[2J\u2028\u200b\u{e0041}';
  const check = { name: sly, healthy: false, status: 'fail', duration_ms: sly, error: sly, summary: sly, hint: sly };
  const node = { id: NODE, name: sly, aliases: [], cluster_name: sly, status: 'unreachable', status_since: sly };
  const all = (rows: readonly object[]) => ({ data: rows, pagination: { total_count: rows.length, has_next: false } });
  const { url } = await service(t, {
    get_admin: { ...ADMIN, name: sly, version: sly },
    check_admin_health: { healthy: false, checks: [check] },
    get_my_admin_cluster: { total_admins: sly, degraded: true },
    list_clusters: all([{ name: sly, node_count: sly }]),
    list_commands: all([{ id: NODE, summary: { failed: 1 } }]),
    list_nodes: all([{ ...node, status_reason: sly }]),
    get_node: { ...node, vpn_hostname: sly, http_port: sly },
    get_node_diagnostics: { overall: 'fail', collected_at: sly, checks: [{ ...check, details: { [sly]: sly } }] },
    list_event_types: all([{ type: 'edge.core.test' }]),
    explain_event_type: { type: sly, description: sly, example: { [sly]: sly } },
    create_enrollment_key: { key: sly },
    create_command: { id: sly, summary: { total: 1 } },
    list_command_executions: all(
      [sly, 'other'].map((output) => ({ id: NODE, node_id: NODE, output, output_withheld: false })),
    ),
  });

  for (const words of [
    'status',
    'doctor',
    `doctor ${NODE}`,
    'events explain edge.core.test',
    'key create prod',
    'run --all --detach -- true',
    `command output ${NODE}`,
    `command output ${NODE} -b`,
    `command output ${NODE} --diff`,
    `ping ${NODE} --count 1`,
  ]) {
    const terminal = openEdge(t, words.split(' '), stranger(t, url));
    await terminal.ended;
    t.regex(terminal.shown(), /web/u, words);
    t.notRegex(
      terminal.shown(),
      /␛\[2J|[\u0080-\u009f\p{Zl}\p{Bidi_Control}\u{200b}\u{e0041}]|went wrong|Unexpected|undefined/u,
      words,
    );
  }
});

test('what is no word is not offered to a shell, which would take it for a command', async (t) => {
  const rows = {
    data: ['$(touch hacked)', '`id`', 'a;b', '-rf', 'web-1', 'x\ny'].map((name, index) => ({
      id: `${index}${NODE.slice(1)}`,
      name,
    })),
    pagination: { total_count: 6, has_next: false },
  };
  const { url } = await service(t, { list_nodes: rows });
  const offered = () => edge(stranger(t, url), '__complete', 'node', 'get', '');

  // on a busy machine they may come later than anybody waits for them at a prompt
  t.is(await until('names', async () => (await offered()).stdout || null), 'web-1\n');
});
