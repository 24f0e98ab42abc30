/** Tables in a real terminal of 80 columns: what fits, in which colours, and drawn again as it changes. */
import test from 'ava';
import { CLUSTER, FLEET_KEYS } from '../../support/fleet.ts';
import { linesOf, openEdge } from '../../support/edge-terminal.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { startEdge } from '../../support/edge-program.ts';

const fleet = sharedFleet(test, { agents: 0, env: { NODE_UNREACHABLE_AFTER_MS: '3s' } });
const envOf = () => ({ EDGE_URL: fleet().admins[0]?.url ?? '', EDGE_API_KEY: FLEET_KEYS.API_KEY });
const edge = (...args: string[]) => startEdge(args, envOf()).ended;

test.serial.before('two machines join', async () => {
  const one = await fleet().addAgent({ AGENT_ALIASES: 'box-9', AGENT_LABELS: 'env=test' });
  const other = await fleet().addAgent({ AGENT_ALIASES: 'box-10', AGENT_LABELS: 'env=prod,gpu=' });
  await Promise.all([one, other].map((agent) => agent.live()));
  await Promise.all([one, other].map((agent) => fleet().reaches(agent, 'healthy')));
});

test.serial(
  'a terminal gets a line a node, no longer than itself, in order of names, the status in colour',
  async (t) => {
    const [, other] = fleet().agents;
    await fleet().sql(
      `update node set status_reason = 'a sentence that is far longer than eighty columns, so that it has to be cut somewhere' where id = $1`,
      [other?.node],
    );
    const terminal = openEdge(t, ['node', 'ls'], envOf());
    t.is(await terminal.ended, 0);
    const lines = linesOf(terminal.shown());

    t.deepEqual(
      lines.map((line) => line.split(/ {2,}/u)[0]),
      ['NAME', 'box-9', 'box-10'],
    );
    for (const line of lines) t.true(line.length <= 80, line);
    t.regex(lines[2] ?? '', /^box-10  fleet    healthy  \d+[sm] +\S+ +a sentence that is far .*…$/u);
    t.regex(terminal.shown(), /␛\[32mhealthy␛\[0m/u);

    const plain = openEdge(t, ['node', 'ls'], { ...envOf(), NO_COLOR: '1' });
    await plain.ended;
    t.notRegex(plain.shown(), /␛\[3\dm/u);
  },
);

test.serial('ids alone, every column, and any order', async (t) => {
  const [one, other] = fleet().agents.map(({ node }) => node ?? '');

  t.is((await edge('node', 'ls', '-q', '--sort', '-name')).stdout, `${other}\n${one}\n`);
  t.is((await edge('node', 'get', 'box-9', '-o', 'id')).stdout, `${one}\n`);
  t.is((await edge('cluster', 'ls', '-q')).stdout, `${CLUSTER}\n`);
  const wide = (await edge('node', 'ls', '-o', 'wide')).stdout;
  t.regex(wide, /^NAME +CLUSTER +STATUS +SINCE +VERSION +WHY +HOST +OS +ARCH +LABELS +SEEN +ENROLLED +ALIASES +ID\n/u);
  t.regex(wide, new RegExp(`^box-10 .* env=prod,gpu .* box-10 +${other}$`, 'mu'));
});

test.serial('nodes are listed by their labels', async (t) => {
  const names = async (...args: string[]) =>
    (JSON.parse((await edge('node', 'ls', '-o', 'json', ...args)).stdout) as { name: string }[]).map(
      ({ name }) => name,
    );

  t.deepEqual(await names('-l', 'env=prod'), ['box-10']);
  t.deepEqual(await names('-l', '!gpu'), ['box-9']);
  t.is((await edge('node', 'label', 'box-9', 'env=prod', 'canary')).stderr, 'edge: 1 of 1 labelled\n');
  t.deepEqual(await names('-l', 'env=prod,canary'), ['box-9']);
  t.is((await edge('node', 'label', 'canary', '-n', 'box-9')).stderr, 'edge: 1 of 1 labelled\n');
  t.is((await edge('node', 'label', 'canary-', '--all')).stderr, 'edge: 2 of 2 labelled\n');
  t.deepEqual(await names('-l', 'canary'), []);
  const wrong = await edge('node', 'ls', '-l', 'env=prod,,');
  t.is(wrong.status, 2);
  t.regex(wrong.stderr, /^edge: labels [^\n]+\n$/u);
});

test.serial('saved groups are shown with who is in them now, and commands run on them', async (t) => {
  const created = await edge('group', 'create', 'prod', '-l', 'env=prod', '-s', 'healthy');
  t.deepEqual([created.status, created.stderr], [0, 'edge: 2 nodes are in it now\n']);
  const shown = await edge('group', 'get', 'prod');
  t.regex(shown.stdout, /^targeting +-l env=prod status=healthy$/mu);
  t.regex(shown.stdout, /^node_count +2\n\nNAME +CLUSTER +STATUS +ID\nbox-10 .*\nbox-9 /mu);
  t.regex((await edge('run', '--in', 'prod', '--', 'true')).stderr, /2 of 2 succeeded/u);
  t.is((await edge('group', 'get', 'nosuch')).stderr, 'edge: there is no group "nosuch": edge group ls shows all\n');
  t.is((await edge('group', 'rm', 'prod')).status, 0);
});

test.serial('a table is drawn again in its place as nodes change, until Ctrl-C', async (t) => {
  const [one] = fleet().agents;
  const terminal = openEdge(t, ['node', 'ls', '--watch'], envOf());
  await terminal.shows(/box-9 +fleet +\S*healthy/u);
  await one?.kill();
  await terminal.shows(/box-9 +fleet +␛\[31munreachable/u);
  terminal.type('\u0003');

  t.is(await terminal.ended, 0);
  t.regex(terminal.shown(), /^␛\[\?25l␛\[2J␛\[H/u);
  t.regex(terminal.shown(), /␛\[\?25h\s*$/u);

  const others = openEdge(t, ['cluster', 'ls', '--watch'], envOf());
  await others.shows(/fleet +2 /u);
  await edge('cluster', 'create', 'spare');
  await others.shows(/spare +0 /u);
  others.type('\u0003');
  t.is(await others.ended, 0);
});

test.serial(
  'a table that is drawn again is checked before, fits the terminal, and says what it waits for',
  async (t) => {
    const wrong = openEdge(t, ['node', 'ls', '--watch', '--sort', 'size'], envOf());
    t.is(await wrong.ended, 2);
    t.regex(wrong.shown(), /^edge: --sort is "size": it should be one of /u);
    const nowhere = openEdge(t, ['node', 'ls', '--watch'], { ...envOf(), EDGE_URL: 'http://127.0.0.1:9' });
    t.is(await nowhere.ended, 1);
    t.regex(nowhere.shown(), /^edge: cannot reach http:\/\/127\.0\.0\.1:9 /u);

    const wide = openEdge(t, ['node', 'ls', '--watch', '-o', 'wide', '--sort', '-name'], envOf());
    await wide.shows(/Ctrl-C ends/u);
    const url = envOf().EDGE_URL;
    await fleet().admin().kill();
    await wide.shows(new RegExp(`lost ${url}; trying again`, 'u'));
    await fleet().admin().start();
    await wide.shows(/trying again[^]*Ctrl-C ends/u);
    wide.type('\u0003');
    t.is(await wide.ended, 0);
    const lines = wide
      .shown()
      .replaceAll(/␛\[[\d;?]*[A-Za-z]/gu, '')
      .split(/\r?\n/u);
    t.regex(lines[0] ?? '', /^NAME .* HOST /u);
    for (const line of lines) t.true(line.length <= 80, line);
  },
);

test.serial('a key that is typed at the prompt is not shown', async (t) => {
  const terminal = openEdge(t, ['login'], { EDGE_URL: envOf().EDGE_URL, XDG_CONFIG_HOME: fleet().directory });
  await terminal.shows(/Key for http/u);
  terminal.type(`${FLEET_KEYS.API_KEY}\r`);

  t.is(await terminal.ended, 0);
  t.regex(terminal.shown(), /accepts this key; remembered in /u);
  t.false(terminal.shown().includes(FLEET_KEYS.API_KEY));

  const empty = openEdge(t, ['login'], { EDGE_URL: envOf().EDGE_URL, XDG_CONFIG_HOME: fleet().directory });
  await empty.shows(/Key for http/u);
  empty.type('\r');
  t.is(await empty.ended, 2);
  t.regex(empty.shown(), /edge: no key was given: /u);
});
