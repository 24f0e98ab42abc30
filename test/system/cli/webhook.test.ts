/** Webhooks by the command line, from end to end: a real admin delivers to the local receiver. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { WebhookDeliveryResource, WebhookResource } from '../../../actors/resources/webhook.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { freePort } from '../../support/free-ports.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { startEdge, type Ended, type RunningEdge } from '../../support/edge-program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const fleet = sharedFleet(test, { env: { WEBHOOK_ALLOW_PRIVATE_IPS: 'true', WEBHOOK_RETRY_BASE_MS: '1' } });

const envOf = () => ({ EDGE_URL: fleet().admins[0]?.url ?? '', EDGE_API_KEY: FLEET_KEYS.API_KEY });
const edge = (...args: string[]): Promise<Ended> => startEdge(args, envOf()).ended;

async function data(t: ExecutionContext, ...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await edge(...args);
  t.deepEqual([status, stderr], [0, ''], args.join(' '));
  return stdout;
}

const json = async <T>(t: ExecutionContext, ...args: string[]): Promise<T> =>
  JSON.parse(await data(t, ...args, '-o', 'json')) as T;

interface Listening extends RunningEdge {
  /** Of the webhook that it created, if it did. */
  readonly webhook: string;
  readonly shown: () => string;
  interrupt(): Promise<Ended>;
}

async function listening(t: ExecutionContext, ...args: string[]): Promise<Listening> {
  const running = startEdge(['webhook', 'listen', ...args], envOf());
  t.teardown(() => running.process.kill('SIGKILL'));
  running.ended.catch(() => {}); // a test may cut its stdout
  let [said, shown] = ['', ''];
  running.process.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  running.process.stdout?.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  await until('the receiver', () => said.includes('listening on'));
  return {
    ...running,
    webhook: /webhook (?<id>\S+) sends/u.exec(said)?.groups?.['id'] ?? '',
    shown: () => shown,
    interrupt() {
      running.process.kill('SIGINT');
      return running.ended;
    },
  };
}

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

test.serial(
  'a receiver gets a webhook of its own, shows the events, also one that is sent again, and takes the webhook away at its end',
  async (t) => {
    const receiver = await listening(t, '--on', 'all', '--json');

    const published = await json<{ id: string }>(t, 'events', 'test');
    await until('the event', () => receiver.shown().includes(published.id));
    const [delivery] = await until('its delivery', async () => {
      const found = await json<WebhookDeliveryResource[]>(
        t,
        'webhook',
        'deliveries',
        receiver.webhook,
        '-s',
        'delivered',
        '-t',
        'edge.core.test',
      );
      return found.length === 0 ? null : found;
    });
    const again = await json<WebhookDeliveryResource[]>(t, 'webhook', 'redeliver', delivery?.id ?? '');
    await until('the event once more', () => linesOf(receiver.shown()).length === 2);
    const tried = await until('the second try', async () => {
      const text = await data(t, 'webhook', 'delivery', delivery?.id ?? '');
      return /^2 +20.*204/mu.test(text) ? text : null;
    });
    const { status, stdout } = await receiver.interrupt();

    t.is(status, 0);
    t.deepEqual(
      linesOf(stdout).map((line) => JSON.parse(line) as unknown),
      [published, published],
    );
    t.deepEqual(
      again.map(({ id }) => id),
      [delivery?.id ?? ''],
    );
    t.regex(tried, /^TRY +AT +MS +ANSWER +ERROR +BODY\n1 /mu);
    t.is((await edge('webhook', 'get', receiver.webhook)).status, 4);
  },
);

test.serial(
  'a secret is made and shown once; with another one the receiver refuses and the log of the delivery says why',
  async (t) => {
    const port = String(await freePort());
    const created = await edge(
      'webhook',
      'create',
      `http://127.0.0.1:${port}/hook`,
      '--on',
      'edge.core.test',
      '-o',
      'json',
    );
    const { secret, ...webhook } = JSON.parse(created.stdout) as WebhookResource & { readonly secret: string };
    const stranger = await listening(t, '--port', port, '--secret', 'another');

    await data(t, 'events', 'test');
    const [dropped] = await until('the drop', async () => {
      const found = await json<WebhookDeliveryResource[]>(
        t,
        'webhook',
        'deliveries',
        webhook.id,
        '--status',
        'dropped',
      );
      return found.length === 0 ? null : found;
    });
    const refusal = await json<WebhookDeliveryResource>(t, 'webhook', 'delivery', dropped?.id ?? '');
    const strangersEnd = await stranger.interrupt();
    const receiver = await listening(t, '--port', port, '--secret', secret);
    await data(t, 'webhook', 'redeliver', dropped?.id ?? '');
    await until('the event', () => receiver.shown().includes('edge.core.test'));
    await receiver.interrupt();

    t.is(created.stderr, 'edge: the secret is shown only now: give it to whoever verifies what arrives\n');
    t.regex(secret, /^whsec_[\w+/]{43}=$/u);
    t.deepEqual(await json(t, 'webhook', 'get', webhook.id), webhook);
    t.like(refusal.attempts?.[0], {
      status_code: 401,
      response_body:
        'X-Edge-Signature does not fit: the secret is another one, or the body was changed; webhook-signature does not fit: the secret is another one, or id, time or body were changed\n',
    });
    t.deepEqual([strangersEnd.status, strangersEnd.stdout], [0, '']);
    t.regex(strangersEnd.stderr, /refused a request from 127\.0\.0\.1: X-Edge-Signature does not fit/u);
    t.is(await data(t, 'webhook', 'rm', webhook.id), '');
  },
);

test.serial('a receiver that answers 500 sees each try, at an address that was given for it', async (t) => {
  const port = String(await freePort());
  const receiver = await listening(
    t,
    '--on',
    'edge.core.test',
    '--status',
    '500',
    '--host',
    '0.0.0.0',
    '--port',
    port,
    '--public-url',
    `http://127.0.0.1:${port}/`,
  );

  await data(t, 'events', 'test');
  await until('three tries', () => linesOf(receiver.shown()).length === 3);
  const { status, stdout } = await receiver.interrupt();

  t.is(status, 0);
  t.is(new Set(linesOf(stdout)).size, 1);
});

test.serial(
  'secrets and headers that were given are not shown, and a webhook is listed until it is removed',
  async (t) => {
    const file = join(temporaryDirectory(t), 'secret');
    writeFileSync(file, 'kept-in-a-file-1234567890\n');

    const created = await data(
      t,
      'webhook',
      'create',
      'http://127.0.0.1:44999/',
      '--all',
      '--secret-file',
      file,
      '--header',
      'X-Key: hidden-value',
      '--header',
      'X-Other:more',
    );
    const listed = await data(t, 'webhook', 'ls');
    const [one] = await json<WebhookResource[]>(t, 'webhook', 'ls');
    const got = await data(t, 'webhook', 'get', one?.id ?? '');

    t.false(/kept-in|hidden|X-Key|secret/u.test(created + listed + got + JSON.stringify(one)));
    t.regex(created, /^url +http:\/\/127\.0\.0\.1:44999\/$/mu);
    t.regex(
      listed,
      new RegExp(`^ID +URL +CREATED +EVENTS\n${one?.id ?? ''} .* ${one?.subscribed_events.length ?? 0} types\n$`, 'u'),
    );
    t.is(await data(t, 'webhook', 'rm', one?.id ?? ''), '');
    t.deepEqual(await json(t, 'webhook', 'ls'), []);
    const { status, stderr } = await edge(
      'webhook',
      'create',
      'http://127.0.0.1:44999/',
      '--all',
      '--header',
      'hidden-value',
    );
    t.deepEqual([status, stderr], [2, "edge: --header number 1 is none: it should be like 'Name: value'\n"]);
  },
);

test.serial('types of events are explained, and one that is none is told with those that there are', async (t) => {
  t.regex(
    await data(t, 'events', 'explain', 'edge.node.status_changed'),
    /^edge\.node\.status_changed: .*\n\n\{\n {2}"specversion": "1\.0"/u,
  );
  for (const args of [
    ['events', 'explain', 'edge.node'],
    ['events', 'tail', '-t', 'edge.node'],
    ['webhook', 'listen', '--on', 'edge.node'],
    ['webhook', 'create', 'http://127.0.0.1:44999/', '--on', 'edge.core.test,edge.node'],
  ]) {
    const { status, stdout, stderr } = await edge(...args);
    t.deepEqual([status, stdout], [4, '']);
    t.regex(
      stderr,
      /^edge: "edge\.node" is no type of event; there are edge\.node\.registered, [^\n]*edge\.core\.test\n$/u,
    );
  }
});

test.serial('a receiver whose reader has gone takes its webhook away too', async (t) => {
  const receiver = await listening(t, '--on', 'edge.core.test');
  receiver.process.stdout?.destroy();

  await data(t, 'events', 'test');
  if (receiver.process.exitCode === null) await once(receiver.process, 'exit');

  t.is(receiver.process.exitCode, 0);
  t.deepEqual(await json(t, 'webhook', 'ls'), []);
});

test.serial('a webhook that could not be taken away is named, with what to do', async (t) => {
  const [admin] = fleet().admins;
  const receiver = await listening(t, '--on', 'all');
  await admin?.kill();

  const { status, stderr } = await receiver.interrupt();
  await admin?.start();

  t.is(status, 1);
  t.regex(
    stderr,
    new RegExp(
      `^edge: webhook ${receiver.webhook} could not be deleted: cannot reach .*; then: edge webhook rm ${receiver.webhook}$`,
      'mu',
    ),
  );
  t.is(await data(t, 'webhook', 'rm', receiver.webhook), '');
});
